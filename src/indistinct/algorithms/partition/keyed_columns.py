"""Columns of a search by passes: keys replace ranks where a column has too many values to rank them all."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from indistinct.algorithms.partition.layout import KernelLayout, layout_of
from indistinct.algorithms.within_levels import ColumnWithin
from indistinct.frequencies.passes import MISSING, KeyColumn
from indistinct.machine.arrays import Codes
from indistinct.recoding.columns import QuasiColumn
from indistinct.tables.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class KeyedColumn:
    """A quasi-identifier and the keys of its values; all keys of the table are from `low` to `high`.

    `quasi` knows every value of a column with a domain; of others it knows the smallest and largest. The column's width
    is multiplied by its attribute `weight`. Of a column with minimum and maximum generalization (`within`), keys are
    ranks of its coarse values.
    """

    quasi: QuasiColumn
    keys: KeyColumn
    low: int
    high: int
    weight: float = 1.0
    within: ColumnWithin | None = None

    @classmethod
    def bounded(cls, within: ColumnWithin, keys: KeyColumn, weight: float) -> "KeyedColumn":
        """Return a column with minimum and maximum generalization, given the keys of all its values."""
        coarse = within.rooted
        own = replace(keys, ranks=coarse.ranks[within.codes])
        return cls(coarse, own, 0, len(coarse.domain) - 1, weight, within)

    @property
    def original(self) -> QuasiColumn:
        """The column of the table, published through its hierarchy where it has level bounds."""
        return self.quasi if self.within is None else self.within.original

    @property
    def table_keys(self) -> KeyColumn:
        """The keys of the table's values, in the order of a recoding's cuts."""
        finer = self.within is not None and self.within.least
        return replace(self.keys, ranks=self.original.ranks) if finer else self.keys

    def top_ends(self) -> Codes:
        """Return the last key of every top node except the last, where the hierarchy was cut off below its root."""
        taxonomy = None if self.within is None or not self.within.cut_off else self.within.coarse.taxonomy
        if taxonomy is None:
            return np.zeros(0, dtype=np.uint64)
        tops = taxonomy.ancestors[self.quasi.by_rank, -1]
        return np.flatnonzero(tops[1:] != tops[:-1]).astype(np.uint64)

    @property
    def has_domain(self) -> bool:
        """Whether all values of the column are known, so that keys are ranks."""
        return self.keys.domain is not None

    @property
    def in_sets(self) -> bool:
        """Whether classes publish sets of values instead of the ends of a range or a node."""
        return not self.quasi.tree and not self.quasi.ranged

    @property
    def floored(self) -> bool:
        """Whether the lowest key may mean a missing value, which is not part of any range."""
        return self.low == MISSING and self.quasi.ranged and self.quasi.domain.missing

    def among(self, keys: Codes) -> QuasiColumn:
        """Return the column restricted to the values of these ascending keys."""
        if self.has_domain:
            return self.quasi
        return QuasiColumn(self.domain_of(keys))

    def domain_of(self, keys: Codes) -> Domain:
        """Return the domain of the values of these ascending keys; all values where they are known."""
        if self.has_domain:
            return self.quasi.domain
        missing = bool(len(keys)) and int(keys[0]) == MISSING
        return Domain(self.keys.name, self.keys.values(keys[int(missing) :]), missing=missing)


def local_layout(columns: Sequence[KeyedColumn], some: Sequence[Codes]) -> KernelLayout:
    """Return the kernel layout of columns restricted to some keys, with positions of the whole table."""
    layout = layout_of([column.among(keys) for column, keys in zip(columns, some, strict=True)])
    lines = layout.lines.copy()
    for index, (column, keys) in enumerate(zip(columns, some, strict=True)):
        if not column.has_domain and len(keys) and int(keys[0]) == MISSING:
            # A missing value has the position of the table's first value, which may not be among these keys.
            lines[layout.line_offset[index]] = column.quasi.positions[0]
    spans = [span if each.has_domain else each.quasi.span for span, each in zip(layout.span, columns, strict=True)]
    weights = np.array([column.weight for column in columns])
    return replace(layout, lines=lines, span=np.array(spans, dtype=np.float64) / weights, weights=weights)


def ranks_among(columns: Sequence[KeyedColumn], keys: Codes, some: Sequence[Codes]) -> Codes:
    """Return a matrix of keys as ranks among `some`, sorted keys of each column that include them all."""
    ranks = np.empty(keys.shape, dtype=np.int64)
    for index, column in enumerate(columns):
        ranks[:, index] = keys[:, index] if column.has_domain else np.searchsorted(some[index], keys[:, index])
    return ranks
