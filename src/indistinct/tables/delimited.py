"""Delimited text files as Arrow tables whose column types hold for every row."""

import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.machine.arrays import Codes
from indistinct.machine.memory import Allowance, is_memory
from indistinct.tables.dialect import (
    LONGEST_LINE,
    NAMELESS,
    Dialect,
    diagnose,
    encodings,
    find_dialect,
    guess_note,
    line_numbers,
    open_bytes,
)
from indistinct.tables.dictionaries import TEXT, compact
from indistinct.tables.evidence import check_forms, read_column, without_texts
from indistinct.tables.inference import has_several_spellings, maybe_grouped, settle, spellings
from indistinct.tables.layout import TableBytes, encoding_of_cut, is_cut
from indistinct.tables.leftovers import FileSurvey
from indistinct.tables.misfits import MisfitError
from indistinct.tables.notation import check_marks
from indistinct.tables.several import check_alike
from indistinct.tables.value import ColumnLabels, Reading, choose

# Small blocks keep the reader's dictionaries in the cache; a record must fit into one block.
BLOCK_BYTES = 1 << 21
LARGEST_BLOCK_BYTES = 4 * LONGEST_LINE
# Memory of texts while they are typed and counted, relative to reading them.
MEMORY_FACTOR = 6
UNPACK = "unpack it first, or anonymize it where it lies (--engine duckdb)"

Read = TypeVar("Read")


class Delimited(NamedTuple):
    """The table of a text file, and the columns whose numbers may have another meaning: see `Table`."""

    data: pa.Table
    respelled: tuple[str, ...] = ()
    grouped: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    labels: Mapping[str, ColumnLabels] = MappingProxyType({})
    notes: tuple[str, ...] = ()


