"""Arrow files and frames, and what Arrow and Parquet store apart from cells.

An index, metadata, dictionaries, buffers.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.exploration.scan.base import (
    STORED,
    FilePart,
    Finding,
    NotChecked,
    Opened,
    ScanCheck,
    ScannedFile,
    bytes_behind,
    leak,
    note,
    suspicion,
)
from indistinct.exploration.scan.compared import distinct_values, used_values
from indistinct.figures import plural
from indistinct.tables.dictionaries import check_text
from indistinct.tables.frames import from_frame, is_frame
from indistinct.tables.value import check_width

# Keys that tools write, each with its meaning; others may contain anything.
TOLD_BY_TOOLS = {
    b"ARROW:schema": "the types that the columns had in Arrow",
    b"pandas": "the types that the columns had in pandas",
    b"polars": "what polars knew of the columns",
    b"POLARS:schema": "what polars knew of the columns",
    b"duckdb": "what DuckDB knew of the columns",
    b"org.apache.spark.version": "the version of Spark",
    b"org.apache.spark.sql.parquet.row.metadata": "the types that the columns had in Spark",
    b"parquet.avro.schema": "the types that the columns had in Avro",
    b"writer.model.name": "the tool that wrote the file",
    b"writer.date": "when the file was written",
    b"geo": "how places are written",
}
# Metadata of a field that only numbers it, or describes its storage in polars.
OF_FIELDS = {b"PARQUET:field_id", b"_PL_CATEGORICAL2"}


def _index(subject: ScannedFile) -> Iterator[Finding]:
    """Report a stored index of a pandas frame."""
    described = _pandas(metadata_of(subject).get(b"pandas"))
    if described is None:
        return
    for index in _list(described, "index_columns"):
        if isinstance(index, str):
            yield _index_of_frame(subject, index)
        elif isinstance(index, Mapping) and not _is_plain(index, rows=subject.file.rows or subject.table.num_rows):
            yield leak(
                "metadata",
                subject.table.num_rows,
                "the metadata tells between which numbers the rows stood in a longer table, and in which steps",
                "reset the index (in pandas: reset_index(drop=True)) and write with index=False",
            )
    listed = [each.get("name") for each in _list(described, "columns") if isinstance(each, Mapping)]
    dropped = {name for name in listed if isinstance(name, str) and name not in subject.columns}
    if dropped:
        yield suspicion(
            "metadata",
            len(dropped),
            f"the metadata of pandas describes {plural(len(dropped), 'column')} that the file does not have",
            "remove the metadata: replace_schema_metadata(None) in Arrow",
        )


def _index_of_frame(subject: ScannedFile, name: str) -> Finding:
    """Return the finding of a stored index."""
    return leak(
        subject.called(name) if name in subject.columns else "metadata",
        subject.table.num_rows,
        "the file holds the index of a pandas frame: the number, or the name, of each row before it was published",
        "write with index=False, after reset_index(drop=True)",
    )


def _is_plain(index: Mapping[str, Any], *, rows: int) -> bool:
    """Return whether an index only numbers the rows of the file from 0."""
    start, stop, step = (index.get(key) for key in ("start", "stop", "step"))
    return start == 0 and step == 1 and stop == rows


def _pairs(subject: ScannedFile) -> Iterator[Finding]:
    """Yield findings about key-value pairs in the metadata of an Arrow file and of its columns."""
    pairs = metadata_of(subject)
    foreign = [key for key in pairs if key not in TOLD_BY_TOOLS]
    if foreign:
        size = sum(len(pairs[key]) for key in foreign)
        yield suspicion(
            "metadata",
            len(foreign),
            f"the metadata holds {plural(len(foreign), 'key-value pair')} of {plural(size, 'byte')} that no known "
            "tool needs",
            "read them, and remove them unless everybody may: replace_schema_metadata(None) in Arrow",
        )
    known = [key for key in pairs if key in TOLD_BY_TOOLS]
    if known:
        meanings = "; ".join(dict.fromkeys(TOLD_BY_TOOLS[key] for key in known))
        yield note(
            "metadata",
            len(known),
            f"the metadata tells {meanings}",
            "remove it unless it is needed: replace_schema_metadata(None) in Arrow",
        )
    for index, field in enumerate(subject.table.schema):
        own = [key for key in field.metadata or {} if key not in OF_FIELDS]
        if own:
            called = subject.called(subject.columns[index])
            yield suspicion(
                called,
                len(own),
                f"{called} has {plural(len(own), 'key-value pair')} of metadata of its own",
                "read them, and remove them unless everybody may",
            )


def _attributes(subject: ScannedFile) -> Iterator[Finding]:
    """Report the attributes and the index of a stored frame."""
    frame = subject.file.inside
    if not frame:
        return
    if frame.get("index"):
        yield replace(_index_of_frame(subject, ""), place="index")
    if frame.get("attributes"):
        yield suspicion(
            "attributes",
            frame["attributes"],
            f"the frame has {plural(frame['attributes'], 'attribute')} that are no columns, which some files keep",
            "clear them before writing: frame.attrs.clear()",
        )


def metadata_of(subject: ScannedFile) -> dict[bytes, bytes]:
    """Return the key-value metadata of a file: of its Arrow schema and of the Parquet file itself."""
    own = dict(subject.table.schema.metadata or {})
    if subject.file.kind == "parquet":
        own |= dict(subject.file.inside.metadata.metadata or {})
    return own


def metadata_text(schema: pa.Schema) -> bytes:
    """Return every key and value of a schema and its fields, to be searched."""
    pairs = [*(schema.metadata or {}).items(), *(pair for field in schema for pair in (field.metadata or {}).items())]
    return b"\n".join(part for pair in pairs for part in pair)


def _pandas(text: bytes | None) -> dict[str, Any] | None:
    """Parse the metadata of pandas, None if there is none."""
    try:
        described = json.loads(text or b"")
    except (ValueError, RecursionError):
        return None
    return described if isinstance(described, dict) else None


def _list(described: Mapping[str, Any], key: str) -> list[Any]:
    entries = described.get(key)
    return entries if isinstance(entries, list) else []


# Seven values have 5,040 orders, so that an order by chance is unlikely from this number on.
MIN_VALUES_IN_ORDER = 7


def _unused_categories(subject: ScannedFile) -> Iterator[Finding | NotChecked]:
    """Report values of a dictionary that no row has."""
    if subject.file.rows is not None:
        yield NotChecked("values in a dictionary that no row has", "not all rows were read: others may have them")
        return
    for index, name in enumerate(subject.columns):
        column = subject.table.column(index)
        if not isinstance(column.type, pa.DictionaryType) or subject.file.kind == "delimited":
            continue
        unused = _unused_values(column)
        if not unused:
            continue
        called = subject.called(name)
        yield leak(
            called,
            unused,
            f"the dictionary of {called} lists {plural(unused, 'value')} that no row has: those of rows that were "
            "suppressed, or that a recoding replaced",
            "rebuild the categories from the published rows (in pandas: remove_unused_categories), and write it anew",
        )


def _unused_values(column: pa.ChunkedArray) -> int:
    """Return how many distinct values are only in the dictionaries of a column."""
    listed = pa.chunked_array([chunk.dictionary for chunk in column.chunks], column.type.value_type)
    return len(pc.drop_null(listed.unique())) - len(pc.drop_null(used_values(column).unique()))


def _category_order(subject: ScannedFile) -> Iterator[Finding]:
    """Report a dictionary in the order of the original's rows."""
    if subject.original is None:
        return
    for index, name in enumerate(subject.columns):
        column = subject.table.column(index)
        is_coded = isinstance(column.type, pa.DictionaryType) and subject.file.kind != "delimited"
        if not is_coded or not column.num_chunks or name not in subject.original.columns:
            continue
        here = _texts(distinct_values(column.slice(0, len(column.chunk(0)))))
        there = _texts(distinct_values(subject.original.data[name]))
        both = set(here) & set(there)
        stored, first, listed = (
            [text for text in texts if text in both] for texts in (here, there, _texts(column.chunk(0).dictionary))
        )
        explained = listed in (stored, sorted(listed), sorted(listed, reverse=True))
        if len(listed) >= MIN_VALUES_IN_ORDER and listed == first and not explained:
            called = subject.called(name)
            yield leak(
                called,
                len(listed),
                f"the dictionary of {called} lists its values as rows of the original first had them",
                "rebuild the categories from the published rows, in the order of the alphabet",
            )


