"""Strict multidimensional partitioning for any model: all parts of a depth are judged by one call of the model.

For models that look at sizes alone the tree is that of the kernels, which the tests compare.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from indistinct.algorithms.partition.layout import KernelLayout
from indistinct.algorithms.partition.medians import Parts, middle_of
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Codes, Mask, starts_of
from indistinct.models.base import Model
from indistinct.recoding.kinds import Cuts
from indistinct.recoding.summary import meeting_levels, node_runs


@dataclass(frozen=True, slots=True, eq=False)
class TentativeCut:
    """A tentative cut of every part: each item's child, the last rank of that child, and the number of children."""

    children: Codes
    ends: Codes
    count: Codes


def partition_by_rounds(
    ranks: Codes, classes: Classes, *, layout: KernelLayout, model: Model, counters: Counter[str]
) -> Cuts:
    """Return the tree of cuts of the greedy strict partitioning in which every part satisfies the model."""
    tree = GrowingTree()
    everything = np.arange(len(ranks))
    parts = Parts(everything, np.array([0, len(ranks)]), np.zeros(1, np.int64), np.zeros(1, np.int64))
    while len(parts):
        axis, trial = _choose(ranks, classes, parts, layout=layout, model=model, counters=counters)
        cut = axis >= 0
        for node, offset in zip(parts.nodes[~cut].tolist(), parts.offsets[~cut].tolist(), strict=True):
            tree.left[node] = offset
        kept = np.repeat(cut, np.diff(parts.starts))
        trial = TentativeCut(trial.children[kept], trial.ends[kept], trial.count[cut])
        parts = _split(parts.select(cut), axis[cut], trial, tree)
    return tree.cuts()


def _choose(
    ranks: Codes, classes: Classes, parts: Parts, *, layout: KernelLayout, model: Model, counters: Counter[str]
) -> tuple[Codes, TentativeCut]:
    """Return (each part's axis, -1 where no cut is allowable; the cuts)."""
    low = np.minimum.reduceat(ranks[parts.items], parts.starts[:-1]).astype(np.int64)
    high = np.maximum.reduceat(ranks[parts.items], parts.starts[:-1]).astype(np.int64)
    width = widths(low, high, layout)
    by_width = np.argsort(-width, axis=1, kind="stable")
    axis = np.full(len(parts), -1)
    chosen = TentativeCut(
        *(np.zeros(size, dtype=np.int64) for size in (len(parts.items), len(parts.items), len(parts)))
    )
    sizes = np.add.reduceat(classes.sizes[parts.items], parts.starts[:-1])
    for attempt in range(ranks.shape[1]):
        tried = by_width[:, attempt]
        open_ = (axis < 0) & (width[np.arange(len(parts)), tried] >= 0) & (sizes >= 2 * model.smallest)
        for dimension in np.unique(tried[open_]).tolist():
            mask = open_ & (tried == dimension)
            group = parts.select(mask)
            some = classes.take(group.items)
            fits, trial = _cut_along(ranks[group.items, dimension], some, group, dimension, layout, model)
            counters["checks"] += len(group)
            won = np.flatnonzero(mask)[fits]
            axis[won], chosen.count[won] = dimension, trial.count[fits]
            inside = np.repeat(mask, np.diff(parts.starts))
            chosen.children[inside], chosen.ends[inside] = trial.children, trial.ends
    return axis, chosen


def widths(low: Codes, high: Codes, layout: KernelLayout) -> Codes:
    """Return the normalized width of every part in every column; -1 where it is constant."""
    width = np.zeros(low.shape)
    for j in range(low.shape[1]):
        at, stride, span = layout.line_offset[j], layout.tree_stride[j], layout.span[j]
        if stride:
            ancestors = layout.trees[layout.tree_offset[j] :][: layout.sizes[j] * stride].reshape(-1, stride)
            levels = meeting_levels(ancestors, low[:, j], high[:, j])
            reach = layout.lines[at + low[:, j] * stride + levels]
        else:
            reach = layout.lines[at + high[:, j]] - layout.lines[at + low[:, j]]
        width[:, j] = reach / span if span > 0 else 0.0
    return np.where(low == high, -1.0, width)


