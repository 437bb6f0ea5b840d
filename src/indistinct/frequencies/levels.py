"""What a pass over rows counts of open parts: for each kind of pass, what one batch tells and how answers are added up.

Rows are keys (`sort_keys.py`), parts are leaves of a tree of cuts. Nothing here knows where batches come from, so that
engines may run them one after the other, or beside each other and add up what came of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.frequencies.sort_keys import LAST
from indistinct.frequencies.value import Key
from indistinct.machine.arrays import Codes, run_starts, starts_of

NOBODY = -1
"""The part of a row that nobody asks about."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyTree:
    """A tree of cuts over keys: an inner node sends keys up to `cut` to its left child, others to its right one.

    A leaf has axis -1 and in `left` the number of its part, or `NOBODY`.
    """

    axis: Codes
    cut: Codes
    left: Codes
    right: Codes

    def parts_of(self, keys: Codes) -> Codes:
        """Return the part of every row of a matrix of keys, all rows one step down the tree at a time."""
        nodes, moving = np.zeros(len(keys), dtype=np.intp), np.arange(len(keys))
        moving = moving[self.axis[nodes] >= 0]
        while len(moving):
            here = nodes[moving]
            goes_left = keys[moving, self.axis[here]] <= self.cut[here]
            below = np.where(goes_left, self.left[here], self.right[here])
            nodes[moving] = below
            moving = moving[self.axis[below] >= 0]
        return self.left[nodes].astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """How keys fall into buckets, by part and column: `(key - low) >> shift`, which is below `buckets`."""

    low: Codes
    shift: Codes
    buckets: int

    @classmethod
    def between(cls, low: Codes, high: Codes, buckets: int) -> "Scale":
        """Return buckets, a power of two of them at most, for keys between some bounds."""
        room = buckets.bit_length() - 1
        shift = [max(int(width).bit_length() - room, 0) for width in (high - low).ravel().tolist()]
        return cls(low, np.array(shift, dtype=np.uint64).reshape(low.shape), buckets)


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Of each part: its rows; by column its smallest and largest key, and how many rows fall into each bucket."""

    rows: Codes
    low: Codes
    high: Codes
    counts: Codes

    def plus(self, other: "Survey") -> "Survey":
        """Return what two batches tell together."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Survey(self.rows + other.rows, low, high, self.counts + other.counts)


def survey_rows(keys: Codes, tree: KeyTree, scale: Scale) -> Survey:
    """Return what the rows of a batch tell of open parts."""
    rows, order, starts, owners = _by_part(tree.parts_of(keys), len(scale.low))
    parts, columns = scale.low.shape
    low = np.full((parts, columns), LAST, dtype=np.uint64)
    high = np.zeros((parts, columns), dtype=np.uint64)
    counts = np.zeros((columns, parts, scale.buckets), dtype=np.int64)
    present = np.flatnonzero(rows)
    for column in range(columns) if len(order) else ():
        some = keys[order, column]
        low[present, column] = np.minimum.reduceat(some, starts)
        high[present, column] = np.maximum.reduceat(some, starts)
        bucket = (some - scale.low[owners, column]) >> scale.shift[owners, column]
        words = owners * scale.buckets + bucket.astype(np.int64)
        counts[column] = np.bincount(words, minlength=parts * scale.buckets).reshape(parts, -1)
    return Survey(rows, low, high, counts)


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How often each owner has each value, ascending by owner and then by value."""

    owners: Codes
    values: Codes
    counts: Codes

    @classmethod
    def of(cls, owners: Codes, values: Codes, counts: Codes | None = None) -> "Tally":
        """Count pairs, each once or as often as is said."""
        order = np.lexsort((values, owners))
        owners, values = owners[order], values[order]
        fresh = np.ones(len(order), dtype=bool)
        fresh[1:] = (owners[1:] != owners[:-1]) | (values[1:] != values[:-1])
        starts = np.flatnonzero(fresh)
        ends = np.append(starts, len(order))
        sums = np.diff(ends) if counts is None else np.diff(starts_of(counts[order])[ends])
        return cls(owners[starts], values[starts], sums.astype(np.int64))

    @classmethod
    def merged(cls, tallies: Sequence["Tally"]) -> "Tally":
        """Return what several batches tell together."""
        if len(tallies) == 1:
            return tallies[0]
        parts = ("owners", "values", "counts")
        return cls.of(*(np.concatenate([getattr(tally, part) for tally in tallies]) for part in parts))

    def of_owner(self, owner: int) -> tuple[Codes, Codes]:
        """Return the values of one owner, and how often it has each."""
        first, last = np.searchsorted(self.owners, [owner, owner + 1])
        return self.values[first:last], self.counts[first:last]


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """One range of keys in each part, along one column, and the bits that do not matter in it."""

    column: Codes
    low: Codes
    high: Codes
    shift: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """What lies in a range of each part: `(key - low) >> shift` with its rows; and the largest key before the range.

    `led` says whether there is one.
    """

    tally: Tally
    before: Codes
    led: Codes

    @staticmethod
    def merged(several: Sequence["Within"]) -> "Within":
        """Return what several batches tell together."""
        before = np.maximum.reduce([each.before for each in several])
        led = np.logical_or.reduce([each.led for each in several])
        return Within(Tally.merged([each.tally for each in several]), before, led)


def rows_within(keys: Codes, tree: KeyTree, ranges: Ranges) -> Within:
    """Return what the rows of a batch tell of a range in each open part."""
    rows, order, starts, owners = _by_part(tree.parts_of(keys), len(ranges.column))
    before, led = np.zeros(len(rows), dtype=np.uint64), np.zeros(len(rows), dtype=bool)
    some = keys[order, ranges.column[owners]]
    low = ranges.low[owners]
    inside, earlier = (some >= low) & (some <= ranges.high[owners]), some < low
    if len(order):
        present = np.flatnonzero(rows)
        before[present] = np.maximum.reduceat(np.where(earlier, some, np.uint64(0)), starts)
        led[present] = np.logical_or.reduceat(earlier, starts)
    buckets = (some[inside] - low[inside]) >> ranges.shift[owners[inside]]
    return Within(Tally.of(owners[inside], buckets), before, led)


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Where each part is to be cut along one column: into a segment up to each of its ends, and one behind the last.

    Part `i` has the ends `ends[starts[i]:starts[i + 1]]`, which ascend.
    """

    column: Codes
    starts: Codes
    ends: Codes

    @property
    def firsts(self) -> Codes:
        """Return the number of each part's first segment, and the number of all as the last entry."""
        return self.starts + np.arange(len(self.starts))


