"""The public function that compares: which algorithm, model and budget suit a table, tried on a grid of them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from indistinct.algorithms.base import Progress
from indistinct.errors import ParameterError
from indistinct.hierarchy import Hierarchy
from indistinct.job.job import Job
from indistinct.job.policy import predicted_column
from indistinct.machine import arrays
from indistinct.schema import Schema, require_schema
from indistinct.study.compare.comparison import Comparison, python_call
from indistinct.study.compare.folder import Kept, private_folder
from indistinct.study.compare.grid import Algorithms, Budgets, Metrics, Models, Point, metrics_of, points_of
from indistinct.study.compare.trial import ComparedJob, Trial
from indistinct.study.compare.workers import try_points
from indistinct.tables import open_table


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
    kept = None if folder is None else Kept(private_folder(Path(folder)), compared)
    found: dict[Point, Trial] = {}
    report = progress or (lambda _share: None)

    def told(trial: Trial) -> None:
        found[trial.point] = trial
        if kept is not None and not trial.kept:
            kept.keep(trial)
        report(len(found) / len(points))

    for trial in (kept.find(point) for point in points) if kept is not None else ():
        if trial is not None:
            told(trial)
    ahead = [point for point in points if point not in found]
    try_points(compared, ahead, workers=workers or arrays.workers(), told=told)
    return Comparison(
        str(source.path or source.name or "table"),
        source.rows,
        tuple(found[point] for point in points),
        {metric.name: metric.goal for metric in chosen},
        tuple(map(command, points)),
    )
