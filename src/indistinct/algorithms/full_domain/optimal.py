"""The best node of the lattice under any metric, proven.

As in OLA (El Emam et al. 2009) and Flash (Kohlmayer et al. 2012), a node is counted only while its lower bound is
better than the best score so far. A counted node gives a lower bound of the rows that all its specializations suppress.
That raises their bounds, or rules them out where it exceeds the suppression limit. Chains from the most promising node
to the top are searched by bisection, so that few counts rule out many nodes. The conclusions depend on the model's
traits:

- absorbing: a class that satisfies the model still does when rows join. Hence a class that breaks it consists of
classes of the finer node that all break it, and all its rows are suppressed there too.
- monotone, and no row may be suppressed: if every finer class satisfied the model, so would their union.
- monotone: the rows that a finer node keeps of a class are a union of satisfying classes, and so satisfy the model. So
at least as many rows are suppressed as must leave the class before the rest can satisfy it: `Model.inevitable`. Classes
share no rows, so these numbers add up.
- otherwise nothing follows.
"""

import math
import time
from dataclasses import dataclass
from itertools import product
from typing import Annotated, ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.full_domain import _kernels
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.algorithms.full_domain.objective import (
    CellObjective,
    EntropyObjective,
    Objective,
    SizeObjective,
    objective_of,
)
from indistinct.algorithms.parameters import METRIC, TIME_LIMIT
from indistinct.errors import InfeasibleError, ParameterError
from indistinct.frequencies.lattice import Node, RolledUp, down_set, up_set
from indistinct.frequencies.value import Key
from indistinct.machine.arrays import Codes, Floats, Mask
from indistinct.machine.randomness import Secret
from indistinct.machine.threads import spread
from indistinct.metrics.base import Metric
from indistinct.metrics.registry import metric_of
from indistinct.parameters import Number, Parameter, Whole, check_parameters
from indistinct.recoding.kinds import Recoding
from indistinct.text_form import spell

# Number of promising nodes whose bounds are sharpened at a time.
NODES_SHARPENED_TOGETHER = 128
# Number of counted nodes that are kept to roll others up from.
MAX_NODES_KEPT = 48
# Once this share of the lattice was counted node by node, the whole lattice is surveyed in one pass instead.
SWEEP_FROM = 0.15
# A survey stores three numbers per node and one more for each column.
MAX_NUMBERS_IN_SWEEP = 5_000_000
# Scores whose relative difference is smaller are equal but for rounding.
SCORE_TOLERANCE = 1e-12
# The random stream of a seed from which a node is drawn; anatomy uses the fourth of each hundred, engines others.
RANDOM_STREAM = 5


@dataclass(frozen=True, slots=True)
class Optimal(Algorithm):
    """The best node of the lattice under a metric.

    `seconds` and `checks` limit the search; it then returns the best node found and counts `proven` as 0 and the bound
    that is left as `bound`. Ties go to the lower sum of levels, then to the lexicographically first node.

    With `choice` the node is drawn at random from all that are worse than the best by at most this share of its value.
    Readers can then not conclude that every finer node fails, as they can from the best one.

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
    >>> release = ind.anonymize(
    ...     table, schema, model=ind.KAnonymity(k=3), algorithm=ind.Optimal(metric="loss"), hierarchies=ages
    ... )
    >>> release.classes().to_pylist()
    [{'age': '20-29', 'rows': 3}, {'age': '40-49', 'rows': 3}]
    """

    name: ClassVar[str] = "optimal"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "The best choice of levels",
        "Of all choices of one level for each column, finds the one that loses least, and proves it. Ranges that "
        "differ from group to group may lose less.",
    )
    metric: Annotated[str | Metric, METRIC] = "loss"
    seconds: Annotated[float | None, TIME_LIMIT] = None
    checks: Annotated[
        int | None, Parameter("Check limit", "Nodes that may be checked; none sets no limit.", Whole())
    ] = None
    choice: Annotated[
        float,
        Parameter(
            "Random choice within",
            "Draw at random among the nodes whose loss is at most this share above the best: 0.05 is 5 %. Readers "
            "can then not infer that finer nodes fail.",
            Number("0 or above", low=0),
        ),
    ] = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.metric, str):  # what is read from a file is named by its digest too
            object.__setattr__(self, "metric", spell(metric_of(self.metric)))
        check_parameters(self)
        if self.choice and not (self.seconds is None and self.checks is None):
            raise ParameterError.of(
                "Optimal", "choice", "needs the whole search", hint="leave out seconds and checks, or choice"
            )

    @property
    def traits(self) -> AlgorithmTraits:  # type: ignore[override]
        """Optimal unless a limit stops the search or another node may be drawn."""
        return AlgorithmTraits(
            optimal=self.seconds is None and self.checks is None and not self.choice,
            hierarchies=True,
            suppresses=True,
            release_wide=True,
            whole_domain=True,
            one_level=True,
            draws=self.choice > 0,
        )

    @property
    def weighs_columns(self) -> bool:
        """Whether the metric charges cells of columns, and not whole classes or rows."""
        return metric_of(self.metric).charges_cells

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histograms that the metric needs."""
        return metric_of(self.metric).keys

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the best node."""
        problem.require_possible()
        space = FullDomain(problem)
        space.require_size()
        objective = objective_of(space, metric_of(self.metric))
        search = LatticeSearch(space, objective)
        deadline = math.inf if self.seconds is None else time.monotonic() + self.seconds
        search.run(deadline=deadline, checks=math.inf if self.checks is None else self.checks)
        problem.counters.update(nodes=space.lattice.size, proven=int(search.proven))
        if search.best is None:
            limited = InfeasibleError(
                "no satisfying node was found within the limit", hint="allow more seconds or checks"
            )
            raise space.infeasible() if search.proven else limited
        if not search.proven and math.isfinite(search.bound()):
            problem.counters["bound"] = search.bound()  # type: ignore[assignment]
        return space.recoding(self._drawn(search, problem.seed) if self.choice else search.best)

    def _drawn(self, search: "LatticeSearch", seed: int | None) -> Node:
        """Return one of the nodes that are nearly as good as the best, all equally likely."""
        near = search.within(self.choice)
        search.space.problem.counters["near"] = len(near)
        return near[int(Secret(seed).number(len(near), stream=RANDOM_STREAM)[0])]


