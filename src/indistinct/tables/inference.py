"""A column's type, decided from the whole column before any engine counts it, and the notation that it probably has.

Only values in canonical form are converted: `02138` is a zip code and `NA` may be Namibia, so whatever would be written
differently afterwards stays text. A single other value turns a column of numbers into text; no value becomes missing.
A probable notation is for errors that say what to declare, and for a first look: nothing is read by it.
"""

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.tables.dictionaries import assemble
from indistinct.tables.notation import SIGN, moments, plain_numbers, without_signs

# Written in digits: a number, or a code such as 02138.
DIGITS = r"^[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?$"
# A number as people write it: spaces around it, thousands separators, a decimal comma, a currency or percent sign.
SPELLED_NUMBER = r"^\s*[+-]?[$€£]?\s?(?:[0-9]+|[0-9]{1,3}(?:[,' ][0-9]{3})+)(?:[.,][0-9]+)?\s*%?\s*$"
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
# The narrowest type first. Arrow lets decimals of more than 38 digits overflow silently, so patterns count digits.
KINDS: tuple[tuple[str, pa.DataType], ...] = (
    (r"^(?:0|-?[1-9][0-9]{0,18})$", pa.int64()),
    (r"^(?:0|-?[1-9][0-9]{0,37})$", pa.decimal128(38, 0)),
    (r"^-?(?:(?:0|[1-9][0-9]{0,37})(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$", pa.float64()),
    (r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", pa.date32()),
    (r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?$", pa.timestamp("us")),
)
MOMENTS: tuple[tuple[str, pa.DataType], ...] = KINDS[3:]
# A number with thousands separators or three decimals; and a number with neither, which decides between these.
GROUPED, SMALL = r"^-?[1-9][0-9]{0,2}\.[0-9]{3}$", r"^(?:0|-?[1-9][0-9]{0,2})$"
FEW_VALUES = 1 << 16
# With more distinct values, columns are not checked for codes.
COMPARED = 1 << 20


def settle(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a dictionary-encoded column with one common dictionary if its values repeat, otherwise unchanged."""
    return pa.chunked_array([assemble(column)]) if _repeats(column) else column


def spellings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return every value of a dictionary-encoded text column at least once."""
    return pa.chunked_array([chunk.dictionary for chunk in column.chunks], pa.string())


def has_several_spellings(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    """Return whether a text column read as a type writes one number in several ways, as codes may."""
    texts = spellings(column)
    if not pa.types.is_floating(kind) or len(texts) > COMPARED:
        return False
    distinct = pc.drop_null(texts.unique())
    try:
        return bool(pc.count_distinct(distinct.cast(kind)).as_py() < len(distinct))
    except pa.ArrowInvalid:  # a declared type, with NA strings in the column
        return False


NOT_FINITE = r"^[+-]?(?i:nan|inf|infinity)$"


def mixture_of(values: pa.Array) -> tuple[str, list[str]] | None:
    """Return ("numbers" or "dates", texts that are not), if most texts are numbers or dates; None if all are.

    A code such as 02138 counts as a number; 1,234 and 5% are numbers but not written plainly, and so are NaN and
    infinities next to numbers.

    >>> mixture_of(pa.array(["31", "NaN"])), mixture_of(pa.array(["Ann", "Nan"]))
    (('numbers', ['NaN']), None)
    >>> mixture_of(pa.array(["31", "4.5", "02138", "unknown"]))
    ('numbers', ['unknown'])
    """
    digits, dates = pc.match_substring_regex(values, DIGITS), are_dates(values)
    alike = pc.or_(digits, pc.match_substring_regex(values, SPELLED_NUMBER))
    if pc.any(digits).as_py():
        alike = pc.or_(alike, pc.match_substring_regex(values, NOT_FINITE))
    for kind, near, plain in (("numbers", alike, digits), ("dates", dates, dates)):
        strangers = values.filter(pc.invert(plain))
        if len(strangers) and 2 * pc.sum(near).as_py() > len(values):
            return kind, list(strangers.to_pylist())
    return None


def are_dates(texts: pa.Array) -> pa.Array:
    """Return which texts begin with a date in ISO 8601; 0000-00-00 is none.

    >>> are_dates(pa.array(["2024-01-31", "2024-01-31 10:00", "0000-00-00", "2024-02-30", "-99"])).to_pylist()
    [True, True, False, False, False]
    """
    days = pc.utf8_slice_codeunits(texts, 0, 10)
    return pc.and_(pc.match_substring_regex(texts, DATE), pc.is_valid(moments(days, "%Y-%m-%d")))


def maybe_grouped(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    """Return whether a text column read as decimals looks like 850, 1.200, 12.000.

    With points as thousands separators.
    """
    texts = spellings(column)
    if not pa.types.is_floating(kind) or not len(texts) or not re.match(f"{GROUPED}|{SMALL}", texts[0].as_py()):
        return False
    grouped, small = (pc.match_substring_regex(texts, pattern) for pattern in (GROUPED, SMALL))
    return bool(pc.all(pc.or_(grouped, small)).as_py() and pc.any(grouped).as_py() and pc.any(small).as_py())


def convert_values(values: pa.ChunkedArray, kinds: Sequence[tuple[str, pa.DataType]]) -> list[pa.Array] | None:
    """Return the values in the narrowest type of which all have the canonical form, None for text."""
    if not len(values):
        return None
    first = values[0].as_py()
    for pattern, kind in kinds:
        # The first value selects the patterns that are checked for all values.
        if re.match(pattern, first) and pc.all(pc.match_substring_regex(values, pattern)).as_py():
            found = _cast(values, kind)
            if found is not None:
                return found
    return None


def _cast(values: pa.ChunkedArray, kind: pa.DataType) -> list[pa.Array] | None:
    try:
        converted = [chunk.cast(kind) for chunk in values.chunks]
    except pa.ArrowInvalid:
        return None
    if pa.types.is_floating(kind) and not all(pc.all(pc.is_finite(chunk)).as_py() for chunk in converted):
        return None
    return converted


def _repeats(column: pa.ChunkedArray) -> bool:
    """Return whether a common dictionary pays, judged from an even sample of the chunks' dictionaries."""
    sizes = [len(chunk.dictionary) for chunk in column.chunks]
    if sum(sizes) <= FEW_VALUES:
        return True
    if len(sizes) == 1:
        return 2 * sizes[0] < len(column)
    step = max(1, len(sizes) // 16)
    sample = [chunk.dictionary.slice(0, FEW_VALUES // 8) for chunk in column.chunks[::step]]
    return bool(2 * pc.count_distinct(pa.chunked_array(sample)).as_py() < sum(map(len, sample)))


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
            found = judge(texts)
            if found is not None:
                break
    else:
        found = None
    signed = _signed_notation(texts) if found is None or found.strangers else None
    return found if signed is None or (found and len(found.strangers) <= len(signed.strangers)) else signed


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
    """Return the separators with which nearly all texts are numbers, and of which at least one occurs."""
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
