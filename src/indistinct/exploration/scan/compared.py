"""Columns in the few types that checks can compare, and published columns paired with those of the original."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.exploration.scan.base import ScannedFile
from indistinct.machine.arrays import Counts


def published_as_is(subject: ScannedFile) -> Mapping[str, tuple[pa.ChunkedArray, pa.ChunkedArray]]:
    """Return the unmodified columns as pairs of the published and the original column.

    In these no value is more frequent than in the original: coarse ages such as 20 and 40 are ages too, but far more
    frequent.
    """
    original = subject.compared
    if original is None:
        return {}
    unmodified = {}
    for name in original.columns:
        if subject.columns.count(name) != 1:
            continue
        if _is_part(subject.table[name], original.data[name]):
            before = plain(original.data[name])
            cells = in_type(subject.table[name], before.type)
            if cells is not None:
                unmodified[name] = (cells, before)
    return unmodified


def _is_part(published: pa.ChunkedArray, original: pa.ChunkedArray) -> bool:
    """Return whether a published column has values, and none of them more often than the original has it."""
    many, many_counts = count_values(original)
    values, counts = count_values(published)
    cells = in_type(values, many.type)
    if cells is None or cells.null_count == len(cells):
        return False
    positions = pc.index_in(cells, value_set=many)
    if positions.null_count:
        return False
    return bool((counts <= many_counts[positions.to_numpy()]).all())


def count_values(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, Counts]:
    """Return the distinct values of a column as `plain` makes them, missing among them, and how many rows have each."""
    if not isinstance(column.type, pa.DictionaryType):
        counted = plain(column).value_counts()
        return pa.chunked_array([counted.field("values")]), counted.field("counts").to_numpy()
    used = [chunk.indices.value_counts() for chunk in column.chunks]
    pairs = zip(column.chunks, used, strict=True)
    values = [chunk.dictionary.take(each.field("values")) for chunk, each in pairs]
    counts = [each.field("counts").to_numpy() for each in used]
    every = plain(pa.chunked_array(values, column.type.value_type)).combine_chunks()
    distinct = every.unique()
    index = pc.index_in(every, value_set=distinct).to_numpy()
    rows = np.bincount(index, weights=np.concatenate([*counts, np.zeros(0)]), minlength=len(distinct))
    return pa.chunked_array([distinct]), rows.astype(np.int64)


def distinct_values(column: pa.ChunkedArray) -> pa.Array:
    """Return the distinct values of a column as `plain` makes them, in the order of its rows."""
    return plain(used_values(column)).unique()


def used_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of dictionaries that rows have, each once a chunk; other columns are returned unchanged."""
    if not isinstance(column.type, pa.DictionaryType):
        return column
    used = [chunk.dictionary.take(chunk.indices.unique()) for chunk in column.chunks]
    return pa.chunked_array(used, column.type.value_type)


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without dictionary, text as `large_string`, and numbers in a uniform width."""
    kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return column.cast(kind).cast(pa.float64(), safe=False)
    return _wide_integers(column.cast(kind)) if pa.types.is_integer(kind) else column.cast(kind)


def _wide_integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return whole numbers as signed ones, or as unsigned ones where they are too large."""
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column.cast(pa.uint64())


def in_type(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    """Return a published column in the type of the original, None where its cells do not fit."""
    try:
        cells = plain(column)
        return cells if cells.type == kind else cells.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None


def spell_values(column: pa.ChunkedArray) -> pa.Array:
    """Return the distinct values of a column as text; whole numbers have no decimal point."""
    values = pc.drop_null(distinct_values(column))
    try:
        texts = values.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([], pa.large_string())
    return pc.replace_substring_regex(texts, r"\.0$", "") if pa.types.is_floating(values.type) else texts


def in_plain_types(table: pa.Table) -> pa.Table:
    """Return a table of numbers, times, booleans and text; other types become text.

    Dictionaries keep the values that no row has, and metadata is kept.
    """
    columns = [_plain(column) for column in table.columns]
    fields = [
        pa.field(field.name, column.type, metadata=field.metadata)
        for field, column in zip(table.schema, columns, strict=True)
    ]
    return pa.table(columns, schema=pa.schema(fields, metadata=table.schema.metadata))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert a column to a type in which equal values compare equal."""
    kind, types = column.type, pa.types
    if isinstance(kind, pa.DictionaryType):
        return pa.chunked_array(
            [_plain_codes(chunk) for chunk in column.chunks], pa.dictionary(pa.int32(), _value_type(kind))
        )
    if types.is_decimal(kind) and kind.bit_width < 128:
        return column.cast(pa.decimal128(kind.precision, kind.scale))  # few functions of Arrow accept narrower ones
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


def _plain_codes(chunk: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return codes into plain values."""
    values = _plain(pa.chunked_array([chunk.dictionary])).combine_chunks()
    absent = chunk.indices.is_null().to_numpy(zero_copy_only=False)
    codes = np.asarray(chunk.indices.fill_null(0).to_numpy(), dtype=np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=absent), values.cast(_value_type(chunk.type)))


def _value_type(kind: pa.DictionaryType) -> pa.DataType:
    return _plain(pa.chunked_array([], kind.value_type)).type


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return column.cast(pa.float64(), safe=False)


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write the cells of a column as text."""
    try:
        cells = column.to_pylist()
    except (OverflowError, ValueError):  # timestamps that Python cannot represent, such as those of the year 20000
        cells = column.cast(_with_numbers(column.type)).to_pylist()
    texts = [None if cell is None else str(cell) for cell in cells]
    return pa.chunked_array([pa.array(texts, pa.large_string())])


def _with_numbers(kind: pa.DataType) -> pa.DataType:
    """Replace times by numbers inside a nested type."""
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
