"""One point of a comparison, tried: a release is made, measured and assessed, and only figures are kept of it."""

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from indistinct.errors import IndistinctError, InfeasibleError
from indistinct.job.job import Job
from indistinct.job.running import run_job
from indistinct.metrics import Metric
from indistinct.release.release import Release
from indistinct.study.assess.assessing import assess
from indistinct.study.compare.grid import Point
from indistinct.study.measure.measuring import measure

State = Literal["done", "infeasible", "failed"]


@dataclass(frozen=True, slots=True, eq=False)
class ComparedJob:
    """The job that a comparison varies, whose table is open, and what is measured of every release."""

    job: Job
    metrics: tuple[Metric, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a point: the figures of its release, or why there is none. It holds no value of the table.

    `highest_risk` and `average_risk` are a prosecutor's; `rows` and what follows are of the release. A metric is None
    where it says nothing of such a release, as of one in buckets. `kept` tells that an earlier run made it.
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
    """Return the trial that `to_json` wrote; raise `KeyError` or `TypeError` if it is none."""
    figures = dict(document)
    point = Point(*(figures.pop(name) for name in ("algorithm", "model", "suppression")))
    if figures["state"] not in ("done", "infeasible"):
        raise TypeError("not a trial that is kept")
    return Trial(point, **figures)


def try_point(compared: ComparedJob, point: Point) -> Trial:
    """Return what a point gives; a failure is told in the words of its error, which hold no value of the table."""
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
    found = measure(release, compared.metrics)
    values = {metric.name: found.get(metric.name) for metric in compared.metrics}
    return {name: value if value is not None and math.isfinite(value) else None for name, value in values.items()}


def _since(began: float) -> float:
    return round(time.perf_counter() - began, 3)
