"""Applying a recoding into buckets: rows go to their bucket, and every column is permuted there on its own."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.arrays import Codes, empty_large, starts_of
from indistinct.domain import one_to_one
from indistinct.engines.base import Published
from indistinct.engines.memory import _kernels
from indistinct.engines.memory.apply import compact, gather_columns, scattered
from indistinct.frequencies.count import Counted, count_cells, count_pieces, join_columns
from indistinct.frequencies.encode import Encoded, encode_column
from indistinct.frequencies.grouping import one_of_each, repeated
from indistinct.frequencies.value import FrequencySet, Key
from indistinct.randomness import random_order, shuffle_runs
from indistinct.recoding.assign import assign
from indistinct.recoding.kinds import ByBucket
from indistinct.recoding.labels import multiset_labels
from indistinct.recoding.outputs import Assignment
from indistinct.recoding.projection import project
from indistinct.schema import BUCKET, COUNT, Schema

# Streams of a seed: 0 and 1 order the rows, 2 numbers the buckets, 3 is the search's, further ones permute the slices.
MIXING, NUMBERING, FIRST_SLICE = 1, 2, 4
# Whose pages are quicker to get than those of Arrow's own pool, for columns that are filled once.
POOL = pa.system_memory_pool()


def apply_buckets(
    recoding: ByBucket,
    table: pa.Table,
    *,
    schema: Schema,
    seed: int | None = None,
    counted: Counted | None = None,
) -> Published:
    """Return the published table or tables of a recoding into buckets.

    Buckets are numbered at random, because the search's order could tell something, and the rows of a bucket are
    permuted for each slice on its own. Randomness comes from the operating system unless a seed is given.
    """
    counted = counted or _count_again(recoding, table, schema)
    with ThreadPoolExecutor(1) as pool:
        gathering = pool.submit(_pieces, table, _shown_as_they_are(recoding), counted, seed)
        assignment = assign(counted.frequencies, recoding)
        shown = random_order(len(assignment.classes), seed, stream=NUMBERING)
        sizes = assignment.classes.sizes[shown]
        starts = starts_of(sizes)
        places = np.empty(len(shown), dtype=np.int64)
        places[shown] = starts[:-1]
    pieces = gathering.result()
    order = scattered(repeated(np.arange(len(pieces.cells), dtype=np.int32), pieces.counts), assignment, places)
    numbers = pa.array(repeated(np.arange(1, len(sizes) + 1, dtype=np.int32), sizes))
    others = {}
    match recoding.form:
        case "sliced":
            orders = _permuted(recoding, order, starts, seed)
            arrays = {BUCKET: numbers, **_sliced(recoding, pieces, counted.frequencies, orders)}
        case "tables":
            shuffle_runs(order, starts, seed, stream=FIRST_SLICE)
            with ThreadPoolExecutor(1) as pool:
                counting = pool.submit(_sensitive_table, pieces, recoding.slices[1], numbers, order, starts)
                arrays = {BUCKET: numbers, **pieces.take(recoding.names, order)}
            others = {"sensitive": counting.result()}
        case "multiset":
            arrays = _multisets(recoding, pieces, assignment, shown, _permuted(recoding, order, starts, seed))
            arrays = {name: arrays[name] for name in table.column_names if name in arrays}
        case _:
            assert_never(recoding.form)
    return Published(pa.table(arrays), _published_schema(recoding, schema), None, assignment, others)


@dataclass(frozen=True, slots=True, eq=False)
class _Pieces:
    """Rows that agree on all that is published, as one: a row of each piece, its cell, and how many rows it stands for.

    Which of a piece's rows goes to which bucket says nothing, so that rows need not be looked at again. Where cells
    that differ count as one value, every row is a piece of its own: one row's cell, shown for all that have its
    sensitive value, would give that value away.
    """

    table: pa.Table
    cells: Codes
    counts: Codes

    def take(self, names: Sequence[str], order: Codes) -> dict[str, pa.Array]:
        """Return some columns for pieces in an order, two at a time."""
        places = pa.array(order)
        with ThreadPoolExecutor(2) as pool:
            taken = pool.map(lambda name: pc.take(self.table[name].chunk(0), places, memory_pool=POOL), names)
            return dict(zip(names, taken, strict=True))


def _pieces(table: pa.Table, names: Sequence[str], counted: Counted, seed: int | None) -> _Pieces:
    joint, grouping = counted.frequencies.joint, counted.grouping
    counts = grouping.counts if joint is None else joint.histogram.counts
    cells = np.arange(len(grouping)) if joint is None else joint.histogram.owners()
    if all(one_to_one(table[name].type) for name in names):
        return _Pieces(pa.table(gather_columns(table, names, grouping.order[starts_of(counts)[:-1]])), cells, counts)
    order = grouping.order.copy()
    shuffle_runs(order, starts_of(counts), seed, stream=MIXING)
    rows = pa.table(gather_columns(table, names, order))
    return _Pieces(rows, np.repeat(cells, counts), np.ones(len(order), dtype=np.int64))


def _shown_as_they_are(recoding: ByBucket) -> list[str]:
    """Return the attributes whose values a release shows; others are shown as multisets or generalized."""
    hidden = {name for part in recoding.generalized for name in part.names}
    if recoding.form == "multiset":
        hidden |= set(recoding.names)
    return [name for names in recoding.slices for name in names if name not in hidden]


def _count_again(recoding: ByBucket, table: pa.Table, schema: Schema) -> Counted:
    """Count a table in the codes of a stored recoding; `assign` refuses one that the recoding does not speak of."""
    known = [Encoded.plain(domain, domain.encode(table[domain.column])) for domain in recoding.domains]
    keys: dict[Key, Encoded] = {(name,): encode_column(name, table[name]) for name in schema.sensitive}
    return count_pieces(known, keys) if keys else count_cells(known, keys)


def _permuted(recoding: ByBucket, order: Codes, starts: Codes, seed: int | None) -> list[Codes]:
    """Return the rows of every slice, each in an order of its own inside each bucket."""
    orders = [order.copy() for _ in recoding.slices]
    for place, own in enumerate(orders):
        shuffle_runs(own, starts, seed, stream=FIRST_SLICE + place)
    return orders


def _sliced(recoding: ByBucket, pieces: _Pieces, frequencies: FrequencySet, orders: list[Codes]) -> dict[str, pa.Array]:
    """Return every attribute in the order of its slice, generalized where the recoding says so."""
    arrays: dict[str, pa.Array] = {}
    for names, order in zip(recoding.slices, orders, strict=True):
        part = next((each for each in recoding.generalized if set(each.names) <= set(names)), None)
        shown: dict[str, dict[str, pa.Array]] = {}
        if part is not None:
            projected, places = project(frequencies, part.names)
            found = assign(projected, part)
            classes = found.class_ids[places][pieces.cells[order]]
            for place, column in enumerate(found.columns):
                codes = found.values[classes, place]
                shown[column.column] = {
                    name: compact(values, codes) if pa.types.is_string(values.type) else values.take(pa.array(codes))
                    for name, values in column.outputs
                }
        taken = pieces.take([name for name in names if name not in shown], order)
        for name in names:
            arrays.update(shown.get(name) or {name: taken[name]})
    return arrays


def _sensitive_table(pieces: _Pieces, names: Sequence[str], numbers: pa.Array, order: Codes, starts: Codes) -> pa.Table:
    """Return how often each bucket has each vector of sensitive values, in the order of buckets and values."""
    vectors = join_columns([encode_column(name, pieces.table[name]) for name in names])
    codes = _kernels.gather(vectors.codes, order, np.zeros(len(vectors.domain), dtype=bool))
    entries, counts = empty_large(len(codes), codes.dtype), empty_large(len(codes), np.int32)
    lengths = np.empty(len(starts) - 1, dtype=np.int32)
    end = _kernels.count_in_runs(codes, starts, entries, counts, lengths)
    if end < len(codes):  # some values occur more than once in a bucket
        numbers = pa.array(repeated(np.arange(1, len(starts), dtype=np.int32), lengths))
    each, cells = pieces.take(names, one_of_each(vectors.codes, len(vectors.domain))), pa.array(entries[:end])
    columns = {name: each[name].take(cells) for name in names}
    return pa.table({BUCKET: numbers, **columns, COUNT: pa.array(counts[:end])})


def _multisets(
    recoding: ByBucket, pieces: _Pieces, assignment: Assignment, shown: Codes, orders: list[Codes]
) -> dict[str, pa.Array]:
    """Return every attribute as the multiset of its bucket, and the sensitive values in any order.

    `shown` are the buckets in the order in which they are published.
    """
    arrays: dict[str, pa.Array] = {}
    sizes = assignment.classes.sizes
    for names, order in zip(recoding.slices, orders, strict=True):
        arrays.update(pieces.take([name for name in names if name not in recoding.names], order))
    for place, name in enumerate(recoding.names):
        codes, domain = recoding.vectors[assignment.cells, place], recoding.domains[place]
        words, inverse = np.unique(assignment.class_ids.astype(np.int64) * len(domain) + codes, return_inverse=True)
        counts = np.bincount(inverse, weights=assignment.counts).astype(np.int64)
        owners, members = np.divmod(words, len(domain))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(sizes)))])
        class_ids = multiset_labels(domain.texts(), indptr, members, counts)
        arrays[name] = compact(class_ids, shown, sizes[shown])
    return arrays


def _published_schema(recoding: ByBucket, schema: Schema) -> Schema:
    """Return the roles of the published columns: what tells classes apart is the bucket, or its multisets."""
    if recoding.form == "multiset":
        return Schema(quasi=recoding.names, sensitive=schema.sensitive)
    sensitive = () if recoding.form == "tables" else schema.sensitive
    outputs = {
        column.domain.column: [name for name, _ in column.summary.published.outputs]
        for part in recoding.generalized
        for column in part.columns
    }
    others = [output for name in recoding.names for output in outputs.get(name, [name])]
    return Schema(quasi=[BUCKET], sensitive=sensitive, insensitive=others)
