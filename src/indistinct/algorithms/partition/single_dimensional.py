"""Single-dimensional partitioning: every column has its own cuts, the same for all rows (LeFevre et al. 2006, 2005).

The baseline that multidimensional partitioning is compared with: greedy, or the proven optimum of Bayardo and Agrawal
(2005).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np

from indistinct.algorithms.base import ONE_COLUMN, Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.explanation import Attempt, Explanation, Proof
from indistinct.algorithms.parameters import EXTENT, NODE_LIMIT, NUMERIC, TIME_LIMIT
from indistinct.algorithms.partition.layout import ranks_of, summarize
from indistinct.algorithms.partition.single_dimensional_greedy import (
    cuts_of_segments,
    find_greedy_cuts,
    free_cuts,
    segment_cuts,
)
from indistinct.algorithms.partition.single_dimensional_optimal import CutSpace, find_optimal_cuts
from indistinct.errors import ParameterError
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.value import Classes
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.arrays import Codes, Mask, starts_of
from indistinct.models.base import Model
from indistinct.parameters import Parameter, check_parameters
from indistinct.recoding.columns import INTERVALS, NumericForms, QuasiColumn
from indistinct.recoding.kinds import ByColumn, RecodedColumn, Recoding
from indistinct.recoding.summary import Extent, Style
from indistinct.text_form import spell

SearchForm = Literal["greedy", "optimal"]
# Nodes after which a search for the optimum is stopped unless others are asked for.
DEFAULT_NODES = 100_000


@dataclass(frozen=True, slots=True)
class SingleDimensional(Algorithm):
    """Single-dimensional partitioning: cut each column into ranges that apply to all rows.

    The greedy search repeatedly takes the allowable cut with the largest decrease of discernibility (ties: column
    order, smaller value). A cut is allowable if it splits no class into two so that one violates the model. The answer
    is no worse than the best for any single one of up to eight columns.

    With `search="optimal"` the cuts have the smallest discernibility of all, rows being suppressed within the
    suppression limit. That search is stopped after `nodes` nodes (0 sets no limit) or after `seconds`, and then returns
    the best cuts so far. The explanation of the release, and the counters `proven`, `bound`, `gap` and `nodes`, say how
    good they are at least. `exact` is the same for one column, whose optimum needs no enumeration; it refuses several.

    `extent` and `numeric` are those of `Mondrian`: of numbers and dates segments show their range (`interval`,
    `bounds`), their `mean`, or both (`interval+mean`).

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
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=ind.SingleDimensional())
    >>> release.classes().to_pylist()
    [{'age': '[21-23]', 'rows': 3}, {'age': '[41-44]', 'rows': 3}]
    """

    name: ClassVar[str] = "single-dimensional"
    spelled: ClassVar[tuple[str, ...]] = ("numeric",)
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Ranges that are the same for everybody", "Cuts each column into ranges which are the same for everybody."
    )
    search: Annotated[
        SearchForm, Parameter("Search", "greedy takes n log n; optimal is proven, and may take very long.")
    ] = "greedy"  # type: ignore[assignment]
    exact: Annotated[
        bool, Parameter("Optimum of one column", "Find the proven optimum for a single quasi-identifier; quick.")
    ] = field(default=False, metadata={ONE_COLUMN: True})
    nodes: Annotated[int, NODE_LIMIT] = DEFAULT_NODES
    seconds: Annotated[float | None, TIME_LIMIT] = None
    extent: Annotated[Extent, EXTENT] = "range"
    numeric: Annotated[NumericForms, NUMERIC] = INTERVALS

    def __post_init__(self) -> None:
        check_parameters(self)
        for limit, is_set in (("nodes", self.nodes != DEFAULT_NODES), ("seconds", self.seconds is not None)):
            if is_set and self.search != "optimal":
                raise ParameterError.of(
                    "SingleDimensional",
                    limit,
                    "limits the search for the optimum alone",
                    hint="add search=optimal, or leave it out",
                )

    @property
    def traits(self) -> AlgorithmTraits:  # type: ignore[override]
        """The optimum is proven unless a limit stops it, needs a monotone model, and uses the suppression limit."""
        unlimited, optimal = self.exact or (self.nodes == 0 and self.seconds is None), self._optimal
        return AlgorithmTraits(
            optimal=optimal and unlimited,
            monotone=optimal,
            suppresses=optimal,
            ranges=True,
            tight_columns=self.extent == "range",
        )

    @property
    def weighs_columns(self) -> bool:
        """Always False: classes cost by their size, whichever columns were cut."""
        return False

    @property
    def _optimal(self) -> bool:
        return self.exact or self.search == "optimal"

    @with_checked_arguments
    def find(self, problem: Problem) -> Recoding:
        """Return the recoding of the cuts found."""
        if self.exact and len(problem.columns) > 1:
            raise ParameterError.of(
                "SingleDimensional",
                "exact",
                f"is for one quasi-identifier; there are {len(problem.columns)}",
                hint="search=optimal is for any number of them, and may take very long",
            )
        problem.model.check(problem.whole())
        ranks = ranks_of(problem.columns, problem.frequencies.vectors).astype(np.int64)
        if self._optimal:
            return self._search_optimum(problem, ranks)
        return _recoding(problem, ranks, find_greedy_cuts(ranks, problem), Style(self.extent, self.numeric))

    def _search_optimum(self, problem: Problem, ranks: Codes) -> Recoding:
        """Search the optimal cuts, with suppression if the model allows it."""
        traits = problem.model.traits
        allowed = min(problem.suppression, problem.frequencies.members - 1)
        budget = allowed if traits.stable and traits.suppressible else 0
        if budget and self.numeric.has_means:
            raise ParameterError.of(
                "SingleDimensional",
                "numeric",
                f"must be interval or bounds where rows may be suppressed; got {self.numeric}",
                hint="a mean would depend on rows that are not published",
            )
        if len(problem.columns) == 1 and not budget:
            cuts, proof, greedy = *_best_segments(problem, ranks), None
        else:
            greedy = find_greedy_cuts(ranks, problem)
            cuts, proof = self._enumerate(problem, ranks, greedy, budget)
        problem.progress(0.7)
        class_ids = _class_ids(ranks, cuts)
        classes = problem.frequencies.classes.regroup(class_ids, int(class_ids.max()) + 1)
        dropped = problem.model.violations(classes) if budget else np.zeros(len(classes), dtype=bool)
        kept = np.where(dropped[class_ids], -1, class_ids)
        cuts = [cut | free_cuts(ranks[:, j], kept, size=len(cut)) for j, cut in enumerate(cuts)]
        self._explain(problem, classes, dropped, proof, None if greedy is None else _class_ids(ranks, greedy))
        # A range as tight as its rows would reveal values of rows that are not published.
        extent: Extent = "region" if dropped.any() else self.extent
        return _recoding(problem, ranks, cuts, Style(extent, self.numeric, "set"), dropped[class_ids])

    def _enumerate(self, problem: Problem, ranks: Codes, greedy: list[Mask], budget: int) -> tuple[list[Mask], Proof]:
        """Return the best cuts of several columns; only cuts between occurring values are considered."""
        values, dense = zip(*(np.unique(own, return_inverse=True) for own in ranks.T), strict=True)
        space = CutSpace.of(np.stack(dense, axis=1), problem.frequencies.classes, problem.model, budget=budget)
        seed = [np.diff(starts_of(cut)[own]) > 0 for own, cut in zip(values, greedy, strict=True)]
        nodes = self.nodes or math.inf
        made, proof = find_optimal_cuts(space, [np.concatenate(seed)], nodes=nodes, seconds=self.seconds)
        cuts = [np.zeros(len(column.domain), dtype=bool) for column in problem.columns]
        for j, own in enumerate(np.split(made, space.bases[1:-1])):
            cuts[j][values[j][:-1][own]] = True
        return cuts, proof

    def _explain(self, problem: Problem, classes: Classes, dropped: Mask, proof: Proof, greedy: Codes | None) -> None:
        """Report how good the answer is, and what the greedy one costs."""
        problem.counters.update(nodes=proof.nodes, proven=int(proof.proven))
        problem.counters["bound"], problem.counters["gap"] = proof.bound, proof.gap  # type: ignore[assignment]
        name, rows = spell(self), int(classes.sizes[dropped].sum())
        attempts = [Attempt(name, proof.best, int((~dropped).sum()), rows)]
        if greedy is not None:
            sizes = np.bincount(greedy, weights=problem.frequencies.counts).astype(np.int64)
            attempts.append(Attempt(self.name, int(sizes @ sizes), len(sizes)))
        problem.explain(Explanation("discernibility", "min", name, proof.best, tuple(attempts), {}, proof=proof))


def _class_ids(ranks: Codes, cuts: list[Mask]) -> Codes:
    """Return the class of every cell between cuts."""
    intervals = [starts_of(cut)[:-1] for cut in cuts]
    columns = [own[ranks[:, j]].astype(np.uint32) for j, own in enumerate(intervals)]
    return group_rows(columns, [int(own[-1]) + 1 for own in intervals]).group_ids()


def _best_segments(problem: Problem, ranks: Codes) -> tuple[list[Mask], Proof]:
    """Return the cuts of one column with the smallest sum of squared class sizes, by dynamic programming."""
    cuts = segment_cuts(ranks, problem) if problem.model.traits.sizes_only else None
    if cuts is None:
        # With one column the cells are its values in code order, which is rank order unless it is cut as a tree.
        order = np.argsort(ranks[:, 0])
        classes, running = problem.frequencies.classes.take(order), starts_of(problem.frequencies.counts[order])
        last = segments_by_rounds(classes, running, problem.model, progress=problem.progress)[0]
        cuts = cuts_of_segments(ranks[order, 0], last, size=len(problem.columns[0].domain))
    sizes = np.bincount(_class_ids(ranks, [cuts]), weights=problem.frequencies.counts).astype(np.int64)
    best = int(sizes @ sizes)
    return [cuts], Proof(best, best, len(ranks))


def segments_by_rounds(
    classes: Classes, running: Codes, model: Model, *, progress: Callable[[float], None] = lambda share: None
) -> tuple[Codes, bool]:
    """Return for every end where its last segment begins, and whether the segments can cover all values.

    Every segment is judged by the model, so that time is quadratic in the number of values.
    """
    size = len(classes)
    cost, last = np.full(size + 1, np.inf), np.zeros(size + 1, dtype=np.int64)
    cost[0] = 0
    for stop in range(1, size + 1):
        fits = _segments_fit(classes, running, stop, model)
        total = np.where(fits, cost[:stop] + (running[stop] - running[:stop]).astype(np.float64) ** 2, np.inf)
        # The earliest start wins ties, which gives the fewest classes.
        last[stop] = int(np.argmin(total))
        cost[stop] = total[last[stop]]
        progress(0.7 * stop / size)
    return last, bool(np.isfinite(cost[size]))


def _segments_fit(classes: Classes, running: Codes, stop: int, model: Model) -> Mask:
    """Return which segments `start:stop` satisfy the model, for every start."""
    fits = running[stop] - running[:stop] >= model.smallest
    if model.traits.sizes_only or not fits.any():
        return fits
    starts = np.flatnonzero(fits)
    sizes = stop - starts
    bases = starts_of(sizes)
    members = np.arange(bases[-1]) - np.repeat(bases[:-1] - starts, sizes)
    segments = classes.take(members).regroup(np.repeat(np.arange(len(starts)), sizes).astype(np.int32), len(starts))
    fits[starts] = ~model.violations(segments)
    return fits


def _recoding(problem: Problem, ranks: Codes, cuts: list[Mask], style: Style, dropped: Mask | None = None) -> Recoding:
    """Return the recoding that publishes, for each column, the interval between two cuts.

    `dropped` cells are suppressed.
    """
    recoded = [
        _interval_column(column, starts_of(cut)[:-1].astype(np.int32), ranks[:, j], problem.frequencies.counts, style)
        for j, (column, cut) in enumerate(zip(problem.columns, cuts, strict=True))
    ]
    columns, groups = zip(*recoded, strict=True)
    vectors = problem.frequencies.vectors[np.zeros(len(ranks), dtype=bool) if dropped is None else dropped]
    published = [group[vectors[:, j]] for j, group in enumerate(groups)]
    return ByColumn(columns, groups, np.unique(np.stack(published, axis=1).astype(np.int32), axis=0))


def _interval_column(
    column: QuasiColumn, interval: Codes, ranks: Codes, counts: Codes, style: Style
) -> tuple[RecodedColumn, Codes]:
    """Summarize the intervals of one column."""
    if column.tree and style.trees == "set":  # intervals with the same label would be one
        style = Style("range", style.numeric, "set")
    grouping = group_rows([ranks], [len(column.domain)])
    present = ranks[grouping.first]
    rows = np.add.reduceat(counts[grouping.order], grouping.starts[:-1])
    low = np.searchsorted(interval, np.arange(interval[-1] + 1))
    high = np.searchsorted(interval, np.arange(interval[-1] + 1), side="right") - 1
    (assignment,), values = summarize(
        (column,),
        present[:, None],
        class_ids=interval[present],
        counts=rows,
        classes=int(interval[-1]) + 1,
        style=style,
        regions=(low[:, None].astype(np.int32), high[:, None].astype(np.int32)),
    )
    return assignment, values[interval[column.ranks], 0]
