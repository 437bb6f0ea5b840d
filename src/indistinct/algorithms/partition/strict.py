"""Strict multidimensional partitioning.

Kernels on several threads, or NumPy rounds where the model has no compiled test.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from indistinct.algorithms.partition import _strict_kernels as _kernels
from indistinct.algorithms.partition._tested_kernels import partition_tested
from indistinct.algorithms.partition.layout import KernelLayout, Partition
from indistinct.algorithms.partition.strict_any_model import partition_by_rounds
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Array, Codes
from indistinct.machine.threads import is_large, spread, workers
from indistinct.models._test_kernels import UNDECIDED
from indistinct.models.base import Model
from indistinct.models.compiled_test import CompiledTest, compile_test, scratch_of
from indistinct.recoding.kinds import Cuts

# Relative cost of one cell: it is visited on every depth of the tree.
CELL_WEIGHT = 16
# With fewer cells than this, NumPy rounds finish before the kernels of a test are compiled or read from their cache.
MAX_CELLS_IN_ROUNDS = 4
# Initial number of parts that wait while the kernel works on others; it grows where a tree is deeper to the left.
INITIAL_STACK_PARTS = 256


@dataclass(frozen=True, slots=True, eq=False)
class CutTree:
    """A tree of cuts: the children of an inner node are `left` and `left + 1`.

    Children are numbered when their parent is reached, parents and left children first. A leaf has axis -1 and its
    number from the left in `left`; leaf `i` owns the cells from `stops[i - 1]` to `stops[i]`.
    """

    axis: Array
    cut: Array
    left: Array
    stops: Codes


class _UndecidedError(Exception):
    """A class is so near a model's limit that only the model itself can judge it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Rule:
    """When parts are cut: into sides of at least `smallest` rows, or of sides that pass a test."""

    layout: KernelLayout
    smallest: int
    test: CompiledTest | None = None


def partition_strictly(
    ranks: Codes, classes: Classes, *, layout: KernelLayout, model: Model, counters: Counter[str]
) -> Partition:
    """Return the greedy strict partition in which every part satisfies the model, by the fastest applicable method."""
    if model.traits.sizes_only:
        return partition_by_size(ranks, classes.sizes, layout=layout, k=model.smallest)
    if is_large(MAX_CELLS_IN_ROUNDS * len(ranks)):
        partition = partition_by_test(ranks, classes, layout=layout, model=model, counters=counters)
        if partition is not None:
            return partition
    ranks = np.ascontiguousarray(ranks)
    cuts = partition_by_rounds(ranks, classes, layout=layout, model=model, counters=counters).numbered()
    return Partition(cuts, ranks, cuts.locate(ranks), classes.sizes)


def partition_by_size(ranks: Codes, counts: Codes, *, layout: KernelLayout, k: int) -> Partition:
    """Return the greedy strict partition with at least `k` rows per part; cells of one class are adjacent."""
    return _partition(layout.pack(ranks, counts), _Rule(layout, k), Counter())


def partition_by_test(
    ranks: Codes, classes: Classes, *, layout: KernelLayout, model: Model, counters: Counter[str]
) -> Partition | None:
    """Return the greedy strict partition in which every part satisfies the model; None where the test cannot decide."""
    test = compile_test(model, classes)
    if test is None:
        return None
    packed = layout.pack(ranks, classes.sizes)
    rows = np.insert(packed, packed.shape[1] - 1, np.arange(len(packed)), axis=1)
    own: Counter[str] = Counter()
    try:
        tree = _partition(rows, _Rule(layout, model.smallest, test), own)
    except _UndecidedError:
        return None
    counters.update(own)
    return tree


def _partition(rows: Codes, rule: _Rule, counters: Counter[str]) -> Partition:
    """Partition the rows in steps of decreasing size, in threads."""
    spare = np.empty_like(rows)

    def below(run: tuple[int, int], grain: int) -> CutTree:
        return _run(rows[slice(*run)], spare[slice(*run)], first=run[0], rule=rule, grain=grain, counters=counters)

    first, *finer = _cells_per_step(len(rows))
    tree = below((0, len(rows)), first)
    for grain in finer:
        runs = list(pairwise([0, *tree.stops.tolist()]))
        largest_first = sorted(range(len(runs)), key=lambda leaf: runs[leaf][0] - runs[leaf][1])
        subtrees = spread(below, [runs[leaf] for leaf in largest_first], [grain] * len(runs))
        tree = graft_subtrees(tree, dict(zip(largest_first, subtrees, strict=True)))
    class_ids = np.repeat(np.arange(len(tree.stops), dtype=np.int32), np.diff(tree.stops, prepend=0))
    right = np.where(tree.axis == _kernels.LEAF, np.int32(-1), tree.left + np.int32(1))
    return Partition(Cuts(tree.axis, tree.cut, tree.left, right), rule.layout.unpack(rows), class_ids, rows[:, -1])


