"""One door for every table: a path or a frame goes in, a `Table` that every engine takes comes out."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.errors import InputError
from indistinct.tables.delimited import read_delimited
from indistinct.tables.dialect import encodings, find_dialect
from indistinct.tables.dictionaries import is_text
from indistinct.tables.files import choose, read_arrow, read_parquet
from indistinct.tables.frames import flat, from_frame, is_frame
from indistinct.tables.value import Reading, Table

DELIMITED = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")


def open_table(
    source: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = ("",),
    columns: Sequence[str] | None = None,
    text: Sequence[str] = (),
) -> Table:
    """Return the table at a path or in a frame; `columns` chooses some and their order.

    A path ends in .csv, .tsv or .txt (also .gz after it), .parquet or .pq, .arrow, .feather or .ipc. A frame
    is one of pandas (its index is dropped), polars, Arrow, or of any library that speaks Arrow's PyCapsule
    interface.

    `delimiter`, `encoding` and `missing` concern delimited text alone. Delimiter and encoding are found if
    not given; only the texts in `missing` are missing, so `NA` stays text unless it is listed. Types are
    decided on whole columns; those in `text` are text whatever they spell, such as codes like 250.00, which
    are not the number 250.

        >>> open_table(pa.table({"age": [31, 42], "city": ["Oslo", "Bergen"]})).rows
        2
    """
    chosen = [columns] if isinstance(columns, str) else columns
    plain = (text,) if isinstance(text, str) else tuple(text)
    if isinstance(source, Table):
        if chosen is None and set(plain) <= set(source.reading.text):
            return source
        data = _with_text(source.data, plain)
        reading = replace(source.reading, text=tuple(dict.fromkeys((*source.reading.text, *plain))))
        return Table(data.select(choose(source.columns, chosen)), source.name, source.path, reading, source.respelled)
    if isinstance(source, str | Path):
        path = Path(source)
        _check_file(path)
        absent = (missing,) if isinstance(missing, str) else tuple(missing)
        reading = Reading(delimiter, encoding, absent, plain)
        table, respelled = _read(path, reading, chosen)
        return Table(table, path.name, path, reading, respelled)
    if not is_frame(source):
        raise InputError(
            f"a table is opened from a path or a frame; got {type(source).__name__}",
            hint="give a path, or a pandas, polars or Arrow table",
        )
    table = _with_text(flat(from_frame(source)), plain)
    return Table(table.select(choose(table.column_names, chosen)), reading=Reading(text=plain))


def _read(path: Path, reading: Reading, columns: Sequence[str] | None) -> tuple[pa.Table, tuple[str, ...]]:
    kind, text = _kind(path), reading.text
    if kind in DELIMITED:
        mark = "\t" if reading.delimiter is None and kind == ".tsv" else reading.delimiter
        return read_delimited(path, replace(reading, delimiter=mark), columns=columns)
    if kind in PARQUET:
        return _with_text(flat(read_parquet(path, columns)), text), ()
    if kind in ARROW:
        return _with_text(flat(read_arrow(path, columns)), text), ()
    raise InputError(
        f"{path}: the suffix {kind!r} does not say how to read the file" if kind else f"{path} has no suffix",
        hint=f"rename it to end in one of {', '.join((*DELIMITED, *PARQUET, *ARROW))}; text may end in .gz",
    )


def columns_in(path: Path, *, delimiter: str | None = None, encoding: str | None = None) -> tuple[str, ...]:
    """Return the columns of a delimited text file; of other files, whose types are their own, none."""
    for candidate in encodings(path, encoding) if _kind(path) in DELIMITED else ():
        with suppress(UnicodeError):
            return find_dialect(path, candidate, delimiter).names
    return ()


def is_delimited(path: Path) -> bool:
    """Return whether a file is delimited text, which has no types."""
    return _kind(path) in DELIMITED


def _kind(path: Path) -> str:
    """Return the suffix that says how a file is read."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-1] if suffixes else ""
    return suffixes[-2] if kind == ".gz" and len(suffixes) > 1 and suffixes[-2] in DELIMITED else kind


def _with_text(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return a table in which some columns are text."""
    for name in choose(table.column_names, names):
        if not is_text(table[name].type):
            place = table.column_names.index(name)
            table = table.set_column(place, name, table[name].cast(pa.string()))
    return table


def _check_file(path: Path) -> None:
    try:
        folder, present = path.is_dir(), path.exists()
    except (OSError, ValueError):
        folder = present = False
    if folder:
        raise InputError(f"{path} is a directory, not a file", hint="name one file")
    if not present:
        raise InputError(
            f"there is no file {path}", hint="check the path; a relative one starts at the working directory"
        )
