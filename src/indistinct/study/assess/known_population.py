"""What is known of the population that a table was drawn from: a table of it, its size, or a sampling fraction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from indistinct.engines import open_source
from indistinct.engines.base import close_source
from indistinct.errors import InputError, ParameterError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.population import require_population
from indistinct.hierarchy import Hierarchy
from indistinct.machine.arrays import Codes
from indistinct.release.verification.population import Population, read_population
from indistinct.study.assess.assessed_tables import AssessedTable
from indistinct.study.assess.look_alikes import counted_population, look_alikes
from indistinct.tables.value import Reading


@dataclass(frozen=True, slots=True, eq=False)
class KnownPopulation:
    """A population: its size and, where it is a table, what was counted on it."""

    size: int | None = None
    counted: Counted | None = None

    def look_alikes(self, table: AssessedTable, hierarchies: Mapping[str, Hierarchy]) -> Codes | None:
        """Return how many of the population look like each class of a table, None where it is no table itself.

        Raises `InputError` if a class has more members than the population has look-alikes.
        """
        if self.counted is None or table.in_buckets or not table.evidence.rows:
            return None
        found = look_alikes(
            table.evidence.counted,
            self.counted,
            table.schema,
            published=table.published,
            hierarchies=hierarchies,
        )
        require_population(table.classes.members, found)
        return found


def check_known(population: Any, size: Any, fraction: Any) -> None:
    """Raise unless at most one of the three says what lies beyond the table, and says it well."""
    given = {"population": population, "population_size": size, "sampling_fraction": fraction}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ParameterError(
            f"{' and '.join(f'`{name}`' for name in named)} cannot stand together",
            hint="each of them says how large the population is; give one",
        )
    if fraction is not None and (
        isinstance(fraction, bool) or not isinstance(fraction, Real) or not 0 < float(fraction) <= 1
    ):
        raise ParameterError(
            f"`sampling_fraction` must be above 0 and at most 1; got {fraction!r}",
            hint="0.05 says that the table has five in a hundred of the population",
        )
    if size is not None and (isinstance(size, bool) or not isinstance(size, Integral) or size < 1):
        raise ParameterError(
            f"`population_size` must be a whole number of at least 1; got {size!r}",
            hint="it is the number of people, or rows, that the table was drawn from",
        )


def known_population(
    population: Any,
    size: int | None,
    fraction: float | None,
    *,
    sample: AssessedTable,
    hierarchies: Mapping[str, Hierarchy],
    reading: Callable[[Sequence[str]], Reading],
) -> KnownPopulation:
    """Return what is known of the population of a sample, which is the original where that is known.

    `reading` says how some columns of a file are read.
    """
    counted = None
    members, unit = sample.members, sample.classes.unit
    if population is not None:
        others = read_population(lambda how: open_source(population, how)[1], reading, sample.schema)
        try:
            engine, source = open_source(others)
            counted = counted_population(Population(engine, source, sample.schema, hierarchies=hierarchies))
        finally:
            close_source(others, given=population)
        size = counted.frequencies.members
    elif fraction is not None:
        size = max(int(np.ceil(members / fraction)), members)
    if size is not None and size < members:
        raise InputError(
            f"the population has {size:,} {unit}, fewer than the table with {members:,}",
            hint="the table must be a part of the population",
        )
    return KnownPopulation(size, counted)
