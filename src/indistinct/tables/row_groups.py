"""Parquet files read one row group after the other, their text as narrow codes, which takes the least memory."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.arrays import empty_large


def read_row_groups(file: Any, columns: Sequence[str]) -> pa.Table:
    """Return some columns of an open Parquet file; codes of dictionaries are as narrow as these allow.

    What Arrow decodes is wide, and is used again for the next row group.
    """
    names = list(columns)
    widths: dict[str, Any] = {}
    groups = [
        _narrow(file.read_row_group(number, columns=names).select(names), widths)
        for number in range(file.num_row_groups)
    ]
    if not groups:
        return file.read(columns=names).select(names)
    table = pa.table([_joined([group.column(i) for group in groups]) for i in range(len(names))], names=names)
    return table.replace_schema_metadata(file.schema_arrow.metadata)


def _narrow(table: pa.Table, widths: dict[str, Any]) -> pa.Table:
    """Return a table with codes no wider than its dictionaries need, or those before it did."""
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if isinstance(column.type, pa.DictionaryType):
            largest = max((len(chunk.dictionary) for chunk in column.chunks), default=0)
            kind = next(kind for kind in (np.int8, np.int16, np.int32) if largest < np.iinfo(kind).max)
            widths[name] = max(widths.get(name, kind), kind, key=lambda each: np.dtype(each).itemsize)
            columns.append(pa.chunked_array([_with_codes(chunk, widths[name]) for chunk in column.chunks]))
        else:
            columns.append(column)
    return pa.table(columns, names=table.column_names)


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


def _joined(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Return the parts of a column as one; the last one has the widest codes."""
    kind = columns[-1].type
    if isinstance(kind, pa.DictionaryType):
        width = kind.index_type.to_pandas_dtype()
        return pa.chunked_array([_with_codes(chunk, width) for column in columns for chunk in column.chunks], kind)
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], kind)
