"""Other solutions than the one that was found: every node of the lattice, and a grid of algorithms and sizes of k."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from indistinct.algorithms.auto import Auto
from indistinct.drawing.lattice import PICTURE_LIMIT
from indistinct.errors import ParameterError
from indistinct.frequencies.encode import encode_column
from indistinct.hierarchy import Suppression
from indistinct.hierarchy.builders import declared_order
from indistinct.job.opening import transform
from indistinct.job.policy import Policy
from indistinct.models import KAnonymity, Model
from indistinct.models.registry import all_of
from indistinct.reporting.columns import MISSING
from indistinct.study.compare.compare import Comparison, compare
from indistinct.study.compare.results import draw_comparison
from indistinct.study.explore import Exploration, Row, explore
from indistinct.tables import Table
from indistinct.web.sessions import job_of
from indistinct.web.tasks.tables import table_of
from indistinct.web.worker import Desk

METRICS = ("loss", "discernibility")
"""What a node costs where the policy does not say."""
MOST_NODES = 20_000
"""More nodes are refused unless a steward asks for more."""
# So many rows are shown before and after, and so many places of nodes in a picture; a smaller dot hides behind others.
SAMPLES, FINE = 6, 160


@dataclass(frozen=True, slots=True)
class Samples:
    """Some rows: `before[column]` as they are, `after[column][level]` as each level publishes them."""

    before: Mapping[str, tuple[str, ...]]
    after: Mapping[str, tuple[tuple[str, ...], ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Explored:
    """A lattice, and what is drawn of it: by metric its Pareto front, and the places of all nodes that hold.

    `picture` is the lattice itself, None where it has more nodes than a picture can show.
    """

    lattice: Exploration
    fronts: Mapping[str, list[Row]]
    places: Mapping[str, list[tuple[float, float]]]
    picture: str | None
    samples: Samples


def explored_job(policy: Policy) -> Policy | None:
    """Return what a lattice rests on: a job, however it is searched and whatever else is published."""
    return job_of(replace(policy, algorithm=Auto(), target=None, pseudonyms={}))


def published_table(desk: Desk, policy: Policy) -> Table:
    """Return the table of a policy with its columns transformed as in the release."""
    table = table_of(desk, policy)
    if not policy.transformations:
        return table
    changed: Table = transform(table, policy.schema, policy.transformations, hierarchies=policy.hierarchies)
    return changed


def explore_all(desk: Desk, policy: Policy, most: int = MOST_NODES) -> Explored:
    """Return every node of the lattice of a policy; one of more than `most` nodes is refused."""
    if policy.model is None:
        raise ParameterError("nothing is asked of the release yet", hint="choose a model in the step Privacy")
    desk.enter("reading")
    table = published_table(desk, policy)
    desk.enter("trying combinations of levels")
    found = explore(
        table,
        policy.schema,
        model=policy.model,
        hierarchies=policy.used_hierarchies,
        suppression=policy.suppression,
        metrics=policy.metrics or METRICS,
        limit=most,
        population=policy.population,
        progress=lambda share: desk.report(0.95 * share),
    )
    desk.enter("drawing")
    metrics = list(found.metrics)
    return Explored(
        found,
        {metric: found.pareto(metric) for metric in metrics},
        {metric: places_of(found, metric) for metric in metrics},
        scoped(found.to_svg(), "#lattice") if len(found) <= PICTURE_LIMIT else None,
        _samples(table, policy),
    )


def places_of(found: Exploration, metric: str) -> list[tuple[float, float]]:
    """Return risk and metric of the nodes that hold; of nodes that would lie on each other in a picture, one."""
    held = np.asarray(found.satisfied) & np.isfinite(found.metrics[metric])
    pairs = np.stack([found.risk[held], found.metrics[metric][held]], axis=1)
    if not len(pairs):
        return []
    spread = np.maximum(np.ptp(pairs, axis=0), 1e-12)
    _, first = np.unique(np.round((pairs - pairs.min(axis=0)) / spread * FINE), axis=0, return_index=True)
    return [(float(risk), float(cost)) for risk, cost in pairs[np.sort(first)]]


def scoped(svg: str, where: str) -> str:
    r"""Return a picture whose style speaks of what is inside an element alone, and not of the page around it.

    >>> scoped("<svg><style>text { fill: #222 }\n.node { x: 1 }</style></svg>", "#here")
    '<svg><style>#here text { fill: #222 }\n#here .node { x: 1 }</style></svg>'
    """

    def narrow(found: re.Match[str]) -> str:
        return f"<style>{re.sub(r'(?m)^(?=[.a-z])', f'{where} ', found.group(1))}</style>"

    return re.sub(r"<style>(.*?)</style>", narrow, svg, flags=re.DOTALL)


def _samples(table: Table, policy: Policy) -> Samples:
    """Return some rows from all over a table, and what each level of each column would publish of them."""
    rows = np.unique(np.linspace(0, table.rows - 1, min(SAMPLES, table.rows)).astype(np.int64))
    before, after = {}, {}
    for name in policy.schema.quasi:
        hierarchy = policy.used_hierarchies.get(name)
        order = declared_order(hierarchy)
        column = encode_column(name, table.data[name], order=order)
        tree, codes, texts = (hierarchy or Suppression()).bind(column.domain), column.codes[rows], column.domain.texts()
        before[name] = tuple(MISSING if texts[code] is None else texts[code] for code in codes)
        after[name] = tuple(
            tuple(
                MISSING if (label := tree.labels[level][node]) is None else label
                for node in tree.ancestors[codes, level]
            )
            for level in range(tree.height + 1)
        )
    return Samples(before, after)


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """What algorithms give for several k: the comparison, its pictures by name, and the k of each trial."""

    comparison: Comparison
    pictures: Mapping[str, str]
    sizes: tuple[int, ...]


def models_with(models: Sequence[Model], k: int) -> tuple[Model, ...]:
    """Return models that ask for another k, for k-anonymity as well if none did.

    >>> models_with([KAnonymity(5)], 10)
    (KAnonymity(k=10),)
    """
    if not any(isinstance(model, KAnonymity) for model in models):
        return (KAnonymity(k), *models)
    return tuple(replace(model, k=k) if isinstance(model, KAnonymity) else model for model in models)


def compare_grid(desk: Desk, policy: Policy, algorithms: Sequence[str], sizes: Sequence[int]) -> Grid:
    """Return what each algorithm gives for each k: releases that are made, measured and thrown away."""
    desk.enter("reading")
    table = published_table(desk, policy)
    by_spec = {all_of(models_with(policy.models, k)).spec(): k for k in sizes}
    found = compare(
        table,
        policy.schema,
        algorithms=list(algorithms),
        models=list(by_spec),
        suppression=policy.suppression,
        metrics=METRICS,
        hierarchies=policy.used_hierarchies,
        population=policy.population,
        workers=1,
        progress=desk.report,
    )
    return Grid(found, draw_comparison(found), tuple(by_spec[str(trial.point.model)] for trial in found.trials))


def plain_trials(grid: Grid) -> list[dict[str, Any]]:
    """Return one row a trial: algorithm, k, what became of it, and its figures."""
    front = {id(trial) for trial in grid.comparison.pareto()} if grid.comparison.counts["done"] else set()
    return [
        {
            "algorithm": trial.point.algorithm,
            "k": k,
            "state": trial.state,
            "reason": trial.reason,
            "suppressed": trial.suppressed,
            "classes": trial.classes,
            "smallest": trial.smallest_class,
            "highest": trial.highest_risk,
            **{name: trial.metrics.get(name) for name in grid.comparison.metrics},
            "seconds": trial.seconds,
            "best": id(trial) in front,
        }
        for trial, k in zip(grid.comparison.trials, grid.sizes, strict=True)
    ]
