"""Parquet files: statistics with values of removed rows, bytes outside columns, and who wrote the file."""

import base64
import io
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.exploration.scan.arrow import metadata_text
from indistinct.exploration.scan.base import (
    FilePart,
    Finding,
    NotChecked,
    Opened,
    ScanCheck,
    ScannedFile,
    bytes_behind,
    leak,
    note,
    unused_ranges,
)
from indistinct.exploration.scan.parquet_footer import index_ranges
from indistinct.figures import plural
from indistinct.machine.memory import MEGABYTE, Allowance, needed_for, rows_words
from indistinct.tables.dictionaries import check_text, is_text
from indistinct.tables.files import is_signed, readable_as_codes, size_of_parquet
from indistinct.tables.value import check_width

MAGIC, ENCRYPTED = b"PAR1", b"PARE"
# The length of the footer and the magic bytes after it.
ENDING_BYTES = 8
IN_PARTS = "scan it in parts"


@dataclass(frozen=True, slots=True, eq=False)
class ParquetFile:
    """The metadata of a Parquet file, its row groups, and the bytes that belong to no column.

    `groups` are the numbers of the row groups that were read.
    """

    metadata: Any
    groups: Mapping[int, pa.Table]
    behind: bytes
    between: int


def open_parquet(content: bytes, name: str, allowance: Allowance) -> Opened:
    """Read a Parquet file with its index columns, metadata and dictionaries as stored."""
    import pyarrow.parquet as pq

    if content[-len(ENCRYPTED) :] == ENCRYPTED:
        raise encrypted_error(name)
    end = content.rfind(MAGIC) + len(MAGIC)
    try:
        plain = pa.BufferReader(content[:end])
        with pq.ParquetFile(plain) as file:
            schema, metadata = file.schema_arrow, file.metadata
            if is_signed(metadata, content[end - ENDING_BYTES : end]):
                raise encrypted_error(name)
            check_width(len(schema.names))
            key_values = _key_values(metadata)
            coded, rows = readable_as_codes(metadata, schema), metadata.num_rows
            needed = needed_for(rows, size_of_parquet(schema, metadata, coded=coded))
            numbers = _groups_that_fit(metadata.num_row_groups, needed, allowance.most)
            if not numbers:
                allowance.require(needed, name, rows_words(rows, len(schema.names)), otherwise=IN_PARTS)
        with pq.ParquetFile(pa.BufferReader(content[:end]), read_dictionary=coded, pre_buffer=False) as file:
            groups = {number: file.read_row_group(number) for number in numbers}
            table = pa.concat_tables(groups.values()) if groups else file.read()
        table.validate(full=True)
        for column in table.column_names:
            if table.column_names.count(column) == 1:
                check_text(column, table[column])
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        if "ncrypt" in str(error) or "ecrypt" in str(error):
            raise encrypted_error(name) from None
        raise InputError(
            f"{name} cannot be read as a Parquet file", hint="check that the file is complete and its suffix is right"
        ) from None
    table = table.replace_schema_metadata(schema.metadata)
    inside = ParquetFile(metadata, groups, content[end:], _count_strays(metadata, content[:end]))
    parts = (
        FilePart("the metadata", metadata_text(schema) + b"\n" + key_values),
        FilePart("the file", content, words=False),
    )
    opened = Opened("parquet", table, parts, inside, not_checked=_not_read(schema, metadata))
    if len(table) == rows:
        return opened
    reason = (
        f"all of them take {needed // MEGABYTE:,} MB of memory or more, and {allowance.most // MEGABYTE:,} MB are "
        f"allowed: {len(numbers):,} of {metadata.num_row_groups:,} row groups, evenly chosen, were read; allow more "
        "with --memory (memory=… in Python)"
    )
    return replace(opened, unread=(NotChecked(f"{rows - len(table):,} of {rows:,} rows", reason),), rows=rows)


