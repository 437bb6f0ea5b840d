"""What every clustering search shares: hierarchies as trees with exact integer distances, and recodings from classes.

Sums of distances are compared again and again while classes merge, and ties decide; so distances are integers here and
are turned into the distortion of Li et al. (2006) only by `ClusterSpace.scale`.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import lcm

import numpy as np

from indistinct.algorithms.base import Problem
from indistinct.arrays import Codes
from indistinct.frequencies.value import Classes, Histogram
from indistinct.hierarchy import Suppression, check_rooted
from indistinct.hierarchy.value import Taxonomy
from indistinct.metrics.hierarchical import Scheme, edge_weights, step_costs
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.kinds import ByCell, ByRow, RecodedColumn
from indistinct.recoding.summary import floor_of, summarize_tree, tight_bounds

# Distances that are no fractions of small integers are rounded to this share of a hierarchy's height.
FINE = 1 << 30


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A hierarchy over the values that occur, as numbered nodes.

    Leaf nodes come first, then each level's nodes. A node that covers the same values as one below it is the same node
    and has the lower one's number and level: nothing is ever published coarser than needed. `above[level, node]` is the
    node's ancestor on a level, or the node itself if it is not below that level.
    """

    leaf: Codes
    parent: Codes
    level: Codes
    above: Codes

    def __len__(self) -> int:
        return len(self.level)

    @classmethod
    def of(cls, taxonomy: Taxonomy) -> "Tree":
        """Return the tree of a bound hierarchy."""
        ancestors, count = taxonomy.ancestors, 0
        level: list[int] = []
        numbers: list[Codes] = []
        for at in range(taxonomy.height + 1):
            column = ancestors[:, at]
            flat = np.empty(int(column.max()) + 1, dtype=np.int32)
            fresh = np.ones(len(flat), dtype=bool)
            if at:
                below = numbers[at - 1]
                low, high = np.full(len(flat), count), np.full(len(flat), -1)
                np.minimum.at(low, column, below)
                np.maximum.at(high, column, below)
                fresh = low != high
                flat[~fresh] = low[~fresh]
            flat[fresh] = count + np.arange(int(fresh.sum()))
            level += [at] * int(fresh.sum())
            count += int(fresh.sum())
            numbers.append(flat[column])
        return cls._linked(np.stack(numbers), np.array(level, dtype=np.int32))

    @classmethod
    def _linked(cls, numbers: Codes, level: Codes) -> "Tree":
        """Return a tree from the node of each value on each level."""
        above = np.tile(np.arange(len(level), dtype=np.int32), (len(numbers), 1))
        for at, row in enumerate(numbers):
            for below in numbers[: at + 1]:
                above[at, below] = row
        parent = np.full(len(level), -1, dtype=np.int32)
        for below, row in pairwise(numbers):
            parent[below[below != row]] = row[below != row]
        return cls(numbers[0], parent, level, above)

    def lca(self, first: Codes, second: Codes) -> Codes:
        """Return the lowest common ancestor of each pair of nodes."""
        first, second = np.broadcast_arrays(np.asarray(first), np.asarray(second))
        found = first.astype(np.int32)
        apart = np.flatnonzero(first.ravel() != second.ravel())
        left, right, flat = first.ravel(), second.ravel(), found.ravel()
        for row in self.above:
            if not len(apart):
                break
            flat[apart] = row[left[apart]]
            apart = apart[flat[apart] != row[right[apart]]]
        return flat.reshape(found.shape)


