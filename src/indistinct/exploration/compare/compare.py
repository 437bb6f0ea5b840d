"""Compare algorithms, models and suppression limits on one table: the result of every point, and the Pareto front."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from indistinct.algorithms.base import Progress
from indistinct.errors import IndistinctError, InfeasibleError, ParameterError, did_you_mean
from indistinct.exploration.compare.folder import KeptTrials, private_folder
from indistinct.exploration.compare.trials import (
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
from indistinct.exploration.compare.workers import try_points
from indistinct.exploration.preference import Analysis, Preference, algorithms_tried
from indistinct.hierarchy.value import Hierarchy
from indistinct.job.job import Job
from indistinct.job.policy import predicted_column
from indistinct.machine import threads
from indistinct.machine.arguments import with_checked_arguments
from indistinct.schema import Schema, require_schema
from indistinct.tables.opening import open_table
from indistinct.text_form import spell

Risk = Literal["highest", "average"]
RISKS: tuple[Risk, ...] = ("highest", "average")
COLUMNS = ("algorithm", "model", "suppression", "state", "reason", "rows", "suppressed", "classes", "smallest_class")
FIGURES = (*COLUMNS, "highest_risk", "average_risk")


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Every point of a grid with the figures of its release, or the reason why there is none.

    `metrics` has "min" or "max" for each metric, whichever is better; the first one ranks. `commands` has the command
    that makes each release. `name` is the name of the table. Keep comparisons private: figures of several releases
    together reveal more about the table than those of the one that is published.
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
        """The number of points that are done, infeasible and failed."""
        states = [trial.state for trial in self.trials]
        return {state: states.count(state) for state in ("done", "infeasible", "failed")}

    @property
    def exit_code(self) -> int:
        """0 if some point has a release, otherwise that of the errors: infeasible if all are."""
        counts = self.counts
        if counts["done"]:
            return 0
        return IndistinctError.exit_code if counts["failed"] else InfeasibleError.exit_code

    def best(self, metric: str | None = None) -> Trial:
        """Return the trial that is best under a metric, the first one by default; of equals the first.

        Raises `InfeasibleError` where no trial has a release to which the metric applies.
        """
        name = self._name_of_metric(metric)
        sign = -1 if self.metrics[name] == "max" else 1
        ranked = [
            (sign * value, trial) for trial in self.trials for value in [trial.metrics.get(name)] if value is not None
        ]
        if not ranked:
            reason = next((trial.reason for trial in self.trials if trial.reason), "nothing can be compared")
            raise InfeasibleError(f"no release can be ranked by {name}: {reason}")
        return min(ranked, key=lambda each: each[0])[1]

    def pareto(self, metric: str | None = None, *, risk: Risk = "highest") -> list[Trial]:
        """Return the Pareto front of metric and risk, the best metric first.

        Of trials that are equal in both, the first is included. Trials to which the metric does not apply are left out.
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
        """Return one row per point, ready for a frame.

        Its figures, each metric, and whether it is on the Pareto front.
        """
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
        """Return one line per point, after a line of names."""
        rows, text = self.table(), io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def _name_of_metric(self, metric: str | None) -> str:
        """Return the name of a metric, by default the first; raise unless it was compared."""
        name = next(iter(self.metrics)) if metric is None else metric
        if name not in self.metrics:
            raise ParameterError(
                f"the metric {name!r} was not compared",
                hint=did_you_mean(name, self.metrics) or f"compared: {', '.join(self.metrics)}",
            )
        return name


