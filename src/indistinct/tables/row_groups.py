"""Parquet files read and written one row group at a time, with text as narrow codes, to save memory."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.machine.arrays import empty_large
from indistinct.machine.spill import disk_errors
from indistinct.machine.stages import report_rows
from indistinct.tables.dictionaries import TEXT

# Least number of rows of a row group that is written.
ROWS_WRITTEN = 1 << 17


def read_row_groups(file: Any, columns: Sequence[str]) -> pa.Table:
    """Return some columns of an open Parquet file, with dictionary codes as narrow as possible.

    Arrow decodes wide codes; their memory is reused for the next row group.
    """
    names = list(columns)
    numbers = range(file.num_row_groups)
    groups = [_narrow(file.read_row_group(number, columns=names).select(names)) for number in numbers]
    if not groups:
        return file.read(columns=names).select(names)
    table = pa.table([_join_parts([group.column(i) for group in groups]) for i in range(len(names))], names=names)
    return table.replace_schema_metadata(file.schema_arrow.metadata)


def _narrow(table: pa.Table) -> pa.Table:
    """Return a table with codes no wider than its dictionaries and missing values need."""
    return pa.table([_narrow_column(column) for column in table.columns], names=table.column_names)


def _narrow_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Narrow the index type of a dictionary column as far as possible."""
    if not isinstance(column.type, pa.DictionaryType):
        return column
    largest = max((len(chunk.dictionary) for chunk in column.chunks), default=0)
    kind = next(kind for kind in (np.int8, np.int16, np.int32) if largest < np.iinfo(kind).max)
    return pa.chunked_array([_with_codes(chunk, kind) for chunk in column.chunks], None if column.num_chunks else TEXT)


def _with_codes(chunk: pa.DictionaryArray, kind: Any) -> pa.DictionaryArray:
    """Cast the indices of a dictionary array to a type."""
    if chunk.indices.type == pa.from_numpy_dtype(kind):
        return chunk
    wide = chunk.indices
    if wide.null_count:
        indices = wide.cast(pa.from_numpy_dtype(kind))
    else:
        codes = empty_large(len(wide), kind)
        np.copyto(codes, wide.to_numpy(), casting="unsafe")
        indices = pa.array(codes)
    return pa.DictionaryArray.from_arrays(indices, chunk.dictionary, safe=False)


def _join_parts(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Return the parts of a column as one."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    kind = columns[0].type
    return of_one_width(chunks) if isinstance(kind, pa.DictionaryType) and chunks else pa.chunked_array(chunks, kind)


def of_one_width(chunks: Sequence[pa.DictionaryArray]) -> pa.ChunkedArray:
    """Return dictionary arrays as one column, with codes as wide as the widest."""
    widest = max((chunk.indices.type.to_pandas_dtype() for chunk in chunks), key=lambda kind: np.dtype(kind).itemsize)
    return pa.chunked_array([_with_codes(chunk, widest) for chunk in chunks])


def write_blocks(blocks: Iterable[pa.Table], schema: pa.Schema, path: Path) -> None:
    """Write the blocks of a table to a Parquet file, several blocks at a time."""
    import pyarrow.parquet as pq

    kept: list[pa.Table] = []
    rows = 0
    with ExitStack() as stack:
        with disk_errors():
            writer = pq.ParquetWriter(path, schema, compression="lz4")
        stack.callback(_close, writer)
        for block in blocks:
            kept.append(block)
            rows += block.num_rows
            report_rows(rows)
            if sum(map(len, kept)) >= ROWS_WRITTEN:
                with disk_errors():
                    writer.write_table(pa.concat_tables(kept))
                kept = []
        if kept:
            with disk_errors():
                writer.write_table(pa.concat_tables(kept))


def _close(writer: Any) -> None:
    """Close a file; part of it may still be written then."""
    with disk_errors():
        writer.close()
