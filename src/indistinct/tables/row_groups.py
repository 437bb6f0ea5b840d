"""Parquet files read one row group after the other, their text as narrow codes, which takes the least memory."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.machine.arrays import empty_large
from indistinct.tables.dictionaries import TEXT


def read_row_groups(file: Any, columns: Sequence[str]) -> pa.Table:
    """Return some columns of an open Parquet file; codes of dictionaries are as narrow as these allow.

    What Arrow decodes is wide, and is used again for the next row group.
    """
    names = list(columns)
    numbers = range(file.num_row_groups)
    groups = [_narrow(file.read_row_group(number, columns=names).select(names)) for number in numbers]
    if not groups:
        return file.read(columns=names).select(names)
    table = pa.table([_join_parts([group.column(i) for group in groups]) for i in range(len(names))], names=names)
    return table.replace_schema_metadata(file.schema_arrow.metadata)


def _narrow(table: pa.Table) -> pa.Table:
    """Return a table with codes no wider than its dictionaries need, and missing."""
    return pa.table([_narrow_column(column) for column in table.columns], names=table.column_names)


def _narrow_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not isinstance(column.type, pa.DictionaryType):
        return column
    largest = max((len(chunk.dictionary) for chunk in column.chunks), default=0)
    kind = next(kind for kind in (np.int8, np.int16, np.int32) if largest < np.iinfo(kind).max)
    return pa.chunked_array([_with_codes(chunk, kind) for chunk in column.chunks], None if column.num_chunks else TEXT)


def _with_codes(chunk: pa.DictionaryArray, kind: Any) -> pa.DictionaryArray:
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
    """Return dictionaries as one column, with codes as wide as the widest."""
    widest = max((chunk.indices.type.to_pandas_dtype() for chunk in chunks), key=lambda kind: np.dtype(kind).itemsize)
    return pa.chunked_array([_with_codes(chunk, widest) for chunk in chunks])
