"""Columns of intervals and periods, for which pandas and polars have their own types, as texts.

Intervals that contain their lower end become the labels that a release publishes, so that the results of
`to_pandas(intervals=True)` and `to_polars(intervals=True)` can be read back; others are written as in pandas: (18, 30].
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError

INTERVAL, PERIOD = "pandas.interval", "pandas.period"
STRUCT = ("low", "high", "high_inside")
"""The fields of an interval in a polars frame."""
EVERYTHING = "*"
# The first and the last day of pandas, at which ends of dates count as open.
FIRST_DAY, LAST_DAY = "1677-09-21", "2262-04-11"


def is_interval_type(kind: pa.DataType) -> bool:
    """Return whether `interval_texts` supports an Arrow type."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind.extension_name in (INTERVAL, PERIOD)
    return pa.types.is_struct(kind) and tuple(field.name for field in kind) == STRUCT


def interval_texts(cells: pa.Array) -> pa.Array:
    """Return cells of an interval type as texts; missing cells stay missing.

    >>> cells = pa.array([{"low": 18, "high": 21, "high_inside": True}, {"low": 22, "high": None, "high_inside": True}])
    >>> interval_texts(cells).to_pylist()
    ['[18-21]', '[22-]']
    """
    kind = cells.type
    if not isinstance(kind, pa.BaseExtensionType):
        low, high, inside = (pc.struct_field(cells, name) for name in STRUCT)
        labels = _labels(low, high, inside=pc.fill_null(inside, True))
    elif kind.extension_name == PERIOD:
        return _period_texts(cells.storage, kind.freq)
    else:
        left, right = (pc.struct_field(cells.storage, name) for name in ("left", "right"))
        labels = _interval_labels(left, right, kind.closed)
    return pc.if_else(cells.is_valid(), labels, pa.scalar(None, pa.string()))


def texts_of_objects(cells: Sequence[Any]) -> pa.Array | None:
    """Return pandas intervals that are Python objects as texts; None if a cell is anything else.

    A frame has objects where the intervals of one column are closed on different sides.
    """
    known = [cell for cell in cells if cell is not None and cell == cell]
    if not known or not all(type(cell).__name__ == "Interval" for cell in known):
        return None
    texts: dict[Any, str] = {}
    for closed in {cell.closed for cell in known}:
        own = list({cell for cell in known if cell.closed == closed})
        lows, highs = (pa.array([getattr(cell, end) for cell in own]) for end in ("left", "right"))
        texts |= zip(own, _interval_labels(lows, highs, closed).to_pylist(), strict=True)
    return pa.array([texts.get(cell) if cell == cell else None for cell in cells], pa.string())


def check_period(field: pa.Field) -> None:
    """Raise `InputError` for a column of periods in a file: it only has numbers, such as 650 for March 2024."""
    described = field.metadata or {}
    by_type = isinstance(field.type, pa.BaseExtensionType) and field.type.extension_name == PERIOD
    if by_type or described.get(b"ARROW:extension:name") == PERIOD.encode():
        raise InputError(
            f"column {field.name!r} has periods of pandas, which a file stores as bare numbers",
            hint=f"save the column as text: frame[{field.name!r}] = frame[{field.name!r}].astype(str)",
            column=field.name,
        )


def _period_texts(numbers: pa.Array, freq: str) -> pa.Array:
    """Write periods of pandas as text."""
    import pandas

    known = numbers.drop_null().unique()
    index: Any = pandas.PeriodIndex
    names = index.from_ordinals(known.to_numpy(), freq=freq).astype(str)
    texts = pa.array([str(name) for name in names], pa.string())
    return texts.take(pc.index_in(numbers, value_set=known))


def _interval_labels(low: pa.Array, high: pa.Array, closed: str) -> pa.Array:
    if closed in ("both", "left"):
        return _labels(low, high, inside=pa.scalar(closed == "both"))
    first, last = (_end_texts(ends, days=_whole_days(low, high)) for ends in (low, high))
    return pc.binary_join_element_wise("(", first, ", ", last, "]" if closed == "right" else ")", "")


def _labels(low: pa.Array, high: pa.Array, *, inside: pa.Array | pa.Scalar) -> pa.Array:
    """Return the labels of ranges that contain their lower end; a null or infinite end is open."""
    days = _whole_days(low, high)
    first, last = _end_texts(_open_ends(low), days=days), _end_texts(_open_ends(high), days=days)
    start, end = pc.fill_null(first, ""), pc.fill_null(last, "")
    below = pc.and_(first.is_null(), last.is_valid())
    hyphen = pc.or_(pc.match_substring(start, "-"), pc.match_substring(end, "-"))
    separator = pc.if_else(pc.or_(hyphen, below), " .. ", "-")
    closing = pc.if_else(pc.or_(last.is_null(), inside), "]", ")")
    labels = pc.binary_join_element_wise("[", start, separator, end, closing, "")
    labels = pc.if_else(pc.fill_null(pc.equal(first, last), False), start, labels)
    return pc.if_else(pc.and_(first.is_null(), last.is_null()), EVERYTHING, labels)


def _open_ends(ends: pa.Array) -> pa.Array:
    """Return ends with nulls for those that are infinite or the first and last timestamps of pandas."""
    if pa.types.is_floating(ends.type):
        return pc.if_else(pc.is_finite(ends), ends, pa.scalar(None, ends.type))
    if pa.types.is_timestamp(ends.type):
        days = ends.cast(pa.date32(), safe=False).cast(pa.string())
        return pc.if_else(pc.is_in(days, pa.array([FIRST_DAY, LAST_DAY])), pa.scalar(None, ends.type), ends)
    return ends


def _whole_days(low: pa.Array, high: pa.Array) -> bool:
    """Return whether all ends are timestamps at midnight, or open."""
    if not pa.types.is_timestamp(low.type):
        return False
    known = pa.concat_arrays([_open_ends(low), _open_ends(high)]).drop_null()
    return bool(pc.all(pc.equal(known, pc.floor_temporal(known, unit="day"))).as_py())


def _end_texts(ends: pa.Array, *, days: bool) -> pa.Array:
    if not pa.types.is_timestamp(ends.type):
        return ends.cast(pa.string())
    return ends.cast(pa.date32() if days else pa.timestamp("us"), safe=False).cast(pa.string())
