"""One door for every table: a path or a frame goes in, a `Table` that every engine takes comes out."""

import errno
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from indistinct.arrays import Codes
from indistinct.errors import InputError
from indistinct.input_files import check_ordinary, no_file
from indistinct.memory import needs_memory
from indistinct.tables.declared import read_frame
from indistinct.tables.delimited import Delimited, read_delimited
from indistinct.tables.dialect import Dialect, encodings, find_dialect, line_numbers
from indistinct.tables.dictionaries import is_text
from indistinct.tables.fetched import named_as_given
from indistinct.tables.files import categories_in, choose, read_arrow, read_parquet
from indistinct.tables.frames import categories_of, flat, from_frame, is_frame
from indistinct.tables.labelled import read_labelled
from indistinct.tables.misfits import MisfitError, located
from indistinct.tables.no_tables import HINTS, check_content
from indistinct.tables.reading import Declarations, declare
from indistinct.tables.several import (
    ARROW,
    DELIMITED,
    LABELLED,
    PARQUET,
    SHEETS,
    Stamp,
    files_of,
    is_delimited,
    kind_of_file,
    together,
    unchanged,
)
from indistinct.tables.sheets import read_sheet
from indistinct.tables.value import Reading, Table


@needs_memory("reading the table")
def open_table(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    reading: Reading | None = None,
    published: bool = False,
    **declared: Unpack[Declarations],
) -> Table:
    """Return the table at a path or in a frame; `columns` chooses some and their order.

    A path ends in .csv, .tsv or .txt (also .gz after it), .parquet or .pq, .arrow, .feather or .ipc. Several files of
    one kind are one table: a list of paths, a folder, or a pattern such as "folder/*.csv". A frame is one of pandas
    (its index is dropped), polars, Arrow, or of any library that speaks Arrow's PyCapsule interface.

    Delimiter and encoding of delimited text are found if not given. Types are decided on whole columns; those in
    `text` are text whatever they spell, such as codes like 250.00, which are not the number 250. What people write
    differently is declared: `decimal` and `thousands` are marks in numbers, `dates` one format for all columns of text
    that fit it or a format for each column, as in "%d.%m.%Y" and {"visit": "%d/%m/%Y %H:%M"}; `types` the kind of a
    column (number, plain-number, integer, date, datetime, text). `missing` are the texts that stand for missing in all
    columns, or {column: texts}, where "*" stands for all columns; `NA` stays text unless it is listed. A declaration
    that fits no cell is an error. In a frame or a Parquet file, whose columns have types, declarations concern columns
    of text, but marks for missing all of them. `header` says that the first line holds names even if it looks like
    data. Empty lines and columns without name and value are left out, and a last line of totals is refused, unless the
    file was `published`. `reading` is how another table was read; what is declared beside it takes its place.

        >>> open_table(pa.table({"age": [31, 42], "city": ["Oslo", "Bergen"]})).rows
        2
    """
    how = declare(reading or (source.reading if isinstance(source, Table) else None), **declared)
    chosen = [columns] if isinstance(columns, str) else columns
    if isinstance(source, Table):
        return _again(source, replace(how, text=tuple(dict.fromkeys((*source.reading.text, *how.text)))), chosen)
    files = files_of(source)
    if files is not None:
        with named_as_given():
            for path in files:
                check_file(path)
            with unchanged([Stamp.of(path) for path in files]):
                read = _read(files, how, chosen, published=published)
        only = files[0] if len(files) == 1 else None
        name = None if only is None else only.name
        told = (read.respelled, read.grouped, read.left_out, files, dict(read.labels), read.notes)
        return Table(read.data, name, only, how, *told)
    if not is_frame(source):
        raise InputError(
            f"a table is opened from a path or a frame; got {type(source).__name__}",
            hint="give a path, or a pandas, polars or Arrow table",
        )
    frame = from_frame(source)
    table = _declared(flat(frame), how)
    return Table(table.select(choose(table.column_names, chosen)), reading=how, labels=categories_of(frame))


def _again(table: Table, reading: Reading, columns: Sequence[str] | None) -> Table:
    """Return a table that is open already, with what is declared now and was not before."""
    if columns is None and reading == table.reading:
        return table
    data = table.data if reading == table.reading else _declared(table.data, reading)
    chosen = choose(table.columns, columns)
    return replace(table, data=data.select(chosen), reading=reading, learned={})


