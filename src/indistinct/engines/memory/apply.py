"""Applying a recoding in memory: rows go to their classes, are shuffled there, and only then get their labels."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.domain import Codes
from indistinct.engines.base import Published
from indistinct.engines.memory import _kernels
from indistinct.engines.memory.count import count_for
from indistinct.frequencies.count import Counted
from indistinct.frequencies.encode import from_dictionary, narrowest
from indistinct.randomness import random_words
from indistinct.recoding.published import PublishedColumn, Recoded
from indistinct.recoding.recode import recode
from indistinct.recoding.union import ByRow, Recoding
from indistinct.schema import Schema


def apply_recoding(
    recoding: Recoding,
    table: pa.Table,
    *,
    schema: Schema,
    seed: int | None = None,
    counted: Counted | None = None,
) -> Published:
    """Return the published table of a recoding.

    Rows are grouped by what is published, in the order of the published values, and shuffled inside each class, so
    that the order of rows tells nothing that the values do not. Randomness comes from the operating system unless a
    seed is given.
    """
    counted = counted or count_for(recoding, table)
    recoded = recode(counted.frequencies, recoding)
    order = order_of(counted, recoded, seed=seed, mixed=isinstance(recoding, ByRow))
    quasi = {column.column: column for column in recoded.columns}
    places = {column.column: place for place, column in enumerate(recoded.columns)}
    arrays: dict[str, pa.Array] = {}
    for name in table.column_names:
        if name in quasi:
            codes = recoded.values[:, places[name]]
            arrays.update(_published(quasi[name], codes, recoded.classes.sizes))
        elif name not in schema.identifiers:
            arrays[name] = gathered(table[name], order)
    names = [output for name in schema.quasi for output, _ in quasi[name].outputs]
    shown = Schema(quasi=names, sensitive=schema.sensitive, insensitive=schema.insensitive)
    return Published(pa.table(arrays), shown, order, recoded)


def order_of(counted: Counted, recoded: Recoded, *, seed: int | None, mixed: bool) -> Codes:
    """Return the original row of every published row."""
    source = counted.grouping.order
    sizes = recoded.classes.sizes
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if mixed:  # which of a cell's equal rows go to which class is nobody's choice
        source = source.copy()
        joint = counted.frequencies.joint
        inner = counted.grouping.counts if joint is None else joint.histogram.counts
        runs = np.concatenate([[0], np.cumsum(inner)]).astype(np.int64)
        _kernels.shuffle_runs(source, runs, random_words(len(source), seed, stream=1))
    order = np.empty(int(starts[-1]), dtype=source.dtype)
    _kernels.scatter_rows(source, recoded.labels, recoded.counts, starts[:-1].copy(), order)
    _kernels.shuffle_runs(order, starts, random_words(len(order), seed, stream=0))
    return order


def _published(column: PublishedColumn, codes: Codes, sizes: Codes) -> dict[str, pa.Array]:
    """Return the columns that a release shows for one quasi-identifier: each class's value, as often as it has rows."""
    return {
        name: compact(values, codes, sizes)
        if pa.types.is_string(values.type)
        else values.take(pa.array(np.repeat(codes, sizes)))
        for name, values in column.outputs
    }


def compact(values: pa.Array, codes: Codes, sizes: Codes | None = None) -> pa.Array:
    """Return a dictionary array whose dictionary holds exactly the values that occur, ascending.

    A dictionary from upstream would tell which values were suppressed, and in which order rows first had them. Code
    `len(values)` is null; with `sizes` each code stands for so many rows.
    """
    used = np.zeros(len(values) + 1, dtype=bool)
    used[codes] = True
    present = np.flatnonzero(used[:-1])
    kept = values.take(pa.array(present))
    distinct = kept.drop_null().unique()
    dictionary = distinct.take(pc.sort_indices(distinct))
    lookup = np.full(len(values) + 1, -1, dtype=np.int32)
    lookup[present] = pc.fill_null(pc.index_in(kept, value_set=dictionary), -1).to_numpy()
    indices = lookup[codes]
    absent = indices < 0 if (lookup[used] < 0).any() else None
    if sizes is not None:
        indices = np.repeat(indices, sizes)
        absent = None if absent is None else np.repeat(absent, sizes)
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=absent), dictionary)


def gathered(column: pa.ChunkedArray, order: Codes) -> pa.Array:
    """Return a column's cells in published order, without a trace of the original one."""
    if pa.types.is_floating(column.type) and not pa.types.is_float16(column.type):
        column = pc.add(column, pa.scalar(0, column.type))  # -0.0 and 0.0 are one value, so they are published as one
    if not isinstance(column.type, pa.DictionaryType):
        return column.combine_chunks().take(pa.array(order))
    found = from_dictionary(column)
    values = found.values
    # Narrow codes stay in the cache while rows are gathered from all over the table; the last one is missing.
    codes = np.append(np.arange(len(values)), len(values)).astype(narrowest(len(values) + 1))
    pairs = zip(found.places, found.chunks, strict=True)
    indices = np.concatenate([codes[places][chunk] for places, chunk in pairs])[order]
    if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
        places = pa.array(indices, mask=indices == len(values))
        return values.take(places)
    return compact(values, indices)
