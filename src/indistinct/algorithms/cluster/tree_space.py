"""What every clustering search shares: hierarchies as trees with exact integer distances, and recodings from classes.

Sums of distances are compared again and again while classes merge, and ties decide; so distances are integers here and
are turned into the distortion of Li et al. (2006) only by `ClusterSpace.scale`.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import lcm

import numpy as np

from indistinct.algorithms.base import AlgorithmTraits, TreeProblem
from indistinct.algorithms.partition.layout import ranks_of, summarize
from indistinct.frequencies.pieces import Pieces
from indistinct.hierarchy.explicit import check_rooted
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.machine.arrays import Codes
from indistinct.metrics.loss import Scheme, step_costs
from indistinct.recoding.columns import NO_IMPORTANCE, Importance
from indistinct.recoding.kinds import ByCell, ByRow
from indistinct.recoding.summary import Style, tight_bounds

# Distances that are not fractions of small integers are rounded to this share of a hierarchy's height.
DISTANCE_RESOLUTION = 1 << 30


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A hierarchy over the values that occur, as numbered nodes.

    Leaf nodes come first, then each level's nodes. A node that covers the same values as one below it is that node and
    has its number and level, so that nothing is published coarser than needed. `above[level, node]` is the node's
    ancestor on a level, or the node itself if it is not below that level.
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
        above = np.tile(np.arange(count, dtype=np.int32), (len(numbers), 1))
        for at, row in enumerate(numbers):
            for below in numbers[: at + 1]:
                above[at, below] = row
        parent = np.full(count, -1, dtype=np.int32)
        for below, row in pairwise(numbers):
            parent[below[below != row]] = row[below != row]
        return cls(numbers[0], parent, np.array(level, dtype=np.int32), above)

    def lca(self, first: Codes, second: Codes) -> Codes:
        """Return the lowest common ancestor of each pair of nodes."""
        first, second = np.broadcast_arrays(np.asarray(first), np.asarray(second))
        ancestors = first.astype(np.int32)
        apart = np.flatnonzero(first.ravel() != second.ravel())
        left, right, flat = first.ravel(), second.ravel(), ancestors.ravel()
        for row in self.above:
            if not len(apart):
                break
            flat[apart] = row[left[apart]]
            apart = apart[flat[apart] != row[right[apart]]]
        return flat.reshape(ancestors.shape)


@dataclass(frozen=True, eq=False)
class ClusterSpace(TreeProblem):
    """A problem as points in trees; a column without a hierarchy is published unmodified or suppressed.

    `scheme` and `beta` weight the edges of hierarchies and `importance` the columns, as in `metrics.Distortion`.
    """

    scheme: Scheme = field(default="uniform", kw_only=True)
    beta: float = field(default=1.0, kw_only=True)
    importance: Importance = field(default=NO_IMPORTANCE, kw_only=True)

    def __post_init__(self) -> None:
        for taxonomy in self.taxonomies:
            check_rooted(taxonomy)

    @cached_property
    def trees(self) -> tuple[Tree, ...]:
        """The hierarchies as numbered nodes."""
        return tuple(Tree.of(taxonomy) for taxonomy in self.taxonomies)

    @cached_property
    def cells(self) -> Codes:
        """The leaf nodes of every cell: cells × columns."""
        vectors = self.problem.frequencies.vectors
        vectors_by_column = np.empty(vectors.shape, dtype=np.int32, order="F")
        for index, tree in enumerate(self.trees):
            vectors_by_column[:, index] = tree.leaf[vectors[:, index]]
        return vectors_by_column

    @cached_property
    def weights(self) -> tuple[Fraction, ...]:
        """The weight of each column relative to the largest weight."""
        importance = self.importance or self.problem.importance
        given = [Fraction(str(importance.of(taxonomy.column))) for taxonomy in self.taxonomies]
        shares = [weight / max(given) for weight in given]
        # 0.3333333333333333 is read as 1/3: otherwise its last digit would decide ties.
        return tuple(share.limit_denominator(10**6) or share for share in shares)

    @cached_property
    def scale(self) -> int:
        """The integer cost per row of climbing a whole hierarchy in a column with the largest weight.

        A sum of costs divided by it is the distortion, in units of the largest weight; it is exact where it is not too
        large.
        """
        edges = [
            weight / max(taxonomy.height, 1) for weight, taxonomy in zip(self.weights, self.taxonomies, strict=True)
        ]
        exact = lcm(*(edge.denominator for edge in edges))
        return exact if self.scheme == "uniform" and exact <= DISTANCE_RESOLUTION else DISTANCE_RESOLUTION

    @cached_property
    def cost(self) -> tuple[Codes, ...]:
        """For each column, the integer cost of generalizing a leaf to each level."""
        costs = []
        for weight, taxonomy in zip(self.weights, self.taxonomies, strict=True):
            whole, height = weight * self.scale, taxonomy.height
            if self.scheme == "uniform" and (whole / max(height, 1)).denominator == 1:
                costs.append(np.arange(height + 1) * int(whole / max(height, 1)))
            else:
                shares = step_costs(height, scheme=self.scheme, beta=self.beta)
                costs.append(np.rint(shares * float(whole)).astype(np.int64))
        return tuple(costs)

    @cached_property
    def node_cost(self) -> tuple[Codes, ...]:
        """For each column, the integer cost of publishing a leaf as each node above it."""
        return tuple(cost[tree.level] for cost, tree in zip(self.cost, self.trees, strict=True))

    def meet(self, first: Codes, second: Codes) -> Codes:
        """Return the closest common generalization of each pair of tuples of nodes (… × columns)."""
        return np.stack([tree.lca(first[..., j], second[..., j]) for j, tree in enumerate(self.trees)], axis=-1).astype(
            np.int32
        )

    def climbed(self, tuples: Codes) -> Codes:
        """Return the integer cost of publishing one original row as each tuple of nodes (… × columns)."""
        each = [cost[tuples[..., j]] for j, cost in enumerate(self.node_cost)]
        return np.asarray(np.sum(each, axis=0, dtype=np.int64))

    def tuple_of(self, members: Codes) -> Codes:
        """Return the closest common generalization of some cells, as nodes."""
        return self.tuples_of(members, class_ids=np.zeros(len(members), dtype=np.int32), classes=1)[0]

    def tuples_of(self, members: Codes, *, class_ids: Codes, classes: int) -> Codes:
        """Return the closest common generalization of each class; cell `members[i]` belongs to class `class_ids[i]`."""
        vectors = self.problem.frequencies.vectors
        tuples = np.empty((classes, len(self.columns)), dtype=np.int32)
        for index, (column, tree) in enumerate(zip(self.columns, self.trees, strict=True)):
            ranks = column.ranks[vectors[members, index]]
            bounds = tight_bounds(column, ranks, class_ids=class_ids, classes=classes)
            tuples[:, index] = tree.lca(tree.leaf[column.by_rank[bounds.low]], tree.leaf[column.by_rank[bounds.high]])
        return tuples


def traits_of_joining(*, stub: bool) -> AlgorithmTraits:
    """Return the traits of a search that groups cells along hierarchies.

    With `stub`, rows with equal values may be split, so that recodings fit one table only.
    """
    return AlgorithmTraits(local=True, hierarchies=True, monotone=True, splits=stub, reusable=not stub, tight=True)


def recoding_of(space: ClusterSpace, pieces: Pieces, *, by_row: bool) -> ByCell | ByRow:
    """Return the recoding of classes, each published as the closest common generalization of its members.

    By cell every cell is one piece. With `by_row`, the rows of a piece are those with its sensitive values. Where the
    piece does not say which values these are although a model or metric needs them, rows are taken in their order.
    """
    frequencies = space.problem.frequencies
    distinct, class_ids = np.unique(pieces.class_ids, return_inverse=True)
    class_ids = class_ids.astype(np.int32)
    vectors = np.ascontiguousarray(frequencies.vectors)
    ranks = ranks_of(space.columns, vectors)[pieces.cells]
    columns, values = summarize(
        space.columns, ranks, class_ids=class_ids, counts=pieces.counts, classes=len(distinct), style=Style()
    )
    if not by_row:
        by_cell = np.empty(len(vectors), dtype=np.int32)
        by_cell[pieces.cells] = class_ids
        return ByCell(columns, vectors, by_cell, values)
    renumbered = replace(pieces, class_ids=class_ids)
    renumbered = renumbered.divided(frequencies) if renumbered.joint is None else renumbered.in_order()
    return ByRow(columns, vectors, renumbered.cells, renumbered.joint, renumbered.class_ids, renumbered.counts, values)
