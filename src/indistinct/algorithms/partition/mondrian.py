"""Mondrian: greedy multidimensional partitioning (LeFevre, DeWitt, Ramakrishnan 2006).

A part is cut at the median of its widest quasi-identifier as long as both sides satisfy the model; what is left over
is a class. Cuts are *strict* (equal vectors stay together, so the recoding is a function of the vector) or *relaxed*
(parts are halved by rows, so classes have k to 2k - 1 of them).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.parameters import EXTENT, NUMERIC, TREES
from indistinct.algorithms.partition.by_loss import Costs, partition_by_loss
from indistinct.algorithms.partition.by_pattern import partition_by_pattern
from indistinct.algorithms.partition.by_workload import partition_by_workload
from indistinct.algorithms.partition.layout import KernelLayout, layout_of, ranks_of, summarize
from indistinct.algorithms.partition.relaxed import halve_by_rounds, halve_by_size
from indistinct.algorithms.partition.strict import Partition, partition_strictly
from indistinct.errors import ParameterError
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Codes
from indistinct.metrics.queries.boxes import boxes_of_workload
from indistinct.metrics.queries.value import check_columns
from indistinct.metrics.queries.workload import Workload
from indistinct.parameters import Parameter, Whole, check_parameters
from indistinct.recoding.kinds import ByRegion, ByRow, Recoding
from indistinct.recoding.summary import Extent, NumericForm, Style, TreeForm
from indistinct.schema import Schema

Choice = Literal["width", "loss"]
Missing = Literal["value", "pattern"]


@dataclass(frozen=True, slots=True)
class Mondrian(Algorithm):
    """Greedy multidimensional partitioning.

    The median may go to either side of a cut, without which the size bound of the paper does not hold. Columns with a
    tree of values are cut into the children of their node. Any model can be the test of a cut.

    `numeric` is the summary statistic of the paper that classes show of numbers and dates: their range as one text
    (`interval`) or as two columns (`bounds`), their `mean`, or both (`interval+mean`). It holds for all columns alike.
    `extent` is the range of the rows of a class, or the region between cuts. With `missing="pattern"` rows are first
    parted by which quasi-identifiers they miss, as far as the model allows; else missing is a value like others.

    Guarantees: every class satisfies the model, no row is suppressed, and no class could be cut once more.
    """

    name: ClassVar[str] = "mondrian"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Ranges that fit parts of the table",
        "Cuts the table into ever smaller groups, along whichever column is widest. Very fast.",
    )
    relaxed: Annotated[
        bool,
        Parameter(
            "Relaxed partitioning",
            "Rows with equal values may fall into different classes; classes become smaller, and the recoding fits "
            "this table only.",
        ),
    ] = False
    extent: Annotated[Extent, EXTENT] = "range"
    numeric: Annotated[NumericForm, NUMERIC] = "interval"
    choose: Annotated[
        Choice,
        Parameter(
            "Choice of the cut",
            "width: the widest column, as published; loss: the cut that loses least, which is slower.",
        ),
    ] = "width"
    positions: Annotated[
        int,
        Parameter(
            "Cuts considered per column",
            "Positions of a cut that choose=loss compares in each column; 5 is usually as good as more.",
            Whole(1, 99),
        ),
    ] = 5
    trees: Annotated[TreeForm, TREES] = "node"
    workload: Annotated[
        Workload | None, Parameter("Workload", "Queries whose error the cuts minimize, read from a file.")
    ] = None
    missing: Annotated[
        Missing,
        Parameter(
            "Missing values",
            "value: missing is a value like others; pattern: rows are first split by which values are missing.",
        ),
    ] = "value"

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.relaxed and self.extent == "region":
            raise ParameterError.of(
                "Mondrian",
                "extent",
                "must be range when it is relaxed: halves by rows have no regions",
                hint="leave out relaxed=true, or extent=region",
            )
        self._check_choice()

    def _check_choice(self) -> None:
        if self.missing == "pattern" and (self.relaxed or self.extent == "region"):
            raise ParameterError.of(
                "Mondrian",
                "missing",
                "must be value when it is relaxed or publishes regions: patterns take strict cuts of their own",
                hint="leave out missing=pattern, or the other one",
            )
        if self.relaxed and self.choose == "loss":
            raise ParameterError.of(
                "Mondrian",
                "choose",
                "must be width when it is relaxed: halves by rows leave nothing to choose",
                hint="leave out relaxed=true, or choose=loss",
            )
        if self.workload is not None and (self.relaxed or self.choose == "loss"):
            raise ParameterError.of(
                "Mondrian",
                "workload",
                "decides every cut: it goes neither with relaxed=true nor with choose=loss",
                hint="leave out the other one",
            )
        if self.trees == "set" and (not self._chooses or self.extent == "region"):
            raise ParameterError.of(
                "Mondrian",
                "trees",
                "can be set only where it chooses by loss or for a workload and publishes ranges",
                hint="use choose=loss,trees=set, or leave trees out",
            )

    @property
    def traits(self) -> AlgorithmTraits:  # type: ignore[override]
        """Relaxed partitioning splits equal vectors, so its recodings fit one table only; regions are not tight."""
        tight = self.extent == "range"
        return AlgorithmTraits(local=True, ranges=True, splits=self.relaxed, reusable=not self.relaxed, tight=tight)

    def require_columns(self, schema: Schema) -> None:
        """Raise for a workload that asks about columns which are not published."""
        for query in self.workload.queries if self.workload is not None else ():
            check_columns(query, schema.published, schema=schema)

    @property
    def weighs_columns(self) -> bool:
        """Whether widths or losses decide, and not queries, which know what they ask for."""
        return self.workload is None

    def by_levels(self) -> Algorithm:
        """Return itself: cuts can be found level by level."""
        return self

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the greedy partition."""
        problem.model.check(problem.whole())
        return self._relaxed(problem) if self.relaxed else self._strict(problem)

    def _strict(self, problem: Problem) -> Recoding:
        layout = layout_of(problem.columns, problem.importance)
        order: Literal["C", "F"] = "C" if self._chooses else "F"
        ranks, classes = (
            ranks_of(problem.columns, problem.frequencies.vectors, order=order),
            problem.frequencies.classes,
        )

        def find(ranks: Codes, classes: Classes) -> Partition:
            return self._partition(problem, layout, ranks, classes)

        if self.missing == "pattern":
            found = partition_by_pattern(problem.columns, ranks, classes, model=problem.model, find=find)
        else:
            found = find(ranks, classes)
        problem.progress(0.7)
        columns, values = summarize(
            problem.columns,
            found.ranks,
            class_ids=found.class_ids,
            counts=found.counts,
            classes=found.cuts.classes,
            style=Style(self.extent, self.numeric, self.trees),
            regions=found.cuts.bounds(layout.sizes) if self.extent == "region" else None,
        )
        return ByRegion(columns, found.cuts, values)

    @property
    def _chooses(self) -> bool:
        """Whether every cut is weighed."""
        return self.choose == "loss" or self.workload is not None

    def _partition(self, problem: Problem, layout: KernelLayout, ranks: Codes, classes: Classes) -> Partition:
        """Return the cuts of some cells."""
        model, counters, in_order = problem.model, problem.counters, self.extent == "region"
        if self.workload is not None:
            return self._by_workload(problem, layout, ranks, classes, self.workload)
        if self.choose == "loss":
            rows = problem.frequencies.rows
            return partition_by_loss(
                ranks,
                classes,
                layout=layout,
                costs=Costs.of(problem.columns, layout, rows=rows, trees=self.trees, in_order=in_order),
                model=model,
                positions=self.positions,
                counters=counters,
            )
        return partition_strictly(ranks, classes, layout=layout, model=model, counters=counters)

    def _by_workload(
        self, problem: Problem, layout: KernelLayout, ranks: Codes, classes: Classes, workload: Workload
    ) -> Partition:
        names = [column.name for column in problem.columns]
        if not any(name in names for name in workload.columns):
            raise ParameterError(
                "no query of the workload asks for a quasi-identifier",
                hint=f"a cut can serve conditions on {', '.join(names)}",
            )
        return partition_by_workload(
            ranks,
            classes,
            columns=problem.columns,
            layout=layout,
            boxes=boxes_of_workload(workload, [column.domain for column in problem.columns]),
            trees=self.trees,
            in_order=self.extent == "region",
            model=problem.model,
            counters=problem.counters,
        )

    def _relaxed(self, problem: Problem) -> Recoding:
        frequencies, model = problem.frequencies, problem.model
        layout, ranks = layout_of(problem.columns, problem.importance), ranks_of(problem.columns, frequencies.vectors)
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
