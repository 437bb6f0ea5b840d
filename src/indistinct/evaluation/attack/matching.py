"""The groups of a release that may hold a person, and what they tell of the person's sensitive value.

A group is a class of published rows or, where links are broken, the rows of a bucket that agree on what is known in
the slice of the sensitive column.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from indistinct.evaluation.attack.base import Progress, Target
from indistinct.evaluation.attack.crowd import (
    MAX_ROWS,
    Crowd,
    columns_known,
    domain_of,
    is_sampled,
    not_contained,
    original_crowd,
    table_of,
    translate_column,
)
from indistinct.frequencies.count import Request
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.slices import Slice, together
from indistinct.frequencies.structure import Unit
from indistinct.machine.arrays import Codes, Floats, Mask, run_entries, starts_of
from indistinct.machine.ordering import distinct, distinct_with_places
from indistinct.release.sources import count_source
from indistinct.view.bucket_evidence import BucketEvidence, require_in_original
from indistinct.view.cover import Cover
from indistinct.view.read_back import covered_classes


@dataclass(frozen=True, slots=True, eq=False)
class ShownValues:
    """How often each group shows each value of a column, as compressed sparse rows in the codes of the original."""

    indptr: Codes
    codes: Codes
    counts: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of a release: how many rows each has, what it covers, and the sensitive values it shows.

    Of classes, `covers` has the values of each column that a group covers, and `class_of_row` the group of every
    published row. Of buckets, `slices` have what groups show, in the codes by which people are known; their units are
    groups, which differ in what slice `own` shows; `shared` has what two of them have in common. `whole` is the number
    of rows in a group's bucket; it is the group's own for classes.
    """

    sizes: Codes
    whole: Codes
    shown: ShownValues | None
    covers: Mapping[str, Cover] = field(default_factory=dict)
    slices: tuple[Slice, ...] = ()
    own: Slice | None = None
    shared: tuple[Slice, ...] = ()
    class_of_row: Codes | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def linked(self) -> bool:
        """Whether rows are published as classes, so that every row of a group is as likely as another."""
        return self.class_of_row is not None


def groups_of(target: Target, sensitive: str | None = None) -> Groups:
    """Return the groups of a release, and in them the values of a sensitive column."""
    read = _READERS[target.published.structure.unit]
    return target.once(("groups", sensitive), lambda: read(target, sensitive))


def _classes(target: Target, sensitive: str | None) -> Groups:
    """Read the groups of a release in classes."""
    published = table_of(target.published.main, "the release")
    if not published.num_rows:
        nothing = np.zeros(0, dtype=np.int64)
        no_values = ShownValues(np.zeros(1, dtype=np.int64), nothing, nothing)
        return Groups(nothing, nothing, no_values, class_of_row=nothing)
    columns = columns_known(target)
    class_of_row, covers = target.once("classes", lambda: covered_classes(published, columns, schema=target.schema))
    sizes = np.bincount(class_of_row)
    sensitive_values = None
    if sensitive is not None and sensitive in published.column_names:
        values = translate_column(published, sensitive, domain_of(target, sensitive))
        sensitive_values = _count_values(
            target, class_of_row, values, np.ones(len(values), dtype=np.int64), len(sizes), sensitive
        )
    by_name = {column.name: cover for column, cover in zip(columns, covers, strict=True)}
    return Groups(sizes, sizes, sensitive_values, by_name, class_of_row=class_of_row)


def _count_values(target: Target, owners: Codes, values: Codes, counts: Codes, size: int, name: str) -> ShownValues:
    """Return the histogram of a column; a value that the original does not have cannot come from it.

    Only an earlier release, which is about others as well, may show such values.
    """
    kept = values >= 0
    if not kept.all():
        if target.later is None:
            strangers = int((~kept).sum())
            raise not_contained(f"{strangers:,} entries of column {name!r} show values that the original does not have")
        owners, values, counts = owners[kept], values[kept], counts[kept]
    grouping = group_rows([owners, values], [size, int(values.max(initial=0)) + 1])
    first = grouping.first
    sums = np.bincount(grouping.group_ids(), weights=counts, minlength=len(grouping)).astype(np.int64)
    return ShownValues(starts_of(np.bincount(owners[first], minlength=size)), values[first], sums)