def _texts(values: pa.Array) -> list[str]:
    return [str(value) for value in values.to_pylist() if value is not None]


def _stored_behind_missing(subject: ScannedFile) -> Iterator[Finding]:
    """Report values stored behind missing cells."""
    for index, name in enumerate(subject.columns):
        kept = sum(_kept_behind(chunk) for chunk in subject.file.inside.stored.column(index).chunks)
        if kept:
            called = subject.called(name)
            yield leak(
                called,
                kept,
                f"behind {plural(kept, 'missing cell')} of {called} a value is still stored",
                "write cells that are missing as empty: take the rows into new arrays before writing",
            )


def _kept_behind(chunk: pa.Array) -> int:
    """Return how many missing cells of an array still have a value in its buffers."""
    is_coded = isinstance(chunk.type, pa.DictionaryType)
    cells = chunk.indices if is_coded else chunk
    kind, buffers = cells.type, cells.buffers() if cells.null_count else []
    missing = cells.is_null().to_numpy(zero_copy_only=False)
    if len(buffers) == 3 and buffers[1] is not None and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        offsets = np.frombuffer(buffers[1], dtype=np.int64 if pa.types.is_large_string(kind) else np.int32)
        return int((np.diff(offsets[cells.offset :][: len(cells) + 1])[missing] > 0).sum())
    if (
        len(buffers) != 2
        or buffers[1] is None
        or not pa.types.is_primitive(kind)
        or kind.bit_width not in (8, 16, 32, 64)
    ):
        return 0
    width = kind.bit_width // 8
    stored = np.frombuffer(buffers[1], dtype=f"i{width}")[cells.offset :][: len(cells)][missing]
    if is_coded:  # pandas writes -1 for a missing cell, which is no code
        return int(((stored > 0) & (stored < len(chunk.dictionary))).sum())
    if pa.types.is_floating(kind):
        return int(((stored != 0) & ~np.isnan(stored.view(f"f{width}"))).sum())
    return int(((stored != 0) & (stored != np.iinfo(stored.dtype).min)).sum())


