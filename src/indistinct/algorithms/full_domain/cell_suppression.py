"""Cell suppression (Fung et al. 2010): outlier rows of a full-domain recoding lose single cells instead of all of them.

A full-domain search with a suppression budget leaves rows outside: their classes break the model. Here such a row is
published with stars in a few columns, so that it falls together with other outliers, and only what cannot be placed
that way is dropped.
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, Problem
from indistinct.algorithms.full_domain.bottom_up import BottomUp
from indistinct.algorithms.full_domain.datafly import Datafly
from indistinct.algorithms.full_domain.incognito import Incognito
from indistinct.algorithms.full_domain.nodes import FullDomain, recoded_column
from indistinct.algorithms.full_domain.optimal import Optimal
from indistinct.algorithms.full_domain.samarati import Samarati
from indistinct.algorithms.full_domain.starred_sets import place_by_sets
from indistinct.algorithms.full_domain.subtrees import SubtreeCut, group_equal
from indistinct.errors import Feasible, InfeasibleError, ParameterError
from indistinct.figures import share_above
from indistinct.frequencies.encode import pack
from indistinct.frequencies.lattice import Node
from indistinct.frequencies.value import Classes, Key
from indistinct.machine.arrays import Codes
from indistinct.recoding.kinds import ByCell, ByColumn, Recoding
from indistinct.spelling import parse

STARTS: Mapping[str, type[Algorithm]] = MappingProxyType(
    {kind.name: kind for kind in (Optimal, Samarati, BottomUp, Incognito, Datafly)}
)
# Sets of columns that are tried for each number of stars; with up to twelve columns these are all of them.
MASKS = 1000

Mask = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CellSuppression(Algorithm):
    """Star single cells of the rows that another full-domain search, `start`, would suppress.

    Sets of columns are tried by their number, and among equally many those first that place most rows. Never drops
    more rows than `start`, and never has a larger loss.
    """

    name: ClassVar[str] = "cell-suppression"
    start: str = "optimal:metric=loss"

    def __post_init__(self) -> None:
        self.beginning()

    def beginning(self) -> Algorithm:
        """Return the search that finds the node."""
        return parse(self.start, STARTS, what="full-domain algorithm")

    @property
    def traits(self) -> AlgorithmTraits:  # type: ignore[override]
        """The same value may be shown in one row and starred in another."""
        monotone = self.beginning().traits.monotone
        return AlgorithmTraits(local=True, hierarchies=True, monotone=monotone, suppresses=True, column_sets=True)

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histograms of the search that finds the node."""
        return self.beginning().keys

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the node with starred outliers; by column if no cell is starred."""
        found = self.beginning().find(problem)
        if not isinstance(found, ByColumn) or found.levels is None:
            raise ParameterError.of(
                "CellSuppression",
                "start",
                f"must find a node of the lattice; {self.start!r} does not",
                hint=f"use one of {', '.join(STARTS)}",
            )
        space = FullDomain(problem)
        levels = tuple(found.levels[column.name] for column in space.columns)
        outliers = Outliers(space, levels)
        if problem.model.needs_labels:
            place_by_sets(outliers)
        else:
            outliers.place()
        dropped = outliers.rest.members_of(np.ones(len(outliers.rest), dtype=bool))
        if dropped > problem.suppression:
            raise InfeasibleError(
                f"{dropped} row(s) stand out whichever cells are starred, and {problem.suppression} may be dropped",
                hint="allow more suppression, or use start=optimal, which keeps to the budget",
                feasible=Feasible(share=share_above(dropped, problem.frequencies.members)),
            )
        return outliers.recoding() if outliers.stars.any() else space.recoding(levels)


class Outliers:
    """The classes of a node that break the model, and the columns that are starred in each.

    `values` are the published nodes of every class and `stars` what is starred of them; `remaining` are the classes
    that have no place yet, and `rest` is what the model sees of them.
    """

    def __init__(self, space: FullDomain, levels: Node) -> None:
        self.space, self.levels = space, levels
        lengths = [len(column.domain) for column in space.columns]
        self.cut = SubtreeCut(
            space, tuple(np.full(n, level, dtype=np.int32) for n, level in zip(lengths, levels, strict=True))
        )
        self.values = self.cut.values
        self.stars = np.zeros(self.values.shape, dtype=bool)
        self.remaining = np.flatnonzero(self.cut.broken)
        self.rest = self.cut.classes.take(self.remaining)

    def place(self) -> None:
        """Star as few columns as it takes, the most telling ones first where there are too many choices."""
        free, weigh = self.free, self.space.problem.importance.of
        names = self.space.problem.frequencies.names
        telling = sorted(free, key=lambda j: (-len(np.unique(self.values[self.remaining, j])) / weigh(names[j]), j))
        for stars in range(1, len(free) + 1):
            if self.rest.rows < self.space.problem.model.smallest:
                return
            self._place_with([tuple(mask) for mask in islice(combinations(telling, stars), MASKS)])
            self.space.problem.progress(stars / len(free))

    @property
    def free(self) -> list[int]:
        """Return the columns that may be starred: those below the root, unless a most level lies below it."""
        heights, forest = self.space.lattice.heights, self.space.problem.forest
        tops = zip(self.levels, heights, self.space.columns, strict=True)
        return [j for j, (level, top, column) in enumerate(tops) if level < top and column.name not in forest]

    def _place_with(self, masks: list[Mask]) -> None:
        """Place rows with sets of columns, always with the set that places most; equals go in the order given.

        Under an absorbing model a set only places fewer rows as others place some, so a count that is still the largest
        when it is made again is the largest of all; under other models that is taken for granted.
        """
        queue = [(-self.rest.rows, place) for place in range(len(masks))]
        while queue and len(self.remaining):
            known, place = heapq.heappop(queue)
            class_ids, satisfied, rows = self._tried(masks[place])
            if -rows > known and queue and (-rows, place) > queue[0]:
                if rows:
                    heapq.heappush(queue, (-rows, place))
                continue
            if rows:
                settled = satisfied[class_ids]
                self.stars[np.ix_(self.remaining[settled], np.array(masks[place]))] = True
                self.remaining, self.rest = self.remaining[~settled], self.rest.take(np.flatnonzero(~settled))

    def _tried(self, mask: Mask) -> tuple[Codes, Codes, int]:
        """Return the group of each remaining class under some stars, which groups satisfy the model, and their rows."""
        self.space.problem.counters["checks"] += 1
        shown = [j for j in range(self.values.shape[1]) if j not in mask]
        codes = [self.values[self.remaining, j] for j in shown]
        words = pack(codes, [int(code.max()) + 1 for code in codes])[0] if codes else np.zeros(len(self.remaining))
        class_ids, _, sizes = group_equal(words, self.rest.sizes)
        together: Classes = self.rest.regroup(class_ids, len(sizes))
        satisfied = ~self.space.problem.model.violations(together)
        return class_ids, satisfied, int(sizes[satisfied].sum())

    def recoding(self) -> ByCell:
        """Return the recoding that publishes the node, its outliers with stars, and drops what has no place."""
        columns, shown = [], self.values.astype(np.int32)
        for j, (column, level) in enumerate(zip(self.space.columns, self.levels, strict=True)):
            starred = self.stars[:, j]
            columns.append(recoded_column(column, level, starred=bool(starred.any()))[0])
            shown[starred, j] = len(columns[-1].summary.published) - 1
        kept = np.ones(len(shown), dtype=bool)
        kept[self.remaining] = False
        values, places = np.unique(shown[kept], axis=0, return_inverse=True)
        classes = np.full(len(shown), -1, dtype=np.int32)
        classes[kept] = places.reshape(-1)
        vectors = np.ascontiguousarray(self.space.problem.frequencies.vectors)
        return ByCell(tuple(columns), vectors, classes[self.cut.class_ids], values)
