"""Sheets of workbooks (.xlsx, .xlsm, .xlsb, .xls, .ods) as Arrow tables: the displayed values of cells."""

import datetime as dt
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, NamedTuple
from xml.sax.saxutils import unescape

import pyarrow as pa

from indistinct.errors import InputError, MissingExtraError, did_you_mean
from indistinct.machine.memory import is_memory
from indistinct.tables.binary_workbooks import BOOK, count_merged_areas
from indistinct.tables.evidence import framed_marks
from indistinct.tables.extents import ARCHIVE_ERRORS
from indistinct.tables.layout import DECLARE, is_data
from indistinct.tables.leftovers import is_total, left_out_words
from indistinct.tables.value import Reading, check_names, check_width, choose

OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Limit of the decompressed size of a workbook, and the rows with which the first one is compared.
MAX_INFLATED_BYTES, ROWS_COMPARED = 1 << 32, 100
# In an OpenDocument file, the entry with the cells, and the tags of sheet names and of merged cells.
CONTENT, BLOCK_BYTES = "content.xml", 1 << 20
MARKS = re.compile(
    rb'<(?:\w+:)?table [^>]*?\b(?:\w+:)?name="([^"]*)"'
    rb'|<(?:\w+:)?table-cell\b[^>]*?\bnumber-(?:columns|rows)-spanned="(?!1")(\d+)"'
)
# A reader of workbooks allocates a whole rectangle of cells, and crashes the process if it gets no memory. So another
# process reads the file first, with this limit of bytes plus an amount for each byte of the file.
ALLOWED_BYTES, ALLOWED_FOR_BYTE = 2 << 30, 10
TRIED_APART = (".xlsb", ".xls", ".ods")
TRIAL = """
import io, sys
import python_calamine
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
except ImportError:
    pass
try:
    with python_calamine.load_workbook(io.BytesIO(sys.stdin.buffer.read())) as book:
        for name in book.sheet_names:
            book.get_sheet_by_name(name)
except python_calamine.CalamineError:
    pass
"""
# Beyond this, numbers of a sheet are not exact.
MAX_EXACT_INTEGER = 1 << 53


class Sheet(NamedTuple):
    """The table of a sheet, and notes on what was left out as no person's row."""

    data: pa.Table
    left_out: tuple[str, ...] = ()


def read_sheet(path: Path, reading: Reading, columns: Sequence[str] | None, *, published: bool = False) -> Sheet:
    """Return the sheet that a reading names, or the only one with cells; its first row has the column names.

    Empty rows and columns are left out. A column of numbers, dates, timestamps or booleans has that type, also with
    missing cells and NA strings; any other is text. A formula is read as its last result.
    """
    rows = _rows(path, reading.sheet)[reading.skip_rows :]
    if not rows:
        raise InputError(f"the sheet of {path} has no cell", hint="check that this is the right sheet, or name another")
    width = max(map(len, rows))
    check_width(width)
    even = [[_cell(each) for each in row] + [None] * (width - len(row)) for row in rows]
    names = ["" if cell is None else spell_cell(cell).strip() for cell in even[0]]
    body = [row for row in even[1:] if any(cell is not None for cell in row)]
    _check_title(path, names, reading)
    _check_names_row(path, names, body, declared=reading.header)
    if reading.nameless == "name":
        names = [name or f"column {number}" for number, name in enumerate(names, start=1)]
    kept = [
        index
        for index in range(width)
        if names[index] or (reading.nameless != "drop" and any(row[index] is not None for row in body))
    ]
    check_names([names[index] for index in kept], quote=False)
    if not published:
        _check_total(path, body)
    sheets = {
        names[index]: _column(_without_marks([row[index] for row in body], framed_marks(names[index], reading)))
        for index in kept
    }
    chosen = choose(list(sheets), columns)
    left_out = left_out_words(width - len(kept), len(even) - 1 - len(body), valued=reading.nameless == "drop")
    return Sheet(pa.table({name: sheets[name] for name in chosen}), left_out)


def _rows(path: Path, sheet: str | None) -> list[list[Any]]:
    """Return the cells of a sheet, from the first row with one."""
    with open_workbook(path) as book:
        rows = _sheet(path, book, sheet)
        # A merged area has a value only in its first cell; the others would be missing.
        merged = _count_merged(path, rows.name) if rows.merged_cell_ranges is None else len(rows.merged_cell_ranges)
        if merged:
            raise InputError(
                f"{path} has {merged} merged cells, which belong to no one row or column",
                hint="take them apart in the workbook, and write the value into each cell",
            )
        return rows.to_python()


