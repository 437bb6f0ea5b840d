"""Dates and times in files of SPSS, Stata and SAS: their numbers are converted by the format of the column.

These programs store a date as a number and a format that gives its unit. Without conversion such a number would be an
exact date that no date hierarchy and no check for dates recognizes.
"""

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError
from indistinct.machine.arrays import Codes, Floats

SPSS, STATA, SAS = (".sav", ".zsav"), (".dta",), (".sas7bdat", ".xpt")
SECONDS_PER_DAY = 86_400
# Days from 1970-01-01 to the day from which a program counts.
SINCE_1582 = (dt.date(1582, 10, 14) - dt.date(1970, 1, 1)).days
SINCE_1960 = (dt.date(1960, 1, 1) - dt.date(1970, 1, 1)).days
FIRST, LAST = ((day - dt.date(1970, 1, 1)).days for day in (dt.date.min, dt.date.max))


class Counts(StrEnum):
    """The units that the numbers of a column count."""

    DAYS = "days"
    MOMENTS = "moments"
    HOURS = "hours"
    SPANS = "spans of time"
    WEEKS = "weeks"
    MONTHS = "months"
    QUARTERS = "quarters"
    HALVES = "half-years"
    BUSINESS_DAYS = "business days"


PERIODS: dict[Counts, tuple[int, Callable[[int, int], str]]] = {
    Counts.WEEKS: (52, lambda year, part: f"{year:04}W{part:02}"),
    Counts.MONTHS: (12, lambda year, part: f"{year:04}-{part:02}"),
    Counts.QUARTERS: (4, lambda year, part: f"{year:04}Q{part}"),
    Counts.HALVES: (2, lambda year, part: f"{year:04}H{part}"),
}
"""Periods per year, and how one is written. A period is no date, so it becomes a text that sorts in order."""


@dataclass(frozen=True, slots=True)
class ProgramFormat:
    """A date or time format: the unit of its numbers, how many make a day, and the first day.

    `partly` says that the program shows only a part of the date, such as its year, although the file has all of it.
    Times of more than a day have the unit `beyond`.
    """

    text: str
    counts: Counts
    per_day: int = 1
    origin: int = SINCE_1960
    partly: bool = False
    beyond: Counts = Counts.SPANS


