"""Text columns as codes into a dictionary: fast for engines, and a place where a release can leak.

A dictionary may contain values that no row has, such as those of suppressed rows, and its order may be the order in
which the values first occurred in the original. Both would be written into an Arrow or a Parquet file.
"""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.machine.arrays import Codes, empty_large
from indistinct.tables.domain import ascends, with_room

TEXT = pa.dictionary(pa.int32(), pa.string())


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type holds text, plain or dictionary-encoded."""
    if isinstance(kind, pa.DictionaryType):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def check_text(name: str, column: pa.ChunkedArray) -> None:
    """Raise `InputError` if a column has text that is not UTF-8, as files of other programs may."""
    for chunk in column.chunks if is_text(column.type) else ():
        try:
            (chunk.dictionary if isinstance(chunk.type, pa.DictionaryType) else chunk).validate(full=True)
        except pa.ArrowInvalid as error:
            row = re.search(r"index (\d+)$", str(error))
            direct = column.num_chunks == 1 and not isinstance(chunk.type, pa.DictionaryType)
            where = f", the first in row {int(row[1]) + 1}" if row and direct else ""
            raise InputError(
                f"column {name!r} has text that is not UTF-8{where}",
                hint="write the file again with valid text",
                column=name,
            ) from None


def assemble(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return a dictionary-encoded text column as one array with one dictionary of distinct values."""
    coded = with_room(column if isinstance(column.type, pa.DictionaryType) else column.cast(TEXT), pa.string())
    if coded.num_chunks == 1:
        values = coded.chunk(0).dictionary
        if ascends(values) or (values.null_count == 0 and len(values.unique()) == len(values)):
            return coded.chunk(0)
    codes, values = _transpose(coded)
    return _coded_array(codes, values)


def share_dictionaries(table: pa.Table) -> pa.Table:
    """Return the table with a single dictionary for all chunks of each dictionary-encoded column."""
    return pa.table([share_dictionary(column) for column in table.columns], schema=table.schema)


def share_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column whose chunks share one dictionary of the same type; other columns are returned unchanged.

    Arrow's own `unify_dictionaries` must not be used: it also looks up the indices of missing cells, which are
    undefined, so that Arrow may read outside the dictionary and crash the process.

    >>> several = pa.chunked_array([pa.array(["x", None]).dictionary_encode(), pa.array(["y"]).dictionary_encode()])
    >>> share_dictionary(several).chunk(0).dictionary.to_pylist()
    ['x', 'y']
    """
    kind = column.type
    if not isinstance(kind, pa.DictionaryType) or column.num_chunks < 2:
        return column
    codes, values = _transpose(column)
    if len(values) > np.iinfo(kind.index_type.to_pandas_dtype()).max:
        kind = pa.dictionary(pa.int32(), kind.value_type, ordered=kind.ordered)
    return pa.chunked_array([_coded_array(codes, values, kind)], kind)


def _transpose(column: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """Return (code of each cell among the distinct values of all dictionaries, -1 for missing; these values)."""
    listed = pa.chunked_array([chunk.dictionary for chunk in column.chunks], column.type.value_type)
    values = pc.drop_null(listed.unique())
    # -1 marks missing values inside a dictionary, not only missing cells.
    positions = pc.fill_null(pc.index_in(listed, value_set=values), -1).to_numpy()
    codes = empty_large(len(column), np.int32)
    begin = first = 0
    for chunk in column.chunks:
        # The indices of missing cells are undefined, so they are filled before they are looked up.
        indices = pc.fill_null(chunk.indices, 0) if chunk.indices.null_count else chunk.indices
        own = positions[first : first + len(chunk.dictionary)]
        part = codes[begin : begin + len(chunk)]
        if len(own):
            np.take(own, indices.to_numpy(), out=part, mode="clip")
        if chunk.indices.null_count:
            part[chunk.indices.is_null().to_numpy(zero_copy_only=False)] = -1
        begin, first = begin + len(chunk), first + len(own)
    return codes, values


def _coded_array(codes: Codes, values: pa.Array, kind: pa.DictionaryType = TEXT) -> pa.DictionaryArray:
    """Return codes with their dictionary; -1 is missing, and a missing cell has index 0."""
    absent = codes < 0 if codes.min(initial=0) < 0 else None
    if absent is not None:
        codes[absent] = 0
    indices = pa.array(codes, mask=absent)
    if kind.index_type != indices.type:
        indices = indices.cast(kind.index_type)
    # The codes are indices into `values`, so their bounds need no second check.
    return pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered, safe=False)


def compact(column: pa.ChunkedArray, *, ascending: bool = False) -> pa.DictionaryArray:
    """Return a text column whose dictionary has every value that occurs once, and no other.

    With `ascending` the dictionary is sorted by code point, so that it reveals nothing about the order of rows.
    """
    array = assemble(column)
    values = array.dictionary
    # Arrow works without the interpreter's lock, so that several columns are processed at the same time.
    kept = np.sort(pc.drop_null(pc.unique(array.indices)).to_numpy())
    if ascending and not ascends(values):
        kept = kept[pc.sort_indices(values.take(pa.array(kept))).to_numpy()]
    if np.array_equal(kept, np.arange(len(values))):
        return array
    # Missing has the index after the last value.
    codes = (pc.fill_null(array.indices, len(values)) if array.null_count else array.indices).to_numpy()
    positions = np.zeros(len(values) + 1, dtype=np.int32)
    positions[kept] = np.arange(len(kept), dtype=np.int32)
    absent = codes == len(values) if array.null_count else None
    return pa.DictionaryArray.from_arrays(
        pa.array(positions[codes], mask=absent), values.take(pa.array(kept)), safe=False
    )
