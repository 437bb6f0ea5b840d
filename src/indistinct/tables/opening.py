"""Open any table: a path or a frame is converted to a `Table` that every engine accepts."""

import errno
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from indistinct.errors import InputError, OutOfMemoryError
from indistinct.machine.arrays import Codes
from indistinct.machine.memory import Allowance, needed_for, needs_memory, rows_words
from indistinct.tables.addresses import check_ordinary, named_as_given, no_access, no_file
from indistinct.tables.delimited import Delimited, read_delimited, readable
from indistinct.tables.dialect import Dialect, encodings, find_dialect, line_numbers
from indistinct.tables.domain import days_of
from indistinct.tables.evidence import cast_texts, read_frame
from indistinct.tables.extents import count_spans
from indistinct.tables.files import categories_in, head_of_parquet, read_arrow, read_parquet
from indistinct.tables.frames import categories_of, flat, from_frame, is_frame
from indistinct.tables.labelled import read_labelled, shape_of_labelled
from indistinct.tables.misfits import MisfitError, locate_rows
from indistinct.tables.several import (
    ARROW,
    DELIMITED,
    LABELLED,
    PARQUET,
    SHEETS,
    Stamp,
    files_of,
    find_partitions,
    is_delimited,
    kind_of_file,
    require_unchanged,
    together,
)
from indistinct.tables.sheets import read_sheet
from indistinct.tables.snapshots import only_path, settle_snapshot
from indistinct.tables.value import Declarations, Reading, Table, choose, declare

ENGINE = "anonymize it where it lies (--engine duckdb)"

MOMENT = pa.timestamp("us")
DECRYPT = "decrypt it first, and give the table that comes out"
UNPICKLE = "a pickle runs code when it is read: save the table as Parquet or CSV where it was made"
UNPACK = "unpack it first; a workbook ends in .xlsx, .xls or .ods"
FROM_SQLITE = (
    "a database holds several tables: write one as CSV, as in "
    'sqlite3 -header -csv clinic.db "SELECT * FROM patients" > patients.csv'
)

# The first bytes of files that are no tables, what they are, and a hint. A pickle would run code when it is read, so
# nothing here ever reads one.
SIGNATURES = (
    (b"\x80\x02", "a pickle", UNPICKLE),
    (b"\x80\x03", "a pickle", UNPICKLE),
    (b"\x80\x04", "a pickle", UNPICKLE),
    (b"\x80\x05", "a pickle", UNPICKLE),
    (b"SQLite format 3\0", "a SQLite database", FROM_SQLITE),
    (b"PARE", "an encrypted Parquet file", DECRYPT),
    (b"Salted__", "a file that OpenSSL encrypted", DECRYPT),
    (b"age-encryption.org/", "a file that age encrypted", DECRYPT),
    (b"-----BEGIN PGP MESSAGE", "a file that PGP encrypted", DECRYPT),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old or an encrypted document of an office program", UNPACK),
    (b"PK\x03\x04", "an archive or a workbook, which may be encrypted", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "an archive, which may be encrypted", UNPACK),
)
HINTS = {
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), UNPICKLE),
    **dict.fromkeys((".gpg", ".pgp", ".asc", ".age", ".enc", ".aes"), DECRYPT),
    **dict.fromkeys((".zip", ".7z", ".rar", ".tar"), UNPACK),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), FROM_SQLITE),
    ".toml": "a policy is no table: give it with --policy, or as the first argument of `indistinct anonymize`",
    ".json": "JSON is no table: save it as CSV or Parquet; a recoding is given with --recoding",
}
"""Hints for files with some suffixes."""


