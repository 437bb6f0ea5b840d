"""What a published label says of a line, read without the original: the ends of a range, a number, a date or a star.

All readers of labels split them by `labels`, and find their ends here.
"""

import math
import re
from collections.abc import Sequence
from datetime import MAXYEAR, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from indistinct.hierarchy.taxonomy import ROOT
from indistinct.recoding.outputs import OR_MISSING, WrittenRange, written_ranges
from indistinct.tables.domain import Kind

Texts = tuple[str | None, ...]
End = Decimal | datetime
_BEHIND_A_ZERO = re.compile(r"(?<![\d.])(?<![eE][-+])0\d")
_CALENDAR = re.compile(r"(?P<year>\d{4})(?:-(?P<month>0[1-9]|1[0-2])|-Q(?P<quarter>[1-4])|(?<=0)(?P<decade>s))?")
FROM, TO, MISSING = "_from", "_to", "_missing"
"""The endings of the names of columns that publish the ranges of one column."""
NO, SOME, ALL = "no", "some", "all"
"""What the last of them says: of how many rows of a class there is no value."""


def rows_of_outputs(names: Sequence[str], outputs: Sequence[Sequence[str | None]], column: str) -> list[Texts]:
    """Return the texts that say what is covered, by published value: a label, two bounds, or two ends and a word.

    An additional mean distinguishes classes, but does not show what is covered.

    >>> rows_of_outputs(["age_from", "age_to"], [["18", None], ["21", "40"]], "age")
    [('18', '21', 'no'), (None, '40', 'no')]
    """
    if names[0] == column:
        return [(text,) for text in outputs[0]]
    kept = [texts for name, texts in zip(names, outputs, strict=True) if name != f"{column}_mean"]
    rows: list[Texts] = list(zip(*kept, strict=True))
    alone = names[0] == column + FROM and column + MISSING not in names
    return [(*row, NO) for row in rows] if alone else rows


class LabelSpan(NamedTuple):
    """The ends of a published range, None for an open one, and whether the upper one is inside."""

    low: End | None
    high: End | None
    closed: bool


def span_of(texts: Texts, kind: Kind, *, moments: bool = False) -> LabelSpan | None:
    """Return the ends of a published number, date, range or star; None for any other label.

    Two texts are two published bounds, and three two ends with a word about missing values. A month, a quarter, a year
    and a decade end before the next one begins. In a column of `moments` a label that names a day covers all of it.

    >>> span_of(("[25-30]",), Kind.NUMBER)
    LabelSpan(low=Decimal('25'), high=Decimal('30'), closed=True)
    >>> span_of(("2024-02",), Kind.DATE)[1:]
    (datetime.datetime(2024, 3, 1, 0, 0), False)
    >>> span_of(("2024-02-29",), Kind.DATE, moments=True)[1:]
    (datetime.datetime(2024, 3, 1, 0, 0), False)
    """
    if len(texts) > 1:
        if texts[0] is None and texts[1] is None:
            return LabelSpan(None, None, True) if texts[2:] in ((NO,), (SOME,)) else None
        ways = [WrittenRange(texts[0] or "", texts[1] or "")]
    elif texts[0] is None:
        return None
    elif texts[0] == ROOT:
        return LabelSpan(None, None, True)
    else:
        inside = texts[0].removesuffix(OR_MISSING)
        ways = [WrittenRange(inside, inside), *written_ranges(inside)]
    for way in ways:
        low, high = (parse_value(text, kind) for text in way[:2])
        if (low is None and way.first) or (high is None and way.last):
            continue
        if way.first and way.first == way.last and not way.closed:
            continue
        if low is None or high is None or low <= high:  # type: ignore[operator]
            whole_day = moments and way.closed and len(texts) == 1 and isinstance(high, datetime)
            return LabelSpan(low, *(end_of_day(way.last, high) if whole_day else (high, way.closed)))
    return _calendar_span(texts[0] or "") if kind is Kind.DATE and len(texts) == 1 else None


def end_of_day(text: str, moment: End | None) -> tuple[End | None, bool]:
    """Return the first moment after a day that a text names and that it is excluded; any other moment is inside.

    >>> end_of_day("2024-02-29", datetime(2024, 2, 29)), end_of_day("2024-02-29 12:00", datetime(2024, 2, 29, 12))
    ((datetime.datetime(2024, 3, 1, 0, 0), False), (datetime.datetime(2024, 2, 29, 12, 0), True))
    """
    if not isinstance(moment, datetime) or not names_day(text):
        return moment, True
    if moment.date() == date.max:
        return datetime.max, True
    return moment + timedelta(days=1), False


