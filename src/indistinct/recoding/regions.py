"""The tree of cuts: the function that strict partitioning finds, from vectors to regions."""

from dataclasses import dataclass, field

import numpy as np

from indistinct.machine.arrays import Codes
from indistinct.machine.parallel import blocks, is_large, spread
from indistinct.recoding import _kernels
from indistinct.recoding.parts import LATER

# A cell takes as long as so many rows that are counted: it goes down the tree step by step.
STEPS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """A binary tree over ranks. Node 0 is the root; an inner node sends ranks up to `cut` to its left child.

    Where `cut` is negative it names a set: -1 the first, -2 the second. Ranks of that set go to the left child, all
    others to the right. `members` has the sets as compressed sparse rows of ranks, which ascend inside a set.
    A leaf has axis -1 and its class in `left`; classes are numbered from left to right.
    """

    axis: Codes
    cut: Codes
    left: Codes
    right: Codes
    members: tuple[Codes, Codes] | None = field(default=None, metadata=LATER)

    @property
    def classes(self) -> int:
        """Return the number of leaves."""
        return int((self.axis < 0).sum())

    def numbered(self) -> "Cuts":
        """Return the same tree with leaves numbered by the run of rows that `left` held during the search."""
        leaves = np.flatnonzero(self.axis < 0)
        left, right = self.left.copy(), self.right.copy()
        left[leaves[np.argsort(self.left[leaves], kind="stable")]] = np.arange(len(leaves))
        right[leaves] = -1
        cut = np.where(self.axis < 0, 0, self.cut).astype(np.int32)
        return Cuts(self.axis, cut, left.astype(np.int32), right.astype(np.int32), self.members)

    def locate(self, ranks: Codes) -> Codes:
        """Return the class of every row of a matrix of ranks."""
        if not is_large(STEPS * len(ranks)):
            return self._descend(ranks)
        class_ids = np.empty(len(ranks), dtype=np.int32)
        # One row a node keeps the four numbers of a step in one cache line.
        nodes = np.stack([self.axis, self.cut, self.left, self.right], axis=1).astype(np.int32)
        starts, members = self._sets()
        spread(
            lambda block: _kernels.locate(nodes, starts, members, ranks[block], class_ids[block]),
            blocks(len(ranks), least=1),
        )
        return class_ids

    def _descend(self, ranks: Codes) -> Codes:
        """Return the class of every row, all rows one step down the tree at a time."""
        nodes, moving = np.zeros(len(ranks), dtype=np.intp), np.arange(len(ranks))
        moving = moving[self.axis[nodes] >= 0]
        while len(moving):
            here = nodes[moving]
            goes_left = self._goes_left(here, ranks[moving, self.axis[here]])
            nodes[moving] = np.where(goes_left, self.left[here], self.right[here])
            moving = moving[self.axis[nodes[moving]] >= 0]
        return self.left[nodes].astype(np.int32)

    def _goes_left(self, nodes: Codes, ranks: Codes) -> Codes:
        """Return whether each inner node sends its rank to the left."""
        cut = self.cut[nodes]
        goes_left = ranks <= cut
        by_set = cut < 0
        if by_set.any():
            starts, members = self._sets()
            size = 1 + max(int(members.max(initial=0)), int(ranks.max(initial=0)))
            known = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * size + members
            wanted = (-1 - cut[by_set].astype(np.int64)) * size + ranks[by_set]
            at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            goes_left[by_set] = known[at] == wanted
        return goes_left

    def _sets(self) -> tuple[Codes, Codes]:
        """Return the sets as compiled loops take them."""
        starts, members = self.members or (np.zeros(1), np.zeros(0))
        return starts.astype(np.int64), members.astype(np.int32)

    def bounds(self, sizes: tuple[int, ...]) -> tuple[Codes, Codes]:
        """Return the lowest and highest rank of every class's region; a tree that is cut at sets has none."""
        low = np.zeros((self.classes, len(sizes)), dtype=np.int32)
        high = np.zeros((self.classes, len(sizes)), dtype=np.int32)
        high[0] = np.array(sizes) - 1
        _kernels.region_bounds(self.axis, self.cut, self.left, self.right, low, high)
        return low, high
