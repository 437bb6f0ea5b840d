"""Rows are first divided by which quasi-identifiers are missing, so that a class shows what is missing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from indistinct.algorithms.partition.layout import Partition
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Codes, starts_of
from indistinct.models.base import Model
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.kinds import Cuts

Find = Callable[[Codes, Classes], Partition]
"""A search for the cuts of some cells, given by their ranks and their classes."""


def partition_by_pattern(
    columns: Sequence[QuasiColumn], ranks: Codes, classes: Classes, *, model: Model, find: Find
) -> Partition:
    """Return the partition whose first cuts separate the rows that miss a column from those that have it.

    Columns are cut in their order, and only where both sides satisfy the model: a pattern with too few rows stays with
    other rows.
    """
    missing = {j: int(column.ranks[0]) for j, column in enumerate(columns) if column.domain.missing}
    tree = _GrowingCuts()

    def grow(cells: Codes, asked: list[int]) -> int:
        for index, j in enumerate(asked):
            absent = ranks[cells, j] == missing[j]
            if absent.all() or not absent.any():
                continue
            sides = classes.take(cells).regroup(absent.astype(np.int32), 2)
            if not model.violations(sides).any():
                rest = asked[index + 1 :]
                node = tree.add_cut(j, tree.add_set(missing[j]))
                tree.left[node] = grow(cells[absent], rest)
                tree.right[node] = grow(cells[~absent], rest)
                return node
        return tree.add_part(find(ranks[cells], classes.take(cells)))

    grow(np.arange(len(ranks)), list(missing))
    return tree.partition()


@dataclass(slots=True)
class _GrowingCuts:
    """A tree of cuts under construction; `sets` are those of its cuts, numbered -1, -2 and so on."""

    axis: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    sets: list[Codes] = field(default_factory=list)
    parts: list[Partition] = field(default_factory=list)
    classes: int = 0

    def add_set(self, rank: int) -> int:
        """Return the cut that sends one rank to the left; the lowest rank needs no set."""
        if rank == 0:
            return 0
        self.sets.append(np.array([rank], dtype=np.int32))
        return -len(self.sets)

    def add_cut(self, axis: int, cut: int) -> int:
        """Add an inner node whose children come later; return its number."""
        for row, value in ((self.axis, axis), (self.cut, cut), (self.left, -1), (self.right, -1)):
            row.append(value)
        return len(self.axis) - 1

    def add_part(self, part: Partition) -> int:
        """Append the tree of a part after all nodes so far; return the number of its root."""
        cuts, first, leaf = part.cuts, len(self.axis), part.cuts.axis < 0
        self.axis += cuts.axis.tolist()
        self.cut += np.where((cuts.cut < 0) & ~leaf, cuts.cut - len(self.sets), cuts.cut).tolist()
        self.left += np.where(leaf, cuts.left + self.classes, cuts.left + first).tolist()
        self.right += np.where(leaf, cuts.right, cuts.right + first).tolist()
        if cuts.members is not None:
            self.sets += np.split(cuts.members[1], cuts.members[0][1:-1])
        self.parts.append(part)
        self.classes += cuts.classes
        return first

    def partition(self) -> Partition:
        """Return the whole tree with all its cells."""
        members = None
        if self.sets:
            members = (starts_of([len(each) for each in self.sets]), np.concatenate(self.sets).astype(np.int32))
        cut, left, right = (np.array(row, np.int32) for row in (self.cut, self.left, self.right))
        bases = np.cumsum([0, *(part.cuts.classes for part in self.parts)])
        return Partition(
            Cuts(np.array(self.axis, np.int16), cut, left, right, members),
            np.concatenate([part.ranks for part in self.parts]),
            np.concatenate([part.class_ids + base for part, base in zip(self.parts, bases, strict=False)]).astype(
                np.int32
            ),
            np.concatenate([part.counts for part in self.parts]),
        )
