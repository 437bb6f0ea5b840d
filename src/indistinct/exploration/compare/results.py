"""The results in a comparison's folder: figures as JSON and CSV, pictures of risk and utility, and a page."""

from collections import defaultdict
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from indistinct.document.blocks import (
    Cell,
    Code,
    Document,
    Grid,
    JsonValues,
    Paragraph,
    Picture,
    Section,
    Words,
    grid,
    listing,
)
from indistinct.document.html import page_html
from indistinct.drawing.charts import COLOURS, GREY, altair, draw
from indistinct.drawing.lines import SHORT, Scale, line_charts, measure_axis
from indistinct.exploration.compare.compare import RISKS, Comparison, Risk
from indistinct.exploration.compare.trials import Trial
from indistinct.figures import percent, short
from indistinct.metrics.base import SHARES
from indistinct.models import Model
from indistinct.models.registry import parse_model

if TYPE_CHECKING:
    import altair as alt
import json
from pathlib import Path

from indistinct.exploration.compare.folder import write_private
from indistinct.exploration.compare.trials import Point

# In the order of line charts, so that an algorithm has the same mark in all pictures; with seven colors there are 56.
SHAPES = ("circle", "square", "triangle-up", "cross", "diamond", "triangle-right", "triangle-down", "triangle-left")
WIDTH, HEIGHT = 330, 240
# More labels than this along a front would overlap.
MAX_LABELS = 8
MIN_RATIO_FOR_LOGARITHM = 30
TICKS = tuple(digit / 10.0**power for power in range(8, -1, -1) for digit in (1, 3))
RISK_TITLES = {"highest": "highest risk of anybody", "average": "average risk"}


def draw_comparison(comparison: Comparison) -> dict[str, str]:
    """Return the SVG documents for which a comparison has points, by name."""
    drawn = {}
    if any(trial.state == "done" for trial in comparison.trials):
        drawn["risk-and-utility"] = draw_risk(comparison)
    rows, parameter = sweep(comparison)
    if rows:
        drawn["sweep"] = draw_sweep(comparison, rows, parameter)
    return drawn


def draw_risk(comparison: Comparison) -> str:
    """Return each metric against each risk, a mark for every release, and a line along the Pareto front."""
    alt = altair()
    done = [trial for trial in comparison.trials if trial.state == "done"]
    names = list(dict.fromkeys(series_of(comparison, trial) for trial in done))
    measured = [name for name in comparison.metrics if any(trial.metrics.get(name) is not None for trial in done)]
    charts = [
        alt.hconcat(*(_against(comparison, done, metric, risk, names=names) for risk in RISKS)) for metric in measured
    ]
    notes = [
        f"{comparison.rows:,} rows; a mark is a release, and the line joins the Pareto front: releases that no other",
        "one beats in both; risk is a prosecutor's, one over the people in a class",
    ]
    return draw(alt.vconcat(*charts), title="Risk against utility", notes=notes, legend=names)


def _against(
    comparison: Comparison, shown: list[Trial], metric: str, risk: Risk, *, names: list[str]
) -> "alt.LayerChart":
    """Draw one metric against risk, with the Pareto front."""
    alt = altair()
    values = [_mark(comparison, trial, metric, risk) for trial in shown if trial.metrics.get(metric) is not None]
    front = [_mark(comparison, trial, metric, risk) for trial in comparison.pareto(metric, risk=risk)]
    better = "lower" if comparison.metrics[metric] == "min" else "higher"
    title = f"{metric} ({better} is better)"
    y = measure_axis([each["value"] for each in values], ("value", title), _scale(values, "value"))
    x = alt.X("risk:Q", title=f"{RISK_TITLES[risk]} (lower is better)").axis(labelExpr=SHORT, tickCount=5)
    x = x.scale(type=_scale(values, "risk"), zero=False, padding=18)
    if _scale(values, "risk") == "log":
        x = x.axis(labelExpr=SHORT, values=TICKS)
    colours = [COLOURS[index % len(COLOURS)] for index in range(len(names))]
    shapes = [SHAPES[index % len(SHAPES)] for index in range(len(names))]
    marks = alt.Chart(alt.Data(values=values)).mark_point(size=62, filled=True, opacity=0.85)
    marks = marks.encode(
        x=x,
        y=y,
        color=alt.Color("series:N").scale(domain=names, range=colours),
        shape=alt.Shape("series:N").scale(domain=names, range=shapes),
    )
    line = alt.Chart(alt.Data(values=front)).mark_line(color=GREY, strokeWidth=1.2, strokeDash=[4, 3])
    layers = [line.encode(x=x, y=y, order="risk:Q"), marks]
    if risk == "highest" and len(front) <= MAX_LABELS:
        texts = alt.Chart(alt.Data(values=front)).mark_text(align="left", dx=7, dy=-6, color=GREY, fontSize=10)
        layers.append(texts.encode(x=x, y=y, text="label:N"))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def _mark(comparison: Comparison, trial: Trial, metric: str, risk: Risk) -> dict[str, Any]:
    """Return a point of the picture."""
    return {
        "series": series_of(comparison, trial),
        "risk": trial.highest_risk if risk == "highest" else trial.average_risk,
        "value": trial.metrics[metric],
        "label": short_model(trial.point.model),
    }


