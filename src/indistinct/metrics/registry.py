"""Metrics by name, built in and from other packages, and the meaning of their values."""

from collections.abc import Mapping
from types import MappingProxyType

from indistinct.extension import Registry
from indistinct.metrics.base import BETTER, BUCKET_METRICS, AdditiveMetric, Metric
from indistinct.metrics.information import AverageClassSize, ClassificationMetric, Discernibility, NonUniformEntropy
from indistinct.metrics.loss import GCP, NCP, Distortion, GeometricLoss, ILoss, Loss, Precision
from indistinct.metrics.workload import WorkloadError
from indistinct.spelling import parse

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
"""Every built-in metric by its name; here and not in the registry, because searches read metrics too."""

SUMMED_BY_PART: tuple[AdditiveMetric, ...] = (Discernibility(), GCP())
"""The metrics that are summed while a release is made part by part."""

EVERY_METRIC = Registry(METRICS, base=Metric, group="indistinct.metrics")
"""The built-in metrics, and those of other packages."""


def parse_metric(text: str) -> Metric:
    """Return the metric that a text describes."""
    return parse(text, EVERY_METRIC, what="metric")


def metric_of(metric: str | Metric) -> Metric:
    """Return a metric that is given as a value or as text."""
    return parse_metric(metric) if isinstance(metric, str) else metric


def describe_metric(name: str) -> tuple[str, str]:
    """Return (better direction, meaning) of a measurement; empty texts where they are not known.

    >>> describe_metric("precision")
    ('higher', '1 is untouched, 0 all at the top')
    """
    if name in BUCKET_METRICS:
        goal, meaning = BUCKET_METRICS[name]
        return BETTER[goal], meaning
    kind = EVERY_METRIC.get(name)
    return ("", "") if kind is None else (BETTER[kind.goal], kind.meaning)


def standard_metrics(*, k: int, target: str | None = None) -> tuple[Metric, ...]:
    """Return every metric with its usual parameters, without workloads; classification only with a target."""
    kinds = [kind for kind in METRICS.values() if kind not in (ClassificationMetric, WorkloadError)]
    every = tuple(kind().for_promise(k) for kind in kinds)
    return every if target is None else (*every, ClassificationMetric(target))
