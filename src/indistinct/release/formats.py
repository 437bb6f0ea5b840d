"""The files that a release can be: delimited text, Parquet and Arrow; each holds the published values only.

Metadata is dropped. A dictionary is written with exactly the values that occur, in the order of code points:
a value that no row has would betray a suppressed row, and the order of first occurrence the order of the
original.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from indistinct.addresses import shown
from indistinct.errors import OutputError
from indistinct.parallel import spread
from indistinct.release.delimited import write_delimited
from indistinct.tables.dictionaries import compact, is_text

# Rows of a Parquet file that are written together, and how often a value must occur there for codes to pay; a few
# values are always written as codes.
ROW_GROUP, REPEATED, FEW = 1 << 20, 4, 1 << 12

Write = Callable[[Iterator[pa.Table], Path], None]


def producer_for(batches: Iterable[pa.Table], path: Path) -> Callable[[Path], None]:
    """Return what fills a file with a table, given in batches, in the format that the suffix of `path` names."""
    write = FORMATS.get(path.suffix.lower())
    if write is None:
        raise OutputError(
            f"{shown(path)}: the suffix does not say in which format to write",
            hint=f"end the name in one of {', '.join(FORMATS)}",
        )
    return partial(_fill, write, batches)


def _fill(write: Write, batches: Iterable[pa.Table], place: Path) -> None:
    try:
        write(map(publishable, batches), place)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise OutputError(
            "the table holds a column of a type that this format cannot write",
            hint="turn the column into numbers, dates or text, or choose another format",
        ) from None


def publishable(table: pa.Table) -> pa.Table:
    """Return a table that holds the published values and no trace of others."""
    columns = spread(_publishable_column, table.columns, rows=len(table))
    return pa.table(columns, names=table.column_names)


def _publishable_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not isinstance(column.type, pa.DictionaryType):
        return column
    if not is_text(column.type):
        return column.cast(column.type.value_type)
    return pa.chunked_array([compact(column, ascending=True)])


def write_parquet(batches: Iterator[pa.Table], place: Path) -> None:
    """Write a Parquet file without an Arrow schema: every reader then sees text, not categories."""
    import pyarrow.parquet as pq

    first = next(batches)
    # Statistics of dictionary columns cost more than the rest of the file.
    measured = [field.name for field in first.schema if not isinstance(field.type, pa.DictionaryType)]
    plain = [name for name in first.column_names if _hardly_repeats(first[name])]
    coded = [name for name in first.column_names if name not in plain]
    kinds = [pa.string() if field.name in plain else field.type for field in first.schema]
    schema = pa.schema([pa.field(name, kind) for name, kind in zip(first.column_names, kinds, strict=True)])
    options = {"compression": "zstd", "compression_level": 1, "store_schema": False}
    options |= {"write_statistics": measured or False, "use_dictionary": coded or False}
    with pq.ParquetWriter(place, schema, **options) as writer:
        for table in chain([first], batches):
            for start in range(0, max(len(table), 1), ROW_GROUP):
                writer.write_table(table.slice(start, ROW_GROUP).cast(schema))


def _hardly_repeats(column: pa.ChunkedArray) -> bool:
    """Return whether a dictionary is so large that writing it into every row group costs more than it saves."""
    if not isinstance(column.type, pa.DictionaryType) or column.num_chunks != 1:
        return False
    values, groups = len(column.chunk(0).dictionary), -(-len(column) // ROW_GROUP)
    return values > FEW and groups * values * REPEATED > len(column)


def write_arrow(batches: Iterator[pa.Table], place: Path) -> None:
    """Write an Arrow IPC file, which is also what Feather (version 2) is."""
    first = _cleared(next(batches))
    options = pa.ipc.IpcWriteOptions(compression="lz4", unify_dictionaries=True)
    with (
        pa.OSFile(str(place), "wb") as file,
        pa.ipc.new_file(file, first.schema, options=options) as writer,
    ):
        for table in chain([first], map(_cleared, batches)):
            writer.write_table(table.cast(first.schema))


def _cleared(table: pa.Table) -> pa.Table:
    """Return a table with nothing behind its missing cells, where Arrow may keep what was there before."""
    columns = [c.take(pa.array(np.arange(len(c)))) if c.null_count else c for c in table.columns]
    return pa.table(columns, names=table.column_names)


def write_csv(batches: Iterator[pa.Table], place: Path) -> None:
    """Write comma-separated text (RFC 4180, UTF-8, line feeds)."""
    write_delimited(batches, place, delimiter=",")


def write_tsv(batches: Iterator[pa.Table], place: Path) -> None:
    """Write tab-separated text, quoted like comma-separated text."""
    write_delimited(batches, place, delimiter="\t")


FORMATS: dict[str, Write] = {
    ".csv": write_csv,
    ".tsv": write_tsv,
    ".parquet": write_parquet,
    ".pq": write_parquet,
    ".arrow": write_arrow,
    ".feather": write_arrow,
    ".ipc": write_arrow,
}
