"""Delimited text files as Arrow tables whose types hold for every row, for engines to rely on."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.tables.dialect import Dialect, diagnose, encodings, find_dialect, nul_error
from indistinct.tables.dictionaries import TEXT
from indistinct.tables.files import choose
from indistinct.tables.inference import settle, spellings, typed

# Small blocks keep the reader's dictionaries in the cache; a record must fit into one block.
BLOCK_BYTES = 1 << 21
LARGEST_BLOCK_BYTES = 1 << 30


def read_delimited(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = ("",),
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Return a delimited text file with a header line.

    Fields follow RFC 4180. Exactly the fields that `missing` lists are missing, quoted or not. A blank line
    is skipped, except in a file of one column, where it is a row.
    """
    try:
        possible = encodings(path, encoding)
        for candidate in possible:
            try:
                return _read_as(path, find_dialect(path, candidate, delimiter), missing, columns)
            except UnicodeError:
                continue
    except (OSError, EOFError):
        raise InputError(
            f"{path} cannot be read, or is not a complete gzip file",
            hint="check the file and its permissions",
        ) from None
    raise InputError(
        f"{path} is not text in the encoding {possible[-1]}",
        hint="leave the encoding out to have it found, or try encoding='cp1252'",
    )


def _read_as(path: Path, dialect: Dialect, missing: Sequence[str], columns: Sequence[str] | None) -> pa.Table:
    wanted = choose(dialect.names, columns)
    if dialect.bare:
        return pa.table([pa.array([], TEXT) for _ in wanted], names=wanted)
    # The last column is read in any case, because a quote that never ends shows there.
    names = list(dict.fromkeys([*wanted, dialect.names[-1]]))
    quoted = _may_quote(path, dialect)
    table = _read_text(path, dialect, missing, names, quoted=quoted)
    if table.column_names != names or any(kind != TEXT for kind in table.schema.types):
        raise _unreadable(path)
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as threads:
        texts = list(threads.map(settle, table.columns))
        del table
        _check_content(path, dialect, texts, quoted=quoted)
        found = dict(zip(names, threads.map(typed, texts), strict=True))
    return pa.table([found[name] for name in wanted], names=wanted)


def _may_quote(path: Path, dialect: Dialect) -> bool:
    """Return whether a file can hold quotes; without any, records end at line ends and are found faster."""
    if path.suffix.lower() == ".gz" or dialect.encoding not in (
        "utf-8",
        "cp1252",
        "latin-1",
        "iso8859-1",
        "ascii",
    ):
        return True
    buffer = bytearray(BLOCK_BYTES)
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            if buffer.find(b'"', 0, size) >= 0:
                return True
    return False


def _read_text(path: Path, dialect: Dialect, missing: Sequence[str], names: list[str], *, quoted: bool) -> pa.Table:
    size = BLOCK_BYTES
    while True:
        try:
            return _read_blocks(path, dialect, missing, names, quoted=quoted, block_size=size)
        except pa.ArrowInvalid as error:
            text = str(error)
            if text.startswith("In CSV column") and "invalid UTF8" in text:
                raise UnicodeError from None
            wrong = diagnose(path, dialect)
            size *= 16
            if wrong or not text.startswith("straddling") or size > LARGEST_BLOCK_BYTES:
                raise wrong or _unreadable(path) from None


def _read_blocks(
    path: Path,
    dialect: Dialect,
    missing: Sequence[str],
    names: list[str],
    *,
    quoted: bool,
    block_size: int,
) -> pa.Table:
    from pyarrow import csv

    # Read, not mapped: a mapped file counts as memory, and mapping its pages costs more than copying them.
    compression = "gzip" if path.suffix.lower() == ".gz" else None
    with pa.input_stream(str(path), compression=compression) as stream:
        return csv.read_csv(
            stream,
            read_options=csv.ReadOptions(encoding=dialect.encoding, block_size=block_size),
            parse_options=csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char='"' if quoted else False,
                newlines_in_values=quoted,
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


def _check_content(path: Path, dialect: Dialect, texts: list[pa.ChunkedArray], *, quoted: bool) -> None:
    """Raise `InputError` for NUL bytes and for quotes that swallowed the lines after them.

    The fast reader takes a quote that never ends, or ends in the middle of a field, as it comes. Its traces
    are a line break in the very last field, or a value with both a line break and a quote; only then is the
    slow, strict reader asked.
    """
    suspicious = False
    for column in texts:
        values = spellings(column)
        if pc.any(pc.match_substring(values, "\0")).as_py():
            raise nul_error()
        if quoted:
            broken = values.filter(pc.match_substring_regex(values, "[\r\n]"))
            suspicious |= bool(pc.any(pc.match_substring(broken, '"')).as_py())
    last = texts[-1][-1].as_py() if quoted and len(texts[-1]) else None
    if suspicious or (last is not None and ("\n" in last or "\r" in last)):
        wrong = diagnose(path, dialect)
        if wrong:
            raise wrong


def _unreadable(path: Path) -> InputError:
    return InputError(
        f"{path} cannot be read as delimited text", hint="check its delimiter, its quotes and its header line"
    )
