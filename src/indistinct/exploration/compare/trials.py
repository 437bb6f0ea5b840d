"""Points of a comparison and their trials: a release is made, measured and assessed, and its figures are kept.

A point is an algorithm with a model and a suppression limit; a grid has every combination of them.
"""

import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any, Literal

from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.registry import parse_algorithm
from indistinct.errors import IndistinctError, InfeasibleError, ParameterError
from indistinct.evaluation.assess.assess import assess
from indistinct.evaluation.measure.measure import measure
from indistinct.exploration.preference import ANALYSIS_LOSS, Preference
from indistinct.job.job import Job
from indistinct.job.running import run_job
from indistinct.metrics.base import Metric
from indistinct.metrics.registry import parse_metric
from indistinct.models import Model
from indistinct.models.registry import parse_model
from indistinct.release.release import Release
from indistinct.suppression_limit import NO_BUDGET, AnyBudget, Budget, parse_budget
from indistinct.text_form import spell, split_specs

STANDARD = ("gcp", "discernibility")
"""The metrics that are measured by default."""
Algorithms = str | Algorithm | Sequence[str | Algorithm]
Models = str | Model | Sequence[str | Model | None] | None
Metrics = str | Metric | Sequence[str | Metric]
Budgets = AnyBudget | Sequence[AnyBudget]


@dataclass(frozen=True, slots=True)
class Point:
    """One release to try: an algorithm and a model by their specifications, and a suppression limit.

    The model is None where the algorithm has its own guarantee.
    """

    algorithm: str
    model: str | None
    suppression: Budget = NO_BUDGET

    def __post_init__(self) -> None:
        object.__setattr__(self, "suppression", parse_budget(self.suppression))

    @property
    def name(self) -> str:
        """Return the point as part of a file name.

        >>> Point("mondrian:relaxed=true", "k-anonymity:k=5").name
        'mondrian-relaxed-true-k-anonymity-k-5'
        """
        words = [self.algorithm, self.model or "", f"drop {self.suppression}" if self.suppression else ""]
        return re.sub(r"[^0-9a-zA-Z.]+", "-", " ".join(words)).strip("-")


def points_of(algorithms: Algorithms, models: Models, suppression: Budgets) -> tuple[Point, ...]:
    """Return every combination once, algorithms slowest, and raise for an impossible specification or limit.

    >>> [point.model for point in points_of("mondrian", "k-anonymity:k=5,k-anonymity:k=2", 0)]
    ['k-anonymity:k=5', 'k-anonymity:k=2']
    """
    searches = [parse_algorithm(each) if isinstance(each, str) else each for each in _list_specs(algorithms)]
    asked = [parse_model(each) if isinstance(each, str) else each for each in _list_specs(models)] or [None]
    budgets = [parse_budget(each) for each in _list_budgets(suppression)]
    if not searches or not budgets:
        raise ParameterError("a comparison needs an algorithm and a suppression limit", hint="algorithms=['auto']")
    grid = [
        Point(spell(search), None if model is None else model.spec(), budget)
        for search, model, budget in product(searches, asked, budgets)
        if model is not None or search.promise() is not None
    ]
    if not grid:
        raise ParameterError("no model is given", hint="name models to compare, such as k-anonymity:k=5")
    return tuple(dict.fromkeys(grid))


def _list_budgets(given: Budgets) -> list[AnyBudget]:
    """Return budgets one by one: a text may name several.

    >>> _list_budgets("0, 4 rows")
    ['0', ' 4 rows']
    """
    several = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return [part for each in several for part in (each.split(",") if isinstance(each, str) else [each])]


def metrics_of(metrics: Metrics | None) -> tuple[Metric, ...]:
    """Return the named metrics, by default two that apply to every release in classes."""
    named = _list_specs(STANDARD if metrics is None else metrics)
    chosen = tuple(parse_metric(each) if isinstance(each, str) else each for each in named)
    names = [metric.name for metric in chosen]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not chosen:
        problem = f"asked for twice: {', '.join(twice)}" if twice else "none is named"
        raise ParameterError(f"each metric is measured once; {problem}", hint="for example gcp,discernibility")
    return chosen