class LatticeSearch:
    """The state of a search: which nodes are open, their bounds, and the best node so far."""

    def __init__(self, space: FullDomain, objective: Objective) -> None:
        self.space, self.objective = space, objective
        traits, shape = space.problem.model.traits, space.lattice.shape
        # Strict: a node that breaks the model rules out its specializations, so that counting hopeless nodes pays.
        self.strict = traits.monotone and (not space.problem.suppression or traits.absorbing)
        self.monotone = traits.monotone
        # Nodes in the order that decides among equals: by height, then lexicographically.
        self.ranks = space.lattice.node_heights() * space.lattice.size
        self.ranks += np.arange(space.lattice.size).reshape(shape)
        self.open = np.ones(shape, dtype=bool)
        self.least = np.zeros(shape, dtype=np.int64)  # least number of rows that must be suppressed
        self.floors = self._floors(np.arange(space.lattice.size)).reshape(shape)
        self.best: Node | None = None
        self.score, self.proven = np.inf, False
        self.kept: dict[Node, RolledUp] = {space.cells.base.levels: space.cells.base}

    def run(self, *, deadline: float = math.inf, checks: float = math.inf) -> None:
        """Search until every node is settled or a limit is reached; where bounds rule out little, survey all nodes."""
        counters, size = self.space.problem.counters, self.space.lattice.size
        before = counters["checks"]
        sweeps = can_sweep(self.space, self.objective) and deadline == checks == math.inf
        # With suppression, bounds that come from the columns alone are sharp only for metrics that charge cells.
        sharp = isinstance(self.objective, CellObjective) or not self.space.problem.suppression
        patience = SWEEP_FROM * size + 16 if sharp else 0
        while (start := self._most_promising()) is not None:
            if sweeps and counters["checks"] - before > patience:
                self._sweep()
                return
            for node in self._chain(start) if self.monotone else [start]:
                if time.monotonic() > deadline or counters["checks"] - before >= checks:
                    return
                if self.open[node] and (self.strict or self._beats(self.floors[node], self.ranks[node])):
                    self._count(node)
                else:
                    self.last_satisfied = True
            self.space.problem.progress(1 - np.count_nonzero(self.open) / size)
        self.proven = True

    def _sweep(self) -> None:
        """Survey all nodes in one pass, and set `best` and `score` to the best node that satisfies the model."""
        suppressed, scores = survey_lattice(self.space, self.objective)
        fits = suppressed <= self.space.allowed
        self.open[...] = False
        self.proven = True
        if fits.any():
            self.score = float(scores[fits].min())
            equal = np.flatnonzero(fits & (scores <= self.score + self._margin()))
            first = equal[np.argmin(self.ranks.reshape(-1)[equal])]
            self.best = tuple(int(level) for level in np.unravel_index(first, self.space.lattice.shape))

    def within(self, share: float) -> list[Node]:
        """Return the satisfying nodes whose score is within this share of the best, the best included."""
        limit, lattice, near = self.score + share * abs(self.score) + self._margin(), self.space.lattice, []
        for index in np.flatnonzero(self.floors <= limit).tolist():
            node = tuple(int(level) for level in np.unravel_index(index, lattice.shape))
            rolled = self._rolled(node)
            broken = self.space.outside(rolled)
            feasible = rolled.classes.members_of(broken) <= self.space.allowed
            if feasible and self.objective.score(rolled, broken) <= limit:
                near.append(node)
        return near

    def bound(self) -> float:
        """Return the smallest score that an open node could have."""
        return float(self.objective.sign * min(self.floors[self.open].min(initial=np.inf), self.score))

    def _most_promising(self) -> Node | None:
        """Return the open node with the smallest final bound if it is better than the best score."""
        while len(positions := np.flatnonzero(self.open & self._beats(self.floors, self.ranks))):
            floors = self.floors.reshape(-1)
            if len(positions) > NODES_SHARPENED_TOGETHER:
                positions = positions[
                    np.argpartition(floors[positions], NODES_SHARPENED_TOGETHER)[:NODES_SHARPENED_TOGETHER]
                ]
            floors[positions] = np.maximum(floors[positions], self._floors(positions))
            first = positions[np.lexsort((self.ranks.reshape(-1)[positions], floors[positions]))[0]]
            node = tuple(int(level) for level in np.unravel_index(first, self.space.lattice.shape))
            if self._beats(floors[first], self.ranks[node]):
                return node
        return None

    def _beats(self, scores: Floats | float, ranks: Codes) -> Mask:
        """Return which scores are better than the best, or equal but for rounding and earlier in the order of nodes."""
        if self.best is None:
            return np.ones(np.shape(scores), dtype=bool)
        margin = self._margin()
        lower = (scores <= self.score + margin) & (ranks < self.ranks[self.best])
        return np.asarray((scores < self.score - margin) | lower)

    def _margin(self) -> float:
        """Return the tolerance for rounding when scores are compared."""
        return SCORE_TOLERANCE * max(abs(self.score), 1.0) if np.isfinite(self.score) else 0.0

    def _floors(self, positions: Codes) -> Floats:
        """Return lower bounds of nodes, given what is known about their suppression."""
        bounds = np.empty(len(positions))
        for start in range(0, len(positions), 1 << 17):
            part = positions[start : start + (1 << 17)]
            nodes = np.stack(np.unravel_index(part, self.space.lattice.shape), axis=1)
            bounds[start : start + len(part)] = self.objective.floors(nodes, self.least.reshape(-1)[part])
        return bounds

    def _chain(self, start: Node):  # type: ignore[no-untyped-def]
        """Yield nodes of a chain from `start` to the top by bisection.

        Upwards after a failure, downwards after a success.
        """
        chain, node = [start], start
        while True:
            above = [upper for upper in self.space.lattice.above(node) if self.open[upper]]
            if not above:
                break
            node = min(above, key=lambda upper: (self.floors[upper], upper))
            chain.append(node)
        low, high = 0, len(chain) - 1
        while low <= high:
            middle = (low + high) // 2
            yield chain[middle]
            if self.last_satisfied:
                high = middle - 1
            else:
                low = middle + 1

    def _count(self, node: Node) -> None:
        """Count a node, settle it, and settle the nodes that it decides."""
        rolled = self._rolled(node)
        # Of a node that suppresses too much, only its lower bounds are of use.
        broken = self.space.outside(rolled, enough=self.space.allowed)
        suppressed = rolled.classes.members_of(broken)
        self.space.problem.counters["checks"] += 1
        self.open[node] = False
        self.last_satisfied = suppressed <= self.space.allowed
        if self.monotone:
            least = suppressed if self.strict or not suppressed else self.space.inevitable_rows(rolled)
            below = down_set(node)
            if least > self.space.allowed:
                self.open[below] = False
            else:
                np.maximum(self.least[below], least, out=self.least[below])
        if self.last_satisfied:
            score = self.objective.score(rolled, broken)
            if self._beats(score, self.ranks[node]):
                self.best, self.score = node, min(score, self.score)
        floor = self.objective.floor_above(rolled)
        if np.isfinite(floor):
            above = up_set(node)
            np.maximum(self.floors[above], floor, out=self.floors[above])

    def _rolled(self, node: Node) -> RolledUp:
        """Return a node's classes, rolled up from the smallest kept finer node."""
        finer = [r for levels, r in self.kept.items() if all(a <= b for a, b in zip(levels, node, strict=True))]
        source = min(finer, key=len)
        rolled = self.space.roll_up(source, node)
        if 2 * len(rolled) < len(source):
            if len(self.kept) >= MAX_NODES_KEPT:  # forget the oldest, never the base
                del self.kept[next(levels for levels in self.kept if any(levels))]
            self.kept[node] = rolled
        return rolled


