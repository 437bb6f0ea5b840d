"""How many rows show each value that a recoding publishes: the sums that every cell-wise metric is made of.

A metric of cells charges each published value of a column once and multiplies by the rows that show it, so
its cost is one pass over the classes for each column, whatever the number of rows.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from indistinct.errors import ParameterError
from indistinct.machine.arrays import Codes
from indistinct.metrics.base import Metric
from indistinct.recoding.outputs import Assignment, PublishedColumn


class CellMetric(Metric):
    """A metric that charges every cell on its own and combines the columns' totals.

    Because the charge of a cell depends on its published value alone, a search can know the cost of a whole column at
    a level before it counts a single class.
    """

    __slots__ = ()

    @abstractmethod
    def charge(self, column: PublishedColumn) -> Codes:
        """Return the cost of each published value of a column."""

    def dropped(self, column: PublishedColumn) -> float:
        """Return the cost of a suppressed cell of a column."""
        return 1.0

    @abstractmethod
    def combine(self, totals: Codes, *, rows: int) -> Codes:
        """Return the metric from totals by column, on the last axis; a larger total never gives a better value."""

    def value(self, assignment: Assignment) -> float:
        """Return the metric of a recoded table: 0 rows cost nothing."""
        return float(self.combine(cell_totals(assignment, self), rows=assignment.rows))


class SummedMetric(CellMetric):
    """A metric of cells that adds up rows and columns; `weights` are the columns', in quasi-identifier order."""

    __slots__ = ()
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if any(not math.isfinite(weight) or weight < 0 for weight in self.weights):
            raise ParameterError.of(
                type(self).__name__,
                "weights",
                "must be finite and not negative",
                hint="leave `weights` out to count every column once",
            )

    def combine(self, totals: Codes, *, rows: int) -> Codes:
        """Return the sum over rows and columns."""
        return weighted_sum(totals, self.weights)


def cell_totals(assignment: Assignment, metric: CellMetric) -> Codes:
    """Return the sum of a metric's charges over all rows, one total a column."""
    sizes, totals = assignment.classes.sizes, np.empty(len(assignment.columns))
    for place, column in enumerate(assignment.columns):
        rows = np.bincount(assignment.values[:, place], weights=sizes, minlength=len(column))
        totals[place] = float(rows @ metric.charge(column)) + assignment.suppressed * metric.dropped(column)
    return totals


def mean_per_cell(totals: Codes, *, rows: int) -> Codes:
    """Return the mean over all cells of the original table, suppressed ones too; 0 for an empty table."""
    return np.asarray(totals.sum(axis=-1) / max(rows * totals.shape[-1], 1))


def weighted_sum(totals: Codes, weights: Sequence[float]) -> Codes:
    """Return the sum of column totals under weights in their order; without weights each counts once."""
    if not weights:
        return np.asarray(totals.sum(axis=-1))
    if len(weights) != totals.shape[-1]:
        raise ParameterError(
            f"`weights` must hold one number for each of {totals.shape[-1]} quasi-identifiers; got {len(weights)}",
            hint="give the weights in the order of the schema's quasi-identifiers, or none at all",
        )
    return np.asarray(totals @ np.asarray(weights, dtype=np.float64))
