"""Strict partitioning by targets: each part is cut where its two sides have the least mixed target values.

Categories are measured by their entropy, numbers by their squared deviation (LeFevre, DeWitt, Ramakrishnan 2008). Of
equally good cuts, the one with the least loss is taken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from indistinct.algorithms.base import Problem
from indistinct.algorithms.partition import _by_target_kernels as _kernels
from indistinct.algorithms.partition._cut_order_kernels import NEVER
from indistinct.algorithms.partition.by_depth import DepthParts, DepthSearch, Division
from indistinct.algorithms.partition.by_loss import LossSearch
from indistinct.errors import ParameterError
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Codes, starts_of
from indistinct.recoding.columns import QuasiColumn
from indistinct.tables.domain import Domain, Kind

Criterion = Literal["information-gain", "variance"]
# Values of a target are whole numbers of at most this many bits, fewer where their sum over a table would not fit a
# word.
MAX_BITS_OF_VALUE, MAX_BITS_OF_SUM = 40, 62
# Weight of the cuts of a target that is a quasi-identifier: they come last, because they say nothing about predictors.
WEIGHT_OF_TARGETS = np.int64(1) << 61


@dataclass(frozen=True, slots=True, eq=False)
class TargetCodes:
    """A target: its codes in each cell as compressed sparse rows with numbers of rows, and the domain of the codes.

    `whole` counts the codes in the whole table; None where the cells are the whole table.
    """

    name: str
    starts: Codes
    codes: Codes
    counts: Codes
    size: int
    domain: Domain | None
    whole: Codes | None = None

    @property
    def owners(self) -> Codes:
        """Return the cell of every entry."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def targets_of(names: Sequence[str], problem: Problem, ranks: Codes, classes: Classes) -> list[TargetCodes]:
    """Return the targets of some cells, from histograms or from quasi-identifiers that are targets."""
    index_of = {column.name: index for index, column in enumerate(problem.columns)}
    return [
        _from_histogram(name, classes, problem.known)
        if name not in index_of
        else _from_ranks(problem.columns[index_of[name]], ranks[:, index_of[name]], classes)
        for name in names
    ]


def _from_histogram(name: str, classes: Classes, known: Mapping[str, Domain]) -> TargetCodes:
    """Return the codes of a target in each cell, from its histogram."""
    histogram = classes.histograms[(name,)]
    return TargetCodes(
        name,
        histogram.indptr.astype(np.int64),
        histogram.codes.astype(np.int64),
        histogram.counts.astype(np.int64),
        len(histogram.reference),
        known.get(name),
        histogram.reference.astype(np.int64),
    )


def _from_ranks(column: QuasiColumn, ranks: Codes, classes: Classes) -> TargetCodes:
    """Return a quasi-identifier as a target, whose code in each cell is known."""
    codes = column.by_rank[ranks.astype(np.int64)].astype(np.int64)
    counts = classes.sizes.astype(np.int64)
    return TargetCodes(column.name, np.arange(len(codes) + 1), codes, counts, len(column.domain), column.domain)


def search_by_target(
    criterion: Criterion,
    names: Sequence[str],
    problem: Problem,
    ranks: Codes,
    classes: Classes,
    losses: LossSearch,
) -> DepthSearch:
    """Return the search for the cuts of some cells after which their targets are least mixed."""
    targets = targets_of(names, problem, ranks, classes)
    measure: _Measure = Entropy.of(targets) if criterion == "information-gain" else Variance.of(targets)
    own = np.array([column.name in names for column in problem.columns])
    return _TargetSearch(losses, measure, own)


class _Measure(Protocol):
    """A measure of how mixed targets are."""

    def weigh(self, parts: DepthParts, starts: Codes, losses: LossSearch, weights: Codes) -> None:
        """Write the weight of every candidate of the parts that begin at `starts`."""


@dataclass(frozen=True, slots=True, eq=False)
class Entropy:
    """The entropy of targets on both sides; missing is a value of its own."""

    entries: Any
    targets: int

    @classmethod
    def of(cls, targets: Sequence[TargetCodes]) -> "Entropy":
        """Join the values of all targets: a code identifies one value of one target."""
        bases = starts_of([each.size for each in targets])[:-1].tolist()
        cells = np.concatenate([each.owners for each in targets])
        order = np.argsort(cells, kind="stable")
        codes = np.concatenate([each.codes + base for each, base in zip(targets, bases, strict=True)])
        counts = np.concatenate([each.counts for each in targets])
        start = starts_of(np.bincount(cells, minlength=len(targets[0].starts) - 1))
        owner = np.repeat(np.arange(len(targets)), [each.size for each in targets])
        return cls(_kernels.Entries(start, codes[order], counts[order], owner.astype(np.int64)), len(targets))

    def weigh(self, parts: DepthParts, starts: Codes, losses: LossSearch, weights: Codes) -> None:
        """Write the mean entropy of the two sides of every candidate."""
        largest = _most_between(starts, np.diff(self.entries.start)[parts.items])
        number = min(len(self.entries.target), largest)
        work = _segments(losses, starts, number, len(self.entries.target), self.targets)
        where = (parts.rows, parts.items, starts, losses.smallest, losses.costs.fields, losses.costs.trees)
        _kernels.weigh_by_entropy(*where, self.entries, losses.orders(starts), work, weights)


