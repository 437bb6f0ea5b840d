"""What Arrow, Parquet and frames keep beside their columns: a pandas index, key-value pairs, attributes."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from indistinct.figures import plural
from indistinct.study.scan.base import STORED, Check, Finding, Severity, Subject

# Keys that tools write, each with what it tells; others may hold anything.
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
# Metadata of a field that only numbers it, or says how polars stores it.
OF_FIELDS = {b"PARQUET:field_id", b"_PL_CATEGORICAL2"}


def _index(subject: Subject) -> Iterator[Finding]:
    described = _pandas(metadata_of(subject).get(b"pandas"))
    if described is None:
        return
    for index in _list(described, "index_columns"):
        if isinstance(index, str):
            yield _leak(index, subject)
        elif isinstance(index, Mapping) and not _is_plain(index, rows=subject.table.num_rows):
            yield Finding(
                "pandas-index",
                Severity.LEAK,
                "metadata",
                subject.table.num_rows,
                "the metadata tells between which numbers the rows stood in a longer table, and in which steps",
                "reset the index (in pandas: reset_index(drop=True)) and write with index=False",
            )
    listed = [each.get("name") for each in _list(described, "columns") if isinstance(each, Mapping)]
    dropped = {name for name in listed if isinstance(name, str) and name not in subject.columns}
    if dropped:
        yield Finding(
            "pandas-index",
            Severity.SUSPICION,
            "metadata",
            len(dropped),
            f"the metadata of pandas describes {plural(len(dropped), 'column')} that the file does not have",
            "remove the metadata: replace_schema_metadata(None) in Arrow",
        )


def _leak(name: str, subject: Subject) -> Finding:
    return Finding(
        "pandas-index",
        Severity.LEAK,
        subject.called(name) if name in subject.columns else "metadata",
        subject.table.num_rows,
        "the file holds the index of a pandas frame: the number, or the name, of each row before it was published",
        "write with index=False, after reset_index(drop=True)",
    )


def _is_plain(index: Mapping[str, Any], *, rows: int) -> bool:
    """Return whether an index only counts the rows of the file from 0."""
    start, stop, step = (index.get(key) for key in ("start", "stop", "step"))
    return start == 0 and step == 1 and stop == rows


def _pairs(subject: Subject) -> Iterator[Finding]:
    pairs = metadata_of(subject)
    foreign = [key for key in pairs if key not in TOLD_BY_TOOLS]
    if foreign:
        size = sum(len(pairs[key]) for key in foreign)
        yield Finding(
            "key-value-metadata",
            Severity.SUSPICION,
            "metadata",
            len(foreign),
            f"the metadata holds {plural(len(foreign), 'key-value pair')} of {plural(size, 'byte')} that no known "
            "tool needs",
            "read them, and remove them unless everybody may: replace_schema_metadata(None) in Arrow",
        )
    known = [key for key in pairs if key in TOLD_BY_TOOLS]
    if known:
        told = "; ".join(dict.fromkeys(TOLD_BY_TOOLS[key] for key in known))
        yield Finding(
            "key-value-metadata",
            Severity.NOTE,
            "metadata",
            len(known),
            f"the metadata tells {told}",
            "remove it if nobody needs it: replace_schema_metadata(None) in Arrow",
        )
    for place, field in enumerate(subject.table.schema):
        own = [key for key in field.metadata or {} if key not in OF_FIELDS]
        if own:
            called = subject.called(subject.columns[place])
            yield Finding(
                "key-value-metadata",
                Severity.SUSPICION,
                called,
                len(own),
                f"{called} has {plural(len(own), 'key-value pair')} of metadata of its own",
                "read them, and remove them unless everybody may",
            )


def _attributes(subject: Subject) -> Iterator[Finding]:
    frame = subject.file.inside
    if not frame:
        return
    if frame.get("index"):
        yield replace(_leak("", subject), check="frame-index", place="index")
    if frame.get("attributes"):
        yield Finding(
            "frame-index",
            Severity.SUSPICION,
            "attributes",
            frame["attributes"],
            f"the frame has {plural(frame['attributes'], 'attribute')} beside its columns, which some files keep",
            "clear them before writing: frame.attrs.clear()",
        )


def metadata_of(subject: Subject) -> dict[bytes, bytes]:
    """Return the key-value pairs of a file: those of its Arrow schema and those of a Parquet file itself."""
    own = dict(subject.table.schema.metadata or {})
    if subject.file.kind == "parquet":
        own |= dict(subject.file.inside.metadata.metadata or {})
    return own


def metadata_text(schema: pa.Schema) -> bytes:
    """Return every key and value of a schema and of its fields, to be searched."""
    pairs = [*(schema.metadata or {}).items(), *(pair for field in schema for pair in (field.metadata or {}).items())]
    return b"\n".join(part for pair in pairs for part in pair)


def _pandas(text: bytes | None) -> dict[str, Any] | None:
    try:
        described = json.loads(text or b"")
    except (ValueError, RecursionError):
        return None
    return described if isinstance(described, dict) else None


def _list(described: Mapping[str, Any], key: str) -> list[Any]:
    found = described.get(key)
    return found if isinstance(found, list) else []


CHECKS = (
    Check("pandas-index", "the index of a pandas frame in the metadata", _index, ("table",), STORED),
    Check("frame-index", "an index or attributes that a frame has beside its columns", _attributes, (), ("frame",)),
    Check("key-value-metadata", "key-value pairs beside the columns", _pairs, ("table",), STORED),
)
