"""Metrics that judge a recoding by how much of its column's domain each published value covers.

The definitions in use differ in their denominators. For a published value that covers `leaves` of `size`
values, or the stretch `high - low` of a line of length `span`:

| | names | columns measured along their line | suppressed cell |
|---|---|---|---|
| LM (Iyengar 2002) | (leaves - 1) / (size - 1) | (high - low) / span | 1 |
| ILoss (Xiao and Tao 2006) | (leaves - 1) / size | (leaves - 1) / size | (size - 1) / size |
| NCP (Xu et al. 2006) | 0 for one leaf, else leaves / size | (high - low) / span | 1 |
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.machine.arrays import Codes
from indistinct.metrics.cells import CellMetric, SummedMetric, mean_per_cell
from indistinct.metrics.importance import NO_IMPORTANCE, Importance
from indistinct.recoding.outputs import PublishedColumn


@dataclass(frozen=True, slots=True)
class Loss(CellMetric):
    """LM, Iyengar's loss metric, as the mean over all cells of the table: 0 is untouched, 1 all gone."""

    name: ClassVar[str] = "loss"
    meaning: ClassVar[str] = "mean share of detail lost in a cell"
    bounds: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)

    def charge(self, column: PublishedColumn) -> Codes:
        """Charge LM; a suppressed cell counts 1."""
        if column.ranged:
            return _widths(column)
        return (column.leaves - 1) / (column.size - 1) if column.size > 1 else np.zeros(len(column))

    def combine(self, totals: Codes, *, rows: int) -> Codes:
        """Return the mean LM of a cell."""
        return mean_per_cell(totals, rows=rows)


@dataclass(frozen=True, slots=True)
class GeometricLoss(Loss):
    """The geometric mean over columns of 1 + LM, minus 1, where a column's LM is its mean over all rows.

    It is never above `Loss`, and equal to it where every column loses the same.
    """

    name: ClassVar[str] = "geometric-loss"
    meaning: ClassVar[str] = "loss, as a geometric mean over columns"

    def combine(self, totals: Codes, *, rows: int) -> Codes:
        """Return the d-th root of the product of 1 + L, minus 1, over the d columns' mean losses L."""
        return np.asarray(np.expm1(np.log1p(totals / max(rows, 1)).mean(axis=-1)))


@dataclass(frozen=True, slots=True)
class ILoss(SummedMetric):
    """ILoss of Xiao and Tao (2006), summed over all rows; `importance` weighs columns."""

    name: ClassVar[str] = "iloss"
    meaning: ClassVar[str] = "detail lost, summed over all cells"
    importance: Importance = NO_IMPORTANCE

    def charge(self, column: PublishedColumn) -> Codes:
        """Charge ILoss."""
        lost = (column.leaves - 1) / column.size if column.size else np.zeros(len(column))
        return self.importance.of(column.column) * lost

    def dropped(self, column: PublishedColumn) -> float:
        """Charge a suppressed cell as much as the whole domain."""
        return self.importance.of(column.column) * (column.size - 1) / column.size if column.size else 0.0


@dataclass(frozen=True, slots=True)
class NCP(SummedMetric):
    """Normalized certainty penalty of Xu et al. (2006), summed over all rows; `importance` weighs columns."""

    name: ClassVar[str] = "ncp"
    meaning: ClassVar[str] = "width of published values, all cells"
    importance: Importance = NO_IMPORTANCE

    def charge(self, column: PublishedColumn) -> Codes:
        """Charge NCP."""
        return self.importance.of(column.column) * ncp_fractions(column)

    def dropped(self, column: PublishedColumn) -> float:
        """Charge a suppressed cell as much as the whole domain."""
        return self.importance.of(column.column)


@dataclass(frozen=True, slots=True)
class GCP(CellMetric):
    """Global certainty penalty: NCP as the mean over all cells of the original table."""

    name: ClassVar[str] = "gcp"
    meaning: ClassVar[str] = "mean width of a published value, 0 to 1"
    bounds: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)

    def charge(self, column: PublishedColumn) -> Codes:
        """Charge NCP; a suppressed cell counts 1."""
        return ncp_fractions(column)

    def combine(self, totals: Codes, *, rows: int) -> Codes:
        """Return NCP / (rows * columns)."""
        return mean_per_cell(totals, rows=rows)


def ncp_fractions(column: PublishedColumn) -> Codes:
    """Return NCP of each published value of a column; a single leaf costs nothing."""
    if column.ranged:
        return _widths(column)
    return np.where(column.leaves == 1, 0.0, column.leaves / max(column.size, 1))


def _widths(column: PublishedColumn) -> Codes:
    return (column.high - column.low) / column.span if column.span else np.zeros(len(column))
