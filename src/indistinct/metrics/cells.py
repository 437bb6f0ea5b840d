"""How many rows show each value that a recoding publishes: the sums that every cell-wise metric is made of.

A metric of cells charges each published value of a column once and multiplies by the rows that show it, so
its cost is one pass over the classes for each column, whatever the number of rows.
"""

from abc import abstractmethod

import numpy as np

from indistinct.machine.arrays import Codes
from indistinct.metrics.base import Metric
from indistinct.metrics.importance import Importance, importance_of
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
    """A metric of cells that adds up rows and columns, each column as often as its `importance` says."""

    __slots__ = ()
    importance: Importance

    def __post_init__(self) -> None:
        object.__setattr__(self, "importance", importance_of(self.importance))

    def combine(self, totals: Codes, *, rows: int) -> Codes:
        """Return the sum over rows and columns; charges are weighed already."""
        return np.asarray(totals.sum(axis=-1))

    def value(self, assignment: Assignment) -> float:
        """Return the metric of a recoded table; every column that is important must be one of its own."""
        self.importance.check([column.column for column in assignment.columns])
        return CellMetric.value(self, assignment)


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
