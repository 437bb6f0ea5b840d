"""Arrow files, streams and frames, opened with their metadata; what follows the end of an Arrow file."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from indistinct.errors import InputError
from indistinct.figures import plural
from indistinct.study.scan.base import Check, Finding, Opened, Part, Severity, Subject
from indistinct.study.scan.metadata import metadata_text
from indistinct.tables.dictionaries import check_text
from indistinct.tables.frames import from_frame, is_frame
from indistinct.tables.value import check_width

MAGIC, FIRST_FEATHER = b"ARROW1", b"FEA1"
CONTINUES = b"\xff\xff\xff\xff"


@dataclass(frozen=True, slots=True, eq=False)
class ArrowFile:
    """What an Arrow file stores: its table in the buffers that it has, and the number of bytes behind its end."""

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
        for place, column in enumerate(table.column_names):
            check_text(column, table.column(place))
        table.validate(full=True)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError):
        raise InputError(
            f"{name} cannot be read as an Arrow IPC file",
            hint="check that the file is complete and its suffix is right",
        ) from None
    parts = (Part("the metadata", metadata_text(table.schema)), Part("the file", content, words=False))
    return Opened("arrow", table, parts, ArrowFile(table, behind))


def open_frame(frame: Any) -> Opened:
    """Take a frame of pandas, polars or Arrow with what it has beside its columns."""
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
    return Opened("frame", table, (Part("the metadata", metadata_text(table.schema)),), inside)


def _counts(index: Any, rows: int) -> bool:
    """Return whether the index of a frame only counts its rows from 0."""
    is_range = type(index).__name__ == "RangeIndex"
    return is_range and (index.start, index.step, len(index)) == (0, 1, rows)


def _behind(subject: Subject) -> Iterator[Finding]:
    behind = subject.file.inside.behind
    if behind:
        yield Finding(
            "arrow-stray-bytes",
            Severity.LEAK,
            "the end of the file",
            behind,
            f"{plural(behind, 'byte')} follow the end of the Arrow file, which readers do not show",
            "write the published rows into a new file",
        )


CHECKS = (Check("arrow-stray-bytes", "bytes behind the end of an Arrow file", _behind, (), ("arrow",)),)
