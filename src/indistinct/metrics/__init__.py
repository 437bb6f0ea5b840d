"""Metrics measure what a recoding costs: the same ones guide an algorithm's search and appear in the report.

Every metric counts the rows of the original table. Suppressed rows are charged as if everything about them were lost,
except by `AverageClassSize`, which only looks at released rows.

`monotone` means: merging released classes while the suppressed rows stay the same never improves the value. It does not
cover a search in which a coarser node suppresses fewer rows than a finer one: there no metric is monotone, so only a
search without suppression may prune by it.
"""

from indistinct.metrics.base import BETTER, SHARES, AdditiveMetric, CellMetric, Goal, Metric
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
from indistinct.metrics.registry import (
    EVERY_METRIC,
    METRICS,
    SUMMED_BY_PART,
    Measurements,
    describe_metric,
    measure_all,
    metric_grid,
    metric_of,
    parse_metric,
    standard_metrics,
)
from indistinct.metrics.workload import WorkloadError

__all__ = [
    "BETTER",
    "EVERY_METRIC",
    "GCP",
    "METRICS",
    "NCP",
    "SHARES",
    "SUMMED_BY_PART",
    "AdditiveMetric",
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
    "metric_grid",
    "metric_of",
    "parse_metric",
    "privacy_loss",
    "standard_metrics",
    "tuple_distance",
    "tuple_distortion",
    "weighted_hierarchical_distance",
]
