"""The lattice as a value: every full-domain recoding with the results of a model and of metrics."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from indistinct.algorithms.base import Progress
from indistinct.algorithms.full_domain.node import ChosenNode, spell_node
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.algorithms.full_domain.objective import Objective, objective_of
from indistinct.as_json import to_plain
from indistinct.document.blocks import Block, Document, Grid, Paragraph, document, grid
from indistinct.document.result import Result
from indistinct.drawing.charts import Chart
from indistinct.drawing.lattice import Box, State, draw_lattice
from indistinct.drawing.levels import level_meanings
from indistinct.engines import closes_sources
from indistinct.errors import Feasible, InfeasibleError, ParameterError, did_you_mean
from indistinct.exploration.preference import ANALYSIS_LOSS, MAX_NODES_ANALYZED, Analysis, Preference, losses_of_nodes
from indistinct.figures import percent, plural, share_above, short
from indistinct.frequencies.lattice import Lattice, Node, RolledUp
from indistinct.hierarchy.value import Hierarchy
from indistinct.job.job import Job, count_for_search, problem_of
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.arrays import AnyArray, Codes, Floats, Mask
from indistinct.metrics.base import SHARES, Metric
from indistinct.metrics.registry import parse_metric
from indistinct.models import Model
from indistinct.release.promise import judging
from indistinct.schema import Schema
from indistinct.suppression_limit import AnyBudget, parse_budget
from indistinct.tables.opening import open_table

Row = dict[str, Any]
NODES_IN_NOTEBOOK = 10
"""Number of nodes shown in a notebook."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Exploration(Result):
    """Every node of a lattice, in lexicographic order, and what its release would be.

    `levels` holds one node a row, a level for each of `columns`. The other arrays have one entry a node: `satisfied`
    (the model holds once `suppressed_rows` rows are dropped, which is within the budget, and some rows stay),
    `minimal` (no node below it is satisfied), the number of released `classes`, the people in the `smallest_class`
    (rows, unless the model counts something else), and the value of each of `metrics`. `meanings` says in words what
    the levels of each column publish. Where the `unit` is people, all of these count people.
    """

    columns: tuple[str, ...]
    heights: tuple[int, ...]
    meanings: tuple[tuple[str, ...], ...]
    model: str
    rows: int
    suppression: int
    levels: Codes
    satisfied: Mask
    minimal: Mask
    suppressed_rows: Codes
    classes: Codes
    smallest_class: Codes
    metrics: Mapping[str, Floats]
    goals: Mapping[str, str]
    unit: str = "rows"

    def __len__(self) -> int:
        return len(self.levels)

    @property
    def risk(self) -> Codes:
        """The highest prosecutor risk of each node: one over the people of its smallest released class."""
        return np.divide(1.0, self.smallest_class, where=self.smallest_class > 0, out=np.zeros(len(self)))

    def __repr__(self) -> str:
        return f"<Exploration of {len(self)} nodes; {int(self.satisfied.sum())} satisfy {self.model}>"

    def chart(self) -> Chart:
        """Return the picture of the lattice."""
        return Chart(self.to_svg())

    def document(self) -> Document:
        """Return a document: the meanings of levels, the best nodes, and the best trade-offs between loss and risk."""
        return exploration_document(self, most=NODES_IN_NOTEBOOK)

    def nodes(self) -> list[Row]:
        """Return one row per node, ready for a frame: node, height, results of the model, and each metric."""
        return list(self._rows(np.arange(len(self))))

    def node(self, levels: Sequence[int]) -> Row:
        """Return the row of one node."""
        return next(self._rows([self._place(levels)]))

    def ranked(self, metric: str | None = None, *, first: int = 0, most: int | None = None) -> list[Row]:
        """Return the rows with satisfied nodes first, the best under a metric at the top; some of them if asked."""
        return list(self._rows(self._order(metric)[first : None if most is None else first + most]))

    def best(self, metric: str | None = None) -> Row:
        """Return the best satisfied node under a metric, the first one by default; ties go to the lower node."""
        first = self._order(metric)[0]
        if not self.satisfied[first]:
            least = int(self.suppressed_rows.min())
            raise InfeasibleError(
                f"no node of the lattice satisfies {self.model} with at most {self.suppression:,} suppressed "
                f"{self.unit}",
                hint=f"the node that needs least suppresses {least:,} of {self.rows:,} {self.unit}",
                feasible=Feasible(share=share_above(least, self.rows)),
                least_suppressed_rows=least,
            )
        return next(self._rows([first]))

    def pareto(self, metric: str | None = None) -> list[Row]:
        """Return the Pareto front of satisfied nodes in metric and risk, the best metric first.

        Risk is the highest prosecutor risk of the release. Of nodes that are equal in both the lowest is named.
        """
        cost, risk = self._cost(metric), self.risk
        order = [index for index in self._order(metric) if self.satisfied[index]]
        front, lowest = [], np.inf
        for index in sorted(order, key=lambda place: (cost[place], risk[place])):
            if risk[index] < lowest:
                front.append(index)
                lowest = risk[index]
        return list(self._rows(front))

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; metrics that are not finite become None."""
        best = self.best()["node"] if self.satisfied.any() else None
        return {
            "model": self.model,
            "rows": self.rows,
            "suppression": self.suppression,
            "columns": [
                {"name": name, "height": height, "levels": list(meanings)}
                for name, height, meanings in zip(self.columns, self.heights, self.meanings, strict=True)
            ],
            "metrics": dict(self.goals),
            "satisfied": int(self.satisfied.sum()),
            "best": None if best is None else list(best),
            "pareto": [list(row["node"]) for row in self.pareto()],
            "nodes": [to_plain(row) for row in self.nodes()],
        }

    def to_svg(self, *, chosen: Sequence[int] | None = None, metric: str | None = None) -> str:
        """Return the lattice as an SVG picture with the metric of each node; the chosen node, or the best, is marked.

        Raises `ParameterError` for a lattice that no page could show.
        """
        name = self._name_of_metric(metric)
        mark = f"best {name}" if chosen is None else "chosen"
        if chosen is None and self.satisfied.any():
            chosen = self.best(name)["node"]
        marked = None if chosen is None else self._place(chosen)
        axes = dict(zip(self.columns, self.meanings, strict=True))
        boxes = [self._box(row, name, chosen=index == marked) for index, row in enumerate(self.nodes())]
        budgeted = f"at most {self.suppression:,} of {self.rows:,} rows suppressed"
        heading, figures = f"{self.model}, {budgeted}", (name, "suppressed rows")
        return draw_lattice(axes, boxes, heading=heading, figures=figures, mark=mark)

    def _box(self, row: Row, metric: str, *, chosen: bool) -> Box:
        """Return the box of a node for the picture of the lattice."""
        state: State = "minimal" if row["minimal"] else "satisfying" if row["satisfied"] else "outside"
        lines = [
            *(f"{column}: {self.meanings[j][row['node'][j]]}" for j, column in enumerate(self.columns)),
            "satisfies the model" + (", and nothing below does" if row["minimal"] else "")
            if row["satisfied"]
            else "does not satisfy the model within the budget",
            f"{row['suppressed_rows']:,} {self.unit} suppressed, {row['classes']:,} classes, "
            f"the smallest of {row['smallest_class']:,}",
            *(f"{name}: {_number(row[name])}" for name in self.metrics),
        ]
        figures = (_number(row[metric]), f"{row['suppressed_rows']:,}")
        return Box(row["node"], state, figures=figures, title="\n".join(lines), chosen=chosen)

    def _rows(self, places: Sequence[int] | Codes) -> Iterator[Row]:
        """Yield the figures of some nodes."""
        risk = self.risk
        for index in places:
            node = tuple(self.levels[index].tolist())
            yield {
                "node": node,
                "height": sum(node),
                "satisfied": bool(self.satisfied[index]),
                "minimal": bool(self.minimal[index]),
                "suppressed_rows": int(self.suppressed_rows[index]),
                "classes": int(self.classes[index]),
                "smallest_class": int(self.smallest_class[index]),
                "risk": float(risk[index]),
                **{name: float(values[index]) for name, values in self.metrics.items()},
            }

    def _order(self, metric: str | None) -> Codes:
        """Return the indices of nodes: satisfied first, then by the metric, the height and the levels."""
        return np.lexsort((np.arange(len(self)), self.levels.sum(axis=1), self._cost(metric), ~self.satisfied))

    def _cost(self, metric: str | None) -> Floats:
        """Return a metric so that smaller is better."""
        name = self._name_of_metric(metric)
        return -self.metrics[name] if self.goals[name] == "max" else self.metrics[name]

    def _name_of_metric(self, metric: str | None) -> str:
        """Return the name of a metric, by default the first; raise unless it was explored."""
        name = next(iter(self.metrics)) if metric is None else metric
        if name not in self.metrics:
            raise ParameterError(
                f"the metric {name!r} was not explored",
                hint=did_you_mean(name, self.metrics) or f"explored: {', '.join(self.metrics)}",
            )
        return name

    def _place(self, levels: Sequence[int]) -> int:
        """Return the index of a node; raise if it is outside the lattice."""
        node = tuple(levels)
        if node not in Lattice(self.heights):
            allowed = ", ".join(f"{name} 0 to {h}" for name, h in zip(self.columns, self.heights, strict=True))
            raise ParameterError(
                f"the node {spell_node(node)} lies outside the lattice, whose levels are {allowed}",
                hint="give one level for each quasi-identifier, in the order of the schema",
            )
        return int(np.ravel_multi_index(node, Lattice(self.heights).shape))


def exploration_document(
    exploration: Exploration, *, chosen: tuple[int, ...] | None = None, most: int | None = None
) -> Document:
    """Return a lattice as a document with at most `most` nodes (None: all); the `chosen` one is marked by a star."""
    satisfied, metric = int(exploration.satisfied.sum()), next(iter(exploration.metrics))
    minimal = int(exploration.minimal.sum())
    title = (
        f"{plural(len(exploration), 'node')} over {', '.join(exploration.columns)}; {satisfied:,} satisfy "
        f"{exploration.model} with at most {exploration.suppression:,} of {exploration.rows:,} {exploration.unit} "
        f"suppressed, {minimal:,} of them minimal"
    )
    levels = [
        (name, "; ".join(f"{level}: {word}" for level, word in enumerate(words)))
        for name, words in zip(exploration.columns, exploration.meanings, strict=True)
    ]
    rows = exploration.ranked()
    wanted = rows if most is None else (rows[: min(satisfied, most)] or rows[:most])
    kind = "Satisfying nodes" if most is not None and satisfied else "Nodes"
    star = "" if chosen is None else "; * is the chosen node"
    blocks: list[Block] = [
        grid("What the levels mean", ("column", "levels"), levels, most=len(levels)),
        _node_grid(exploration, wanted, f"{kind}, the best {metric} first{star}", chosen),
    ]
    if len(wanted) < len(rows):
        blocks.append(Paragraph(f"{len(wanted):,} of {len(rows):,} nodes shown; --all shows the others."))
    if satisfied:
        caption = f"Pareto front of {metric} against risk (one over the {exploration.unit} in the smallest class)"
        blocks.append(_node_grid(exploration, exploration.pareto(), caption, chosen))
    else:
        least = int(exploration.suppressed_rows.min())
        blocks.append(
            Paragraph(
                f"No node satisfies the model; the one that needs least suppresses {least:,} of {exploration.rows:,} "
                f"{exploration.unit}."
            )
        )
    return document(title, *blocks)


def _node_grid(exploration: Exploration, rows: Sequence[Row], caption: str, chosen: tuple[int, ...] | None) -> Grid:
    """Return a table of nodes."""
    metrics = {name: percent if name in SHARES else short for name in exploration.metrics}
    lines = [
        (
            ",".join(map(str, row["node"])) + (" *" if row["node"] == chosen else ""),
            "minimal" if row["minimal"] else "yes" if row["satisfied"] else "no",
            *(f"{row[key]:,}" for key in ("suppressed_rows", "classes", "smallest_class")),
            *(words(row[name]) for name, words in metrics.items()),
        )
        for row in rows
    ]
    headings = ("suppressed", "classes", "smallest class", *exploration.metrics)
    return grid(caption, ("node", "satisfied", *headings), lines, right=headings, most=len(lines))


@with_checked_arguments
@closes_sources
def explore(
    table: Any,
    schema: Schema,
    *,
    model: Model | str,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    suppression: AnyBudget = 0.0,
    metrics: Sequence[Metric | str] = ("loss", "discernibility"),
    limit: int = 100_000,
    progress: Progress | None = None,
    population: Any = None,
    engine: str = "auto",
    memory: str | int | None = None,
    analysis: Analysis | None = None,
    original: Any = None,
) -> Exploration:
    """Evaluate every node of the generalization lattice of a table: privacy model, suppressed rows and metrics.

    A node gives each quasi-identifier one level of its hierarchy (full-domain generalization). The metrics are those
    that `measure` gives for the release of that node.

    Parameters
    ----------
    table
        Path, frame, or what `open` returned.
    schema
        Role of every column.
    model
        Privacy model that releases must satisfy.
    hierarchies
        Generalization hierarchy of each column that has one.
    suppression
        Suppression limit: a share, or a number such as ``"4 rows"``.
    metrics
        Metrics to compute for each node, by name or as values.
    limit
        Largest number of nodes.
    progress
        Called with the share of the work that is done.
    population
        Table of the population from which `table` was drawn, for models that compare with it. Loss is then weighed over
        the values of the population too.
    engine, memory
        Where rows are counted, and the memory that it may use, as in `anonymize`.
    analysis
        Formulas of a study. The satisfied nodes that lose least, 40 at most, are then published and analyzed, and
        nodes are ranked by ``analysis-loss``, as `compare` ranks releases.
    original
        Table that the estimates before are made on, where columns of `table` are masked.

    Returns
    -------
    Exploration
        One entry for each node; `Exploration.ranked` and `Exploration.best` order them.

    Raises
    ------
    ParameterError
        If the lattice has more than `limit` nodes, or a parameter is not possible.
    InfeasibleError
        If no release of this table can satisfy the model.
    SchemaError
        If roles and columns do not fit each other.
    HierarchyError
        If a hierarchy is broken or does not cover the values of its column.
    InputError
        If the table cannot be read.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 41, 42], "disease": ["flu", "cold", "flu", "flu"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> decades = {"age": ind.Hierarchy.intervals([10, 20])}
    >>> lattice = ind.explore(table, schema, model="k-anonymity:k=2", hierarchies=decades)
    >>> len(lattice), lattice.best("loss")["node"]
    (4, (1,))
    """
    chosen = _distinct([parse_metric(metric) if isinstance(metric, str) else metric for metric in metrics])
    if analysis is not None:
        table = open_table(table)
    preference = None if analysis is None else Preference.of(analysis, table if original is None else original, schema)
    counted, model, declared = count_for_search(
        table,
        schema,
        model=judging(model, schema),
        hierarchies=hierarchies,
        keys=tuple(key for metric in chosen for key in metric.keys),
        population=population,
        engine=engine,
        memory=memory,
    )
    problem = problem_of(counted, model, declared, suppression=parse_budget(suppression)).seen_by(ChosenNode())
    problem.require_possible()
    space = FullDomain(problem)
    _require_size(space.lattice, limit)
    search = _Found(space, [objective_of(space, metric) for metric in chosen])
    search.walk(progress or (lambda _share: None))
    satisfied = search.suppressed <= space.allowed
    explored = Exploration(
        columns=tuple(schema.quasi),
        heights=space.lattice.heights,
        meanings=tuple(level_meanings(t, declared.get(t.column)) for t in space.taxonomies),
        model=model.spec(),
        rows=counted.frequencies.members,
        unit=problem.unit,
        suppression=problem.suppression,
        levels=_freeze(space.lattice.nodes()),
        satisfied=_freeze(satisfied),
        minimal=_freeze(minimal_of(satisfied.reshape(space.lattice.shape)).reshape(-1)),
        suppressed_rows=_freeze(search.suppressed),
        classes=_freeze(search.classes),
        smallest_class=_freeze(search.smallest),
        metrics={metric.name: _freeze(values) for metric, values in zip(chosen, search.values, strict=True)},
        goals={metric.name: metric.goal for metric in chosen},
    )
    if preference is None:
        return explored
    job = Job(table, schema, model, hierarchies=declared, suppression=suppression, population=population)
    return _prefer_analysis(explored, job, preference)


def _prefer_analysis(exploration: Exploration, job: Job, preference: Preference) -> Exploration:
    """Rank the nodes of a lattice by the loss of a study's analyses.

    Minimal nodes are analyzed first, then the other satisfied ones, by the first metric; a node that is not analyzed
    gets an infinite loss.
    """
    ranked = [index for index in exploration._order(None) if exploration.satisfied[index]]
    nearest = sorted(ranked, key=lambda place: not exploration.minimal[place])[:MAX_NODES_ANALYZED]
    nodes = [tuple(exploration.levels[index].tolist()) for index in nearest]
    losses = losses_of_nodes(job, preference, nodes)
    values = np.full(len(exploration), np.inf)
    for node, index in zip(nodes, nearest, strict=True):
        values[index] = losses.get(node, np.inf)
    metrics = {ANALYSIS_LOSS: _freeze(values), **exploration.metrics}
    return replace(exploration, metrics=metrics, goals={ANALYSIS_LOSS: "min", **exploration.goals})


def _require_size(lattice: Lattice, limit: int) -> None:
    """Raise if the lattice has more nodes than the limit."""
    if lattice.size > limit:
        raise ParameterError(
            f"the lattice has {lattice.size:,} nodes, more than the limit of {limit:,}",
            hint="give hierarchies fewer levels, leave out a quasi-identifier, or search with the algorithm optimal",
        )


def minimal_of(satisfied: Mask) -> Mask:
    """Return which nodes are satisfied while no node below them is, as an array of the lattice's shape."""
    reached = satisfied.copy()  # the node itself or any node below it
    for axis in range(reached.ndim):
        np.logical_or.accumulate(reached, axis=axis, out=reached)
    below = np.zeros_like(reached)
    for axis in range(reached.ndim):
        upper, lower = [slice(None)] * reached.ndim, [slice(None)] * reached.ndim
        upper[axis], lower[axis] = slice(1, None), slice(None, -1)
        below[tuple(upper)] |= reached[tuple(lower)]
    return satisfied & ~below


class _Found:
    """The results of a pass over all nodes, by the lexicographic index of the node."""

    def __init__(self, space: FullDomain, objectives: Sequence[Objective]) -> None:
        self.space, self.objectives = space, objectives
        size = space.lattice.size
        self.suppressed, self.classes, self.smallest = (np.zeros(size, dtype=np.int64) for _ in range(3))
        self.values = [np.zeros(size) for _ in objectives]

    def walk(self, progress: Progress) -> None:
        """Visit all nodes: each is rolled up from a neighbor one step finer, and one path of nodes is kept."""
        space, lattice, done = self.space, self.space.lattice, 0
        # Columns with many values are generalized first, so that most nodes are rolled up from few classes.
        order = sorted(range(len(lattice.heights)), key=lambda j: -len(space.taxonomies[j].ancestors))
        ahead: list[tuple[RolledUp | None, Node, int]] = [(None, space.cells.base.levels, 0)]
        while ahead:
            finer, node, first = ahead.pop()
            rolled = space.cells.base if finer is None else space.cells.roll_up(finer, node)
            self.look(rolled)
            done += 1
            if done % 64 == 0:
                progress(done / lattice.size)
            for index in range(first, len(order)):
                j = order[index]
                if node[j] < lattice.heights[j]:
                    ahead.append((rolled, (*node[:j], node[j] + 1, *node[j + 1 :]), index))

    def look(self, rolled: RolledUp) -> None:
        """Record the results of a node's classes."""
        position = int(np.ravel_multi_index(rolled.levels, self.space.lattice.shape))
        broken = self.space.outside(rolled)
        kept = self.space.problem.model.people(rolled.classes)[~broken & (rolled.classes.sizes > 0)]
        self.suppressed[position] = rolled.classes.members_of(broken)
        self.classes[position], self.smallest[position] = len(kept), kept.min() if len(kept) else 0
        for objective, values in zip(self.objectives, self.values, strict=True):
            values[position] = objective.sign * objective.score(rolled, broken)


def _distinct(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """Raise unless the metrics are at least one, each once."""
    names = [metric.name for metric in metrics]
    if not names or len(set(names)) < len(names):
        raise ParameterError(
            "`metrics` must name at least one metric, and each once", hint='for example ("loss", "discernibility")'
        )
    return tuple(metrics)


def _freeze(values: AnyArray) -> AnyArray:
    values.setflags(write=False)
    return values


def _number(value: float) -> str:
    if not isfinite(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 or float(value).is_integer() else f"{value:.3g}"
