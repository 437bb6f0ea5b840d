"""A quasi-identifier as algorithms see it: its domain, its hierarchy, and how it may be cut."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError
from indistinct.hierarchy.value import Hierarchy, Taxonomy
from indistinct.machine.arrays import Codes
from indistinct.tables.domain import Domain, Kind


@dataclass(frozen=True, eq=False)
class QuasiColumn:
    """A quasi-identifier column: what a recoding may say about it.

    `tree` says that the column is cut through its hierarchy and published as an ancestor; otherwise it is cut along
    its canonical or declared order and published as a range (numbers, dates, declared orders) or a set of values.
    """

    domain: Domain
    taxonomy: Taxonomy | None = None
    tree: bool = False

    @property
    def name(self) -> str:
        """Return the column's name."""
        return self.domain.column

    @property
    def ranged(self) -> bool:
        """Whether a published value is a range on a line."""
        return self.domain.ordered and not self.tree

    @cached_property
    def ranks(self) -> Codes:
        """Each code's place in the order in which the column is cut."""
        if self.tree and self.taxonomy is not None:
            return self.taxonomy.ranks()
        return np.arange(len(self.domain), dtype=np.int32)

    @cached_property
    def by_rank(self) -> Codes:
        """The code at each rank."""
        codes = np.empty(len(self.ranks), dtype=np.int32)
        codes[self.ranks] = np.arange(len(self.ranks), dtype=np.int32)
        return codes

    @cached_property
    def positions(self) -> Codes:
        """Each code's place on the column's line."""
        return self.domain.positions()

    @property
    def span(self) -> float:
        """Return the length of the column's line."""
        return float(self.positions.max() - self.positions.min()) if len(self.domain) else 0.0

    @property
    def size(self) -> int:
        """Return the number of raw values: the hierarchy's leaves, or the values that occur."""
        return self.taxonomy.size if self.taxonomy is not None else len(self.domain)

    @property
    def height(self) -> int:
        """Return the height of the hierarchy; without one a value is raw or it is not."""
        return self.taxonomy.height if self.taxonomy is not None else 1

    @property
    def textual(self) -> bool:
        """Whether the raw values are text."""
        return self.domain.kind is Kind.TEXT


def columns_of(domains: Sequence[Domain], hierarchies: Mapping[str, Hierarchy]) -> tuple[QuasiColumn, ...]:
    """Return quasi-identifiers with their hierarchies laid over them."""
    columns = []
    for domain in domains:
        hierarchy = hierarchies.get(domain.column)
        taxonomy = None if hierarchy is None else hierarchy.bind(domain)
        tree = hierarchy is not None and (hierarchy.categorical or not domain.ordered)
        columns.append(QuasiColumn(domain, taxonomy, tree))
        _check_span(columns[-1])
    return tuple(columns)


def _check_span(column: QuasiColumn) -> None:
    """Raise if the ends of a column are so far apart that floats have no number for it."""
    kind = column.domain.values.type
    if not pa.types.is_floating(kind) or not len(column.domain.values):
        return
    with np.errstate(over="ignore"):
        if np.isfinite(column.span):
            return
    name = column.domain.column
    raise InputError(
        f"column {name!r} holds numbers beyond 10^307: the distance between the smallest and the largest is no number",
        hint="give the column in a larger unit, or make such values missing",
        column=name,
    )
