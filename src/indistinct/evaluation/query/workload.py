"""How far the answers of a published table are off, over all queries of a workload, compared with the original."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np

from indistinct.document.blocks import Cell, Document, Grid, JsonValues, document, grid
from indistinct.document.result import Result
from indistinct.drawing.charts import Chart, altair, draw
from indistinct.evaluation.query.answer import Answer, Number, answers
from indistinct.figures import number, percent, plural
from indistinct.machine.arrays import Codes, Floats
from indistinct.metrics.queries.published_rows import PublishedRows
from indistinct.metrics.queries.workload import Workload


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WorkloadErrors(Result):
    """The errors of all queries of a workload, in its order, and their weighted figures.

    The relative error of a query is its absolute one over the truth, or over `sanity` where the truth is smaller.
    `matching` is the share of queries that the release answers exactly. Queries without any answer, on the original or
    on the release, have no error (NaN) and are left out of the figures; `unanswered` is their number.
    """

    workload: Workload
    truths: Codes
    estimates: Codes
    exact: Codes
    inside: Codes
    sanity: float = 1.0

    def document(self) -> Document:
        """Return the figures of both errors, and of the queries."""
        queries = plural(len(self.workload), "query", "queries")
        title = f"Errors of {queries}: relative {_part(_finite(self.relative))} on average"
        return document(title, *error_grids(JsonValues("query", self.to_json())))

    def chart(self) -> Chart:
        """Return the running share of queries by their relative error; needs the extra `report`."""
        return Chart(draw_errors(self))

    @property
    def absolute_errors(self) -> Floats:
        """The distance of each estimate from the truth."""
        return np.abs(self.estimates - self.truths)

    @property
    def relative_errors(self) -> Floats:
        """The distance of each estimate from the truth, in parts of it."""
        return self.absolute_errors / np.maximum(np.abs(self.truths), self.sanity)

    @property
    def absolute(self) -> float:
        """The weighted mean of absolute errors."""
        return self._mean(self.absolute_errors)

    @property
    def relative(self) -> float:
        """The weighted mean of relative errors."""
        return self._mean(self.relative_errors)

    @property
    def matching(self) -> float:
        """The weighted share of queries that are answered exactly."""
        weights = np.array(self.workload.weights)
        return float(weights @ self.exact / weights.sum())

    @property
    def unanswered(self) -> int:
        """The number of queries without any answer."""
        return int(np.isnan(self.absolute_errors).sum())

    def figures(self) -> dict[str, dict[str, float | None]]:
        """Return mean, median and 95th percentile of both errors, by weight."""
        kinds = {"absolute": self.absolute_errors, "relative": self.relative_errors}
        return {
            name: {
                "mean": _finite(self._mean(errors)),
                **{key: _finite(self._quantile(errors, at)) for key, at in AT.items()},
            }
            for name, errors in kinds.items()
        }

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        return {
            "queries": len(self.workload),
            "workload_digest": self.workload.digest,
            **self.figures(),
            "sanity": self.sanity,
            "matching": self.matching,
            "truth_within_bounds": float(self.inside.mean()),
            "unanswered": self.unanswered,
        }

    def _mean(self, errors: Codes | Floats) -> float:
        """Return the weighted mean of errors."""
        known, weights = ~np.isnan(errors), np.array(self.workload.weights)
        return float(weights[known] @ errors[known] / weights[known].sum()) if known.any() else math.nan

    def _quantile(self, errors: Floats, share: float) -> float:
        """Return the weighted quantile of errors."""
        known = np.flatnonzero(~np.isnan(errors))
        if not len(known):
            return math.nan
        order = known[np.argsort(errors[known], kind="stable")]
        running = np.cumsum(np.array(self.workload.weights)[order])
        position = int(np.searchsorted(running, share * running[-1] * (1 - 1e-12)))
        return float(errors[order[min(position, len(order) - 1)]])


def error_grids(values: JsonValues) -> tuple[Grid, Grid]:
    """Return the errors of the answers to a workload, and how many queries have an answer."""
    headings = ("mean", "median", "95th percentile")
    errors: list[tuple[Cell, ...]] = [
        (f"{kind} error", *(values.figure(kind, key) for key in ("mean", *AT))) for kind in ("absolute", "relative")
    ]
    queries: list[tuple[Cell, ...]] = [
        ("queries", values.figure("queries")),
        ("answered exactly", values.figure("matching", words=percent)),
        ("truth within the bounds", values.figure("truth_within_bounds", words=percent)),
        ("without an answer", values.figure("unanswered")),
        ("smallest truth that a relative error is over", values.figure("sanity")),
    ]
    return (
        grid("Errors of the answers", ("error", *headings), errors, right=headings),
        grid("The workload", ("counted", "number"), queries, right=("number",)),
    )


AT: Mapping[str, float] = {"median": 0.5, "p95": 0.95}


def errors_of(
    published: PublishedRows, original: PublishedRows, workload: Workload, *, sanity: float
) -> WorkloadErrors:
    """Compare the answers on published rows with those on the original ones."""
    size = len(workload)
    truths, estimates = np.full(size, np.nan), np.full(size, np.nan)
    exact, inside = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    pairs = zip(answers(published, workload.queries), answers(original, workload.queries), strict=True)
    for index, (estimate, true) in enumerate(pairs):
        truths[index], estimates[index] = _place(true.value), _place(estimate.value)
        exact[index], inside[index] = estimate.exact, _within(estimate, true)
    return WorkloadErrors(workload, truths, estimates, exact, inside, sanity)


def _within(answer: Answer, true: Answer) -> bool:
    """Return whether the true answer is within the bounds of the estimated one."""
    value, low, high = (_place(each) for each in (true.value, answer.low, answer.high))
    small = 1e-9 * max(abs(value), 1.0)
    return math.isnan(value) or low - small <= value <= high + small


def _place(value: Number | None) -> float:
    """Return an answer as a number; dates in days."""
    if value is None:
        return math.nan
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1)).total_seconds() / 86_400
    return float((value - date(1970, 1, 1)).days) if isinstance(value, date) else float(value)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


MAX_POINTS = 400


def draw_errors(found: WorkloadErrors, *, title: str = "How far the answers are off") -> str:
    """Return the running share of queries by their relative error, as an SVG document."""
    alt: Any = altair()
    errors = found.relative_errors
    known = np.flatnonzero(~np.isnan(errors))
    order = known[np.argsort(errors[known], kind="stable")]
    weights = np.array(found.workload.weights)[order]
    running = np.cumsum(weights) / max(float(weights.sum()), 1e-300)
    picked = np.unique(np.linspace(0, max(len(order) - 1, 0), MAX_POINTS).astype(int)) if len(order) else order
    points = [{"error": float(errors[order[index]]), "share": float(running[index])} for index in picked.tolist()]
    chart = (
        alt.Chart(alt.Data(values=[{"error": 0.0, "share": 0.0}, *points]))
        .mark_line(interpolate="step-after", color="#0072B2")
        .encode(
            x=alt.X("error:Q", title="relative error at most", axis=alt.Axis(format=".0%")),
            y=alt.Y("share:Q", title="share of queries, by weight", axis=alt.Axis(format=".0%")),
        )
        .properties(width=520, height=280)
    )
    figures = found.figures()["relative"]
    words = ", ".join(f"{name} {_part(value)}" for name, value in figures.items())
    notes = [
        f"{number(len(found.workload))} queries; relative error: {words}",
        f"{percent(found.matching)} of the queries are answered exactly; "
        f"truths below {number(found.sanity)} count as {number(found.sanity)}",
    ]
    return draw(chart, title=title, notes=notes)


def _part(value: float | None) -> str:
    return "–" if value is None else number(value)
