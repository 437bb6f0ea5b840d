"""Strict multidimensional partitioning for models that look at class sizes alone: kernels on two threads."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from indistinct.algorithms.partition import _kernels
from indistinct.algorithms.partition.layout import Layout
from indistinct.domain import Codes
from indistinct.recoding.regions import Cuts

# Below this many cells starting threads costs more than it saves.
PARALLEL_FROM = 20_000


def partition_by_size(ranks: Codes, weights: Codes, *, layout: Layout, k: int) -> Cuts:
    """Return the tree of cuts of the greedy strict partitioning with at least `k` rows a part."""
    ranks, weights = ranks.copy(), weights.astype(np.int64)
    workers = min(2, os.cpu_count() or 1)
    if len(ranks) < PARALLEL_FROM or workers == 1:
        return _run(ranks, weights, 0, len(ranks), layout=layout, k=k, grain=0)
    top = _run(ranks, weights, 0, len(ranks), layout=layout, k=k, grain=max(len(ranks) // 8, 2))
    leaves = np.flatnonzero(top.axis == _kernels.LEAF)
    largest_first = leaves[np.argsort(top.left[leaves] - top.right[leaves])]

    def below(leaf: int) -> Cuts:
        return _run(ranks, weights, int(top.left[leaf]), int(top.right[leaf]), layout=layout, k=k, grain=0)

    with ThreadPoolExecutor(workers) as pool:
        subtrees = dict(zip(largest_first.tolist(), pool.map(below, largest_first.tolist()), strict=True))
    return _grafted(top, subtrees)


def _run(ranks: Codes, weights: Codes, first: int, last: int, *, layout: Layout, k: int, grain: int) -> Cuts:
    cells, columns = last - first, ranks.shape[1]
    room = 2 * cells + 1
    axis, cut = np.empty(room, dtype=np.int16), np.empty(room, dtype=np.int32)
    left, right = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    spare = np.empty((cells + 1, columns), dtype=np.uint32), np.empty(cells + 1, dtype=np.int64)
    tally, keys = np.zeros(layout.tally_size, dtype=np.int64), np.empty(cells, dtype=np.uint64)
    nodes = _kernels.partition_strict(
        ranks, weights, first, last, k, grain, layout.arrays, axis, cut, left, right, *spare, tally, keys
    )
    return Cuts(axis[:nodes].copy(), cut[:nodes].copy(), left[:nodes].copy(), right[:nodes].copy())


def _grafted(top: Cuts, subtrees: dict[int, Cuts]) -> Cuts:
    """Hang each subtree under its leaf: its root takes the leaf's place, its other nodes go to the end."""
    axis, cut, left, right = ([part] for part in (top.axis, top.cut, top.left, top.right))
    offset = len(top.axis)
    for leaf, tree in subtrees.items():
        inner = tree.axis != _kernels.LEAF
        for sides, side in ((left, tree.left), (right, tree.right)):
            moved = side.copy()
            moved[inner] += offset - 1
            sides[0][leaf] = moved[0]
            sides.append(moved[1:])
        axis[0][leaf], cut[0][leaf] = tree.axis[0], tree.cut[0]
        axis.append(tree.axis[1:])
        cut.append(tree.cut[1:])
        offset += len(tree.axis) - 1
    return Cuts(*(np.concatenate(parts) for parts in (axis, cut, left, right)))
