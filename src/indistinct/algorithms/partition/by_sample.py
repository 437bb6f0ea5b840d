"""Upper cuts from a sample of the rows, where cuts are weighed and the cells do not fit in memory.

A sample that fits in memory is cut as the table would be, each of its rows counting as several, down to parts that fit
(Rothko-S of LeFevre, DeWitt and Ramakrishnan 2008). Then a pass counts all rows of these parts. Cuts after which a part
breaks the model are undone, and parts that do not fit are cut further, along the widest column.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from indistinct.algorithms.partition.by_passes import Judge, Passes, Top, cut_large_parts
from indistinct.algorithms.partition.finish_parts import PartCells
from indistinct.algorithms.partition.keyed_columns import KeyedColumn, local_layout
from indistinct.algorithms.partition.weighed_cuts import WeighedCuts
from indistinct.frequencies.passes import KeySets, KeyTree, SampledRows, Segments
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Codes
from indistinct.models.base import Model
from indistinct.recoding.kinds import Cuts

# Because a sample only estimates sizes, parts that must fit have at most this share of the available room in the
# sample.
SHARE_OF_ROOM = 0.8


class SamplingPasses(Passes, Protocol):
    """Passes that can also draw a sample."""

    def sample(self, limit: int) -> SampledRows:
        """Return the rows whose content hashes to no more than a limit below 2^64."""


def cut_by_sample(
    passes: SamplingPasses, columns: Sequence[KeyedColumn], judge: Judge, choice: WeighedCuts, *, counters: Counter[str]
) -> tuple[Top, Judge]:
    """Return the upper cuts of a table, down to parts of at most `judge.fits` rows, and the judge of its parts."""
    rows = judge.whole.rows
    sample = passes.sample(min(int(judge.fits / max(rows, 1) * 2.0**64), (1 << 64) - 1))
    if not len(sample.counts):
        top, judge = Top(rows={0: rows}), replace(judge, choice=choice)
    else:
        weight = max(round(rows / int(sample.counts.sum())), 1)
        cells = PartCells.of(columns, sample.keys, sample.codes, judge.whole, weight * sample.counts)
        quasi = [column.among(own) for column, own in zip(columns, cells.some, strict=True)]
        choice = replace(choice, queries=choice.count_queries(quasi, cells.ranks, cells.classes.sizes))
        partition = choice.partition(
            quasi,
            local_layout(columns, cells.some),
            cells.ranks,
            cells.classes,
            judge.model,
            counters=counters,
            fits=int(SHARE_OF_ROOM * judge.fits),
        )
        judge = replace(judge, choice=choice)
        top = _take_back(SampledTree.of(cells, partition.cuts), passes, judge, counters=counters)
    cut_large_parts(top, passes, columns, judge, counters=counters)
    return top, judge


@dataclass(frozen=True, slots=True, eq=False)
class SampledTree:
    """A tree of cuts that a sample chose, over keys; `sets` has the keys on the left of nodes cut at a set."""

    axis: Codes
    cut: Codes
    left: Codes
    right: Codes
    sets: dict[int, Codes]

    @classmethod
    def of(cls, cells: PartCells, cuts: Cuts) -> "SampledTree":
        """Return cuts of ranks as cuts of keys; where a column is cut at sets, ranks are keys."""
        sets = {}
        if cuts.members is not None:
            starts, members = cuts.members
            for node in np.flatnonzero((cuts.axis >= 0) & (cuts.cut < 0)).tolist():
                number = -1 - int(cuts.cut[node])
                ranks = members[int(starts[number]) : int(starts[number + 1])]
                sets[node] = cells.some[int(cuts.axis[node])][ranks]
        return cls(cuts.axis.astype(np.int64), cells.keys_of_cuts(cuts), cuts.left, cuts.right, sets)

    def keyed(self) -> KeyTree:
        """Return the tree for passes; leaves are numbered from left to right."""
        sets = KeySets.of(self.sets, len(self.axis))
        return KeyTree(self.axis, self.cut, self.left.astype(np.int64), self.right.astype(np.int64), sets)

    def parents(self) -> Codes:
        """Return the parent of every node, -1 of the root."""
        parent_of = np.full(len(self.axis), -1, dtype=np.int64)
        inner = np.flatnonzero(self.axis >= 0)
        parent_of[self.left[inner]] = parent_of[self.right[inner]] = inner
        return parent_of


def _take_back(tree: SampledTree, passes: Passes, judge: Judge, *, counters: Counter[str]) -> Top:
    """Return the tree without the cuts after which a part of the whole table breaks the model."""
    parts = int((tree.axis < 0).sum())
    nothing, none = np.zeros(parts, dtype=np.int64), np.zeros(0, dtype=np.uint64)
    counted = passes.segments(tree.keyed(), Segments(nothing, np.zeros(parts + 1, dtype=np.int64), none))
    leaf_nodes = np.empty(parts, dtype=np.int64)
    leaves = np.flatnonzero(tree.axis < 0)
    leaf_nodes[tree.left[leaves]] = leaves
    owners = sound_nodes(tree, leaf_nodes, judge.classes(counted), judge.model, counters=counters)
    rows = np.bincount(owners, weights=counted.sizes, minlength=len(tree.axis)).astype(np.int64)
    counters["taken-back"] += len(leaf_nodes) - len(np.unique(owners))
    return _top_of(tree, {int(node): int(rows[node]) for node in np.unique(owners)})


def sound_nodes(
    tree: SampledTree, leaf_nodes: Codes, classes: Classes, model: Model, *, counters: Counter[str]
) -> Codes:
    """Return, for each leaf, the lowest node above it such that no remaining node breaks the model."""
    owners, parents = leaf_nodes.copy(), tree.parents()
    while True:
        nodes, ids = np.unique(owners, return_inverse=True)
        broken = nodes[model.violations(classes.regroup(np.asarray(ids).astype(np.int32), len(nodes)))]
        counters["checks"] += len(nodes)
        undone = set(parents[broken].tolist()) - {-1}
        if not undone:
            return owners
        for index, leaf in enumerate(leaf_nodes.tolist()):
            node = leaf
            while node >= 0:
                if node in undone:
                    owners[index] = node
                node = int(parents[node])


def _top_of(tree: SampledTree, rows: dict[int, int]) -> Top:
    """Return the tree above some nodes, which become leaves with the given numbers of rows."""
    top, waiting = Top(), [(0, 0)]
    while waiting:
        old, new = waiting.pop()
        if old in rows:
            top.rows[new] = rows[old]
            continue
        left = top.tree.add_children(new, int(tree.axis[old]), int(tree.cut[old]))
        if old in tree.sets:
            top.sets[new] = tree.sets[old]
        waiting += [(int(tree.left[old]), left), (int(tree.right[old]), left + 1)]
    return top