def evidence_of(target: Target) -> BucketEvidence:
    """Return a release in buckets, counted slice by slice in its own codes."""
    return target.once("evidence", lambda: target.published.in_buckets(target.schema, light=False))


def _of_buckets(target: Target, sensitive: str | None) -> Groups:
    """Read the groups of a release in buckets: entries of the slice with the sensitive column."""
    evidence = evidence_of(target)
    every = [each for each in evidence.slices if sensitive in each.names]
    home = every[0] if every else None
    if home is None:  # nothing but buckets
        owners: Codes = np.zeros(0, dtype=np.int64)
        bucket: Codes = np.arange(len(evidence.sizes))
        sizes = evidence.sizes
    else:
        own = [home.units, *_translate_slice(target, evidence, home).values()]
        grouping = group_rows([code + 1 for code in own], [int(code.max(initial=0)) + 2 for code in own])
        owners, bucket = grouping.group_ids(), home.units[grouping.first]
        sizes = np.bincount(owners, weights=home.counts, minlength=len(grouping)).astype(np.int64)
    slices, own_slice, sensitive_values = [], None, None
    for each in evidence.slices:
        codes = _translate_slice(target, evidence, each)
        if codes:
            slices.append(Slice(owners, codes, each.counts) if each is home else _by_group(each, codes, bucket))
            own_slice = slices[-1] if each is home else own_slice
    if home is not None and sensitive is not None:
        values = evidence.known[sensitive].translate(domain_of(target, sensitive), empty=True)[home.codes[sensitive]]
        sensitive_values = _count_values(target, owners, values, home.counts, len(sizes), sensitive)
    shared = tuple(_by_group(each, _translate_slice(target, evidence, each), bucket) for each in _shared(evidence))
    return Groups(sizes, evidence.sizes[bucket], sensitive_values, slices=tuple(slices), own=own_slice, shared=shared)


def _shared(evidence: BucketEvidence) -> list[Slice]:
    """Return the shared attributes of each two joined slices."""
    shared = []
    for join in evidence.links.joins:
        parent = evidence.slices[join.parent]
        if join.shared:
            shared.append(Slice(parent.units, {name: parent.codes[name] for name in join.shared}, parent.counts))
    return shared


_READERS: Mapping[Unit, Callable[[Target, str | None], Groups]] = {"class": _classes, "bucket": _of_buckets}
"""How groups are read, by what a release consists of."""


def _translate_slice(target: Target, evidence: BucketEvidence, each: Slice) -> dict[str, Codes]:
    """Return the quasi-identifiers of a slice that are published unmodified, in the codes of people."""
    generalized = set(evidence.structure.generalized)
    domains = {column.name: column.domain for column in columns_known(target)}
    return {
        name: evidence.known[name].translate(domains[name], empty=True)[each.codes[name]]
        for name in each.names
        if name in domains and name not in generalized
    }


def _by_group(each: Slice, codes: Mapping[str, Codes], bucket_of_group: Codes) -> Slice:
    """Return the entries of another slice in the bucket of each group."""
    buckets, counts = each.units, each.counts
    order = np.argsort(buckets, kind="stable")
    starts = np.searchsorted(buckets[order], np.arange(int(bucket_of_group.max(initial=-1)) + 2))
    lengths = np.diff(starts)[bucket_of_group]
    entries = order[run_entries(starts[bucket_of_group], lengths)]
    groups = np.repeat(np.arange(len(bucket_of_group)), lengths)
    return Slice(groups, {name: own[entries] for name, own in codes.items()}, counts[entries])


def one_code(mine: Sequence[Codes], theirs: Sequence[Codes]) -> tuple[Codes, Codes]:
    """Return vectors of entries and of people as one code each, -1 for people with a value that nothing covers."""
    lost = np.logical_or.reduce([code < 0 for code in mine])
    ids, others = together([np.maximum(code, 0) for code in mine], theirs, rows=0)
    assert others is not None  # noqa: S101
    return np.where(lost, -1, ids), others


