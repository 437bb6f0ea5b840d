"""Notations of numbers and timestamps: those that are declared turn texts into values, others are recognized.

All functions work on the distinct texts of a column at once.
"""

import datetime as dt
import json
import re
import shlex
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import ParameterError

# The parts of a format, and the texts that each accepts.
DIRECTIVES = {
    "Y": "[0-9]{4}",
    "y": "[0-9]{2}",
    "m": "(?:0?[1-9]|1[0-2])",
    "d": "(?P<day>0?[1-9]|[12][0-9]|3[01])",
    "j": "[0-9]{3}",
    "b": "[A-Za-z]{3}",
    "B": "[A-Za-z]+",
    "H": "(?:[01]?[0-9]|2[0-3])",
    "I": "(?:0?[1-9]|1[0-2])",
    "M": "[0-5][0-9]",
    "S": "[0-5][0-9]",
    "p": "[AaPp][Mm]",
    "%": "%",
}
CALENDAR, CLOCK = set("Yymdjb") | {"B"}, set("HIMSp")
# Thousands separators that look alike are treated as one: every space, every apostrophe.
ALIKE = {" ": "[ \u00a0\u202f\u2009]", "'": "['\u2019]"}
# What may precede or follow an amount, after full-width forms are normalized: a currency or a percent sign.
SIGN = r"\p{Sc}|%|円|元|EUR|USD|GBP|CHF|JPY|CAD|AUD"
AMOUNT = rf"^\s*(?P<minus>[+-]?)\s*(?P<before>{SIGN})?\s*(?P<number>[+-]?[0-9., '’]*[0-9])\s*(?P<behind>{SIGN})?\s*$"


def check_format(text: str) -> str:
    """Return a date or time format; raise `ParameterError` for one that is not supported.

    >>> check_format("%d.%m.%Y %H:%M")
    '%d.%m.%Y %H:%M'
    """
    used = re.findall("%(.?)", text)
    strange = [f"%{letter}" for letter in used if letter not in DIRECTIVES]
    if strange or not set(used) & (CALENDAR | CLOCK):
        reason = f"has {', '.join(strange)}" if strange else "has no part such as %d"
        raise ParameterError(
            f"the date format {text!r} {reason}, so it cannot be read",
            hint=f"known parts: {', '.join('%' + letter for letter in DIRECTIVES)}, as in %d.%m.%Y or %d.%m.%Y %H:%M",
        )
    if set(used) & CALENDAR and not set(used) & set("Yy"):
        raise ParameterError(f"the date format {text!r} has no year", hint="a date has %Y or %y, as in %d.%m.%Y")
    return text


def is_run_of_digits(text: str) -> bool:
    """Return whether a format has no separator between its parts, so that codes and numbers may fit it.

    >>> is_run_of_digits("%Y%m%d"), is_run_of_digits("%d.%m.%Y")
    (True, False)
    """
    return re.fullmatch("(?:%[YymdjHIMS])+", text) is not None


def is_time(text: str) -> bool:
    """Return whether a format is a time of day without a date."""
    return not set(re.findall("%(.)", text)) & CALENDAR


def moments(texts: pa.Array, form: str) -> pa.Array:
    """Return dates, timestamps or times of day, missing where a text does not fit the format.

    A format without hours gives dates, one without a day gives times. An impossible date such as 31 February does not
    fit.

    >>> moments(pa.array(["31.01.2024", "31.02.2024", "unknown"]), "%d.%m.%Y").to_pylist()
    [datetime.date(2024, 1, 31), None, None]
    """
    parts = set(re.findall("%(.)", form))
    kind = pa.timestamp("us") if parts & CALENDAR and parts & CLOCK else pa.date32()
    kind = kind if parts & CALENDAR else pa.time32("s")
    pattern = _pattern(form)
    fitting = pc.if_else(pc.match_substring_regex(texts, pattern), texts, pa.scalar(None, texts.type))
    read = pc.strptime(fitting, format=form, unit="s", error_is_null=True)
    if "d" in parts:
        day = pc.cast(pc.struct_field(pc.extract_regex(fitting, pattern), "day"), pa.int64())
        read = pc.if_else(pc.equal(day, pc.day(read)), read, pa.scalar(None, read.type))
    return read.cast(kind)


