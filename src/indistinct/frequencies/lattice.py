"""The lattice of full-domain recodings: a node gives every quasi-identifier a level of its hierarchy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from indistinct.machine.arrays import Codes

Node = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lattice:
    """All vectors of levels from 0 to each hierarchy's height.

    >>> Lattice((1, 2)).size
    6
    >>> list(Lattice((1, 1)).above((0, 0)))
    [(1, 0), (0, 1)]
    """

    heights: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the number of levels of each column."""
        return tuple(height + 1 for height in self.heights)

    @property
    def size(self) -> int:
        """Return the number of nodes."""
        return prod(self.shape)

    @property
    def top(self) -> Node:
        """Return the most general node."""
        return self.heights

    def nodes(self) -> Codes:
        """Return all nodes, one a row, in lexicographic order."""
        return np.indices(self.shape).reshape(len(self.heights), -1).T

    def node_heights(self) -> Codes:
        """Return the sum of levels of every node, as an array of the lattice's shape."""
        total = np.zeros(self.shape, dtype=np.int64)
        for levels in np.indices(self.shape, sparse=True):
            total += levels
        return total

    def above(self, node: Sequence[int]) -> Iterator[Node]:
        """Yield the direct generalizations of a node, which may leave out columns by a negative level."""
        for place, level in enumerate(node):
            if 0 <= level < self.heights[place]:
                yield (*node[:place], level + 1, *node[place + 1 :])

    def __contains__(self, node: object) -> bool:
        return (
            isinstance(node, tuple)
            and len(node) == len(self.heights)
            and all(isinstance(level, int) and 0 <= level <= h for level, h in zip(node, self.heights, strict=True))
        )


def specializations(node: Sequence[int]) -> Iterator[Node]:
    """Yield the direct specializations of a node."""
    for place, level in enumerate(node):
        if level > 0:
            yield (*node[:place], level - 1, *node[place + 1 :])


def up_set(node: Sequence[int]) -> tuple[slice, ...]:
    """Return the index of a node and all its generalizations in an array of the lattice's shape."""
    return tuple(slice(level, None) for level in node)


def down_set(node: Sequence[int]) -> tuple[slice, ...]:
    """Return the index of a node and all its specializations in an array of the lattice's shape."""
    return tuple(slice(None, level + 1) for level in node)
