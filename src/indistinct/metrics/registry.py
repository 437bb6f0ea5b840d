"""Metrics by name, built in and from other packages, and the meaning of their values."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from indistinct.as_json import to_plain
from indistinct.document.blocks import Document, Grid, JsonValues, Words, document, grid, listing
from indistinct.document.result import Result
from indistinct.errors import ParameterError
from indistinct.figures import percent, short
from indistinct.metrics.base import BETTER, BUCKET_METRICS, SHARES, AdditiveMetric, Metric, counted_in_people
from indistinct.metrics.information import AverageClassSize, ClassificationMetric, Discernibility, NonUniformEntropy
from indistinct.metrics.loss import GCP, NCP, Distortion, GeometricLoss, ILoss, Loss, Precision
from indistinct.metrics.workload import WorkloadError
from indistinct.recoding.outputs import Assignment
from indistinct.text_form import Registry, parse

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


LOG = logging.getLogger("indistinct.measure")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measurements(Result, Mapping[str, float]):
    """Metric values by registered name, in the order of the request; an immutable mapping.

    `not_measured` has the standard metrics that were left out, and why.

    >>> Measurements((("discernibility", 12.0), ("gcp", 0.2)))["gcp"]
    0.2
    """

    pairs: tuple[tuple[str, float], ...] = ()
    not_measured: tuple[tuple[str, str], ...] = ()

    def __getitem__(self, name: str) -> float:
        return dict(self.pairs)[name]

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def document(self) -> Document:
        """Return a line for each metric, and the metrics that were left out with the reasons."""
        title = "Measurements: " + ", ".join(f"{name} {_word_of(name)(value)}" for name, value in self.pairs)
        missing = tuple(f"{name} was not measured: {reason}" for name, reason in self.not_measured)
        return document(title, metric_grid(JsonValues("measure", self.to_json())), *listing(missing))

    def to_json(self) -> dict[str, float | None]:
        """Return plain JSON values; a value that is not finite, which JSON cannot express, becomes None."""
        return {key: to_plain(value) for key, value in self.pairs}


def measure_all(assignment: Assignment, metrics: Sequence[Metric]) -> Measurements:
    """Return the value of each metric of a recoded table, in people where people are counted."""
    names = [metric.name for metric in metrics]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(
            f"each metric is measured once; asked for twice: {', '.join(twice)}",
            hint="measure the same metric with other parameters in a second call",
        )
    LOG.info("measuring %d metrics of %d rows", len(metrics), assignment.rows)
    people = counted_in_people(assignment)
    values = [metric.value(assignment if metric.counts_rows else people) for metric in metrics]
    return Measurements(tuple(zip(names, values, strict=True)))


def metric_grid(values: JsonValues, *path: str, caption: str = "Metrics") -> Grid:
    """Return a table of metrics with their values, better directions and meanings; `path` leads to them in the JSON."""
    rows = [
        (name, values.figure(*path, name, words=_word_of(name), absent="infinite"), *describe_metric(name))
        for name in values.at(*path)
    ]
    return grid(caption, ("metric", "value", "better", "meaning"), rows, right=("value",))


def _word_of(name: str) -> Words:
    return percent if name in SHARES else short