@contextmanager
def open_workbook(path: Path, content: BinaryIO | None = None) -> Iterator[Any]:
    """Open a workbook for its cells; `content` replaces the file where its bytes are at hand.

    Raises `InputError` for a file that is encrypted, damaged or no workbook, whatever error its reader raises.
    """
    try:
        import python_calamine as calamine
    except ImportError:
        raise MissingExtraError("python-calamine", extra="excel", purpose="a sheet of a workbook") from None
    damaged = (calamine.CalamineError, KeyError, *ARCHIVE_ERRORS)
    try:
        with _panics_held_back():
            _check_container(path, content)
            if path.suffix.lower() in TRIED_APART:
                _check_size(path, content)
            with calamine.load_workbook(path if content is None else content) as book:
                yield book
    except calamine.PasswordError:
        raise _encrypted_error(path) from None
    except (InputError, MemoryError):
        raise
    except BaseException as error:
        # A panic of compiled code is no `Exception`, and its message may quote a cell.
        if is_memory(error):
            raise
        if isinstance(error, damaged) or type(error).__name__ == "PanicException":
            raise InputError(
                f"{path} cannot be read as a workbook",
                hint="check that the file is complete; a text file must end in .csv, not .xlsx",
            ) from None
        raise


_held_back = Lock()


@contextmanager
def _panics_held_back() -> Iterator[None]:
    """Suppress on standard error what compiled code writes when it panics; anything else is written afterwards."""
    with _held_back, tempfile.TemporaryFile() as aside:
        try:
            stream = os.dup(2)
        except OSError:  # there is no standard error
            yield
            return
        os.dup2(aside.fileno(), 2)
        failed = True
        try:
            yield
            failed = False
        finally:
            os.dup2(stream, 2)
            os.close(stream)
            aside.seek(0)
            if not failed:
                os.write(2, aside.read())


def _sheet(path: Path, book: Any, name: str | None) -> Any:
    """Return the named sheet, or the only one with cells; otherwise the error says how many there are."""
    names = [each.name for each in book.sheets_metadata if each.typ == type(each.typ).WorkSheet]
    if name is not None:
        if name not in names:
            raise InputError(
                f"{path} has no sheet of that name among its {len(names)}",
                hint=did_you_mean(name, names) or "check the name; it is the one on the sheet's tab",
            )
        return book.get_sheet_by_name(name)
    filled = [sheet for sheet in map(book.get_sheet_by_name, names) if sheet.start is not None]
    if len(filled) > 1:
        raise InputError(
            f"{path} has {len(filled)} sheets with cells, and none was named",
            hint='name the one that is the table: sheet="…", --sheet, or `sheet` under [input]',
            values=[sheet.name for sheet in filled],
            undecided="sheet",
        )
    if not filled:
        raise InputError(f"no sheet of {path} has a cell", hint="check that this is the right file")
    return filled[0]


def _check_container(path: Path, content: BinaryIO | None) -> None:
    """Raise `InputError` for a workbook that is encrypted or would inflate beyond the limit."""
    with path.open("rb") if content is None else nullcontext(content) as file:
        office = file.read(len(OFFICE)) == OFFICE
        if office and "EncryptedPackage".encode("utf-16-le") in file.read():
            raise _encrypted_error(path)
        file.seek(0)
        if not office and zipfile.is_zipfile(file):
            _check_archive(path, file)
        file.seek(0)


def _check_archive(path: Path, file: BinaryIO) -> None:
    """Raise if a workbook is encrypted or would inflate beyond the limit."""
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        if any(entry.flag_bits & 1 for entry in entries):
            raise _encrypted_error(path)
        if sum(entry.file_size for entry in entries) > MAX_INFLATED_BYTES:
            raise InputError(
                f"{path} decompresses to more than {MAX_INFLATED_BYTES >> 30} GB",
                hint="save the sheet as CSV or Parquet",
            )


def _count_merged(path: Path, sheet: str) -> int:
    """Return the number of merged areas of a sheet in files whose reader does not report them: .ods and .xlsb."""
    if not zipfile.is_zipfile(path):
        return 0
    with zipfile.ZipFile(path) as archive:
        if BOOK in archive.namelist():
            return count_merged_areas(archive, sheet)
        if CONTENT not in archive.namelist():
            return 0
        merged, here, rest = 0, False, b""
        with archive.open(CONTENT) as file:
            while block := file.read(BLOCK_BYTES):
                text = rest + block
                end = text.rfind(b">") + 1  # blocks never end within a tag
                for tag in MARKS.finditer(text[:end]):
                    if tag[1] is not None:
                        here = unescape(tag[1].decode()) == sheet
                    merged += here and tag[2] is not None
                rest = text[end:]
        return merged


