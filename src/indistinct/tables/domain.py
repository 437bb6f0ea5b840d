"""A column's distinct values in canonical order; a value's index is its code in recodings, algorithms and engines."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError, UnseenValueError
from indistinct.machine.arrays import Codes

DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
"""The length of a day in each unit of Arrow's timestamps."""


class Kind(StrEnum):
    """How values are compared, and how distances between them are measured."""

    NUMBER = "number"
    DATE = "date"
    TEXT = "text"


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """The distinct values of a column in canonical order; a value's code is its index.

    Numbers and dates ascend; text is sorted by code point or by a declared order. Missing is a value of its own and,
    where it occurs, has code 0.
    """

    column: str
    values: pa.Array
    missing: bool = False
    declared: bool = False

    def __len__(self) -> int:
        return len(self.values) + self.missing

    @property
    def kind(self) -> Kind:
        """How the values are compared."""
        return kind_of(self.values.type)

    @property
    def ordered(self) -> bool:
        """Whether ranges of values make sense: numbers, dates and declared orders."""
        return self.declared or self.kind is not Kind.TEXT

    def texts(self) -> tuple[str | None, ...]:
        """Return each code's value as text; None is missing."""
        spelled = self.values.cast(pa.string()).to_pylist()
        return (None, *spelled) if self.missing else tuple(spelled)

    def code_of_text(self, text: str) -> int | None:
        """Return the code of a text, None where the column does not have it.

        >>> Domain("age", pa.array(["*", "30"]), missing=True).code_of_text("*")
        1
        """
        index = pc.index(self.values, pa.scalar(text, self.values.type)).as_py() if self.kind is Kind.TEXT else -1
        return None if index < 0 else index + int(self.missing)

    def positions(self) -> Codes:
        """Return each code's position for widths: numbers, days, or ranks.

        Missing has the position of the first value.
        """
        match Kind.TEXT if self.declared else self.kind:
            case Kind.NUMBER:
                line = self.values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            case Kind.DATE:
                line = self.values.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy(zero_copy_only=False)
                line = line / 86_400e6
            case Kind.TEXT:
                line = np.arange(len(self.values), dtype=np.float64)
        if not self.missing:
            return line
        return np.concatenate([line[:1] if len(line) else np.zeros(1), line])

    def encode(self, column: pa.ChunkedArray) -> Codes:
        """Return the code of every cell; raise `UnseenValueError` for a value outside the domain."""
        column = plain_column(self.column, column)
        if isinstance(column.type, pa.DictionaryType):
            return self._encode_dictionaries(column)
        if pa.types.is_floating(column.type):
            column = pc.add(column, pa.scalar(0, column.type))  # -0.0 and 0.0 are one value
        if kind_of(column.type) is not self.kind:
            raise InputError(
                f"column {self.column!r} was read as {kind_of(column.type)}, but the recoding knows it as {self.kind}",
                hint="read the new file with the same types as the first one",
            )
        indices = pc.index_in(_cast(column, self.values.type, self.column), value_set=self.values)
        codes = pc.fill_null(indices, -1).to_numpy() + (1 if self.missing else 0)
        absent = column.is_null().to_numpy()
        unseen = (codes < self.missing) & ~absent if self.missing else codes < 0
        if unseen.any():
            strangers = column.filter(pa.array(unseen)).unique().to_pylist()
            raise UnseenValueError(
                f"column {self.column!r} holds values that the recoding does not know ({len(strangers)} distinct)",
                hint="search a new recoding on the new data",
                values=strangers,
                column=self.column,
            )
        return codes.astype(np.int32)

    def decode(self, codes: Codes) -> pa.Array:
        """Return the values of codes."""
        positions = codes.astype(np.int64) - int(self.missing)
        return self.values.take(pa.array(positions, mask=positions < 0))

    def translate(self, other: "Domain", *, empty: bool = False) -> Codes:
        """Return the code in another domain of each of this one's values, -1 for values that it does not have.

        Texts are converted to the other's type, as for a file without types. With `empty`, missing is translated to the
        empty text if the other domain has no missing value.
        """
        kind = other.values.type
        values = self.values if self.values.type == kind else read_as(self.values, kind)
        if values.equals(other.values):
            codes = np.arange(len(values), dtype=np.int64) + other.missing
        else:
            codes = pc.fill_null(pc.index_in(values, value_set=other.values), -1).to_numpy(zero_copy_only=False)
            codes = np.where(codes < 0, -1, codes + other.missing).astype(np.int64)
        if not self.missing:
            return codes
        absent = 0 if other.missing else -1
        if empty and absent < 0 and pa.types.is_string(kind):
            absent = pc.index(other.values, pa.scalar("", kind)).as_py()
        return np.concatenate([[absent], codes])

    def union(self, other: "Domain", *, order: Sequence[str] | None = None) -> "Domain":
        """Return a domain with the values of both, in this one's type and, where it is given, the declared order.

        Values that a declared order does not name come last.
        """
        if len(other.values) and other.kind is not self.kind:
            raise InputError(
                f"column {self.column!r} was read as {other.kind}, but the recoding knows it as {self.kind}",
                hint="read the new file with the same types as the first one",
            )
        kind, missing = self.values.type, self.missing or other.missing
        more = _cast(pa.chunked_array([other.values]), kind, self.column) if len(other.values) else pa.array([], kind)
        fresh = more.filter(pc.invert(pc.is_in(more, value_set=self.values)))
        if not len(fresh):
            return replace(self, missing=missing)
        values = pa.concat_arrays([self.values, *(fresh.chunks if isinstance(fresh, pa.ChunkedArray) else [fresh])])
        if not self.declared:
            return replace(self, values=values.take(pc.sort_indices(values)), missing=missing)
        index = {text: rank for rank, text in enumerate(order or self.values.cast(pa.string()).to_pylist())}
        ranks = [index.get(text, len(index)) for text in values.cast(pa.string()).to_pylist()]
        return replace(self, values=values.take(pa.array(np.argsort(ranks, kind="stable"))), missing=missing)

    def _encode_dictionaries(self, column: pa.ChunkedArray) -> Codes:
        """Encode the occurring values of each dictionary, and look up the cells among them."""
        parts = [np.zeros(0, dtype=np.int32)]
        for chunk in column.chunks:
            positions = chunk.indices.fill_null(len(chunk.dictionary)).to_numpy(zero_copy_only=False)
            used = np.zeros(len(chunk.dictionary) + 1, dtype=bool)
            used[positions] = True
            cells = pa.concat_arrays([chunk.dictionary, pa.nulls(1, chunk.dictionary.type)])
            codes = np.zeros(len(used), dtype=np.int32)
            codes[used] = self.encode(pa.chunked_array([cells.filter(pa.array(used))]))
            parts.append(codes[positions])
        return np.concatenate(parts)


