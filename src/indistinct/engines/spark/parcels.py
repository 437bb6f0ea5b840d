"""Rows on their way through Spark: a parcel is a table as the bytes of an Arrow stream, one cell of a frame.

Java then carries a few large cells and looks at no row, and texts go as a dictionary and codes.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.machine.arrays import Codes
from indistinct.tables.dictionaries import share_dictionary

PART, PARCEL = "part", "parcel"
PARCELS = pa.schema([(PART, pa.int32()), (PARCEL, pa.binary())])
PARCELS_OF_SPARK = f"{PART} int, {PARCEL} binary"
# Bytes of a parcel, about: a cell of Spark holds two gigabytes at most.
PARCEL_BYTES = 1 << 26
# A dictionary is sent with every parcel; it does not pay with more values than one in this number of rows.
MIN_ROWS_PER_VALUE = 4


def pack_parts(table: pa.Table, parts: Codes) -> Iterator[pa.RecordBatch]:
    """Yield rows as parcels, each of one part."""
    order = np.argsort(parts, kind="stable")
    ordered, rows = parts[order], table.take(pa.array(order))
    cuts = [0, *(np.flatnonzero(np.diff(ordered)) + 1), len(ordered)] if len(ordered) else [0]
    for first, last in pairwise(cuts):
        yield from pack_table(rows.slice(first, last - first), part=int(ordered[first]))


def pack_table(table: pa.Table, *, part: int) -> Iterator[pa.RecordBatch]:
    """Yield a table as parcels of a part, one after another."""
    table = pa.table([worth_sending(column) for column in table.columns], names=table.column_names)
    step = max(len(table) * PARCEL_BYTES // max(table.nbytes, 1), 1)
    for first in range(0, len(table), step):
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table.slice(first, step).combine_chunks())
        content = pa.array([stream.getvalue().to_pybytes()], pa.binary())
        yield pa.record_batch([pa.array([part], pa.int32()), content], schema=PARCELS)


def unpack_parcels(batches: Iterable[pa.RecordBatch]) -> tuple[int, pa.Table | None]:
    """Return the first part that parcels name, and all their rows as one table; None where none came."""
    parts, tables = [], []
    for batch in batches:
        for part, content in zip(batch[PART].to_pylist(), batch[PARCEL], strict=True):
            parts.append(part)
            tables.append(pa.ipc.open_stream(content.as_buffer()).read_all())
    return (min(parts), join_tables(tables)) if tables else (0, None)


def part_frame(frame: Any, parts: int) -> Any:
    """Partition a frame by the part of each row. Before Spark 4.1 a partition may hold several parts, sorted."""
    by_number = getattr(frame, "repartitionById", None)
    if by_number is None:
        return frame.repartition(parts, PART).sortWithinPartitions(PART)
    return by_number(parts, frame[PART])


def join_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables with the same columns; texts share one dictionary, or are plain where a table has none."""
    columns = []
    for each in zip(*(table.columns for table in tables), strict=True):
        kinds = {column.type for column in each}
        plain = {kind.value_type if isinstance(kind, pa.DictionaryType) else kind for kind in kinds}
        kind = next(iter(kinds if len(kinds) == 1 else plain))
        chunks = [chunk for column in each for chunk in column.cast(kind).chunks]
        columns.append(share_dictionary(pa.chunked_array(chunks, kind)))
    return pa.table(columns, names=tables[0].column_names)


def worth_sending(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with its dictionary, or without one that is large for so few rows."""
    if not isinstance(column.type, pa.DictionaryType):
        return column
    values = sum(len(chunk.dictionary) for chunk in column.chunks)
    return column.cast(column.type.value_type) if values * MIN_ROWS_PER_VALUE > len(column) else column
