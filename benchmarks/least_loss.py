"""How little any partition into classes can lose: a bound for every table, and the optimum of a small one.

A class that holds a row has k rows or more, so it reaches at least as far as the nearest k - 1 others: what a row pays
is no less than what a class of it and the farthest of these would cost. That bounds every recoding whose classes are
published as by Mondrian, clustering or local search, also one that parts equal rows.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks import _least_loss_kernels as _kernels
from indistinct.algorithms.base import Problem
from indistinct.algorithms.cluster.refine_charges import charges_of
from indistinct.algorithms.cluster.two_level import cell_metric
from indistinct.algorithms.partition.layout import ranks_of
from indistinct.machine.arrays import Codes, Floats
from indistinct.machine.threads import blocks, spread

# Steps of the exact search, classes that it lists, and rounds in which duties are raised: some seconds each.
STEPS = 20_000_000
CLASSES = 1_000_000
PASSES = 20


@dataclass(frozen=True, slots=True)
class Optimum:
    """The least loss of a partition that keeps equal rows together, as far as it was found, and a bound from below."""

    loss: float
    bound: float

    @property
    def proven(self) -> bool:
        """Whether nothing loses less."""
        return self.loss <= self.bound


def least_loss(problem: Problem, metric: str = "gcp") -> float:
    """Return a loss that no partition gets below; every cell is compared with every other one."""
    charges, ranks, counts = _laid_out(problem, metric)
    wanted, least = problem.model.smallest, np.zeros(len(counts))
    alone = np.flatnonzero(counts < wanted)

    def one(block: slice) -> None:
        some = np.zeros(block.stop - block.start)
        _kernels.company(charges, ranks, counts, wanted, alone[block], some)
        least[alone[block]] = some

    spread(one, blocks(len(alone), least=1))
    return _mean(float(counts @ least), problem, metric)


def optimum(problem: Problem, metric: str = "gcp", *, above: float, steps: int = STEPS) -> Optimum:
    """Return the least loss of a partition; `above` is the loss of one that is known.

    It looks at class sizes alone, and lists all classes that a best partition may have: some forty cells with k = 2 or
    3, twenty with k = 5. Every cell is given a duty, so that no class of cells has duties above its price. All duties
    together are then a bound, and a class is worth a try only if its slack, price less duties, is below what is left
    between bound and best. Branch and bound adds up slacks.
    """
    charges, ranks, counts = _laid_out(problem, metric)
    wanted, one = problem.model.smallest, _mean(1.0, problem, metric)
    if len(counts) > np.iinfo(np.int8).max:
        return Optimum(above, least_loss(problem, metric))
    longest = 2 * wanted - 1 if counts.max() == 1 else 3 * wanted - 3
    members = np.full((CLASSES, min(longest, len(counts))), -1, np.int8)
    price, far = np.empty(CLASSES), np.zeros(len(counts))
    _kernels.company(charges, ranks, counts, wanted, np.arange(len(counts)), far)
    order = np.argsort(-far, kind="stable")  # who finds no company nearby comes first
    listed = _kernels.list_classes(charges, np.ascontiguousarray(ranks[order]), counts[order], wanted, members, price)
    if listed < 0:
        return Optimum(above, _mean(float(counts @ far), problem, metric))
    members, slack = members[:listed], price[:listed]
    duty = _duties(members, slack, len(counts))
    gap = above / one * (1 + 1e-12) - duty.sum()
    kept = np.flatnonzero(slack < gap)
    kept = kept[np.lexsort((slack[kept], members[kept, 0]))]
    first = np.searchsorted(members[kept, 0], np.arange(len(counts) + 1))
    least, taken = _kernels.least_partition(members[kept], slack[kept], first, gap, steps)
    loss = min(above, (duty.sum() + least) * one)
    return Optimum(loss, loss if taken >= 0 else duty.sum() * one)


def _duties(members: Codes, slack: Floats, cells: int) -> Floats:
    """Return what each cell must pay at least, so that the sum is large; `slack` becomes what classes have left."""
    duty, best, rng = np.zeros(cells), -np.inf, np.random.default_rng(0)
    price, kept = slack.copy(), duty
    for _ in range(PASSES):
        for cell in rng.permutation(cells).tolist():
            _kernels.raise_duties(members, slack, cell, duty)
        if duty.sum() > best:
            best, kept = duty.sum(), duty.copy()
        # Some give back a part, so that others may pay more.
        duty -= rng.random(cells) * np.abs(duty).mean() * 0.1
        slack[:] = price - np.where(members >= 0, duty[members], 0.0).sum(axis=1)
    slack[:] = price - np.where(members >= 0, kept[members], 0.0).sum(axis=1)
    return kept


def _laid_out(problem: Problem, metric: str) -> tuple[tuple[Codes, ...], Codes, Codes]:
    ranks = ranks_of(problem.columns, problem.frequencies.vectors).astype(np.int32)
    return charges_of(problem.columns, cell_metric(metric)), ranks, problem.frequencies.counts.astype(np.int64)


def _mean(total: float, problem: Problem, metric: str) -> float:
    """Return the metric of a table that pays so much in all."""
    width = len(problem.columns)
    return float(cell_metric(metric).combine(np.full(width, total / width), rows=problem.frequencies.rows))
