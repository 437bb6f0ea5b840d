"""Cells of whatever type a tool wrote, in the few types that every check can compare; dictionaries stay as they are."""

import numpy as np
import pyarrow as pa


def in_plain_types(table: pa.Table) -> pa.Table:
    """Return a table of numbers, times, truth values and text; what is none of these becomes text.

    Dictionaries keep the values that no row has, and metadata stays.
    """
    columns = [_plain(column) for column in table.columns]
    fields = [
        pa.field(field.name, column.type, metadata=field.metadata)
        for field, column in zip(table.schema, columns, strict=True)
    ]
    return pa.table(columns, schema=pa.schema(fields, metadata=table.schema.metadata))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind, types = column.type, pa.types
    if isinstance(kind, pa.DictionaryType):
        return pa.chunked_array(
            [_coded(chunk) for chunk in column.chunks], pa.dictionary(pa.int64(), _value_type(kind))
        )
    if types.is_decimal(kind) and kind.bit_width < 128:
        return column.cast(pa.decimal128(kind.precision, kind.scale))  # few functions of Arrow take narrower ones
    if types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return column
    if types.is_string_view(kind) or types.is_null(kind):
        return column.cast(pa.large_string())
    if types.is_uint64(kind):
        return _cast(column, pa.int64())
    if types.is_float16(kind):
        return column.cast(pa.float32())
    if types.is_integer(kind) or types.is_floating(kind) or (types.is_temporal(kind) and not types.is_interval(kind)):
        return column
    return _as_text(column)


def _coded(chunk: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return codes into plain values."""
    values = _plain(pa.chunked_array([chunk.dictionary])).combine_chunks()
    absent = chunk.indices.is_null().to_numpy(zero_copy_only=False)
    codes = np.asarray(chunk.indices.fill_null(0).to_numpy(), dtype=np.int64)
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=absent), values.cast(_value_type(chunk.type)))


def _value_type(kind: pa.DictionaryType) -> pa.DataType:
    return _plain(pa.chunked_array([], kind.value_type)).type


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return column.cast(pa.float64(), safe=False)


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        cells = column.to_pylist()
    except (OverflowError, ValueError):  # moments that Python has no name for, such as those of the year 20000
        cells = column.cast(_with_numbers(column.type)).to_pylist()
    texts = [None if cell is None else str(cell) for cell in cells]
    return pa.chunked_array([pa.array(texts, pa.large_string())])


def _with_numbers(kind: pa.DataType) -> pa.DataType:
    """Return a type in which numbers stand in place of the times inside another one."""
    types = pa.types
    if types.is_struct(kind):
        return pa.struct([each.with_type(_with_numbers(each.type)) for each in kind])
    if types.is_map(kind):
        return pa.map_(_with_numbers(kind.key_type), _with_numbers(kind.item_type))
    if types.is_fixed_size_list(kind):
        return pa.list_(_with_numbers(kind.value_type), kind.list_size)
    if types.is_list(kind) or types.is_large_list(kind):
        make = pa.list_ if types.is_list(kind) else pa.large_list
        return make(_with_numbers(kind.value_type))
    if types.is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    return kind
