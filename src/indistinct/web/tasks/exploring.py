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
from indistinct.job.policy import Policy
from indistinct.models.k_anonymity import with_size
from indistinct.models.registry import all_of
from indistinct.reporting.columns import MISSING
from indistinct.study.by_policy import METRICS, compare_by_policy, explore_by_policy, transform_by_policy
from indistinct.study.compare.compare import Comparison
from indistinct.study.compare.results import draw_comparison
from indistinct.study.explore import Exploration, Row
from indistinct.tables import Table
from indistinct.web.sessions import job_of
from indistinct.web.tasks.tables import table_of
from indistinct.web.worker import Desk

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


def explore_all(desk: Desk, policy: Policy, most: int = MOST_NODES) -> Explored:
    """Return every node of the lattice of a policy; one of more than `most` nodes is refused."""
    if policy.model is None:
        raise ParameterError("nothing is asked of the release yet", hint="choose a model in the step Privacy")
    desk.enter("reading")
    table = table_of(desk, policy)
    desk.enter("trying combinations of levels")
    found = explore_by_policy(table, policy, limit=most, progress=lambda share: desk.report(0.95 * share))
    desk.enter("drawing")
    metrics = list(found.metrics)
    return Explored(
        found,
        {metric: found.pareto(metric) for metric in metrics},
        {metric: places_of(found, metric) for metric in metrics},
        scope_style(found.to_svg(), "#lattice") if len(found) <= PICTURE_LIMIT else None,
        _samples(transform_by_policy(table, policy), policy),
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


def scope_style(svg: str, where: str) -> str:
    r"""Return a picture whose style speaks of what is inside an element alone, and not of the page around it.

    >>> scope_style("<svg><style>text { fill: #222 }\n.node { x: 1 }</style></svg>", "#here")
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


def compare_grid(desk: Desk, policy: Policy, algorithms: Sequence[str], sizes: Sequence[int]) -> Grid:
    """Return what each algorithm gives for each k: releases that are made, measured and thrown away."""
    desk.enter("reading")
    table = table_of(desk, policy)
    by_spec = {all_of(with_size(policy.models, k)).spec(): k for k in sizes}
    found = compare_by_policy(
        table,
        replace(policy, target=None),
        algorithms=list(algorithms),
        models=list(by_spec),
        metrics=METRICS,
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
