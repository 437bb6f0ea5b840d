"""Strict partitioning of a table whose cells do not fit in memory: each round cuts parts by counts from passes.

All open parts are cut by the rule of `strict_any_model.py`: along the widest column, at the median, if both sides
satisfy the model. A pass over the rows returns counts of parts; the search never sees a row. Once a part is small
enough for the search in memory, that search continues with the same rule.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from indistinct.algorithms.partition.keyed_columns import KeyedColumn, local_layout, ranks_among
from indistinct.algorithms.partition.strict_any_model import GrowingTree, widths
from indistinct.algorithms.partition.weighed_cuts import WeighedCuts
from indistinct.frequencies.passes import (
    LAST_KEY,
    NO_PART,
    KeyRanges,
    KeySets,
    KeyTree,
    Scale,
    Segmented,
    Segments,
    Survey,
    Within,
)
from indistinct.frequencies.value import Classes, Histogram, Key
from indistinct.machine.arrays import Codes, Mask, starts_of
from indistinct.models.base import Model
from indistinct.recoding.summary import meeting_levels

# For one column of a survey: counters of all parts together, and the largest and smallest number of a single part.
COUNTERS_PER_COLUMN, MAX_BUCKETS_PER_PART, MIN_BUCKETS_PER_PART = 1 << 19, 1 << 12, 1 << 6
# A key range with at most this many rows of a part is listed key by key; otherwise it is divided into buckets.
MAX_ROWS_LISTED, BUCKETS_OF_RANGE = 1 << 16, 16


class Passes(Protocol):
    """A counter of rows: each call is one pass over all rows and returns counts for every open part of a tree."""

    def survey(self, tree: KeyTree, scale: Scale) -> Survey:
        """Return the rows of each part, its lowest and highest keys, and its rows by bucket."""

    def within(self, tree: KeyTree, ranges: KeyRanges) -> Within:
        """Return the rows and keys in one range of each part."""

    def segments(self, tree: KeyTree, segments: Segments) -> Segmented:
        """Return the rows, and the values that a model looks at, of segments of each part."""


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """The model, and the whole table's histograms that it compares with.

    Parts of at most `fits` rows are left to memory.

    Parts that fit are cut by `choice` where cuts are weighed, and otherwise at medians.
    """

    model: Model
    whole: Classes
    fits: int
    choice: WeighedCuts | None = None

    def classes(self, segmented: Segmented) -> Classes:
        """Return segments as classes."""
        histograms: dict[Key, Histogram] = {}
        for key, tally in segmented.tallies.items():
            indptr = starts_of(np.bincount(tally.owners, minlength=len(segmented.sizes)))
            codes = tally.values.astype(np.int32)
            histograms[key] = replace(self.whole.histograms[key], indptr=indptr, codes=codes, counts=tally.counts)
        return Classes(segmented.sizes, histograms)

    def violations(self, classes: Classes, class_ids: Codes, size: int) -> Mask:
        """Return which unions of classes break the model."""
        return self.model.violations(classes.regroup(class_ids.astype(np.int32), size))


@dataclass(slots=True)
class Top:
    """The upper part of a tree of cuts, whose leaves are classes or parts that fit in memory.

    `rows` has the rows of each leaf, and `whole` the leaves that cannot be cut although they may not fit. `sets` has
    the keys on the left side of nodes that are cut at a set of keys.
    """

    tree: GrowingTree = field(default_factory=GrowingTree)
    rows: dict[int, int] = field(default_factory=dict)
    whole: set[int] = field(default_factory=set)
    sets: dict[int, Codes] = field(default_factory=dict)

    def leaves(self) -> list[int]:
        """Return the nodes of leaves from left to right."""
        waiting, leaf_nodes = [0], []
        while waiting:
            node = waiting.pop()
            if self.tree.axis[node] < 0:
                leaf_nodes.append(node)
            else:
                waiting += [self.tree.right[node], self.tree.left[node]]
        return leaf_nodes

    def keyed(self, parts: Sequence[int]) -> KeyTree:
        """Return the tree for passes in which the given leaves are parts, numbered in this order."""
        axis, left = np.array(self.tree.axis, dtype=np.int64), np.array(self.tree.left, dtype=np.int64)
        left[axis < 0] = NO_PART
        left[np.array(parts, dtype=np.int64)] = np.arange(len(parts))
        cut = np.array([int(each) for each in self.tree.cut], dtype=np.uint64)
        sets = KeySets.of(self.sets, len(axis))
        return KeyTree(axis, cut, left, np.array(self.tree.right, dtype=np.int64), sets)


class TopsBreakError(Exception):
    """Raised where combinations of top nodes break the model: `rows` is the number of their rows."""

    def __init__(self, rows: int, combinations: int) -> None:
        super().__init__(rows, combinations)
        self.rows, self.combinations = rows, combinations


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """Parts of one depth that do not fit in memory: their nodes, and their lowest and highest keys in every column."""

    nodes: list[int]
    low: Codes
    high: Codes


@dataclass(frozen=True, slots=True, eq=False)
class _Middle:
    """The median of a part, the key before it (itself if there is none), and the rows below, at and above it."""

    before: int
    median: int
    led: bool
    rows: tuple[int, int, int]


def cut_by_passes(passes: Passes, columns: Sequence[KeyedColumn], judge: Judge, *, counters: Counter[str]) -> Top:
    """Return the upper cuts of the greedy strict partition, down to parts of at most `judge.fits` rows.

    The first cuts separate the top nodes of hierarchies that were cut off below their root.
    """
    top = _cut_at_tops(passes, columns, judge)
    cut_large_parts(top, passes, columns, judge, counters=counters)
    return top


def cut_large_parts(
    top: Top, passes: Passes, columns: Sequence[KeyedColumn], judge: Judge, *, counters: Counter[str]
) -> None:
    """Cut leaves that do not fit in memory along their widest column at the median, until they fit or cannot be cut."""
    nodes = [node for node, rows in top.rows.items() if rows > judge.fits]
    low, high = (np.array([[getattr(each, end) for each in columns]], dtype=np.uint64) for end in ("low", "high"))
    parts = _Open(nodes, np.repeat(low, len(nodes), axis=0), np.repeat(high, len(nodes), axis=0))
    while parts.nodes:
        buckets = 1 << (max(COUNTERS_PER_COLUMN // len(parts.nodes), 1).bit_length() - 1)
        scale = Scale.between(parts.low, parts.high, min(max(buckets, MIN_BUCKETS_PER_PART), MAX_BUCKETS_PER_PART))
        tree = top.keyed(parts.nodes)
        survey = passes.survey(tree, scale)
        round_ = _Round(passes, columns, judge, tree, survey, scale, counters)
        parts = _children(top, parts.nodes, survey, round_.choose(), judge)


def _cut_at_tops(passes: Passes, columns: Sequence[KeyedColumn], judge: Judge) -> Top:
    """Return the tree with a leaf for each combination of top nodes that has rows; raise where one breaks the model.

    Columns with a single top node are not cut.
    """
    top, classes = Top(rows={0: judge.whole.rows}), judge.whole
    for axis, column in enumerate(columns):
        ends = column.top_ends()
        if not len(ends):
            continue
        nodes = list(top.rows)
        asked = Segments(np.full(len(nodes), axis), np.arange(len(nodes) + 1) * len(ends), np.tile(ends, len(nodes)))
        counted = judge.classes(passes.segments(top.keyed(nodes), asked))
        used = []
        for node, first in zip(nodes, asked.firsts[:-1].tolist(), strict=True):
            present = np.flatnonzero(counted.sizes[first : first + len(ends) + 1])
            bounds = np.append(ends, np.uint64(column.high))[present]
            children = top.tree.cut_parts(np.array([node]), np.array([axis]), bounds, np.array([0, len(present)]))
            del top.rows[node]
            top.rows.update(zip(children.tolist(), counted.sizes[first + present].tolist(), strict=True))
            used.append(first + present)
        classes = counted.take(np.concatenate(used))
    broken = judge.model.violations(classes) if len(top.rows) > 1 else np.zeros(1, dtype=bool)
    if broken.any():
        raise TopsBreakError(int(classes.sizes[broken].sum()), int(broken.sum()))
    return top


def _children(top: Top, nodes: list[int], survey: Survey, cuts: list["_Cut | None"], judge: Judge) -> _Open:
    """Cut parts in the tree, and return those of their children that do not fit in memory."""
    child_nodes, lows, highs = [], [], []
    for part, (node, cut) in enumerate(zip(nodes, cuts, strict=True)):
        if cut is None:
            top.whole.add(node)
            continue
        ends = np.append(cut.ends, survey.high[part, cut.axis])
        children = top.tree.cut_parts(np.array([node]), np.array([cut.axis]), ends, np.array([0, len(ends)]))
        del top.rows[node]
        first = survey.low[part, cut.axis]
        for child, rows, end in zip(children.tolist(), cut.rows, ends, strict=True):
            top.rows[child] = rows
            if rows > judge.fits:
                low, high = survey.low[part].copy(), survey.high[part].copy()
                low[cut.axis], high[cut.axis] = first, end
                child_nodes.append(child)
                lows.append(low)
                highs.append(high)
            first = end + np.uint64(1)
    return _Open(child_nodes, np.array(lows, dtype=np.uint64), np.array(highs, dtype=np.uint64))


@dataclass(frozen=True, slots=True, eq=False)
class _Cut:
    """A cut of a part: the last key of every child except the last, and the rows of each child."""

    axis: int
    ends: Codes
    rows: list[int]


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """All open parts of one depth, and their counts."""

    passes: Passes
    columns: Sequence[KeyedColumn]
    judge: Judge
    tree: KeyTree
    survey: Survey
    scale: Scale
    counters: Counter[str]

    def choose(self) -> list[_Cut | None]:
        """Return the cut of each part, None where no cut is allowable."""
        width, enough = self._widths(), self.survey.rows >= 2 * self.judge.model.smallest
        by_width = np.argsort(-width, axis=1, kind="stable")
        cuts: list[_Cut | None] = [None] * len(width)
        for attempt in range(len(self.columns)):
            tried = by_width[:, attempt]
            undecided = np.array([cut is None for cut in cuts]) & enough & (width[np.arange(len(width)), tried] >= 0)
            for part, cut in self._try(tried, np.flatnonzero(undecided).tolist()).items():
                cuts[part] = cut
        return cuts

    def _widths(self) -> Codes:
        """Return the normalized width of each open part in each column."""
        low, high = self.survey.low, self.survey.high
        both = np.concatenate([low, high])
        some = [np.unique(both[:, index]) for index in range(len(self.columns))]
        ranks = ranks_among(self.columns, both, some)
        return widths(ranks[: len(low)], ranks[len(low) :], local_layout(self.columns, some))

    def _try(self, tried: Codes, parts: list[int]) -> dict[int, _Cut | None]:
        """Return the allowable cuts of some parts, each along its column in `tried`."""
        if not parts:
            return {}
        trees = {part for part in parts if self.columns[tried[part]].quasi.tree}
        middles = self._medians(tried, [part for part in parts if part not in trees])
        ends = {part: self._child_ends(part, int(tried[part])) for part in trees}
        ends |= {part: np.array([each.before, each.median], dtype=np.uint64) for part, each in middles.items()}
        classes, firsts = self._segmented(tried, ends, middles)
        self.counters["checks"] += len(parts)
        cuts: dict[int, _Cut | None] = {}
        for part in parts:
            axis, run = int(tried[part]), np.arange(firsts[part], firsts[part + 1])
            own = classes.take(run)
            if part in trees:
                cuts[part] = self._cut_into_children(axis, ends[part], own)
            else:
                cuts[part] = self._cut_in_two(axis, middles[part], own)
        return cuts

    def _segmented(self, tried: Codes, ends: dict[int, Codes], middles: dict[int, _Middle]) -> tuple[Classes, Codes]:
        """Return the segments of all parts as classes, and the index of each part's first one.

        A pass counts them only if needed: where the model looks at sizes alone, the segments around a median are known.
        """
        every = [ends.get(part, np.zeros(0, dtype=np.uint64)) for part in range(len(tried))]
        asked = Segments(tried, starts_of([len(each) for each in every]), np.concatenate(every))
        if self.judge.model.traits.sizes_only and len(middles) == len(ends):
            sizes = np.zeros(int(asked.firsts[-1]), dtype=np.int64)
            for part, middle in middles.items():
                sizes[asked.firsts[part] : asked.firsts[part + 1]] = middle.rows
            return Classes(sizes), asked.firsts
        return self.judge.classes(self.passes.segments(self.tree, asked)), asked.firsts

    def _cut_in_two(self, axis: int, middle: _Middle, segments: Classes) -> _Cut | None:
        """Return the better allowable cut of the two after and before the median."""
        below, same, above = middle.rows
        total, up_to = below + same + above, below + same
        ids = np.array([0, 0, 1])
        after_fits = above > 0 and not self.judge.violations(segments, ids, 2).any()
        ids = np.array([0, 1, 1])
        ahead_fits = middle.led and not self.judge.violations(segments, ids, 2).any()
        if after_fits and (not ahead_fits or abs(2 * up_to - total) <= abs(2 * below - total)):
            return _Cut(axis, np.array([middle.median], dtype=np.uint64), [up_to, above])
        return _Cut(axis, np.array([middle.before], dtype=np.uint64), [below, same + above]) if ahead_fits else None

    def _cut_into_children(self, axis: int, ends: Codes, segments: Classes) -> _Cut | None:
        """Return the cut into all children with rows, if it is allowable."""
        present = np.flatnonzero(segments.sizes)
        own = segments.take(present)
        if self.judge.violations(own, np.arange(len(present)), len(present)).any():
            return None
        return _Cut(axis, ends[present[:-1]], own.sizes.tolist())

    def _child_ends(self, part: int, axis: int) -> Codes:
        """Return the last rank of every child except the last of the node where a part's values meet."""
        low, high = self.survey.low[part, axis].astype(np.int64), self.survey.high[part, axis].astype(np.int64)
        column = self.columns[axis].quasi
        if column.taxonomy is None:
            raise AssertionError("a column that is cut through a tree has one")
        ancestors = column.taxonomy.ancestors[column.by_rank]
        level = int(meeting_levels(ancestors, np.array([low]), np.array([high]))[0]) - 1
        nodes = ancestors[low : high + 1, level]
        return (low + np.flatnonzero(nodes[1:] != nodes[:-1])).astype(np.uint64)

    def _medians(self, tried: Codes, parts: list[int]) -> dict[int, _Middle]:
        """Return the medians of some parts.

        First by buckets, then by further passes over the bucket with the median.
        """
        medians: dict[int, _Middle] = {}
        searches = {part: self._first_search(part, int(tried[part])) for part in parts}
        while searches:
            for part in [part for part, search in searches.items() if search.shift == 0]:
                medians[part] = searches.pop(part).middle()
            if not searches:
                break
            searches = {part: search.narrowed() for part, search in searches.items()}
            asked = _ranges(tried, searches)
            answer = self.passes.within(self.tree, asked)
            for part, search in searches.items():
                search.learn(*answer.tally.of_owner(part), int(answer.before[part]), bool(answer.led[part]))
        return medians

    def _first_search(self, part: int, column: int) -> "MedianSearch":
        counts = self.survey.counts[column, part]
        values = np.flatnonzero(counts)
        low, shift = int(self.scale.low[part, column]), int(self.scale.shift[part, column])
        return MedianSearch(int(self.survey.rows[part]), low, shift, values.astype(np.uint64), counts[values])


