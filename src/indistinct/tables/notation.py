"""Declared notations of numbers and timestamps, which turn texts into values.

All functions work on the distinct texts of a column at once.
"""

import datetime as dt
import re

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
