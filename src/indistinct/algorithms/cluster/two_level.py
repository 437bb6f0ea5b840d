"""Two-level clustering (Verma 2013).

Small clusters are grouped at one lift after another, without pairwise distances.

A *lift* generalizes every column to a level of its hierarchy. Cells that are not yet in a class are grouped by their
values at the lift; groups that satisfy the model become classes, each published as the closest common generalization of
its members, and the others wait for the next lift. The work is group-bys on fewer and fewer cells.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal, cast

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.cluster import _roll_up_kernels as _kernels
from indistinct.algorithms.cluster.leftovers import attach
from indistinct.algorithms.cluster.refine_charges import at_level
from indistinct.algorithms.cluster.tree_space import ClusterSpace, recoding_of, traits_of_joining
from indistinct.algorithms.parameters import BETA, METRIC, SCHEME, STUB
from indistinct.errors import ParameterError
from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes, Floats, starts_of
from indistinct.metrics.base import CellMetric
from indistinct.metrics.loss import Distortion, Scheme
from indistinct.metrics.registry import parse_metric
from indistinct.metrics.weighted import weigh_metric
from indistinct.parameters import Parameter, check_parameters
from indistinct.recoding.kinds import Recoding

Rule = Literal["cheapest", "literal"]
LevelCosts = tuple[Codes | Floats, ...]
# A lattice has a lift for every combination of levels; of more than this number, the cheapest are tried.
LIFT_LIMIT = 1 << 14
# LIFTS_PER_REPORT: lifts between two reports of progress. MAX_CELL_LIFTS: cells × lifts after which the remaining lifts
# are skipped, about ten seconds. COST_OF_MODEL: how many times longer a grouping takes where a model judges it.
LIFTS_PER_REPORT, MAX_CELL_LIFTS, COST_OF_MODEL = 1 << 10, 1 << 30, 16
BITS_PER_WORD = 64
METRICS = ("gcp", "ncp", "loss", "iloss", "distortion", "precision")
"""The metrics that are sums over cells, which local search can minimize."""


@dataclass(frozen=True, slots=True)
class TwoLevel(Algorithm):
    """Two-level clustering: local recoding by group-bys alone.

    `rule` says which lifts are tried. "literal" follows the thesis: first within outer clusters (level 1), then across,
    one column after the other and never back, the cheapest step first. "cheapest" tries every combination of levels in
    ascending cost, so that every cell joins the cheapest group in which it is not alone; it loses less.
    `metric` gives the cost of a level: distortion, with `scheme` and `beta`, or the average charge of another metric of
    cells. With `stub`, leftovers take only the rows that they need from their nearest class.

    Guarantees: every class satisfies the model, no row is suppressed, cells that satisfy it alone stay unmodified
    unless leftovers join them.

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
    >>> ages = {"age": ind.Hierarchy.intervals([10, 20])}
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=ind.TwoLevel(), hierarchies=ages)
    >>> release.classes().to_pylist()
    [{'age': '20-29', 'rows': 3}, {'age': '40-49', 'rows': 3}]
    """

    name: ClassVar[str] = "two-level"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Each lifted as far as needed",
        "Lifts each person only as far as company is found. Fast, and good with hierarchies.",
    )
    rule: Annotated[Rule, Parameter("Order of lifts", "cheapest loses less; literal is as published.")] = "cheapest"
    scheme: Annotated[Scheme, SCHEME] = "uniform"
    beta: Annotated[float, BETA] = 1.0
    stub: Annotated[bool, STUB] = False
    metric: Annotated[str, METRIC] = "distortion"

    def __post_init__(self) -> None:
        check_parameters(self)
        cell_metric(self.metric)

    @property
    def traits(self) -> AlgorithmTraits:  # type: ignore[override]
        """With `stub`, rows with equal values may be split, so that recodings fit one table only."""
        return traits_of_joining(stub=self.stub)

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the clusters."""
        space = ClusterSpace(problem, scheme=self.scheme, beta=self.beta)
        self.require_whole(problem)
        metric = weigh_metric(cell_metric(self.metric), problem.importance, problem.frequencies.names)
        class_ids = roll_up(space, lifts_of(level_costs(space, metric), self.rule))
        problem.progress(0.8)
        pieces = attach(space, class_ids, stub=self.stub, together=self.rule == "literal")
        problem.progress(1.0)
        return recoding_of(space, pieces, by_row=self.stub)


