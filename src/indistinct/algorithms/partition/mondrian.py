"""Mondrian: greedy multidimensional partitioning (LeFevre, DeWitt, Ramakrishnan 2006).

A part is cut at the median of its widest quasi-identifier as long as both sides satisfy the model; what is left over
is a class. Cuts are *strict* (equal vectors stay together, so the recoding is a function of the vector) or *relaxed*
(parts are halved by rows, so classes have k to 2k - 1 of them).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, Problem
from indistinct.algorithms.partition.layout import layout_of, ranks_of
from indistinct.algorithms.partition.relaxed import halve_by_rounds, halve_by_size
from indistinct.algorithms.partition.strict import partition_strictly
from indistinct.algorithms.partition.summaries import summarize
from indistinct.errors import ParameterError
from indistinct.recoding.kinds import ByRegion, ByRow, Recoding
from indistinct.recoding.summary import Extent, NumericForm, Style


@dataclass(frozen=True, slots=True)
class Mondrian(Algorithm):
    """Greedy multidimensional partitioning.

    The median may go to either side of a cut, without which the size bound of the paper does not hold. Columns with a
    tree of values are cut into the children of their node. Any model can be the test of a cut.

    Guarantees: every class satisfies the model, no row is suppressed, and no class could be cut once more.
    """

    name: ClassVar[str] = "mondrian"
    relaxed: bool = False
    extent: Extent = "range"
    numeric: NumericForm = "interval"

    def __post_init__(self) -> None:
        Style(self.extent, self.numeric)
        if self.relaxed and self.extent == "region":
            raise ParameterError(
                "`extent` of Mondrian must be range when it is relaxed: halves by rows have no regions",
                hint="leave out relaxed=true, or extent=region",
            )

    @property
    def traits(self) -> AlgorithmTraits:  # type: ignore[override]
        """Relaxed partitioning splits equal vectors, so its recodings fit one table only."""
        return AlgorithmTraits(local=True, ranges=True, splits=self.relaxed, reusable=not self.relaxed)

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the greedy partition."""
        problem.model.check(problem.whole())
        return self._relaxed(problem) if self.relaxed else self._strict(problem)

    def _strict(self, problem: Problem) -> Recoding:
        frequencies, model = problem.frequencies, problem.model
        layout = layout_of(problem.columns)
        ranks = ranks_of(problem.columns, frequencies.vectors, order="F")
        found = partition_strictly(ranks, frequencies.classes, layout=layout, model=model, counters=problem.counters)
        problem.progress(0.7)
        columns, values = summarize(
            problem.columns,
            found.ranks,
            class_ids=found.class_ids,
            counts=found.counts,
            classes=found.cuts.classes,
            style=Style(self.extent, self.numeric),
            regions=found.cuts.bounds(layout.sizes) if self.extent == "region" else None,
        )
        return ByRegion(columns, found.cuts, values)

    def _relaxed(self, problem: Problem) -> Recoding:
        frequencies, model = problem.frequencies, problem.model
        layout, ranks = layout_of(problem.columns), ranks_of(problem.columns, frequencies.vectors)
        if model.traits.sizes_only and frequencies.joint is None:
            pieces = halve_by_size(ranks, frequencies.counts, layout=layout, k=model.smallest)
        else:
            pieces = halve_by_rounds(ranks, frequencies, layout=layout, model=model, counters=problem.counters)
        problem.progress(0.7)
        columns, values = summarize(
            problem.columns,
            ranks[pieces.cells],
            class_ids=pieces.class_ids,
            counts=pieces.counts,
            classes=pieces.size,
            style=Style(self.extent, self.numeric),
        )
        vectors = np.ascontiguousarray(frequencies.vectors)
        return ByRow(columns, vectors, pieces.cells, pieces.joint, pieces.class_ids, pieces.counts, values)
