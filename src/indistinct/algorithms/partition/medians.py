"""Where to divide parts in two: at their median, in rows or in people."""

from dataclasses import dataclass

import numpy as np

from indistinct.frequencies.value import PERSON, Classes, Histogram
from indistinct.machine.arrays import Codes, starts_of


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The parts of one depth: part `i` owns `items[starts[i]:starts[i + 1]]`.

    `nodes` are their nodes in the tree, `offsets` their first positions in the final order of all items.
    """

    items: Codes
    starts: Codes
    nodes: Codes
    offsets: Codes

    def __len__(self) -> int:
        return len(self.nodes)

    def owners(self) -> Codes:
        """Return the part of every item."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def select(self, mask: Codes) -> "Parts":
        """Return some of the parts."""
        sizes = np.diff(self.starts)
        return Parts(self.items[np.repeat(mask, sizes)], starts_of(sizes[mask]), self.nodes[mask], self.offsets[mask])


@dataclass(frozen=True, slots=True, eq=False)
class Middle:
    """The median of each part, the value before it (or -1), and how unequal the sides of a cut at either are.

    `divides` is True where something is beyond the median.
    """

    median: Codes
    before: Codes
    gap_after: Codes
    gap_ahead: Codes
    divides: Codes


def middle_of(values: Codes, classes: Classes, parts: Parts) -> Middle:
    """Return the middle of each part along a column, in people where people are counted."""
    persons = classes.histograms.get((PERSON,))
    return _of_rows(values, classes.sizes, parts) if persons is None else _of_people(values, persons, parts)


def _of_rows(values: Codes, counts: Codes, parts: Parts) -> Middle:
    """Return the lower median: the first value up to which at least half of the rows are."""
    owners = parts.owners()
    order = np.lexsort((values, owners))
    arranged, before = values[order].astype(np.int64), starts_of(counts[order])
    bases = before[parts.starts[:-1]]
    total = before[parts.starts[1:]] - bases
    # The running count ascends over all parts, so that one search finds every part's median.
    at = np.searchsorted(before[1:], bases + (total + 1) // 2)
    median = arranged[at]
    shifted = owners[order] << 33 | arranged
    first = np.searchsorted(shifted, np.arange(len(parts)) << 33 | median, side="left")
    last = np.searchsorted(shifted, np.arange(len(parts)) << 33 | median, side="right")
    below, up_to = before[first] - bases, before[last] - bases
    ahead = np.where(first > parts.starts[:-1], arranged[np.maximum(first - 1, 0)], -1)
    return Middle(median, ahead, np.abs(2 * up_to - total), np.abs(2 * below - total), up_to < total)


def _of_people(values: Codes, persons: Histogram, parts: Parts) -> Middle:
    """Return the first value at which the people up to it are at least as many as those above.

    A person may be in both.
    """
    items = persons.owners()
    owners, spots = parts.owners()[items], values[items].astype(np.int64)
    order = np.lexsort((spots, persons.codes, owners))
    owners, codes, spots = owners[order], persons.codes[order], spots[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(owners) != 0) | (np.diff(codes) != 0)
    firsts = np.flatnonzero(fresh)
    lasts = np.append(firsts[1:], len(order)) - 1
    where = owners[firsts] << 33
    distinct = np.unique(owners << 33 | spots)
    part, value = distinct >> 33, distinct & ((1 << 33) - 1)
    begun, ended = (
        np.cumsum(np.bincount(np.searchsorted(distinct, where | spots[ends]), minlength=len(distinct)))
        for ends in (firsts, lasts)
    )
    total = np.bincount(owners[firsts], minlength=len(parts))
    earlier = (np.cumsum(total) - total)[part]
    below, above = begun - earlier, total[part] - (ended - earlier)
    starts = np.searchsorted(part, np.arange(len(parts)))
    reached = np.where(below >= above, np.arange(len(distinct)), len(distinct))
    at = np.minimum.reduceat(reached, starts)
    gaps, has_before = np.abs(below - above), at > starts
    ahead = np.maximum(at - 1, 0)
    return Middle(value[at], np.where(has_before, value[ahead], -1), gaps[at], gaps[ahead], above[at] > 0)
