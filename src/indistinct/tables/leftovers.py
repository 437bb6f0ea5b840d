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
    nameless = [name for name in dialect.names if name.startswith(NAMELESS)]
    if any(pc.any(pc.not_equal(pc.utf8_trim_whitespace(spellings(texts[n])), "")).as_py() for n in nameless):
        blank = [n for n in nameless if pc.any(pc.not_equal(spellings(texts[n]), "")).as_py()]
        check_names(["" if name in blank else name for name in dialect.names], quote=False)
    kept = {name: column for name, column in texts.items() if name not in nameless}
    left_out = [f"{len(nameless):,} column{'s' * (len(nameless) > 1)} without a name and without a value"]
    empty = _empty(path, dialect, kept)
    if len(empty):
        keep = np.ones(len(next(iter(kept.values()))), dtype=bool)
        keep[empty] = False
        kept = {name: pa.chunked_array([compact(column.filter(pa.array(keep)))]) for name, column in kept.items()}
    _check_last(path, dialect, kept)
    lines = f"{len(empty):,} empty line{'s' * (len(empty) > 1)}"
    return Kept(kept, (*left_out[: bool(nameless)], *[lines][: len(empty)]))


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


def _check_last(path: Path, dialect: Dialect, texts: Mapping[str, pa.ChunkedArray]) -> None:
    rows = len(next(iter(texts.values()))) if texts else 0
    if rows < 2 or not _is_total([column[-1].as_py() or "" for column in texts.values()]):
        return
    (line,) = line_numbers(path, dialect, [rows - 1])
    raise InputError(
        f"the last line, line {line}, looks like a total and not like a row: it would be counted as a person and "
        "published",
        hint="remove the line; if it is somebody's, let it stand above another line",
        line=line,
    )


def _is_total(cells: Sequence[str]) -> bool:
    """Return whether a row has a word for a total, and few other values."""
    words = [cell for cell in cells if TOTAL.fullmatch(cell.strip(" :.*-=").lower())]
    others = [cell for cell in cells if cell not in words]
    return bool(words) and 2 * sum(not cell.strip() for cell in others) >= len(others) > 0
