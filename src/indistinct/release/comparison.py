"""What a release and all earlier ones tell together, computed from who stands where in each.

Nothing here knows a recoding, an engine or a value: people and values are pseudonyms.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.arrays import Codes, run_entries
from indistinct.frequencies.grouping import group_rows
from indistinct.ordering import distinct
from indistinct.release.certificate import Overlap
from indistinct.release.linked import combined_sets, set_numbers
from indistinct.release.signatures import Invariance, invariance_of
from indistinct.release.standing import Standing

# Somebody with rows in many classes of many releases stands in every combination of them: more are not looked at.
MOST_COMBINATIONS = 1 << 25


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """People of a new release who were in the same earlier ones.

    `releases` are the earlier ones, `exactly` the people who were in these alone, and `all_of_them` those who were in
    others too: all of them could be meant by somebody who knows that a person was in these.
    """

    releases: tuple[int, ...]
    exactly: Codes
    all_of_them: Codes


def overlap_of(
    new: Standing, earlier: Sequence[Standing], *, k: int, linked: Sequence[Standing] | None = None
) -> Overlap:
    """Return what people stand among once everything that was published of them is put together.

    Somebody with rows in several classes of a release stands in each of them, and so in each intersection. Where keyed
    pseudonyms link the new release with earlier ones, `linked` are these.
    """
    places = [_places(new, old) for old in earlier]
    present = np.stack([each >= 0 for each in places], axis=1)
    smallest, below, complete = _intersections(new, earlier, places, k=k)
    differences = [
        difference for old, each in zip(earlier, places, strict=True) for difference in _groups(new, old, each)
    ]
    found = [
        invariance_of(new, earlier, places, releases=each.releases, people=each.exactly) for each in shared(present)
    ]
    together = Invariance.united(found, len(new))
    combined = [] if linked is None else list(combined_sets([_sets(each) for each in (new, *linked)]).values())
    small = [people for people in differences if len(people) < k]
    return Overlap(
        shared_people=int(present.any(axis=1).sum()),
        smallest_intersection=smallest,
        people_below=below,
        k=k,
        releases=len(earlier),
        smallest_difference=min(map(len, differences), default=0),
        people_isolated=len(np.unique(np.concatenate(small))) if small else 0,
        changed_signatures=int(together.changed.sum()),
        m=together.fewest,
        people_certain=int(together.certain.sum()),
        complete=complete,
        smallest_combination=min(combined, default=0),
        people_linked=sum(count < k for count in combined),
    )


def _sets(standing: Standing) -> dict[bytes, int]:
    """Return a number for everybody's set of classes, equal for equal sets."""
    numbers = set_numbers(standing.indptr, standing.classes).tolist()
    return dict(zip(standing.people.tolist(), numbers, strict=True))


def _places(new: Standing, old: Standing) -> Codes:
    """Return where each person of the new release is in the old one, -1 for nobody."""
    if not len(old):
        return np.full(len(new), -1, dtype=np.int64)
    places = np.searchsorted(old.people, new.people).clip(max=len(old) - 1)
    return np.where(old.people[places] == new.people, places, -1)


def shared(present: Codes) -> Iterator[Shared]:
    """Yield the people of a new release by the earlier ones in which they were, if they were in any."""
    if not len(present):
        return
    grouping = group_rows(list(present.T), [2] * present.shape[1])
    for group, first in enumerate(grouping.first):
        releases = tuple(np.flatnonzero(present[first]).tolist())
        if releases:
            exactly = np.sort(grouping.order[grouping.starts[group] : grouping.starts[group + 1]]).astype(np.int64)
            yield Shared(releases, exactly, np.flatnonzero(present[:, releases].all(axis=1)))


def _intersections(
    new: Standing, earlier: Sequence[Standing], places: Sequence[Codes], *, k: int
) -> tuple[int, int, bool]:
    """Return the smallest number of people who share all classes of somebody, and how many share them with too few.

    The last value says whether all releases were looked at.
    """
    smallest, below, complete = 0, 0, True
    for each in shared(np.stack([place >= 0 for place in places], axis=1)):
        people, ids = _entries(new, each.all_of_them)
        for release in each.releases:
            old, there = earlier[release], places[release]
            if np.diff(old.indptr)[there[people]].sum() > MOST_COMBINATIONS:
                complete = False
            else:
                people, ids = _joined(people, ids, old, there)
        sizes = np.bincount(ids)[ids]
        own = np.isin(people, each.exactly)
        low = int(sizes[own].min())
        smallest = low if not smallest else min(smallest, low)
        below += len(distinct(people[own & (sizes < k)]))
    return smallest, below, complete


def _entries(standing: Standing, people: Codes) -> tuple[Codes, Codes]:
    """Return some people and the classes that they stand in, one entry a class."""
    counts = np.diff(standing.indptr)[people]
    return np.repeat(people, counts), standing.classes[run_entries(standing.indptr[people], counts)].astype(np.int64)


def _joined(people: Codes, ids: Codes, old: Standing, places: Codes) -> tuple[Codes, Codes]:
    """Return people and a number for each combination of what they stood in so far and a class of one more release."""
    there = places[people]
    counts = np.diff(old.indptr)[there]
    rows = np.repeat(np.arange(len(people)), counts)
    classes = _entries(old, there)[1]
    grouping = group_rows([ids[rows], classes], [int(ids.max(initial=0)) + 1, max(old.size, 1)])
    return people[rows], grouping.group_ids().astype(np.int64)


def _groups(new: Standing, old: Standing, places: Codes) -> Iterator[Codes]:
    """Yield the people whom the difference of two releases speaks of, in groups that cannot be parted any further.

    Two sets of whole classes, one of each release, hold the same of the people who are in both only if both are unions
    of classes that shared people link. So whoever takes one release from the other learns of each such union what
    changed there: who joined, with those whose own values changed, and who left, with these again.
    """
    stayed = np.flatnonzero(places >= 0)
    if not len(stayed):
        return
    there = places[stayed]
    people, classes = _entries(new, stayed)
    rows = np.repeat(np.arange(len(people)), np.diff(old.indptr)[places[people]])
    linked = _entries(old, places[people])[1] + new.size
    labels = components(classes[rows], linked, new.size + old.size)
    changed = new.rows[stayed] != old.rows[there]
    gone = np.ones(len(old), dtype=bool)
    gone[there] = False
    sides = (
        (new, np.sort(np.concatenate([np.flatnonzero(places < 0), stayed[changed]])), 0),
        (old, np.sort(np.concatenate([np.flatnonzero(gone), there[changed]])), new.size),
    )
    for standing, differ, offset in sides:
        people, classes = _entries(standing, differ)
        grouping = group_rows([labels[classes + offset], people], [len(labels), len(standing)])
        first = grouping.first
        found, who = labels[classes + offset][first], standing.people[people[first]]
        cuts = np.flatnonzero(np.diff(found)) + 1
        yield from (group for group in np.split(who, cuts) if len(group))


def components(one: Codes, two: Codes, size: int) -> Codes:
    """Return a number for each of `size` nodes, equal for those that edges from `one` to `two` connect.

    >>> components(np.array([0, 1]), np.array([2, 3]), 5).tolist()
    [0, 1, 0, 1, 4]
    """
    labels = np.arange(size)
    while True:
        low = np.minimum(labels[one], labels[two])
        linked = labels.copy()
        np.minimum.at(linked, labels[one], low)
        np.minimum.at(linked, labels[two], low)
        while not np.array_equal(linked, linked[linked]):
            linked = linked[linked]
        if np.array_equal(linked, labels):
            return labels
        labels = linked
