"""A release as delimited text: the spellings of each column's values once, then rows assembled from them.

A field is quoted if it holds a delimiter, a quote, a line break, or begins or ends with white space. A
missing value is an empty field and an empty text is `""`; in a table of one column, where an empty field
would be a blank line, both are `""`. Texts are not altered, one that a spreadsheet takes for a formula neither,
unless the file is written for one.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import OutputError
from indistinct.machine.arrays import Codes
from indistinct.machine.parallel import workers
from indistinct.release.verification._kernels import STEP, spell_rows
from indistinct.release.writing.form import Writing, is_formula, marked
from indistinct.tables.dictionaries import is_text

BLOCK_ROWS = 1 << 16
# Every delimiter that readers guess is quoted, so that none takes a text for two fields.
QUOTED = '[",;|\t\r\n{}]|^\\s|\\s$|^$'
# Below this bound the room for a block is not worth counting.
LOOSE_BYTES = 1 << 26


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """The fields that a column can show, each with its delimiter or line end; the last one is missing."""

    starts: Codes
    lengths: Codes
    pool: Codes


@dataclass(frozen=True, slots=True)
class Line:
    """How a field is spelled: what ends it, how many fields a line has, and what the whole file looks like."""

    end: str
    width: int
    delimiter: str
    writing: Writing


def write_delimited(batches: Iterable[pa.Table], place: Path, writing: Writing, *, delimiter: str) -> None:
    """Write a table, given in batches, with its header to a file; `delimiter` is what its suffix says."""
    mark = writing.delimiter or delimiter
    with place.open("wb") as file:
        file.write(writing.prefix)
        for index, table in enumerate(batches):
            if not index:
                file.write(writing.encoded(_header(table.column_names, mark, writing)))
            for block in _blocks(table, mark, writing):
                file.write(writing.encoded(block))


def _blocks(table: pa.Table, delimiter: str, writing: Writing) -> Iterator[memoryview]:
    """Yield the rows as text, a block at a time; a few blocks are made ahead, so memory stays bounded."""
    width = table.num_columns
    lines = [Line(end, width, delimiter, writing) for end in [delimiter] * (width - 1) + ["\n"]]
    shared = [_shared_fields(column, line) for column, line in zip(table.columns, lines, strict=True)]

    def spell(start: int) -> memoryview:
        piece = table.slice(start, BLOCK_ROWS)
        parts = [
            (_codes(column), fields) if fields else _own_fields(name, column, line)
            for name, column, line, fields in zip(table.column_names, piece.columns, lines, shared, strict=True)
        ]
        return _assemble([codes for codes, _ in parts], [fields for _, fields in parts])

    threads = min(4, workers())
    ahead: deque[Future[memoryview]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, table.num_rows, BLOCK_ROWS):
            ahead.append(pool.submit(spell, start))
            if len(ahead) > 2 * threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _assemble(codes: list[Codes], fields: list[Fields]) -> memoryview:
    sizes = np.array([0, *(len(each.starts) for each in fields)])
    bytes_before = np.cumsum([0, *(len(each.pool) for each in fields)])
    starts = np.concatenate([each.starts + bytes_before[j] for j, each in enumerate(fields)])
    pool = np.concatenate([*(each.pool for each in fields), np.zeros(STEP, dtype=np.uint8)])
    needed = len(codes[0]) * sum(int(each.lengths.max()) for each in fields)
    if needed > LOOSE_BYTES:
        needed = sum(int(each.lengths[part].sum()) for each, part in zip(fields, codes, strict=True))
    out = np.empty(needed + STEP, dtype=np.uint8)
    lengths = np.concatenate([each.lengths for each in fields])
    written = spell_rows(np.stack(codes), np.cumsum(sizes)[:-1], starts, lengths, pool, out)
    return out[:written].data


def _shared_fields(column: pa.ChunkedArray, line: Line) -> Fields | None:
    """Return the fields of a column that has one dictionary small enough to go with every block."""
    if not isinstance(column.type, pa.DictionaryType) or column.num_chunks != 1:
        return None
    dictionary = column.chunk(0).dictionary
    return _fields(_safe(dictionary, line), line) if len(dictionary) <= BLOCK_ROWS else None


def _own_fields(name: str, column: pa.ChunkedArray, line: Line) -> tuple[Codes, Fields]:
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    try:
        spelled = _safe(spell_values(encoded.dictionary), line, kind=column.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise OutputError(
            f"column {name!r} has the type {column.type}, which has no form as text",
            hint="write Parquet or Arrow, or turn the column into text",
        ) from None
    return _codes(pa.chunked_array([encoded])), _fields(spelled, line)


def _safe(texts: pa.Array, line: Line, *, kind: pa.DataType = pa.string()) -> pa.Array:  # noqa: B008 (a value)
    """Return spelled values with the decimal mark of the file, and texts so that a spreadsheet leaves them alone."""
    if is_text(kind):
        return marked(texts) if line.writing.spreadsheet else texts
    if line.writing.decimal == "," and (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return pc.replace_substring(texts, ".", ",")
    return texts


def _codes(column: pa.ChunkedArray) -> Codes:
    """Return each row's place among the fields; missing is the last."""
    if not len(column):
        return np.zeros(0, dtype=np.int32)
    array = column.chunk(0)
    indices = array.indices
    if indices.null_count:
        indices = pc.fill_null(indices, len(array.dictionary))
    return np.asarray(indices.to_numpy(), dtype=np.int32)


def spell_values(values: pa.Array) -> pa.Array:
    """Return values as text that reads back as the same values: floats keep a point or an exponent.

    A duration is its number of seconds.
    """
    kind = values.type
    if pa.types.is_duration(kind):
        values = pc.divide(values.cast(pa.duration("us"), safe=False).cast(pa.int64()).cast(pa.float64()), 1e6)
        kind = values.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        # Digits beyond microseconds are kept only where there are any.
        coarser = values.cast(pa.timestamp("us", kind.tz), safe=False)
        values = coarser if coarser.cast(kind).equals(values) else values
    text = values.cast(pa.string())
    if pa.types.is_floating(kind):
        whole = pc.match_substring_regex(text, "^-?[0-9]+$")
        text = pc.if_else(whole, pc.binary_join_element_wise(text, ".0", ""), text)
    return text


def _fields(texts: pa.Array, line: Line) -> Fields:
    risky = pc.match_substring_regex(texts, QUOTED.format(re.escape(line.delimiter)))
    if pc.any(risky).as_py():
        doubled = pc.replace_substring(texts, '"', '""')
        texts = pc.if_else(risky, pc.binary_join_element_wise('"', doubled, '"', ""), texts)
    missing = '""' if line.width == 1 else ""
    spelled = pc.binary_join_element_wise(pa.concat_arrays([texts, pa.array([missing])]), line.end, "")
    offsets = np.frombuffer(spelled.buffers()[1], dtype=np.int32)[spelled.offset :][: len(spelled) + 1]
    pool = np.frombuffer(spelled.buffers()[2], dtype=np.uint8)
    return Fields(offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64), pool)


def _header(names: list[str], delimiter: str, writing: Writing) -> bytes:
    if writing.spreadsheet and pc.any(is_formula(pa.array(names))).as_py():
        raise OutputError("a spreadsheet takes the name of a column for a formula", hint="rename the column")
    fields = _fields(pa.array(names), Line(delimiter, len(names), delimiter, writing))
    text = bytes(fields.pool)[: int(fields.lengths[:-1].sum())]
    return text[: -len(delimiter)] + b"\n"
