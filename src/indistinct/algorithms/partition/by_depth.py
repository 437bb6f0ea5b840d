"""Strict partitioning by depth: each part is cut at its allowable candidate with the smallest weight.

All parts of a depth are weighed together and judged by one call of the model; for models that look at class sizes alone
a search offers allowable cuts only. Each search defines its own weight: loss, mixed targets, or the error of queries.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from indistinct.algorithms.partition.layout import KernelLayout, Partition
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Codes, Mask, starts_of
from indistinct.machine.threads import is_large, spread, workers
from indistinct.models.base import Model
from indistinct.recoding.kinds import Cuts

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, eq=False)
class DepthParts:
    """The parts of one depth: part `i` has the cells `items[starts[i]:starts[i + 1]]`, packed in `rows`.

    `offsets` are the positions where parts begin in the final order of all cells.
    """

    items: Codes
    rows: Codes
    starts: Codes
    offsets: Codes

    def __len__(self) -> int:
        return len(self.offsets)

    def select(self, mask: Codes | Mask) -> "DepthParts":
        """Return the parts that a mask selects."""
        if mask.all():
            return self
        sizes = np.diff(self.starts)
        inside = np.repeat(mask, sizes)
        return DepthParts(self.items[inside], self.rows[inside], starts_of(sizes[mask]), self.offsets[mask])


@dataclass(frozen=True, slots=True, eq=False)
class Division:
    """Parts divided in two: the order of cells with left sides first, where right sides begin, and the cuts.

    A cut along ranks ends at one of them; any other is the set of ranks on its left side, `sizes` of them in `members`
    from the start of the part on.
    """

    order: Codes
    middles: Codes
    ends: Codes
    members: Codes
    sizes: Codes


class DepthSearch(Protocol):
    """How parts are weighed and divided; a candidate cut is a number."""

    @property
    def never(self) -> float:
        """Weight of a candidate that is not allowed."""

    @property
    def work(self) -> int:
        """Relative cost of one cell."""

    def weigh(self, parts: DepthParts, first: int, last: int) -> Codes:
        """Return the weights of a run of parts: parts × candidates."""

    def divide(self, parts: DepthParts, chosen: Codes) -> Division:
        """Return the parts divided at one candidate each."""

    def axes(self, chosen: Codes) -> Codes:
        """Return the column of each candidate."""


def partition_by_depth(
    search: DepthSearch,
    ranks: Codes,
    classes: Classes,
    *,
    layout: KernelLayout,
    model: Model,
    counters: Counter[str],
    fits: int = 0,
) -> Partition:
    """Return the partition in which every part is divided at its lightest candidate; cells of a class are adjacent.

    Parts of at most `fits` rows are not divided.
    """
    tree = _Tree()
    everything = np.arange(len(ranks))
    final, ends = np.empty_like(everything), []
    parts = DepthParts(everything, layout.pack(ranks, classes.sizes), np.array([0, len(ranks)]), np.zeros(1, np.int64))
    while len(parts):
        large = _larger(parts, classes.sizes, fits)
        chosen = np.full(len(parts), -1)
        if large.any():
            some = parts.select(large)
            chosen[large] = _chosen(search, some, model=model, classes=classes, counters=counters)
        cut = chosen >= 0
        done, parts = parts.select(~cut), parts.select(cut)
        ends.append(done.offsets)
        final[np.arange(len(done.items)) + np.repeat(done.offsets - done.starts[:-1], np.diff(done.starts))] = (
            done.items
        )
        division = search.divide(parts, chosen[cut])
        tree.grow(cut, search.axes(chosen[cut]), division, done.offsets, parts.starts[:-1])
        parts = _sides(parts, division)
    starts = np.sort(np.concatenate(ends))
    class_ids = np.repeat(np.arange(len(starts), dtype=np.int32), np.diff(starts, append=len(ranks)))
    return Partition(tree.cuts(), ranks[final], class_ids, classes.sizes[final])


def _larger(parts: DepthParts, sizes: Codes, fits: int) -> Mask:
    """Return which parts have more than `fits` rows."""
    if not fits:
        return np.ones(len(parts), dtype=bool)
    return np.asarray(np.add.reduceat(sizes[parts.items], parts.starts[:-1]) > fits)


def _chosen(search: DepthSearch, parts: DepthParts, *, model: Model, classes: Classes, counters: Counter[str]) -> Codes:
    """Return each part's lightest candidate that the model allows, -1 where there is none."""
    if model.traits.sizes_only:
        chosen = np.full(len(parts), -1)

        def best(first: int, last: int) -> None:
            weights = search.weigh(parts, first, last)
            chosen[first:last] = np.where(weights.min(axis=1) < search.never, weights.argmin(axis=1), -1)

        spread_parts(best, parts, search.work)
        return chosen
    weights = np.concatenate(spread_parts(lambda first, last: search.weigh(parts, first, last), parts, search.work))
    ranked = np.argsort(weights, axis=1, kind="stable")
    chosen, everyone = np.full(len(parts), -1), np.arange(len(parts))
    waiting = np.ones(len(parts), dtype=bool)
    for attempt in range(weights.shape[1]):
        tried = ranked[:, attempt]
        waiting &= weights[everyone, tried] < search.never
        if not waiting.any():
            break
        group = parts.select(waiting)
        counters["checks"] += len(group)
        sides = _sides(group, search.divide(group, tried[waiting]))
        class_ids = np.repeat(np.arange(len(sides), dtype=np.int32), np.diff(sides.starts))
        broken = model.violations(classes.take(sides.items).regroup(class_ids, len(sides)))
        won = np.flatnonzero(waiting)[~(broken[::2] | broken[1::2])]
        chosen[won], waiting[won] = tried[won], False
    return chosen


