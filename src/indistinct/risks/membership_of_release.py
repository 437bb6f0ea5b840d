"""Membership disclosure of a published table, beside the original that an algorithm was given."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.arrays import Codes
from indistinct.engines.base import Request
from indistinct.engines.memory import Memory
from indistinct.errors import InputError
from indistinct.hierarchy import Hierarchy
from indistinct.recoding.columns import columns_of
from indistinct.recoding.interpret import cover_of
from indistinct.release.bucket_table import BucketTable, coded, plain
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
    whole = open_table(original).data
    if isinstance(published, BucketTable):
        shown, originals = _buckets(published, schema, whole, quasi_only=quasi_only)
    else:
        shown, originals = _classes(open_table(published).data, schema, whole, hierarchies=hierarchies or {})
    return membership(shown, originals, **options)


def _buckets(published: BucketTable, schema: Schema, whole: pa.Table, *, quasi_only: bool) -> tuple[BucketCodes, Codes]:
    rows = plain(published, schema)
    codes = coded(rows, whole)
    columns, originals = [], []
    for names in rows.slices:
        wanted = [name for name in names if not (quasi_only and name in schema.sensitive)]
        if not wanted:
            continue
        shown, known = codes.joined(wanted)
        if known is None:
            raise InputError(
                f"the column of {', '.join(map(repr, wanted))} shows values that the original does not have",
                hint="membership can be measured where values are published as they are",
            )
        dense, place = _dense(shown, int(known.max(initial=0)) + 1)
        columns.append(dense)
        originals.append(place[known])
    return BucketCodes(codes.buckets, tuple(columns)), np.stack(originals, axis=1)


def _classes(
    published: pa.Table, schema: Schema, whole: pa.Table, *, hierarchies: Mapping[str, Hierarchy]
) -> tuple[BucketCodes, Codes]:
    """Return classes as buckets with a column for each quasi-identifier, and the distinct vectors of the original."""
    counted = Memory().count(whole, Request(schema.quasi, (), hierarchies))
    if not published.num_rows:  # every row is suppressed: nothing matches anything
        nothing = np.zeros(0, dtype=np.int64)
        return BucketCodes(nothing, (nothing,) * len(counted.domains)), np.full_like(counted.frequencies.vectors, -1)
    covers = cover_of(published, columns_of(counted.domains, hierarchies), schema=schema)
    # A class has as many rows as its longest column; others repeat their values.
    lengths = np.stack([np.diff(cover.indptr) for cover in covers], axis=1)
    longest = lengths.max(axis=1)
    buckets = np.repeat(np.arange(len(longest)), longest)
    places = np.arange(len(buckets)) - np.repeat(np.cumsum(longest) - longest, longest)
    columns, originals = [], []
    for column, cover in enumerate(covers):
        shown = cover.codes[cover.indptr[buckets] + places % lengths[buckets, column]]
        dense, place = _dense(shown, len(counted.domains[column]))
        columns.append(dense)
        originals.append(place[counted.frequencies.vectors[:, column]])
    return BucketCodes(buckets, tuple(columns)), np.stack(originals, axis=1)


def _dense(shown: Codes, size: int) -> tuple[Codes, Codes]:
    """Return codes without gaps, and the new one of every old code below `size`, -1 for those that are not shown."""
    dense = np.unique(shown, return_inverse=True)[1]
    place = np.full(max(size, int(shown.max()) + 1), -1, dtype=np.int64)
    place[shown] = dense
    return dense, place
