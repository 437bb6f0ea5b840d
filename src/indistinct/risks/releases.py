"""Membership disclosure of a published table in buckets, beside the original that an algorithm was given."""

from typing import Any

import numpy as np

from indistinct.errors import InputError
from indistinct.release.bucket_table import BucketTable, coded, plain
from indistinct.risks.membership import BucketCodes, Membership, membership
from indistinct.schema import Schema
from indistinct.tables import open_table


def membership_of(
    published: BucketTable,
    schema: Schema,
    *,
    original: Any,
    quasi_only: bool = False,
    **options: Any,
) -> Membership:
    """Return how well a release hides who is in it: its candidates, the originals among them, and the fake tuples.

    With `quasi_only` tuples are what others may know of a person, without the sensitive attributes. `options` are
    those of `membership`: the limit of exact counting, the samples of an estimate.
    """
    rows = plain(published, schema)
    codes = coded(rows, open_table(original).data)
    columns, originals = [], []
    for names in rows.slices:
        wanted = [name for name in names if not (quasi_only and name in schema.sensitive)]
        if not wanted:
            continue
        shown, whole = codes.joined(wanted)
        if whole is None:
            raise InputError(
                f"the column of {', '.join(map(repr, wanted))} shows values that the original does not have",
                hint="membership can be measured where values are published as they are",
            )
        dense = np.unique(shown, return_inverse=True)[1]
        place = np.full(int(max(shown.max(), whole.max())) + 1, -1, dtype=np.int64)
        place[shown] = dense
        columns.append(dense)
        originals.append(place[whole])
    return membership(BucketCodes(codes.buckets, tuple(columns)), np.stack(originals, axis=1), **options)
