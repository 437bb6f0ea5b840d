"""The groups of a release as an attacker sees them: which values each may stand for, and what else it shows.

A group is a class of published rows or, where links are broken, the rows of a bucket that agree on what is known in
the slice of the sensitive column.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.slices import SliceCounts, together
from indistinct.machine.arrays import Codes, run_entries, starts_of
from indistinct.recoding.cover import Cover
from indistinct.recoding.outputs import MAIN
from indistinct.recoding.read_back import covered_classes
from indistinct.release.verification.bucket_evidence import BucketEvidence
from indistinct.study.attack.base import Target
from indistinct.study.attack.crowd import columns_known, domain_of, not_contained, table_of, translated


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What groups show of columns that stay together: entry `i` says that `groups[i]` shows a vector `counts[i]` times.

    `codes` has the vectors, in the codes by which people are known. Groups are parted by what is their `own`, so that
    each shows one vector of it. Classes have no entries: a `cover` says what each of them stands for in the one column.
    """

    groups: Codes
    codes: Mapping[str, Codes]
    counts: Codes
    own: bool = False
    cover: Cover | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """How often each group shows each value of a column, as compressed sparse rows in the codes of the original."""

    indptr: Codes
    codes: Codes
    counts: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of a release: how many rows each has, what it may stand for, and the sensitive values it shows.

    `whole` is the number of rows in a group's bucket; it is the group's own for classes. `class_of_row` is there for
    releases in classes: the group of every published row.
    """

    sizes: Codes
    whole: Codes
    parts: tuple[Part, ...]
    shown: Shown | None
    class_of_row: Codes | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def linked(self) -> bool:
        """Whether rows are published as classes, so that every row of a group is as likely as another."""
        return self.class_of_row is not None


def groups_of(target: Target, sensitive: str | None = None) -> Groups:
    """Return the groups of a release, and in them the values of a sensitive column."""
    known: dict[str | None, Groups] = target.learned.setdefault("groups", {})
    if sensitive not in known:
        buckets = target.published.buckets
        known[sensitive] = _classes(target, sensitive) if buckets is None else _of_buckets(target, sensitive)
    return known[sensitive]


def _classes(target: Target, sensitive: str | None) -> Groups:
    published = table_of(target.published.sources[MAIN], "the release")
    if not published.num_rows:
        nothing = np.zeros(0, dtype=np.int64)
        return Groups(nothing, nothing, (), Shown(np.zeros(1, dtype=np.int64), nothing, nothing), nothing)
    columns = columns_known(target)
    if "classes" not in target.learned:
        target.learned["classes"] = covered_classes(published, columns, schema=target.schema)
    class_of_row, covers = target.learned["classes"]
    sizes = np.bincount(class_of_row)
    nothing = np.zeros(0, dtype=np.int64)
    parts = [
        Part(nothing, {column.name: nothing}, nothing, cover=cover)
        for column, cover in zip(columns, covers, strict=True)
    ]
    shown = None
    if sensitive is not None and sensitive in published.column_names:
        values = translated(published, sensitive, domain_of(target, sensitive))
        shown = _shown(target, class_of_row, values, np.ones(len(values), dtype=np.int64), len(sizes), sensitive)
    return Groups(sizes, sizes, tuple(parts), shown, class_of_row)


def _shown(target: Target, owners: Codes, values: Codes, counts: Codes, size: int, name: str) -> Shown:
    """Return the histogram of a column; a value that the original does not have cannot come from it.

    Only an earlier release, which is about others as well, may show such values.
    """
    kept = values >= 0
    if not kept.all():
        if not target.learned.get("others"):
            strangers = int((~kept).sum())
            raise not_contained(f"{strangers:,} entries of column {name!r} show values that the original does not have")
        owners, values, counts = owners[kept], values[kept], counts[kept]
    grouping = group_rows([owners, values], [size, int(values.max(initial=0)) + 1])
    first = grouping.first
    sums = np.bincount(grouping.group_ids(), weights=counts, minlength=len(grouping)).astype(np.int64)
    return Shown(starts_of(np.bincount(owners[first], minlength=size)), values[first], sums)


def evidence_of(target: Target) -> BucketEvidence:
    """Return a release in buckets, counted slice by slice in its own codes."""
    if "evidence" not in target.learned:
        target.learned["evidence"] = target.published.in_buckets(target.schema, light=False)
    evidence: BucketEvidence = target.learned["evidence"]
    return evidence


def _of_buckets(target: Target, sensitive: str | None) -> Groups:
    evidence = evidence_of(target)
    every = [each for each in evidence.slices if sensitive in each.names]
    home = every[0] if every else None
    if home is None:  # nothing but buckets
        owners, sizes, bucket = np.zeros(0, dtype=np.int64), evidence.sizes, np.arange(len(evidence.sizes))
    else:
        own = [home.buckets, *_known(target, evidence, home).values()]
        grouping = group_rows([code + 1 for code in own], [int(code.max(initial=0)) + 2 for code in own])
        owners, bucket = grouping.group_ids(), home.buckets[grouping.first]
        sizes = np.bincount(owners, weights=home.counts, minlength=len(grouping)).astype(np.int64)
    parts = [
        _part(each, _known(target, evidence, each), bucket, owners=owners if each is home else None)
        for each in evidence.slices
    ]
    shown = None
    if home is not None and sensitive is not None:
        values = evidence.known[sensitive].translate(domain_of(target, sensitive), empty=True)[home.codes[sensitive]]
        shown = _shown(target, owners, values, home.counts, len(sizes), sensitive)
    return Groups(sizes, evidence.sizes[bucket], tuple(part for part in parts if part.codes), shown)


def _known(target: Target, evidence: BucketEvidence, each: SliceCounts) -> dict[str, Codes]:
    """Return the quasi-identifiers of a slice that are published as they are, in the codes of people."""
    generalized = set(evidence.buckets.generalized)
    domains = {column.name: column.domain for column in columns_known(target)}
    return {
        name: evidence.known[name].translate(domains[name], empty=True)[each.codes[name]]
        for name in each.names
        if name in domains and name not in generalized
    }


def _part(each: SliceCounts, codes: Mapping[str, Codes], bucket_of_group: Codes, *, owners: Codes | None) -> Part:
    """Return what groups show of a slice: entries of their own where they come from it, else those of their bucket."""
    buckets, counts = each.buckets, each.counts
    if owners is not None:
        return Part(owners, codes, counts, own=True)
    order = np.argsort(buckets, kind="stable")
    starts = np.searchsorted(buckets[order], np.arange(int(bucket_of_group.max(initial=-1)) + 2))
    lengths = np.diff(starts)[bucket_of_group]
    entries = order[run_entries(starts[bucket_of_group], lengths)]
    groups = np.repeat(np.arange(len(bucket_of_group)), lengths)
    return Part(groups, {name: each[entries] for name, each in codes.items()}, counts[entries])


def one_code(mine: Sequence[Codes], theirs: Sequence[Codes]) -> tuple[Codes, Codes]:
    """Return vectors of entries and of people as one code each, -1 for people with a value that nothing covers."""
    lost = np.logical_or.reduce([code < 0 for code in mine])
    ids, others = together([np.maximum(code, 0) for code in mine], theirs, rows=0)
    assert others is not None  # noqa: S101
    return np.where(lost, -1, ids), others