def _scale(values: list[dict[str, Any]], key: str) -> Scale:
    """Return a logarithmic scale where all values are above 0, and the largest is many times the smallest."""
    numbers = [each[key] for each in values]
    return "log" if numbers and min(numbers) > 0 and max(numbers) > MIN_RATIO_FOR_LOGARITHM * min(numbers) else "linear"


def short_model(spec: str | None) -> str:
    """Return the parameters of a model that are numbers.

    >>> short_model("k-anonymity:k=5 & t-closeness:sensitive=disease,t=0.2")
    'k=5, t=0.2'
    """
    if spec is None:
        return ""
    return ", ".join(f"{name}={value:g}" for part in parse_model(spec).parts() for name, value in _numbers(part))


def _numbers(model: Model) -> list[tuple[str, float]]:
    """Return the parameters of a model that are numbers."""
    given = [(each.name, getattr(model, each.name)) for each in fields(model)]  # type: ignore[arg-type]
    return [
        (name, float(value)) for name, value in given if isinstance(value, int | float) and not isinstance(value, bool)
    ]


def series_of(comparison: Comparison, trial: Trial) -> str:
    """Return the name of a line or mark: the algorithm, and the suppression limit if there are several."""
    several = len({each.point.suppression for each in comparison.trials}) > 1
    point = trial.point
    dropped = f"up to {point.suppression.words} dropped" if point.suppression else "none dropped"
    return f"{point.algorithm}, {dropped}" if several else point.algorithm


def sweep(comparison: Comparison) -> tuple[list[dict[str, Any]], str]:
    """Return a row for each release among models that differ in a single number, and the name of that number.

    Where no parameter, or more than one, varies between models, there is nothing to draw; of several candidates the
    first is taken.
    """
    families: dict[tuple[str, str], list[tuple[float, Trial]]] = defaultdict(list)
    for trial in comparison.trials:
        if trial.state == "done" and trial.point.model is not None:
            for name, value, rest in _apart(trial.point.model):
                families[name, rest].append((value, trial))
    grown = {key: points for key, points in families.items() if len({value for value, _ in points}) > 1}
    parameter = next((name for name, _ in grown), "")
    rows = [
        {"series": series_of(comparison, trial), "model": rest, parameter: value, **trial.metrics}
        for (name, rest), points in grown.items()
        if name == parameter
        for value, trial in points
    ]
    return rows, parameter


def _apart(spec: str) -> list[tuple[str, float, str]]:
    """Return each number of a model with its name, and the model's text with a gap in its place."""
    parts, varying = parse_model(spec).parts(), []
    for index, part in enumerate(parts):
        for name, value in _numbers(part):
            rest = [
                " ".join([p.name, *(f"{n}={v:g}" for n, v in _numbers(p) if (i, n) != (index, name))])
                for i, p in enumerate(parts)
            ]
            varying.append((name, value, " & ".join(rest)))
    return varying


def draw_sweep(comparison: Comparison, rows: list[dict[str, Any]], parameter: str) -> str:
    """Draw metrics by one parameter, with a line for each algorithm."""
    measured: dict[str, Scale] = {
        name: _scale(rows, name) for name in comparison.metrics if all(row[name] is not None for row in rows)
    }
    better = "; ".join(
        f"{name}: {'lower' if comparison.metrics[name] == 'min' else 'higher'} is better" for name in measured
    )
    charts = line_charts(rows, x=(parameter, parameter), across="model", lines="series", measures=measured)
    names = list(dict.fromkeys(row["series"] for row in rows))
    title, notes = f"What a larger {parameter} costs", [f"{comparison.rows:,} rows; {better}"]
    return draw(charts, title=title, notes=notes, legend=names)


