"""The rows of a published table as queries meet them: what each published value stands for, and how much is allowed.

A published value stands for a set of original ones. That set decides what is certain and what is possible. An estimate
takes its values for equally frequent: of a range of whole numbers or days each one, of other ranges the length, of a
node or a set its members.

Rows stand in slices, each of some columns whose values belong together. A release in classes is one slice, and every
cell is a unit of its own. In a release in buckets a unit is a bucket, in which nobody knows which entries of two slices
belong to one row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes, run_entries, starts_of
from indistinct.metrics.queries._count_kernels import count_boxes
from indistinct.metrics.queries.boxes import Box
from indistinct.metrics.queries.values import EVERY, ColumnValues, LineSet, TextSet, ValueSet
from indistinct.tables.domain import Kind


@dataclass(frozen=True, slots=True, eq=False)
class ValueOverlap:
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
class PublishedLabels:
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

    def overlap(self, allowed: ValueSet) -> ValueOverlap:
        """Return how much of each published value a set allows."""
        levels = self._levels(allowed)
        inside, partly = self._sum_weights(levels), self._sum_weights(levels > 0)
        others = allowed.levels[-2] if isinstance(allowed, TextSet) else 0
        certain = (inside == EVERY * self.sizes) & ~(self.unknown & (others < EVERY))
        possible = (partly > 0) | (self.unknown & (others > 0))
        share = (inside / EVERY + self.unknown * (others / EVERY)) / np.maximum(self.sizes + self.unknown, 1)
        if isinstance(allowed, LineSet):
            if self.hull is not None:
                certain, possible = self._by_hull(allowed, certain, possible)
            if self.ranges is not None:
                share = self._by_width(allowed, share)
        return ValueOverlap(np.where(certain, 1.0, np.where(possible, share, 0.0)), certain, possible)

    def clip(self, allowed: ValueSet | None) -> Clipped:
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

    def _sum_weights(self, weights: Codes) -> Codes:
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
        low, high = self._reduce_runs(np.minimum, low, np.inf), self._reduce_runs(np.maximum, high, -np.inf)
        numbers = self._sum_weights(inside.astype(np.int64))
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self._sum_weights(np.where(inside, self.positions, 0.0)) / numbers
        none = numbers == 0
        return np.where(none, np.nan, low), np.where(none, np.nan, high), mean

    def _reduce_runs(self, reach: np.ufunc, runs: Codes, nothing: float) -> Codes:
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


def single_values(values: ColumnValues, texts: tuple[str | None, ...], positions: Codes | None) -> PublishedLabels:
    """Return published values that each stand for themselves; `texts` begin with None if some are missing."""
    codes, missing = np.arange(len(texts)), bool(texts) and texts[0] is None
    unknown, indptr = np.zeros(len(texts), dtype=bool), np.arange(len(texts) + 1)
    return PublishedLabels(values, texts, indptr, codes, codes, missing, unknown, positions)


def is_text(labels: PublishedLabels) -> bool:
    """Return whether a column has neither numbers nor dates."""
    return labels.values.kind is Kind.TEXT


# From so many pairs of a box and an entry on, a compiled loop is worth its start; so many boxes are taken at a time.
WORTH_COMPILED, BLOCK = 4_000_000, 256


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The entries of a slice that a box may hold: their numbers, the estimated share of each, whether it holds all."""

    entries: Codes
    share: Codes
    certain: Codes


