"""The rounds of a local search: orders, sweeps, and undoing the changes that the model refuses."""

import time

import numpy as np

from indistinct.algorithms.base import Problem, fewest_rows
from indistinct.algorithms.cluster._refine_kernels import Charges, Units, fill, new_state
from indistinct.algorithms.cluster._refine_pair_kernels import IMPROVE, REDIVIDE, SPLIT, run_sweep
from indistinct.algorithms.cluster._refine_sweep_kernels import LINES, MANY, TRANSACTIONS, Sweep, undo
from indistinct.algorithms.cluster.refine_charges import charges_of
from indistinct.algorithms.partition.layout import ranks_of, summarize
from indistinct.frequencies.pieces import Pieces
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Codes
from indistinct.metrics.base import CellMetric
from indistinct.recoding.kinds import ByCell, ByRow, Recoding
from indistinct.recoding.outputs import Assignment
from indistinct.recoding.summary import Style

# How many positions along an order neighbors are searched, on either side: of single members, and of whole classes.
WINDOW, PAIR_WINDOW = 8, 2
# Units that are tried between two looks at the clock.
UNITS_PER_CLOCK_CHECK = 1024
# Gains below this share of a row's whole cost are treated as rounding.
MIN_GAIN_SHARE = 1e-9
# Pairs of classes are redivided in every round, unless that gained less than the share MIN_PAIR_GAIN_SHARE of what
# moves and swaps gained; then the next ROUNDS_WITHOUT_PAIRS rounds skip it. The first rounds gain most.
MIN_PAIR_GAIN_SHARE, ROUNDS_WITHOUT_PAIRS = 1 / 8, 3


