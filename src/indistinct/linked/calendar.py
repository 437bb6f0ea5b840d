"""One calendar for all tables.

Offsets of events from a person's anchor, their labels, and labels that reveal too much.

An offset is counted in days, weeks or months from the anchor, and published as one of cells of equal width, as a top
code for all later rows of a class, as a bottom code, or not at all. With data until W₂ an offset of o days shows that
the anchor is at most W₂ - o: an attacker who knows the anchor excludes all people whose offset does not fit it. So each
published offset must be possible for every anchor, birth and death that the labels of a class allow.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Literal

import numpy as np

from indistinct.machine.arrays import Codes, Mask

Unit = Literal["days", "weeks", "months", "dates"]
UNITS: tuple[Unit, ...] = ("days", "weeks", "months", "dates")
DAYS_OF_UNIT = {"days": Fraction(1), "weeks": Fraction(7), "months": Fraction(487, 16), "dates": Fraction(1)}
"""The days of each unit; a month has 30.4375."""
DEFAULT_WIDTHS = {"days": (7, 30, 365), "weeks": (4, 52), "months": (3, 12), "dates": (7, 30, 365)}
"""Widths of the levels of offsets above the finest one, in their unit."""
FIRST_DATE = date(2100, 1, 1)
"""Where a calendar of made-up dates begins: the day that every anchor gets."""
OPEN = 1 << 40
"""A number of days beyond every date: the end of an open range."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassDates:
    """The dates that the labels of each class allow, in days since 1970: anchor, birth and death, both ends inside.

    Without a bound an end is `OPEN` or its negative. Where birth or death are not published, or certainly missing, they
    exclude nothing: births end and deaths begin as if they were never known.
    """

    anchor_low: Codes
    anchor_high: Codes
    birth_high: Codes
    death_low: Codes

    def limits(self, window: tuple[int, int]) -> tuple[Codes, Codes]:
        """Return (days that an offset's upper end must reach, days that its lower end must not exceed), for each class.

        >>> days = [np.array([each]) for each in (18, 29, -OPEN, OPEN)]
        >>> [int(each[0]) for each in ClassDates(*days).limits((0, 29))]
        [-18, 0]
        """
        low = np.maximum(window[0], self.birth_high) - self.anchor_low
        high = np.minimum(window[1], self.death_low) - self.anchor_high
        return low, high


def units_of_days(days: Codes, unit: Unit) -> Codes:
    """Return whole units, rounded down.

    >>> units_of_days(np.array([-1, 0, 30, 31]), "months").tolist()
    [-1, 0, 0, 1]
    """
    size = DAYS_OF_UNIT[unit]
    return (days.astype(np.int64) * size.denominator) // size.numerator