PICTURES = {"risk-and-utility": "Risk against utility", "sweep": "What a larger parameter costs"}


def write_results(comparison: Comparison, folder: Path, *, pictures: dict[str, str]) -> list[Path]:
    """Write all results of a comparison into its private folder; return the files."""
    texts = {
        "comparison.json": json.dumps(comparison.to_json(), indent=2, allow_nan=False) + "\n",
        "comparison.csv": comparison.to_csv(),
        **{f"{name}.svg": svg for name, svg in pictures.items()},
        "comparison.html": to_html(comparison, pictures=pictures),
    }
    for name, text in texts.items():
        write_private(folder / name, text)
    return [folder / name for name in texts]


def to_html(comparison: Comparison, *, pictures: dict[str, str]) -> str:
    """Return a comparison as one page without a script."""
    drawn = tuple(Picture(PICTURES[name], PICTURES[name], svg) for name, svg in pictures.items())
    whole = comparison_document(comparison)
    first, *others = whole.sections
    byline = "Private: figures of several releases reveal more about the table than those of one release."
    return page_html(replace(whole, sections=(replace(first, blocks=(*first.blocks, *drawn)), *others)), byline=byline)


def comparison_document(comparison: Comparison, *, front_only: bool = False) -> Document:
    """Return a comparison as a document, with the commands of every release or of the Pareto front alone."""
    table, metric = comparison.table(), next(iter(comparison.metrics))
    better = "lower" if comparison.metrics[metric] == "min" else "higher"
    front = f"* Pareto front: no other point has a {better} {metric} at no higher risk."
    failures = [
        f"{index}: {_describe_point(trial.point)}: {trial.state}: {trial.reason}"
        for index, trial in enumerate(comparison.trials, start=1)
        if trial.state != "done"
    ]
    commands = [
        f"{index}: {row['command']}" for index, row in enumerate(table, start=1) if row["pareto"] or not front_only
    ]
    title = f"{comparison.name}: {comparison.rows:,} rows; {counts_in_words(comparison)}"
    sections = [
        Section("points", "Points", (point_grid(comparison), *([Paragraph(front)] if commands else []))),
        Section("without", "Without a release", listing(failures)),
        Section("commands", "What makes each release", (Code("", "\n".join(commands)),) if commands else ()),
    ]
    return Document(title, tuple(section for section in sections if section.blocks))


def counts_in_words(comparison: Comparison) -> str:
    """Return in words how many points there are and how many of them have a release."""
    counts = comparison.counts
    missing = [f"{counts[state]} {state}" for state in ("infeasible", "failed") if counts[state]]
    whole = f"{counts['done']} of {len(comparison)} points have a release"
    return f"{whole}; {', '.join(missing)}" if missing else whole


def point_grid(comparison: Comparison) -> Grid:
    """Return a line for each point: its figures, or why it has no release; points of the Pareto front are marked."""
    table = comparison.table()
    marked = [index for index, row in enumerate(table) if row["pareto"]]
    words: dict[str, Words] = {
        **dict.fromkeys(("classes", "smallest_class", "suppressed"), short),
        **dict.fromkeys(("highest_risk", "average_risk"), percent),
        **{name: percent if name in SHARES else short for name in comparison.metrics},
    }
    rows: list[tuple[Cell, ...]] = []
    for index, trial in enumerate(comparison.trials):
        point, row = trial.point, JsonValues("compare", table[index])
        figures: list[Cell] = [row.figure(key, words=form) for key, form in words.items()]
        if trial.state != "done":
            figures = [trial.state, *[""] * (len(words) - 1)]
        star = " *" if index in marked else ""
        rows.append((f"{index + 1}{star}", point.algorithm, point.model or "", f"{point.suppression}", *figures))
    headings = ("classes", "smallest class", "suppressed", "highest risk", "average risk", *comparison.metrics)
    named = ("point", "algorithm", "model", "suppression", *headings)
    return grid("Points", named, rows, right=named[3:], marked=marked, most=len(rows))


def _describe_point(point: Point) -> str:
    model = f" with {point.model}" if point.model else ""
    return f"{point.algorithm}{model}, suppression {point.suppression}"
