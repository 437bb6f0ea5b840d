"""A survey of every node of the lattice at the cost of a roll-up each, for models that look at class sizes alone.

Where bounds rule out few nodes, visiting all of them in one pass is faster than counting them one by one.
"""

from itertools import product

import numpy as np

from indistinct.algorithms.full_domain import _kernels
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.algorithms.full_domain.objective import CellObjective, EntropyObjective, Objective, SizeObjective
from indistinct.frequencies.lattice import Node
from indistinct.machine.arrays import Codes, spread

# A survey stores three numbers per node and one more for each column.
SWEEP_LIMIT = 5_000_000


def can_sweep(space: FullDomain, objective: Objective) -> bool:
    """Return whether every node can be surveyed in one pass."""
    return (
        space.problem.model.traits.sizes_only
        and isinstance(objective, CellObjective | SizeObjective | EntropyObjective)
        and space.lattice.size <= SWEEP_LIMIT
        and space.cells.base.words.shape[1] == 1
    )


def survey_lattice(space: FullDomain, objective: Objective) -> tuple[Codes, Codes]:
    """Return (suppressed rows, scores) of all nodes, in lexicographic order."""
    walk = _LatticeWalk(space, objective)
    first = min(2, len(space.lattice.heights))
    prefixes = list(product(*(range(height, -1, -1) for height in space.lattice.heights[:first])))
    # Small prefixes have the largest sets of classes and go first, so that no thread ends up with one at the end.
    spread(walk.below, reversed(prefixes))
    space.problem.counters["checks"] += space.lattice.size
    space.problem.counters["rollups"] += space.lattice.size - 1
    return walk.survey()


class _LatticeWalk:
    """The arrays that the kernel uses."""

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

    def survey(self) -> tuple[Codes, Codes]:
        """Return the result: suppressed rows and scores of all nodes."""
        rows = self.space.problem.frequencies.rows
        outside, inside, squares, totals = (*self.found[:, :3].T, self.found[:, 3:])
        objective = self.objective
        if isinstance(objective, CellObjective):
            charged = totals + outside[:, None] * objective.dropped
            scores = objective.sign * objective.metric.combine(charged, rows=rows)
        elif isinstance(objective, EntropyObjective):
            scores = objective.floors(self.space.lattice.nodes(), np.zeros(0)) + totals.sum(axis=1)
        elif isinstance(objective, SizeObjective):
            scores = objective.metric.of_counts(inside, squares, released=rows - outside, rows=rows)
        else:
            raise AssertionError("only what `can_sweep` allows is surveyed")
        return outside.astype(np.int64), scores


def _offsets(sizes: list[list[int]]) -> Codes:
    """Return where each table of each column begins; a column's last entry is the end of its last table."""
    width = max((len(column) for column in sizes), default=0) + 1
    found, at = np.zeros((max(len(sizes), 1), width), dtype=np.int64), 0
    for j, column in enumerate(sizes):
        for place, size in enumerate(column):
            found[j, place] = at
            at += size
        found[j, len(column) :] = at
    return found
