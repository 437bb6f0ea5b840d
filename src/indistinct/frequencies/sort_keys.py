"""Columns as 64-bit keys that ascend as their values do, for tables whose distinct values do not fit in memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError
from indistinct.frequencies.encode import check_finite
from indistinct.machine.arrays import Codes
from indistinct.tables.domain import Domain, plain_column

MISSING = 0
"""The key of a missing value in a column without a domain: below all others."""
SIGN = np.uint64(1 << 63)
LAST = np.uint64((1 << 64) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class KeyColumn:
    """A column as sort keys: the ranks of its codes where there is a `domain`, else a bit pattern of each value.

    `kind` is the Arrow type that values have in a domain.

    >>> numbers = KeyColumn("height", pa.float64())
    >>> keys = numbers.keys(pa.chunked_array([[1.5, None, -0.0, 0.0, -2.0]]))
    >>> np.argsort(keys, kind="stable").tolist(), numbers.values(keys).to_pylist()
    ([1, 4, 2, 3, 0], [1.5, None, 0.0, 0.0, -2.0])
    """

    name: str
    kind: pa.DataType
    domain: Domain | None = None
    ranks: Codes | None = None

    def keys(self, cells: pa.ChunkedArray) -> Codes:
        """Return the key of every cell; raise `UnseenValueError` for a value outside the domain."""
        if self.domain is not None and self.ranks is not None:
            return self.ranks[self.domain.encode(cells)].astype(np.uint64)
        plain = plain_column(self.name, cells)
        numbers = plain.cast(_counting(self.kind))
        absent = numbers.is_null().to_numpy() if numbers.null_count else None
        found = (numbers if absent is None else numbers.fill_null(0)).to_numpy()
        keys = self._ordered(found)
        if not pa.types.is_floating(self.kind) and (keys == LAST).any():
            raise InputError(
                f"column {self.name!r} holds the largest number of its type, which leaves no room for missing values",
                hint="make such marks missing (null), or give the column another type",
                column=self.name,
            )
        keys += np.uint64(1)
        if absent is not None:
            keys[absent] = MISSING
        return keys

    def _ordered(self, numbers: Codes) -> Codes:
        """Return 64 bits for each number that ascend as the numbers do."""
        if pa.types.is_unsigned_integer(self.kind):
            return numbers.astype(np.uint64)
        if not pa.types.is_floating(self.kind):
            return numbers.astype(np.int64).view(np.uint64) ^ SIGN
        if not np.isfinite(numbers).all():
            check_finite(self.name, numbers)
        bits = (numbers + 0.0).view(np.int64)  # -0.0 and 0.0 are one value
        # Negative numbers ascend as their bits descend: all bits of those are turned, else the sign alone.
        return (bits ^ (bits >> 63 | SIGN.view(np.int64))).view(np.uint64)

    def values(self, keys: Codes) -> pa.Array:
        """Return the values that keys of a column without a domain stand for, null for missing ones."""
        absent, bits = keys == MISSING, keys - np.uint64(1)
        if pa.types.is_unsigned_integer(self.kind):
            numbers = bits
        elif pa.types.is_floating(self.kind):
            numbers = np.where(bits >= SIGN, bits ^ SIGN, ~bits).view(np.float64)
        else:
            numbers = (bits ^ SIGN).view(np.int64)
        numbers = np.where(absent, numbers.dtype.type(0), numbers)
        return pa.array(numbers, mask=absent).cast(_narrow(self.kind)).cast(self.kind)


def has_keys(kind: pa.DataType) -> bool:
    """Return whether values of a type can be ordered by 64 bits."""
    return (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    )


def plain_type(name: str, kind: pa.DataType) -> pa.DataType:
    """Return the type that values of a column have in a domain."""
    return plain_column(name, pa.chunked_array([], type=kind)).type


def key_matrix(batch: pa.Table, columns: Sequence[KeyColumn], needed: Iterable[int]) -> Codes:
    """Return the keys of a batch, one row of the matrix for each row of it; only some columns are filled."""
    keys = np.empty((batch.num_rows, len(columns)), dtype=np.uint64, order="F")
    for index in needed:
        keys[:, index] = columns[index].keys(batch[columns[index].name])
    return keys


def _counting(kind: pa.DataType) -> pa.DataType:
    """Return the type of numbers that the bits of keys are taken from."""
    if pa.types.is_unsigned_integer(kind):
        return pa.uint64()
    if pa.types.is_floating(kind):
        return pa.float64()
    return pa.int32() if pa.types.is_date32(kind) else pa.int64()


def _narrow(kind: pa.DataType) -> pa.DataType:
    """Return the type of numbers from which values are made."""
    return pa.int32() if pa.types.is_date32(kind) else kind if not pa.types.is_timestamp(kind) else pa.int64()