def _groups_that_fit(groups: int, needed: int, allowed: int) -> list[int]:
    """Return the numbers of the row groups to read: all of them, or as many as fit, evenly chosen.

    >>> _groups_that_fit(4, 100, 100), _groups_that_fit(4, 100, 50), _groups_that_fit(4, 100, 10)
    ([0, 1, 2, 3], [0, 3], [])
    """
    if needed <= allowed:
        return list(range(groups))
    return sorted(set(np.linspace(0, groups - 1, groups * allowed // needed).round().astype(int).tolist()))


def encrypted_error(name: str) -> InputError:
    """Return the error of an encrypted file."""
    return InputError(
        f"{name} is encrypted, so that nothing in it can be checked", hint="scan the file before it is encrypted"
    )


def _key_values(metadata: Any) -> bytes:
    """Return the metadata of a footer as bytes to search, with embedded schemas decoded."""
    pairs, content = dict(metadata.metadata or {}), io.BytesIO()
    content.write((metadata.created_by or "").encode())
    for key, value in pairs.items():
        content.write(b"\n" + key + b"\n" + value)
        if key == b"ARROW:schema":
            try:
                content.write(b"\n" + base64.b64decode(value))
            except ValueError:
                continue
    return content.getvalue()


def _not_read(schema: pa.Schema, metadata: Any) -> tuple[NotChecked, ...]:
    """Return the contents of a file that the reader of Parquet files does not show."""
    reason = "the reader of Parquet files does not show them"
    texts = {field.name for field in schema if is_text(field.type)}
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    parts = [group.column(index) for group in groups for index in range(group.num_columns)]
    numbers = {part.path_in_schema for part in parts if part.has_dictionary_page} - texts
    unseen = []
    if numbers:
        are = "is" if len(numbers) == 1 else "are"
        what = f"the dictionary pages of {plural(len(numbers), 'column')} that {are} no text"
        unseen.append(NotChecked(what, reason))
    if _has_indexes(metadata):
        unseen.append(NotChecked("page indexes and Bloom filters", reason))
    return tuple(unseen)


def _count_strays(metadata: Any, content: bytes) -> int:
    """Return how many bytes before the footer belong to no column, page index or Bloom filter."""
    footer = len(content) - ENDING_BYTES - int.from_bytes(content[-ENDING_BYTES : -len(MAGIC)], "little")
    used = [(0, len(MAGIC))]
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for index in range(group.num_columns):
            part = group.column(index)
            start = min(offset for offset in (part.dictionary_page_offset, part.data_page_offset) if offset)
            used.append((start, start + part.total_compressed_size))
    with suppress(ValueError):
        used += index_ranges(content, footer)
    return sum(len(content[start:end].strip(b"\0")) for start, end in unused_ranges(used, footer))  # zeros are padding


def _statistics(subject: ScannedFile) -> Iterator[Finding | NotChecked]:
    """Report statistics with values that no published row has."""
    inside = subject.file.inside
    wrong: dict[str, int] = {}
    unread: set[str] = set()
    for number, group in inside.groups.items():
        described = inside.metadata.row_group(number)
        for index in range(described.num_columns):
            part = described.column(index)
            name = part.path_in_schema
            if part.statistics is None:
                continue
            if group.column_names.count(name) != 1:
                unread.add(name)
                continue
            try:
                wrong[name] = wrong.get(name, 0) + _strangers(part.statistics, group[name])
            except (pa.ArrowException, RuntimeError, TypeError, ValueError, OverflowError):
                unread.add(name)
    if unread:
        what = f"the statistics of {plural(len(unread), 'column')} of lists, groups or rare types"
        yield NotChecked(what, "their smallest and largest values cannot be compared with cells")
    for name, count in wrong.items():
        if count:
            called = subject.called(name)
            yield leak(
                called,
                count,
                f"the statistics of {called} show {plural(count, 'smallest or largest value')} that no row has: of "
                "rows that were suppressed, or before a recoding",
                "write the published rows into a new file, with statistics of their own",
            )


def _strangers(statistics: Any, column: pa.ChunkedArray) -> int:
    """Return how many of the two ends in statistics are not those of the cells; long texts may be truncated."""
    if not statistics.has_min_max:
        return 0
    kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
    if isinstance(kind, pa.BaseExtensionType):
        column, kind = (
            pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type),
            kind.storage_type,
        )
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        return 0
    if is_text(kind):
        ends = (statistics.min, statistics.max)
        cells = pc.drop_null(column.cast(kind).cast(pa.large_string()).unique())
        if not len(cells):
            return len(set(map(repr, ends)))
        values = pc.min_max(cells).as_py()
        return _cut(ends[0], values["min"], last=False) + _cut(ends[1], values["max"], last=True)
    extremes, cells = _comparable(_ends(statistics, kind)), pc.drop_null(_comparable(column.cast(kind)).unique())
    if pa.types.is_floating(extremes.type):
        extremes = extremes.filter(pc.invert(pc.is_nan(extremes)))  # NaN is no person's value
    return int(pc.sum(pc.invert(pc.is_in(extremes.unique(), value_set=cells.cast(extremes.type)))).as_py() or 0)


def _ends(statistics: Any, kind: pa.DataType) -> pa.Array:
    """Return the minimum and maximum of statistics as values of the column's type."""
    ends = (statistics.min, statistics.max)
    if pa.types.is_float16(kind):  # they are stored as bytes
        return pa.array(np.frombuffer(b"".join(ends), dtype="<f2"), kind)
    if getattr(kind, "unit", None) == "ns":  # Python's own times are coarser
        return pa.array([statistics.min_raw, statistics.max_raw], pa.int64()).cast(kind)
    return pa.array(list(ends), kind) if pa.types.is_integer(kind) else pa.array(list(ends)).cast(kind)


def _comparable(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return values in a type in which equal values compare equal; zeros have no sign."""
    kind = values.type
    if pa.types.is_floating(kind):
        wide = pa.float32() if pa.types.is_float16(kind) else kind
        return pc.add(values.cast(wide), pa.scalar(0, wide))
    return values.cast(pa.decimal256(kind.precision, kind.scale)) if pa.types.is_decimal(kind) else values


def _cut(end: Any, value: str, *, last: bool) -> int:
    """Return 1 unless an end is the value, or its beginning with the last letter possibly increased by one."""
    text = end.decode(errors="replace") if isinstance(end, bytes) else str(end)
    if text == value:
        return 0
    if last:
        is_beginning = len(text) < len(value) and text[:-1] == value[: len(text) - 1] and text > value
        return int(not is_beginning)
    return int(not (text and value.startswith(text)))


def _strays(subject: ScannedFile) -> Iterator[Finding]:
    """Report the bytes of the file that belong to no column or index."""
    inside = subject.file.inside
    yield from bytes_behind(len(inside.behind), "Parquet file")
    if inside.between:
        yield leak(
            "between columns",
            inside.between,
            f"{plural(inside.between, 'byte')} before the footer belong to no column, page index or Bloom filter, and "
            "readers do not show them",
            "write the published rows into a new file",
        )


def _has_indexes(metadata: Any) -> bool:
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    parts = [group.column(index) for group in groups for index in range(group.num_columns)]
    return any(part.has_column_index or part.has_offset_index or part.bloom_filter_offset for part in parts)


def _writer(subject: ScannedFile) -> Iterator[Finding]:
    """Note the program that wrote the file."""
    metadata = subject.file.inside.metadata
    if metadata.created_by:
        yield note(
            "the footer",
            1,
            "the file tells which program wrote it, and its version",
            "nothing, unless an attack on this tool is known",
        )
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    if len(set(sizes[:-1])) > 1 or (len(sizes) > 1 and sizes[-1] > sizes[0]):
        yield note(
            "row groups",
            len(sizes),
            f"{plural(len(sizes), 'row group')} of unequal sizes show in which parts the table was made",
            "read the table and write it as one, so that groups say nothing of where rows came from",
        )


CHECKS = (
    ScanCheck("parquet-statistics", "statistics that show values of no row", _statistics, ("table",), ("parquet",)),
    ScanCheck("parquet-stray-bytes", "bytes that belong to no column", _strays, (), ("parquet",)),
    ScanCheck("parquet-writer", "the writer of a Parquet file, and its row groups", _writer, (), ("parquet",)),
)
