"""Compare algorithms, models and budgets on one table: what became of every point, and which no other one beats."""

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from indistinct.algorithms.base import Progress
from indistinct.errors import IndistinctError, InfeasibleError, ParameterError
from indistinct.hierarchy import Hierarchy
from indistinct.job.job import Job
from indistinct.job.policy import predicted_column
from indistinct.machine import arrays
from indistinct.machine.arguments import with_checked_arguments
from indistinct.schema import Schema, did_you_mean, require_schema
from indistinct.study.compare.folder import KeptTrials, private_folder
from indistinct.study.compare.trials import (
    Algorithms,
    Budgets,
    ComparedJob,
    Metrics,
    Models,
    Point,
    Trial,
    metrics_of,
    points_of,
)
from indistinct.study.compare.workers import try_points
from indistinct.tables import open_table

Risk = Literal["highest", "average"]
RISKS: tuple[Risk, ...] = ("highest", "average")
COLUMNS = ("algorithm", "model", "suppression", "state", "reason", "rows", "suppressed", "classes", "smallest_class")
FIGURES = (*COLUMNS, "highest_risk", "average_risk")


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Every point of a grid with the figures of its release, or the reason why there is none.

    `metrics` says for each metric whether "min" or "max" is better; the first one ranks. `commands` has what makes the
    release of each trial. `name` is what the table is called. Comparisons are for those who
    have the table: figures of several releases together tell more about it than those of the one that is published.
    """

    name: str
    rows: int
    trials: tuple[Trial, ...]
    metrics: Mapping[str, str]
    commands: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.trials)

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {state}" for state, count in self.counts.items())
        return f"<Comparison of {len(self)} points: {counts}>"

    @property
    def counts(self) -> dict[str, int]:
        """How many points are done, infeasible and failed."""
        states = [trial.state for trial in self.trials]
        return {state: states.count(state) for state in ("done", "infeasible", "failed")}

    @property
    def exit_code(self) -> int:
        """0 where some point has a release, else that of the errors: infeasible if all are."""
        counts = self.counts
        if counts["done"]:
            return 0
        return IndistinctError.exit_code if counts["failed"] else InfeasibleError.exit_code

    def pareto(self, metric: str | None = None, *, risk: Risk = "highest") -> list[Trial]:
        """Return the trials that no other one beats in metric and risk together, the best metric first.

        Of trials that are equal in both the first one is named. Those that the metric says nothing of are left out.
        """
        name = self._name_of_metric(metric)
        sign = -1 if self.metrics[name] == "max" else 1
        ranked = [
            (sign * value, danger, index)
            for index, trial in enumerate(self.trials)
            for value, danger in [(trial.metrics.get(name), _risk(trial, risk))]
            if value is not None and danger is not None
        ]
        front, lowest = [], float("inf")
        for _, danger, index in sorted(ranked):
            if danger < lowest:
                front.append(self.trials[index])
                lowest = danger
        return front

    def table(self) -> list[dict[str, Any]]:
        """Return one row a point, ready for a frame: its figures, each metric, and whether it is on the front."""
        front = {id(trial) for trial in self.pareto()}
        return [
            {
                **{name: figure for name, figure in trial.to_json().items() if name in FIGURES},
                **{name: trial.metrics.get(name) for name in self.metrics},
                "seconds": trial.seconds,
                "pareto": id(trial) in front,
                "command": command,
            }
            for trial, command in zip(self.trials, self.commands, strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        points = []
        for trial, row in zip(self.trials, self.table(), strict=True):
            figures = {name: row[name] for name in COLUMNS}
            risk = {name: _risk(trial, name) for name in RISKS}
            rest = {"seconds": trial.seconds, "kept": trial.kept, "pareto": row["pareto"], "command": row["command"]}
            points.append({**figures, "risk": risk, "metrics": dict(trial.metrics), **rest})
        return {"input": self.name, "rows": self.rows, "metrics": dict(self.metrics), **self.counts, "points": points}

    def to_csv(self) -> str:
        """Return one line a point, below a line of names."""
        rows, text = self.table(), io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def _name_of_metric(self, metric: str | None) -> str:
        name = next(iter(self.metrics)) if metric is None else metric
        if name not in self.metrics:
            raise ParameterError(
                f"the metric {name!r} was not compared",
                hint=did_you_mean(name, self.metrics) or f"compared: {', '.join(self.metrics)}",
            )
        return name


def python_call(point: Point) -> str:
    """Return how the release of a point is made in Python, with the table, roles and hierarchies that were compared.

    >>> python_call(Point("mondrian", "k-anonymity:k=5"))
    "ind.anonymize(table, schema, hierarchies=hierarchies, model='k-anonymity:k=5', algorithm='mondrian')"
    """
    dropped = point.suppression.plain if point.suppression else None
    given = {"model": point.model, "algorithm": point.algorithm, "suppression": dropped}
    shown = ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
    return f"ind.anonymize(table, schema, hierarchies=hierarchies, {shown})"


def _risk(trial: Trial, risk: Risk) -> float | None:
    return trial.highest_risk if risk == "highest" else trial.average_risk


@with_checked_arguments
def compare(
    table: Any,
    schema: Schema,
    *,
    algorithms: Algorithms,
    models: Models = None,
    suppression: Budgets = 0.0,
    metrics: Metrics | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    target: str | None = None,
    population: Any = None,
    folder: str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    command: Callable[[Point], str] = python_call,
) -> Comparison:
    """Return what every algorithm gives with every model and every budget of suppression on one table.

    Each point is a release that is made, verified, measured and assessed, and then thrown away: nothing is published.
    A point that is infeasible or fails has its reason instead of figures, and the others go on. `algorithms`, `models`
    and `metrics` are values, spellings, or a text of several, such as "mondrian:relaxed=true,datafly"; budgets are as
    in `anonymize`, or a text of several, such as "0, 4 rows". Points run in
    processes, one a core unless `workers` says otherwise; with 1 they run in this one. With a `folder`, made for its
    owner alone, trials are kept there and taken from there when the same comparison runs again. `command` spells how
    a point is made.
    """
    require_schema(schema)
    points, chosen = points_of(algorithms, models, suppression), metrics_of(metrics)
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise ParameterError(f"`workers` must be a whole number of at least 1; got {workers!r}", hint="leave it out")
    wanted = predicted_column(target, chosen, schema=schema)
    source = open_table(table)
    job = Job(source, schema, hierarchies=dict(hierarchies or {}), target=wanted, population=population)
    compared = ComparedJob(job, chosen)
    kept = None if folder is None else KeptTrials(private_folder(Path(folder)), compared)
    found: dict[Point, Trial] = {}
    report = progress or (lambda _share: None)

    def keep_trial(trial: Trial) -> None:
        found[trial.point] = trial
        if kept is not None and not trial.kept:
            kept.keep(trial)
        report(len(found) / len(points))

    for trial in (kept.find(point) for point in points) if kept is not None else ():
        if trial is not None:
            keep_trial(trial)
    ahead = [point for point in points if point not in found]
    try_points(compared, ahead, workers=workers or arrays.workers(), tell=keep_trial)
    return Comparison(
        str(source.path or source.name or "table"),
        source.rows,
        tuple(found[point] for point in points),
        {metric.name: metric.goal for metric in chosen},
        tuple(map(command, points)),
    )