def _list_specs(given: Any) -> list[Any]:
    """Return the specifications one by one: a text may contain several."""
    if given is None:
        return []
    several = given if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    return [part for each in several for part in (split_specs(each) if isinstance(each, str) else [each])]


State = Literal["done", "infeasible", "failed"]


@dataclass(frozen=True, slots=True, eq=False)
class ComparedJob:
    """The job that a comparison varies, with its opened table, and the metrics of every release."""

    job: Job
    metrics: tuple[Metric, ...]
    preference: Preference | None = None

    @property
    def goals(self) -> dict[str, str]:
        """Return "min" or "max", the better direction of each metric; the first one ranks."""
        preferred = {} if self.preference is None else {ANALYSIS_LOSS: "min"}
        return {**preferred, **{metric.name: metric.goal for metric in self.metrics}}


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a point: the figures of its release, or why there is none. It contains no value of the table.

    `highest_risk` and `average_risk` are prosecutor risks; `rows` and the fields after it describe the release. A
    metric is None if it does not apply to such a release, for example to one in buckets. `kept`: an earlier run made
    it.
    """

    point: Point
    state: State
    reason: str | None = None
    rows: int | None = None
    suppressed: int | None = None
    classes: int | None = None
    smallest_class: int | None = None
    highest_risk: float | None = None
    average_risk: float | None = None
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    seconds: float = 0.0
    kept: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, the point among them."""
        figures = asdict(self)
        return {**figures.pop("point"), "suppression": self.point.suppression.plain, **figures}


def trial_from_json(document: Mapping[str, Any]) -> Trial:
    """Return the trial that `to_json` wrote; raise `KeyError` or `TypeError` for another document."""
    figures = dict(document)
    point = Point(*(figures.pop(name) for name in ("algorithm", "model", "suppression")))
    if figures["state"] not in ("done", "infeasible"):
        raise TypeError("not a trial that is kept")
    return Trial(point, **figures)


def try_point(compared: ComparedJob, point: Point) -> Trial:
    """Return the trial of a point; a failure has the message of its error, which contains no value of the table."""
    began = time.perf_counter()
    try:
        return _figures(compared, point, began)
    except InfeasibleError as error:
        return Trial(point, "infeasible", error.message, seconds=_since(began))
    except IndistinctError as error:
        return Trial(point, "failed", error.message, seconds=_since(began))
    except Exception as error:  # noqa: BLE001 (what breaks one point leaves the others; it might quote a cell)
        return Trial(point, "failed", f"an unexpected {type(error).__name__}", seconds=_since(began))


def _figures(compared: ComparedJob, point: Point, began: float) -> Trial:
    """Make the release of a point, and return its figures."""
    varied = replace(compared.job, model=point.model, algorithm=point.algorithm, suppression=point.suppression)
    release = run_job(varied)
    seconds = _since(began)
    risk, certificate = assess(release).risk, release.certificate
    return Trial(
        point,
        "done",
        rows=certificate.rows,
        suppressed=certificate.suppressed_rows,
        classes=certificate.classes,
        smallest_class=risk.smallest,
        highest_risk=risk.prosecutor.highest,
        average_risk=risk.prosecutor.average,
        metrics=_measure(compared, release),
        seconds=seconds,
    )


def _measure(compared: ComparedJob, release: Release) -> dict[str, float | None]:
    """Measure a release by the compared metrics; figures that are not finite are None."""
    measurements = measure(release, compared.metrics)
    values: dict[str, float | None] = {metric.name: measurements.get(metric.name) for metric in compared.metrics}
    if compared.preference is not None:
        values[ANALYSIS_LOSS] = compared.preference.loss(release)
    return {name: value if value is not None and math.isfinite(value) else None for name, value in values.items()}


def _since(began: float) -> float:
    """Return the seconds since a time."""
    return round(time.perf_counter() - began, 3)
