"""Which groups of a release may hold a person, and what they tell of the person's sensitive value."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from indistinct.arrays import Codes, starts_of
from indistinct.attacks.base import Progress
from indistinct.attacks.crowd import Crowd
from indistinct.attacks.groups import Groups, Part, Shown, one_code
from indistinct.frequencies.grouping import group_rows

# Tables of values × groups up to so many cells are looked up as bits; more are joined by sorted keys.
MOST_CELLS = 1 << 26
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


def match(groups: Groups, crowd: Crowd, progress: Progress | None = None) -> Matches:
    """Return the groups that may hold each row of a crowd, as far as its people are known."""
    names = list(crowd.known)
    columns = [crowd.known[name] + 1 for name in names]
    grouping = group_rows(columns, [int(codes.max(initial=0)) + 1 for codes in columns])
    vectors = {name: crowd.known[name][grouping.first] for name in names}
    joined = [_joined(part, vectors) for part in groups.parts if set(part.codes) & set(vectors)]
    size = len(grouping)
    if not joined or not len(groups):
        everything = np.tile(np.arange(len(groups)), size)
        pairs = np.repeat(np.arange(size), len(groups)), everything
    elif all((int(entries.max(initial=0)) + 2) * len(groups) <= MOST_CELLS for _, entries, _ in joined):
        pairs = _by_bits(joined, len(groups), size, progress)
    else:
        pairs = _by_keys(joined, len(groups))
    owners, found = pairs
    weights = groups.sizes[found].astype(np.float64)
    if not groups.linked:
        weights = weights / groups.whole[found]
        for part, entries, people in joined:
            if not part.own:
                weights *= _counts(part, entries, people[owners], found, len(groups)) / groups.whole[found]
    return Matches(grouping.group_ids(), starts_of(np.bincount(owners, minlength=size)), found, weights)


_Joined = tuple[Part, Codes, Codes]


def _joined(part: Part, vectors: dict[str, Codes]) -> _Joined:
    """Return a part, its entries and the crowd's vectors as one code, by the columns that both have."""
    names = [name for name in part.codes if name in vectors]
    return (part, *one_code([part.codes[name] for name in names], [vectors[name] for name in names]))


def _by_bits(joined: list[_Joined], size: int, vectors: int, progress: Progress | None) -> tuple[Codes, Codes]:
    """Return pairs of a vector and a group that covers it, from a row of bits for every value."""
    tables = []
    for part, entries, people in joined:
        inside = np.zeros((max(int(entries.max(initial=-1)), int(people.max(initial=-1))) + 2, size), dtype=bool)
        inside[entries + 1, part.groups] = True
        inside[0] = False
        tables.append((np.packbits(inside, axis=1), people + 1))
    step = max(BLOCK // max(size, 1), 1)
    owners, found = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for start in range(0, vectors, step):
        bits = np.bitwise_and.reduce([table[people[start : start + step]] for table, people in tables])
        mine, groups = np.nonzero(np.unpackbits(bits, axis=1, count=size))
        owners.append(mine + start)
        found.append(groups)
        if progress is not None:
            progress(min((start + step) / vectors, 1.0))
    return np.concatenate(owners), np.concatenate(found)


def _by_keys(joined: list[_Joined], size: int) -> tuple[Codes, Codes]:
    """Return the same pairs: those of the part that leaves the fewest, less what another part does not cover."""
    amounts = []
    for _, entries, people in joined:
        known = np.bincount(entries[entries >= 0], minlength=int(people.max(initial=0)) + 1)
        amounts.append(int(known[people[people >= 0]].sum()))
    first, *others = (joined[index] for index in np.argsort(amounts, kind="stable"))
    part, entries, people = first
    order = np.argsort(entries, kind="stable")
    low, high = (np.searchsorted(entries[order], people, side) for side in ("left", "right"))
    lengths = np.where(people < 0, 0, high - low)
    owners = np.repeat(np.arange(len(people)), lengths)
    places = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    pairs = np.unique(owners * size + part.groups[order[np.repeat(low, lengths) + places]])
    for other, theirs, wanted in others:
        keys = np.unique((theirs * size + other.groups)[theirs >= 0])
        owners, groups = np.divmod(pairs, size)
        pairs = pairs[(wanted[owners] >= 0) & np.isin(wanted[owners] * size + groups, keys)]
    return np.divmod(pairs, size)


def _counts(part: Part, entries: Codes, wanted: Codes, groups: Codes, size: int) -> Codes:
    """Return how often each group shows the vector of a part that is wanted of it."""
    kept = entries >= 0
    keys, places = np.unique((entries * size + part.groups)[kept], return_inverse=True)
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
    for pairs in _blocks(matches, shown):
        own, entries = _expanded(matches, shown, pairs)
        weights = (matches.weights / groups.sizes[matches.groups])[pairs][entries[0]] * shown.counts[entries[1]]
        keys, places = np.unique(own * size + shown.codes[entries[1]], return_inverse=True)
        owners.append(keys // size)
        codes.append(keys % size)
        shares.append(np.bincount(places, weights=weights))
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


def _blocks(matches: Matches, shown: Shown) -> Iterator[slice]:
    """Yield runs of pairs that hold whole vectors, and not too many values together."""
    lengths = np.diff(shown.indptr)[matches.groups]
    ends = np.append(0, np.cumsum(lengths))[matches.indptr]
    start = 0
    while start < len(ends) - 1:
        stop = max(int(np.searchsorted(ends, ends[start] + BLOCK, side="right")) - 1, start + 1)
        yield slice(int(matches.indptr[start]), int(matches.indptr[stop]))
        start = stop


def _expanded(matches: Matches, shown: Shown, pairs: slice) -> tuple[Codes, tuple[Codes, Codes]]:
    """Return the vector of every value that groups of some pairs show, and from which pair and entry it comes."""
    groups = matches.groups[pairs]
    starts, lengths = shown.indptr[groups], np.diff(shown.indptr)[groups]
    index = np.repeat(np.arange(len(groups)), lengths)
    entries = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths - starts, lengths)
    return matches.owners()[pairs][index], (index, entries)
