"""A metric as the objective of a lattice search: the score of a node, and bounds known before it is counted.

Smaller scores are better. `floors` is a lower bound for every node, known from the columns alone; `floor_above` is one
for a counted node and all its generalizations.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from indistinct.algorithms.full_domain.nodes import FullDomain, recoded_column
from indistinct.frequencies.lattice import RolledUp
from indistinct.machine.arrays import Codes, Floats, Mask
from indistinct.metrics.base import CellMetric, Metric
from indistinct.metrics.information import ClassificationMetric, NonUniformEntropy, SizeMetric, majorities
from indistinct.metrics.weighted import weigh_metric


@dataclass(frozen=True, eq=False)
class Objective(ABC):
    """What a search minimizes."""

    space: FullDomain
    metric: Metric

    @property
    def sign(self) -> float:
        """Return 1 or -1, the factor that makes smaller scores better."""
        return -1.0 if self.metric.goal == "max" else 1.0

    def floors(self, nodes: Codes, least: Codes) -> Floats:
        """Return lower bounds for nodes that must suppress at least `least` rows."""
        return np.full(len(nodes), -np.inf)

    @abstractmethod
    def score(self, rolled: RolledUp, broken: Mask) -> float:
        """Return the score of a node whose broken classes are suppressed."""

    def floor_above(self, rolled: RolledUp) -> float:
        """Return a lower bound for a node and all its generalizations."""
        return -np.inf


@dataclass(frozen=True, eq=False)
class CellObjective(Objective):
    """A metric that charges cells: the cost of a node without suppression is known before anything is counted."""

    metric: CellMetric

    @cached_property
    def charges(self) -> list[list[Floats]]:
        """The charge of each node of each level, by column."""
        return [
            [
                np.asarray(self.metric.charge(self.space.problem.published(j, recoded_column(column, level)[0])))
                for level in range(column.height + 1)
            ]
            for j, column in enumerate(self.space.columns)
        ]

    @cached_property
    def dropped(self) -> Floats:
        """The charge of a suppressed cell, by column."""
        recoded = [recoded_column(column, 0)[0] for column in self.space.columns]
        return np.array([self.metric.dropped(self.space.problem.published(j, each)) for j, each in enumerate(recoded)])

    @cached_property
    def totals(self) -> list[Floats]:
        """For each column, the sum of charges over all rows at each level."""
        counts = self.space.problem.frequencies.counts
        column_totals: list[Floats] = []
        for j, (taxonomy, charges) in enumerate(zip(self.space.taxonomies, self.charges, strict=True)):
            rows = np.bincount(self.space.problem.frequencies.vectors[:, j], counts, len(taxonomy.ancestors))
            column_totals.append(np.array([rows @ c[taxonomy.ancestors[:, level]] for level, c in enumerate(charges)]))
        return column_totals

    @cached_property
    def slack(self) -> list[Floats]:
        """For each column and level, the least amount by which a suppressed cell costs more than a published one."""
        return [
            np.array([dropped - c.max() for c in charges])
            for dropped, charges in zip(self.dropped, self.charges, strict=True)
        ]

    def floors(self, nodes: Codes, least: Codes) -> Floats:
        """Every row pays its generalization.

        Each row that must be suppressed also pays the difference to a suppressed row.
        """
        totals = np.stack([total[nodes[:, j]] for j, total in enumerate(self.totals)], axis=1)
        extra = np.stack([slack[nodes[:, j]] for j, slack in enumerate(self.slack)], axis=1)
        rows = self.space.problem.frequencies.rows
        return self.sign * self.metric.combine(totals + least[:, None] * np.maximum(extra, 0), rows=rows)

    def score(self, rolled: RolledUp, broken: Mask) -> float:
        """Charge kept rows by their published values and the others as suppressed."""
        sizes = np.where(broken, 0, rolled.classes.sizes)
        rows = self.space.problem.frequencies.rows
        gone = rows - int(sizes.sum())
        totals = np.empty(len(self.charges))
        for j, charges in enumerate(self.charges):
            charge = charges[rolled.levels[j]]
            kept = np.bincount(self.space.cells.field(rolled, j), sizes, len(charge))
            totals[j] = kept @ charge + gone * self.dropped[j]
        return float(self.sign * self.metric.combine(totals, rows=rows))


@dataclass(frozen=True, eq=False)
class SizeObjective(Objective):
    """Discernibility or average class size, which depend on class sizes alone."""

    metric: SizeMetric

    def score(self, rolled: RolledUp, broken: Mask) -> float:
        """Return the metric of the kept classes."""
        sizes = rolled.classes.members[~broken & (rolled.classes.sizes > 0)]
        return self.metric.of_sizes(sizes, rows=int(sizes.sum()) + rolled.classes.members_of(broken))

    def floor_above(self, rolled: RolledUp) -> float:
        """Merging classes only makes fewer and larger ones, and a suppressed row costs no less than one in a class.

        No bound is known for people, who may be in both of two merged classes.
        """
        if not self.metric.charges_suppressed or rolled.classes.members is not rolled.classes.sizes:
            return -np.inf
        sizes = rolled.classes.sizes
        return self.metric.of_sizes(sizes[sizes > 0], rows=rolled.classes.rows)


@dataclass(frozen=True, eq=False)
class EntropyObjective(Objective):
    """Non-uniform entropy: the bits lost in each column, and all remaining bits of suppressed rows."""

    @cached_property
    def bits(self) -> list[Floats]:
        """For each column, the bits that each level loses over all rows."""
        column_bits: list[Floats] = []
        for j, taxonomy in enumerate(self.space.taxonomies):
            vectors, counts = self.space.problem.frequencies.vectors, self.space.problem.frequencies.counts
            rows = np.bincount(vectors[:, j], counts, len(taxonomy.ancestors))
            whole = [np.bincount(taxonomy.ancestors[:, level], rows) for level in range(taxonomy.height + 1)]
            column_bits.append(np.array([_bits(total) - _bits(rows) for total in whole]) + 0.0)
        return column_bits

    def floors(self, nodes: Codes, least: Codes) -> Floats:
        """Suppression only loses more bits."""
        return np.sum([bits[nodes[:, j]] for j, bits in enumerate(self.bits)], axis=0)

    def score(self, rolled: RolledUp, broken: Mask) -> float:
        """Return the bits that the node loses, and those of the generalized values of suppressed rows."""
        total = sum(float(bits[level]) for bits, level in zip(self.bits, rolled.levels, strict=True))
        sizes = rolled.classes.sizes[broken]
        if not len(sizes):
            return total
        everything = _bits(np.array([sizes.sum()]))
        for j in range(len(self.bits)):
            total += everything - _bits(np.bincount(self.space.cells.field(rolled, j)[broken], sizes))
        return total


@dataclass(frozen=True, eq=False)
class ClassificationObjective(Objective):
    """Iyengar's classification metric: rows that are suppressed or not in the majority of their class."""

    metric: ClassificationMetric

    def score(self, rolled: RolledUp, broken: Mask) -> float:
        """Return the share of penalized rows."""
        rows, histogram = self.space.problem.frequencies.rows, rolled.classes.histograms[(self.metric.target,)]
        return (rows - int(majorities(histogram)[~broken].sum())) / rows

    def floor_above(self, rolled: RolledUp) -> float:
        """The majority of a merged class is at most the sum of the majorities of its parts."""
        return self.score(rolled, np.zeros(len(rolled), dtype=bool))


@dataclass(frozen=True, eq=False)
class AnyObjective(Objective):
    """A metric without known bounds: every node is recoded and measured."""

    def score(self, rolled: RolledUp, broken: Mask) -> float:
        """Return the metric of the node's recoding."""
        recoding = self.space.recoding_without(rolled, np.flatnonzero(broken))
        return self.sign * self.metric.value(self.space.problem.assigned(recoding))


def objective_of(space: FullDomain, metric: Metric) -> Objective:
    """Return the objective of a metric; a metric in units of k takes k from the problem's model."""
    names = [column.name for column in space.problem.columns]
    metric = weigh_metric(metric.for_promise(space.problem.model.smallest), space.problem.importance, names)
    match metric:
        case CellMetric():
            return CellObjective(space, metric)
        case SizeMetric():
            return SizeObjective(space, metric)
        case NonUniformEntropy():
            return EntropyObjective(space, metric)
        case ClassificationMetric():
            return ClassificationObjective(space, metric)
        case _:
            return AnyObjective(space, metric)


def _bits(counts: Codes) -> float:
    """Return Σ n·log2(n)."""
    positive = counts[counts > 0].astype(np.float64)
    return float(positive @ np.log2(positive))
