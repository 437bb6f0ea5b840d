"""Metrics say what a recoding costs: the same ones guide an algorithm's search and fill the report.

Every metric counts the rows of the original table; those that a recoding suppresses are charged as if
everything about them were lost, except by `AverageClassSize`, which looks at released rows alone.

`monotone` speaks of merging released classes while the suppressed rows stay the same: that never gets a
better value. It says nothing of a search in which a coarser node suppresses fewer rows than a finer one: no
metric here is monotone then, so only a search that suppresses nothing may prune by it.
"""

from collections.abc import Mapping
from types import MappingProxyType

from indistinct.extension import Registry
from indistinct.metrics.base import BETTER, CellMetric, Goal, Measurements, Metric, measure_all
from indistinct.metrics.buckets import BUCKET_METRICS
from indistinct.metrics.information import (
    AverageClassSize,
    ClassificationMetric,
    Discernibility,
    NonUniformEntropy,
    SizeMetric,
    igpl,
    information_gain,
    information_gain_per_loss,
    privacy_loss,
)
from indistinct.metrics.loss import (
    GCP,
    NCP,
    Distortion,
    GeneralizedTuple,
    GeometricLoss,
    ILoss,
    Loss,
    Precision,
    class_distance,
    closest_common,
    tuple_distance,
    tuple_distortion,
    weighted_hierarchical_distance,
)
from indistinct.metrics.workload import WorkloadError
from indistinct.spelling import parse

__all__ = [
    "BETTER",
    "EVERY_METRIC",
    "GCP",
    "METRICS",
    "NCP",
    "AverageClassSize",
    "CellMetric",
    "ClassificationMetric",
    "Discernibility",
    "Distortion",
    "GeneralizedTuple",
    "GeometricLoss",
    "Goal",
    "ILoss",
    "Loss",
    "Measurements",
    "Metric",
    "NonUniformEntropy",
    "Precision",
    "SizeMetric",
    "WorkloadError",
    "class_distance",
    "closest_common",
    "describe_metric",
    "igpl",
    "information_gain",
    "information_gain_per_loss",
    "measure_all",
    "metric_of",
    "parse_metric",
    "privacy_loss",
    "standard_metrics",
    "tuple_distance",
    "tuple_distortion",
    "weighted_hierarchical_distance",
]


METRICS: Mapping[str, type[Metric]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Discernibility,
            AverageClassSize,
            Loss,
            ILoss,
            NCP,
            GCP,
            Precision,
            Distortion,
            NonUniformEntropy,
            GeometricLoss,
            ClassificationMetric,
            WorkloadError,
        )
    }
)
"""Every built-in metric by its name in the literature; here, and not in the registry, for searches read metrics too."""

EVERY_METRIC = Registry(METRICS, base=Metric, group="indistinct.metrics")
"""The built-in metrics, and those of other packages."""


def parse_metric(text: str) -> Metric:
    """Return the metric that a text spells."""
    return parse(text, EVERY_METRIC, what="metric")


def metric_of(metric: str | Metric) -> Metric:
    """Return a metric that is given as such, or spelled."""
    return parse_metric(metric) if isinstance(metric, str) else metric


SHARES = ("loss", "gcp", "precision", "geometric-loss")
"""Metrics that are shares, from none to all; others are sums or ratios."""


def describe_metric(name: str) -> tuple[str, str]:
    """Return which values of a measurement are better, in a word, and what they mean; nothing where nobody says it.

    >>> describe_metric("precision")
    ('higher', '1 is untouched, 0 all at the top')
    """
    if name in BUCKET_METRICS:
        goal, meaning = BUCKET_METRICS[name]
        return BETTER[goal], meaning
    kind = EVERY_METRIC.get(name)
    return ("", "") if kind is None else (BETTER[kind.goal], kind.meaning)


def standard_metrics(*, k: int, target: str | None = None) -> tuple[Metric, ...]:
    """Return every metric with its usual parameters; classification only where a label is named, and no workload."""
    kinds = [kind for kind in METRICS.values() if kind not in (ClassificationMetric, WorkloadError)]
    every = tuple(kind().for_promise(k) for kind in kinds)
    return every if target is None else (*every, ClassificationMetric(target))
