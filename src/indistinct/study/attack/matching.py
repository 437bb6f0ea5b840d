"""The groups of a release that may hold a person, and what they tell of the person's sensitive value.

A group is a class of published rows or, where links are broken, the rows of a bucket that agree on what is known in
the slice of the sensitive column.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.slices import SliceCounts, together
from indistinct.machine.arrays import Codes, run_entries, starts_of
from indistinct.machine.ordering import distinct, distinct_with_places
from indistinct.recoding.cover import Cover
from indistinct.recoding.outputs import MAIN
from indistinct.recoding.read_back import covered_classes
from indistinct.release.verification.bucket_evidence import BucketEvidence
from indistinct.study.attack.base import Progress, Target
from indistinct.study.attack.crowd import (
    MOST_ROWS,
    Crowd,
    columns_known,
    domain_of,
    is_sampled,
    not_contained,
    original_crowd,
    table_of,
    translate_column,
)


@dataclass(frozen=True, slots=True, eq=False)
class GroupPart:
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
class ShownValues:
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
    parts: tuple[GroupPart, ...]
    shown: ShownValues | None
    class_of_row: Codes | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def linked(self) -> bool:
        """Whether rows are published as classes, so that every row of a group is as likely as another."""
        return self.class_of_row is not None


def groups_of(target: Target, sensitive: str | None = None) -> Groups:
    """Return the groups of a release, and in them the values of a sensitive column."""
    read = _classes if target.published.buckets is None else _of_buckets
    return target.once(("groups", sensitive), lambda: read(target, sensitive))


def _classes(target: Target, sensitive: str | None) -> Groups:
    published = table_of(target.published.sources[MAIN], "the release")
    if not published.num_rows:
        nothing = np.zeros(0, dtype=np.int64)
        return Groups(nothing, nothing, (), ShownValues(np.zeros(1, dtype=np.int64), nothing, nothing), nothing)
    columns = columns_known(target)
    class_of_row, covers = target.once("classes", lambda: covered_classes(published, columns, schema=target.schema))
    sizes = np.bincount(class_of_row)
    nothing = np.zeros(0, dtype=np.int64)
    parts = [
        GroupPart(nothing, {column.name: nothing}, nothing, cover=cover)
        for column, cover in zip(columns, covers, strict=True)
    ]
    shown = None
    if sensitive is not None and sensitive in published.column_names:
        values = translate_column(published, sensitive, domain_of(target, sensitive))
        shown = _count_values(target, class_of_row, values, np.ones(len(values), dtype=np.int64), len(sizes), sensitive)
    return Groups(sizes, sizes, tuple(parts), shown, class_of_row)


def _count_values(target: Target, owners: Codes, values: Codes, counts: Codes, size: int, name: str) -> ShownValues:
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
    return ShownValues(starts_of(np.bincount(owners[first], minlength=size)), values[first], sums)


def evidence_of(target: Target) -> BucketEvidence:
    """Return a release in buckets, counted slice by slice in its own codes."""
    return target.once("evidence", lambda: target.published.in_buckets(target.schema, light=False))


def _of_buckets(target: Target, sensitive: str | None) -> Groups:
    evidence = evidence_of(target)
    every = [each for each in evidence.slices if sensitive in each.names]
    home = every[0] if every else None
    if home is None:  # nothing but buckets
        owners, sizes, bucket = np.zeros(0, dtype=np.int64), evidence.sizes, np.arange(len(evidence.sizes))
    else:
        own = [home.buckets, *_translate_slice(target, evidence, home).values()]
        grouping = group_rows([code + 1 for code in own], [int(code.max(initial=0)) + 2 for code in own])
        owners, bucket = grouping.group_ids(), home.buckets[grouping.first]
        sizes = np.bincount(owners, weights=home.counts, minlength=len(grouping)).astype(np.int64)
    parts = [
        _part(each, _translate_slice(target, evidence, each), bucket, owners=owners if each is home else None)
        for each in evidence.slices
    ]
    shown = None
    if home is not None and sensitive is not None:
        values = evidence.known[sensitive].translate(domain_of(target, sensitive), empty=True)[home.codes[sensitive]]
        shown = _count_values(target, owners, values, home.counts, len(sizes), sensitive)
    return Groups(sizes, evidence.sizes[bucket], tuple(part for part in parts if part.codes), shown)


def _translate_slice(target: Target, evidence: BucketEvidence, each: SliceCounts) -> dict[str, Codes]:
    """Return the quasi-identifiers of a slice that are published as they are, in the codes of people."""
    generalized = set(evidence.buckets.generalized)
    domains = {column.name: column.domain for column in columns_known(target)}
    return {
        name: evidence.known[name].translate(domains[name], empty=True)[each.codes[name]]
        for name in each.names
        if name in domains and name not in generalized
    }


def _part(each: SliceCounts, codes: Mapping[str, Codes], bucket_of_group: Codes, *, owners: Codes | None) -> GroupPart:
    """Return what groups show of a slice: entries of their own where they come from it, else those of their bucket."""
    buckets, counts = each.buckets, each.counts
    if owners is not None:
        return GroupPart(owners, codes, counts, own=True)
    order = np.argsort(buckets, kind="stable")
    starts = np.searchsorted(buckets[order], np.arange(int(bucket_of_group.max(initial=-1)) + 2))
    lengths = np.diff(starts)[bucket_of_group]
    entries = order[run_entries(starts[bucket_of_group], lengths)]
    groups = np.repeat(np.arange(len(bucket_of_group)), lengths)
    return GroupPart(groups, {name: each[entries] for name, each in codes.items()}, counts[entries])


def one_code(mine: Sequence[Codes], theirs: Sequence[Codes]) -> tuple[Codes, Codes]:
    """Return vectors of entries and of people as one code each, -1 for people with a value that nothing covers."""
    lost = np.logical_or.reduce([code < 0 for code in mine])
    ids, others = together([np.maximum(code, 0) for code in mine], theirs, rows=0)
    assert others is not None  # noqa: S101
    return np.where(lost, -1, ids), others


# Whether a group covers a value is looked up in a table of up to so many cells, above among sorted keys.
MOST_CELLS = 1 << 27
# So many pairs of a person and a group, or of a person and a value, are looked at together.
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
    weights: Codes

    @property
    def number(self) -> Codes:
        """Return how many groups may hold each vector."""
        return np.diff(self.indptr)

    @property
    def covered(self) -> Codes:
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
    """Raise unless an original can be that of the release: a class covers at least as many rows as it publishes.

    Very many rows, or a sample of them, are not compared, but what the release shows must be readable with the
    original's values.
    """
    crowd, groups = original_crowd(target), groups_of(target)
    if not groups.linked or len(crowd) > MOST_ROWS or is_sampled(target):
        return
    matches = matches_of(target, groups, crowd)
    rows = np.bincount(matches.vector_of_row, minlength=len(matches.indptr) - 1)
    covered = np.bincount(matches.groups, weights=rows[matches.owners()], minlength=len(groups))
    short = int((covered < groups.sizes).sum())
    if short:
        raise not_contained(f"{short:,} of {len(groups):,} classes publish more rows than their labels cover there")


def match(groups: Groups, crowd: Crowd, progress: Progress | None = None) -> Matches:
    """Return the groups that may hold each row of a crowd, as far as its people are known."""
    names = list(crowd.known)
    columns = [crowd.known[name] + 1 for name in names]
    grouping = group_rows(columns, [int(codes.max(initial=0)) + 1 for codes in columns])
    vectors = {name: crowd.known[name][grouping.first] for name in names}
    joined = [_join_part(part, vectors) for part in groups.parts if set(part.codes) & set(vectors)]
    size = len(grouping)
    indptr, found = _covering(joined, len(groups), size, progress)
    owners = np.repeat(np.arange(size), np.diff(indptr))
    weights = groups.sizes[found].astype(np.float64)
    if not groups.linked:
        weights = weights / groups.whole[found]
        for part, entries, people in joined:
            if not part.own:
                weights *= _counts(part, entries, people[owners], found, len(groups)) / groups.whole[found]
    return Matches(grouping.group_ids(), indptr, found, weights)


_Joined = tuple[GroupPart, Codes, Codes]


def _join_part(part: GroupPart, vectors: dict[str, Codes]) -> _Joined:
    """Return a part, its entries and the crowd's vectors as one code, by the columns that both have."""
    names = [name for name in part.codes if name in vectors]
    if part.cover is not None:
        return part, np.zeros(0, dtype=np.int64), vectors[names[0]]
    return (part, *one_code([part.codes[name] for name in names], [vectors[name] for name in names]))


