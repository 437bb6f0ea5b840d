"""A picture of a workload's errors: which share of its queries is off by at most so much."""

from typing import Any

import numpy as np

from indistinct.drawing.charts import altair, draw
from indistinct.figures import number, percent
from indistinct.study.query.workload import WorkloadErrors

MOST_POINTS = 400


def draw_errors(found: WorkloadErrors, *, title: str = "How far the answers are off") -> str:
    """Return the running share of queries by their relative error, as an SVG document."""
    alt: Any = altair()
    errors = found.relative_errors
    known = np.flatnonzero(~np.isnan(errors))
    order = known[np.argsort(errors[known], kind="stable")]
    weights = np.array(found.workload.weights)[order]
    running = np.cumsum(weights) / max(float(weights.sum()), 1e-300)
    picked = np.unique(np.linspace(0, max(len(order) - 1, 0), MOST_POINTS).astype(int)) if len(order) else order
    points = [{"error": float(errors[order[place]]), "share": float(running[place])} for place in picked.tolist()]
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