def names_day(text: str) -> bool:
    """Return whether a text is a date without a time of day."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def shows_moments(texts: Sequence[str]) -> bool:
    """Return whether labels of dates name times of day.

    >>> shows_moments(["2024-02", "[2024-02-01 10:00:00 .. 2024-02-03 11:30:00]"]), shows_moments(["2024-02-01", "*"])
    (True, False)
    """
    return any(":" in text for text in texts)


def written_span(texts: Texts, kind: Kind, *, moments: bool = False) -> tuple[float | None, float | None, bool] | None:
    """Return both ends of a published number, range or star as numbers, and whether the upper end is included.

    >>> written_span(("[25-30]",), Kind.NUMBER), written_span(("[ .. 24] or missing",), Kind.NUMBER)
    ((25.0, 30.0, True), (None, 24.0, True))
    """
    span = span_of(texts, kind, moments=moments)
    if span is None:
        return None
    low, high = (None if end is None else place_on_line(end) for end in span[:2])
    return low, high, span.closed


def _calendar_span(text: str) -> LabelSpan | None:
    """Return the span from the start of a month, quarter, year or decade to the start of the next, excluded."""
    match = _CALENDAR.fullmatch(text.removesuffix(OR_MISSING))
    if match is None or match["year"] == "0000":
        return None
    year, month, months = int(match["year"]), 1, 120 if match["decade"] else 12
    if match["month"]:
        month, months = int(match["month"]), 1
    elif match["quarter"]:
        month, months = 3 * int(match["quarter"]) - 2, 3
    later, month_index = divmod(month - 1 + months, 12)
    if year + later > MAXYEAR:
        return LabelSpan(datetime(year, month, 1), datetime.max, True)
    return LabelSpan(datetime(year, month, 1), datetime(year + later, month_index + 1, 1), False)


def behind_a_zero(text: str) -> bool:
    """Return whether digits follow a zero that numbers do not have: then they are a name, such as a postcode."""
    return _BEHIND_A_ZERO.search(text) is not None


def kind_of_labels(texts: Sequence[str], published_kind: Kind) -> Kind:
    """Infer whether labels are numbers, dates or texts; `published_kind` is the declared kind of the column.

    >>> kind_of_labels(["[20-29]", "31", "*"], Kind.TEXT), kind_of_labels(["021**", "*"], Kind.TEXT)
    (<Kind.NUMBER: 'number'>, <Kind.TEXT: 'text'>)
    """
    if published_kind is not Kind.TEXT:
        return published_kind
    present = [text for text in texts if text != ROOT]
    number = () if any(map(behind_a_zero, present)) else (Kind.NUMBER,)
    for kind in (*number, Kind.DATE) if present else ():
        if all(span_of((text,), kind) is not None for text in present):
            return kind
    return Kind.TEXT


def first_inside(span: LabelSpan, kind: pa.DataType) -> End | None:
    """Return the smallest value of a range, of whole numbers the first one that is not below its end."""
    whole = isinstance(span.low, Decimal) and pa.types.is_integer(kind)
    return Decimal(math.ceil(span.low)) if whole else span.low  # type: ignore[arg-type]


def last_inside(span: LabelSpan, kind: pa.DataType) -> End | float | None:
    """Return the largest value of a range whose upper end may be excluded."""
    high = span.high
    if isinstance(high, datetime) and pa.types.is_date(kind):
        day = datetime(high.year, high.month, high.day)
        return day if span.closed or day < high else day - timedelta(days=1)
    if isinstance(high, Decimal) and pa.types.is_integer(kind):
        return Decimal(math.floor(high) if span.closed else math.ceil(high) - 1)
    if high is None or span.closed:
        return high
    if isinstance(high, datetime):
        return high - timedelta(microseconds=1)
    if pa.types.is_decimal(kind):
        return high - Decimal(1).scaleb(-kind.scale)
    if kind == pa.float64():
        return math.nextafter(float(high), -math.inf)
    narrow = kind.to_pandas_dtype()  # a label has as many digits of a float as distinguish it within its type
    return Decimal(str(np.nextafter(narrow(float(high)), narrow(-math.inf))))


def parse_value(text: str, kind: Kind) -> Decimal | datetime | None:
    """Parse a number or a date so that different ways of writing a value give the same result."""
    try:
        match kind:
            case Kind.NUMBER:
                size = Decimal(text)
                return size if size.is_finite() else None
            case Kind.DATE:
                moment = datetime.fromisoformat(text)
                return moment if moment.tzinfo is None else None
            case Kind.TEXT:
                return None
    except (InvalidOperation, ValueError):
        return None


def parse_values(texts: Sequence[str], kind: Kind) -> list[Decimal | datetime | None]:
    """Parse several numbers or dates as `parse_value` does; names give None.

    >>> parse_values(["1.50", "x"], Kind.NUMBER)
    [Decimal('1.50'), None]
    """
    return [None] * len(texts) if kind is Kind.TEXT else [parse_value(text, kind) for text in texts]


def place_on_line(value: End | float) -> float:
    """Convert a number or a date to a float; dates are days since 1970."""
    if not isinstance(value, datetime):
        return float(value)
    return (value - datetime(1970, 1, 1)) / timedelta(days=1)
