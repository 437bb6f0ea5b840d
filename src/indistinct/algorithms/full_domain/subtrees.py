"""Recodings in which every value of a column has its own level: subtrees, siblings, single suppressed values.

A *cut* through the hierarchies gives the level on which each value is published: the recoding publishes its ancestor
there. Full-domain nodes are the cuts with one level for all values of a column.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.frequencies import _kernels
from indistinct.frequencies.encode import pack
from indistinct.frequencies.value import Classes, ClassLabels
from indistinct.machine.arrays import Codes, Mask
from indistinct.models.dropping import classes_to_drop
from indistinct.recoding.kinds import ByColumn, RecodedColumn
from indistinct.recoding.summary import floor_of, node_summary


@dataclass(frozen=True, eq=False)
class SubtreeCut:
    """A cut: `levels[j][code]` is the level on which a value of column j is published."""

    space: FullDomain
    levels: tuple[Codes, ...]

    @cached_property
    def nodes(self) -> tuple[Codes, ...]:
        """For each column, each value's published node, as one number that ascends by level and node."""
        return tuple(
            levels.astype(np.int64) << 32 | taxonomy.ancestors[np.arange(len(levels)), levels]
            for taxonomy, levels in zip(self.space.taxonomies, self.levels, strict=True)
        )

    @cached_property
    def groups(self) -> tuple[Codes, ...]:
        """For each column, each value's published code; codes ascend by level and node."""
        return tuple(np.unique(nodes, return_inverse=True)[1].astype(np.int32) for nodes in self.nodes)

    @cached_property
    def class_ids(self) -> Codes:
        """The class of every cell, numbered by first appearance."""
        vectors = self.space.problem.frequencies.vectors
        codes, sizes = [], []
        for j, (taxonomy, levels) in enumerate(zip(self.space.taxonomies, self.levels, strict=True)):
            starts = self.space.level_starts[j]
            published = starts[levels] + taxonomy.ancestors[np.arange(len(levels)), levels]
            codes.append(published[vectors[:, j]])
            sizes.append(int(starts[-1]))
        words, _ = pack(codes, sizes)
        return group_equal(words, self.space.problem.frequencies.counts)[0]

    @cached_property
    def classes(self) -> Classes:
        """The classes that the cut makes, with labels where the model needs them."""
        problem = self.space.problem
        classes = problem.frequencies.classes.regroup(self.class_ids, int(self.class_ids.max(initial=-1)) + 1)
        if not problem.model.needs_labels:
            return classes
        return replace(classes, labels=ClassLabels(problem.frequencies.names, self.values))

    @cached_property
    def values(self) -> Codes:
        """The published code of each class in each column."""
        first = np.full(int(self.class_ids.max(initial=-1)) + 1, len(self.class_ids))
        np.minimum.at(first, self.class_ids, np.arange(len(self.class_ids)))
        vectors = self.space.problem.frequencies.vectors[first]
        return np.stack([group[vectors[:, j]] for j, group in enumerate(self.groups)], axis=1)

    @cached_property
    def broken(self) -> Mask:
        """Which classes are suppressed so that the rest satisfies the model."""
        return classes_to_drop(self.space.problem.model, self.classes)

    @property
    def suppressed_rows(self) -> int:
        """Return the number of rows, or people, in classes that break the model."""
        return self.classes.members_of(self.broken)

    def recoding(self) -> ByColumn:
        """Return the recoding of the cut; rows of classes that break the model are suppressed."""
        outside = np.flatnonzero(self.broken[self.class_ids])
        vectors = self.space.problem.frequencies.vectors[outside]
        values = np.stack([group[vectors[:, j]] for j, group in enumerate(self.groups)], axis=1).astype(np.int32)
        columns = []
        for column, nodes in zip(self.space.columns, map(np.unique, self.nodes), strict=True):
            summary = node_summary(column, (nodes >> 32).astype(np.int32), (nodes & 0xFFFFFFFF).astype(np.int32))
            columns.append(RecodedColumn(column.domain, column.ranks, floor_of(column), summary))
        return ByColumn(tuple(columns), self.groups, np.unique(values, axis=0))


def group_equal(words: Codes, counts: Codes) -> tuple[Codes, Codes, Codes]:
    """Group equal words; return (group of each word, word of each group, rows of each group)."""
    class_ids = np.empty(len(words), dtype=np.int32)
    labels, sizes = _kernels.group_words_by_hash(words.astype(np.uint64).reshape(-1, 1), counts, class_ids)
    return class_ids, labels[:, 0].astype(np.int64), sizes
