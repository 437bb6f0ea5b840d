"""The population that a table was drawn from: a table of it, its size, or a sampling fraction.

Where it is a table, it says how many people look like each class: those whom the published values cover. Labels may
overlap, and then a person matches several classes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from indistinct.errors import InputError, ParameterError
from indistinct.evaluation.assess.assessed_tables import AssessedTable
from indistinct.figures import plural
from indistinct.frequencies.count import Counted
from indistinct.frequencies.population import require_population
from indistinct.frequencies.slices import together
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes
from indistinct.release.sources import close_source, open_source
from indistinct.release.verification.population import Population, count_population, people_by_label, read_population
from indistinct.schema import Schema
from indistinct.tables.domain import Kind
from indistinct.tables.value import Reading


@dataclass(frozen=True, slots=True, eq=False)
class KnownPopulation:
    """A population: its size and, where it is a table, what was counted on it."""

    size: int | None = None
    counted: Counted | None = None

    def look_alikes(self, table: AssessedTable, hierarchies: Mapping[str, Hierarchy]) -> Codes | None:
        """Return how many of the population look like each class of a table, None where it is no table itself.

        Raises `InputError` if a class has more members than the population has matches.
        """
        if self.counted is None or not table.labeled or not table.evidence.rows:
            return None
        matches = look_alikes(
            table.evidence.counted,
            self.counted,
            table.schema,
            published=table.published,
            hierarchies=hierarchies,
        )
        require_population(table.classes.members, matches)
        return matches


def check_known(population: Any, size: Any, fraction: Any) -> None:
    """Raise unless at most one description of the population is given, and it is valid."""
    given = {"population": population, "population_size": size, "sampling_fraction": fraction}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ParameterError(
            f"{' and '.join(f'`{name}`' for name in named)} cannot be used together",
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
    """Return the population of a sample: counted, or known by its size only.

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


def counted_population(population: Population) -> Counted:
    """Return the cells of a population, which must show every quasi-identifier."""
    quasi = population.schema.quasi
    missing = [name for name in quasi if name not in population.source.columns]
    if len(missing) == len(quasi):
        raise InputError(
            "the population has none of the quasi-identifiers, so that no person can be looked up in it",
            hint="it must have the columns of the table, under the same names",
        )
    if missing:
        raise InputError(
            f"the population has no column {', '.join(map(repr, missing))}",
            hint="it must show every quasi-identifier of the table",
        )
    return count_population(population)


def look_alikes(
    counted: Counted, population: Counted, schema: Schema, *, published: bool, hierarchies: Mapping[str, Hierarchy]
) -> Codes:
    """Return how many of a population look like each class that was counted on a table.

    A table that is not `published` may still show labels, where the population does not know its texts as values.
    """
    matches = None
    if not published and tuple(counted.frequencies.names) == tuple(schema.quasi):
        matches = _by_value(counted, population)
    if matches is not None:
        return matches
    try:
        return people_by_label(population, counted, schema, hierarchies=hierarchies).counts
    except InputError as error:
        if published or "column" not in error.details:
            raise
        raise InputError(
            f"the population does not contain the table: column {error.details['column']!r} has "
            f"{plural(len(error.values), 'distinct value')} that neither are in the "
            "population nor cover values of it",
            hint="give a population with everybody in the table, read and written in the same way",
            values=error.values,
            column=error.details["column"],
        ) from error


def _by_value(counted: Counted, population: Counted) -> Codes | None:
    """Return how many of a population have exactly the values of each cell; None for texts that it does not know."""
    codes = []
    vectors, whole = counted.frequencies.vectors, population.frequencies
    for index, (mine, theirs) in enumerate(zip(counted.domains, population.domains, strict=True)):
        translated = mine.translate(theirs)
        unknown = bool((translated < 0).any())
        if mine.kind is Kind.TEXT and unknown:
            return None
        if mine.kind is not theirs.kind and (unknown or Kind.TEXT not in (mine.kind, theirs.kind)):
            raise InputError(
                f"column {mine.column!r} of the population is {theirs.kind}, while that of the table is {mine.kind}",
                hint="read both tables with the same types",
                column=mine.column,
            )
        codes.append(translated[vectors[:, index]])
    theirs_ids, mine_ids = together([whole.vectors[:, index] for index in range(len(codes))], codes, rows=0)
    if mine_ids is None:
        raise AssertionError("both sides were given")
    # A vector that the population does not have gets a code of its own, and no members.
    members = np.zeros(max(int(theirs_ids.max(initial=0)), int(mine_ids.max(initial=0))) + 2, dtype=np.int64)
    members[theirs_ids] = whole.classes.members
    return members[mine_ids]
