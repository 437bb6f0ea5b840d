"""A metric of cells with attribute weights."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from indistinct.machine.arrays import Floats
from indistinct.metrics.base import CellMetric, Goal, Metric, SummedMetric
from indistinct.recoding.columns import Importance
from indistinct.recoding.outputs import PublishedColumn


@dataclass(frozen=True, slots=True)
class WeightedMetric(CellMetric):
    """The weighted mean of a metric that is a mean over columns; weights are divided by their mean."""

    metric: CellMetric
    weights: tuple[tuple[str, float], ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the metric."""
        return self.metric.name

    @property
    def goal(self) -> Goal:  # type: ignore[override]
        """The better direction."""
        return self.metric.goal

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """The histograms of the metric."""
        return self.metric.keys

    def charge(self, column: PublishedColumn) -> Floats:
        """Charge what the metric charges, times the column's weight."""
        return dict(self.weights)[column.column] * np.asarray(self.metric.charge(column))

    def dropped(self, column: PublishedColumn) -> float:
        """Charge a suppressed cell, times the column's weight."""
        return dict(self.weights)[column.column] * self.metric.dropped(column)

    def combine(self, totals: Floats, *, rows: int) -> Floats:
        """Return the metric from totals by column."""
        return self.metric.combine_weighted(totals, np.array([weight for _, weight in self.weights]), rows=rows)


def weigh_metric(metric: Metric, importance: Importance, columns: Sequence[str]) -> Any:
    """Return a metric with attribute weights; a metric that does not charge cells is returned unchanged.

    A metric with its own weights keeps them; raise if these name another column.
    """
    if isinstance(metric, SummedMetric):
        given: Any = metric
        weighted = metric if metric.importance else replace(given, importance=importance)
        weighted.importance.check(columns)
        return weighted
    if not importance or not isinstance(metric, CellMetric):
        return metric
    weights = np.array([importance.of(name) for name in columns])
    return WeightedMetric(metric, tuple(zip(columns, (weights / weights.mean()).tolist(), strict=True)))
