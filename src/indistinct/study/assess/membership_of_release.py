"""Membership disclosure of a published table, beside the original that an algorithm was given."""

from typing import Any, Unpack

import numpy as np

from indistinct.engines import open_source
from indistinct.engines.base import Engine, Source
from indistinct.errors import InputError
from indistinct.frequencies.count import Request
from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes, starts_of
from indistinct.recoding.columns import columns_of
from indistinct.recoding.cover import Cover, cover_of_codes, cover_of_each
from indistinct.recoding.outputs import Buckets
from indistinct.recoding.read_back import cover_of
from indistinct.release.opening import require_original
from indistinct.release.published import Knowledge, Published, describe_release
from indistinct.schema import Schema
from indistinct.study.assess.membership import Membership, membership_by_covers
from indistinct.tables import open_table


def membership_of(
    published: Any,
    schema: Schema | None = None,
    *,
    quasi_only: bool = False,
    limit: int = 20_000_000,
    samples: int = 200_000,
    seed: int | None = None,
    **known: Unpack[Knowledge],
) -> Membership:
    """Return how well a release hides who is in it: its candidates, the originals among them, and the fake tuples.

    `published` is a `Release` or a `Published`, a `BucketTable`, or a table of classes from anywhere, with what is
    `known` of it: a tuple of quasi-identifiers matches a class whose published values, read with the `hierarchies` that
    they come from, cover it. Of buckets, tuples have every attribute; with `quasi_only` they are what others may know
    of a person, without the sensitive ones. Further options are those of `membership`.
    """
    opened = describe_release(published, schema, **known)
    engine, whole = open_source(opened.require_original("membership_of"))
    if opened.buckets is not None:
        shown, originals = _buckets(opened, opened.buckets, engine, whole, quasi_only=quasi_only)
    else:
        shown, originals = _classes(opened, engine, whole)
    return membership_by_covers(shown, originals, limit=limit, samples=samples, seed=seed)


def membership_by_kind(opened: Published) -> dict[str, Membership]:
    """Return how well a release hides who is in it for each kind of tuples that somebody may know."""
    if opened.buckets is None:
        return {"quasi-identifiers": membership_of(opened)}
    kinds = {"all attributes": False, "without sensitive ones": True}
    return {kind: membership_of(opened, quasi_only=alone) for kind, alone in kinds.items()}


def _buckets(
    opened: Published, buckets: Buckets, engine: Engine, whole: Source, *, quasi_only: bool
) -> tuple[tuple[Cover, ...], Codes]:
    schema = opened.schema
    require_original(buckets, whole.columns)
    keys = tuple((name,) for name in schema.sensitive)
    known = (*schema.quasi, *schema.insensitive)
    reference = engine.count(whole, Request(known, keys, joint=bool(keys), published=True))
    evidence = opened.tables.in_buckets(schema, reference=reference, light=False)
    covers, originals = [], []
    for each in evidence.slices:
        wanted = [name for name in each.names if not (quasi_only and name in schema.sensitive)]
        if not wanted:
            continue
        mine, theirs = evidence.compared(each, wanted, whole=not quasi_only)
        if (theirs < 0).any() or set(wanted) & set(buckets.generalized):
            raise InputError(
                f"the column of {', '.join(map(repr, wanted))} does not show the values of the original",
                hint="membership can be measured where values are published as they are",
            )
        pairs = group_rows([each.buckets, mine], [len(evidence.sizes), int(mine.max(initial=0)) + 1])
        owners = each.buckets[pairs.first]
        starts = starts_of(np.bincount(owners, minlength=len(evidence.sizes)))
        covers.append(cover_of_codes(starts, mine[pairs.first]))
        originals.append(theirs)
    return tuple(covers), np.stack(originals, axis=1)


def _classes(opened: Published, engine: Engine, whole: Source) -> tuple[tuple[Cover, ...], Codes]:
    """Return classes as buckets with a column for each quasi-identifier, and the distinct vectors of the original."""
    published = open_table(opened.main, published=True).data
    schema, hierarchies = opened.schema, opened.used_hierarchies
    counted = engine.count(whole, Request(schema.quasi, (), hierarchies))
    if not published.num_rows:  # every row is suppressed: nothing matches anything
        nothing = cover_of_each(np.zeros(0, dtype=np.int64))
        return (nothing,) * len(counted.domains), np.full_like(counted.frequencies.vectors, -1)
    covers = cover_of(published, columns_of(counted.domains, hierarchies), schema=schema)
    return covers, counted.frequencies.vectors