class LocalSearch:
    """The state of a search: units, their classes, and the costs of these."""

    def __init__(self, problem: Problem, assignment: Assignment, *, metric: CellMetric) -> None:
        self.problem, self.cells, self.counts = problem, assignment.cells, assignment.counts
        self.joint, self.divided = assignment.joint, assignment.split
        self.ranks = ranks_of(problem.columns, problem.frequencies.vectors)[assignment.cells].astype(np.int32)
        self.classes = unit_classes(problem, assignment, self.joint)
        charges = charges_of(problem.columns, metric)
        self.state = new_state(len(self.ranks), self.ranks.shape[1], len(charges.table))
        self._fill(assignment, charges, np.arange(self.ranks.shape[1]))
        # Trials end as soon as they cost too much: the most expensive columns come first.
        self._fill(assignment, self.charges, np.argsort(-(self.state.size @ self.state.charge), kind="stable"))
        count = len(self.cells)
        self.guarded = not problem.model.traits.sizes_only
        self.seen, self.locked, self.rest = (np.zeros(count, dtype=np.int64) for _ in range(3))
        self.log = np.zeros((2 * count if self.guarded else 1, 3), dtype=np.int64)
        self.tally = np.zeros(8, dtype=np.int64)
        self.redivides = 0
        width, longest = self.ranks.shape[1], max(count, MANY)
        bounds, masks = np.empty((3, 2, width), dtype=np.int64), np.empty(width, dtype=np.uint64)
        self.room = (np.empty((3, longest), dtype=np.int64), np.empty((2, longest)), bounds, masks)

    def _fill(self, assignment: Assignment, charges: Charges, columns: Codes) -> None:
        """Put every unit into its class of the start, with the columns in the order `columns`."""
        self.units = Units(np.ascontiguousarray(self.ranks[:, columns]), assignment.counts.astype(np.int64))
        by_column = ("kind", "narrow", "floor", "offset", "stride")
        self.charges = charges._replace(**{name: getattr(charges, name)[columns] for name in by_column})
        fill(self.units, self.charges, self.state, assignment.class_ids.astype(np.int64), len(assignment.values))

    def run(self, *, seconds: float, rounds: int) -> None:
        """Run rounds until nothing improves or a limit is reached; 0 seconds mean no limit."""
        width = self.ranks.shape[1]
        self._round(0, 0.0)  # compile the kernels before the clock starts
        deadline = time.monotonic() + seconds if seconds else np.inf
        idle, turn, cost = 0, 0, self.cost()
        # The search gives up only after every column came first twice without an improvement.
        while idle < 2 * width + 2 and turn < rounds and time.monotonic() < deadline:
            turn += 1
            self._round(turn, deadline)
            before, cost = cost, self.cost()
            idle = 0 if cost < before else idle + 1
            left = max(deadline - time.monotonic(), 0.0) / seconds if seconds else 1.0
            self.problem.progress(0.2 + 0.8 * max(1 - left, turn / rounds))
        names = ("moves", "swaps", "dissolved", "splits", "redivided")
        self.problem.counters.update(dict(zip(names, self.tally[3:].tolist(), strict=True)), rounds=turn)

    def cost(self) -> float:
        """Return the total cost of all classes."""
        return float(self.state.size @ self.state.total)

    def _round(self, turn: int, deadline: float) -> None:
        """Split classes, then sweep along a new order."""
        order = self._order(turn)
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        limits = (fewest_rows(self.problem.model), MIN_GAIN_SHARE * self.problem.frequencies.rows)
        marks = (self.seen, self.locked, self.rest, self.log, self.tally)
        earned, kinds = {}, (SPLIT, IMPROVE, REDIVIDE) if turn >= self.redivides else (SPLIT, IMPROVE)
        for kind in kinds:
            before = self.cost()
            window = PAIR_WINDOW if kind == REDIVIDE else WINDOW
            sweep = Sweep(order, position, window, *limits, self.guarded, 3 * turn + kind, *marks, *self.room)
            run_sweep(self.units, self.charges, self.state, sweep, kind, 0, 0)
            self.tally[[TRANSACTIONS, LINES]] = 0
            for start in range(0, len(order), UNITS_PER_CLOCK_CHECK):
                if time.monotonic() >= deadline:
                    break
                run_sweep(
                    self.units,
                    self.charges,
                    self.state,
                    sweep,
                    kind,
                    start,
                    min(start + UNITS_PER_CLOCK_CHECK, len(order)),
                )
            if self.guarded and not turn:
                undo(self.units, self.charges, self.state, sweep, np.zeros(1, dtype=bool))
            elif self.guarded:
                self._ask(sweep)
            earned[kind] = before - self.cost()
        if (
            turn > ROUNDS_WITHOUT_PAIRS
            and REDIVIDE in earned
            and earned[REDIVIDE] < MIN_PAIR_GAIN_SHARE * earned[IMPROVE]
        ):
            self.redivides = turn + 1 + ROUNDS_WITHOUT_PAIRS

    def _order(self, turn: int) -> Codes:
        """Return the units sorted by the columns in a new order, which depends on the round number alone."""
        columns = np.random.default_rng(turn).permutation(self.ranks.shape[1])
        return np.lexsort([self.ranks[:, column] for column in columns]).astype(np.int64)

    def _ask(self, sweep: Sweep) -> None:
        """Undo every transaction after which a class that it touched breaks the model."""
        lines = self.log[: self.tally[LINES]]
        if not len(lines):
            return
        class_id = self.state.class_id
        owner = np.zeros(len(class_id), dtype=np.int64)
        owner[lines[:, 2]] = owner[class_id[lines[:, 1]]] = lines[:, 0]
        members = np.flatnonzero(owner[class_id] > 0)
        touched, local = np.unique(class_id[members], return_inverse=True)
        classes = self.classes.take(members).regroup(local.astype(np.int32), len(touched))
        self.problem.counters["checks"] += len(touched)
        refused = np.zeros(int(self.tally[TRANSACTIONS]) + 1, dtype=bool)
        refused[owner[touched[self.problem.model.violations(classes)]]] = True
        undo(self.units, self.charges, self.state, sweep, refused)

    def recoding(self) -> Recoding:
        """Return the recoding of the classes, each published as what its members cover."""
        problem = self.problem
        distinct, class_ids = np.unique(self.state.class_id, return_inverse=True)
        class_ids = class_ids.astype(np.int32)
        columns, values = summarize(
            problem.columns, self.ranks, class_ids=class_ids, counts=self.counts, classes=len(distinct), style=Style()
        )
        vectors = np.ascontiguousarray(problem.frequencies.vectors)
        if self.divided:
            return ByRow(columns, vectors, self.cells, self.joint, class_ids, self.counts, values)
        return ByCell(columns, vectors, class_ids, values)


def unit_classes(problem: Problem, assignment: Assignment, joint: Codes | None) -> Classes:
    """Return every unit as a class of its own, with the histograms that the model needs."""
    frequencies = problem.frequencies
    if joint is None or frequencies.joint is None:
        return frequencies.classes.take(assignment.cells)
    units = np.arange(len(joint), dtype=np.int32)
    return Pieces(assignment.cells, joint, assignment.counts, units).classes(frequencies, len(units))
