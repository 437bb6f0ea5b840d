"""The rows of a published table for queries: how much of each published value a condition allows.

A published value represents a set of original ones, which decides what is certain and what is possible. An estimate
assumes that its values are equally frequent: each whole number or day of a range, the length of other ranges, the
members of a node or a set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from indistinct.frequencies.slices import Join, Slice, joined_components, together
from indistinct.machine.arrays import Array, Codes, Floats, Mask, run_entries, starts_of
from indistinct.metrics.queries._count_kernels import count_boxes
from indistinct.metrics.queries.boxes import Box
from indistinct.metrics.queries.values import EVERY, ColumnValues, LineSet, TextSet, ValueSet, column_values
from indistinct.view.value import Ranges, ShownColumn, View


@dataclass(frozen=True, slots=True, eq=False)
class ValueOverlap:
    """How much of each published value a set of values allows: an estimated share, and whether all or some of it."""

    share: Floats
    certain: Mask
    possible: Mask


@dataclass(frozen=True, slots=True, eq=False)
class Clipped:
    """The allowed part of each published number: minimum, maximum, mean and variance."""

    low: Codes
    high: Codes
    mean: Floats
    variance: Codes


def overlap(column: ShownColumn, allowed: ValueSet) -> ValueOverlap:
    """Return the share of each published value that a set covers: certain, possible and expected."""
    levels = _levels(column, allowed)
    inside, partly = _sum_weights(column, levels), _sum_weights(column, levels > 0)
    others, beyond = allowed.levels[-2] if isinstance(allowed, TextSet) else 0, column.beyond_domain
    certain: Mask = (inside == EVERY * column.sizes) & ~(beyond & bool(others < EVERY))
    possible: Mask = (partly > 0) | (beyond & bool(others > 0))
    share: Floats = (inside / EVERY + beyond * (others / EVERY)) / np.maximum(column.sizes + beyond, 1)
    if isinstance(allowed, LineSet):
        if column.hull is not None:
            certain, possible = _by_hull(column, allowed, certain, possible)
        if column.ranges is not None:
            share = _by_width(column, allowed, share)
    return ValueOverlap(np.where(certain, 1.0, np.where(possible, share, 0.0)), certain, possible)


def clip(column: ShownColumn, allowed: ValueSet | None) -> Clipped:
    """Return the allowed numbers of each published value; they are undefined where none is allowed."""
    kept = LineSet(((-np.inf, 0), (np.inf, 1))) if allowed is None else allowed
    assert isinstance(kept, LineSet)  # noqa: S101  (text is refused before)
    inside = _levels(column, kept) > 0
    inside[: int(column.missing)] = False
    low, high, mean = _by_codes(column, inside)
    if column.hull is not None:
        low, high = _ends(kept, *column.hull)
    if column.ranges is not None:
        middle = _middle(kept, column.ranges)
        mean = np.where(np.isnan(middle), mean, middle)
    both = np.isfinite(low) & np.isfinite(high)
    mean = np.where(np.isnan(mean) & both, (np.where(both, low, 0) + np.where(both, high, 0)) / 2, mean)
    mean = np.clip(mean, low, high)
    return Clipped(low, high, mean, np.where(both, np.where(both, high - low, 0.0) ** 2 / 12, 0.0))


def _levels(column: ShownColumn, allowed: ValueSet) -> Codes:
    """Return for every known value whether it is allowed: 0 or 2."""
    if isinstance(allowed, TextSet):
        known = allowed.levels[:-2]
        return np.concatenate([allowed.levels[-1:], known]) if column.missing else known
    assert column.positions is not None  # noqa: S101
    levels = EVERY * allowed.holds(column.positions).astype(np.int8)
    if column.missing:
        levels[0] = EVERY * allowed.missing
    return levels


def _sum_weights(column: ShownColumn, weights: Codes | Mask) -> Codes:
    """Return the sum of weights of the known values that each published value covers."""
    running = np.concatenate([[0], np.cumsum(weights, dtype=np.float64 if weights.dtype.kind == "f" else np.int64)])
    return column.cover.sum_runs(running[column.cover.high + 1] - running[column.cover.low])


def _by_hull(column: ShownColumn, allowed: LineSet, certain: Mask, possible: Mask) -> tuple[Mask, Mask]:
    """Return which ranges are certainly and possibly allowed, where only their ends are known."""
    assert column.hull is not None  # noqa: S101
    low, high = column.hull
    some, every = np.zeros(len(column), dtype=bool), np.zeros(len(column), dtype=bool)
    for (start, past), (end, within) in allowed.stretches:
        after = (low > start) | ((low == start) & (past == 0))
        before = (high < end) | ((high == end) & (within == 1))
        every |= after & before
        meets = (high > start) | ((high == start) & (past == 0))
        some |= meets & ((low < end) | ((low == end) & (within == 1)))
    number = low <= high
    every = np.where(number, every, True) & (~column.absent | allowed.missing)
    return every & (number | column.absent), (some & number) | (column.absent & allowed.missing)


def _by_width(column: ShownColumn, allowed: LineSet, share: Floats) -> Floats:
    """Return the allowed share of ranges by their width.

    Missing counts as one value in addition to those of a range.
    """
    assert column.ranges is not None  # noqa: S101
    low, high, whole = column.ranges.low, column.ranges.high, column.ranges.whole
    inside = np.zeros(len(column))
    if whole:
        for start, end in allowed.whole():
            inside += np.maximum(np.minimum(end, high) - np.maximum(start, low) + 1, 0)
        size = values = np.maximum(high - low + 1, 1)
    else:
        for (start, _), (end, _) in allowed.stretches:
            inside += np.maximum(np.minimum(end, high) - np.maximum(start, low), 0)
        size, values = high - low, np.maximum(column.sizes - column.absent, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = inside / size
        shares = np.where(column.absent, (part * values + allowed.missing) / (values + 1), part)
    # For a point, and a set of length 0, the known values are more exact.
    usable = np.isfinite(shares) & (whole | (inside > 0))
    return np.where(usable, shares, share)


def _by_codes(column: ShownColumn, inside: Mask) -> tuple[Array, Array, Floats]:
    """Return the minimum, maximum and mean of the known numbers that are allowed, NaN where there are none."""
    assert column.positions is not None  # noqa: S101
    count = len(inside)
    positions = np.where(inside, np.arange(count), count)
    following = np.append(np.minimum.accumulate(positions[::-1])[::-1], count)
    positions = np.where(inside, np.arange(count), -1)
    before = np.append(np.maximum.accumulate(positions), -1) if count else np.array([-1])
    first, last = following[column.cover.low], before[column.cover.high]
    line = np.append(column.positions, np.nan)
    low = np.where(first <= column.cover.high, line[np.minimum(first, count)], np.inf)
    high = np.where(last >= column.cover.low, line[np.maximum(last, -1)], -np.inf)
    low, high = _reduce_runs(column, np.minimum, low, np.inf), _reduce_runs(column, np.maximum, high, -np.inf)
    numbers = _sum_weights(column, inside.astype(np.int64))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = _sum_weights(column, np.where(inside, column.positions, 0.0)) / numbers
    none = numbers == 0
    return np.where(none, np.nan, low), np.where(none, np.nan, high), mean


def _reduce_runs(column: ShownColumn, reach: np.ufunc, runs: Codes, nothing: float) -> Codes:
    """Reduce a number per run to one per published value; `nothing` where it has no run."""
    results = np.full(len(column), nothing)
    filled = np.flatnonzero(np.diff(column.cover.indptr))
    if len(filled):
        results[filled] = reach.reduceat(runs, column.cover.indptr[filled])
    return results


def _ends(kept: LineSet, low: Codes, high: Codes) -> tuple[Codes, Codes]:
    """Return the smallest and largest number of each range that a set allows, NaN where it allows none."""
    least, largest = np.full(len(low), np.inf), np.full(len(low), -np.inf)
    for (start, _), (end, _) in kept.stretches:
        one, other = np.maximum(low, start), np.minimum(high, end)
        meets = one <= other
        least = np.where(meets, np.minimum(least, one), least)
        largest = np.where(meets, np.maximum(largest, other), largest)
    none = least > largest
    return np.where(none, np.nan, least), np.where(none, np.nan, largest)


def _middle(kept: LineSet, ranges: Ranges) -> Floats:
    """Return the mean of the allowed part of each range, NaN where that has no width."""
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


# MIN_PAIRS_TO_COMPILE: pairs of a box and an entry from which compiling pays. BOXES_PER_BLOCK: boxes that are processed
# at a time.
MIN_PAIRS_TO_COMPILE, BOXES_PER_BLOCK = 4_000_000, 256


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The entries of a slice that a box may contain: indices, the estimated share of each, whether all of it."""

    entries: Codes
    share: Floats
    certain: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The rows that a query may select: from `low[u]` to `high[u]` rows of each unit, out of its entries.

    Entry `i` belongs to `units[i]` and has at most `counts[i]` rows, `weights[i]` by estimate; `entries[i]` is its
    index in the slice of the target, and `box[i]` the box that selected it.
    """

    low: Codes
    high: Codes
    estimate: Codes
    units: Codes
    counts: Codes
    weights: Codes
    entries: Codes
    box: Codes


@dataclass(frozen=True, eq=False)
class PublishedRows:
    """The view of a published table that queries use, and what else is known about it.

    `suppressed` rows are in the original and in no unit; None if their number is not known. With `trusted_means`,
    published means are those of the published rows. `notes` are needed to understand any answer. `attained` names the
    columns whose published ranges end at occurring values, each with the columns by which rows are grouped: the ends
    occur among all rows with the same published values in these.
    """

    view: View
    suppressed: int | None = 0
    trusted_means: bool = True
    notes: tuple[str, ...] = ()
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    attained: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def values(self) -> dict[str, ColumnValues]:
        """The meaning of constants of a query in each column."""
        return {name: column_values(column.domain, column.order) for name, column in self.view.columns.items()}

    @cached_property
    def _projections(self) -> dict[tuple[str, ...], "PublishedRows"]:
        return {}

    @cached_property
    def _indexes(self) -> dict[tuple[int, str], tuple[Codes, Codes]]:
        return {}

    @cached_property
    def _groups(self) -> dict[int, tuple[tuple[Join, ...], ...]]:
        return {}

    def project(self, names: tuple[str, ...]) -> "PublishedRows":
        """Return the rows of a table in classes restricted to some columns, cached."""
        if names not in self._projections:
            self._projections[names] = replace(self, view=self.view.project(names))
        return self._projections[names]

    def chosen(self, number: int, box: Box) -> Chosen:
        """Return the entries of a slice that a box may contain, by its conditions on columns of the slice."""
        codes = self.view.slices[number].codes
        overlaps = {name: overlap(self.view.columns[name], box[name]) for name in box if name in codes}
        entries = self._candidates(number, overlaps)
        for name, each in overlaps.items():
            entries = entries[each.possible[codes[name][entries]]]
        share, certain = np.ones(len(entries)), np.ones(len(entries), dtype=bool)
        for name, each in overlaps.items():
            values = codes[name][entries]
            share *= each.share[values]
            certain &= each.certain[values]
        return Chosen(entries, share, certain)

    def _candidates(self, number: int, overlaps: Mapping[str, ValueOverlap]) -> Codes:
        """Return the candidate entries by one column, the one with the fewest."""
        if not overlaps:
            return np.arange(len(self.view.slices[number].counts))
        left = {}
        for name, each in overlaps.items():
            starts = self._index(number, name)[1]
            left[name] = int(np.diff(starts)[each.possible].sum())
        name = min(left, key=left.__getitem__)
        order, starts = self._index(number, name)
        rows = np.flatnonzero(overlaps[name].possible)
        return order[run_entries(starts[rows], np.diff(starts)[rows])]

    def _index(self, number: int, name: str) -> tuple[Codes, Codes]:
        """Return the entries of a slice sorted by published value of a column, and where each value begins."""
        if (number, name) not in self._indexes:
            values = self.view.slices[number].codes[name]
            counts = np.bincount(values, minlength=len(self.view.columns[name]))
            self._indexes[number, name] = (np.argsort(values, kind="stable"), starts_of(counts))
        return self._indexes[number, name]

    def count(self, boxes: Sequence[Box]) -> tuple[float, int, int, float]:
        """Return the number of rows in boxes: estimate, minimum, maximum, and the variance of the estimate."""
        if len(self.view.slices) == 1 and len(boxes) == 1:
            chosen = self.chosen(0, boxes[0])
            counts = self.view.slices[0].counts[chosen.entries]
            low, high = int(counts[chosen.certain].sum()), int(counts.sum())
            return float(counts @ chosen.share), low, high, float(counts @ (chosen.share * (1 - chosen.share)))
        pool = self.pool(boxes, None)
        sizes = self.view.sizes
        share = np.divide(pool.estimate, sizes, where=sizes > 0, out=np.zeros(len(sizes)))
        open_ = pool.low < pool.high
        variance = float((sizes * share * np.maximum(1 - share, 0))[open_].sum())
        return float(pool.estimate.sum()), int(pool.low.sum()), int(pool.high.sum()), variance

    def count_each(self, boxes: Sequence[Box]) -> list[tuple[float, int, int, float]]:
        """Return the number of rows in each of many boxes, as `count` does."""
        if len(self.view.slices) != 1 or not len(self.view.sizes):
            return [self.count((box,)) for box in boxes]
        counts: list[tuple[float, int, int, float]] = [(0.0, 0, 0, 0.0)] * len(boxes)
        alike: dict[tuple[str, ...], list[int]] = {}
        for index, box in enumerate(boxes):
            alike.setdefault(tuple(sorted(box)), []).append(index)
        for names, positions in alike.items():
            rows = self.project(names) if names else self
            if not names or len(positions) * len(rows.view.sizes) < MIN_PAIRS_TO_COMPILE:
                counted = [rows.count((boxes[index],)) for index in positions]
            else:
                counted = _count_boxes(rows.view, names, [boxes[index] for index in positions])
            for index, each in zip(positions, counted, strict=True):
                counts[index] = each
        return counts

    def pool(self, boxes: Sequence[Box], target: str | None) -> Pool:
        """Return the rows that boxes without overlap may select, by entries of the slice with the target."""
        sizes = self.view.sizes
        units = len(sizes)
        low, high = np.zeros(units, dtype=np.int64), np.zeros(units, dtype=np.int64)
        estimate = np.zeros(units)
        parts = []
        for number, box in enumerate(boxes):
            home, least, most, guess = self._meet(box, target)
            low, high, estimate = low + least, high + most, estimate + guess
            parts.append((*home, np.full(len(home[0]), number)))
        high, low = np.minimum(high, sizes), np.minimum(low, sizes)
        joined = [np.concatenate(each) for each in zip(*parts, strict=True)] if parts else [np.zeros(0, int)] * 5
        entries, owners, counts, weights, box_numbers = joined
        return Pool(low, high, np.clip(estimate, low, high), owners, counts, weights, entries, box_numbers)

    def _meet(self, box: Box, target: str | None) -> tuple[tuple[Codes, Codes, Codes, Floats], Codes, Codes, Floats]:
        """Return the entries of the target's slice that a box may contain, and the rows of each unit.

        Slices are combined by Fréchet's bounds: if a of n rows have one property and b another, at least a + b -
        n have both, and at most the smaller number. The estimate assumes independence, given what slices share.
        """
        sizes = self.view.sizes
        units = len(sizes)
        low, high = np.zeros(units, dtype=np.int64), sizes.astype(np.int64)
        estimate, touched = sizes.astype(np.float64), 0
        home: tuple[Codes, Codes, Codes, Floats] | None = None
        for group in self._joined(target):
            concerned = [join.index for join in group if self._concerned(join.index, box, target)]
            if not concerned:
                continue
            chosen = {join.index: self.chosen(join.index, box) for join in group}
            root = self.view.slices[group[0].index]
            entries = chosen[group[0].index].entries
            owners, counts = root.units[entries], root.counts[entries]
            weights = self._weights(group, chosen)
            for number in concerned:
                most = self._rows_by_unit(number, chosen[number].entries)
                high = np.minimum(high, most)
            for number in self._deciding(concerned, box):
                touched += 1
                low = low + self._rows_by_unit(number, chosen[number].entries[chosen[number].certain])
            share = np.bincount(owners, weights, minlength=units) / np.maximum(sizes, 1)
            if target in root.codes:
                others = estimate / np.maximum(sizes, 1)
                home = (entries, owners, counts, weights * others[owners])
            elif home is not None:
                home = (*home[:3], home[3] * share[home[1]])
            estimate = estimate * share
        low = np.maximum(low - (touched - 1) * sizes, 0) if touched else sizes.astype(np.int64)
        nothing = np.zeros(0, dtype=np.int64)
        return home or (nothing, nothing, nothing, np.zeros(0)), low, high, estimate

    def _joined(self, target: str | None) -> tuple[tuple[Join, ...], ...]:
        """Return slices in groups that share attributes; the slice of the target comes first in its group."""
        slices = self.view.slices
        root = next((number for number, each in enumerate(slices) if target in each.codes), 0)
        if root not in self._groups:
            groups = joined_components([each.names for each in slices], root)
            self._groups[root] = tuple(sorted(groups, key=lambda group: min(join.index for join in group)))
        return self._groups[root]

    def _concerned(self, number: int, box: Box, target: str | None) -> bool:
        """Return whether a slice has a column of a box, or the target."""
        codes = self.view.slices[number].codes
        return target in codes or any(name in codes for name in box)

    def _deciding(self, concerned: Sequence[int], box: Box) -> list[int]:
        """Return slices that have every column of a box, those with most of them first: each bound counts once."""
        own = {number: {name for name in box if name in self.view.slices[number].codes} for number in concerned}
        chosen, covered = [], set[str]()
        for number in sorted(concerned, key=lambda number: -len(own[number])):
            if own[number] - covered:
                chosen.append(number)
                covered |= own[number]
        return chosen

    def _rows_by_unit(self, number: int, entries: Codes) -> Codes:
        each = self.view.slices[number]
        return np.bincount(each.units[entries], each.counts[entries], minlength=len(self.view.sizes)).astype(np.int64)

    def _weights(self, group: Sequence[Join], chosen: Mapping[int, Chosen]) -> Floats:
        """Return how many rows a box holds by estimate of each chosen entry of the first slice of a group."""
        slices, weights = self.view.slices, dict[int, Floats]()
        for number, each in chosen.items():
            weights[number] = slices[number].counts[each.entries] * each.share
            if len(group) > 1:
                whole = np.zeros(len(slices[number].counts))
                whole[each.entries] = weights[number]
                weights[number] = whole
        first = group[0].index
        if len(group) == 1:
            return weights[first]
        return _expected_rows_of_root(slices, group, weights)[chosen[first].entries]


def _expected_rows_of_root(slices: Sequence[Slice], joins: Sequence[Join], weights: Mapping[int, Floats]) -> Floats:
    """Return for each entry of the first joined slice how many of its rows a condition on all slices leaves.

    `weights[j]` has the rows of each entry of slice `j` that a condition on its own attributes leaves. Inside a unit,
    slices that agree on what they share are joined at random, so that a slice keeps of its parent's rows the same share
    as of its own rows with the same shared values.
    """
    left = dict(weights)
    for join in reversed(joins[1:]):
        child, parent = slices[join.index], slices[join.parent]
        own, others = (
            [each.units, *(each.codes[name] for name in join.shared)] for each in (child, parent)
        )  # units count like one more shared column
        of_child, of_parent = together(own, others, rows=0)
        assert of_parent is not None  # noqa: S101  (both sides are given)
        size = int(max(of_child.max(initial=0), of_parent.max(initial=0))) + 1
        whole = np.bincount(of_child, weights=child.counts, minlength=size)
        kept = np.bincount(of_child, weights=left[join.index], minlength=size)
        left[join.parent] = left[join.parent] * (kept / np.maximum(whole, 1))[of_parent]
    return left[joins[0].index]


def _count_boxes(view: View, names: tuple[str, ...], boxes: Sequence[Box]) -> list[tuple[float, int, int, float]]:
    """Return the numbers of rows of boxes with conditions on the same columns, by a kernel."""
    (one,) = view.slices
    values = np.stack([one.codes[name].astype(np.int32) for name in names])
    offsets = starts_of([len(view.columns[name]) for name in names])
    totals = np.zeros((len(boxes), 4))
    for start in range(0, len(boxes), BOXES_PER_BLOCK):
        part = boxes[start : start + BOXES_PER_BLOCK]
        shares = np.empty((len(part), int(offsets[-1])))
        for row, box in enumerate(part):
            overlaps = [overlap(view.columns[name], box[name]) for name in names]
            certain, possible = (np.concatenate([getattr(o, key) for o in overlaps]) for key in ("certain", "possible"))
            share = np.concatenate([each.share for each in overlaps])
            shares[row] = np.where(certain, 2.0, np.where(possible, share, -1.0))
        count_boxes(values, offsets, one.counts, shares, totals[start : start + BOXES_PER_BLOCK])
    return [(estimate, int(low), int(high), variance) for estimate, low, high, variance in totals.tolist()]
