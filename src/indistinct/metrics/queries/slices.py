"""The rows of a published table as a query meets them: slices, each some columns whose values belong together.

A release in classes is one slice: all that a row shows belongs together, and every cell is a unit of its own. In a
release in buckets a unit is a bucket, in which nobody knows which entries of two slices belong to one row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes, run_entries, starts_of
from indistinct.metrics.queries._count_kernels import count_boxes
from indistinct.metrics.queries.boxes import Box
from indistinct.metrics.queries.labels import Labels, Overlap

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

    labels: Mapping[str, Labels]
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

    def projected(self, names: tuple[str, ...]) -> "Slice":
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

    def _candidates(self, overlaps: Mapping[str, Overlap]) -> Codes:
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
    def labels(self) -> dict[str, Labels]:
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
            slim = self.slices[0].projected(names) if names else self.slices[0]
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