@dataclass(frozen=True, slots=True, eq=False)
class Variance:
    """The squared deviation of targets from the means of both sides; missing values are left out."""

    moments: Any

    @classmethod
    def of(cls, targets: Sequence[TargetCodes]) -> "Variance":
        """Add up the values of each target in each cell, as whole numbers; all targets have the same weight."""
        cells = len(targets[0].starts) - 1
        known, total = np.zeros((2, cells, len(targets)), dtype=np.int64)
        scale = np.zeros(len(targets))
        for index, target in enumerate(targets):
            values = _whole_numbers(target)
            missing = int(target.domain is not None and target.domain.missing)
            there = target.codes >= missing
            owners, counts = target.owners[there], target.counts[there]
            np.add.at(known[:, index], owners, counts)
            np.add.at(total[:, index], owners, counts * values[target.codes[there]])
            scale[index] = _inverse_variance(target, values, missing)
        return cls(_kernels.Moments(known, total, scale))

    def weigh(self, parts: DepthParts, starts: Codes, losses: LossSearch, weights: Codes) -> None:
        """Write the decrease of the squared deviation for every candidate."""
        targets = len(self.moments.scale)
        work = _segments(losses, starts, 2 * targets, 1, targets)
        where = (parts.rows, parts.items, starts, losses.smallest, losses.costs.fields, losses.costs.trees)
        _kernels.weigh_by_variance(*where, self.moments, losses.orders(starts), work, weights)


def _whole_numbers(target: TargetCodes) -> Codes:
    """Return the value of every code as a whole number.

    Raises `ParameterError` for a target that has neither numbers nor dates.
    """
    domain = target.domain
    if domain is None or domain.kind is Kind.TEXT or domain.declared:
        raise ParameterError.of(
            "Mondrian",
            "choose",
            f"can be variance only for targets that are numbers or dates; {target.name!r} is not",
            hint="use choose=information-gain",
        )
    line = domain.positions()
    span, rows = float(line.max() - line.min()), int(target.counts.sum())
    scale = 2.0 ** min(MAX_BITS_OF_VALUE, MAX_BITS_OF_SUM - rows.bit_length()) / span if span else 0.0
    return np.rint((line - line.min()) * scale).astype(np.int64)


def _inverse_variance(target: TargetCodes, values: Codes, missing: int) -> float:
    """Return one divided by the variance of a target in the whole table, 0 where the target is constant."""
    whole = target.whole
    counts = np.bincount(target.codes, weights=target.counts, minlength=target.size) if whole is None else whole
    own, known = values[missing:].astype(np.float64), counts[missing : len(values)].astype(np.float64)
    rows = max(float(known.sum()), 1.0)
    deviation = float(known @ (own - (known @ own) / rows) ** 2)
    return rows / deviation if deviation > 0 else 0.0


def _most_between(starts: Codes, counts: Codes) -> int:
    """Return the largest sum of counts between two consecutive starts."""
    running = starts_of(counts)
    return int(np.diff(running[starts]).max(initial=0))


def _segments(losses: LossSearch, starts: Codes, numbers: int, codes: int, targets: int) -> Any:
    """Return a thread's scratch arrays to weigh parts that begin at `starts`."""
    positions = losses.positions

    def zeros(*shape: int) -> Codes:
        return np.zeros(shape, dtype=np.int64)

    return _kernels.Segments(
        segments=np.empty(int(np.diff(starts).max(initial=0)), dtype=np.int8),
        sorted_ends=zeros(positions),
        numbers=zeros(codes),
        table=zeros(positions + 1, numbers),
        left=zeros(2, numbers),
        whole=zeros(2, numbers),
        sides=zeros(2, targets),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _TargetSearch:
    """Weighs parts by targets, and by loss among equals; parts are divided by the search by loss."""

    losses: LossSearch
    measure: _Measure
    own: Codes
    never: float = int(NEVER)

    @property
    def work(self) -> int:
        """Relative cost of one cell: it is visited twice as often as by the search by loss."""
        return 2 * self.losses.work

    def axes(self, chosen: Codes) -> Codes:
        """Return the column of each candidate."""
        return self.losses.axes(chosen)

    def divide(self, parts: DepthParts, chosen: Codes) -> Division:
        """Return the parts divided at their candidates."""
        return self.losses.divide(parts, chosen)

    def weigh(self, parts: DepthParts, first: int, last: int) -> Codes:
        """Return the rank of every candidate: by its targets, then by its loss, then in the order of columns."""
        loss = self.losses.weigh(parts, first, last)
        weights = np.full_like(loss, NEVER)
        self.measure.weigh(parts, parts.starts[first : last + 1], self.losses, weights)
        weights[:, np.repeat(self.own, self.losses.positions)] += WEIGHT_OF_TARGETS
        order = np.lexsort((loss, weights), axis=1)
        ranks = np.empty_like(loss)
        np.put_along_axis(ranks, order, np.broadcast_to(np.arange(loss.shape[1]), loss.shape), axis=1)
        return np.where(loss == NEVER, NEVER, ranks)
