"""Published ranges as intervals of pandas and structs of Arrow, by what their labels say."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from indistinct.machine.arrays import Codes
from indistinct.recoding.codebook import LabelEntry, codebook_of
from indistinct.tables.domain import Kind

Closed = Literal["both", "left"]


@dataclass(frozen=True, slots=True, eq=False)
class RangeColumn:
    """A published column of ranges: what its distinct labels say, and the place of every row's label among them."""

    kind: Kind
    entries: tuple[LabelEntry, ...]
    codes: Codes


def range_column(column: pa.ChunkedArray, name: str) -> RangeColumn | None:
    """Parse a column whose labels are numbers or dates, or ranges of them; None for any other column."""
    book = codebook_of(pa.table({name: column}), columns=[name])
    entries = book.entries
    kind = book.kinds.get(name, Kind.TEXT)
    ranged = any(entry.kind in ("range", "everything") for entry in entries)
    if kind is Kind.TEXT or not ranged or any(entry.kind in ("set", "group") for entry in entries):
        return None
    index_of = {entry.label: index for index, entry in enumerate(entries)}
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode(null_encoding="encode")
    own = np.array([index_of[text] for text in encoded.dictionary.to_pylist()], dtype=np.int64)
    return RangeColumn(kind, entries, own[encoded.indices.to_numpy(zero_copy_only=False)])


def pandas_intervals(column: RangeColumn) -> Any:
    """Return a column as pandas intervals: of one type where all are closed alike, and else as objects.

    Both ends of a single value are inside. An open end is infinite, of dates the first or last moment that pandas has.
    A missing value stays missing; that some rows of a range may have none is not in it.
    """
    import pandas

    closed: list[Closed] = ["both" if entry.high_inside else "left" for entry in column.entries]
    bounded = {each for each, entry in zip(closed, column.entries, strict=True) if entry.high is not None}
    lefts, rights = _ends_for_pandas(column)
    if len(bounded) <= 1:
        together = pandas.arrays.IntervalArray.from_arrays(lefts, rights, closed=next(iter(bounded), "both"))
        return together[column.codes]
    made = np.empty(len(closed), dtype=object)
    for index, entry in enumerate(column.entries):
        ends = (lefts[index], rights[index])
        made[index] = np.nan if entry.kind == "missing" else pandas.Interval(*ends, closed=closed[index])
    return made[column.codes]


def _ends_for_pandas(column: RangeColumn) -> tuple[Any, Any]:
    """Return the lower and the upper ends of all entries: whole numbers where all are, numbers, or moments."""
    import pandas

    absent = [entry.kind == "missing" for entry in column.entries]
    lows, highs = ([getattr(entry, end) for entry in column.entries] for end in ("low", "high"))
    if column.kind is Kind.DATE:
        first, last = pandas.Timestamp.min, pandas.Timestamp.max
        moments = (
            [
                pandas.NaT if a else pandas.Timestamp(beyond if e is None else e)
                for e, a in zip(ends, absent, strict=True)
            ]
            for ends, beyond in ((lows, first), (highs, last))
        )
        lefts, rights = map(pandas.DatetimeIndex, moments)
        return lefts, rights
    if not any(absent) and all(isinstance(end, int) for end in (*lows, *highs)):
        return np.array(lows, dtype=np.int64), np.array(highs, dtype=np.int64)
    left, right = (
        np.array([np.nan if a else beyond if e is None else float(e) for e, a in zip(ends, absent, strict=True)])
        for ends, beyond in ((lows, -np.inf), (highs, np.inf))
    )
    return left, right


def interval_structs(column: RangeColumn) -> pa.Array:
    """Return a column as structs of `low`, `high` and `high_inside`; an open end is null, and so is what is missing."""
    ends = [getattr(entry, end) for entry in column.entries for end in ("low", "high")]
    whole = all(end is None or isinstance(end, int) for end in ends)
    moments = any(isinstance(end, datetime) for end in ends)
    number = pa.int64() if whole else pa.float64()
    kind = number if column.kind is Kind.NUMBER else pa.timestamp("us") if moments else pa.date32()
    entries = [
        None if entry.kind == "missing" else {"low": entry.low, "high": entry.high, "high_inside": entry.high_inside}
        for entry in column.entries
    ]
    fields = [("low", kind), ("high", kind), ("high_inside", pa.bool_())]
    return pa.array(entries, pa.struct(fields)).take(pa.array(column.codes))