def is_future(read: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return which dates or timestamps are after tomorrow, because the day may have begun in another time zone."""
    last = pa.scalar(dt.date.today() + dt.timedelta(days=1), pa.date32())
    return pc.greater(read.cast(pa.date32(), safe=False), last)


def plain_numbers(texts: pa.Array, decimal: str | None, thousands: str | None) -> pa.Array:
    """Return numbers in computer notation, missing where a text is no number in the declared notation.

    >>> plain_numbers(pa.array(["1.234,50", "-7", "3.5"]), ",", ".").to_pylist()
    ['1234.50', '-7', None]
    """
    point = decimal or "."
    group = ALIKE.get(thousands, re.escape(thousands)) if thousands else None
    whole = "[0-9]+" if group is None else f"(?:[0-9]+|[0-9]{{1,3}}(?:{group}[0-9]{{3}})+)"
    pattern = f"^[+-]?(?:{whole}(?:{re.escape(point)}[0-9]+)?|{re.escape(point)}[0-9]+)(?:[eE][+-]?[0-9]+)?$"
    read = pc.if_else(pc.match_substring_regex(texts, pattern), texts, pa.scalar(None, texts.type))
    if group is not None:
        read = pc.replace_substring_regex(read, group, "")
    return read if point == "." else pc.replace_substring(read, point, ".")


def without_signs(texts: pa.Array) -> pa.Array:
    """Return texts with amounts reduced to plain digits without a currency or percent sign.

    Other texts are unchanged. If the amounts have two different signs, everything is unchanged.

    >>> without_signs(pa.array(["$1,234.50", "-$7", "５０", "x"])).to_pylist()
    ['1,234.50', '-7', '50', 'x']
    """
    if _are_plain(texts):
        return texts
    parts = _amounts(texts)
    if len(signs_of(texts, parts)) > 1:
        return texts
    minus, number = pc.struct_field(parts, [0]), pc.struct_field(parts, [2])
    return pc.if_else(pc.is_valid(parts), pc.binary_join_element_wise(minus, number, ""), texts)


def signs_of(texts: pa.Array, parts: pa.Array | None = None) -> set[str]:
    """Return the currency and percent signs of amounts; an amount with signs on both sides counts as two.

    >>> sorted(signs_of(pa.array(["$5", "7 %", "9"])))
    ['$', '%']
    """
    if parts is None and _are_plain(texts):
        return set()
    amounts = _amounts(texts) if parts is None else parts
    before, behind = pc.struct_field(amounts, [1]), pc.struct_field(amounts, [3])
    twice = pc.any(pc.and_(pc.not_equal(before, ""), pc.not_equal(behind, ""))).as_py()
    signs = {*pc.unique(before).to_pylist(), *pc.unique(behind).to_pylist()} - {None, ""}
    return signs | {"before", "behind"} if twice else signs


def _are_plain(texts: pa.Array) -> bool:
    """Return whether texts have only digits and number separators, so that there are no signs."""
    return not pc.any(pc.match_substring_regex(texts, "[^-+.,0-9]")).as_py()


def _amounts(texts: pa.Array) -> pa.Array:
    """Return the parts of amounts: minus, a sign before, the number and a sign after."""
    plain = pc.replace_substring(pc.utf8_normalize(texts, form="NFKC"), "\u2212", "-")
    return pc.extract_regex(plain, AMOUNT)


def check_marks(decimal: str | None, thousands: str | None, delimiter: str | None) -> None:
    """Raise `ParameterError` for number separators that cannot be distinguished."""
    for name, mark in (("decimal", decimal), ("thousands", thousands)):
        if mark is not None and (len(mark) != 1 or mark.isalnum() or mark in '+-"\r\n\0'):
            raise ParameterError(f"`{name}` must be one mark, no letter, digit or sign", hint=f'{name}=","')
    if thousands is not None and thousands == (decimal or "."):
        raise ParameterError(
            "`decimal` and `thousands` are the same mark, so numbers cannot be read",
            hint='for 1.234,56 declare decimal="," and thousands="."',
        )
    # A quoted field may contain the delimiter, but a decimal separator in every number is no accident.
    if delimiter is not None and delimiter == decimal:
        raise ParameterError(
            "`decimal` and `delimiter` are the same mark, so fields and numbers cannot be separated",
            hint='for a file with 1,5 declare decimal="," and another delimiter, such as ";"',
        )


def _pattern(form: str) -> str:
    """Return the pattern of the texts that fit a format; digits without a separator must have full length."""
    fixed = {
        **DIRECTIVES,
        "m": "(?:0[1-9]|1[0-2])",
        "d": "(?P<day>0[1-9]|[12][0-9]|3[01])",
        "H": "(?:[01][0-9]|2[0-3])",
    }
    parts = fixed if is_run_of_digits(form) else DIRECTIVES
    literal = re.split("(%.)", form)
    return "^" + "".join(parts[each[1]] if each.startswith("%") else re.escape(each) for each in literal) + "$"


# Distinct texts of another notation that are allowed in a column: a share, or a few.
STRANGERS, FEW = 0.05, 3


# Of more texts, an even sample is judged.
MAX_TEXTS_JUDGED = 20_000


# Decimal and thousands separators, the likelier first; numbers in computer notation match none of these.
NUMBERS = ((",", "."), (",", " "), (",", "'"), (",", None), (None, ","), (None, " "), (None, "'"))


ORDERS = ("%d.%m.%Y", "%m.%d.%Y", "%Y.%m.%d", "%d.%m.%y", "%m.%d.%y")


READ_ANYWAY = "%Y-%m-%d"


DAYS = (
    *(form for mark in "./-" for order in ORDERS if (form := order.replace(".", mark)) != READ_ANYWAY),
    *("%Y年%m月%d日", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y"),
)


TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S", " %I:%M %p", " %H時%M分")


# A quick test for something that only dates and numbers have; it saves most columns further tests.
DATE_LIKE = (
    r"^[0-9]{1,4}(?:[-./][0-9]{1,2}[-./][0-9]{2,4}|年[0-9]{1,2}月|[ -][A-Z][a-z]{2}[ -])|^[A-Z][a-z]{2} [0-9]+, "
)


NUMBER_LIKE = r"^[+-]?[0-9]*[.,' \x{a0}\x{202f}’0-9]*[0-9]$"


# Years of Japanese eras cannot be declared as a format.
ERA = "^(?:明治|大正|昭和|平成|令和) ?(?:元|[0-9０-９]{1,2}) ?年"


SIGNED = rf"{SIGN}|[０-９]|％"


@dataclass(frozen=True, slots=True)
class Notation:
    """The probable notation of a column: date formats, possibly several, or separators in numbers.

    `ambiguous` says that every comma is followed by three digits, so that it may be a thousands separator as well.
    `signed` says that numbers have a currency or percent sign or full-width digits, `eras` that dates have years of
    Japanese eras, which cannot be declared. `strangers` are the distinct texts in another notation.
    """

    dates: tuple[str, ...] = ()
    decimal: str | None = None
    thousands: str | None = None
    ambiguous: bool = False
    signed: bool = False
    eras: bool = False
    strangers: tuple[str, ...] = ()

    @property
    def what(self) -> str:
        """A short description of the column's content."""
        if self.eras:
            return "dates of Japanese eras"
        return "dates" if self.dates else "numbers"

    def lines(self, column: str) -> tuple[str, ...]:
        """Return the lines of a policy that declare the notation of a column, each alternative on its own."""
        if self.dates:
            return tuple(f'dates = "{form}"' for form in self.dates)
        key = column if re.fullmatch("[A-Za-z0-9_-]+", column) else json.dumps(column, ensure_ascii=False)
        own = [f'types = {{ {key} = "number" }}'] * self.signed
        choices = ({"decimal": self.decimal, "thousands": self.thousands}, {"thousands": self.decimal})
        return tuple(
            " and ".join([f'{name} = "{mark}"' for name, mark in marks.items() if mark] + own)
            for marks in choices[: 1 + self.ambiguous]
        )

    def flags(self, column: str) -> tuple[str, ...]:
        """Return the flags that declare the notation of a column, each alternative on its own."""
        if self.dates:
            quoted = (f'"{form}"' if "," in form else form for form in self.dates)
            return tuple(f"--dates {shlex.quote(form) if ' ' in form else form}" for form in quoted)
        own = [f"--type {shlex.quote(f'{column}=number')}"] * self.signed
        choices = ({"--decimal": self.decimal, "--thousands": self.thousands}, {"--thousands": self.decimal})
        return tuple(
            " ".join([f'{flag} "{m}"' if m in " '" else f"{flag} {m}" for flag, m in marks.items() if m] + own)
            for marks in choices[: 1 + self.ambiguous]
        )


def likely_notation(texts: pa.Array) -> Notation | None:
    """Return the probable notation of a column's distinct texts; None for text and for computer notation.

    >>> likely_notation(pa.array(["31.01.2024", "01.02.2024"])).dates
    ('%d.%m.%Y',)
    >>> likely_notation(pa.array(["E11.9", "I10"])), likely_notation(pa.array(["1,5", "12"])).decimal
    (None, ',')
    """
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    texts = pc.drop_null(texts)
    texts = texts.filter(pc.not_equal(texts, ""))
    if len(texts) > MAX_TEXTS_JUDGED:
        texts = texts.take(pa.array(range(0, len(texts), len(texts) // MAX_TEXTS_JUDGED)))
    if not len(texts):
        return None
    eras = pc.match_substring_regex(texts, ERA)
    if _enough(pc.sum(eras).as_py(), len(texts)):
        return Notation(eras=True, strangers=tuple(texts.filter(pc.invert(eras)).to_pylist()))
    for look, judge in ((DATE_LIKE, _dates), (NUMBER_LIKE, _numbers)):
        like = pc.match_substring_regex(texts, look)
        if _enough(pc.sum(like).as_py(), len(texts)):
            notation = judge(texts)
            if notation is not None:
                break
    else:
        notation = None
    signed = _signed_notation(texts) if notation is None or notation.strangers else None
    return notation if signed is None or (notation and len(notation.strangers) <= len(signed.strangers)) else signed


def _signed_notation(texts: pa.Array) -> Notation | None:
    """Return the notation of amounts with a sign, judged without the sign."""
    if not pc.any(pc.match_substring_regex(texts, SIGNED)).as_py():
        return None
    plain = without_signs(texts)
    if pc.any(pc.match_substring_regex(plain, "^0[0-9]")).as_py():
        return None  # codes in full-width digits
    read = plain_numbers(plain, None, None)
    amounts = pc.not_equal(plain, texts)
    if _enough(_valid(read), len(texts)) and pc.any(pc.and_(amounts, pc.is_valid(read))).as_py():
        return Notation(signed=True, strangers=_strangers(texts, read))
    marked = _numbers(plain)
    if marked is None or not pc.any(amounts).as_py():
        return None
    if marked.ambiguous:  # amounts have two decimals, if any
        marked = replace(marked, decimal=None, thousands=marked.decimal, ambiguous=False)
    # Texts in another notation are reported as in the file.
    strange = pc.is_in(plain, value_set=pa.array(marked.strangers, pa.string()))
    return replace(marked, signed=True, strangers=tuple(texts.filter(strange).to_pylist()))


def _enough(fitting: int, texts: int) -> bool:
    """Return whether nearly all texts fit a notation."""
    strangers = texts - fitting
    return fitting > 0 and (strangers <= STRANGERS * texts or (strangers <= FEW and fitting >= 4 * strangers))


def _dates(texts: pa.Array) -> Notation | None:
    """Return the formats that most texts fit; several if no day is above 12."""
    fits: dict[str, pa.Array] = {}
    ends = [end for end in TIMES if _any_time(texts, end)]
    for form in (day + end for day in DAYS for end in ends):
        read = moments(texts, form)
        if _enough(len(read) - read.null_count, len(read)):
            fits[form] = read
    if not fits:
        return None
    most = max(len(read) - read.null_count for read in fits.values())
    best = tuple(form for form, read in fits.items() if len(read) - read.null_count == most)
    return Notation(dates=best, strangers=_strangers(texts, fits[best[0]]))


def _any_time(texts: pa.Array, end: str) -> bool:
    """Return whether a text may end in a time of day of this form; dates without time are always tried."""
    marks = [mark for mark in re.split("%.", end) if mark.strip()] + (["M"] if end.endswith("p") else [])
    return all(pc.any(pc.match_substring(texts, mark)).as_py() for mark in marks)


def _numbers(texts: pa.Array) -> Notation | None:
    """Return the decimal and thousands separators with which nearly all texts are numbers; None if neither occurs."""
    if _enough(_valid(plain_numbers(texts, None, None)), len(texts)):
        return None  # computer notation: a mixture or a code, which is handled elsewhere
    for decimal, thousands in NUMBERS:
        read = plain_numbers(texts, decimal, thousands)
        if not _enough(_valid(read), len(texts)) or not _occurs(texts, read, thousands or decimal or ""):
            continue
        decimals = decimal is not None and _occurs(texts, read, decimal)
        if thousands is not None and not decimals and _is_coded(texts, read):
            continue
        unclear = thousands is None and _valid(plain_numbers(texts, None, decimal)) == _valid(read)
        strangers = _strangers(texts, read)
        return Notation(decimal=decimal, thousands=thousands, ambiguous=unclear, strangers=strangers)
    return None


def _occurs(texts: pa.Array, read: pa.Array, mark: str) -> bool:
    """Return whether a separator occurs in a text that was read."""
    pattern = {" ": "[0-9][ \u00a0\u202f\u2009][0-9]", "'": "[0-9]['\u2019][0-9]"}.get(mark, re.escape(mark))
    return bool(pc.any(pc.and_(pc.is_valid(read), pc.match_substring_regex(texts, pattern))).as_py())


def _is_coded(texts: pa.Array, read: pa.Array) -> bool:
    """Return whether all texts have one length, as codes such as 123 456 do and numbers do not."""
    lengths = pc.unique(pc.utf8_length(texts.filter(pc.is_valid(read))))
    return len(lengths) == 1 and len(texts) > FEW


def _valid(read: pa.Array) -> int:
    return len(read) - read.null_count


def _strangers(texts: pa.Array, read: pa.Array) -> tuple[str, ...]:
    return tuple(texts.filter(pc.is_null(read)).to_pylist())
