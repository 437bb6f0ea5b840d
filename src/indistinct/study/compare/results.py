"""What a comparison leaves in its folder: figures as JSON and CSV, pictures, and a page that shows them together."""

import json
from pathlib import Path

from indistinct.drawing import page
from indistinct.figures import number, percent
from indistinct.study.compare.comparison import Comparison
from indistinct.study.compare.folder import write_private
from indistinct.study.compare.grid import Point

HEADINGS = ("algorithm", "model", "suppression", "classes", "smallest", "dropped", "highest risk", "average risk")


def write_results(comparison: Comparison, folder: Path, *, pictures: dict[str, str]) -> list[Path]:
    """Write all of a comparison into its folder, for its owner alone; return the files."""
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
    headings, rows = figures_of(comparison)
    front = [place for place, row in enumerate(comparison.table()) if row["pareto"]]
    ranking = next(iter(comparison.metrics))
    failures = [trial for trial in comparison.trials if trial.state != "done"]
    parts = [
        page.paragraph(
            f"{comparison.name}: {comparison.rows:,} rows. {told(comparison)}. For those who have the table: figures "
            "of several releases tell more about it than those of the one that is published."
        ),
        page.table(headings, rows, right=headings[2:], marked=front),
        page.paragraph(f"Marked: the Pareto front of {ranking} and the highest risk.", small=True),
        *map(page.picture, pictures.values()),
    ]
    if failures:
        parts += [page.heading("Without a release")]
        parts += [page.listing(f"{_named(trial.point)}: {trial.state}: {trial.reason}" for trial in failures)]
    parts += [page.heading("What makes each release"), page.listing(comparison.commands, code=True)]
    return page.page("Comparison", parts)


def told(comparison: Comparison) -> str:
    """Return how many points there are, and what became of them, in words."""
    counts = comparison.counts
    missing = [f"{counts[state]} {state}" for state in ("infeasible", "failed") if counts[state]]
    whole = f"{counts['done']} of {len(comparison)} points have a release"
    return f"{whole}; {', '.join(missing)}" if missing else whole


def figures_of(comparison: Comparison) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the headings and the rows of the table that people read."""
    rows = []
    for trial in comparison.trials:
        point = trial.point
        figures = [trial.classes, trial.smallest_class, trial.suppressed]
        risks = [trial.highest_risk, trial.average_risk]
        measured = [trial.metrics.get(name) for name in comparison.metrics]
        shown = (
            [
                *("" if each is None else number(each) for each in figures),
                *("" if each is None else percent(each) for each in risks),
                *("-" if each is None else number(each) for each in measured),
            ]
            if trial.state == "done"
            else [trial.state, *[""] * (4 + len(measured))]
        )
        rows.append((point.algorithm, point.model or "", f"{point.suppression}", *shown))
    return (*HEADINGS, *comparison.metrics), rows


def _named(point: Point) -> str:
    model = f" with {point.model}" if point.model else ""
    return f"{point.algorithm}{model}, suppression {point.suppression}"