class Texts(NamedTuple):
    """The columns of one text file as dictionary-encoded text, without rows that belong to no person."""

    path: Path
    dialect: Dialect
    columns: dict[str, pa.ChunkedArray]
    left_out: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows of the file."""
        return len(next(iter(self.columns.values())))


def read_delimited(
    files: Sequence[Path],
    reading: Reading,
    *,
    columns: Sequence[str] | None = None,
    published: bool = False,
    allowance: Allowance | None = None,
) -> Delimited:
    """Return text files with a header line as one table; columns have declared types or types that fit all cells.

    Fields follow RFC 4180. Exactly the fields that `reading.missing` lists are missing, quoted or not. A blank line is
    skipped, except in a file of one column, where it is a row. Lines without any value and columns without name and
    values are skipped too, unless the file was `published` by this package, which writes neither.
    """
    parts = []
    guard = SizeGuard(allowance or Allowance.of(files))
    for path in files:

        def read(encoding: str, path: Path = path) -> Texts:
            dialect = dialect_of(path, encoding, reading)
            return _texts_of(path, dialect, reading.missing, columns, published=published, guard=guard)

        parts.append(in_its_encoding(path, reading, read))
        check_same_names(files[0], parts[0].dialect, path, parts[-1].dialect)
    typed = _type_columns(parts, choose(parts[0].dialect.columns, columns), reading, every=columns is None)
    return typed._replace(notes=guesses_at([(part.path, part.dialect) for part in parts], reading))


def guesses_at(parts: Sequence[tuple[Path, Dialect]], reading: Reading) -> tuple[str, ...]:
    """Return notes on how files are laid out, and on guessed encodings."""
    layout = [note for _, dialect in parts for note in dialect.notes]
    if reading.encoding is None:
        layout += [note for path, dialect in parts for note in guess_note(path, dialect.encoding)]
    return tuple(dict.fromkeys(layout))


def check_same_names(first: Path, dialect: Dialect, other: Path, found: Dialect) -> None:
    """Raise `InputError` unless two files have the same columns."""
    one, two = (pa.schema([(name, pa.string()) for name in each.columns]) for each in (dialect, found))
    check_alike(first, one, other, two)


def read_cells(path: Path, reading: Reading) -> tuple[pa.Table, str]:
    """Return every cell of a delimited text file as text, and its encoding; a column without a name has "".

    Nothing is left out or converted to numbers.
    """

    def read(encoding: str) -> tuple[pa.Table, str]:
        dialect = replace(find_dialect(path, encoding, reading), quoted=True)
        names = list(dialect.names)
        headings = ["" if name.startswith(NAMELESS) else name for name in names]
        if dialect.bare:
            return pa.table([pa.array([], TEXT) for _ in names], names=headings), encoding
        dialect, columns = _read_text(path, dialect, reading.missing, names, SizeGuard(Allowance.of([path])))
        survey_table(path, dialect, pa.table(columns, names=names))
        return pa.table(columns, names=headings), encoding

    return in_its_encoding(path, reading, read)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Raise `InputError` where a file cannot be read, or is compressed and damaged."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        if is_memory(error):
            raise
        raise InputError(
            f"{path} cannot be read, or is not a complete gzip file", hint="check the file and its permissions"
        ) from None


def in_its_encoding(path: Path, reading: Reading, read: Callable[[str], Read]) -> Read:
    """Call `read` with the first encoding in which a file can be decoded, and return its result."""
    with readable(path):
        possible = encodings(path, reading.encoding)
        for candidate in possible:
            try:
                return read(candidate)
            except UnicodeError:
                continue
    raise InputError(
        f"{path} is not text in the encoding {possible[-1]}",
        hint="leave the encoding out to have it found, or try encoding='cp1252'",
    )


def dialect_of(path: Path, encoding: str, reading: Reading) -> Dialect:
    """Return the dialect of a file in an encoding, after checking what was declared about it."""
    dialect = find_dialect(path, encoding, reading)
    if not dialect.quoted:  # a number in quotes may contain the delimiter
        check_marks(reading.decimal, reading.thousands, dialect.delimiter)
    choose(dialect.columns, reading.named_columns)
    return dialect


def _texts_of(
    path: Path,
    dialect: Dialect,
    missing: Sequence[str],
    columns: Sequence[str] | None,
    *,
    published: bool,
    guard: "SizeGuard",
) -> Texts:
    """Read the columns of a delimited file as text, and check what Arrow does not check."""
    wanted = choose(dialect.columns, columns)
    if dialect.bare:
        return Texts(path, dialect, {name: pa.chunked_array([], TEXT) for name in wanted})
    if columns is not None or any('"' in text for text in missing):
        # A quote in a column that is not read, or in a missing value, would not be noticed.
        dialect = replace(dialect, quoted=True)
    names = names_to_read(dialect, columns)
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as threads:
        dialect, columns_read = _read_text(path, dialect, missing, names, guard)
        texts = list(threads.map(settle, columns_read))
        if not dialect.quoted and any(_holds_quote(column) for column in texts):
            dialect, columns_read = _read_text(path, replace(dialect, quoted=True), missing, names, guard)
            texts = list(threads.map(settle, columns_read))
    del columns_read
    table = pa.table(texts, names=names)
    empty, left_out = survey_table(path, dialect, table).find_leftovers(path, published=published)
    chosen = {name: table[name] for name in wanted}
    if len(empty):
        keep = np.ones(table.num_rows, dtype=bool)
        keep[empty] = False
        chosen = {name: pa.chunked_array([compact(column.filter(pa.array(keep)))]) for name, column in chosen.items()}
    return Texts(path, dialect, chosen, left_out)


def names_to_read(dialect: Dialect, columns: Sequence[str] | None) -> list[str]:
    """Return the names of the columns that must be read to get some columns, or all.

    The last one is always read, because a quote that never ends shows there.
    """
    nameless = [name for name in dialect.names if name.startswith(NAMELESS) and columns is None]
    return list(dict.fromkeys([*choose(dialect.columns, columns), *nameless, dialect.names[-1]]))


def survey_table(path: Path, dialect: Dialect, table: pa.Table) -> FileSurvey:
    """Return the survey of a file that was read whole; raise `InputError` where its text is broken."""
    survey = FileSurvey(dialect)
    survey.add(table)
    survey.check_text(path)
    return survey


def _type_columns(parts: Sequence[Texts], wanted: list[str], reading: Reading, *, every: bool) -> Delimited:
    """Return the columns of all files, each with the type that fits the cells of all files."""
    if all(part.dialect.bare for part in parts):
        return Delimited(pa.table([pa.array([], TEXT) for _ in wanted], names=wanted))
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as threads:
        texts = dict(zip(wanted, threads.map(lambda name: _whole(parts, name), wanted), strict=True))
        try:
            read = list(threads.map(lambda name: read_column(name, texts[name], reading), wanted))
        except MisfitError as misfit:
            raise misfit_error(misfit, [(part.path, part.dialect, part.rows) for part in parts]) from None
    evidence = dict(zip(wanted, (each for each, _ in read), strict=True))
    check_forms(evidence, reading, excused=not every or not all(each.texts for each in evidence.values()))
    foreign = reading.decimal or reading.thousands
    both = [(name, texts[name], column.type) for name, (_, column) in zip(wanted, read, strict=True)]
    return Delimited(
        pa.table([column for _, column in read], names=wanted),
        tuple(name for name, text, kind in both if not foreign and has_several_spellings(text, kind)),
        tuple(name for name, text, kind in both if not foreign and maybe_grouped(text, kind)),
        left_out_of([(part.path, part.left_out) for part in parts]),
    )


def _whole(parts: Sequence[Texts], name: str) -> pa.ChunkedArray:
    """Return a column of all files."""
    if len(parts) == 1:
        return parts[0].columns[name]
    chunks = [chunk for part in parts for chunk in part.columns[name].cast(TEXT).chunks]
    return settle(pa.chunked_array(chunks, TEXT))


def left_out_of(parts: Sequence[tuple[Path, tuple[str, ...]]]) -> tuple[str, ...]:
    """Return notes on what was left out of files; files are named if there are several."""
    return tuple(words if len(parts) == 1 else f"{words} of {path.name}" for path, each in parts for words in each)


def misfit_error(misfit: MisfitError, parts: Sequence[tuple[Path, Dialect, int]]) -> InputError:
    """Return the error of cells that do not fit their declaration, with their lines and file."""
    if len(parts) == 1:
        path, dialect, _ = parts[0]
        return misfit.error(lambda rows: line_numbers(path, dialect, rows.tolist()))
    ends = np.cumsum([rows for _, _, rows in parts])
    number = int(np.searchsorted(ends, misfit.rows[0], side="right"))
    path, dialect, rows = parts[number]
    start = ends[number] - rows

    def lines(few: Codes) -> list[int]:
        return line_numbers(path, dialect, [int(row - start) for row in few if start <= row < start + rows])

    return misfit.error(lines, file=path.name)


def _read_text(
    path: Path, dialect: Dialect, missing: Sequence[str], names: list[str], guard: "SizeGuard"
) -> tuple[Dialect, list[pa.ChunkedArray]]:
    """Return the dialect that read the file, and the columns as dictionary-encoded text."""
    size = BLOCK_BYTES
    while True:
        try:
            table = _read_blocks(path, dialect, missing, names, guard, block_size=size)
        except (pa.ArrowKeyError, pa.ArrowInvalid) as error:
            if not dialect.quoted and not _is_other_encoding(error):
                dialect = replace(dialect, quoted=True)
            else:
                size = enlarge_blocks(path, dialect, error, size=size)
        else:
            if table.column_names != names or any(kind != TEXT for kind in table.schema.types):
                raise _unreadable(path)
            return dialect, list(table.columns)


def _read_blocks(
    path: Path, dialect: Dialect, missing: Sequence[str], names: list[str], guard: "SizeGuard", *, block_size: int
) -> pa.Table:
    """Read a delimited file with Arrow in blocks of the given size."""
    from pyarrow import csv

    with guard.stream(path, dialect) as stream:
        # Many small buffers with a short life: huge pages, which other memory pools request, cost more than they save.
        options = csv_options(dialect, missing, names, block_size=block_size)
        return trim_fields(csv.read_csv(stream, memory_pool=pa.system_memory_pool(), **options), dialect, missing)


def table_stream(path: Path, dialect: Dialect) -> Any:
    """Return the bytes of a text file for Arrow, without lines that are not part of its table."""
    if not is_cut(dialect.skip, dialect.comment):
        return pa.input_stream(str(path), compression=compression_of(path))
    cut = TableBytes(open_bytes(path), encoding=dialect.encoding, skip=dialect.skip, comment=dialect.comment)
    return pa.PythonFile(cut, mode="r")


def trim_fields(table: pa.Table, dialect: Dialect, missing: Sequence[str]) -> pa.Table:
    """Return text columns without blanks around fields, where that was declared; trimmed NA strings are missing."""
    if not dialect.trim:
        return table
    columns = []
    for column in table.columns:
        parts = [pa.DictionaryArray.from_arrays(each.indices, _trim_texts(each.dictionary)) for each in column.chunks]
        columns.append(without_texts(pa.chunked_array(parts, TEXT), missing))
    return pa.table(columns, names=table.column_names)


def _trim_texts(texts: pa.Array) -> pa.Array:
    """Return texts without blanks around them, and without quotes that were not recognized because of a blank."""
    plain = pc.utf8_trim_whitespace(texts)
    quoted = pc.match_substring_regex(plain, '(?s)^".*"$')
    inner = pc.replace_substring(pc.utf8_slice_codeunits(plain, 1, -1), '""', '"')
    return pc.if_else(pc.and_(quoted, pc.not_equal(plain, texts)), inner, plain)


class SizeGuard:
    """Streams of compressed text that raise an error when their content takes more memory than is allowed."""

    def __init__(self, allowance: Allowance) -> None:
        self.allowance = allowance
        self.before = pa.system_memory_pool().bytes_allocated()

    def stream(self, path: Path, dialect: Dialect) -> Any:
        """Return the bytes of a text file; compressed ones are limited, because they may inflate without end."""
        plain = table_stream(path, dialect)
        return plain if compression_of(path) is None else pa.PythonFile(_Watched(plain, path, self), mode="r")

    def check(self, path: Path, read: int) -> None:
        """Raise `OutOfMemoryError` if counting the cells read so far would take too much memory."""
        taken = pa.system_memory_pool().bytes_allocated() - self.before
        holds = f"at least {read >> 20:,} MB of text"
        self.allowance.require(MEMORY_FACTOR * taken, str(path), holds, otherwise=UNPACK)


class _Watched:
    """The bytes of a compressed file, and the number of bytes read."""

    def __init__(self, plain: Any, path: Path, guard: SizeGuard) -> None:
        self.plain, self.path, self.guard, self.count = plain, path, guard, 0
        self.closed = False

    def read(self, size: int) -> bytes:
        """Return the next bytes; raise if too many were read."""
        content: bytes = self.plain.read(size)
        self.count += len(content)
        self.guard.check(self.path, self.count)
        return content

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self.plain.close()


def compression_of(path: Path) -> str | None:
    """Return the compression of a text file.

    Files are read, not mapped: a mapped file counts as memory, and mapping its pages costs more than copying them.
    """
    return "gzip" if path.suffix.lower() == ".gz" else None


def csv_options(dialect: Dialect, missing: Sequence[str], names: list[str], *, block_size: int) -> dict[str, Any]:
    """Return Arrow's options to read some columns of a text file, all of them as text."""
    from pyarrow import csv

    # Arrow then must not take the names from the first line.
    given = dialect.columns != dialect.names or dialect.trim or dialect.named
    named: dict[str, Any] = {"column_names": list(dialect.names), "skip_rows": dialect.ahead}
    header = {**named, "skip_rows_after_names": 1} if given else {}
    cut = is_cut(dialect.skip, dialect.comment)
    encoding = encoding_of_cut(dialect.encoding) if cut else dialect.encoding
    return {
        "read_options": csv.ReadOptions(encoding=encoding, block_size=block_size, **header),
        "parse_options": csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char='"' if dialect.quoted else False,
            newlines_in_values=dialect.quoted,
            ignore_empty_lines=len(dialect.names) > 1,
        ),
        "convert_options": csv.ConvertOptions(
            column_types=dict.fromkeys(names, TEXT),
            include_columns=names,
            null_values=list(missing),
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    }


def _holds_quote(column: pa.ChunkedArray) -> bool:
    return bool(pc.any(pc.match_substring(spellings(column), '"')).as_py())


def enlarge_blocks(path: Path, dialect: Dialect, error: pa.ArrowException, *, size: int) -> int:
    """Return a block size into which a long record fits; raise any other error of Arrow."""
    if _is_other_encoding(error):
        raise UnicodeError from None
    wrong = diagnose(path, dialect)
    if wrong or "straddl" not in str(error) or 16 * size > LARGEST_BLOCK_BYTES:
        raise wrong or _unreadable(path) from None
    return 16 * size


def _unreadable(path: Path) -> InputError:
    return InputError(
        f"{path} cannot be read as delimited text", hint="check its delimiter, its quotes and its header line"
    )


def _is_other_encoding(error: pa.ArrowException) -> bool:
    return str(error).startswith("In CSV column") and "invalid UTF8" in str(error)
