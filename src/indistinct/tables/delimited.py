"""Delimited text files as Arrow tables whose types hold for every row, for engines to rely on."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.memory import is_memory
from indistinct.tables.declared import read_column
from indistinct.tables.dialect import (
    LONGEST_LINE,
    NAMELESS,
    Dialect,
    diagnose,
    encodings,
    find_dialect,
    line_numbers,
    nul_error,
)
from indistinct.tables.dictionaries import TEXT
from indistinct.tables.files import choose
from indistinct.tables.inference import maybe_grouped, respelled, settle, spellings
from indistinct.tables.leftovers import Kept, without_leftovers
from indistinct.tables.misfits import MisfitError, no_column
from indistinct.tables.notation import check_marks
from indistinct.tables.value import Reading

# Small blocks keep the reader's dictionaries in the cache; a record must fit into one block.
BLOCK_BYTES = 1 << 21
LARGEST_BLOCK_BYTES = 4 * LONGEST_LINE

Read = TypeVar("Read")


class Delimited(NamedTuple):
    """The table of a text file, and the columns whose numbers may mean something else: see `Table`."""

    data: pa.Table
    respelled: tuple[str, ...] = ()
    grouped: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def read_delimited(
    path: Path, reading: Reading, *, columns: Sequence[str] | None = None, published: bool = False
) -> Delimited:
    """Return a delimited text file with a header line, each column as it was declared or as all of its cells allow.

    Fields follow RFC 4180. Exactly the fields that `reading.missing` lists are missing, quoted or not. A blank line
    is skipped, except in a file of one column, where it is a row. So is a line without any value, and a column without
    name and value, unless the file was `published` by us, and has neither.
    """

    def read(encoding: str) -> Delimited:
        return _read_as(path, _dialect(path, encoding, reading), reading, columns, published=published)

    return _in_its_encoding(path, reading, read)


def read_cells(path: Path, reading: Reading) -> tuple[pa.Table, str]:
    """Return every cell of a delimited text file as text, and its encoding; a column without a name has "".

    Nothing is left out and nothing becomes a number: this is what stands in the file.
    """

    def read(encoding: str) -> tuple[pa.Table, str]:
        dialect = replace(find_dialect(path, encoding, reading.delimiter, header=reading.header), quoted=True)
        names = list(dialect.names)
        shown = ["" if name.startswith(NAMELESS) else name for name in names]
        if dialect.bare:
            return pa.table([pa.array([], TEXT) for _ in names], names=shown), encoding
        dialect, columns = _read_text(path, dialect, reading.missing, names)
        _check_content(path, dialect, dict(zip(names, map(settle, columns), strict=True)))
        return pa.table(columns, names=shown), encoding

    return _in_its_encoding(path, reading, read)


def _in_its_encoding(path: Path, reading: Reading, read: Callable[[str], Read]) -> Read:
    """Return what `read` makes of a file in the first encoding in which it is text."""
    try:
        possible = encodings(path, reading.encoding)
        for candidate in possible:
            try:
                return read(candidate)
            except UnicodeError:
                continue
    except (OSError, EOFError) as error:
        if is_memory(error):
            raise
        raise InputError(
            f"{path} cannot be read, or is not a complete gzip file", hint="check the file and its permissions"
        ) from None
    raise InputError(
        f"{path} is not text in the encoding {possible[-1]}",
        hint="leave the encoding out to have it found, or try encoding='cp1252'",
    )


def _dialect(path: Path, encoding: str, reading: Reading) -> Dialect:
    dialect = find_dialect(path, encoding, reading.delimiter, header=reading.header)
    if not dialect.quoted:  # a number in quotes may hold the delimiter
        check_marks(reading.decimal, reading.thousands, dialect.delimiter)
    choose(dialect.columns, reading.columns)
    return dialect


def _read_as(
    path: Path, dialect: Dialect, reading: Reading, columns: Sequence[str] | None, *, published: bool
) -> Delimited:
    missing, wanted = reading.missing, choose(dialect.columns, columns)
    if dialect.bare:
        return Delimited(pa.table([pa.array([], TEXT) for _ in wanted], names=wanted))
    if columns is not None or any('"' in text for text in missing):
        # A quote in a column that is not read, or in a missing value, would not be seen.
        dialect = replace(dialect, quoted=True)
    # The last column is read in any case, because a quote that never ends shows there.
    nameless = [name for name in dialect.names if name.startswith(NAMELESS)]
    names = list(dict.fromkeys([*wanted, *nameless, dialect.names[-1]]))
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as threads:
        dialect, columns_read = _read_text(path, dialect, missing, names)
        texts = list(threads.map(settle, columns_read))
        if not dialect.quoted and any(_holds(column, '"') for column in texts):
            dialect, columns_read = _read_text(path, replace(dialect, quoted=True), missing, names)
            texts = list(threads.map(settle, columns_read))
        del columns_read
        found = dict(zip(names, texts, strict=True))
        _check_content(path, dialect, found)
        found, left_out = Kept(found) if published and not nameless else without_leftovers(path, dialect, found)
        try:
            read = list(threads.map(lambda name: read_column(name, found[name], reading), wanted))
        except MisfitError as misfit:
            raise misfit.error(lambda rows: line_numbers(path, dialect, rows.tolist())) from None
        if columns is None and all(len(spellings(text)) for text in found.values()):
            used = [each.form for each in read]
            if unused := [form for form in reading.dates if form not in used]:
                raise no_column(unused[0], {name: spellings(found[name]) for name in wanted})
        foreign = reading.decimal or reading.thousands
        both = [(name, found[name], each.column.type) for name, each in zip(wanted, read, strict=True)]
        return Delimited(
            pa.table([each.column for each in read], names=wanted),
            tuple(name for name, text, kind in both if not foreign and respelled(text, kind)),
            tuple(name for name, text, kind in both if not foreign and maybe_grouped(text, kind)),
            left_out,
        )


def _read_text(
    path: Path, dialect: Dialect, missing: Sequence[str], names: list[str]
) -> tuple[Dialect, list[pa.ChunkedArray]]:
    """Return the columns as dictionary-encoded text, and the dialect that read them."""
    size = BLOCK_BYTES
    while True:
        try:
            table = _read_blocks(path, dialect, missing, names, block_size=size)
        except pa.ArrowKeyError:  # two readers of the header disagree, as about a second byte order mark
            raise _unreadable(path) from None
        except pa.ArrowInvalid as error:
            text = str(error)
            if text.startswith("In CSV column") and "invalid UTF8" in text:
                raise UnicodeError from None
            if not dialect.quoted:
                dialect = replace(dialect, quoted=True)
                continue
            wrong = diagnose(path, dialect)
            size *= 16
            if wrong or not text.startswith("straddling") or size > LARGEST_BLOCK_BYTES:
                raise wrong or _unreadable(path) from None
        else:
            if table.column_names != names or any(kind != TEXT for kind in table.schema.types):
                raise _unreadable(path)
            return dialect, list(table.columns)


def _read_blocks(
    path: Path, dialect: Dialect, missing: Sequence[str], names: list[str], *, block_size: int
) -> pa.Table:
    from pyarrow import csv

    given = dialect.columns != dialect.names
    named: dict[str, Any] = {"column_names": list(dialect.names), "skip_rows": dialect.ahead}
    header = {**named, "skip_rows_after_names": 1} if given else {}
    # Read, not mapped: a mapped file counts as memory, and mapping its pages costs more than copying them.
    compression = "gzip" if path.suffix.lower() == ".gz" else None
    with pa.input_stream(str(path), compression=compression) as stream:
        return csv.read_csv(
            stream,
            read_options=csv.ReadOptions(encoding=dialect.encoding, block_size=block_size, **header),
            parse_options=csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char='"' if dialect.quoted else False,
                newlines_in_values=dialect.quoted,
                ignore_empty_lines=len(dialect.names) > 1,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, TEXT),
                include_columns=names,
                null_values=list(missing),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
            # Many small buffers that live briefly: huge pages, as other pools ask for, cost more than they give.
            memory_pool=pa.system_memory_pool(),
        )


def _check_content(path: Path, dialect: Dialect, texts: Mapping[str, pa.ChunkedArray]) -> None:
    """Raise `InputError` for NUL bytes and for quotes that swallowed the lines after them.

    The fast reader takes a quote that never ends, or ends in the middle of a field, as it comes. Its traces are a line
    break in the very last field, or a value with both a line break and a quote; only then is the slow, strict reader
    asked.
    """
    if any(_holds(column, "\0") for column in texts.values()):
        raise nul_error()
    if not dialect.quoted:
        return
    ends = texts[dialect.names[-1]]
    last = (ends[-1].as_py() if len(ends) else None) or ""
    if "\n" in last or "\r" in last or any(_mixes(column) for column in texts.values()):
        wrong = diagnose(path, dialect)
        if wrong:
            raise wrong


def _holds(column: pa.ChunkedArray, character: str) -> bool:
    return bool(pc.any(pc.match_substring(spellings(column), character)).as_py())


def _mixes(column: pa.ChunkedArray) -> bool:
    values = spellings(column)
    broken = values.filter(pc.match_substring_regex(values, "[\r\n]"))
    return bool(pc.any(pc.match_substring(broken, '"')).as_py())


def _unreadable(path: Path) -> InputError:
    return InputError(
        f"{path} cannot be read as delimited text", hint="check its delimiter, its quotes and its header line"
    )
