"""The probable notation of a text column, for errors that suggest a declaration and for a first look.

Nothing is read by these guesses: a column is read as declared, or as text.
"""

import json
import re
import shlex
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.tables.notation import SIGN, moments, plain_numbers, without_signs

# Distinct texts of another notation that are allowed in a column: a share, or a few.
MAX_SHARE_OF_STRANGERS, MAX_STRANGERS = 0.05, 3
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
    return fitting > 0 and (
        strangers <= MAX_SHARE_OF_STRANGERS * texts or (strangers <= MAX_STRANGERS and fitting >= 4 * strangers)
    )


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
    return len(lengths) == 1 and len(texts) > MAX_STRANGERS


def _valid(read: pa.Array) -> int:
    return len(read) - read.null_count


def _strangers(texts: pa.Array, read: pa.Array) -> tuple[str, ...]:
    return tuple(texts.filter(pc.is_null(read)).to_pylist())