@dataclass(frozen=True, slots=True, eq=False)
class Segmented:
    """The rows of each segment, and how often each value of a key occurs there."""

    sizes: Codes
    tallies: Mapping[Key, Tally]

    @staticmethod
    def merged(several: Sequence["Segmented"]) -> "Segmented":
        """Return what several batches tell together."""
        sizes = np.sum([each.sizes for each in several], axis=0)
        keys = several[0].tallies
        return Segmented(sizes, {key: Tally.merged([each.tallies[key] for each in several]) for key in keys})


def rows_by_segment(keys: Codes, tree: KeyTree, segments: Segments, codes: Mapping[Key, Codes]) -> Segmented:
    """Return what the rows of a batch tell of segments; `codes` has the value of every row for some keys."""
    rows, order, starts, owners = _by_part(tree.parts_of(keys), len(segments.column))
    some, own = keys[order, segments.column[owners]], np.empty(len(order), dtype=np.int64)
    firsts, bounds = segments.firsts, np.append(starts, len(order))
    for place, part in enumerate(np.flatnonzero(rows).tolist()):
        run = slice(bounds[place], bounds[place + 1])
        ends = segments.ends[segments.starts[part] : segments.starts[part + 1]]
        own[run] = firsts[part] + np.searchsorted(ends, some[run])
    sizes = np.bincount(own, minlength=int(firsts[-1]))
    return Segmented(sizes, {key: Tally.of(own, each[order].astype(np.uint64)) for key, each in codes.items()})


def keys_behind(keys: Codes, cuts: Sequence[Codes]) -> list[Codes]:
    """Return, by column, the smallest key of a batch behind each of some cuts.

    Answers of several batches are added up by their minimum; `LAST` stands for none.
    """
    found = []
    for index, own in enumerate(cuts):
        some = np.sort(keys[:, index]) if len(own) else keys[:0, index]
        first = np.searchsorted(some, own, side="right")
        found.append(np.append(some, LAST)[first])
    return found


def _by_part(parts: Codes, size: int) -> tuple[Codes, Codes, Codes, Codes]:
    """Return the rows of each part, those of open parts in order, where each part that has any begins, and owners."""
    chosen = np.flatnonzero(parts >= 0)
    order = chosen[np.argsort(parts[chosen].astype(np.int32), kind="stable")]
    owners = parts[order]
    starts = run_starts(owners)[:-1] if len(order) else np.zeros(0, dtype=np.int64)
    return np.bincount(owners, minlength=size), order, starts, owners