@dataclass(frozen=True, eq=False)
class Slice:
    """Entries of a slice: `values[name][i]` is the published value of entry `i`, which stands for `counts[i]` rows.

    `units[i]` is the unit that the entry belongs to.
    """

    labels: Mapping[str, PublishedLabels]
    values: Mapping[str, Codes]
    counts: Codes
    units: Codes

    @cached_property
    def _indexes(self) -> dict[str, tuple[Codes, Codes]]:
        return {}

    def chosen(self, box: Box) -> Chosen:
        """Return the entries that a box may hold, as far as it speaks of columns of the slice."""
        overlaps = {name: self.labels[name].overlap(box[name]) for name in box if name in self.values}
        entries = self._candidates(overlaps)
        for name, overlap in overlaps.items():
            entries = entries[overlap.possible[self.values[name][entries]]]
        share, certain = np.ones(len(entries)), np.ones(len(entries), dtype=bool)
        for name, overlap in overlaps.items():
            values = self.values[name][entries]
            share *= overlap.share[values]
            certain &= overlap.certain[values]
        return Chosen(entries, share, certain)

    def project(self, names: tuple[str, ...]) -> "Slice":
        """Return the slice with some columns alone: entries that agree on them are one, and a unit of its own."""
        if names not in self._projections:
            columns = [self.values[name] for name in names]
            grouping = group_rows(columns, [len(self.labels[name]) for name in names])
            counts = np.add.reduceat(self.counts[grouping.order], grouping.starts[:-1])
            values = {name: column[grouping.first] for name, column in zip(names, columns, strict=True)}
            labels = {name: self.labels[name] for name in names}
            self._projections[names] = Slice(labels, values, counts, np.arange(len(counts)))
        return self._projections[names]

    @cached_property
    def _projections(self) -> dict[tuple[str, ...], "Slice"]:
        return {}

    def _candidates(self, overlaps: Mapping[str, ValueOverlap]) -> Codes:
        """Return the entries that one column leaves, the one that leaves fewest."""
        if not overlaps:
            return np.arange(len(self.counts))
        left = {}
        for name, overlap in overlaps.items():
            starts = self._index(name)[1]
            left[name] = int(np.diff(starts)[overlap.possible].sum())
        name = min(left, key=left.__getitem__)
        order, starts = self._index(name)
        found = np.flatnonzero(overlaps[name].possible)
        return order[run_entries(starts[found], np.diff(starts)[found])]

    def _index(self, name: str) -> tuple[Codes, Codes]:
        if name not in self._indexes:
            values = self.values[name]
            counts = np.bincount(values, minlength=len(self.labels[name]))
            self._indexes[name] = (np.argsort(values, kind="stable"), starts_of(counts))
        return self._indexes[name]


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """What a query may have chosen: between `low[u]` and `high[u]` rows of each unit, out of entries of it.

    Entry `i` belongs to `units[i]` and stands for at most `counts[i]` rows, `weights[i]` by estimate; `entries[i]` is
    its number in the slice of the target, and `box[i]` the box that chose it.
    """

    low: Codes
    high: Codes
    estimate: Codes
    units: Codes
    counts: Codes
    weights: Codes
    entries: Codes
    box: Codes


