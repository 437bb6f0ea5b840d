"""Files of SPSS, Stata and SAS as Arrow tables: codes become the texts of their value labels.

Nothing else of such a file is read: its label, notes, user names and times of creation never reach a release.
"""

import mmap
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError, MissingExtraError
from indistinct.tables.evidence import marks_of
from indistinct.tables.program_dates import ProgramFormat, format_of, from_numbers, note_of
from indistinct.tables.value import ColumnLabels, Reading, check_names, choose

READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
# The beginning of a table in a transport file of SAS, and the length of its records in bytes.
MEMBER, RECORD_BYTES = b"HEADER RECORD*******MEM", 80
MISSING_KIND = "[A-Za-z_]"
NUMBERS = ("number", "plain-number", "integer")
# Numbers of these programs are floating-point; integers are exact below this.
MAX_EXACT_INTEGER = 1 << 53


# Bytes per cell while such a file is read, in addition to the letters of texts.
BYTES_PER_CELL = 70


class Shape(NamedTuple):
    """The rows and columns that a file declares, and the bytes that its cells take while they are read."""

    rows: int
    columns: int
    size: int


class Labelled(NamedTuple):
    """The table of a file, the labels of its columns, and notes on columns that keep their codes."""

    data: pa.Table
    labels: dict[str, ColumnLabels] = {}  # noqa: RUF012 (it is never written to)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """The cells of a column and the labels of its codes."""

    name: str
    cells: list[Any]
    labels: Mapping[Any, str] = field(default_factory=dict)


def statistics_package(purpose: str) -> Any:
    """Return the package for files of statistics programs; raise `MissingExtraError` if it is not installed."""
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError("pyreadstat", extra="stats", purpose=purpose) from None
    return pyreadstat


def read_labelled(
    path: Path, reading: Reading, columns: Sequence[str] | None = None, *, suffix: str | None = None
) -> Labelled:
    """Return the table of a file; values that the file declares as missing are missing.

    A column of codes becomes text if each of its codes has its own label, unless `reading.codes` keeps the codes. If
    some have no label, or two have the same, the whole column keeps its codes. Numbers with a date or time format
    become dates or times, unless they are declared to be numbers; periods such as months become text. `suffix` is the
    file type, where the name does not have it.
    """
    program = suffix or path.suffix.lower()
    if program == ".xpt":
        _check_one_table(path)
    cells, metadata = parse_labelled(str(path), str(path), program, reading.encoding)
    return label_columns(cells, metadata, reading, columns, program=program)


def label_columns(
    cells: Mapping[str, list[Any]],
    metadata: Any,
    reading: Reading,
    columns: Sequence[str] | None = None,
    *,
    program: str,
) -> Labelled:
    """Return the table of parsed cells, with labels in place of codes as described in `read_labelled`."""
    names = list(metadata.column_names)
    check_names(names)
    chosen = choose(names, columns)
    texts = {name: label for name, label in zip(names, metadata.column_labels or (), strict=False) if label}
    arrays: dict[str, pa.Array] = {}
    labels, notes = {}, []
    for name in chosen:
        column = _Column(name, cells[name], metadata.variable_value_labels.get(name) or {})
        form = _format_of(column, metadata.original_variable_types.get(name), program, reading)
        if form is not None:
            kept = _without_marks(column.cells, _number_marks(name, reading))
            arrays[name], labels[name] = from_numbers(name, kept, form), ColumnLabels(texts.get(name, ""))
            notes += [note for note in (note_of(name, form),) if note]
            continue
        spelled = None if reading.codes or not column.labels else _labels_of(column)
        if column.labels and spelled is None and not reading.codes:
            notes.append(
                f"column {name!r} keeps its codes: not every code that occurs has a label of its own among its labels"
            )
        arrays[name] = _plain(column) if spelled is None else pa.array(spelled, pa.string())
        labels[name] = ColumnLabels(texts.get(name, ""), _codes(column.labels))
    return Labelled(pa.table(arrays), labels, tuple(notes))


def _format_of(column: _Column, text: str | None, program: str, reading: Reading) -> ProgramFormat | None:
    """Return the date or time format of a column; None for text, labeled columns and declared numbers."""
    form = format_of(text, program)
    if form is None or reading.types.get(column.name) in NUMBERS or not all(map(_is_number, column.cells)):
        return None
    return None if column.labels and not reading.codes and _labels_of(column) is not None else form


def _is_number(cell: Any) -> bool:
    """Return whether a cell is a number or missing; Stata and SAS use letters for kinds of missing."""
    return cell is None or isinstance(cell, int | float) or re.fullmatch(MISSING_KIND, str(cell)) is not None


