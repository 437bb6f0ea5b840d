"""Text columns as codes into a dictionary: what engines count fast and what a release must not say too much in.

A dictionary may hold values that no row has, such as those of suppressed rows, and its order may be the order in which
the values first occurred in the original. Both would be written into an Arrow or a Parquet file.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.domain import Codes

TEXT = pa.dictionary(pa.int32(), pa.string())


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type holds text, plain or dictionary-encoded."""
    if isinstance(kind, pa.DictionaryType):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def assemble(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return a dictionary-encoded text column as one array with one dictionary."""
    chunks = column.cast(TEXT).unify_dictionaries().chunks
    if not chunks:
        return pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], pa.string()))
    indices = pa.chunked_array([chunk.indices for chunk in chunks]).combine_chunks()
    # One dictionary for all chunks, so the indices need no second check of their bounds.
    return pa.DictionaryArray.from_arrays(indices, chunks[0].dictionary, safe=False)


def compact(column: pa.ChunkedArray, *, ascending: bool = False) -> pa.DictionaryArray:
    """Return a text column whose dictionary holds every value that occurs once, and no other.

    With `ascending` the dictionary goes by code point, so that it says nothing about the order of rows.
    """
    if any(chunk.dictionary.null_count for chunk in column.chunks):
        column = column.cast(column.type.value_type).dictionary_encode()
    array = assemble(column)
    values = array.dictionary
    if len(values) != len(values.unique()):
        array = assemble(pa.chunked_array([array.cast(pa.string()).dictionary_encode()]))
        values = array.dictionary
    codes = _codes(array)
    used = np.zeros(len(values) + 1, dtype=bool)
    used[codes] = True
    kept = np.flatnonzero(used[:-1])
    if ascending:
        kept = kept[pc.sort_indices(values.take(pa.array(kept))).to_numpy()]
    if np.array_equal(kept, np.arange(len(values))):
        return array
    places = np.zeros(len(values) + 1, dtype=np.int32)
    places[kept] = np.arange(len(kept), dtype=np.int32)
    absent = codes == len(values) if array.null_count else None
    return pa.DictionaryArray.from_arrays(
        pa.array(places[codes], mask=absent), values.take(pa.array(kept)), safe=False
    )


def _codes(array: pa.DictionaryArray) -> Codes:
    """Return the indices; missing is the place after the last value."""
    indices = array.indices
    if indices.null_count:
        indices = pc.fill_null(indices, len(array.dictionary))
    return np.asarray(indices.to_numpy())