MAGIC, FIRST_FEATHER = b"ARROW1", b"FEA1"


@dataclass(frozen=True, slots=True, eq=False)
class ArrowFile:
    """The content of an Arrow file: its table in its own buffers, and the number of bytes after its end."""

    stored: pa.Table
    behind: int


def open_arrow(content: bytes, name: str) -> Opened:
    """Read an Arrow IPC file or stream, which is also what Feather (version 2) is."""
    if content.startswith(FIRST_FEATHER):
        raise InputError(f"{name} is a Feather file of version 1", hint="write it as version 2, or as Parquet")
    is_file = content.startswith(MAGIC)
    end = content.rfind(MAGIC) + len(MAGIC) if is_file else len(content)
    try:
        reader = pa.BufferReader(content[:end])
        if is_file:
            table = pa.ipc.open_file(reader).read_all()
            behind = len(content) - end
        else:
            table = pa.ipc.open_stream(reader).read_all()
            behind = len(content) - reader.tell()
        check_width(table.num_columns)
        table.validate()
        for index, column in enumerate(table.column_names):
            check_text(column, table.column(index))
        table.validate(full=True)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError):
        raise InputError(
            f"{name} cannot be read as an Arrow IPC file",
            hint="check that the file is complete and its suffix is right",
        ) from None
    parts = (FilePart("the metadata", metadata_text(table.schema)), FilePart("the file", content, words=False))
    return Opened("arrow", table, parts, ArrowFile(table, behind))


def open_frame(frame: Any) -> Opened:
    """Return a frame of pandas, polars or Arrow with what it stores apart from its columns."""
    if not is_frame(frame):
        raise InputError(
            f"a file is scanned by its path, or a frame; got {type(frame).__name__}",
            hint="write a release first and give its path, or give a pandas, polars or Arrow table",
        )
    index, attributes = getattr(frame, "index", None), getattr(frame, "attrs", None)
    table = from_frame(frame)
    inside = {
        "index": index is not None and not _counts(index, len(frame)),
        "attributes": len(attributes) if isinstance(attributes, dict) else 0,
    }
    return Opened("frame", table, (FilePart("the metadata", metadata_text(table.schema)),), inside)


def _counts(index: Any, rows: int) -> bool:
    """Return whether the index of a frame only numbers its rows from 0."""
    is_range = type(index).__name__ == "RangeIndex"
    return is_range and (index.start, index.step, len(index)) == (0, 1, rows)


def _stray_bytes(subject: ScannedFile) -> Iterator[Finding]:
    yield from bytes_behind(subject.file.inside.behind, "Arrow file")


CHECKS = (
    ScanCheck("unused-categories", "values in a dictionary that no row has", _unused_categories, ("table",)),
    ScanCheck(
        "category-order", "dictionaries in the order of the original", _category_order, ("table", "original"), STORED
    ),
    ScanCheck(
        "values-behind-missing",
        "values that are stored behind missing cells",
        _stored_behind_missing,
        ("table",),
        ("arrow",),
    ),
    ScanCheck("pandas-index", "the index of a pandas frame in the metadata", _index, ("table",), STORED),
    ScanCheck("frame-index", "an index or attributes of a frame", _attributes, (), ("frame",)),
    ScanCheck("key-value-metadata", "key-value pairs outside the columns", _pairs, ("table",), STORED),
    ScanCheck("arrow-stray-bytes", "bytes behind the end of an Arrow file", _stray_bytes, (), ("arrow",)),
)