ISO = "(?:B8601|E8601|IS8601)"
SAS_DAYS = re.compile(
    "DATE|JULIAN|NENGO|MINGUO|HDATE|HEBDATE|PDJUL[GI]|WEEKDAT[EX]|WORDDAT[EX]|WEEK[UVW]|NLDATE[A-Z]*"
    f"|(?:DDMMYY|MMDDYY|YYMMDD)[BCDNPS]?|{ISO}DA|EURDF(?:DD|DE|WDX|WKX)"
)
SAS_PARTS_OF_DAYS = re.compile(
    "DAY|DOWNAME|JULDAY|MONNAME|MONTH|MONYY|QTRR?|WEEKDAY|YEAR|YYMON|(?:MMYY|YYMM|YYQR?)[CDNPSZ]?|YYWEEK[UVW]"
    "|EURDF(?:DN|DWN|MN|MY)"
)
SAS_MOMENTS = re.compile(f"DATETIME|DATEAMPM|MDYAMPM|DTDATE|DTWKDATX|{ISO}(?:DN|DT|DX|DZ|LX)|EURDFDT|NLDATM[A-Z]*")
SAS_PARTS_OF_MOMENTS = re.compile("DTMONYY|DTYEAR|DTYYQC")
SAS_HOURS = re.compile(f"TIME|TIMEAMPM|HHMM|HOUR|MMSS|TOD|{ISO}(?:TM|TZ|TX|LZ)|NLTIM(?:E|AP)[A-Z]*")
SPSS_COUNTS = {
    **dict.fromkeys(("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "MOYR", "QYR", "WKYR"), Counts.DAYS),
    **dict.fromkeys(("DATETIME", "YMDHMS"), Counts.MOMENTS),
    **dict.fromkeys(("TIME", "MTIME"), Counts.HOURS),
    "DTIME": Counts.SPANS,
}
SPSS_PARTS = ("MOYR", "QYR", "WKYR")
STATA_COUNTS = {
    "d": Counts.DAYS,
    "w": Counts.WEEKS,
    "m": Counts.MONTHS,
    "q": Counts.QUARTERS,
    "h": Counts.HALVES,
    "b": Counts.BUSINESS_DAYS,
}
# Parts of a Stata format that show dates; others are hours, minutes and seconds.
STATA_CALENDAR = re.compile("[CYNDJWqh]|[Mm]on|Month|month|_m|Da|da")


def format_of(text: str | None, suffix: str) -> ProgramFormat | None:
    """Return the format of a column in a file of a program; None for numbers and text.

    >>> format_of("%tm", ".dta").counts, format_of("MMYY5", ".xpt").partly, format_of("F8.2", ".sav")
    (<Counts.MONTHS: 'months'>, True, None)
    """
    if not text:
        return None
    if suffix in STATA:
        return _of_stata(text)
    name = re.fullmatch(r"([A-Z$][A-Z0-9_]*?)[0-9]*(?:\.[0-9]*)?", text.strip().upper())
    if name is None:
        return None
    return _of_spss(text, name[1]) if suffix in SPSS else _of_sas(text, name[1])


def _of_stata(text: str) -> ProgramFormat | None:
    """Parse a date format of Stata."""
    parts = re.match("%-?(?:t([A-Za-z])|(d))(.*)", text)
    if parts is None:
        return None
    letter = parts[1] or parts[2]
    if letter in "cC":
        hours = bool(parts[3]) and not STATA_CALENDAR.search(parts[3])
        counts = Counts.HOURS if hours else Counts.MOMENTS
        return ProgramFormat(text, counts, per_day=SECONDS_PER_DAY * 1000, beyond=Counts.MOMENTS)
    period = STATA_COUNTS.get(letter)
    return None if period is None else ProgramFormat(text, period)  # years and generic numbers are not converted


def _of_spss(text: str, name: str) -> ProgramFormat | None:
    counts = SPSS_COUNTS.get(name)
    return (
        None if counts is None else ProgramFormat(text, counts, SECONDS_PER_DAY, SINCE_1582, partly=name in SPSS_PARTS)
    )


def _of_sas(text: str, name: str) -> ProgramFormat | None:
    """Parse a date format of SAS."""
    for pattern, counts, per_day, partly in (
        (SAS_DAYS, Counts.DAYS, 1, False),
        (SAS_PARTS_OF_DAYS, Counts.DAYS, 1, True),
        (SAS_MOMENTS, Counts.MOMENTS, SECONDS_PER_DAY, False),
        (SAS_PARTS_OF_MOMENTS, Counts.MOMENTS, SECONDS_PER_DAY, True),
        (SAS_HOURS, Counts.HOURS, SECONDS_PER_DAY, False),
    ):
        if pattern.fullmatch(name):
            # A time of day without a date may be part of a timestamp.
            beyond = Counts.MOMENTS if name == "TOD" else Counts.SPANS
            return ProgramFormat(text, counts, per_day, partly=partly, beyond=beyond)
    return None


def from_numbers(name: str, cells: Sequence[Any], form: ProgramFormat) -> pa.Array:
    """Return the dates, timestamps, times, durations or periods that a column's numbers mean.

    Times of more than a day are durations. Raises `InputError` for numbers that are no date between the years 1 and
    9999, and for business days, whose calendar is not in the file.
    """
    if form.counts is Counts.BUSINESS_DAYS:
        raise InputError(
            f"column {name!r} counts business days ({form.text}), whose calendar is not in the file",
            hint=f"make days of them in Stata (dofb), or declare that they are numbers: --type {name}=number",
            column=name,
        )
    absent = np.array([cell is None for cell in cells], dtype=bool)
    numbers = np.array([0 if cell is None else cell for cell in cells], dtype=np.float64)
    if form.counts in PERIODS:
        return _periods(name, numbers, absent, form)
    days = numbers // form.per_day
    counts: Counts = form.beyond if form.counts is Counts.HOURS and days.any() else form.counts
    if counts in (Counts.HOURS, Counts.SPANS):
        kind = pa.time64("us") if counts is Counts.HOURS else pa.duration("us")
        return pa.array(_microseconds(numbers, form.per_day), mask=absent).cast(kind)
    _check_calendar(name, days[~absent] + form.origin, form)
    if counts is Counts.DAYS:
        return pa.array((days + form.origin).astype(np.int32), mask=absent).cast(pa.date32())
    micros = _microseconds(numbers, form.per_day) + form.origin * SECONDS_PER_DAY * 10**6
    return pa.array(micros, mask=absent).cast(pa.timestamp("us"))


def _microseconds(numbers: Floats, per_day: int) -> Codes:
    """Return numbers in units of 1 / `per_day` of a day as whole microseconds, without the rounding of floats."""
    unit = 10**6 * SECONDS_PER_DAY // per_day
    whole = np.floor(numbers)
    return whole.astype(np.int64) * unit + np.rint((numbers - whole) * unit).astype(np.int64)


def _periods(name: str, numbers: Floats, absent: Codes, form: ProgramFormat) -> pa.Array:
    """Convert counts of weeks, months, quarters or half-years to text."""
    size, write = PERIODS[form.counts]
    whole = np.floor(numbers).astype(np.int64)
    years = 1960 + whole // size
    _check_calendar(name, (years[~absent] - 1970) * 365.2425, form)
    encoded = pa.array(whole, mask=absent).dictionary_encode()
    texts = [write(1960 + each // size, each % size + 1) for each in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)


def _check_calendar(name: str, days: Floats, form: ProgramFormat) -> None:
    """Raise for dates outside the years 1 to 9999."""
    outside = int(((days < FIRST) | (days > LAST)).sum())
    if outside:
        raise InputError(
            f"column {name!r} counts {form.counts} ({form.text}), but {outside:,} of its {len(days):,} numbers lie "
            "outside the years 1 to 9999",
            hint="declare marks for missing values (--missing, or `missing` under [input]); if the column holds "
            f"numbers, declare that: --type {name}=number",
            column=name,
        )


def note_of(name: str, form: ProgramFormat) -> str | None:
    """Return a note on a column that is not read as its program shows it."""
    if form.counts in PERIODS:
        example = PERIODS[form.counts][1](2024, 2)
        return f"column {name!r} counts {form.counts} ({form.text}), which are texts such as {example}: no days"
    if form.partly:
        return f"column {name!r} is shown as {form.text} by its program, but holds {form.counts}: they were read whole"
    return None