def kind_of(kind: pa.DataType) -> Kind:
    """Return whether values of an Arrow type are numbers, dates or texts."""
    if isinstance(kind, pa.DictionaryType):
        kind = kind.value_type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Kind.NUMBER
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return Kind.DATE
    return Kind.TEXT


def plain_column(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column in one of the few Arrow types of domains."""
    kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
    unordered = pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    if unordered or pa.types.is_duration(kind):
        raise InputError(
            f"column {name!r} has the type {kind}, which cannot be grouped",
            hint="turn it into text, numbers or dates first, or give it the role insensitive",
        )
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_time(kind):
        kind = pa.string()
    elif pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return column.cast(pa.string())
    elif pa.types.is_timestamp(kind):
        if kind.tz is not None:  # the local day and hour
            plain = column.cast(kind) if isinstance(column.type, pa.DictionaryType) else column
            column = pc.local_timestamp(plain)
        kind = pa.timestamp("us")
    elif pa.types.is_date(kind):
        kind = pa.date32()
    elif pa.types.is_float16(kind):
        kind = pa.float32()
    elif pa.types.is_decimal(kind) and kind.bit_width < 128:
        kind = pa.decimal128(kind.precision, kind.scale)
    if isinstance(column.type, pa.DictionaryType):
        # Numbers and dates are checked, and 0.0 and -0.0 made equal, cell by cell.
        return with_room(column, kind) if pa.types.is_string(kind) else column.cast(kind)
    return column.cast(kind, safe=False) if column.type != kind else column


def days_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return timestamps that are all at midnight as dates; any other plain column unchanged.

    Timestamps with a time zone are in local time, because `plain_column` has removed the zone.

    >>> days_of(pa.chunked_array([["2024-01-11 00:00", "2024-02-01 00:00"]]).cast(pa.timestamp("us"))).type
    DataType(date32[day])
    """
    if not pa.types.is_timestamp(column.type) or column.null_count == len(column):
        return column
    unit = DAY[column.type.unit]
    numbers = (chunk.cast(pa.int64()).drop_null().to_numpy(zero_copy_only=False) for chunk in column.chunks)
    return column.cast(pa.date32()) if all(not (part % unit).any() for part in numbers) else column


def ascends(values: pa.Array) -> bool:
    """Return whether values strictly ascend, so that all differ and none is missing."""
    if values.null_count or len(values) < 2:
        return not values.null_count
    return bool(pc.all(pc.less(values[:-1], values[1:])).as_py())


def one_to_one(kind: pa.DataType) -> bool:
    """Return whether values of an Arrow type that count as equal are always written alike.

    They are not for local times (an hour occurs twice when clocks change), nanoseconds, and times of day.
    """
    if isinstance(kind, pa.DictionaryType):
        kind = kind.value_type
    if pa.types.is_timestamp(kind):
        return kind.tz is None and kind.unit != "ns"
    return not pa.types.is_date64(kind)


def with_room(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Widen the index type of a dictionary column if it has no free code for missing values."""
    index = column.type.index_type
    most = np.iinfo(index.to_pandas_dtype()).max
    roomy = all(len(chunk.dictionary) < most for chunk in column.chunks)
    return column if roomy and column.type.value_type == kind else column.cast(pa.dictionary(pa.int32(), kind))


def read_as(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values converted to another type, missing where one does not fit; a text of midnight is a date.

    >>> read_as(pa.array(["2024-01-11", "2024-01-11 00:00:00", "2024-01-11 10:00:00"]), pa.date32()).null_count
    1
    """
    if pa.types.is_date(kind) and pa.types.is_string(values.type):
        moments = read_as(values, pa.timestamp("us"))
        days = moments.cast(kind, safe=False)
        return pc.if_else(pc.equal(days.cast(moments.type), moments), days, None)
    try:
        return values.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if len(values) < 2:
            return pa.nulls(len(values), kind)
    middle = len(values) // 2
    return pa.concat_arrays([read_as(values[:middle], kind), read_as(values[middle:], kind)])


def _cast(column: pa.ChunkedArray, kind: pa.DataType, name: str) -> pa.ChunkedArray:
    """Cast a column to the type of a recoding; raise `UnseenValueError` for values that do not fit."""
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        raise UnseenValueError(
            f"column {name!r} holds values that do not fit the type {kind} of the recoding",
            hint="search a new recoding on the new data",
        ) from None