def _ranges(tried: Codes, searches: dict[int, "MedianSearch"]) -> KeyRanges:
    """Return one range for each part; parts without a search get an empty one."""
    low, high = np.ones(len(tried), dtype=np.uint64), np.zeros(len(tried), dtype=np.uint64)
    shift = np.zeros(len(tried), dtype=np.uint64)
    for part, search in searches.items():
        low[part], high[part], shift[part] = search.low, search.high, search.shift
    return KeyRanges(tried, low, high, shift)


@dataclass(slots=True)
class MedianSearch:
    """Exact selection of the lower median among `total` rows by counts of buckets, in few passes.

    `values` are the buckets with rows: keys from `low` on without their last `shift` bits; `counts` are their rows.
    `below` rows have keys before `low`; `before` is the largest of these keys; `led` says whether there is one.
    """

    total: int
    low: int
    shift: int
    values: Codes
    counts: Codes
    below: int = 0
    before: int = 0
    led: bool = False
    high: int = 0

    def _bucket(self) -> tuple[int, int]:
        """Return the bucket with the median, and the rows before that bucket."""
        running = self.below + np.cumsum(self.counts)
        index = int(np.searchsorted(running, (self.total + 1) // 2))
        return index, int(running[index] - self.counts[index])

    def narrowed(self) -> "MedianSearch":
        """Return the search inside the bucket with the median, which the next pass must count."""
        index, below = self._bucket()
        low = self.low + (int(self.values[index]) << self.shift)
        shift = 0 if self.counts[index] <= MAX_ROWS_LISTED else max(self.shift - BUCKETS_OF_RANGE, 0)
        nothing = np.zeros(0, dtype=np.int64)
        return MedianSearch(
            self.total, low, shift, nothing, nothing, below, high=min(low + (1 << self.shift) - 1, int(LAST_KEY))
        )

    def learn(self, values: Codes, counts: Codes, before: int, led: bool) -> None:
        """Store the counts of a pass: what is in the range from `low` to `high`, and the largest key before it."""
        self.values, self.counts, self.before, self.led = values, counts, before, led

    def middle(self) -> _Middle:
        """Return the median, once buckets are single keys."""
        index, below = self._bucket()
        median, same = self.low + int(self.values[index]), int(self.counts[index])
        led, before = (True, self.low + int(self.values[index - 1])) if index else (self.led, self.before)
        return _Middle(before if led else median, median, led, (below, same, self.total - below - same))