# Whether a group covers a value is looked up in a table of at most this number of cells, else among sorted keys.
MAX_CELLS = 1 << 27
# Pairs of a person and a group, or of a person and a value, that are looked at together.
BLOCK = 1 << 23


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """The groups that may hold each distinct vector of a crowd, as compressed sparse rows.

    `vector_of_row` is the vector of each row. `weights` say how likely each group is for a vector: its rows or, where
    links are broken, the share of its bucket's rows that agree with the vector in every slice (Li et al. 2012).
    """

    vector_of_row: Codes
    indptr: Codes
    groups: Codes
    weights: Floats

    @property
    def number(self) -> Codes:
        """Return how many groups may hold each vector."""
        return np.diff(self.indptr)

    @property
    def covered(self) -> Mask:
        """Return which rows some group may hold."""
        return self.number[self.vector_of_row] > 0

    def sums(self, values: Codes) -> Codes:
        """Return the sum of a value of groups over those of each vector."""
        return np.bincount(self.owners(), weights=values[self.groups], minlength=len(self.indptr) - 1)

    def owners(self) -> Codes:
        """Return the vector of every pair."""
        return np.repeat(np.arange(len(self.indptr) - 1), self.number)

    def only(self) -> Codes:
        """Return the one group of each row, -1 where there is none or several."""
        ends = np.append(self.groups, -1)[self.indptr[:-1]]
        return np.where(self.number == 1, ends, -1)[self.vector_of_row]


def matches_of(target: Target, groups: Groups, crowd: Crowd) -> Matches:
    """Return the groups that may hold each row of a crowd; for the people of the original they are found once."""
    if crowd is not original_crowd(target):
        return match(groups, crowd, target.progress)
    key = 0 if groups.linked else id(groups)  # classes are the same whatever else is asked of them
    return target.once(("matches", key), lambda: match(groups, crowd, target.progress))


def require_contained(target: Target) -> None:
    """Raise unless an original can be that of the release.

    A class covers at least as many rows as it publishes, and a slice of buckets shows no value more often.

    Very many rows, or a sample of them, are not compared, but what the release shows must be readable with the
    original's values.
    """
    crowd, groups = original_crowd(target), groups_of(target)
    if not groups.linked:
        names = table_of(target.original, "the original").column_names
        keys = tuple((name,) for name in target.schema.sensitive if name in names)
        counted = count_source(target.original, Request(target.schema.quasi, keys, published=True))
        require_in_original(evidence_of(target), counted)
        return
    if len(crowd) > MAX_ROWS or is_sampled(target):
        return
    matches = matches_of(target, groups, crowd)
    rows = np.bincount(matches.vector_of_row, minlength=len(matches.indptr) - 1)
    covered = np.bincount(matches.groups, weights=rows[matches.owners()], minlength=len(groups))
    short = int((covered < groups.sizes).sum())
    if short:
        raise not_contained(f"{short:,} of {len(groups):,} classes publish more rows than their labels cover there")


def match(groups: Groups, crowd: Crowd, progress: Progress | None = None) -> Matches:
    """Return the groups that may contain each row of a crowd, by the known quasi-identifiers."""
    names = list(crowd.known)
    columns = [crowd.known[name] + 1 for name in names]
    grouping = group_rows(columns, [int(codes.max(initial=0)) + 1 for codes in columns])
    vectors = {name: crowd.known[name][grouping.first] for name in names}
    joined = [_Joined(vectors[name], cover=cover) for name, cover in groups.covers.items() if name in vectors]
    joined += [_join_slice(each, vectors) for each in groups.slices if set(each.codes) & set(vectors)]
    size = len(grouping)
    indptr, groups_of_rows = _covering(joined, len(groups), size, progress)
    owners = np.repeat(np.arange(size), np.diff(indptr))
    weights = groups.sizes[groups_of_rows].astype(np.float64)
    if not groups.linked:
        weights = weights / groups.whole[groups_of_rows]
        for each in joined:
            if each.slice is not None and each.slice is not groups.own:
                counts = _counts(each.slice, each.entries, each.people[owners], groups_of_rows, len(groups))
                weights *= counts / groups.whole[groups_of_rows]
        for part in groups.shared:  # both slices counted what they share
            if set(part.codes) & set(vectors):
                own = _join_slice(part, vectors)
                weights *= groups.whole[groups_of_rows] / _counts(
                    part, own.entries, own.people[owners], groups_of_rows, len(groups)
                )
    return Matches(grouping.group_ids(), indptr, groups_of_rows, weights)


_NO_ENTRIES: Codes = np.zeros(0, dtype=np.int64)


class _Joined(NamedTuple):
    """The crowd's vectors in columns that groups show, as one code, with their cover or with the entries of a slice."""

    people: Codes
    entries: Codes = _NO_ENTRIES
    slice: Slice | None = None
    cover: Cover | None = None