def _covering(joined: list[_Joined], size: int, vectors: int, progress: Progress | None) -> tuple[Codes, Codes]:
    """Return the groups that cover each vector in every part, as compressed sparse rows.

    Parts are looked at one after the other, those that leave the fewest groups first. Vectors that agree in the parts
    so far are one *prefix*, whose groups are found once.
    """
    if not joined:  # nothing is known of people that the release shows
        return np.arange(vectors + 1) * size, np.tile(np.arange(size), vectors)
    first, *others = sorted(joined, key=_density)
    indptr, found = _list_groups(first, size)
    prefixes = np.where(first[2] < 0, len(indptr) - 2, first[2])
    for number, (part, entries, people) in enumerate(others, start=1):
        longer = group_rows([prefixes, people + 1], [int(prefixes.max(initial=0)) + 1, int(people.max(initial=0)) + 2])
        parents, values = prefixes[longer.first], people[longer.first]
        covers = _lookup(part, entries, size, values=int(people.max(initial=-1)) + 1)
        lengths, kept = np.zeros(len(longer), dtype=np.int64), [found[:0]]
        for some in _chunks(np.diff(indptr)[parents]):
            owners, pairs = _expand_rows(indptr, parents[some])
            inside = covers(values[some][owners], found[pairs])
            lengths[some] = np.bincount(owners[inside], minlength=some.stop - some.start)
            kept.append(found[pairs[inside]])
            if progress is not None:
                progress((number + some.stop / len(longer)) / len(joined))
        prefixes = longer.group_ids().astype(np.int64)
        indptr, found = starts_of(lengths), np.concatenate(kept)
    _, pairs = _expand_rows(indptr, prefixes)
    return starts_of(np.diff(indptr)[prefixes]), found[pairs]


