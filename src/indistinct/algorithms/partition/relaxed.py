"""Relaxed multidimensional partitioning: parts are halved by rows, so equal vectors may go to different classes."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from indistinct.algorithms.partition import _relaxed_kernels
from indistinct.algorithms.partition.layout import Layout
from indistinct.algorithms.partition.strict_any_model import widths
from indistinct.arrays import Codes
from indistinct.frequencies.value import Classes, FrequencySet, Histogram
from indistinct.models.base import Model


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Rows of cells in classes: piece `i` sends `counts[i]` rows of `cells[i]` to `class_ids[i]`; cells ascend.

    `joint` is the code of the sensitive values of a piece's rows, where the model asked for them.
    """

    cells: Codes
    joint: Codes | None
    class_ids: Codes
    counts: Codes
    classes: int


def halve_by_size(ranks: Codes, counts: Codes, *, layout: Layout, k: int) -> Pieces:
    """Halve parts while both halves have at least `k` rows."""
    rows, cells = int(counts.sum()), len(ranks)
    room = cells + rows // k + 1
    # Each halving in progress may add one divided cell to the buffers; there are never more than `depth` of them.
    buffer = cells + 2 * max(rows, 1).bit_length() + 8
    held, weights = np.empty(buffer, dtype=np.int64), np.empty(buffer, dtype=np.int64)
    held[:cells], weights[:cells] = np.arange(cells), counts
    spare = np.empty(buffer, dtype=np.int64), np.empty(buffer, dtype=np.int64)
    found = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    keys = np.empty(buffer, dtype=np.uint64)
    written, classes = _relaxed_kernels.partition_relaxed(
        ranks, held, weights, cells, k, layout.arrays, spare, keys, found
    )
    return _sorted(found[0][:written], None, found[2][:written], found[1][:written], classes)


def halve_by_rounds(
    ranks: Codes, frequencies: FrequencySet, *, layout: Layout, model: Model, counters: Counter[str]
) -> Pieces:
    """Halve parts while both halves satisfy the model; sensitive values are handed out in value order."""
    items = _Items.of(frequencies)
    parts, done, classes = np.zeros(len(items.cells), dtype=np.int64), [], 0
    while len(items.cells):
        count = int(parts.max()) + 1
        moved = _round(ranks, items, parts, count, layout=layout, model=model, counters=counters)
        final = moved.settled[parts]
        numbers = classes + np.cumsum(moved.settled) - 1
        done.append((items.take(final), numbers[parts[final]]))
        classes += int(moved.settled.sum())
        items, parts = moved.items, moved.parts
    cells, joint, counts = (np.concatenate([getattr(i, f) for i, _ in done]) for f in ("cells", "joint", "counts"))
    class_ids = np.concatenate([class_id for _, class_id in done])
    return _sorted(cells, joint if frequencies.joint is not None else None, class_ids, counts, classes)


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    """Rows that are alike in everything the search can see, in canonical order."""

    cells: Codes
    joint: Codes
    counts: Codes
    frequencies: FrequencySet

    @classmethod
    def of(cls, frequencies: FrequencySet) -> "_Items":
        if frequencies.joint is None:
            cells = np.arange(len(frequencies), dtype=np.int64)
            return cls(cells, np.zeros(len(cells), dtype=np.int64), frequencies.counts, frequencies)
        joint = frequencies.joint.histogram
        return cls(joint.owners(), joint.codes.astype(np.int64), joint.counts, frequencies)

    def take(self, places: Codes) -> "_Items":
        return _Items(self.cells[places], self.joint[places], self.counts[places], self.frequencies)

    def classes(self, class_ids: Codes, size: int, counts: Codes) -> Classes:
        """Return the classes that `counts[i]` rows of each item make under labels; items without rows have no say."""
        present = counts > 0
        class_ids, counts, joint = class_ids[present], counts[present], self.joint[present]
        sizes = np.bincount(class_ids, weights=counts, minlength=size).astype(np.int64)
        histograms = {}
        if self.frequencies.joint is not None:
            pieces = np.arange(len(class_ids) + 1, dtype=np.int64)
            for key, codes in self.frequencies.joint.codes.items():
                whole = self.frequencies.classes.histograms[key]
                single = Histogram(pieces, codes[joint], counts, whole.reference, whole.taxonomy, whole.texts)
                histograms[key] = single.regroup(class_ids, size)
        return Classes(sizes, histograms)