def _check_size(path: Path, content: BinaryIO | None) -> None:
    """Raise `InputError` for a workbook that would crash its reader by allocating too much memory."""
    with path.open("rb") if content is None else nullcontext(content) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        allowed = ALLOWED_BYTES + ALLOWED_FOR_BYTE * size
        whole = file.read()
        file.seek(0)
    # Isolated mode, so that nothing is imported from the working directory.
    command = [sys.executable, "-I", "-c", TRIAL, str(allowed)]
    ended = subprocess.run(command, input=whole, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)  # noqa: S603 (our own code)
    if ended.returncode < 0:
        raise InputError(
            f"the cells of {path} would take more than {allowed >> 20:,} MB: they are too far apart, or it is damaged",
            hint="save the table alone in a new workbook, or as CSV",
        )


def _encrypted_error(path: Path) -> InputError:
    return InputError(
        f"{path} is an encrypted workbook", hint="open it with its password, and save it without one where it is safe"
    )


def _check_title(path: Path, names: Sequence[str], reading: Reading) -> None:
    """Raise if the first row of a sheet is a title instead of column names."""
    if len(names) > 1 and sum(map(bool, names)) == 1 and (len(names) > 2 or names[0]):
        raise InputError(
            f"the first row of the sheet of {path} has one cell above {len(names)} columns: a title, and no names",
            hint=f"leave out the rows above the names of the columns: {DECLARE.format(reading.skip_rows + 1)}",
            skip_rows=reading.skip_rows + 1,
        )


def _check_names_row(path: Path, names: Sequence[str], body: Sequence[Sequence[Any]], *, declared: bool) -> None:
    """Raise if the first row of a sheet looks like data."""
    rows = [["" if cell is None else spell_cell(cell) for cell in row] for row in body[:ROWS_COMPARED]]
    if not declared and rows and is_data(names, rows):
        raise InputError(
            f"the first row of the sheet of {path} looks like data, not like the names of columns",
            hint="write a row with names above it; if it does hold names, say so: header=True, --header, or "
            "`header = true` under [input]",
        )


def _check_total(path: Path, body: Sequence[Sequence[Any]]) -> None:
    """Raise if the last row of a sheet looks like a total."""
    if len(body) >= 2 and is_total(["" if cell is None else spell_cell(cell) for cell in body[-1]]):
        raise InputError(
            f"the last row of the sheet of {path} looks like a total: it would be counted as a person and published",
            hint="remove the row; if it is a person's, move it above another row",
        )


def _cell(value: Any) -> Any:
    """Return a cell's value; the reader gives an empty text for an empty cell."""
    return None if value is None or (isinstance(value, str) and not value) else value


def _without_marks(cells: Sequence[Any], marks: Sequence[str]) -> Sequence[Any]:
    """Return cells with NA strings replaced by missing, before the type of the column is decided."""
    return [None if cell is not None and spell_cell(cell) in marks else cell for cell in cells] if marks else cells


def _column(cells: Sequence[Any]) -> pa.Array:
    """Return cells in the type that all of them have, otherwise as text."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds and kinds <= {int, float} and all(cell is None or abs(cell) < MAX_EXACT_INTEGER for cell in cells):
        whole = all(cell is None or float(cell).is_integer() for cell in cells)
        return pa.array([None if cell is None else int(cell) if whole else float(cell) for cell in cells])
    if kinds == {dt.date}:
        return pa.array(cells, pa.date32())
    if kinds and kinds <= {dt.date, dt.datetime}:
        return pa.array([_moment(cell) for cell in cells], pa.timestamp("us"))
    if kinds in ({bool}, {dt.time}, {dt.timedelta}):
        return pa.array(cells)
    return pa.array([None if cell is None else spell_cell(cell) for cell in cells], pa.string())


def _moment(cell: Any) -> Any:
    """Convert a date to a moment, so that a column has one type."""
    return dt.datetime(cell.year, cell.month, cell.day) if type(cell) is dt.date else cell


def spell_cell(cell: Any) -> str:
    """Return a cell as text: numbers as a sheet shows them, dates in ISO 8601."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < MAX_EXACT_INTEGER:
        return str(int(cell))
    if isinstance(cell, bool):
        return str(cell).lower()
    return cell if isinstance(cell, str) else str(cell)