def level_costs(space: ClusterSpace, metric: CellMetric) -> LevelCosts:
    """Return the cost per row of each level of each column: exact for distortion, an average for other metrics."""
    if isinstance(metric, Distortion):
        metric.importance.check([column.name for column in space.columns])
        weights = [metric.importance.of(column.name) for column in space.columns]
        return tuple(w * cost for w, cost in zip(weights, space.cost, strict=True)) if metric.importance else space.cost
    counts, column_costs = space.problem.frequencies.counts, []
    for index, column in enumerate(space.columns):
        rows = np.bincount(space.problem.frequencies.vectors[:, index], weights=counts, minlength=len(column.domain))
        height = 0 if column.taxonomy is None else column.taxonomy.height
        paid = [metric.charge(at_level(column, level)) @ rows[column.by_rank] for level in range(height + 1)]
        column_costs.append(np.array(paid) / rows.sum())
    return tuple(column_costs)


def lifts_of(costs: LevelCosts, rule: Rule) -> Codes:
    """Return the lifts to try in order: a row for each, with a level for each column; the last one is the top."""
    return cumulative_lifts(costs) if rule == "literal" else cheapest_lifts(costs)


def cumulative_lifts(costs: LevelCosts) -> Codes:
    """Return the lifts of the thesis; a lift is the level to which each column is generalized.

    They ascend level by level: each raises one more column to the level, the cheapest step first.
    """
    lift, lifts = [0] * len(costs), [[0] * len(costs)]
    for level in range(1, max(len(cost) for cost in costs)):
        steps = [(cost[level] - cost[level - 1], j) for j, cost in enumerate(costs) if level < len(cost)]
        for _, column in sorted(steps):
            lift[column] = level
            lifts.append(list(lift))
    return np.array(lifts[1:] or lifts, dtype=np.int32)


def cheapest_lifts(costs: LevelCosts, limit: int = LIFT_LIMIT) -> Codes:
    """Return lifts in ascending cost (ties: lower levels of early columns), all or the first and a way up."""
    shape = [len(cost) for cost in costs]
    if np.prod(shape, dtype=np.float64) > limit:
        return np.concatenate([_first_lifts(costs, limit), cumulative_lifts(costs)])
    lifts = np.indices(shape, dtype=np.int32).reshape(len(shape), -1).T
    paid = np.sum([cost[lifts[:, j]] for j, cost in enumerate(costs)], axis=0)
    return np.ascontiguousarray(lifts[np.argsort(paid, kind="stable")][1:] if len(lifts) > 1 else lifts)


def _first_lifts(costs: LevelCosts, limit: int) -> Codes:
    """Return the cheapest lifts of a lattice that is too large to list."""
    lifts_so_far: list[tuple[int, ...]] = []
    # Each lift is generated from exactly one other: the one with its last raised column one level lower.
    ahead: list[tuple[float, tuple[int, ...], int]] = [(0, (0,) * len(costs), 0)]
    dearest = [-math.inf] * limit + [0.0]  # a heap of negative costs, of the cheapest lifts only
    steps = [np.diff(cost).tolist() for cost in costs]
    while ahead and len(lifts_so_far) <= limit:
        paid, lift, last = heapq.heappop(ahead)
        lifts_so_far.append(lift)
        for column in range(last, len(costs)):
            if lift[column] < len(steps[column]):
                price = paid + steps[column][lift[column]]
                if price <= -dearest[0]:
                    heapq.heapreplace(dearest, -price)
                    higher = (*lift[:column], lift[column] + 1, *lift[column + 1 :])
                    heapq.heappush(ahead, (price, higher, column))
    return np.array(lifts_so_far[1:], dtype=np.int32)