def first_day(units: Codes, unit: Unit) -> Codes:
    """Return the first day of each unit; that of an open end is open.

    >>> first_day(np.array([0, 1, -1]), "months").tolist()
    [0, 31, -30]
    """
    size = DAYS_OF_UNIT[unit]
    closed = np.abs(units) < OPEN
    days = -((-np.where(closed, units, 0).astype(np.int64) * size.numerator) // size.denominator)
    return np.where(closed, days, units)


def last_day(units: Codes, unit: Unit) -> Codes:
    """Return the last day of each unit; that of an open end is open."""
    return np.where(np.abs(units) < OPEN, first_day(units + 1, unit) - 1, units)


@dataclass(frozen=True, slots=True, eq=False)
class OffsetLabels:
    """The published offsets of rows, in units: both ends inside, open ones are `OPEN` or its negative."""

    low: Codes
    high: Codes


def label_offsets(
    units: Codes, classes: Codes, width: int | None, limits: tuple[Codes, Codes], unit: Unit
) -> OffsetLabels:
    """Return the label of each row: a cell, a top or bottom code of its class, or the whole axis.

    Without a width no offset is published. `limits` are those of every class in days. A class has a top code where the
    cell of one of its rows begins too late: the code then covers every row from the last cell on that does not. Where
    both codes would meet, the class publishes no offset of the table.

    >>> limits = (np.array([-10]), np.array([20]))
    >>> labels = label_offsets(np.array([3, 15, 40]), np.zeros(3, dtype=int), 7, limits, "days")
    >>> labels.low.tolist(), (labels.high == OPEN).tolist()
    ([0, 14, 14], [False, True, True])
    """
    whole = OffsetLabels(np.full(len(units), -OPEN), np.full(len(units), OPEN))
    if width is None or not len(units):
        return whole
    low = (units // width) * width
    high = low + width - 1
    low_limit, high_limit = (each[classes] for each in limits)
    late, early = first_day(low, unit) > high_limit, last_day(high, unit) < low_limit
    coded_late, coded_early = (_any_of_class(each, classes) for each in (late, early))
    top = _last_cell_before(high_limit, width, unit)
    bottom = _first_cell_after(low_limit, width, unit)
    in_top, in_bottom = coded_late & (low >= top), coded_early & (high <= bottom)
    meet = _any_of_class((coded_late & coded_early & (top <= bottom)) | (coded_late & (top <= -OPEN))
                         | (coded_early & (bottom >= OPEN)), classes)  # fmt: skip
    labels_low = np.where(in_top, top, np.where(in_bottom, -OPEN, low))
    labels_high = np.where(in_top, OPEN, np.where(in_bottom, bottom, high))
    return OffsetLabels(np.where(meet, whole.low, labels_low), np.where(meet, whole.high, labels_high))


def _any_of_class(rows: Codes | Mask, classes: Codes) -> Mask:
    marked = np.zeros(int(classes.max(initial=0)) + 1, dtype=bool)
    marked[classes[rows]] = True
    return marked[classes]


def _last_cell_before(days: Codes, width: int, unit: Unit) -> Codes:
    """Return the start of the last cell that begins at or before a day; minus `OPEN` if no day is allowed."""
    closed = np.abs(days) < OPEN // 2
    start = (units_of_days(np.where(closed, days, 0), unit) // width) * width
    start = np.where(first_day(start, unit) > np.where(closed, days, 0), start - width, start)
    return np.where(closed, start, np.where(days < 0, -OPEN, OPEN))


def _first_cell_after(days: Codes, width: int, unit: Unit) -> Codes:
    """Return the end of the first cell that ends at or after a day; `OPEN` if no day is allowed."""
    closed = np.abs(days) < OPEN // 2
    inside = np.where(closed, days, 0)
    end = (units_of_days(inside, unit) // width) * width + width - 1
    end = np.where(last_day(end, unit) < inside, end + width, end)
    return np.where(closed, end, np.where(days < 0, -OPEN, OPEN))


def misfits(low: Codes, high: Codes, classes: Codes, limits: tuple[Codes, Codes], unit: Unit) -> Mask:
    """Return which published offsets are impossible for an anchor, a birth or a death that their class allows.

    An open end is possible for all of them.

    >>> limits = (np.array([-OPEN]), np.array([-OPEN]))
    >>> misfits(np.array([-OPEN, 3]), np.array([OPEN, 9]), np.zeros(2, dtype=int), limits, "days").tolist()
    [False, True]
    """
    low_limit, high_limit = (each[classes] for each in limits)
    late = (low > -OPEN) & (first_day(low, unit) > high_limit)
    return late | ((high < OPEN) & (last_day(high, unit) < low_limit))


def overlapping(low: Codes, high: Codes, classes: Codes) -> int:
    """Return how many distinct labels of a class overlap an earlier one of it, in the order of lower and upper ends.

    Both ends are inside, and equal labels count once.

    >>> overlapping(np.array([0, 0, 7]), np.array([6, OPEN, 9]), np.zeros(3, dtype=int))
    2
    """
    labels = np.unique(np.column_stack([classes, low, high]), axis=0)
    ends, ranks = np.unique(labels[:, 1:], return_inverse=True)
    ranks = ranks.reshape(-1, 2)
    # The ranks of each class lie behind those of the class before, so that one running maximum serves all classes.
    shift = np.unique(labels[:, 0], return_inverse=True)[1].reshape(-1) * len(ends)
    reach = np.maximum.accumulate(ranks[:, 1] + shift)
    same = labels[1:, 0] == labels[:-1, 0]
    return int((same & (ranks[1:, 0] + shift[1:] <= reach[:-1])).sum())


def spell_offsets(low: Codes, high: Codes, unit: Unit) -> list[str]:
    """Return the published text of each label: one unit, a range, a range without an end, or a star.

    >>> spell_offsets(np.array([0, -7, 5, 365, -OPEN]), np.array([6, -1, 5, OPEN, OPEN]), "days")
    ['[0-6]', '[-7 .. -1]', '5', '[365-]', '*']
    """
    dates = unit == "dates"
    return [_spell(one, other, dates=dates) for one, other in zip(low.tolist(), high.tolist(), strict=True)]


def _spell(low: int, high: int, *, dates: bool) -> str:
    """Write the label of a range of offsets or dates."""
    if low <= -OPEN and high >= OPEN:
        return "*"
    first = "" if low <= -OPEN else _spell_end(low, dates=dates)
    last = "" if high >= OPEN else _spell_end(high, dates=dates)
    if first == last:
        return first
    between = " .. " if "-" in first + last or not first else "-"
    return f"[{first}{between}{last}]"


def _spell_end(end: int, *, dates: bool) -> str:
    return (FIRST_DATE + timedelta(days=end)).isoformat() if dates else str(end)


def read_offset(text: str, unit: Unit) -> tuple[int, int] | None:
    """Return the ends of a published offset in units, None for a text that is none.

    >>> read_offset("[-7 .. -1]", "days"), read_offset("[365-]", "days")[0], read_offset("later", "days")
    ((-7, -1), 365, None)
    """
    if text == "*":
        return -OPEN, OPEN
    if not text.startswith("["):
        end = _read_end(text, unit)
        return None if end is None else (end, end)
    inside = text[1:-1]
    separator = " .. " if " .. " in inside else "-"
    first, separated, last = inside.partition(separator)
    low = -OPEN if not first else _read_end(first, unit)
    high = OPEN if not last else _read_end(last, unit)
    if (
        not separated
        or not text.endswith("]")
        or low is None
        or high is None
        or low > high
        or (low, high) == (-OPEN, OPEN)
    ):
        return None
    return low, high


def _read_end(text: str, unit: Unit) -> int | None:
    try:
        return (date.fromisoformat(text) - FIRST_DATE).days if unit == "dates" else int(text)
    except ValueError:
        return None
