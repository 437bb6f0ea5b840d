"""Suppressed cells for models that group classes by a few columns: outliers join the satisfying classes of a node.

The classes that a node keeps satisfy the model by themselves, and rows that join never make a group smaller. So
outliers are tried with `*` in the same columns, and those are kept whose every group is large enough, counting
themselves and the kept classes. `*` is a value of its own: (30, *) is a combination that enough rows must share.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Protocol

import numpy as np

from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.algorithms.full_domain.subtrees import SubtreeCut
from indistinct.frequencies.value import Classes, ClassLabels
from indistinct.machine.arrays import Codes, Mask
from indistinct.models.base import All, Model
from indistinct.models.registry import subset_models
from indistinct.models.subset_anonymity import SubsetAnonymity
from indistinct.models.subset_groups import SubsetGroups

# MASKS_PER_SIZE: sets of columns that are bounded for each number of stars. MAX_CLASS_SETS: classes × sets of columns
# of the model that are counted for the most promising ones. MIN_CLASSES_PER_SET: least work that one set counts as,
# however few classes there are.
MASKS_PER_SIZE, MAX_CLASS_SETS, MIN_CLASSES_PER_SET = 1000, 60_000_000, 2_000
# This many are tried in any case.
MIN_SETS_TRIED = 8

StarMask = tuple[int, ...]


class Starring(Protocol):
    """The classes of a node: their published values, the columns suppressed in each, and which are not placed yet."""

    space: FullDomain
    cut: SubtreeCut
    values: Codes
    stars: Mask
    remaining: Codes
    rest: Classes

    @property
    def free(self) -> list[int]:
        """The columns that may be starred."""


def place_by_sets(outliers: Starring) -> None:
    """Suppress as few columns as needed of each outlier, as far as the model of column sets allows."""
    table = _PublishedGroups(outliers)
    free = outliers.free
    for stars in range(1, len(free) + 1):
        if not len(outliers.remaining):
            return
        table.place_with([tuple(mask) for mask in islice(combinations(table.telling(free), stars), MASKS_PER_SIZE)])
        outliers.space.problem.progress(stars / len(free))


@dataclass(frozen=True, slots=True, eq=False)
class _SmallGroups:
    """Groups that stay small even with all outliers.

    Entry `i` says that outlier `owners[i]` is in such a group by column set `sets[i]`; `columns` is sets × columns.
    """

    owners: Codes
    sets: Codes
    columns: Mask

    def by_column(self) -> Codes:
        """Return, for each column, the entries whose set has it."""
        return np.bincount(self.sets, minlength=len(self.columns)) @ self.columns

    def placed_by(self, stars: StarMask, outliers: int) -> Mask:
        """Return which outliers have a star in each set of columns in which their group is small."""
        fits = np.ones(outliers, dtype=bool)
        starred: Mask = np.asarray(self.columns[:, list(stars)].any(axis=1))
        fits[self.owners[~starred[self.sets]]] = False
        return fits


@dataclass(eq=False)
class _PublishedGroups:
    """The groups that the model judges (equal published values in one set of columns), as far as outliers join them.

    `witnesses` marks published classes that suffice to show that a group which an outlier may join has k rows, or
    people.
    """

    outliers: Starring

    def __post_init__(self) -> None:
        out, model = self.outliers, self.outliers.space.problem.model
        self.sets = subset_models(part.inner for part in model.parts())
        others = [part for part in model.parts() if not subset_models([part.inner])]
        self.others: Model | None = All(tuple(others)) if others else None
        self.star = out.values.max(axis=0, initial=0) + 1
        asking = np.zeros(len(out.values), dtype=bool)
        asking[out.remaining] = True
        self.witnesses = np.zeros(len(out.values), dtype=bool)
        for model in self.sets:
            self.witnesses |= self._groups(model, out.cut.classes, out.values).witnesses(model.k, asking)

    def telling(self, free: Sequence[int]) -> list[int]:
        """Return the columns, those first that are most often part of a small group, relative to their weight."""
        often = self.small_groups().by_column()
        weigh = self.outliers.space.problem.importance.of
        names = self.outliers.space.problem.frequencies.names
        return sorted(free, key=lambda j: (-int(often[j]) / weigh(names[j]), j))

    def small_groups(self) -> _SmallGroups:
        """Return the groups with fewer than k rows even if every outlier joined them; they need further stars."""
        out = self.outliers
        present = np.concatenate([np.flatnonzero(self.witnesses), out.remaining])
        first, some, labels = len(present) - len(out.remaining), out.cut.classes.take(present), self._labels_of(present)
        owners, sets, columns = list[Codes](), list[Codes](), list[Mask]()
        for model in self.sets:
            for of_set, small in self._groups(model, some, labels).small_by_set(model.k):
                mine = small[small >= first] - first
                if len(mine):
                    owners.append(mine)
                    sets.append(np.full(len(mine), len(columns)))
                    columns.append(np.isin(np.arange(out.values.shape[1]), of_set))
        if not columns:
            return _SmallGroups(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, out.values.shape[1]), bool))
        return _SmallGroups(np.concatenate(owners), np.concatenate(sets), np.array(columns))

    def place_with(self, masks: list[StarMask]) -> None:
        """Place outliers by sets of columns, first by the set that could place most rows for its cost.

        An outlier needs a star in every set of columns in which its group is small, which bounds the rows that a mask
        can place.
        """
        out, weigh = self.outliers, self.outliers.space.problem.importance.of
        names = out.space.problem.frequencies.names
        small = self.small_groups()
        placed = np.zeros(len(out.remaining), dtype=bool)
        everybody, rest = out.remaining, out.rest
        queue: list[tuple[float, int, int]] = []
        for index, mask in enumerate(masks):
            fits = small.placed_by(mask, len(everybody))
            rows, weight = int(rest.sizes[fits].sum()), sum(weigh(names[j]) for j in mask)
            queue += [(-rows / weight, index, rows)] if rows else []
        heapq.heapify(queue)
        work = sum(len(model.column_sets(names)) for model in self.sets)
        work *= int(self.witnesses.sum()) + len(everybody) + MIN_CLASSES_PER_SET
        for _ in range(max(MIN_SETS_TRIED, MAX_CLASS_SETS // max(work, 1))):
            if not queue or placed.all():
                break
            mask = masks[heapq.heappop(queue)[1]]
            some = small.placed_by(mask, len(everybody)) & ~placed
            out.space.problem.counters["checks"] += 1
            some[some] = self._joining(everybody[some], mask)
            out.stars[np.ix_(everybody[some], np.array(mask))] = True
            self.witnesses[everybody[some]] = True
            placed |= some
        out.remaining, out.rest = everybody[~placed], rest.take(np.flatnonzero(~placed))

    def _joining(self, classes: Codes, mask: StarMask) -> Mask:
        """Return which of some classes satisfy the model when all of them show `*` in these columns."""
        out = self.outliers
        known = np.flatnonzero(self.witnesses)
        published = self._labels_of(classes)
        published[:, list(mask)] = self.star[list(mask)]
        values, ids = np.unique(published, axis=0, return_inverse=True)
        ids = ids.reshape(-1)
        numbers = np.full(len(out.values), -1, dtype=np.int32)
        numbers[known], numbers[classes] = np.arange(len(known)), len(known) + ids
        together = out.cut.classes.regroup(numbers, len(known) + len(values))
        labels = np.concatenate([self._labels_of(known), values])
        kept = np.arange(len(together))
        while True:
            some, fixed = together.take(kept), kept < len(known)
            gone = np.zeros(len(kept), dtype=bool)
            for model in self.sets:
                gone |= self._groups(model, some, labels[kept]).outside(model.k, fixed=fixed)
            if self.others is not None:
                gone |= ~fixed & self.others.violations(some)
            if not gone.any():
                return np.isin(ids + len(known), kept)
            kept = kept[~gone]

    def _labels_of(self, classes: Codes) -> Codes:
        """Return what classes publish: their node, or the star."""
        out = self.outliers
        return np.where(out.stars[classes], self.star, out.values[classes])

    def _groups(self, model: SubsetAnonymity, classes: Classes, codes: Codes) -> SubsetGroups:
        """Return the groups of classes on each set of columns of the model."""
        names = self.outliers.space.problem.frequencies.names
        return SubsetGroups(replace(classes, labels=ClassLabels(names, codes)), model.column_sets(names))
