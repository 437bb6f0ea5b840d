"""What spreadsheets leave in a text file that is no person's row: nameless columns, empty lines and totals.

A total must not be counted as a person, and a line without any value is no row.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.machine.arrays import Codes
from indistinct.tables.dialect import NAMELESS, Dialect, diagnose, empty_rows, line_numbers, nul_error
from indistinct.tables.inference import spellings
from indistinct.tables.value import check_names

TOTAL = re.compile(
    "(?:grand |sub)?totals?|sum|summe|gesamt|gesamtsumme|gesamtergebnis|insgesamt|somme|total général|ensemble|totale"
    "|totaal|suma|somma|soma|итого|всего|合計|総計|小計|总计|合计|합계|총계"
)
# Upper limit of blank rows, which are remembered and checked again: a small file may have billions of them.
MOST_BLANK = 1 << 24
NONE: Codes = np.zeros(0, dtype=np.int64)


@dataclass(slots=True)
class FileSurvey:
    """What the blocks of a text file show apart from its values; a file in memory is one block.

    `blank` are the rows that look empty, `last` is the last row that does not, and `end` the very last field.
    `nameless` has texts of columns without a name.
    """

    dialect: Dialect
    rows: int = 0
    blank: list[Codes] = field(default_factory=list)
    last: tuple[int, list[str]] = (-1, [])
    end: str = ""
    holds_nul: bool = False
    swallows_lines: bool = False
    nameless: dict[str, list[pa.Array]] = field(default_factory=dict)

    def add(self, table: pa.Table) -> None:
        """Add a block: columns of text, as in the file."""
        if not table.num_rows:
            return
        for name in table.column_names:
            texts = spellings(table[name])
            self.holds_nul = self.holds_nul or bool(pc.any(pc.match_substring(texts, "\0")).as_py())
            self.swallows_lines = self.swallows_lines or _swallows_lines(texts)
            if name.startswith(NAMELESS):
                self.nameless.setdefault(name, []).append(_longest(texts))
        columns = [table[name] for name in table.column_names if not name.startswith(NAMELESS)]
        blank = _find_blank(columns) if len(self.dialect.names) > 1 else NONE
        self.blank.append(blank + self.rows)
        if sum(map(len, self.blank)) > MOST_BLANK:
            raise InputError(
                f"the file has more than {MOST_BLANK:,} lines without any value",
                hint="check that this is the right file; save it without its empty lines",
            )
        full = np.setdiff1d(np.arange(table.num_rows), blank) if len(blank) else [table.num_rows - 1]
        if len(full):
            row = int(full[-1])
            self.last = self.rows + row, [column[row].as_py() or "" for column in columns]
        self.end = table[self.dialect.names[-1]][-1].as_py() or ""
        self.rows += table.num_rows

    def check_text(self, path: Path) -> None:
        """Raise `InputError` for NUL bytes and for quotes that swallowed the lines after them.

        The fast reader accepts a quote that never ends, or ends in the middle of a field. Its traces are a line break
        in the very last field, or a value with both a line break and a quote; only then does the slow, strict reader
        check the file.
        """
        if self.holds_nul:
            raise nul_error()
        if self.dialect.quoted and (self.swallows_lines or "\n" in self.end or "\r" in self.end):
            wrong = diagnose(path, self.dialect)
            if wrong:
                raise wrong

    def find_leftovers(self, path: Path, *, published: bool) -> tuple[Codes, tuple[str, ...]]:
        """Return the rows without any value, and notes on what is left out of the file; nothing for a published one.

        Raises `InputError` for values in columns without a name and for totals at the end.
        """
        if published and not self.nameless:
            return NONE, ()
        dialect = self.dialect
        check_nameless(dialect, {name: pa.chunked_array(texts, pa.string()) for name, texts in self.nameless.items()})
        blank = np.concatenate([NONE, *self.blank])
        # NA strings and columns that were not read look empty too.
        empty = np.array(empty_rows(path, dialect, blank.tolist()), dtype=np.int64) if len(blank) else NONE
        if self.last[0] > max(np.setdiff1d(blank, empty), default=-1):
            check_total(path, dialect, self.last[1], rows=self.rows - len(empty))
        return empty, left_out_words(len(self.nameless), len(empty), valued=dialect.dropped)


def _swallows_lines(texts: pa.ChunkedArray) -> bool:
    """Return whether a text has both a line break and a quote, as after a quote that swallowed lines."""
    broken = texts.filter(pc.match_substring_regex(texts, "[\r\n]"))
    return bool(pc.any(pc.match_substring(broken, '"')).as_py())


def _longest(texts: pa.ChunkedArray) -> pa.Array:
    """Return the longest text, which shows whether any is not blank."""
    distinct = pc.drop_null(texts.unique())
    order = pc.array_sort_indices(pc.utf8_length(pc.utf8_trim_whitespace(distinct)), order="descending")
    return distinct.take(order[:1])


def _find_blank(columns: Sequence[pa.ChunkedArray]) -> Codes:
    """Return the rows with no text in any column, or only NA strings."""
    rows: np.ndarray | None = None
    for column in columns:
        holds = pc.any(pc.equal(spellings(column), "")).as_py()
        if not column.null_count and not holds:
            return NONE
        blank = pc.is_null(column).to_numpy()
        if holds:
            blank |= pc.equal(column.cast(pa.string()), "").fill_null(False).to_numpy()
        rows = blank if rows is None else rows & blank
        if not rows.any():
            return NONE
    return NONE if rows is None else np.flatnonzero(rows)


def check_nameless(dialect: Dialect, texts: Mapping[str, pa.ChunkedArray]) -> None:
    """Raise `InputError` if a column without a name has a value, unless such columns are declared to be left out."""
    if not dialect.dropped and any(
        pc.any(pc.not_equal(pc.utf8_trim_whitespace(each), "")).as_py() for each in texts.values()
    ):
        blank = [name for name, each in texts.items() if pc.any(pc.not_equal(each, "")).as_py()]
        check_names(["" if name in blank else name for name in dialect.names], quote=False)


def left_out_words(columns: int, lines: int, *, valued: bool = False) -> tuple[str, ...]:
    """Return notes on what is left out of a file: columns without a name, which may be `valued`, and empty lines.

    >>> left_out_words(0, 2)
    ('2 empty lines',)
    """
    nameless = f"{columns:,} column{'s' * (columns > 1)} without a name{' and without a value' * (not valued)}"
    empty = f"{lines:,} empty line{'s' * (lines > 1)}"
    return (*[nameless][:columns], *[empty][:lines])


def check_total(path: Path, dialect: Dialect, last: Sequence[str], *, rows: int) -> None:
    """Raise `InputError` if the last row of a file, with the texts `last`, looks like a total."""
    if rows < 2 or not is_total(last):
        return
    (line,) = line_numbers(path, dialect, [rows - 1])
    raise InputError(
        f"the last line, line {line}, looks like a total and not like a row: it would be counted as a person and "
        "published",
        hint="remove the line; if it is a person's, move it above another line",
        line=line,
    )


def is_total(cells: Sequence[str]) -> bool:
    """Return whether a row has a word for a total and few other values."""
    words = [cell for cell in cells if TOTAL.fullmatch(cell.strip(" :.*-=").lower())]
    others = [cell for cell in cells if cell not in words]
    return bool(words) and 2 * sum(not cell.strip() for cell in others) >= len(others) > 0
