"""Published columns in memory: values in another order, without a trace of the original one."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.memory import _kernels
from indistinct.frequencies.encode import from_dictionary
from indistinct.machine.arrays import Codes, repeat_values, spread
from indistinct.machine.ordering import text_order
from indistinct.tables.domain import ascends, with_room

# Offsets of plain text count up to so many bytes.
LONGEST_TEXT = (1 << 31) - 1


def taken(values: pa.Array, codes: Codes, sizes: Codes | None = None) -> pa.Array:
    """Return published values by their codes, text as a dictionary; with `sizes` each stands for so many rows."""
    if pa.types.is_string(values.type):
        return compact(values, codes, sizes)
    return values.take(pa.array(codes if sizes is None else repeat_values(codes, sizes)))


def compact(values: pa.Array, codes: Codes, sizes: Codes | None = None) -> pa.Array:
    """Return a dictionary array whose dictionary holds exactly the values that occur, ascending.

    A dictionary from upstream would tell which values were suppressed, and in which order rows first had them. Code
    `len(values)` is null; with `sizes` each code stands for so many rows.
    """
    used = np.zeros(len(values) + 1, dtype=bool)
    used[codes] = True
    present = np.flatnonzero(used[:-1])
    kept = values if len(present) == len(values) else values.take(pa.array(present))
    kind = index_type(len(kept))
    lookup = np.full(len(values) + 1, -1, dtype=kind)
    if ascends(kept):
        dictionary, lookup[present] = kept, np.arange(len(kept), dtype=kind)
    else:
        encoded = kept.dictionary_encode()
        order = text_order(encoded.dictionary)
        ranks = np.full(len(order) + 1, -1, dtype=kind)
        ranks[order] = np.arange(len(order), dtype=kind)
        dictionary = encoded.dictionary.take(pa.array(order))
        lookup[present] = ranks[pc.fill_null(encoded.indices, len(order)).to_numpy()]
    indices = lookup[codes]
    absent = indices < 0 if (lookup[used] < 0).any() else None
    if sizes is not None:
        indices = repeat_values(indices, sizes)
        absent = None if absent is None else repeat_values(absent, sizes)
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=absent), dictionary)


def index_type(values: int) -> type[np.signedinteger]:
    """Return the narrowest type of dictionary indices that still has room for one more, which stands for missing."""
    return next(kind for kind in (np.int8, np.int16, np.int32) if values < np.iinfo(kind).max)


def gather_columns(table: pa.Table, names: Sequence[str], order: Codes) -> dict[str, pa.Array]:
    """Return some columns in another order, several at a time."""
    return dict(zip(names, spread(lambda name: gather_column(table[name], order), names, rows=len(order)), strict=True))


def gather_column(column: pa.ChunkedArray, order: Codes) -> pa.Array:
    """Return a column's cells in published order, without a trace of the original one."""
    if not isinstance(column.type, pa.DictionaryType):
        return _takeable(column).combine_chunks().take(pa.array(order))
    distinct = from_dictionary(with_room(column, column.type.value_type))
    values = distinct.values
    text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    if text:
        values = values.take(pc.sort_indices(values))
    ranks = pc.index_in(distinct.values, value_set=values).to_numpy()
    kind = index_type(len(values))
    lookups = [np.append(ranks, len(values)).astype(kind)[places] for places in distinct.places]
    used = np.zeros(len(values) + 1, dtype=bool)
    indices = _kernels.gather_codes(distinct.chunks, lookups, order, used)
    if text and not used[:-1].all():
        return compact(values, indices)
    cells = pa.array(indices, mask=indices == len(values) if used[-1] else None)
    return pa.DictionaryArray.from_arrays(cells, values) if text else _takeable(values).take(cells)


def _takeable(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Return cells as they are published, in a type from which Arrow can take them."""
    kind = column.type
    if pa.types.is_floating(kind):  # -0.0 and 0.0 are one value, so they are published as one
        wide = pa.float32() if pa.types.is_float16(kind) else kind
        return pc.add(column.cast(wide), pa.scalar(0, wide)).cast(kind)
    if pa.types.is_string_view(kind):
        return column.cast(pa.string())
    return column.cast(pa.large_string()) if pa.types.is_string(kind) and column.nbytes >= LONGEST_TEXT else column