def roll_up(space: ClusterSpace, lifts: Codes, *, by_size: bool | None = None) -> Codes:
    """Return a label for every cell, equal inside a class; -1 for cells whose group satisfied the model at no lift.

    Where sizes decide, a kernel compares them, unless `by_size` is False. Once the limit of work is reached, the
    remaining lifts are skipped except the last ones, which lead to the top.
    """
    problem = space.problem
    by_size = problem.model.traits.sizes_only if by_size is None else by_size
    broken = problem.model.violations(problem.frequencies.classes)
    class_ids = np.where(broken, -1, np.arange(len(broken)))
    group = _by_size(space, class_ids) if by_size else partial(_by_model, space, class_ids)
    position, work, last = 0, 0, len(lifts) - sum(len(tree.above) - 1 for tree in space.trees)
    while position < len(lifts):
        some = lifts[position : position + LIFTS_PER_REPORT]
        work += int(np.count_nonzero(class_ids < 0)) * len(some) * (1 if by_size else COST_OF_MODEL)
        tried = group(some)
        problem.counters["rollups"] += tried
        if tried < len(some):
            break
        position = max(position + LIFTS_PER_REPORT, last if work > MAX_CELL_LIFTS else 0)
        problem.progress(0.8 * min(position / len(lifts), 1.0))
    return class_ids


def _by_size(space: ClusterSpace, class_ids: Codes) -> Callable[[Codes], int]:
    """Return a function that labels cells at some lifts and returns how many lifts it tried."""
    words, offsets = _words(space)
    widths = np.array([len(tree) for tree in space.trees], dtype=np.int64)
    leaves, sizes = np.ascontiguousarray(space.cells), space.problem.frequencies.counts.astype(np.int64)
    smallest = space.problem.model.smallest
    return lambda some: int(_kernels.roll_up_by_size(leaves, sizes, words, offsets, widths, some, smallest, class_ids))


def _by_model(space: ClusterSpace, class_ids: Codes, lifts: Codes) -> int:
    """Label cells at some lifts, for any model, and return how many lifts were tried."""
    problem, classes = space.problem, space.problem.frequencies.classes
    pending = np.flatnonzero(class_ids < 0)
    for tried, lift in enumerate(lifts):
        if classes.sizes[pending].sum() < problem.model.smallest:
            return tried
        groups, owners = _groups_at(space, pending, lift)
        enough = np.bincount(groups, weights=classes.sizes[pending]) >= problem.model.smallest
        if enough.any():
            chosen = np.where(enough, np.cumsum(enough) - 1, -1)[groups]
            merged = classes.take(pending).regroup(chosen, int(enough.sum()))
            problem.counters["checks"] += len(merged)
            enough[enough] = ~problem.model.violations(merged)
            class_ids[pending[enough[groups]]] = owners[groups[enough[groups]]]
            pending = pending[~enough[groups]]
    return len(lifts)


def _groups_at(space: ClusterSpace, pending: Codes, lift: Codes) -> tuple[Codes, Codes]:
    """Return the group of every pending cell at a lift, and the first cell of every group."""
    leaves = space.cells[pending]
    nodes = [tree.above[lift[j], leaves[:, j]] for j, tree in enumerate(space.trees)]
    grouping = group_rows(nodes, [len(tree) for tree in space.trees])
    groups, owners = grouping.group_ids(), np.full(len(grouping), len(space.cells))
    np.minimum.at(owners, groups, pending)
    return groups, owners


def _words(space: ClusterSpace) -> tuple[Codes, Codes]:
    """Return for each column, level and leaf its summand of a group's number, and where columns begin.

    Where the numbers do not fit 64 bits, odd multipliers replace strides. Groups that then share a number by chance
    become one class, published as what they have in common.
    """
    stride, parts = 1, []
    for index, tree in enumerate(space.trees):
        if (stride * len(tree)).bit_length() > BITS_PER_WORD:
            stride = int(np.random.default_rng(index).integers(1 << 62, 1 << 63)) | 1
        parts.append((tree.above.astype(np.uint64) * np.uint64(stride)).ravel())
        stride *= len(tree)
    return np.concatenate(parts), starts_of([len(part) for part in parts])[:-1]


def cell_metric(text: str) -> CellMetric:
    """Return the metric of a text; raise `ParameterError` unless local search can minimize it."""
    metric = parse_metric(text)
    if metric.name not in METRICS:
        raise ParameterError(
            f"a local search cannot lower {metric.name}, which is no sum over cells", hint=f"use {', '.join(METRICS)}"
        )
    return cast("CellMetric", metric)