def _cut_along(
    values: Codes, classes: Classes, parts: Parts, dimension: int, layout: KernelLayout, model: Model
) -> tuple[Mask, TentativeCut]:
    """Return which parts have an allowable cut along a column, and the cuts."""
    stride = int(layout.tree_stride[dimension])
    if stride:
        ancestors = layout.trees[layout.tree_offset[dimension] :][: layout.sizes[dimension] * stride]
        trial = _children(values, parts, ancestors.reshape(-1, stride))
        return judge(classes, parts, trial, model), trial
    middle = middle_of(values, classes, parts)
    owners = parts.owners()
    after = _two_sided(values, owners, middle.median)
    ahead = _two_sided(values, owners, middle.before)
    after_fits = judge(classes, parts, after, model) & middle.divides
    ahead_fits = (middle.before >= 0) & judge(classes, parts, ahead, model)
    use_after = after_fits & (~ahead_fits | (middle.gap_after <= middle.gap_ahead))
    cut = np.where(use_after, middle.median, middle.before)
    return after_fits | ahead_fits, _two_sided(values, owners, cut)


def _two_sided(values: Codes, owners: Codes, cut: Codes) -> TentativeCut:
    return TentativeCut((values > cut[owners]).astype(np.int64), cut[owners], np.full(len(cut), 2))


def _children(values: Codes, parts: Parts, ancestors: Codes) -> TentativeCut:
    """Cut every part into the occurring children of the node where its values meet."""
    low = np.minimum.reduceat(values, parts.starts[:-1]).astype(np.int64)
    high = np.maximum.reduceat(values, parts.starts[:-1]).astype(np.int64)
    owners = parts.owners()
    levels = (meeting_levels(ancestors, low, high) - 1)[owners]
    nodes = ancestors[values, levels]
    order = np.lexsort((values, owners))
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(owners[order]) != 0) | (np.diff(nodes[order]) != 0)
    running = np.cumsum(fresh)
    children = np.empty(len(order), dtype=np.int64)
    children[order] = running - running[parts.starts[:-1]][owners[order]]
    count = np.maximum.reduceat(children, parts.starts[:-1]) + 1
    last = [node_runs(column, int(column.max()) + 1)[1][column] for column in ancestors.T]
    return TentativeCut(children, np.stack(last, axis=1)[values, levels].astype(np.int64), count)


def judge(classes: Classes, parts: Parts, trial: TentativeCut, model: Model) -> Mask:
    """Return which parts are cut into children that all satisfy the model."""
    bases = starts_of(trial.count)
    class_ids = (bases[:-1][parts.owners()] + trial.children).astype(np.int32)
    broken = model.violations(classes.regroup(class_ids, int(bases[-1])))
    return ~np.logical_or.reduceat(broken, bases[:-1])


def _split(parts: Parts, axis: Codes, trial: TentativeCut, tree: "GrowingTree") -> Parts:
    """Return the children of divided parts and add their cuts to the tree."""
    if not len(parts):
        return parts
    owners = parts.owners()
    order = np.lexsort((trial.children, owners))
    bases = starts_of(trial.count)
    class_ids = (bases[:-1][owners] + trial.children)[order]
    starts = np.searchsorted(class_ids, np.arange(bases[-1] + 1))
    nodes = tree.cut_parts(parts.nodes, axis, trial.ends[order][starts[:-1]], bases)
    offsets = np.repeat(parts.offsets, trial.count) + starts[:-1] - np.repeat(parts.starts[:-1], trial.count)
    return Parts(parts.items[order], starts, nodes, offsets)


class GrowingTree:
    """A tree under construction; a cut into several children becomes a chain of two-sided cuts."""

    def __init__(self) -> None:
        self.axis, self.cut, self.left, self.right = [-1], [0], [0], [0]

    def cut_parts(self, nodes: Codes, axis: Codes, ends: Codes, bases: Codes) -> Codes:
        """Cut nodes and return the nodes of all children in order; `ends` are the children's last ranks."""
        children = []
        for index, (top, dimension) in enumerate(zip(nodes.tolist(), axis.tolist(), strict=True)):
            node = top
            for child in range(int(bases[index]), int(bases[index + 1]) - 1):
                left = self.add_children(node, dimension, int(ends[child]))
                children.append(left)
                node = left + 1
            children.append(node)
        return np.array(children, dtype=np.int64)

    def add_children(self, node: int, axis: int, cut: int) -> int:
        """Cut a leaf in two and return its left child; the right child is the next node."""
        left = len(self.axis)
        for column, value in ((self.axis, -1), (self.cut, 0), (self.left, 0), (self.right, 0)):
            column.extend((value, value))
        self.axis[node], self.cut[node], self.left[node], self.right[node] = axis, cut, left, left + 1
        return left

    def cuts(self) -> Cuts:
        """Return the tree in its current state."""
        return Cuts(np.array(self.axis, np.int16), np.array(self.cut), np.array(self.left), np.array(self.right))
