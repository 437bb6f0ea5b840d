"""The values that a recoding published in one column, and how much of each a query allows.

A published value stands for a set of original ones. What is certain and what is possible is decided by that set;
what is estimated by how much of it is allowed, as if its values were equally frequent: of a range of whole numbers
or days each one, of other ranges the length, of a node or a set its members.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from indistinct.machine.arrays import Codes
from indistinct.metrics.queries.values import EVERY, ColumnValues, LineSet, TextSet, ValueSet
from indistinct.tables.domain import Kind


@dataclass(frozen=True, slots=True, eq=False)
class Overlap:
    """How much of each published value a set of values allows: an estimated share, all of it, some of it."""

    share: Codes
    certain: Codes
    possible: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Clipped:
    """What is left of each published number where a set allows only some: least, largest, mean and variance."""

    low: Codes
    high: Codes
    mean: Codes
    variance: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Where published values that are ranges lie, for estimates: NaN for those that are none.

    `whole` says that only whole numbers, or days, lie on the line.
    """

    low: Codes
    high: Codes
    whole: bool


@dataclass(frozen=True, eq=False)
class Labels:
    """The distinct published values of a column.

    Value `i` covers the codes `first[r]` to `last[r]` of each of its runs `indptr[i]:indptr[i + 1]`, among the known
    values, missing as code 0 if `missing`; `unknown` says that it covers values that are not known as well.
    `positions` are the places of known numbers and dates. Where not every value is known, `hull` are the ends between
    which numbers lie, infinite if nobody knows. `means` are published means. `limits` are those of the whole column,
    rows that are not published included, where they are known.
    """

    values: ColumnValues
    texts: tuple[str | None, ...]
    indptr: Codes
    first: Codes
    last: Codes
    missing: bool
    unknown: Codes
    positions: Codes | None = None
    ranges: Ranges | None = None
    hull: tuple[Codes, Codes] | None = None
    means: Codes | None = None
    limits: tuple[float, float] | None = None

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def name(self) -> str:
        """Return the column's name."""
        return self.values.name

    @cached_property
    def sizes(self) -> Codes:
        """The number of known values that each published one covers, missing among them."""
        return self._sums(self.last - self.first + 1)

    @cached_property
    def absent(self) -> Codes:
        """Whether each published value may stand for a missing one."""
        return self._sums((self.first == 0).astype(np.int64)) > 0 if self.missing else np.zeros(len(self), dtype=bool)

    def overlap(self, allowed: ValueSet) -> Overlap:
        """Return how much of each published value a set allows."""
        levels = self._levels(allowed)
        inside, partly = self._counted(levels), self._counted(levels > 0)
        others = allowed.levels[-2] if isinstance(allowed, TextSet) else 0
        certain = (inside == EVERY * self.sizes) & ~(self.unknown & (others < EVERY))
        possible = (partly > 0) | (self.unknown & (others > 0))
        share = (inside / EVERY + self.unknown * (others / EVERY)) / np.maximum(self.sizes + self.unknown, 1)
        if isinstance(allowed, LineSet):
            if self.hull is not None:
                certain, possible = self._by_hull(allowed, certain, possible)
            if self.ranges is not None:
                share = self._by_width(allowed, share)
        return Overlap(np.where(certain, 1.0, np.where(possible, share, 0.0)), certain, possible)

    def clipped(self, allowed: ValueSet | None) -> Clipped:
        """Return the numbers that are left of each published value; they mean nothing where none is allowed."""
        kept = LineSet(((-np.inf, 0), (np.inf, 1))) if allowed is None else allowed
        assert isinstance(kept, LineSet)  # noqa: S101  (text is refused before)
        inside = self._levels(kept) > 0
        inside[: int(self.missing)] = False
        low, high, mean = self._by_codes(inside)
        if self.hull is not None:
            low, high = _ends(kept, *self.hull)
        if self.ranges is not None:
            middle = _middle(kept, self.ranges)
            mean = np.where(np.isnan(middle), mean, middle)
        both = np.isfinite(low) & np.isfinite(high)
        mean = np.where(np.isnan(mean) & both, (np.where(both, low, 0) + np.where(both, high, 0)) / 2, mean)
        mean = np.clip(mean, low, high)
        return Clipped(low, high, mean, np.where(both, np.where(both, high - low, 0.0) ** 2 / 12, 0.0))

    def _levels(self, allowed: ValueSet) -> Codes:
        """Return for every known value whether it is allowed: 0 or 2."""
        if isinstance(allowed, TextSet):
            known = allowed.levels[:-2]
            return np.concatenate([allowed.levels[-1:], known]) if self.missing else known
        assert self.positions is not None  # noqa: S101
        levels = EVERY * allowed.holds(self.positions).astype(np.int8)
        if self.missing:
            levels[0] = EVERY * allowed.missing
        return levels

    def _counted(self, weights: Codes) -> Codes:
        """Return the sum of weights of known values over those that each published value covers."""
        running = np.concatenate([[0], np.cumsum(weights, dtype=np.float64 if weights.dtype.kind == "f" else np.int64)])
        return self._sums(running[self.last + 1] - running[self.first])

    def _sums(self, runs: Codes) -> Codes:
        """Return the sum over the runs of each published value, of which some may have none."""
        running = np.concatenate([[0], np.cumsum(runs)])
        return running[self.indptr[1:]] - running[self.indptr[:-1]]

    def _by_hull(self, allowed: LineSet, certain: Codes, possible: Codes) -> tuple[Codes, Codes]:
        """Return what is certain and possible of ranges of which only the ends are known."""
        assert self.hull is not None  # noqa: S101
        low, high = self.hull
        some, every = np.zeros(len(self), dtype=bool), np.zeros(len(self), dtype=bool)
        for (start, past), (end, within) in allowed.stretches:
            after = (low > start) | ((low == start) & (past == 0))
            before = (high < end) | ((high == end) & (within == 1))
            every |= after & before
            meets = (high > start) | ((high == start) & (past == 0))
            some |= meets & ((low < end) | ((low == end) & (within == 1)))
        number = low <= high
        every = np.where(number, every, True) & (~self.absent | allowed.missing)
        return every & (number | self.absent), (some & number) | (self.absent & allowed.missing)

    def _by_width(self, allowed: LineSet, share: Codes) -> Codes:
        """Return the share of ranges by their width; missing counts as one value beside those of a range."""
        assert self.ranges is not None  # noqa: S101
        low, high, whole = self.ranges.low, self.ranges.high, self.ranges.whole
        inside = np.zeros(len(self))
        if whole:
            for start, end in allowed.whole():
                inside += np.maximum(np.minimum(end, high) - np.maximum(start, low) + 1, 0)
            size = values = np.maximum(high - low + 1, 1)
        else:
            for (start, _), (end, _) in allowed.stretches:
                inside += np.maximum(np.minimum(end, high) - np.maximum(start, low), 0)
            size, values = high - low, np.maximum(self.sizes - self.absent, 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            part = inside / size
            found = np.where(self.absent, (part * values + allowed.missing) / (values + 1), part)
        # Of a point, and of a set without any length, the known values tell more.
        usable = np.isfinite(found) & (whole | (inside > 0))
        return np.where(usable, found, share)

    def _by_codes(self, inside: Codes) -> tuple[Codes, Codes, Codes]:
        """Return the least, the largest and the mean of the known numbers that are allowed, NaN where none is."""
        assert self.positions is not None  # noqa: S101
        count = len(inside)
        places = np.where(inside, np.arange(count), count)
        following = np.append(np.minimum.accumulate(places[::-1])[::-1], count)
        places = np.where(inside, np.arange(count), -1)
        before = np.append(np.maximum.accumulate(places), -1) if count else np.array([-1])
        first, last = following[self.first], before[self.last]
        line = np.append(self.positions, np.nan)
        low = np.where(first <= self.last, line[np.minimum(first, count)], np.inf)
        high = np.where(last >= self.first, line[np.maximum(last, -1)], -np.inf)
        low, high = self._reduced(np.minimum, low, np.inf), self._reduced(np.maximum, high, -np.inf)
        numbers = self._counted(inside.astype(np.int64))
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self._counted(np.where(inside, self.positions, 0.0)) / numbers
        none = numbers == 0
        return np.where(none, np.nan, low), np.where(none, np.nan, high), mean

    def _reduced(self, reach: np.ufunc, runs: Codes, nothing: float) -> Codes:
        found = np.full(len(self), nothing)
        filled = np.flatnonzero(np.diff(self.indptr))
        if len(filled):
            found[filled] = reach.reduceat(runs, self.indptr[filled])
        return found


def _ends(kept: LineSet, low: Codes, high: Codes) -> tuple[Codes, Codes]:
    """Return the least and largest number of each range that a set allows, NaN where it allows none."""
    least, largest = np.full(len(low), np.inf), np.full(len(low), -np.inf)
    for (start, _), (end, _) in kept.stretches:
        one, other = np.maximum(low, start), np.minimum(high, end)
        meets = one <= other
        least = np.where(meets, np.minimum(least, one), least)
        largest = np.where(meets, np.maximum(largest, other), largest)
    none = least > largest
    return np.where(none, np.nan, least), np.where(none, np.nan, largest)


def _middle(kept: LineSet, ranges: Ranges) -> Codes:
    """Return the mean of what is left of each range, NaN where nothing with any width is."""
    sizes, sums = np.zeros(len(ranges.low)), np.zeros(len(ranges.low))
    pairs = kept.whole() if ranges.whole else [(start, end) for (start, _), (end, _) in kept.stretches]
    for start, end in pairs:
        low, high = np.maximum(start, ranges.low), np.minimum(end, ranges.high)
        width = np.maximum(high - low + ranges.whole, 0)
        width = np.where(np.isnan(width), 0, width)
        sizes += width
        sums += np.where(width > 0, width * (low + high) / 2, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums / np.where(sizes > 0, sizes, np.nan)


def single_values(values: ColumnValues, texts: tuple[str | None, ...], positions: Codes | None) -> Labels:
    """Return published values that each stand for themselves; `texts` begin with None if some are missing."""
    codes, missing = np.arange(len(texts)), bool(texts) and texts[0] is None
    unknown, indptr = np.zeros(len(texts), dtype=bool), np.arange(len(texts) + 1)
    return Labels(values, texts, indptr, codes, codes, missing, unknown, positions)


def is_text(labels: Labels) -> bool:
    """Return whether a column has neither numbers nor dates."""
    return labels.values.kind is Kind.TEXT
