"""Sensitive signatures: which values a person's class shows, in one release after the other (Xiao and Tao 2007).

Whoever knows that somebody's value did not change looks for it among those that the classes of all releases share.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.arrays import Codes, run_entries, starts_of
from indistinct.frequencies.grouping import group_rows
from indistinct.release.standing import Signatures, Standing

# Values that are looked up at once.
BLOCK = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Invariance:
    """What signatures tell of the people of a release.

    `changed` marks those whose classes do not show the same set of values in every release, `certain` those of whom
    one value is left, which is theirs and which no release told alone. `fewest` is the smallest number of values that
    are left for somebody whose value is among them, 0 where there is nobody.
    """

    changed: Codes
    certain: Codes
    fewest: int = 0

    @classmethod
    def united(cls, parts: Iterable["Invariance"], people: int) -> "Invariance":
        """Return what holds of all people, of whom every part speaks of some."""
        changed, certain, fewest = np.zeros(people, dtype=bool), np.zeros(people, dtype=bool), 0
        for part in parts:
            changed |= part.changed
            certain |= part.certain
            fewest = min(filter(None, (fewest, part.fewest)), default=0)
        return cls(changed, certain, fewest)


@dataclass(frozen=True, slots=True, eq=False)
class _Sets:
    """Sets of values in common codes, as ascending words `set * width + code`, and the set that each person has."""

    of_person: Codes
    words: Codes
    sizes: Codes
    width: int

    @property
    def starts(self) -> Codes:
        return starts_of(self.sizes)

    def hold(self, sets: Codes, codes: Codes) -> Codes:
        """Return whether each set holds the code beside it."""
        if not len(self.words):
            return np.zeros(len(sets), dtype=bool)
        wanted = sets * self.width + codes
        return self.words[np.searchsorted(self.words, wanted).clip(max=len(self.words) - 1)] == wanted


def compared_columns(new: Standing, old: Standing) -> tuple[str, ...]:
    """Return the sensitive columns that both releases show, read as values of one type."""
    return tuple(
        name for name, own in new.signatures.items() if name in old.signatures and old.signatures[name].type == own.type
    )


def invariance_of(
    new: Standing, earlier: Sequence[Standing], places: Sequence[Codes], *, releases: Sequence[int], people: Codes
) -> Invariance:
    """Return what signatures tell of people who are in a new release and in some earlier ones.

    `places[r]` says where each person of the new release is in release `r`.
    """
    parts = []
    for name in new.signatures:
        chosen = [release for release in releases if name in compared_columns(new, earlier[release])]
        if chosen:
            parts.append(_of_column(name, new, [(earlier[r], places[r][people]) for r in chosen], people))
    return Invariance.united(parts, len(new))


def _of_column(name: str, new: Standing, others: Sequence[tuple[Standing, Codes]], people: Codes) -> Invariance:
    pools = [new.signatures[name].values, *(old.signatures[name].values for old, _ in others)]
    pool = np.unique(np.concatenate(pools))
    every = [_sets_of(new, name, pool, people), *(_sets_of(old, name, pool, there) for old, there in others)]
    grouping = group_rows([each.of_person for each in every], [max(len(each.sizes), 1) for each in every])
    combined = [each.of_person[grouping.first] for each in every]
    left = _left(every, combined)
    sizes = np.stack([each.sizes[sets] for each, sets in zip(every, combined, strict=True)])
    group = grouping.group_ids()
    indptr, codes = new.own[name]
    codes = np.searchsorted(pool, new.signatures[name].values)[codes]
    counts = np.diff(indptr)[people]
    entries = run_entries(indptr[people], counts)
    owner, code = np.repeat(np.arange(len(people)), counts), codes[entries]
    stays = np.logical_and.reduce([each.hold(each.of_person[owner], code) for each in every])
    knows = np.bincount(owner[stays], minlength=len(people)) > 0
    told = (left == 1) & (sizes > 1).all(axis=0)
    changed, certain = np.zeros(len(new), dtype=bool), np.zeros(len(new), dtype=bool)
    changed[people] = (sizes != left).any(axis=0)[group]
    certain[people] = told[group] & knows
    return Invariance(changed, certain, int(left[group][knows].min(initial=len(pool) + 1)) if knows.any() else 0)


def _sets_of(standing: Standing, name: str, pool: Codes, people: Codes) -> _Sets:
    """Return the set of values of every one of some people: those that any of their classes shows."""
    own = standing.signatures[name]
    codes = np.searchsorted(pool, own.values)[own.codes].astype(np.int64)
    sizes = np.diff(own.indptr)
    words = np.repeat(np.arange(len(sizes)), sizes) * len(pool) + codes
    firsts, counts = standing.indptr[people], np.diff(standing.indptr)[people]
    of_person = standing.classes[firsts].astype(np.int64)
    several = np.flatnonzero(counts > 1)
    if len(several):
        of_person[several], more = _unions(standing, own, codes, people[several], len(sizes))
        words = np.concatenate([words, *(((len(sizes) + index) * len(pool) + each) for index, each in enumerate(more))])
        sizes = np.concatenate([sizes, [len(each) for each in more]])
    return _Sets(of_person, words, sizes, len(pool))


def _unions(
    standing: Standing, own: Signatures, codes: Codes, people: Codes, first: int
) -> tuple[list[int], list[Codes]]:
    """Return the number of the set of everybody who stands in several classes, from `first` on, and these sets."""
    known: dict[bytes, int] = {}
    sets: list[Codes] = []
    numbers: list[int] = []
    for person in people.tolist():
        classes = standing.classes[standing.indptr[person] : standing.indptr[person + 1]]
        number = known.setdefault(classes.tobytes(), first + len(sets))
        if number == first + len(sets):
            sets.append(np.unique(np.concatenate([codes[own.indptr[each] : own.indptr[each + 1]] for each in classes])))
        numbers.append(number)
    return numbers, sets


def _left(every: Sequence[_Sets], combined: Sequence[Codes]) -> Codes:
    """Return how many values the sets of each combination share; those of the smallest are looked up in all others."""
    size = len(combined[0])
    sizes = np.stack([each.sizes[sets] for each, sets in zip(every, combined, strict=True)])
    base = sizes.argmin(axis=0)
    left = np.zeros(size, dtype=np.int64)
    for index, each in enumerate(every):
        rows = np.flatnonzero(base == index)
        counts = sizes[index][rows]
        cuts = np.searchsorted(np.cumsum(counts), np.arange(BLOCK, int(counts.sum()) + 1, BLOCK), side="right")
        for part in np.split(np.arange(len(rows)), distinct_cuts(cuts)):
            chosen, own = rows[part], counts[part]
            entries = run_entries(each.starts[combined[index][chosen]], own)
            codes, owner = each.words[entries] % max(each.width, 1), np.repeat(chosen, own)
            found = np.ones(len(codes), dtype=bool)
            for other, sets in zip(every, combined, strict=True):
                if other is not each:
                    found &= other.hold(sets[owner], codes)
            left += np.bincount(owner[found], minlength=size)
    return left


def distinct_cuts(cuts: Codes) -> Codes:
    """Return where to cut, each place once and none at the very beginning.

    >>> distinct_cuts(np.array([0, 2, 2, 5])).tolist()
    [2, 5]
    """
    return np.unique(cuts[cuts > 0])
