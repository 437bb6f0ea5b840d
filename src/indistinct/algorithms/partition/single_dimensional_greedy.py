"""Cuts of all columns, chosen greedily: each step adds the cut that lowers discernibility most.

A cut that is best for one step may be bad in the end, and more columns to choose from often give worse cuts. So every
set of columns begins from the best cuts found with one column less, unless its own are better.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from indistinct.algorithms.base import Problem, fewest_rows
from indistinct.algorithms.partition import _single_dimensional_kernels as _kernels
from indistinct.algorithms.partition.single_dimensional_optimal import least_squares
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.value import Classes, FrequencySet
from indistinct.machine.arrays import Codes, Mask, starts_of
from indistinct.models.base import Model
from indistinct.recoding.columns import QuasiColumn

# All sets of at most this many columns are tried; of more columns, only sets that begin with them.
MAX_COLUMNS_IN_ALL_SETS = 8


@dataclass(frozen=True, slots=True, eq=False)
class CutGrid:
    """Cuts of some columns, each as a mask over ranks (True: a cut after this rank); `cost` is their discernibility."""

    cuts: tuple[Mask, ...]
    cost: int


def find_greedy_cuts(ranks: Codes, problem: Problem) -> list[Mask]:
    """Return the cuts of each column as a mask over ranks.

    They cost no more than the answer for any single one of up to eight columns. With more than eight columns, they cost
    no more than the answer for the first ones.
    """
    if not len(ranks):
        return [np.zeros(len(column.domain), dtype=bool) for column in problem.columns]
    width = len(problem.columns)
    first = min(width, MAX_COLUMNS_IN_ALL_SETS)
    subsets = [some for size in range(1, first + 1) for some in combinations(range(first), size)]
    subsets += [tuple(range(size)) for size in range(first + 1, width + 1)]
    grids: dict[tuple[int, ...], CutGrid] = {}
    for index, some in enumerate(subsets):
        fewer = (tuple(j for j in some if j != left) for left in some)
        grids[some] = _grid_of(ranks, problem, some, {rest: grids[rest] for rest in fewer if rest in grids})
        problem.progress(0.7 * (index + 1) / len(subsets))
    return _with_free_cuts(ranks, list(grids[subsets[-1]].cuts))


def _grid_of(ranks: Codes, problem: Problem, some: tuple[int, ...], fewer: dict[tuple[int, ...], CutGrid]) -> CutGrid:
    """Return cuts of some columns that cost no more than those of any set with one column less."""
    own_ranks, own = _project(ranks, problem, some)
    before = min(fewer.items(), key=lambda item: item[1].cost, default=None)
    start = None
    if before is not None:
        by_column = dict(zip(before[0], before[1].cuts, strict=True))
        nothing = [np.zeros(len(column.domain), dtype=bool) for column in own.columns]
        start = CutGrid(tuple(by_column.get(j, nothing[index]) for index, j in enumerate(some)), before[1].cost)
        if start.cost <= _least_cost(own):
            return start
    greedy = _price_cuts(own_ranks, own, _search(own_ranks, own, None))
    if start is None or greedy.cost <= start.cost:
        return greedy
    extended = _price_cuts(own_ranks, own, _search(own_ranks, own, start.cuts))
    return extended if extended.cost <= start.cost else start


def _search(ranks: Codes, problem: Problem, start: Sequence[Mask] | None) -> list[Mask]:
    """Return greedy cuts; for a single column and a model of class sizes, the best cuts."""
    if not problem.model.traits.sizes_only:
        return greedy_by_rounds(ranks, problem, start=start)
    if len(problem.columns) == 1:
        cuts = segment_cuts(ranks, problem)
        if cuts is not None:
            return [cuts]
    return greedy_by_size(ranks, problem, start=start)


def segment_cuts(ranks: Codes, problem: Problem) -> Mask | None:
    """Return the best cuts of one column for a model that looks at class sizes alone; None if there are none."""
    order = np.argsort(ranks[:, 0])
    running = starts_of(problem.frequencies.counts[order])
    last = np.zeros(len(running), dtype=np.int64)
    if not _kernels.shortest_segments(running, problem.model.smallest, last):
        return None
    return cuts_of_segments(ranks[order, 0], last, size=len(problem.columns[0].domain))


def cuts_of_segments(ranks: Codes, last: Codes, *, size: int) -> Mask:
    """Return the cuts between segments of ascending ranks; `last` is where the segment before each end begins."""
    cuts, stop = np.zeros(size, dtype=bool), len(ranks)
    while last[stop] > 0:
        stop = int(last[stop])
        cuts[ranks[stop - 1]] = True
    return cuts


def _project(ranks: Codes, problem: Problem, some: tuple[int, ...]) -> tuple[Codes, Problem]:
    """Return the problem restricted to some of its columns, and the ranks of its cells."""
    if len(some) == len(problem.columns):
        return ranks, problem
    columns = tuple(problem.columns[j] for j in some)
    own = ranks[:, some]
    grouping = group_rows([own[:, j].astype(np.uint32) for j in range(len(some))], [len(c.domain) for c in columns])
    first = grouping.first
    classes = problem.frequencies.classes.regroup(grouping.group_ids(), len(grouping))
    frequencies = FrequencySet(
        tuple(column.name for column in columns), problem.frequencies.vectors[first][:, some], classes
    )
    return own[first], replace(problem, frequencies=frequencies, columns=columns)


def _least_cost(problem: Problem) -> int:
    """Return a lower bound of the cost of any cuts: a class has at least one cell and enough rows for the model."""
    sizes, k = problem.frequencies.counts.astype(np.int64), fewest_rows(problem.model)
    return max(int((sizes * np.maximum(sizes, k)).sum()), least_squares(int(sizes.sum()), k))


def _price_cuts(ranks: Codes, problem: Problem, cuts: list[Mask]) -> CutGrid:
    """Return cuts with their discernibility as published: intervals of a tree with the same label are one."""
    pairs = list(zip(problem.columns, cuts, strict=True))
    labels = [_labels(column, cut, ranks[:, j]) for j, (column, cut) in enumerate(pairs)]
    ids = group_rows([own.astype(np.uint32) for own in labels], [int(own.max()) + 1 for own in labels]).group_ids()
    sizes = np.bincount(ids, weights=problem.frequencies.counts).astype(np.int64)
    return CutGrid(tuple(cuts), int(sizes @ sizes))


def _labels(column: QuasiColumn, cut: Mask, ranks: Codes) -> Codes:
    """Return a number for the published label of each cell in a column."""
    intervals = starts_of(cut)[:-1][ranks]
    if not column.tree or column.taxonomy is None:
        return intervals
    size = int(intervals.max()) + 1
    low, high = np.full(size, len(cut), dtype=np.int64), np.full(size, -1, dtype=np.int64)
    np.minimum.at(low, intervals, ranks)
    np.maximum.at(high, intervals, ranks)
    present = high >= 0
    ancestors = column.taxonomy.ancestors[column.by_rank].astype(np.int64)
    ends = ancestors[np.where(present, low, 0)], ancestors[np.where(present, high, 0)]
    # In depth-first order the lowest node above both ends is above everything between them.
    levels = np.argmax(ends[0] == ends[1], axis=1)
    nodes = ends[0][np.arange(size), levels] * ancestors.shape[1] + levels
    return np.asarray(np.unique(nodes, return_inverse=True)[1][intervals])


def _with_free_cuts(ranks: Codes, cuts: list[Mask]) -> list[Mask]:
    """Add the cuts that divide no class: they change no class, and narrow the published ranges."""
    intervals = [starts_of(cut)[:-1] for cut in cuts]
    ids = group_rows(
        [own[ranks[:, j]].astype(np.uint32) for j, own in enumerate(intervals)],
        [int(own[-1]) + 1 for own in intervals],
    ).group_ids()
    return [cut | free_cuts(ranks[:, j], ids, size=len(cut)) for j, cut in enumerate(cuts)]


def free_cuts(ranks: Codes, class_ids: Codes, *, size: int) -> Mask:
    """Return the cuts of a column that divide no class; cells with a negative class are ignored."""
    kept = class_ids >= 0
    ranks, class_ids = ranks[kept], class_ids[kept]
    count = int(class_ids.max(initial=-1)) + 1
    low, high = np.full(count, size, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    np.minimum.at(low, class_ids, ranks)
    np.maximum.at(high, class_ids, ranks)
    inside = high >= 0
    steps = np.bincount(low[inside], minlength=size + 1) - np.bincount(high[inside], minlength=size + 1)
    free = np.cumsum(steps)[:size] == 0
    free[-1] = False
    return np.asarray(free)


def greedy_by_size(ranks: Codes, problem: Problem, *, start: Sequence[Mask] | None = None) -> list[Mask]:
    """Return the cuts of `greedy_by_rounds` for a model that looks at class sizes alone, by a kernel.

    A cut changes the gains only where it crosses a class, and what breaks a class is known from its first and last k
    rows, so that no cut is tried in vain.
    """
    sizes, counts = [len(column.domain) for column in problem.columns], problem.frequencies.counts.astype(np.int64)
    bases, cells, k = starts_of(sizes), len(ranks), problem.model.smallest
    total, most = int(bases[-1]), min(cells, int(counts.sum()) // k) + 2
    order = np.sort(ranks.T << 32 | np.arange(cells), axis=1)
    classes, edges = np.zeros((most, 3), dtype=np.int64), np.zeros((len(sizes), 2, most), dtype=np.int64)
    classes[0] = 0, cells, counts.sum()
    after, chosen = np.arange(total + 1), np.zeros(total, dtype=bool)
    steps, gains, owners = (np.zeros(size, dtype=np.int64) for size in (total, total, max(sizes)))
    best = np.full(total // _kernels.BLOCK + 1, -1, dtype=np.int64)
    spare, goes_left = np.empty(cells, dtype=np.int64), np.empty(cells, dtype=bool)
    first_cuts = np.flatnonzero(np.concatenate(start)) if start is not None else np.zeros(0, dtype=np.int64)
    buffers = (owners, steps, gains, after, best, spare, goes_left, chosen)
    _kernels.greedy_cuts(counts, order, bases[:-1], k, classes, edges, first_cuts, *buffers)
    # The remaining open cuts divide no class: they change no class, and narrow the published ranges.
    free = after[:-1] == np.arange(total)
    free[bases[1:] - 1] = False
    problem.counters["checks"] += total - len(sizes) - int(free.sum())
    return np.split(chosen | free, bases[1:-1])


def greedy_by_rounds(ranks: Codes, problem: Problem, *, start: Sequence[Mask] | None = None) -> list[Mask]:
    """Return each column's cuts as a mask over ranks (True: a cut after this rank).

    Every cut is weighed in every round, so time is quadratic in the number of values. The cuts of `start`, which are
    allowable together, are made before any other.
    """
    sizes = [len(column.domain) for column in problem.columns]
    cuts = [np.zeros(size, dtype=bool) for size in sizes] if start is None else [cut.copy() for cut in start]
    # A cut that breaks a class also breaks one of its parts, so it is never tried again.
    open_ = [(np.arange(len(cut)) < len(cut) - 1) & ~cut for cut in cuts]
    class_ids = np.zeros(len(ranks), dtype=np.int64)
    for column, cut in enumerate(cuts):
        class_ids = np.unique(class_ids * len(cut) + starts_of(cut)[:-1][ranks[:, column]], return_inverse=True)[1]
    while True:
        gains = [
            np.where(o, _gains(ranks[:, j], class_ids, problem.frequencies.counts, len(o)), 0)
            for j, o in enumerate(open_)
        ]
        best = _first_allowable(ranks, class_ids, gains, open_, problem)
        if best is None:
            # The remaining open cuts divide no class: they change no class, and narrow the published ranges.
            return [cut | free for cut, free in zip(cuts, open_, strict=True)]
        column, position = best
        cuts[column][position], open_[column][position] = True, False
        pairs = 2 * class_ids + (ranks[:, column] > position)
        class_ids = np.unique(pairs, return_inverse=True)[1]


def _gains(ranks: Codes, class_ids: Codes, counts: Codes, size: int) -> Codes:
    """Return the decrease of discernibility by a cut after each rank: twice left times right, summed over classes."""
    order = np.lexsort((ranks, class_ids))
    at, owners = ranks[order], class_ids[order]
    before = starts_of(counts[order])
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    totals = np.add.reduceat(counts[order], first)
    left = (before[1:] - before[first][owners]).astype(np.float64)
    product = 2 * left * (totals[owners] - left)
    # Between two of its values a class gives every cut the same product: differences are added, then summed up.
    last = np.concatenate([(owners[1:] != owners[:-1]) | (at[1:] != at[:-1]), [True]])
    at, owners, product = at[last], owners[last], product[last]
    steps = np.bincount(at, weights=product, minlength=size + 1)
    follows = np.concatenate([owners[1:] == owners[:-1], [False]])
    steps -= np.bincount(at[1:][follows[:-1]], weights=product[:-1][follows[:-1]], minlength=size + 1)
    return np.round(np.cumsum(steps)[:size])


def _first_allowable(
    ranks: Codes, class_ids: Codes, gains: Sequence[Codes], open_: Sequence[Mask], problem: Problem
) -> tuple[int, int] | None:
    """Return the allowable cut with the largest gain; cuts that are not allowable are closed permanently."""
    candidates = [(-gain[r], j, r) for j, gain in enumerate(gains) for r in np.flatnonzero(gain > 0).tolist()]
    for _, column, cut in sorted(candidates):
        problem.counters["checks"] += 1
        if _allowable(ranks[:, column] > cut, class_ids, problem.frequencies.classes, problem.model):
            return column, int(cut)
        open_[column][cut] = False
    return None


def _allowable(right: Mask, class_ids: Codes, classes: Classes, model: Model) -> bool:
    """Return whether both sides of a cut satisfy the model in every class."""
    pairs = 2 * class_ids + right
    size = 2 * (int(class_ids.max()) + 1)
    sizes = np.bincount(pairs, weights=classes.sizes, minlength=size)
    if (sizes[sizes > 0] < model.smallest).any():
        return False
    return model.traits.sizes_only or not model.violations(classes.regroup(pairs.astype(np.int32), size)).any()