def _cells_per_step(cells: int) -> list[int]:
    """Return, for each step, the number of cells down to which parts are cut.

    Each step's parts are shared among threads.

    The first step leaves two parts and further ones twice as many, until each thread has one; then there are many
    parts, for an even load.
    """
    if not is_large(CELL_WEIGHT * cells) or workers() == 1:
        return [0]
    doublings = (workers() - 1).bit_length() - 1
    return [cells, *(cells // (3 << step) or 1 for step in range(doublings)), cells // (8 * workers()) or 1, 0]


def _run(rows: Codes, spare: Codes, *, first: int, rule: _Rule, grain: int, counters: Counter[str]) -> CutTree:
    """Partition the cells of `rows`, numbered from `first` on."""
    layout, test = rule.layout, rule.test
    cells, columns = len(rows), len(layout.sizes)
    axis, cut, left = (np.empty(2 * cells, dtype=kind) for kind in (np.int16, np.int32, np.int32))
    stops, tally = np.empty(cells, dtype=np.int64), np.zeros(layout.tally_size, dtype=np.int64)
    buffers = np.empty(columns, dtype=np.float64), np.empty(columns, dtype=np.int64), spare, tally
    given, tree = (rows, rule.smallest, grain, *layout.arrays), (axis, cut, left, stops)
    stack_size, nodes, checks = INITIAL_STACK_PARTS, -1, np.zeros(1, dtype=np.int64)
    while nodes == -1:  # cells moved before the stack was full do no harm: the same cuts are found again
        stack, checks[0] = np.empty((stack_size, 6), dtype=np.int64), 0
        low, high = np.empty((stack_size, columns), dtype=np.int64), np.empty((stack_size, columns), dtype=np.int64)
        stack[0], low[0], high[0] = (0, 0, cells, rows[:, -1].sum(), -1, -1), 0, np.array(layout.sizes) - 1
        if test is None:
            nodes = _kernels.partition_strict(*given, stack, low, high, *buffers, *tree)
        else:
            own = np.empty(cells, dtype=np.int64), test, scratch_of(test), checks
            nodes = partition_tested(*given, stack, low, high, *buffers, *tree, *own)
        stack_size *= 2
    if nodes == UNDECIDED:
        raise _UndecidedError
    counters["checks"] += int(checks[0])
    return CutTree(axis[:nodes].copy(), cut[:nodes].copy(), left[:nodes].copy(), stops[: (nodes + 1) // 2] + first)


def graft_subtrees(top: CutTree, subtrees: dict[int, CutTree]) -> CutTree:
    """Return the tree with each leaf replaced by a subtree, numbered as if it had been found in one call."""
    node_count = len(top.axis) - len(top.stops) + sum(len(tree.axis) for tree in subtrees.values())
    axis, cut, left = (np.empty(node_count, dtype=part.dtype) for part in (top.axis, top.cut, top.left))
    waiting, nodes, leaves = [(0, 0)], 1, 0
    while waiting:
        old, new = waiting.pop()
        if top.axis[old] != _kernels.LEAF:
            axis[new], cut[new], left[new] = top.axis[old], top.cut[old], nodes
            waiting += [(int(top.left[old]) + 1, nodes + 1), (int(top.left[old]), nodes)]
            nodes += 2
            continue
        tree = subtrees[int(top.left[old])]
        moved = tree.left + np.where(tree.axis == _kernels.LEAF, np.int32(leaves), np.int32(nodes - 1))
        for whole, part in ((axis, tree.axis), (cut, tree.cut), (left, moved)):
            whole[new], whole[nodes : nodes + len(part) - 1] = part[0], part[1:]
        nodes, leaves = nodes + len(tree.axis) - 1, leaves + len(tree.stops)
    return CutTree(axis, cut, left, np.concatenate([subtrees[leaf].stops for leaf in range(len(subtrees))]))
