"""Rolling cells up through hierarchies: the frequency set of a coarser node from that of a finer one.

A cell is a 64-bit word, or a few of them, with a bit field for each column, wide enough for the raw codes. Going up
replaces fields through small tables and groups equal words with a hash table. A column that a node leaves out has the
field 0, as if it were generalized to one value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from indistinct.frequencies import _kernels
from indistinct.frequencies.grouping import WORD
from indistinct.frequencies.value import Classes, FrequencySet
from indistinct.hierarchy.value import Taxonomy
from indistinct.machine.arrays import Codes

# The level of a column that a node leaves out.
OUT = -1


@dataclass(frozen=True, slots=True, eq=False)
class RolledUp:
    """The classes of a node: their words, and what a model needs to know of them."""

    levels: tuple[int, ...]
    words: Codes
    classes: Classes

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, eq=False)
class Cells:
    """The base cells of a table with their hierarchies: where every roll-up starts."""

    frequencies: FrequencySet
    taxonomies: tuple[Taxonomy, ...]

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The bits of each column's field."""
        return tuple(max(len(t.ancestors) - 1, 0).bit_length() for t in self.taxonomies)

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The word and the shift of each column's field; no field lies across two words."""
        found, word, used = [], 0, 0
        for width in self.widths:
            if used + width > WORD:
                word, used = word + 1, 0
            found.append((word, used))
            used += width
        return tuple(found)

    @cached_property
    def base(self) -> RolledUp:
        """The cells themselves: every column raw."""
        words = np.zeros((len(self.frequencies), self.places[-1][0] + 1), dtype=np.uint64)
        for column, (word, shift) in enumerate(self.places):
            words[:, word] |= self.frequencies.vectors[:, column].astype(np.uint64) << np.uint64(shift)
        return RolledUp((0,) * len(self.widths), words, self.frequencies.classes)

    def step(self, column: int, start: int, stop: int) -> Codes:
        """Return the table that takes a column's nodes from one level to a coarser one, or out, as shifted fields."""
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
