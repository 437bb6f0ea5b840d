"""Applying a recoding in memory: rows go to their classes, are shuffled there, and only then get their labels."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.arrays import Codes, empty_large
from indistinct.domain import with_room
from indistinct.engines.base import Published
from indistinct.engines.memory import _kernels
from indistinct.engines.memory.count import count_for
from indistinct.frequencies.count import Counted
from indistinct.frequencies.encode import from_dictionary
from indistinct.randomness import shuffle_runs
from indistinct.recoding.assign import assign
from indistinct.recoding.kinds import ByRow, Recoding
from indistinct.recoding.outputs import Assignment, PublishedColumn
from indistinct.schema import Schema

# Offsets of plain text count up to so many bytes.
LONGEST_TEXT = (1 << 31) - 1


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
    assignment = assign(counted.frequencies, recoding)
    order = order_of(counted, assignment, seed=seed, mixed=isinstance(recoding, ByRow))
    quasi = {column.column: column for column in assignment.columns}
    places = {column.column: place for place, column in enumerate(assignment.columns)}
    arrays: dict[str, pa.Array] = {}
    for name in table.column_names:
        if name in quasi:
            codes = assignment.values[:, places[name]]
            arrays.update(_published(quasi[name], codes, assignment.classes.sizes))
        elif name not in schema.identifiers:
            arrays[name] = gathered(table[name], order)
    names = [output for name in schema.quasi for output, _ in quasi[name].outputs]
    shown = Schema(quasi=names, sensitive=schema.sensitive, insensitive=schema.insensitive)
    return Published(pa.table(arrays), shown, order, assignment)


def order_of(counted: Counted, assignment: Assignment, *, seed: int | None, mixed: bool) -> Codes:
    """Return the original row of every published row."""
    source = counted.grouping.order
    if mixed:  # which of a cell's equal rows go to which class is nobody's choice
        source = source.copy()
        joint = counted.frequencies.joint
        inner = counted.grouping.counts if joint is None else joint.histogram.counts
        shuffle_runs(source, starts_of(inner), seed, stream=1)
    starts = starts_of(assignment.classes.sizes)
    order = scattered(source, assignment, starts[:-1])
    shuffle_runs(order, starts, seed, stream=0)
    return order


def scattered(source: Codes, assignment: Assignment, places: Codes) -> Codes:
    """Return rows, given in the order of the cells, by class; `places` says where the rows of each class begin."""
    order = empty_large(assignment.classes.rows, source.dtype)
    _kernels.scatter_rows(source, assignment.class_ids, assignment.counts, places.copy(), order)
    return order


def starts_of(sizes: Codes) -> Codes:
    """Return where runs of some sizes begin, and the end as the last entry."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


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
    kind = index_type(len(dictionary))
    lookup = np.full(len(values) + 1, -1, dtype=kind)
    lookup[present] = pc.fill_null(pc.index_in(kept, value_set=dictionary), -1).to_numpy().astype(kind)
    indices = lookup[codes]
    absent = indices < 0 if (lookup[used] < 0).any() else None
    if sizes is not None:
        indices = np.repeat(indices, sizes)
        absent = None if absent is None else np.repeat(absent, sizes)
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=absent), dictionary)


def index_type(values: int) -> type[np.signedinteger]:
    """Return the narrowest type of dictionary indices that still has room for one more, which stands for missing."""
    return next(kind for kind in (np.int8, np.int16, np.int32) if values < np.iinfo(kind).max)


def gather_columns(table: pa.Table, names: Sequence[str], order: Codes) -> dict[str, pa.Array]:
    """Return some columns in published order, two at a time."""
    with ThreadPoolExecutor(2 if len(order) >= _kernels.COMPILE_FROM else 1) as pool:
        return dict(zip(names, pool.map(lambda name: gathered(table[name], order), names), strict=True))


def gathered(column: pa.ChunkedArray, order: Codes) -> pa.Array:
    """Return a column's cells in published order, without a trace of the original one."""
    if not isinstance(column.type, pa.DictionaryType):
        return _takeable(column).combine_chunks().take(pa.array(order))
    found = from_dictionary(with_room(column, column.type.value_type))
    values = found.values
    text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    if text:
        values = values.take(pc.sort_indices(values))
    ranks = pc.index_in(found.values, value_set=values).to_numpy()
    kind = index_type(len(values))
    lookups = [np.append(ranks, len(values)).astype(kind)[places] for places in found.places]
    used = np.zeros(len(values) + 1, dtype=bool)
    indices = _kernels.gather_codes(found.chunks, lookups, order, used)
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