def python_call(point: Point) -> str:
    """Return the Python call that makes the release of a point, with the compared table, roles and hierarchies.

    >>> python_call(Point("mondrian", "k-anonymity:k=5"))
    "ind.anonymize(table, schema, hierarchies=hierarchies, model='k-anonymity:k=5', algorithm='mondrian')"
    """
    dropped = point.suppression.plain if point.suppression else None
    given = {"model": point.model, "algorithm": point.algorithm, "suppression": dropped}
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
    return f"ind.anonymize(table, schema, hierarchies=hierarchies, {arguments})"


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
    analysis: Analysis | None = None,
    original: Any = None,
    folder: str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    command: Callable[[Point], str] = python_call,
) -> Comparison:
    """Compare algorithms, models and suppression limits on one table, without publishing anything.

    Each combination is a release that is made, verified, measured and assessed, then discarded. One that is infeasible
    or fails has its reason in place of figures.

    Parameters
    ----------
    table
        Path, frame, or what `open` returned.
    schema
        Role of every column.
    algorithms
        Algorithms, as values, by name, or as one text such as ``"mondrian:relaxed=true,datafly"``.
    models
        Privacy models, likewise; None for algorithms with a privacy guarantee of their own.
    suppression
        Suppression limits as in `anonymize`, or a text of several, such as ``"0, 4 rows"``.
    metrics
        Metrics to measure; the first one ranks. By default a standard choice.
    hierarchies
        Generalization hierarchy of each column that has one.
    target
        Column of the classification metric, and of algorithms that have a target.
    population
        Table of the population from which `table` was drawn.
    analysis
        Formulas of a study, such as ``"cost ~ age + C(sex)"``. Releases are then ranked by ``analysis-loss``: 1 minus
        the mean overlap of the study's confidence intervals before and after. An algorithm that chooses among others,
        such as ``auto``, is replaced with those that it tries.
    original
        Table that the estimates before are made on, where columns of `table` are masked.
    folder
        Folder, made for its owner alone, that keeps results and gives them back when the same comparison runs again.
    workers
        Number of processes, by default one for each core; with 1 everything runs in this one.
    progress
        Called with the share of the work that is done.
    command
        Function that writes how a combination is repeated; by default as a call of Python.

    Returns
    -------
    Comparison
        Figures of every combination, or the reason why it has none.

    Raises
    ------
    ParameterError
        If an algorithm, model or metric is not known, or a parameter is not possible.
    SchemaError
        If roles and columns do not fit each other.
    InputError
        If the table cannot be read.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 41, 42], "disease": ["flu", "cold", "flu", "flu"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> ind.compare(table, schema, algorithms="mondrian", models="k-anonymity:k=2, k-anonymity:k=9", workers=1)
    <Comparison of 2 points: 1 done, 1 infeasible, 0 failed>
    """
    require_schema(schema)
    points, chosen = points_of(algorithms, models, suppression), metrics_of(metrics)
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise ParameterError(f"`workers` must be a whole number of at least 1; got {workers!r}", hint="leave it out")
    wanted = predicted_column(target, chosen, schema=schema)
    source = open_table(table)
    job = Job(source, schema, hierarchies=dict(hierarchies or {}), target=wanted, population=population)
    preference = None if analysis is None else Preference.of(analysis, source if original is None else original, schema)
    if preference is not None:
        points = tuple(_points_tried(job, points))
    compared = ComparedJob(job, chosen, preference)
    kept = None if folder is None else KeptTrials(private_folder(Path(folder)), compared)
    trials: dict[Point, Trial] = {}
    report = progress or (lambda _share: None)

    def keep_trial(trial: Trial) -> None:
        trials[trial.point] = trial
        if kept is not None and not trial.kept:
            kept.keep(trial)
        report(len(trials) / len(points))

    for trial in (kept.find(point) for point in points) if kept is not None else ():
        if trial is not None:
            keep_trial(trial)
    ahead = [point for point in points if point not in trials]
    try_points(compared, ahead, workers=workers or threads.workers(), tell=keep_trial)
    return Comparison(
        str(source.path or source.name or "table"),
        source.rows,
        tuple(trials[point] for point in points),
        compared.goals,
        tuple(map(command, points)),
    )


def _points_tried(job: Job, points: Sequence[Point]) -> Iterator[Point]:
    """Yield the points with each algorithm that chooses among others replaced by these."""
    for point in points:
        varied = replace(job, model=point.model, algorithm=point.algorithm, suppression=point.suppression)
        yield from dict.fromkeys(replace(point, algorithm=spell(each)) for each in algorithms_tried(varied))
