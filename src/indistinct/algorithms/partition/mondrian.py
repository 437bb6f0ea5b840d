"""Mondrian: greedy multidimensional partitioning (LeFevre, DeWitt, Ramakrishnan 2006).

A part is cut at the median of its widest quasi-identifier as long as both sides satisfy the model; what is left over
is a class. Cuts are *strict* (equal vectors stay together, so the recoding is a function of the vector) or *relaxed*
(parts are halved by rows, so classes have k to 2k - 1 of them).
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem, fewest_rows
from indistinct.algorithms.parameters import EXTENT, NUMERIC, TREES
from indistinct.algorithms.partition.by_depth import DepthSearch, partition_by_depth
from indistinct.algorithms.partition.by_loss import Costs, LossSearch
from indistinct.algorithms.partition.by_pattern import partition_by_pattern
from indistinct.algorithms.partition.by_target import search_by_target
from indistinct.algorithms.partition.by_workload import WholeTable, partition_by_workload
from indistinct.algorithms.partition.layout import KernelLayout, Partition, layout_of, ranks_of, summarize
from indistinct.algorithms.partition.relaxed import halve_by_rounds, halve_by_size
from indistinct.algorithms.partition.strict import partition_strictly
from indistinct.errors import ParameterError, SchemaError, did_you_mean
from indistinct.frequencies.value import Classes, Key
from indistinct.machine.arrays import Codes
from indistinct.metrics.queries.value import check_columns
from indistinct.metrics.queries.workload import Workload, boxes_of_workload
from indistinct.parameters import Parameter, SeveralTexts, Whole, check_parameters
from indistinct.recoding.columns import INTERVALS, NumericForms
from indistinct.recoding.kinds import ByRegion, ByRow, Recoding
from indistinct.recoding.summary import Extent, Style, TreeForm
from indistinct.schema import Schema

Choice = Literal["width", "loss", "information-gain", "variance"]
Missing = Literal["value", "pattern"]


@dataclass(frozen=True, slots=True)
class Mondrian(Algorithm):
    """Greedy multidimensional partitioning: cut the table for as long as every part satisfies the model.

    Each part of the table is cut in two at the median of its widest column, as long as both sides satisfy the model
    (LeFevre, DeWitt and Ramakrishnan 2006). It is fast, suppresses no row, and publishes ranges such as [31-36] that
    fit each class. Columns with a hierarchy of categories are cut into the children of their node.

    `choose` selects other cuts. ``loss`` compares cuts by information loss: it is slower, and loses less.
    ``information-gain`` and ``variance`` keep the `target` predictable: a published column, or several (LeFevre, DeWitt
    and Ramakrishnan 2008). `numeric` is the form of numbers and dates in a class: one for all columns, or a mapping
    such as ``{"age": "mean"}``. With ``missing="pattern"`` rows are first divided by the columns that they lack, as far
    as the model allows.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 41, 42, 44], "disease": ["flu", "cold", "flu", "cold", "flu", "cold"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=ind.Mondrian())
    >>> release.classes().to_pylist()
    [{'age': '[21-23]', 'rows': 3}, {'age': '[41-44]', 'rows': 3}]
    """

    name: ClassVar[str] = "mondrian"
    spelled: ClassVar[tuple[str, ...]] = ("numeric", "target")
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
    numeric: Annotated[NumericForms, NUMERIC] = INTERVALS
    choose: Annotated[
        Choice,
        Parameter(
            "Choice of the cut",
            "width: the widest column, as published; loss: the cut that loses least, which is slower; "
            "information-gain: the cut after which the target is least mixed; variance: the same for numbers.",
        ),
    ] = "width"
    target: Annotated[
        tuple[str, ...],
        Parameter(
            "Target",
            "Column, or columns, that the release should help to predict; by default the target of the job.",
            SeveralTexts("the name of a column, or several"),
        ),
    ] = ()
    positions: Annotated[
        int,
        Parameter(
            "Cuts considered per column",
            "Positions of a cut that are compared in each column where cuts are weighed; 5 is usually as good as more.",
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
        """Raise `ParameterError` where parameters contradict each other."""
        if self.missing == "pattern" and (self.relaxed or self.extent == "region"):
            raise ParameterError.of(
                "Mondrian",
                "missing",
                "must be value when it is relaxed or publishes regions: patterns take strict cuts of their own",
                hint="leave out missing=pattern, or the other one",
            )
        if self.relaxed and self.choose != "width":
            raise ParameterError.of(
                "Mondrian",
                "choose",
                "must be width when it is relaxed: halves by rows leave nothing to choose",
                hint=f"leave out relaxed=true, or choose={self.choose}",
            )
        if self.workload is not None and (self.relaxed or self.choose != "width"):
            raise ParameterError.of(
                "Mondrian",
                "workload",
                f"decides every cut: it goes neither with relaxed=true nor with choose={self.choose}",
                hint="leave out the other one",
            )
        if self.target and not self.predicts:
            raise ParameterError.of(
                "Mondrian",
                "target",
                f"is not looked at where choose={self.choose}",
                hint="add choose=information-gain, or choose=variance for numbers",
            )
        if self.trees == "set" and (not self.weighs_cuts or self.extent == "region"):
            raise ParameterError.of(
                "Mondrian",
                "trees",
                "can be set only where cuts are weighed (by loss, for a workload, by a target) and ranges published",
                hint="use choose=loss,trees=set, or leave trees out",
            )

    @property
    def traits(self) -> AlgorithmTraits:  # type: ignore[override]
        """Relaxed partitioning splits equal vectors, so that its recodings fit one table only.

        Regions are not tight.
        """
        tight = self.extent == "range"
        return AlgorithmTraits(local=True, ranges=True, splits=self.relaxed, reusable=not self.relaxed, tight=tight)

    def require_columns(self, schema: Schema) -> None:
        """Raise `SchemaError` for a workload about columns that are not published."""
        for query in self.workload.queries if self.workload is not None else ():
            check_columns(query, schema.published, schema=schema)
        self._require_target()
        for name in self.target:
            if name not in schema.published:
                raise SchemaError(
                    f"column {name!r} is to be predicted, but no release shows it",
                    hint=did_you_mean(name, schema.published) or f"published: {', '.join(schema.published)}",
                )

    def _require_target(self) -> None:
        """Raise if the choice of cuts needs a target and none is given."""
        if self.predicts and not self.target:
            raise ParameterError.of(
                "Mondrian",
                "target",
                f"is needed where choose={self.choose}: the column that the release should help to predict",
                hint="name it, such as target=income, or give the job a target",
            )

    @property
    def predicts(self) -> bool:
        """Whether cuts are chosen by targets."""
        return self.choose in ("information-gain", "variance")

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histograms of the targets."""
        return tuple((name,) for name in self.target)

    def with_target(self, target: str | None) -> Algorithm:
        """Return the search with the target of a job, unless it has its own or needs none."""
        if target is None or self.target or not self.predicts:
            return self
        return replace(self, target=(target,))

    @property
    def weighs_columns(self) -> bool:
        """Whether attribute weights matter: widths or losses decide, and not queries or targets."""
        return self.workload is None and not self.predicts

    def by_passes(self) -> Algorithm:
        """Return itself: it can find cuts by passes over rows."""
        return self

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the greedy partition."""
        self._require_target()
        problem.model.check(problem.whole())
        return self._relaxed(problem) if self.relaxed else self._strict(problem)

    def _strict(self, problem: Problem) -> Recoding:
        """Partition strictly: equal cells stay in one class."""
        layout = layout_of(problem.columns, problem.importance)
        order: Literal["C", "F"] = "C" if self.weighs_cuts else "F"
        ranks, classes = (
            ranks_of(problem.columns, problem.frequencies.vectors, order=order),
            problem.frequencies.classes,
        )

        def find(ranks: Codes, classes: Classes) -> Partition:
            return self._partition(problem, layout, ranks, classes)

        if self.missing == "pattern":
            partition = partition_by_pattern(problem.columns, ranks, classes, model=problem.model, find=find)
        else:
            partition = find(ranks, classes)
        problem.progress(0.7)
        columns, values = summarize(
            problem.columns,
            partition.ranks,
            class_ids=partition.class_ids,
            counts=partition.counts,
            classes=partition.cuts.classes,
            style=Style(self.extent, self.numeric, self.trees),
            regions=partition.cuts.bounds(layout.sizes) if self.extent == "region" else None,
        )
        return ByRegion(columns, partition.cuts, values)

    @property
    def weighs_cuts(self) -> bool:
        """Whether every cut is weighed, instead of cutting at medians."""
        return self.choose != "width" or self.workload is not None

    def _partition(self, problem: Problem, layout: KernelLayout, ranks: Codes, classes: Classes) -> Partition:
        """Return the partition of these cells."""
        if not self.weighs_cuts:
            return partition_strictly(ranks, classes, layout=layout, model=problem.model, counters=problem.counters)
        return self.partition_cells(problem, layout, ranks, classes, rows=problem.frequencies.rows)

    def partition_cells(
        self,
        problem: Problem,
        layout: KernelLayout,
        ranks: Codes,
        classes: Classes,
        *,
        rows: int,
        fits: int = 0,
        whole: WholeTable | None = None,
    ) -> Partition:
        """Return the partition of some cells with weighed cuts; `rows` is the number of rows of the whole table.

        Parts of at most `fits` rows are not divided. `whole` has the workload's counts in the whole table, None if the
        cells are the whole table.
        """
        in_order = self.extent == "region"  # regions need cuts along ranks
        if self.workload is not None:
            return self._by_workload(problem, layout, ranks, classes, self.workload, in_order=in_order, whole=whole)
        costs = Costs.of(problem.columns, layout, rows=rows, trees=self.trees, in_order=in_order)
        losses = LossSearch(costs, layout, fewest_rows(problem.model), self.positions)
        search: DepthSearch = losses
        if self.choose in ("information-gain", "variance"):
            search = search_by_target(self.choose, self.target, problem, ranks, classes, losses)
        return partition_by_depth(
            search, ranks, classes, layout=layout, model=problem.model, counters=problem.counters, fits=fits
        )

    def _by_workload(
        self,
        problem: Problem,
        layout: KernelLayout,
        ranks: Codes,
        classes: Classes,
        workload: Workload,
        *,
        in_order: bool,
        whole: WholeTable | None,
    ) -> Partition:
        """Partition by the error of a workload of queries."""
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
            in_order=in_order,
            model=problem.model,
            counters=problem.counters,
            whole=whole,
        )

    def _relaxed(self, problem: Problem) -> Recoding:
        """Partition in halves: equal rows may go to different classes."""
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
