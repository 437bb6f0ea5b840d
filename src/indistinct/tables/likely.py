"""Which notation a column of text probably has: for errors that say what to declare, and for a first look.

Nothing is read by these guesses: engines see what was declared, or text.
"""

import json
import re
import shlex
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.tables.notation import SIGN, moments, plain_numbers, without_signs

# Strangers among the distinct texts of a column that do not hide its notation: a share, or a few.
STRANGERS, FEW = 0.05, 3
# Of more texts an even sample is judged.
JUDGED = 20_000
# Decimal and thousands marks, the likelier first; numbers in the notation of computers are none of these.
NUMBERS = ((",", "."), (",", " "), (",", "'"), (",", None), (None, ","), (None, " "), (None, "'"))
ORDERS = ("%d.%m.%Y", "%m.%d.%Y", "%Y.%m.%d", "%d.%m.%y", "%m.%d.%y")
READ_ANYWAY = "%Y-%m-%d"
DAYS = (
    *(form for mark in "./-" for order in ORDERS if (form := order.replace(".", mark)) != READ_ANYWAY),
    *("%Y年%m月%d日", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y"),
)
TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S", " %I:%M %p", " %H時%M分")
# In other words: something that only dates and numbers have; it spares most columns every further look.
DATE_LIKE = (
    r"^[0-9]{1,4}(?:[-./][0-9]{1,2}[-./][0-9]{2,4}|年[0-9]{1,2}月|[ -][A-Z][a-z]{2}[ -])|^[A-Z][a-z]{2} [0-9]+, "
)
NUMBER_LIKE = r"^[+-]?[0-9]*[.,' \x{a0}\x{202f}’0-9]*[0-9]$"
# Years of an emperor cannot be declared as a format.
ERA = "^(?:明治|大正|昭和|平成|令和) ?(?:元|[0-9０-９]{1,2}) ?年"
SIGNED = rf"{SIGN}|[０-９]|％"


@dataclass(frozen=True, slots=True)
class Notation:
    """How a column is probably written: a date format, of which there may be several, or marks in numbers.

    `ambiguous` says that every comma has three digits behind it, so that it may part thousands as well. `signed` says
    that numbers have a currency or per cent sign or full-width digits, `eras` that dates have years of Japanese eras,
    which nothing declares. `strangers` are the distinct texts that are
    written otherwise.
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
        """Return what the column holds, in a few words."""
        if self.eras:
            return "dates of Japanese eras"
        return "dates" if self.dates else "numbers"

    def lines(self, column: str) -> tuple[str, ...]:
        """Return the lines of a policy that declare the notation of a column, the choices in turn."""
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
        """Return the flags that declare the notation of a column, the choices in turn."""
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
    """Return how the distinct texts of a column are probably written; None for text and for what is read anyway.

    >>> likely_notation(pa.array(["31.01.2024", "01.02.2024"])).dates
    ('%d.%m.%Y',)
    >>> likely_notation(pa.array(["E11.9", "I10"])), likely_notation(pa.array(["1,5", "12"])).decimal
    (None, ',')
    """
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    texts = pc.drop_null(texts)
    texts = texts.filter(pc.not_equal(texts, ""))
    if len(texts) > JUDGED:
        texts = texts.take(pa.array(range(0, len(texts), len(texts) // JUDGED)))
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
    """Return the notation of amounts with a sign, once they have none."""
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
    # What is written otherwise is told as the file has it.
    strange = pc.is_in(plain, value_set=pa.array(marked.strangers, pa.string()))
    return replace(marked, signed=True, strangers=tuple(texts.filter(strange).to_pylist()))


def _enough(fitting: int, texts: int) -> bool:
    strangers = texts - fitting
    return fitting > 0 and (strangers <= STRANGERS * texts or (strangers <= FEW and fitting >= 4 * strangers))


def _dates(texts: pa.Array) -> Notation | None:
    """Return the formats that the most texts fit: several where no day is above the 12th."""
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
    """Return whether some text may end in a time of day that is written so; what has none is tried in any case."""
    marks = [mark for mark in re.split("%.", end) if mark.strip()] + (["M"] if end.endswith("p") else [])
    return all(pc.any(pc.match_substring(texts, mark)).as_py() for mark in marks)


def _numbers(texts: pa.Array) -> Notation | None:
    """Return marks that make nearly all texts numbers, and of which at least one occurs."""
    if _enough(_valid(plain_numbers(texts, None, None)), len(texts)):
        return None  # in the notation of computers: a mixture or a code, and another matter
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
    """Return whether all texts have one length, as codes such as 123 456 have and counts of thousands have not."""
    lengths = pc.unique(pc.utf8_length(texts.filter(pc.is_valid(read))))
    return len(lengths) == 1 and len(texts) > FEW


def _valid(read: pa.Array) -> int:
    return len(read) - read.null_count


def _strangers(texts: pa.Array, read: pa.Array) -> tuple[str, ...]:
    return tuple(texts.filter(pc.is_null(read)).to_pylist())
