"""Delimited text files as Arrow tables whose types hold for every row, so that engines and recodings can trust them."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.tables.dialect import Dialect, diagnose, encodings, find_dialect, nul_error
from indistinct.tables.dictionaries import TEXT
from indistinct.tables.files import choose
from indistinct.tables.inference import spellings, typed

# Small blocks keep the dictionaries of the reader in the cache; a record must fit into one block.
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

    Fields follow RFC 4180. Exactly the fields that `missing` lists are missing, quoted or not. A blank line is
    skipped, except in a file of one column, where it is a missing value.
    """
    possible = encodings(path, encoding)
    for candidate in possible:
        try:
            return _read_as(path, find_dialect(path, candidate, delimiter), missing, columns)
        except UnicodeDecodeError:
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
    # The last column is read in any case, because an unclosed quote shows there.
    names = list(dict.fromkeys([*wanted, dialect.names[-1]]))
    table = _read_text(path, dialect, missing, names)
    if table.column_names != names or any(kind != TEXT for kind in table.schema.types):
        raise _unreadable(path)
    _check_content(path, dialect, table)
    texts = dict(zip(names, table.columns, strict=True))
    del table
    # Popping frees the codes of each column as soon as its typed values exist.
    return pa.table([typed(texts.pop(name)) for name in wanted], names=wanted)


def _read_text(path: Path, dialect: Dialect, missing: Sequence[str], names: list[str]) -> pa.Table:
    size = BLOCK_BYTES
    while True:
        try:
            return _read_blocks(path, dialect, missing, names, block_size=size)
        except pa.ArrowInvalid as error:
            text = str(error)
            if "UTF8" in text:
                raise UnicodeDecodeError(dialect.encoding, b"", 0, 0, "invalid") from None
            wrong = diagnose(path, dialect)
            size *= 16
            if wrong or "straddl" not in text or size > LARGEST_BLOCK_BYTES:
                raise wrong or _unreadable(path) from None


def _read_blocks(
    path: Path, dialect: Dialect, missing: Sequence[str], names: list[str], *, block_size: int
) -> pa.Table:
    from pyarrow import csv

    compression = "gzip" if path.suffix.lower() == ".gz" else None
    with pa.input_stream(str(path), compression=compression) as stream:
        return csv.read_csv(
            stream,
            read_options=csv.ReadOptions(encoding=dialect.encoding, block_size=block_size),
            parse_options=csv.ParseOptions(
                delimiter=dialect.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(dialect.names) > 1,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, TEXT),
                include_columns=names,
                null_values=list(missing),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )


def _check_content(path: Path, dialect: Dialect, table: pa.Table) -> None:
    """Raise `InputError` for NUL bytes and for quotes that swallowed the lines after them.

    The fast reader takes a quote that never ends, or ends in the middle of a field, as it comes. Its traces are a line
    break in the very last field, or a value with both a line break and a quote; only then is the slow, strict reader
    asked.
    """
    suspicious = False
    for column in table.columns:
        values = spellings(column)
        if pc.any(pc.match_substring(values, "\0")).as_py():
            raise nul_error()
        broken = values.filter(pc.match_substring_regex(values, "[\r\n]"))
        suspicious |= bool(pc.any(pc.match_substring(broken, '"')).as_py())
    last = table.column(table.num_columns - 1)[-1].as_py() if table.num_rows else None
    if suspicious or (last is not None and ("\n" in last or "\r" in last)):
        wrong = diagnose(path, dialect)
        if wrong:
            raise wrong


def _unreadable(path: Path) -> InputError:
    return InputError(
        f"{path} cannot be read as delimited text", hint="check its delimiter, its quotes and its header line"
    )
