"""Membership disclosure of a published table, beside the original that an algorithm was given."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.arrays import Codes, starts_of
from indistinct.engines import open_source
from indistinct.engines.base import Engine, Source
from indistinct.errors import InputError
from indistinct.frequencies.grouping import group_rows
from indistinct.frequencies.request import Request
from indistinct.hierarchy import Hierarchy
from indistinct.ordering import distinct_with_places
from indistinct.recoding.columns import columns_of
from indistinct.recoding.read_back import Cover, cover_of
from indistinct.release.published import BucketTable, open_published
from indistinct.release.reading import require_original
from indistinct.risks.membership import BucketCodes, Membership, membership
from indistinct.schema import Schema
from indistinct.tables import open_table


def membership_of(
    published: Any,
    schema: Schema,
    *,
    original: Any,
    quasi_only: bool = False,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    **options: Any,
) -> Membership:
    """Return how well a release hides who is in it: its candidates, the originals among them, and the fake tuples.

    `published` is a `BucketTable`, or a table of classes from anywhere: a tuple of quasi-identifiers matches a class
    whose published values, read with the `hierarchies` that they come from, cover it. Of buckets, tuples have every
    attribute; with `quasi_only` they are what others may know of a person, without the sensitive ones. `options` are
    those of `membership`: the limit of exact counting, the samples of an estimate.
    """
    engine, whole = open_source(original)
    if isinstance(published, BucketTable):
        shown, originals = _buckets(published, schema, engine, whole, quasi_only=quasi_only)
    else:
        shown, originals = _classes(
            open_table(published, published=True).data, schema, engine, whole, hierarchies=hierarchies or {}
        )
    return membership(shown, originals, **options)


def _buckets(
    published: BucketTable, schema: Schema, engine: Engine, whole: Source, *, quasi_only: bool
) -> tuple[BucketCodes, Codes]:
    opened = open_published(published, schema)
    require_original(published.buckets, whole.columns)
    keys = tuple((name,) for name in schema.sensitive)
    known = (*schema.quasi, *schema.insensitive)
    reference = engine.count(whole, Request(known, keys, joint=bool(keys), published=True))
    evidence = opened.in_buckets(schema, reference=reference, light=False)
    covers, originals = [], []
    for each in evidence.slices:
        wanted = [name for name in each.names if not (quasi_only and name in schema.sensitive)]
        if not wanted:
            continue
        mine, theirs = evidence.compared(each, wanted, whole=not quasi_only)
        if (theirs < 0).any() or set(wanted) & set(published.generalized):
            raise InputError(
                f"the column of {', '.join(map(repr, wanted))} does not show the values of the original",
                hint="membership can be measured where values are published as they are",
            )
        pairs = group_rows([each.buckets, mine], [len(evidence.sizes), int(mine.max(initial=0)) + 1])
        buckets = each.buckets[pairs.first]
        covers.append(Cover(starts_of(np.bincount(buckets, minlength=len(evidence.sizes))), mine[pairs.first]))
        originals.append(theirs)
    return _padded(covers, np.stack(originals, axis=1))


def _classes(
    published: pa.Table, schema: Schema, engine: Engine, whole: Source, *, hierarchies: Mapping[str, Hierarchy]
) -> tuple[BucketCodes, Codes]:
    """Return classes as buckets with a column for each quasi-identifier, and the distinct vectors of the original."""
    counted = engine.count(whole, Request(schema.quasi, (), hierarchies))
    if not published.num_rows:  # every row is suppressed: nothing matches anything
        nothing = np.zeros(0, dtype=np.int64)
        return BucketCodes(nothing, (nothing,) * len(counted.domains)), np.full_like(counted.frequencies.vectors, -1)
    covers = cover_of(published, columns_of(counted.domains, hierarchies), schema=schema)
    return _padded(covers, counted.frequencies.vectors)


def _padded(covers: Sequence[Cover], originals: Codes) -> tuple[BucketCodes, Codes]:
    """Return buckets as rows, as many as the longest column of each has values; other columns repeat theirs."""
    lengths = np.stack([np.diff(cover.indptr) for cover in covers], axis=1)
    longest = lengths.max(axis=1)
    buckets = np.repeat(np.arange(len(longest)), longest)
    steps = np.arange(len(buckets)) - np.repeat(np.cumsum(longest) - longest, longest)
    columns, wanted = [], []
    for index, cover in enumerate(covers):
        codes = cover.codes[cover.indptr[buckets] + steps % lengths[buckets, index]]
        dense = distinct_with_places(codes)[1]
        lookup = np.full(int(max(codes.max(), originals[:, index].max())) + 1, -1, dtype=np.int64)
        lookup[codes] = dense
        columns.append(dense)
        wanted.append(lookup[originals[:, index]])
    return BucketCodes(buckets, tuple(columns)), np.stack(wanted, axis=1)