def _number_marks(name: str, reading: Reading) -> list[float]:
    """Return the declared NA strings of a column that are numbers, before conversion to dates: -99 would be a day."""
    marks = []
    for mark in marks_of(name, reading, framed=True):
        with suppress(ValueError):
            marks.append(float(mark))
    return marks


def _without_marks(cells: Sequence[Any], marks: Sequence[float]) -> list[Any]:
    return [None if isinstance(cell, str) or cell in marks else cell for cell in cells]


def shape_of_labelled(path: Path, encoding: str | None) -> Shape:
    """Return the size that the header of a file declares; empty where it declares none or is broken."""
    package = statistics_package("a file of SPSS, Stata or SAS")
    read = getattr(package, READERS[path.suffix.lower()])
    try:
        _, metadata = read(str(path), metadataonly=True, **({"encoding": encoding} if encoding else {}))
        rows, columns = max(int(metadata.number_rows or 0), 0), int(metadata.number_columns)
        letters = sum(int(width) for width in metadata.variable_storage_width.values())
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 (its errors are of many types; reading the file reports them)
        return Shape(0, 0, 0)
    return Shape(rows, columns, rows * (BYTES_PER_CELL * columns + letters))


def parse_labelled(
    source: str | BinaryIO, name: str, suffix: str, encoding: str | None, *, stored: bool = False
) -> tuple[dict[str, list[Any]], Any]:
    """Return the cells of a file by column, and the metadata of pyreadstat.

    With `stored`, values that the file declares as missing are read as values.
    """
    package = statistics_package("a file of SPSS, Stata or SAS")
    read = getattr(package, READERS[suffix])
    options: dict[str, Any] = {"encoding": encoding} if encoding else {}
    if stored and suffix != ".xpt":
        options["user_missing"] = True
    try:
        cells, metadata = read(source, output_format="dict", disable_datetime_conversion=True, **options)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 (its errors are of many types, and may quote cells)
        raise InputError(
            f"{name} cannot be read as a file of SPSS, Stata or SAS",
            hint="check that the file is complete, not encrypted, and its suffix is right; else name its encoding",
        ) from None
    return {name: [_cell(each) for each in column] for name, column in cells.items()}, metadata


def count_members(content: bytes | mmap.mmap) -> int:
    """Return the number of tables in a transport file of SAS; a record of 80 bytes begins each."""
    count, start = 0, content.find(MEMBER)
    while start >= 0:
        count += start % RECORD_BYTES == 0
        start = content.find(MEMBER, start + 1)
    return count


def _check_one_table(path: Path) -> None:
    """Raise if a transport file of SAS has several tables."""
    if not path.stat().st_size:
        return  # the reader reports that it is no such file
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        tables = count_members(content)
    if tables > 1:
        raise InputError(
            f"{path} holds {tables} tables, of which the first alone would be read",
            hint="write each table into a file of its own",
        )


def _cell(value: Any) -> Any:
    """Return a cell's value; these programs write a missing text as a blank one."""
    if isinstance(value, float) and np.isnan(value):
        return None
    return None if isinstance(value, str) and not value else value


def _labels_of(column: _Column) -> list[str | None] | None:
    """Return the labels of cells; None unless each occurring code has its own label."""
    occurring = {cell for cell in column.cells if cell is not None}
    mine = {code: column.labels[code].strip() for code in occurring if _is_label(column.labels.get(code))}
    if len(mine) < len(occurring) or len(set(mine.values())) < len(mine):
        return None
    return [None if cell is None else mine[cell] for cell in column.cells]


def _is_label(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip())


def _codes(labels: Mapping[Any, str]) -> dict[str, Any]:
    """Return the code of each label that belongs to a single code."""
    texts = Counter(text.strip() for text in labels.values() if _is_label(text))
    return {text.strip(): code for code, text in labels.items() if _is_label(text) and texts[text.strip()] == 1}


def _plain(column: _Column) -> pa.Array:
    """Return cells in their own type; numbers that are all whole become integers, as from a text file."""
    present = [cell for cell in column.cells if cell is not None]
    if present and all(isinstance(cell, int | float) for cell in present):
        whole = all(float(cell).is_integer() and abs(cell) < MAX_EXACT_INTEGER for cell in present)
        kind = pa.int64() if whole else pa.float64()
        return pa.array([None if c is None else int(c) if whole else float(c) for c in column.cells], kind)
    try:
        return pa.array(column.cells) if present else pa.array(column.cells, pa.string())
    except (pa.ArrowException, OverflowError):
        # Stata and SAS use letters for kinds of missing; other mixtures are rejected.
        if all(isinstance(c, int | float) or re.fullmatch(MISSING_KIND, str(c)) for c in present):
            numbers = [None if isinstance(cell, str) else cell for cell in column.cells]
            return _plain(_Column(column.name, numbers))
        raise InputError(
            f"column {column.name!r} mixes types", hint="write it again as numbers or as text", column=column.name
        ) from None
