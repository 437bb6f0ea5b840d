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
from indistinct.machine.arrays import Codes
from indistinct.models.base import All, Model
from indistinct.models.registry import subset_models
from indistinct.models.subset_anonymity import SubsetAnonymity
from indistinct.models.subset_groups import SubsetGroups

# MASKS: sets of columns that are bounded for each number of stars. WORK: classes × sets of columns of the model that
# are counted for the most promising ones. SET: least work that one set counts as, however few classes there are.
MASKS, WORK, SET = 1000, 60_000_000, 2_000
# This many are tried in any case.
TRIED = 8

Mask = tuple[int, ...]


class Starring(Protocol):
    """The classes of a node: their published values, the columns suppressed in each, and which are not placed yet."""

    space: FullDomain
    cut: SubtreeCut
    values: Codes
    stars: Codes
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
        table.place_with([tuple(mask) for mask in islice(combinations(table.telling(free), stars), MASKS)])
        outliers.space.problem.progress(stars / len(free))


@dataclass(eq=False)
class _PublishedGroups:
    """The groups that are published already, as far as they matter to outliers.

    `witnesses` are classes that fill them.
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
        entries = self.small_groups()[1]
        often = {j: int(np.count_nonzero(entries & np.uint64(1 << j))) for j in free}
        weigh = self.outliers.space.problem.importance.of
        names = self.outliers.space.problem.frequencies.names
        return sorted(free, key=lambda j: (-often[j] / weigh(names[j]), j))

    def small_groups(self) -> tuple[Codes, Codes]:
        """Return the outliers and the sets of columns (as bits) whose groups stay small even with all outliers."""
        out = self.outliers
        present = np.concatenate([np.flatnonzero(self.witnesses), out.remaining])
        first, owners, sets = len(present) - len(out.remaining), [], []
        for model in self.sets:
            some = out.cut.classes.take(present)
            for columns, small in self._groups(model, some, self._labels_of(present)).small_by_set(model.k):
                mine = small[small >= first] - first
                owners.append(mine)
                sets.append(np.full(len(mine), sum(1 << column for column in columns), dtype=np.uint64))
        return np.concatenate([np.zeros(0, dtype=np.int64), *owners]), np.concatenate([np.zeros(0, np.uint64), *sets])

    def place_with(self, masks: list[Mask]) -> None:
        """Place outliers by sets of columns, first by the set that could place most rows for its cost.

        An outlier needs a star in every set of columns in which its group is small, which bounds the rows that a mask
        can place.
        """
        out, weigh = self.outliers, self.outliers.space.problem.importance.of
        names = out.space.problem.frequencies.names
        owners, sets = self.small_groups()
        placed = np.zeros(len(out.remaining), dtype=bool)
        everybody, rest = out.remaining, out.rest
        queue: list[tuple[float, int, int]] = []
        for place, mask in enumerate(masks):
            fits = self._fitting(mask, owners, sets, len(everybody))
            rows, weight = int(rest.sizes[fits].sum()), sum(weigh(names[j]) for j in mask)
            queue += [(-rows / weight, place, rows)] if rows else []
        heapq.heapify(queue)
        work = sum(len(model.column_sets(names)) for model in self.sets)
        work *= int(self.witnesses.sum()) + len(everybody) + SET
        for _ in range(max(TRIED, WORK // max(work, 1))):
            if not queue or placed.all():
                break
            mask = masks[heapq.heappop(queue)[1]]
            some = self._fitting(mask, owners, sets, len(everybody)) & ~placed
            out.space.problem.counters["checks"] += 1
            some[some] = self._joining(everybody[some], mask)
            out.stars[np.ix_(everybody[some], np.array(mask))] = True
            self.witnesses[everybody[some]] = True
            placed |= some
        out.remaining, out.rest = everybody[~placed], rest.take(np.flatnonzero(~placed))

    @staticmethod
    def _fitting(mask: Mask, owners: Codes, sets: Codes, size: int) -> Codes:
        """Return which outliers have a star in each set of columns in which their group is small."""
        bits = np.uint64(sum(1 << column for column in mask))
        fits = np.ones(size, dtype=bool)
        fits[owners[(sets & bits) == 0]] = False
        return fits

    def _joining(self, classes: Codes, mask: Mask) -> Codes:
        """Return which of some classes satisfy the model when all of them show `*` in these columns."""
        out = self.outliers
        known = np.flatnonzero(self.witnesses)
        shown = self._labels_of(classes)
        shown[:, list(mask)] = self.star[list(mask)]
        values, ids = np.unique(shown, axis=0, return_inverse=True)
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
        names = self.outliers.space.problem.frequencies.names
        return SubsetGroups(replace(classes, labels=ClassLabels(names, codes)), model.column_sets(names))