# The first bytes of workbooks; the reader of sheets reports whether one is encrypted.
OF_WORKBOOKS = (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PK\x03\x04")


@needs_memory("reading the table")
def open_table(
    source: Any,
    *,
    reading: Reading | None = None,
    published: bool = False,
    memory: int | None = None,
    **declared: Unpack[Declarations],
) -> Table:
    """Return the table at a path or in a frame, in the form that every engine accepts.

    Delimiter and encoding of delimited text are detected if they are not declared. Types are decided from whole
    columns. Empty lines and columns without name and values are left out, and a last line of totals is refused unless
    the file was `published`. In a frame or a Parquet file, whose columns are typed, declarations apply to text columns,
    and NA strings to all columns. A declaration that fits no cell is an error. A first line `sep=;` declares the
    delimiter.

    Parameters
    ----------
    source
        A path that ends in .csv, .tsv or .txt (also .gz after it), .parquet or .pq, .arrow, .feather or .ipc, of a
        workbook or of a file of a statistics program; a list of paths, a folder, or a pattern such as "folder/*.csv"
        (several files of one kind are one table); the folder of a Delta or Iceberg table; or a frame of pandas (its
        index is dropped), polars, Arrow, or any library with Arrow's PyCapsule interface.
    reading
        How another table was read; declarations given here replace its own.
    published
        Whether the file was written by this package, so that nothing is left out of it.
    memory
        Bytes that the table may take; by default ten times the size of the files plus 2 GB. A larger table is refused
        before it is read.
    **declared
        Declarations: `columns` selects columns and their order; `delimiter`, `encoding` and `header` (the first line
        has names even if it looks like data); `skip_rows` lines above the names and lines that begin with `comment` are
        left out; `trim` removes blanks around names and fields; `nameless` leaves out columns without a name ("drop")
        or names them after their number ("name"). `text` names columns that are text whatever they contain, such as
        codes like 250.00. `decimal` and `thousands` are separators in numbers; `dates` is a format for all text columns
        that fit it, or one for each column, as in "%d.%m.%Y" and {"visit": "%d/%m/%Y %H:%M"}; `types` is the type of
        columns (number, plain-number, integer, date, datetime, text). `missing` are NA strings for all columns, or
        {column: texts}, where "*" means all columns; `NA` is text unless it is listed. `sheet` selects a sheet of a
        workbook, `version` a version of a Delta or Iceberg table (the newest by default), `codes` keeps the codes of
        a statistics program instead of their labels.

    Returns
    -------
    Table
        The opened table.

    Raises
    ------
    InputError
        If the source is no table, cannot be read, or does not fit what was declared.
    OutOfMemoryError
        If the table would take more than the allowed memory.

    Examples
    --------
    >>> open_table(pa.table({"age": [31, 42], "city": ["Oslo", "Bergen"]})).rows
    2
    """
    known = reading or (source.reading if isinstance(source, Table) else None)
    how = declare(known, **declared)
    chosen = how.columns or None
    if isinstance(source, Table):
        return _again(source, replace(how, text=tuple(dict.fromkeys((*source.reading.text, *how.text)))), chosen)
    source, how = (source, how) if published else settle_snapshot(source, how)
    files = files_of(source)
    if files is not None:
        return _open_files(files, how, memory, published=published, source=source)
    if not is_frame(source):
        raise InputError(
            f"a table is opened from a path or a frame; got {type(source).__name__}",
            hint="give a path, or a pandas, polars or Arrow table; from a dict of columns: pyarrow.table(data)",
        )
    frame = from_frame(source, chosen)
    return Table(_apply_reading(flat(frame), how), reading=how, labels=categories_of(frame))


def _open_files(files: tuple[Path, ...], how: Reading, memory: int | None, *, published: bool, source: Any) -> Table:
    """Read the files of a table; raise if they change meanwhile."""
    with named_as_given():
        for path in files:
            check_file(path)
        with require_unchanged([Stamp.of(path) for path in files]):
            allowance = Allowance.of(files, memory)
            read = _read(files, how, how.columns or None, allowance, published=published, source=source)
    only = only_path(files)
    details = (read.respelled, read.grouped, read.left_out, files, dict(read.labels), read.notes)
    return Table(read.data, None if only is None else only.name, only, how, *details)


def _again(table: Table, reading: Reading, columns: Sequence[str] | None) -> Table:
    """Return a table that is open already, with declarations that it does not have yet."""
    if columns is None and reading == table.reading:
        return table
    data = table.data if reading == table.reading else _apply_reading(table.data, reading)
    chosen = choose(table.columns, columns)
    return replace(table, data=data.select(chosen), reading=reading)


def _read(
    files: Sequence[Path],
    reading: Reading,
    columns: Sequence[str] | None,
    allowance: Allowance,
    *,
    published: bool,
    source: Any,
) -> Delimited:
    """Read files by their kind: delimited, Parquet, Arrow, workbook or statistics program."""
    path, kind = files[0], kind_of_file(files[0])
    partitions = find_partitions(source, files)
    inside = columns if partitions is None else partitions.file_columns(columns)
    if kind in DELIMITED:
        how = delimited_reading(path, reading)
        return read_delimited(files, how, columns=columns, published=published, allowance=allowance)
    check_size(files, reading, inside, allowance)
    if kind in (*PARQUET, *ARROW):
        read = read_parquet if kind in PARQUET else read_arrow
        tables = [read(each, inside) for each in files]
        labels = categories_of(tables[0]) if kind in ARROW else categories_in(path)
        if partitions is not None:
            tables = [partitions.add(each, table, columns) for each, table in zip(files, tables, strict=True)]
        return Delimited(_apply_reading(together(files, list(map(flat, tables))), reading), labels=labels)
    if kind in SHEETS:
        sheets = [read_sheet(each, reading, columns, published=published) for each in files]
        whole = together(files, _moments_alike([flat(each.data) for each in sheets]))
        data = _apply_reading(pa.table(list(map(days_of, whole.columns)), names=whole.column_names), reading)
        return Delimited(data, left_out=tuple(words for each in sheets for words in each.left_out))
    if kind in LABELLED:
        labelled = [read_labelled(each, reading, columns) for each in files]
        data = _apply_reading(together(files, [flat(each.data) for each in labelled]), reading)
        notes = tuple(dict.fromkeys(note for each in labelled for note in each.notes))
        return Delimited(data, labels=labelled[0].labels, notes=notes)
    raise InputError(
        f"{path}: the suffix {kind!r} does not say how to read the file" if kind else f"{path} has no suffix",
        hint=HINTS.get(kind)
        or f"a table ends in one of {', '.join((*DELIMITED, *PARQUET, *ARROW, *SHEETS, *LABELLED))}, delimited text "
        "also in .gz: save the table as one of these",
    )


def check_size(files: Sequence[Path], reading: Reading, columns: Sequence[str] | None, allowance: Allowance) -> None:
    """Raise `OutOfMemoryError` if files whose size is known beforehand need more memory together than is allowed."""
    path, kind = files[0], kind_of_file(files[0])
    named = str(path) if len(files) == 1 else f"{path} and what goes with it"
    if kind in PARQUET:
        heads = [head_of_parquet(each, columns) for each in files]
        rows, size = sum(head.rows for head in heads), sum(head.size for head in heads)
        allowance.require(needed_for(rows, size), named, rows_words(rows, len(heads[0].schema.names)), otherwise=ENGINE)
    elif kind in SHEETS:
        spans = [count_spans(each, reading.sheet, most=allowance.most) for each in files]
        needed, cells = sum(each.size for each in spans), sum(each.cells for each in spans)
        holds = f"sheets that span {cells:,} cells from the first to the last, or very long texts"
        allowance.require(needed, named, holds, otherwise="clear what lies far from the table, or save it as CSV")
    elif kind in LABELLED:
        shapes = [shape_of_labelled(each, reading.encoding) for each in files]
        rows, size = sum(shape.rows for shape in shapes), sum(shape.size for shape in shapes)
        holds = rows_words(rows, shapes[0].columns)
        allowance.require(needed_for(rows, size), named, holds, otherwise="save it as Parquet or CSV")


def is_out_of_proportion(source: Any, memory: int | None = None) -> bool:
    """Return whether Parquet files would take more memory than `open_table` allows, by their footers."""
    files = files_of(source)
    if not files or kind_of_file(files[0]) not in PARQUET:
        return False
    try:
        check_size(files, Reading(), None, Allowance.of(files, memory))
    except OutOfMemoryError:
        return True
    except (InputError, OSError):
        return False  # the reader reports what is wrong
    return False


def _moments_alike(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Return the sheets of several workbooks with timestamps in columns where one sheet has times of day."""
    schemas = [table.schema for table in tables]
    timed = {each.name for schema in schemas for each in schema if pa.types.is_timestamp(each.type)}

    def wider(each: pa.Field) -> pa.Field:
        return each.with_type(MOMENT) if each.name in timed and pa.types.is_date32(each.type) else each

    return [table.cast(pa.schema(list(map(wider, table.schema)))) for table in tables]


def columns_in(path: Path, reading: Reading = Reading()) -> tuple[str, ...]:  # noqa: B008 (a frozen value)
    """Return the columns of a delimited text file; an empty tuple for files that store types."""
    first = (files_of(path) or (path,))[0]
    if first.is_file():
        check_content(first, workbook=kind_of_file(first) in SHEETS)
    dialect = _dialect_of(first, reading) if is_delimited(first) and first.is_file() else None
    return () if dialect is None else dialect.columns


def where_in(table: Table, rows: Codes) -> tuple[str, list[int]]:
    """Return the location of rows, in words and as numbers: lines of its text file, otherwise rows."""
    path = table.path
    dialect = _dialect_of(path, table.reading) if path is not None and is_delimited(path) else None
    if path is None or dialect is None:
        return locate_rows(rows, None, word="row")
    return locate_rows(rows, lambda few: line_numbers(path, dialect, few.tolist()))


def _dialect_of(path: Path, reading: Reading) -> Dialect | None:
    """Find the dialect of a text file in the first encoding that fits, None if none does."""
    with readable(path):
        for candidate in encodings(path, reading.encoding):
            with suppress(UnicodeError):
                return find_dialect(path, candidate, delimited_reading(path, reading))
    return None


def delimited_reading(path: Path, reading: Reading) -> Reading:
    """Return the reading of a text file: a .tsv file has tabs unless another delimiter is declared."""
    tabs = reading.delimiter is None and kind_of_file(path) == ".tsv"
    return replace(reading, delimiter="\t") if tabs else reading


def _apply_reading(table: pa.Table, reading: Reading) -> pa.Table:
    """Return a table that already has types, with declarations applied."""
    choose(table.column_names, reading.named_columns)
    table = cast_texts(table, reading)
    if reading.of_cells == Reading(text=reading.text):
        return table
    try:
        return read_frame(table, reading)
    except MisfitError as misfit:
        raise misfit.error(None, word="row") from None


def check_file(path: Path) -> None:
    """Raise `InputError` unless a path is an ordinary file that may be a table."""
    try:
        check_ordinary(path)
    except PermissionError as error:
        raise no_access(path, error) from None
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) == errno.EINVAL:
            raise InputError(
                f"cannot read {path}: {getattr(error, 'strerror', '')}", hint="save the table in a file, and name that"
            ) from None
        raise no_file(path) from None
    check_content(path, workbook=kind_of_file(path) in SHEETS)


def check_content(path: Path, *, workbook: bool = False) -> None:
    """Raise `InputError` for a file whose content does not match its suffix."""
    try:
        with path.open("rb") as file:
            first = file.read(32)
    except PermissionError as error:
        raise no_access(path, error) from None
    for mark, what, hint in SIGNATURES:
        if first.startswith(mark) and not (workbook and mark in OF_WORKBOOKS):
            raise _renamed_workbook(path) or InputError(f"{path} is not a table but {what}", hint=hint)


def _renamed_workbook(path: Path) -> InputError | None:
    """Return the error of a workbook whose name has another suffix, None for other files."""
    with suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(path) as archive:
        if "xl/workbook.xml" in archive.namelist():
            return InputError(
                f"{path} is a workbook, although its name ends in {path.suffix}", hint=f"rename it to {path.stem}.xlsx"
            )
    return None