@dataclass(frozen=True, slots=True, eq=False)
class PublishedRows:
    """All rows of a published table: its slices and the rows of every unit.

    `suppressed` rows are in the original and in no unit; None if nobody knows how many. `trusted_means` says that
    published means are those of the published rows. `notes` are what a reader of any answer must know. `attained` says
    of which columns the ends of published ranges are values that occur, and among which rows: among all rows that show
    the same in the columns that are named for it.
    """

    slices: tuple[Slice, ...]
    sizes: Codes
    suppressed: int | None = 0
    trusted_means: bool = True
    notes: tuple[str, ...] = ()
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    attained: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def labels(self) -> dict[str, PublishedLabels]:
        """The columns of all slices."""
        return {name: labels for each in self.slices for name, labels in each.labels.items()}

    def count(self, boxes: Sequence[Box]) -> tuple[float, int, int, float]:
        """Return how many rows boxes hold: by estimate, at least, at most, and the variance of the estimate."""
        if len(self.slices) == 1 and len(boxes) == 1:
            chosen = self.slices[0].chosen(boxes[0])
            counts = self.slices[0].counts[chosen.entries]
            low, high = int(counts[chosen.certain].sum()), int(counts.sum())
            return float(counts @ chosen.share), low, high, float(counts @ (chosen.share * (1 - chosen.share)))
        pool = self.pool(boxes, None)
        share = np.divide(pool.estimate, self.sizes, where=self.sizes > 0, out=np.zeros(len(self.sizes)))
        open_ = pool.low < pool.high
        variance = float((self.sizes * share * np.maximum(1 - share, 0))[open_].sum())
        return float(pool.estimate.sum()), int(pool.low.sum()), int(pool.high.sum()), variance

    def count_each(self, boxes: Sequence[Box]) -> list[tuple[float, int, int, float]]:
        """Return for each of many boxes how many rows it holds, as `count` does."""
        if len(self.slices) != 1 or not len(self.sizes):
            return [self.count((box,)) for box in boxes]
        found: list[tuple[float, int, int, float]] = [(0.0, 0, 0, 0.0)] * len(boxes)
        alike: dict[tuple[str, ...], list[int]] = {}
        for place, box in enumerate(boxes):
            alike.setdefault(tuple(sorted(box)), []).append(place)
        for names, places in alike.items():
            slim = self.slices[0].project(names) if names else self.slices[0]
            if not names or len(places) * len(slim.counts) < WORTH_COMPILED:
                rows = replace(self, slices=(slim,), sizes=slim.counts)
                counted = [rows.count((boxes[place],)) for place in places]
            else:
                counted = _count_boxes(slim, names, [boxes[place] for place in places])
            for place, each in zip(places, counted, strict=True):
                found[place] = each
        return found

    def pool(self, boxes: Sequence[Box], target: str | None) -> Pool:
        """Return what boxes without overlap may have chosen, by entries of the slice that has the target."""
        units = len(self.sizes)
        low, high = np.zeros(units, dtype=np.int64), np.zeros(units, dtype=np.int64)
        estimate = np.zeros(units)
        parts = []
        for number, box in enumerate(boxes):
            home, least, most, guess = self._meet(box, target)
            low, high, estimate = low + least, high + most, estimate + guess
            parts.append((*home, np.full(len(home[0]), number)))
        high, low = np.minimum(high, self.sizes), np.minimum(low, self.sizes)
        joined = [np.concatenate(each) for each in zip(*parts, strict=True)] if parts else [np.zeros(0, int)] * 5
        entries, owners, counts, weights, box_numbers = joined
        return Pool(low, high, np.clip(estimate, low, high), owners, counts, weights, entries, box_numbers)

    def _meet(self, box: Box, target: str | None) -> tuple[tuple[Codes, Codes, Codes, Codes], Codes, Codes, Codes]:
        """Return the entries of the target's slice that a box may hold, and what it holds of each unit.

        Slices are bound as Fréchet did: of n rows of which a have one property and b another, at least a + b - n have
        both, and at most the smaller number. By estimate they are independent.
        """
        units = len(self.sizes)
        low, high = np.zeros(units, dtype=np.int64), self.sizes.astype(np.int64)
        estimate, touched = self.sizes.astype(np.float64), 0
        home: tuple[Codes, Codes, Codes, Codes] | None = None
        for each in self.slices:
            if not (any(name in each.values for name in box) or target in each.values):
                continue
            chosen = each.chosen(box)
            owners, counts = each.units[chosen.entries], each.counts[chosen.entries]
            weights = counts * chosen.share
            touched += 1
            low = low + np.bincount(owners, counts * chosen.certain, minlength=units).astype(np.int64)
            high = np.minimum(high, np.bincount(owners, counts, minlength=units).astype(np.int64))
            share = np.bincount(owners, weights, minlength=units) / np.maximum(self.sizes, 1)
            if target in each.values:
                home = (chosen.entries, owners, counts, weights)
                others = estimate / np.maximum(self.sizes, 1)
                home = (*home[:3], weights * others[owners])
            elif home is not None:
                home = (*home[:3], home[3] * share[home[1]])
            estimate = estimate * share
        low = np.maximum(low - (touched - 1) * self.sizes, 0) if touched else self.sizes.astype(np.int64)
        nothing = np.zeros(0, dtype=np.int64)
        return home or (nothing, nothing, nothing, nothing.astype(float)), low, high, estimate


def _count_boxes(one: Slice, names: tuple[str, ...], boxes: Sequence[Box]) -> list[tuple[float, int, int, float]]:
    """Return how many rows boxes hold that speak of the same columns, compiled."""
    values = np.stack([one.values[name].astype(np.int32) for name in names])
    offsets = starts_of([len(one.labels[name]) for name in names])
    found = np.zeros((len(boxes), 4))
    for start in range(0, len(boxes), BLOCK):
        part = boxes[start : start + BLOCK]
        shares = np.empty((len(part), int(offsets[-1])))
        for row, box in enumerate(part):
            overlaps = [one.labels[name].overlap(box[name]) for name in names]
            certain, possible = (np.concatenate([getattr(o, key) for o in overlaps]) for key in ("certain", "possible"))
            share = np.concatenate([overlap.share for overlap in overlaps])
            shares[row] = np.where(certain, 2.0, np.where(possible, share, -1.0))
        count_boxes(values, offsets, one.counts, shares, found[start : start + BLOCK])
    return [(estimate, int(low), int(high), variance) for estimate, low, high, variance in found.tolist()]
