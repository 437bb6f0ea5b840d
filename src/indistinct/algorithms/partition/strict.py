"""Strict multidimensional partitioning for models that look at class sizes alone: kernels on several threads."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from indistinct.algorithms.partition import _strict_kernels as _kernels
from indistinct.algorithms.partition.layout import Layout
from indistinct.arrays import Codes
from indistinct.parallel import is_large, spread, workers
from indistinct.recoding.regions import Cuts

# A cell is looked at again on every depth of the tree, and so takes as long as so many rows that are counted.
DEPTH = 16
# Parts that wait while the kernel works on others; more room is made where a tree of cuts is deeper to the left.
STACK = 256


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """A tree of cuts and the cells that it was found on, in any order: their ranks, classes and numbers of rows."""

    cuts: Cuts
    ranks: Codes
    class_ids: Codes
    counts: Codes


@dataclass(frozen=True, slots=True, eq=False)
class _Tree:
    """A tree of cuts: the children of an inner node are `left` and the one after it.

    Children are numbered when their parent is reached, parents and left children first. A leaf has axis -1 and its
    number from the left in `left`; leaf `i` owns the cells from `stops[i - 1]` to `stops[i]`.
    """

    axis: Codes
    cut: Codes
    left: Codes
    stops: Codes


def partition_by_size(ranks: Codes, counts: Codes, *, layout: Layout, k: int) -> Partition:
    """Return the greedy strict partition with at least `k` rows a part; cells of one class stand together in it."""
    rows = layout.pack(ranks, counts)
    spare = np.empty_like(rows)

    def below(run: tuple[int, int], grain: int) -> _Tree:
        return _run(rows[slice(*run)], spare[slice(*run)], first=run[0], layout=layout, k=k, grain=grain)

    first, *finer = _grains(len(rows))
    tree = below((0, len(rows)), first)
    for grain in finer:
        runs = list(pairwise([0, *tree.stops.tolist()]))
        largest_first = sorted(range(len(runs)), key=lambda leaf: runs[leaf][0] - runs[leaf][1])
        found = spread(below, [runs[leaf] for leaf in largest_first], [grain] * len(runs))
        tree = _grafted(tree, dict(zip(largest_first, found, strict=True)))
    class_ids = np.repeat(np.arange(len(tree.stops), dtype=np.int32), np.diff(tree.stops, prepend=0))
    right = np.where(tree.axis == _kernels.LEAF, np.int32(-1), tree.left + np.int32(1))
    return Partition(Cuts(tree.axis, tree.cut, tree.left, right), layout.unpack(rows), class_ids, rows[:, -1])


def _grains(cells: int) -> list[int]:
    """Return down to how many cells parts are cut, step by step; the parts of a step are shared out among threads.

    The first cut leaves two parts, further ones twice as many until each thread has one; many parts are shared out more
    evenly.
    """
    if not is_large(DEPTH * cells) or workers() == 1:
        return [0]
    doublings = (workers() - 1).bit_length() - 1
    return [cells, *(cells // (3 << step) for step in range(doublings)), cells // (8 * workers()), 0]


def _run(rows: Codes, spare: Codes, *, first: int, layout: Layout, k: int, grain: int) -> _Tree:
    """Partition the cells of `rows`, the first of which is `first` among all."""
    cells, columns = len(rows), len(layout.sizes)
    axis, cut, left = (np.empty(2 * cells, dtype=kind) for kind in (np.int16, np.int32, np.int32))
    stops, tally = np.empty(cells, dtype=np.int64), np.zeros(layout.tally_size, dtype=np.int64)
    buffers = np.empty(columns, dtype=np.float64), np.empty(columns, dtype=np.int64), spare, tally
    room, nodes = STACK, -1
    while nodes < 0:  # what was moved before the stack was full does no harm: the same cuts are found again
        stack = np.empty((room, 6), dtype=np.int64)
        low, high = np.empty((room, columns), dtype=np.int64), np.empty((room, columns), dtype=np.int64)
        stack[0], low[0], high[0] = (0, 0, cells, rows[:, -1].sum(), -1, -1), 0, np.array(layout.sizes) - 1
        nodes = _kernels.partition_strict(
            rows, k, grain, *layout.arrays, stack, low, high, *buffers, axis, cut, left, stops
        )
        room *= 2
    return _Tree(axis[:nodes].copy(), cut[:nodes].copy(), left[:nodes].copy(), stops[: (nodes + 1) // 2] + first)


def _grafted(top: _Tree, subtrees: dict[int, _Tree]) -> _Tree:
    """Return the tree with each leaf replaced, numbered as if it had been found at once."""
    room = len(top.axis) - len(top.stops) + sum(len(tree.axis) for tree in subtrees.values())
    axis, cut, left = (np.empty(room, dtype=part.dtype) for part in (top.axis, top.cut, top.left))
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
    return _Tree(axis, cut, left, np.concatenate([subtrees[leaf].stops for leaf in range(len(subtrees))]))