def _read(files: Sequence[Path], reading: Reading, columns: Sequence[str] | None, *, published: bool) -> Delimited:
    path, kind = files[0], kind_of_file(files[0])
    if kind in DELIMITED:
        return read_delimited(files, delimited_reading(path, reading), columns=columns, published=published)
    if kind in (*PARQUET, *ARROW):
        read = read_parquet if kind in PARQUET else read_arrow
        tables = [read(each, columns) for each in files]
        labels = categories_of(tables[0]) if kind in ARROW else categories_in(path)
        return Delimited(_declared(together(files, list(map(flat, tables))), reading), labels=labels)
    if kind in SHEETS:
        sheets = [read_sheet(each, reading, columns, published=published) for each in files]
        data = _declared(together(files, [flat(each.data) for each in sheets]), reading)
        return Delimited(data, left_out=tuple(words for each in sheets for words in each.left_out))
    if kind in LABELLED:
        labelled = [read_labelled(each, reading, columns) for each in files]
        data = _declared(together(files, [flat(each.data) for each in labelled]), reading)
        notes = tuple(dict.fromkeys(note for each in labelled for note in each.notes))
        return Delimited(data, labels=labelled[0].labels, notes=notes)
    raise InputError(
        f"{path}: the suffix {kind!r} does not say how to read the file" if kind else f"{path} has no suffix",
        hint=HINTS.get(kind)
        or f"rename it to end in one of {', '.join((*DELIMITED, *PARQUET, *ARROW, *SHEETS, *LABELLED))}; text may end "
        "in .gz",
    )


def columns_in(path: Path, reading: Reading = Reading()) -> tuple[str, ...]:  # noqa: B008 (a frozen value)
    """Return the columns of a delimited text file; of other files, whose types are their own, none."""
    first = (files_of(path) or (path,))[0]
    if first.is_file():
        check_content(first, workbook=kind_of_file(first) in SHEETS)
    dialect = _dialect_of(first, reading) if is_delimited(first) and first.is_file() else None
    return () if dialect is None else dialect.columns


def where_in(table: Table, rows: Codes) -> tuple[str, list[int]]:
    """Return where rows of a table are, in words and as numbers: lines of its text file, else rows."""
    path = table.path
    dialect = _dialect_of(path, table.reading) if path is not None and is_delimited(path) else None
    if path is None or dialect is None:
        return located(rows, None, word="row")
    return located(rows, lambda few: line_numbers(path, dialect, few.tolist()))


def _dialect_of(path: Path, reading: Reading) -> Dialect | None:
    for candidate in encodings(path, reading.encoding):
        with suppress(UnicodeError):
            return find_dialect(path, candidate, delimited_reading(path, reading).delimiter, header=reading.header)
    return None


def delimited_reading(path: Path, reading: Reading) -> Reading:
    """Return how a text file is read: what ends in .tsv has tabs, unless something else is declared."""
    tabs = reading.delimiter is None and kind_of_file(path) == ".tsv"
    return replace(reading, delimiter="\t") if tabs else reading


def _declared(table: pa.Table, reading: Reading) -> pa.Table:
    """Return a table that has types already, as it was declared to be."""
    choose(table.column_names, reading.columns)
    texts = [name for name in table.column_names if name in reading.text or reading.types.get(name) == "text"]
    for name in texts:
        if not is_text(table[name].type):
            place = table.column_names.index(name)
            table = table.set_column(place, name, table[name].cast(pa.string()))
    if reading == Reading(text=reading.text, sheet=reading.sheet, codes=reading.codes, header=reading.header):
        return table
    try:
        return read_frame(table, reading)
    except MisfitError as misfit:
        raise misfit.error(None, word="row") from None


def check_file(path: Path) -> None:
    """Raise `InputError` unless a path leads to an ordinary file that may be a table."""
    try:
        check_ordinary(path)
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) == errno.EINVAL:
            raise InputError(
                f"cannot read {path}: {getattr(error, 'strerror', '')}", hint="save the table in a file, and name that"
            ) from None
        raise no_file(path) from None
    check_content(path, workbook=kind_of_file(path) in SHEETS)