def spread_parts(work: Callable[[int, int], Result], parts: DepthParts, weight: int) -> list[Result]:
    """Apply `work` to runs of parts with about equally many cells, in threads, and return the results in order."""
    cells, runs = len(parts.items), 1
    if is_large(weight * cells):
        runs = min(4 * workers(), len(parts))
    cells_before = np.arange(1, runs) * (cells / runs)
    bounds = np.unique([0, *np.searchsorted(parts.starts, cells_before).tolist(), len(parts)]).tolist()
    return spread(work, bounds[:-1], bounds[1:])


def _sides(parts: DepthParts, division: Division) -> DepthParts:
    """Return the sides of divided parts as parts."""
    starts = np.empty(2 * len(parts) + 1, dtype=np.int64)
    starts[::2], starts[1::2] = parts.starts, division.middles
    offsets = np.repeat(parts.offsets - parts.starts[:-1], 2) + starts[:-1]
    return DepthParts(parts.items[division.order], parts.rows[division.order], starts, offsets)


class _Tree:
    """A tree of cuts that grows by one depth at a time."""

    def __init__(self) -> None:
        self.axis: list[Codes] = []
        self.cut: list[Codes] = []
        self.left: list[Codes] = []
        self.members: list[Codes] = []
        self.sizes: list[Codes] = []
        self.nodes, self.sets = 1, 0

    def grow(self, cut: Mask, axis: Codes, division: Division, leaves: Codes, starts: Codes) -> None:
        """Add the parts of one depth: which are divided, along which column and where, and the offsets of leaves."""
        own, ends, left = np.full(len(cut), -1, np.int16), np.zeros(len(cut), np.int64), np.empty(len(cut), np.int64)
        own[cut], left[~cut] = axis, leaves
        left[cut] = self.nodes + 2 * np.arange(len(axis))
        by_set = division.sizes > 0
        sets = self.sets + np.cumsum(by_set) - 1
        ends[cut] = np.where(by_set, -1 - sets, division.ends)
        sizes = division.sizes[by_set]
        inside = np.repeat(starts[by_set] - starts_of(sizes)[:-1], sizes) + np.arange(sizes.sum())
        self.nodes, self.sets = self.nodes + 2 * len(axis), self.sets + int(by_set.sum())
        self.members.append(division.members[inside])
        for whole, part in ((self.axis, own), (self.cut, ends), (self.left, left), (self.sizes, sizes)):
            whole.append(part)

    def cuts(self) -> Cuts:
        """Return the whole tree, with leaves numbered from left to right."""
        axis, cut, left, sizes = (np.concatenate(part) for part in (self.axis, self.cut, self.left, self.sizes))
        members = (starts_of(sizes), np.concatenate(self.members).astype(np.int32)) if len(sizes) else None
        return Cuts(axis, cut, left, left + 1, members).numbered()