def _join_slice(each: Slice, vectors: dict[str, Codes]) -> _Joined:
    """Return the entries of a slice and the crowd's vectors as one code, by the columns that both have."""
    names = [name for name in each.codes if name in vectors]
    entries, people = one_code([each.codes[name] for name in names], [vectors[name] for name in names])
    return _Joined(people, entries, each)


def _covering(joined: list[_Joined], size: int, vectors: int, progress: Progress | None) -> tuple[Codes, Codes]:
    """Return the groups that cover each vector in every part, as compressed sparse rows.

    Parts are looked at one after the other, those that leave the fewest groups first. Vectors that agree in the parts
    so far are one *prefix*, whose groups are found once.
    """
    if not joined:  # the attacker knows no column that the release shows
        return np.arange(vectors + 1) * size, np.tile(np.arange(size), vectors)
    first, *others = sorted(joined, key=_density)
    indptr, groups_of_rows = _list_groups(first, size)
    prefixes = np.where(first.people < 0, len(indptr) - 2, first.people)
    for number, part in enumerate(others, start=1):
        people = part.people
        longer = group_rows([prefixes, people + 1], [int(prefixes.max(initial=0)) + 1, int(people.max(initial=0)) + 2])
        parents, values = prefixes[longer.first], people[longer.first]
        covers = _covers(part, size, values=int(people.max(initial=-1)) + 1)
        lengths, kept = np.zeros(len(longer), dtype=np.int64), [groups_of_rows[:0]]
        for some in _chunks(np.diff(indptr)[parents]):
            owners, pairs = _expand_rows(indptr, parents[some])
            inside = covers(values[some][owners], groups_of_rows[pairs])
            lengths[some] = np.bincount(owners[inside], minlength=some.stop - some.start)
            kept.append(groups_of_rows[pairs[inside]])
            if progress is not None:
                progress((number + some.stop / len(longer)) / len(joined))
        prefixes = longer.group_ids().astype(np.int64)
        indptr, groups_of_rows = starts_of(lengths), np.concatenate(kept)
    _, pairs = _expand_rows(indptr, prefixes)
    return starts_of(np.diff(indptr)[prefixes]), groups_of_rows[pairs]