def _list_groups(joined: _Joined, size: int) -> tuple[Codes, Codes]:
    """Return the groups that cover each value of a part, as compressed sparse rows; the last row is that of -1.

    The entries of the part are sorted: to compare every value with every group would take both numbers multiplied.
    """
    part, entries, people = joined
    owners = part.groups
    if part.cover is not None:
        owners, entries = part.cover.written_out()
    values = int(people.max(initial=-1)) + 1
    known = (entries >= 0) & (entries < values)
    keys = distinct(entries[known].astype(np.int64) * size + owners[known])
    return np.append(starts_of(np.bincount(keys // max(size, 1), minlength=values)), len(keys)), keys % max(size, 1)


def _density(joined: _Joined) -> float:
    """Return how many groups cover a value of a part, on average."""
    part, entries, _ = joined
    if part.cover is not None:
        covered = part.cover.spread(np.ones(len(part.cover)), int(part.cover.high.max(initial=-1)) + 1)
        return float(covered.sum()) / max(int((covered > 0).sum()), 1)
    return len(entries) / max(len(distinct(entries)), 1)


def _lookup(part: GroupPart, entries: Codes, size: int, *, values: int) -> Callable[[Codes, Codes], Codes]:
    """Return a test whether a group covers a value; no group covers -1."""
    if part.cover is not None:
        return part.cover.holds
    known = (entries >= 0) & (entries < values)
    if values * size <= MOST_CELLS:
        inside = np.zeros((values + 1, size), dtype=bool)  # the last row is that of -1
        inside[entries[known], part.groups[known]] = True
        return lambda value, group: inside[value, group]
    keys = distinct(entries[known] * size + part.groups[known])
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


def _counts(part: GroupPart, entries: Codes, wanted: Codes, groups: Codes, size: int) -> Codes:
    """Return how often each group shows the vector of a part that is wanted of it."""
    kept = entries >= 0
    keys, places = distinct_with_places((entries * size + part.groups)[kept])
    sums = np.bincount(places, weights=part.counts[kept])
    return sums[np.searchsorted(keys, wanted * size + groups)]


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """How likely each sensitive value is for each distinct vector, given the release: compressed sparse rows of shares.

    `prior` is the share of each value in the whole release, which everybody may know.
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
        places = np.searchsorted(keys, wanted).clip(max=max(len(keys) - 1, 0))
        found = (own >= 0) & (keys[places] == wanted) if len(keys) else np.zeros(len(own), dtype=bool)
        return np.where(found, places, -1)

    def own_shares(self, own: Codes) -> Codes:
        """Return the share of each row's own value, 0 where that is not possible."""
        entries = self.entries_of(own)
        return np.where(entries < 0, 0.0, np.append(self.shares, 0.0)[entries])


def belief(groups: Groups, matches: Matches, *, size: int) -> Belief:
    """Return what a release tells of a sensitive column, whose domain has `size` values."""
    shown = groups.shown
    assert shown is not None  # noqa: S101  (groups were asked for with the column)
    owners, codes, shares = [], [], []
    lengths = np.add.reduceat(np.append(np.diff(shown.indptr)[matches.groups], 0), matches.indptr[:-1])
    for some in _chunks(np.where(matches.number > 0, lengths, 0)):
        pairs = slice(int(matches.indptr[some.start]), int(matches.indptr[some.stop]))
        index, entries = _expand_rows(shown.indptr, matches.groups[pairs])
        own = np.repeat(np.arange(some.start, some.stop), matches.number[some])[index]
        weights = (matches.weights[pairs] / groups.sizes[matches.groups[pairs]])[index] * shown.counts[entries]
        keys, places = distinct_with_places(own * size + shown.codes[entries])
        owners.append(keys // size)
        codes.append(keys % size)
        shares.append(np.bincount(places, weights=weights, minlength=len(keys)))
    nothing = np.zeros(0, dtype=np.int64)
    owner = np.concatenate([nothing, *owners])
    share = np.concatenate([nothing.astype(np.float64), *shares])
    vectors = len(matches.indptr) - 1
    share = share / np.bincount(owner, weights=share, minlength=vectors)[owner]
    prior = np.bincount(shown.codes, weights=shown.counts, minlength=size)
    prior = prior / max(prior.sum(), 1)
    indptr = starts_of(np.bincount(owner, minlength=vectors))
    return Belief(matches.vector_of_row, indptr, np.concatenate([nothing, *codes]), share, prior)


def prior_belief(known: Belief) -> Belief:
    """Return what everybody knows without a person's quasi-identifiers: the same of all rows."""
    (codes,) = np.nonzero(known.prior)
    rows = np.zeros(len(known.vector_of_row), dtype=np.int64)
    return Belief(rows, np.array([0, len(codes)]), codes, known.prior[codes], known.prior)