def can_sweep(space: FullDomain, objective: Objective) -> bool:
    """Return whether every node can be surveyed in one pass."""
    return (
        space.problem.model.traits.sizes_only
        and isinstance(objective, CellObjective | SizeObjective | EntropyObjective)
        and space.lattice.size <= MAX_NUMBERS_IN_SWEEP
        and space.cells.base.words.shape[1] == 1
    )


def survey_lattice(space: FullDomain, objective: Objective) -> tuple[Codes, Floats]:
    """Return (suppressed rows, scores) of all nodes, in lexicographic order.

    Where bounds rule out few nodes, visiting all of them in one pass is faster than counting them one by one.
    """
    walk = _LatticeWalk(space, objective)
    first = min(2, len(space.lattice.heights))
    prefixes = list(product(*(range(height, -1, -1) for height in space.lattice.heights[:first])))
    # Small prefixes have the largest sets of classes and go first, so that no thread ends up with one at the end.
    spread(walk.below, reversed(prefixes))
    space.problem.counters["checks"] += space.lattice.size
    space.problem.counters["rollups"] += space.lattice.size - 1
    return walk.survey()


class _LatticeWalk:
    """The arrays with which the kernel surveys every node at the cost of a roll-up each."""

    def __init__(self, space: FullDomain, objective: Objective) -> None:
        self.space, self.objective = space, objective
        cells, lattice = space.cells, space.lattice
        self.heights = np.array(lattice.heights)
        self.shifts = np.array([shift for _, shift in cells.places], dtype=np.uint64)
        self.masks = np.array([(1 << width) - 1 for width in cells.widths], dtype=np.uint64)
        self.strides = np.array([int(np.prod(lattice.shape[j + 1 :])) for j in range(len(lattice.shape))])
        steps = [[cells.step(j, level, level + 1) for level in range(h)] for j, h in enumerate(lattice.heights)]
        self.tables = np.concatenate([np.zeros(0, np.uint64), *(table for tables in steps for table in tables)])
        self.table_at = _offsets([[len(table) for table in tables] for tables in steps])
        charges = objective.charges if isinstance(objective, CellObjective) else []
        flat = [charge for levels in charges for charge in levels]
        self.charges = np.concatenate([np.zeros(0), *flat])
        self.starts = _offsets([[len(charge) for charge in levels] for levels in charges])
        self.found = np.zeros((lattice.size, 3 + len(lattice.heights)))

    def below(self, prefix: Node) -> None:
        """Survey every node whose first levels are `prefix`."""
        levels = (*prefix, *([0] * (len(self.heights) - len(prefix))))
        rolled = self.space.cells.roll_up(self.space.cells.base, levels)
        _kernels.sweep(
            np.ascontiguousarray(rolled.words[:, 0]), rolled.classes.sizes, len(prefix), np.array(levels), self.heights,
            self.strides, self.space.problem.model.smallest, self.shifts, self.masks, self.tables, self.table_at,
            self.charges, self.starts, self.found,
        )  # fmt: skip

    def survey(self) -> tuple[Codes, Floats]:
        """Return the result: suppressed rows and scores of all nodes."""
        rows = self.space.problem.frequencies.rows
        outside, inside, squares, totals = (*self.found[:, :3].T, self.found[:, 3:])
        objective = self.objective
        if isinstance(objective, CellObjective):
            charged = totals + outside[:, None] * objective.dropped
            scores = objective.sign * objective.metric.combine(charged, rows=rows)
        elif isinstance(objective, EntropyObjective):
            scores = objective.floors(self.space.lattice.nodes(), np.zeros(0, dtype=np.int64)) + totals.sum(axis=1)
        elif isinstance(objective, SizeObjective):
            scores = objective.metric.of_counts(inside, squares, released=rows - outside, rows=rows)
        else:
            raise AssertionError("only what `can_sweep` allows is surveyed")
        return outside.astype(np.int64), scores


def _offsets(sizes: list[list[int]]) -> Codes:
    """Return the start of each table of each column in one array of all tables; then the end of the last one."""
    width = max((len(column) for column in sizes), default=0) + 1
    offsets, at = np.zeros((max(len(sizes), 1), width), dtype=np.int64), 0
    for j, column in enumerate(sizes):
        for index, size in enumerate(column):
            offsets[j, index] = at
            at += size
        offsets[j, len(column) :] = at
    return offsets
