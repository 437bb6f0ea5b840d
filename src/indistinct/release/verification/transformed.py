"""Whether a release was transformed as it is declared: seen on the published columns alone, whoever made them."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from indistinct.engines.base import Engine, Source
from indistinct.engines.transformed import transformed_source
from indistinct.errors import InputError
from indistinct.frequencies.request import Request
from indistinct.machine.arrays import Codes
from indistinct.recoding.labels import written_multiset
from indistinct.recoding.outputs import Buckets
from indistinct.recoding.transformations import Transformation, may_come_of
from indistinct.release.opened import OpenedTables
from indistinct.release.verification.evidence import NotTransformed
from indistinct.tables.value import Table


def not_transformed(
    engine: Engine,
    sources: Mapping[str, Source],
    transformations: Mapping[str, Transformation],
    *,
    buckets: Buckets | None = None,
) -> list[NotTransformed]:
    """Return the published columns that hold values which their transformations do not make.

    A column that is not published has nothing to show, and of one that was generalized afterwards nothing can be said.
    """
    found = []
    for source in sources.values():
        for name, given in transformations.items():
            if name not in source.columns or (buckets is not None and name in buckets.generalized):
                continue
            values, rows = _strange(
                engine, source, name, given, multisets=buckets is not None and buckets.form == "multiset"
            )
            if values:
                found.append(NotTransformed(name, given.spec(), values, rows))
    return found


def not_shown(release: OpenedTables, transformations: Mapping[str, Transformation]) -> frozenset[str]:
    """Return the columns of a release that do not show their transformations."""
    found = not_transformed(release.engine, release.sources, transformations, buckets=release.buckets)
    return frozenset(each.column for each in found)


def transformed_alike(
    original: Source, transformations: Mapping[str, Transformation], *, release: OpenedTables
) -> tuple[Source, Mapping[str, Transformation]]:
    """Return an original that is transformed as its release was, and the transformations with what they learnt of it.

    A column of which the release does not show its transformation stays as it was: both can then still be compared.
    """
    whole, made = transformed_source(original, transformations)
    strange = not_shown(release, made.declared)
    if strange:
        others = {name: each for name, each in transformations.items() if name not in strange}
        whole, _ = transformed_source(original, others)
    return whole, made.declared


def _strange(engine: Engine, source: Source, name: str, given: Transformation, *, multisets: bool) -> tuple[int, int]:
    """Return how many distinct values do not come of a transformation, and how many rows have one."""
    if isinstance(source, Table) and source.data[name].null_count == source.rows:
        return 0, 0
    try:
        counted = engine.count(source, Request((name,), published=True))
    except InputError:  # of a type that cannot be counted, which no transformation makes
        return source.rows, source.rows
    domain, cells = counted.known[name], counted.frequencies
    fits = _fitting(given, domain.values, multisets=multisets)
    every = np.concatenate([np.ones(int(domain.missing), dtype=bool), fits])
    strange = ~every[cells.vectors[:, 0]]
    return int(strange.sum()), int(cells.counts[strange].sum())


def _fitting(given: Transformation, values: pa.Array, *, multisets: bool) -> Codes:
    if not multisets or not pa.types.is_string(values.type):
        return may_come_of(given, values)
    members = [written_multiset(text) for text in values.to_pylist()]
    texts = [
        [text] if parts is None else [part for part, _ in parts if part is not None]
        for text, parts in zip(values.to_pylist(), members, strict=True)
    ]
    known = sorted({text for several in texts for text in several})
    fits = dict(zip(known, may_come_of(given, pa.array(known, pa.string())).tolist(), strict=True))
    return np.array([all(fits[text] for text in several) for several in texts], dtype=bool)
