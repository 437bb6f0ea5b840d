"""Applying a recoding into buckets: rows go to their bucket, and every column is permuted there on its own."""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

import numpy as np
import pyarrow as pa

from indistinct.domain import Codes
from indistinct.engines.base import Published
from indistinct.engines.memory import _kernels
from indistinct.engines.memory.apply import compact, gathered, order_of
from indistinct.engines.memory.count import with_joint
from indistinct.frequencies.count import Counted, count_cells
from indistinct.frequencies.encode import Encoded, encode_column
from indistinct.frequencies.grouping import group_rows
from indistinct.frequencies.value import Key
from indistinct.randomness import random_order, random_words
from indistinct.recoding.labels import multiset_labels
from indistinct.recoding.projection import project
from indistinct.recoding.published import Recoded
from indistinct.recoding.recode import recode
from indistinct.recoding.union import ByBucket
from indistinct.schema import BUCKET, COUNT, Schema

# Streams of a seed: 0 and 1 order the rows, 2 numbers the buckets, 3 is the search's, further ones permute the slices.
NUMBERING, FIRST_SLICE = 2, 4


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
    recoded = _renumbered(recode(counted.frequencies, recoding), seed)
    order = order_of(counted, recoded, seed=seed, mixed=True)
    sizes = recoded.classes.sizes
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    numbers = pa.array(np.repeat(np.arange(1, len(sizes) + 1, dtype=np.int32), sizes))
    orders = [order] * len(recoding.slices)
    if recoding.form != "tables":  # there the values of a bucket are counted, in their own order
        orders = [_permuted(order, starts, seed, stream=FIRST_SLICE + place) for place in range(len(orders))]
    others = {}
    match recoding.form:
        case "sliced":
            arrays = {BUCKET: numbers, **_sliced(recoding, table, counted, orders)}
        case "tables":
            arrays = {BUCKET: numbers, **{name: gathered(table[name], orders[0]) for name in recoding.names}}
            others = {"sensitive": _sensitive_table(table, recoding.slices[1], numbers, orders[1])}
        case "multiset":
            arrays = _multisets(recoding, table, recoded, orders)
        case _:
            assert_never(recoding.form)
    return Published(pa.table(arrays), _published_schema(recoding, schema), order, recoded, others)


def _count_again(recoding: ByBucket, table: pa.Table, schema: Schema) -> Counted:
    """Count a table in the codes of a stored recoding; `recode` refuses one that the recoding does not speak of."""
    known = [Encoded.plain(domain, domain.encode(table[domain.column])) for domain in recoding.domains]
    keys: dict[Key, Encoded] = {(name,): encode_column(name, table[name]) for name in schema.sensitive}
    counted = count_cells(known, keys)
    return with_joint(counted, keys) if keys else counted


def _permuted(order: Codes, starts: Codes, seed: int | None, *, stream: int) -> Codes:
    """Return rows in another order inside each bucket."""
    permuted = order.copy()
    _kernels.shuffle_runs(permuted, starts, random_words(len(order), seed, stream=stream))
    return permuted


def _renumbered(recoded: Recoded, seed: int | None) -> Recoded:
    """Return the same buckets under random numbers."""
    places = random_order(len(recoded.classes), seed, stream=NUMBERING)
    numbers = np.empty(len(places), dtype=np.int32)
    numbers[places] = np.arange(len(places), dtype=np.int32)
    return replace(recoded, labels=numbers[recoded.labels], classes=recoded.classes.take(places))


def _sliced(recoding: ByBucket, table: pa.Table, counted: Counted, orders: list[Codes]) -> dict[str, pa.Array]:
    """Return every attribute in the order of its slice, generalized where the recoding says so."""
    arrays: dict[str, pa.Array] = {}
    frequencies = counted.frequencies
    for names, order in zip(recoding.slices, orders, strict=True):
        part = next((each for each in recoding.generalized if set(each.names) <= set(names)), None)
        shown: dict[str, dict[str, pa.Array]] = {}
        if part is not None:
            projected, places = project(frequencies, part.names)
            found = recode(projected, part)
            cells = np.empty(frequencies.rows, dtype=np.int32)
            cells[counted.grouping.order] = np.repeat(np.arange(len(frequencies)), frequencies.counts)
            classes = found.labels[places][cells[order]]
            for place, column in enumerate(found.columns):
                codes = found.values[classes, place]
                shown[column.column] = {
                    name: compact(values, codes) if pa.types.is_string(values.type) else values.take(pa.array(codes))
                    for name, values in column.outputs
                }
        for name in names:
            arrays.update(shown.get(name) or {name: gathered(table[name], order)})
    return arrays


def _sensitive_table(table: pa.Table, names: Sequence[str], numbers: pa.Array, order: Codes) -> pa.Table:
    """Return how often each bucket has each vector of sensitive values, in the order of buckets and values."""
    columns = {name: pa.chunked_array([gathered(table[name], order)]) for name in names}
    encoded = [encode_column(name, column) for name, column in columns.items()]
    buckets = numbers.to_numpy()
    grouping = group_rows(
        [buckets, *(column.codes for column in encoded)],
        [int(buckets.max()) + 1, *(len(column.domain) for column in encoded)],
    )
    first = grouping.first.astype(np.int64)
    return pa.table(
        {
            BUCKET: pa.array(buckets[first]),
            **{name: gathered(column, first) for name, column in columns.items()},
            COUNT: pa.array(grouping.counts.astype(np.int64)),
        }
    )


def _multisets(recoding: ByBucket, table: pa.Table, recoded: Recoded, orders: list[Codes]) -> dict[str, pa.Array]:
    """Return every attribute as the multiset of its bucket, and the sensitive values in any order."""
    arrays: dict[str, pa.Array] = {}
    sizes = recoded.classes.sizes
    buckets = np.arange(len(sizes), dtype=np.int32)
    homes = {name: order for names, order in zip(recoding.slices, orders, strict=True) for name in names}
    for name in table.column_names:
        if name in recoding.names:
            place = recoding.names.index(name)
            codes, domain = recoding.vectors[recoded.cells, place], recoding.domains[place]
            words, inverse = np.unique(recoded.labels.astype(np.int64) * len(domain) + codes, return_inverse=True)
            counts = np.bincount(inverse, weights=recoded.counts).astype(np.int64)
            owners, members = np.divmod(words, len(domain))
            indptr = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(sizes)))])
            arrays[name] = compact(multiset_labels(domain.texts(), indptr, members, counts), buckets, sizes)
        elif name in homes:
            arrays[name] = gathered(table[name], homes[name])
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