def _list_groups(joined: _Joined, size: int) -> tuple[Codes, Codes]:
    """Return the groups that cover each value of a part, as compressed sparse rows; the last row is that of -1.

    The entries of the part are sorted: to compare every value with every group would take both numbers multiplied.
    """
    entries, owners = joined.entries, _NO_ENTRIES if joined.slice is None else joined.slice.units
    if joined.cover is not None:
        owners, entries = joined.cover.written_out()
    values = int(joined.people.max(initial=-1)) + 1
    known = (entries >= 0) & (entries < values)
    keys = distinct(entries[known].astype(np.int64) * size + owners[known])
    return np.append(starts_of(np.bincount(keys // max(size, 1), minlength=values)), len(keys)), keys % max(size, 1)


def _density(joined: _Joined) -> float:
    """Return how many groups cover a value of a part, on average."""
    if joined.cover is not None:
        covered = joined.cover.spread(np.ones(len(joined.cover)), joined.cover.size)
        return float(covered.sum()) / max(int((covered > 0).sum()), 1)
    return len(joined.entries) / max(len(distinct(joined.entries)), 1)


def _covers(part: _Joined, size: int, *, values: int) -> Callable[[Codes, Codes], Mask]:
    """Return a function that tests whether groups cover values: `size` groups, `values` codes; none covers -1."""
    if part.cover is not None:
        return part.cover.holds
    assert part.slice is not None  # noqa: S101  (one of both is there)
    entries, groups = part.entries, part.slice.units
    known = (entries >= 0) & (entries < values)
    if values * size <= MAX_CELLS:
        inside = np.zeros((values + 1, size), dtype=bool)  # the last row is that of -1
        inside[entries[known], groups[known]] = True
        return lambda value, group: inside[value, group]
    keys = distinct(entries[known] * size + groups[known])
    return lambda value, group: (value >= 0) & np.isin(value * size + group, keys)


def _chunks(lengths: Codes) -> Iterator[slice]:
    """Yield runs of owners that do not have too many pairs together."""
    ends = starts_of(lengths)
    start = 0
    while start < len(lengths):
        stop = max(int(np.searchsorted(ends, ends[start] + BLOCK, side="right")) - 1, start + 1)
        yield slice(start, stop)
        start = stop


def _expand_rows(indptr: Codes, rows: Codes) -> tuple[Codes, Codes]:
    """Return the entries of some rows of compressed sparse ones, and before them which of these rows each is of."""
    lengths = np.diff(indptr)[rows]
    owners = np.repeat(np.arange(len(rows)), lengths)
    return owners, run_entries(indptr[rows], lengths)


def _counts(part: Slice, entries: Codes, wanted: Codes, groups: Codes, size: int) -> Codes:
    """Count, for each group, the rows that show the requested vector of a part."""
    kept = entries >= 0
    keys, inverse = distinct_with_places((entries * size + part.units)[kept])
    sums = np.bincount(inverse, weights=part.counts[kept])
    return sums[np.searchsorted(keys, wanted * size + groups)]


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """How likely each sensitive value is for each distinct vector, given the release: compressed sparse rows of shares.

    `prior` is the share of each value in the whole release, which is public.
    """

    vector_of_row: Codes
    indptr: Codes
    codes: Codes
    shares: Codes
    prior: Codes

    @property
    def number(self) -> Codes:
        """Return how many values are possible for each vector."""
        return np.diff(self.indptr)

    def owners(self) -> Codes:
        """Return the vector of every entry."""
        return np.repeat(np.arange(len(self.indptr) - 1), self.number)

    def entries_of(self, own: Codes) -> Codes:
        """Return the entry of each row's own value, -1 where that is not possible."""
        size = len(self.prior)
        keys = self.owners() * size + self.codes
        wanted = self.vector_of_row * size + own
        positions = np.searchsorted(keys, wanted).clip(max=max(len(keys) - 1, 0))
        present = (own >= 0) & (keys[positions] == wanted) if len(keys) else np.zeros(len(own), dtype=bool)
        return np.where(present, positions, -1)

    def own_shares(self, own: Codes) -> Codes:
        """Return the share of each row's own value, 0 where that is not possible."""
        entries = self.entries_of(own)
        return np.where(entries < 0, 0.0, np.append(self.shares, 0.0)[entries])


def belief(groups: Groups, matches: Matches, *, size: int) -> Belief:
    """Return what a release reveals about a sensitive column, whose domain has `size` values."""
    values = groups.shown
    assert values is not None  # noqa: S101  (groups were asked for with the column)
    owners, codes, shares = [], [], []
    lengths = np.add.reduceat(np.append(np.diff(values.indptr)[matches.groups], 0), matches.indptr[:-1])
    for some in _chunks(np.where(matches.number > 0, lengths, 0)):
        pairs = slice(int(matches.indptr[some.start]), int(matches.indptr[some.stop]))
        index, entries = _expand_rows(values.indptr, matches.groups[pairs])
        own = np.repeat(np.arange(some.start, some.stop), matches.number[some])[index]
        weights = (matches.weights[pairs] / groups.sizes[matches.groups[pairs]])[index] * values.counts[entries]
        keys, inverse = distinct_with_places(own * size + values.codes[entries])
        owners.append(keys // size)
        codes.append(keys % size)
        shares.append(np.bincount(inverse, weights=weights, minlength=len(keys)))
    nothing = np.zeros(0, dtype=np.int64)
    owner = np.concatenate([nothing, *owners])
    share = np.concatenate([nothing.astype(np.float64), *shares])
    vectors = len(matches.indptr) - 1
    share = share / np.bincount(owner, weights=share, minlength=vectors)[owner]
    prior = np.bincount(values.codes, weights=values.counts, minlength=size)
    prior = prior / max(prior.sum(), 1)
    indptr = starts_of(np.bincount(owner, minlength=vectors))
    return Belief(matches.vector_of_row, indptr, np.concatenate([nothing, *codes]), share, prior)


def prior_belief(known: Belief) -> Belief:
    """Return the belief without quasi-identifiers: the overall distribution, for all rows."""
    (codes,) = np.nonzero(known.prior)
    rows = np.zeros(len(known.vector_of_row), dtype=np.int64)
    return Belief(rows, np.array([0, len(codes)]), codes, known.prior[codes], known.prior)