@dataclass(frozen=True, slots=True, eq=False)
class _Moved:
    settled: Codes
    items: _Items
    parts: Codes


def _round(
    ranks: Codes, items: _Items, parts: Codes, count: int, *, layout: Layout, model: Model, counters: Counter[str]
) -> _Moved:
    """Halve every part along the first of its columns, widest first, whose halves satisfy the model."""
    starts = np.searchsorted(parts, np.arange(count))
    values = ranks[items.cells]
    low = np.minimum.reduceat(values, starts).astype(np.int64)
    high = np.maximum.reduceat(values, starts).astype(np.int64)
    by_width = np.argsort(-widths(low, high, layout), axis=1, kind="stable")
    settled, lefts = np.ones(count, dtype=bool), np.zeros(len(parts), dtype=np.int64)
    sizes = np.add.reduceat(items.counts, starts)
    for attempt in range(ranks.shape[1]):
        open_ = settled & (sizes >= 2 * model.smallest) & (sizes >= 2)
        if not open_.any():
            break
        left = _left_counts(values[np.arange(len(parts)), by_width[parts, attempt]], items.counts, parts, starts)
        counters["checks"] += int(open_.sum())
        broken = model.violations(items.classes(parts.astype(np.int32), count, left))
        broken |= model.violations(items.classes(parts.astype(np.int32), count, items.counts - left))
        won = open_ & ~broken
        settled[won] = False
        lefts[won[parts]] = left[won[parts]]
    return _halved(items, parts, settled, lefts)


def _left_counts(values: Codes, counts: Codes, parts: Codes, starts: Codes) -> Codes:
    """Return how many rows of each item belong to the left half of its part, in order of value."""
    order = np.lexsort((values, parts))
    running = np.cumsum(counts[order])
    bases = np.concatenate([[0], running])[starts]
    totals = np.add.reduceat(counts, starts)
    half = ((totals + 1) // 2)[parts[order]]
    before = running - counts[order] - bases[parts[order]]
    left = np.empty(len(values), dtype=np.int64)
    left[order] = np.clip(half - before, 0, counts[order])
    return left


def _halved(items: _Items, parts: Codes, settled: Codes, lefts: Codes) -> _Moved:
    """Return the items of the next round: the halves of every part that was not settled."""
    going = ~settled[parts]
    rest = items.take(going)
    left, right = lefts[going], rest.counts - lefts[going]
    places = np.concatenate([np.flatnonzero(left > 0), np.flatnonzero(right > 0)])
    counts = np.concatenate([left[left > 0], right[right > 0]])
    dense = np.cumsum(~settled) - 1
    children = np.concatenate([2 * dense[parts[going]][left > 0], 2 * dense[parts[going]][right > 0] + 1])
    order = np.lexsort((places, children))
    moved = rest.take(places[order])
    return _Moved(settled, _Items(moved.cells, moved.joint, counts[order], items.frequencies), children[order])


def _sorted(cells: Codes, joint: Codes | None, class_ids: Codes, counts: Codes, classes: int) -> Pieces:
    order = np.lexsort((class_ids, cells) if joint is None else (class_ids, joint, cells))
    return Pieces(
        cells[order].astype(np.int32),
        None if joint is None else joint[order].astype(np.int32),
        class_ids[order].astype(np.int32),
        counts[order].astype(np.int64),
        classes,
    )
