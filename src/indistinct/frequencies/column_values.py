"""The values of each column, found in one pass over batches: all while they are few, else how far they reach."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from indistinct.frequencies.sort_keys import LAST, MISSING, KeyColumn, plain_type
from indistinct.machine.arrays import Codes
from indistinct.tables.domain import plain_column


@dataclass(frozen=True, slots=True, eq=False)
class ColumnValues:
    """What is known of a column's values: the distinct ones, None where they are more than `most`.

    Of a column that is `keyed` the smallest and the largest key are known, and whether some are missing.
    """

    name: str
    kind: pa.DataType
    most: int
    distinct: pa.ChunkedArray | None
    keyed: bool = False
    low: int = int(LAST)
    high: int = 0
    missing: bool = False

    @classmethod
    def nothing(cls, name: str, kind: pa.DataType, most: int, *, keyed: bool) -> "ColumnValues":
        """Return what is known of a column of an Arrow type before its first row."""
        plain = plain_type(name, kind)
        plain = plain.value_type if isinstance(plain, pa.DictionaryType) else plain
        return cls(name, plain, most, pa.chunked_array([], type=plain), keyed)

    def plus(self, cells: pa.ChunkedArray) -> "ColumnValues":
        """Return what is known after some more rows."""
        low, high, missing = self.low, self.high, self.missing
        if self.keyed:
            keys = KeyColumn(self.name, self.kind).keys(cells)
            known: Codes = keys[keys != MISSING]
            low, high = min(low, int(known.min(initial=LAST))), max(high, int(known.max(initial=np.uint64(0))))
            missing = missing or len(known) < len(keys)
        more = (
            self.distinct
            if self.distinct is None
            else _join_distinct(self.distinct, _own_cells(self.name, self.kind, cells))
        )
        return replace(self, distinct=self._if_few(more), low=low, high=high, missing=missing)

    def merged(self, other: "ColumnValues") -> "ColumnValues":
        """Return what is known of the rows of both."""
        both = None
        if self.distinct is not None and other.distinct is not None:
            both = _join_distinct(self.distinct, other.distinct)
        low, high = min(self.low, other.low), max(self.high, other.high)
        return replace(self, distinct=self._if_few(both), low=low, high=high, missing=self.missing or other.missing)

    def _if_few(self, distinct: pa.ChunkedArray | None) -> pa.ChunkedArray | None:
        return None if distinct is None or len(distinct) > self.most else distinct


def values_of(known: Mapping[str, ColumnValues], batch: pa.Table, columns: Sequence[str]) -> dict[str, ColumnValues]:
    """Return what is known of columns after the rows of one more batch."""
    return {name: known[name].plus(batch[name]) for name in columns}


def _own_cells(name: str, kind: pa.DataType, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    found = plain_column(name, cells).unique()
    return pa.chunked_array([found.cast(kind) if found.type != kind else found])


def _join_distinct(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([pa.chunked_array([*one.chunks, *other.chunks], one.type).unique()])