@dataclass(frozen=True, eq=False)
class ClusterSpace:
    """A problem seen as points in trees. A column without a hierarchy is published as it is or not at all.

    `scheme` and `beta` weigh the edges of hierarchies as in `metrics.Distortion`.
    """

    problem: Problem
    scheme: Scheme = field(default="uniform", kw_only=True)
    beta: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        edge_weights(1, scheme=self.scheme, beta=self.beta)
        for taxonomy in self.taxonomies:
            check_rooted(taxonomy)

    @cached_property
    def columns(self) -> tuple[QuasiColumn, ...]:
        """The quasi-identifiers, each with a hierarchy and published through it."""
        return tuple(
            QuasiColumn(c.domain, c.taxonomy or Suppression().bind(c.domain), tree=True) for c in self.problem.columns
        )

    @cached_property
    def taxonomies(self) -> tuple[Taxonomy, ...]:
        """The hierarchies in quasi-identifier order."""
        return tuple(column.taxonomy for column in self.columns if column.taxonomy is not None)

    @cached_property
    def trees(self) -> tuple[Tree, ...]:
        """The hierarchies as numbered nodes."""
        return tuple(Tree.of(taxonomy) for taxonomy in self.taxonomies)

    @cached_property
    def cells(self) -> Codes:
        """The leaf nodes of every cell: m × d."""
        vectors = self.problem.frequencies.vectors
        found = np.empty(vectors.shape, dtype=np.int32, order="F")
        for place, tree in enumerate(self.trees):
            found[:, place] = tree.leaf[vectors[:, place]]
        return found

    @cached_property
    def scale(self) -> int:
        """What a whole hierarchy costs one row; a sum of costs divided by it is the distortion."""
        heights = [max(taxonomy.height, 1) for taxonomy in self.taxonomies]
        return lcm(*heights) if self.scheme == "uniform" else FINE

    @cached_property
    def cost(self) -> tuple[Codes, ...]:
        """For each column, the integer cost of taking a leaf to each level."""
        return tuple(self._costs(taxonomy.height) for taxonomy in self.taxonomies)

    def _costs(self, height: int) -> Codes:
        if self.scheme == "uniform":
            return np.arange(height + 1, dtype=np.int64) * (self.scale // max(height, 1))
        return np.rint(step_costs(height, scheme=self.scheme, beta=self.beta) * FINE).astype(np.int64)

    @cached_property
    def node_cost(self) -> tuple[Codes, ...]:
        """For each column, the integer cost of publishing a leaf as each node above it."""
        return tuple(cost[tree.level] for cost, tree in zip(self.cost, self.trees, strict=True))

    def lca(self, column: int, first: Codes, second: Codes) -> Codes:
        """Return the lowest common ancestor of each pair of a column's nodes."""
        return self.trees[column].lca(first, second)

    def meet(self, first: Codes, second: Codes) -> Codes:
        """Return the closest common generalization of each pair of tuples of nodes (… × d)."""
        return np.stack([tree.lca(first[..., j], second[..., j]) for j, tree in enumerate(self.trees)], axis=-1).astype(
            np.int32
        )

    def climbed(self, tuples: Codes) -> Codes:
        """Return the integer cost of publishing one original row as each tuple of nodes (… × d)."""
        each = [cost[tuples[..., j]] for j, cost in enumerate(self.node_cost)]
        return np.asarray(np.sum(each, axis=0, dtype=np.int64))

    def steps(self, tuples: Codes) -> Codes:
        """Return how many levels each tuple of nodes (… × d) lies above raw, summed over columns."""
        each = [tree.level[tuples[..., j]] for j, tree in enumerate(self.trees)]
        return np.asarray(np.sum(each, axis=0, dtype=np.int64))

    def tuple_of(self, members: Codes) -> Codes:
        """Return the closest common generalization of some cells, as nodes."""
        return self.tuples_of(members, class_ids=np.zeros(len(members), dtype=np.int32), classes=1)[0]

    def tuples_of(self, members: Codes, *, class_ids: Codes, classes: int) -> Codes:
        """Return the closest common generalization of each class: cell `members[i]` belongs to class `class_ids[i]`."""
        vectors = self.problem.frequencies.vectors
        found = np.empty((classes, len(self.columns)), dtype=np.int32)
        for place, (column, tree) in enumerate(zip(self.columns, self.trees, strict=True)):
            ranks = column.ranks[vectors[members, place]]
            bounds = tight_bounds(column, ranks, class_ids=class_ids, classes=classes)
            found[:, place] = tree.lca(tree.leaf[column.by_rank[bounds.low]], tree.leaf[column.by_rank[bounds.high]])
        return found

    def distortion(self, cells: Codes, class_ids: Codes, counts: Codes) -> int:
        """Return the integer cost of classes: `counts[i]` rows of cell `cells[i]` in class `class_ids[i]`."""
        classes = int(class_ids.max(initial=-1)) + 1
        each = self.climbed(self.tuples_of(cells, class_ids=class_ids, classes=classes))
        return int(np.sum(each[class_ids] * counts))


def recoding_of(
    space: ClusterSpace, cells: Codes, class_ids: Codes, counts: Codes | None = None, *, joint: Codes | None = None
) -> ByCell | ByRow:
    """Return the recoding of classes, each published as the closest common generalization of its members.

    Without `counts` cell `cells[i]` belongs to class `class_ids[i]` as a whole, and every cell is there once. With them
    piece `i` sends that many rows of the cell to the class: those with the sensitive values `joint[i]`, or, where that
    is not given but a model or metric looks at these values, whichever come next in their order.
    """
    frequencies = space.problem.frequencies
    distinct, class_ids = np.unique(class_ids, return_inverse=True)
    class_ids = class_ids.astype(np.int32)
    columns, values = published(space, cells, class_ids, classes=len(distinct))
    vectors = np.ascontiguousarray(frequencies.vectors)
    if counts is None:
        by_cell = np.empty(len(vectors), dtype=np.int32)
        by_cell[cells] = class_ids
        return ByCell(columns, vectors, by_cell, values)
    if joint is None:
        cells, joint, class_ids, counts = divided(space, cells, class_ids, counts)
    else:
        cells, joint, class_ids, counts = in_order(cells, joint, class_ids, counts)
    return ByRow(columns, vectors, cells, joint, class_ids, counts, values)


def published(
    space: ClusterSpace, cells: Codes, class_ids: Codes, *, classes: int
) -> tuple[tuple[RecodedColumn, ...], Codes]:
    """Return the columns of a recoding and each class's published codes."""
    vectors = space.problem.frequencies.vectors
    found, values = [], np.empty((classes, len(space.columns)), dtype=np.int32)
    for place, column in enumerate(space.columns):
        ranks = column.ranks[vectors[cells, place]].astype(np.int32)
        bounds = tight_bounds(column, ranks, class_ids=class_ids, classes=classes)
        summary, values[:, place] = summarize_tree(column, bounds)
        found.append(RecodedColumn(column.domain, column.ranks, floor_of(column), summary))
    return tuple(found), values


def divided(
    space: ClusterSpace, cells: Codes, class_ids: Codes, counts: Codes
) -> tuple[Codes, Codes | None, Codes, Codes]:
    """Return pieces as a recoding by row holds them: ascending by cell, with joint codes where these are counted."""
    joint = space.problem.frequencies.joint
    order = np.lexsort((class_ids, cells))
    cells, class_ids, counts = cells[order].astype(np.int32), class_ids[order].astype(np.int32), counts[order]
    if joint is None:
        return cells, None, class_ids, counts.astype(np.int64)
    # Lay the pieces and the histograms of the cells along the same line of rows, and cut it at the ends of both.
    starts = np.concatenate([[0], np.cumsum(joint.histogram.counts)])
    ends = np.cumsum(counts)
    cuts = np.unique(np.concatenate([starts, ends]))
    entries = np.searchsorted(starts, cuts[:-1], side="right") - 1
    pieces = np.searchsorted(ends, cuts[:-1], side="right")
    return in_order(cells[pieces], joint.histogram.codes[entries], class_ids[pieces], np.diff(cuts))


def in_order(cells: Codes, joint: Codes, class_ids: Codes, counts: Codes) -> tuple[Codes, Codes, Codes, Codes]:
    """Return pieces ascending by cell, joint code and class."""
    order = np.lexsort((class_ids, joint, cells))
    return (
        cells[order].astype(np.int32),
        joint[order].astype(np.int32),
        class_ids[order].astype(np.int32),
        counts[order].astype(np.int64),
    )


def classes_of(space: ClusterSpace, joint: Codes | None, class_ids: Codes, counts: Codes, *, size: int) -> Classes:
    """Return the classes that pieces make under labels, with the histograms that the joint codes tell."""
    frequencies = space.problem.frequencies
    sizes = np.bincount(class_ids, weights=counts, minlength=size).astype(np.int64)
    if joint is None or frequencies.joint is None:
        return Classes(sizes)
    single, histograms = np.arange(len(class_ids) + 1, dtype=np.int64), {}
    for key, codes in frequencies.joint.codes.items():
        whole = frequencies.classes.histograms[key]
        pieces = Histogram(single, codes[joint], counts, whole.reference, whole.taxonomy, whole.texts)
        histograms[key] = pieces.regroup(class_ids.astype(np.int32), size)
    return Classes(sizes, histograms)
