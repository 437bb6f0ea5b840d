"""What spreadsheets leave in a text file that is nobody's row: nameless columns, empty lines and totals.

No engine may count a total as a person, and a line without any value is none.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.tables.dialect import NAMELESS, Dialect, empty_rows, line_numbers
from indistinct.tables.dictionaries import compact
from indistinct.tables.inference import spellings
from indistinct.tables.value import check_names

TOTAL = re.compile(
    "(?:grand |sub)?totals?|sum|summe|gesamt|gesamtsumme|gesamtergebnis|insgesamt|somme|total général|ensemble|totale"
    "|totaal|suma|somma|soma|итого|всего|合計|総計|小計|总计|合计|합계|총계"
)


class Kept(NamedTuple):
    """The columns of a file without what is nobody's row, and what was left out, in words."""

    columns: dict[str, pa.ChunkedArray]
    left_out: tuple[str, ...] = ()


def without_leftovers(path: Path, dialect: Dialect, texts: Mapping[str, pa.ChunkedArray]) -> Kept:
    """Return the columns without empty lines; raise `InputError` for values below no name and for totals at the end.

    Only text columns come in, as the file has them.
    """
    nameless = [name for name in dialect.names if name.startswith(NAMELESS) and name in texts]
    check_nameless(dialect, {name: spellings(texts[name]) for name in nameless})
    kept = {name: column for name, column in texts.items() if name not in nameless}
    empty = _empty(path, dialect, kept)
    if len(empty):
        keep = np.ones(len(next(iter(kept.values()))), dtype=bool)
        keep[empty] = False
        kept = {name: pa.chunked_array([compact(column.filter(pa.array(keep)))]) for name, column in kept.items()}
    last = [column[-1].as_py() or "" for column in kept.values() if len(column)]
    check_total(path, dialect, last, rows=len(next(iter(kept.values()))) if kept else 0)
    return Kept(kept, left_out_words(len(nameless), len(empty), valued=dialect.dropped))


def check_nameless(dialect: Dialect, texts: Mapping[str, pa.ChunkedArray]) -> None:
    """Raise `InputError` if a column without a name has a value, unless such columns are to be left out."""
    if not dialect.dropped and any(
        pc.any(pc.not_equal(pc.utf8_trim_whitespace(each), "")).as_py() for each in texts.values()
    ):
        blank = [name for name, each in texts.items() if pc.any(pc.not_equal(each, "")).as_py()]
        check_names(["" if name in blank else name for name in dialect.names], quote=False)


def left_out_words(columns: int, lines: int, *, valued: bool = False) -> tuple[str, ...]:
    """Return what is left out of a file: columns without a name, which may be `valued`, and empty lines.

    >>> left_out_words(0, 2)
    ('2 empty lines',)
    """
    nameless = f"{columns:,} column{'s' * (columns > 1)} without a name{' and without a value' * (not valued)}"
    empty = f"{lines:,} empty line{'s' * (lines > 1)}"
    return (*[nameless][:columns], *[empty][:lines])


def _empty(path: Path, dialect: Dialect, texts: Mapping[str, pa.ChunkedArray]) -> list[int]:
    """Return the rows that have no value in any column of the file."""
    if len(dialect.names) == 1:
        return []
    rows: np.ndarray | None = None
    for column in texts.values():
        holds = pc.any(pc.equal(spellings(column), "")).as_py()
        if not column.null_count and not holds:
            return []
        blank = pc.is_null(column).to_numpy()
        if holds:
            blank |= pc.equal(column.cast(pa.string()), "").fill_null(False).to_numpy()
        rows = blank if rows is None else rows & blank
        if not rows.any():
            return []
    # Marks for missing and columns that were not read look empty too.
    return [] if rows is None else empty_rows(path, dialect, np.flatnonzero(rows).tolist())


def check_total(path: Path, dialect: Dialect, last: Sequence[str], *, rows: int) -> None:
    """Raise `InputError` if the last row of a file looks like a total; `last` are its texts."""
    if rows < 2 or not is_total(last):
        return
    (line,) = line_numbers(path, dialect, [rows - 1])
    raise InputError(
        f"the last line, line {line}, looks like a total and not like a row: it would be counted as a person and "
        "published",
        hint="remove the line; if it is somebody's, let it stand above another line",
        line=line,
    )


def is_total(cells: Sequence[str]) -> bool:
    """Return whether a row has a word for a total, and few other values."""
    words = [cell for cell in cells if TOTAL.fullmatch(cell.strip(" :.*-=").lower())]
    others = [cell for cell in cells if cell not in words]
    return bool(words) and 2 * sum(not cell.strip() for cell in others) >= len(others) > 0
