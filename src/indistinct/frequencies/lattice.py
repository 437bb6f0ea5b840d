"""The lattice of full-domain recodings: a node gives every quasi-identifier a level of its hierarchy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from indistinct.frequencies import _kernels
from indistinct.frequencies.encode import BITS_PER_WORD
from indistinct.frequencies.value import Classes, FrequencySet
from indistinct.hierarchy.taxonomy import Taxonomy
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
        for index, level in enumerate(node):
            if 0 <= level < self.heights[index]:
                yield (*node[:index], level + 1, *node[index + 1 :])

    def __contains__(self, node: object) -> bool:
        return (
            isinstance(node, tuple)
            and len(node) == len(self.heights)
            and all(isinstance(level, int) and 0 <= level <= h for level, h in zip(node, self.heights, strict=True))
        )


def specializations(node: Sequence[int]) -> Iterator[Node]:
    """Yield the direct specializations of a node."""
    for index, level in enumerate(node):
        if level > 0:
            yield (*node[:index], level - 1, *node[index + 1 :])


def up_set(node: Sequence[int]) -> tuple[slice, ...]:
    """Return the index of a node and all its generalizations in an array of the lattice's shape."""
    return tuple(slice(level, None) for level in node)


def down_set(node: Sequence[int]) -> tuple[slice, ...]:
    """Return the index of a node and all its specializations in an array of the lattice's shape."""
    return tuple(slice(None, level + 1) for level in node)


# The level of a column that a node leaves out.
OUT = -1


@dataclass(frozen=True, slots=True, eq=False)
class RolledUp:
    """The classes of a node: their words, and the histograms that a model needs."""

    levels: tuple[int, ...]
    words: Codes
    classes: Classes

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, eq=False)
class Cells:
    """The original cells of a table with their hierarchies, from which every roll-up starts."""

    frequencies: FrequencySet
    taxonomies: tuple[Taxonomy, ...]

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The bits of each column's field."""
        return tuple(max(len(t.ancestors) - 1, 0).bit_length() for t in self.taxonomies)

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The word and the shift of each column's field; a field never spans two words."""
        positions, word, used = [], 0, 0
        for width in self.widths:
            if used + width > BITS_PER_WORD:
                word, used = word + 1, 0
            positions.append((word, used))
            used += width
        return tuple(positions)

    @cached_property
    def base(self) -> RolledUp:
        """The classes of the raw node: the cells themselves."""
        words = np.zeros((len(self.frequencies), self.places[-1][0] + 1), dtype=np.uint64)
        for column, (word, shift) in enumerate(self.places):
            words[:, word] |= self.frequencies.vectors[:, column].astype(np.uint64) << np.uint64(shift)
        return RolledUp((0,) * len(self.widths), words, self.frequencies.classes)

    def step(self, column: int, start: int, stop: int) -> Codes:
        """Return the table from a column's nodes on one level to those on a coarser one, or to 0, as shifted fields."""
        ancestors = self.taxonomies[column].ancestors
        table = np.zeros(1 << self.widths[column], dtype=np.uint64)
        if stop != OUT:
            table[ancestors[:, start]] = ancestors[:, stop].astype(np.uint64)
        return table << np.uint64(self.places[column][1])

    def roll_up(self, finer: RolledUp, levels: Sequence[int]) -> RolledUp:
        """Return the classes of a coarser node from those of a finer one."""
        changed = [j for j, (a, b) in enumerate(zip(finer.levels, levels, strict=True)) if a != b]
        words = finer.words.copy()
        for column in changed:
            word, shift = self.places[column]
            mask = np.uint64((1 << self.widths[column]) - 1)
            table = self.step(column, finer.levels[column], levels[column])
            _kernels.replace_field(words, word, np.uint64(shift), mask, table)
        class_ids = np.empty(len(words), dtype=np.int32)
        grouped, sizes = _kernels.group_words_by_hash(words, finer.classes.sizes, class_ids)
        histograms = {key: h.regroup(class_ids, len(grouped)) for key, h in finer.classes.histograms.items()}
        return RolledUp(tuple(levels), grouped, Classes(sizes, histograms))

    def field(self, rolled: RolledUp, column: int) -> Codes:
        """Return the node of a column in every class."""
        word, shift = self.places[column]
        mask = np.uint64((1 << self.widths[column]) - 1)
        return ((rolled.words[:, word] >> np.uint64(shift)) & mask).astype(np.int64)
