"""Other solutions than the one that was found: from safer to finer, every node of the lattice, algorithms and k."""

import math
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from indistinct.algorithms.auto import Auto
from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.cluster.refine import BEST, Refine
from indistinct.algorithms.registry import parse_algorithm
from indistinct.drawing.lattice import PICTURE_LIMIT
from indistinct.errors import IndistinctError, ParameterError
from indistinct.exploration.by_policy import METRICS, compare_by_policy, explore_by_policy
from indistinct.exploration.compare.compare import Comparison
from indistinct.exploration.compare.results import draw_comparison
from indistinct.exploration.explore import Exploration, Row
from indistinct.frequencies.encode import encode_column
from indistinct.hierarchy import Suppression
from indistinct.hierarchy.explicit import declared_order
from indistinct.job.job import job_of_policy
from indistinct.job.policy import Policy
from indistinct.job.published import transform_by_policy
from indistinct.job.running import run_job
from indistinct.machine.arrays import Codes
from indistinct.models.k_anonymity import sizes_asked, with_size
from indistinct.models.registry import all_of
from indistinct.reporting.columns import MISSING
from indistinct.tables import Table
from indistinct.text_form import arguments_of, spell
from indistinct.web.sessions import job_of
from indistinct.web.tasks.classes import Sorted, as_text, by_class, sorted_rows
from indistinct.web.tasks.searching import losses_of
from indistinct.web.tasks.tables import table_of
from indistinct.web.worker import Desk

LEFT_OUT = "suppressed"
"""The text in place of the labels of a suppressed row."""
TRYING = "trying combinations of levels"
MAX_NODES = 20_000
"""More nodes are refused unless a steward asks for more."""
# Upper limits of rows shown before and after, and of points in a picture, where smaller dots are covered by others.
SAMPLES, FINE = 6, 160


@dataclass(frozen=True, slots=True)
class Samples:
    """Some rows: `before[column]` unmodified, `after[column][level]` as each level publishes them."""

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
    """Return the part of a policy that a lattice depends on: without algorithm and masking."""
    return job_of(replace(policy, algorithm=Auto(), target=None, pseudonyms={}))


def explore_all(desk: Desk, policy: Policy, most: int = MAX_NODES) -> Explored:
    """Return every node of the lattice of a policy; one of more than `most` nodes is refused."""
    if policy.model is None:
        raise ParameterError("no privacy model is chosen yet", hint="choose a model in the step Privacy")
    desk.enter("reading")
    table = table_of(desk, policy)
    desk.enter(TRYING)
    exploration = explore_by_policy(table, policy, limit=most, progress=lambda share: desk.report(0.95 * share))
    desk.enter("drawing")
    metrics = list(exploration.metrics)
    return Explored(
        exploration,
        {metric: exploration.pareto(metric) for metric in metrics},
        {metric: places_of(exploration, metric) for metric in metrics},
        scope_style(exploration.to_svg(), "#lattice") if len(exploration) <= PICTURE_LIMIT else None,
        _samples(transform_by_policy(table, policy), policy),
    )


def places_of(exploration: Exploration, metric: str) -> list[tuple[float, float]]:
    """Return risk and metric of the satisfying nodes; overlapping points of a picture are merged."""
    satisfied = np.asarray(exploration.satisfied) & np.isfinite(exploration.metrics[metric])
    pairs = np.stack([exploration.risk[satisfied], exploration.metrics[metric][satisfied]], axis=1)
    if not len(pairs):
        return []
    spread = np.maximum(np.ptp(pairs, axis=0), 1e-12)
    _, first = np.unique(np.round((pairs - pairs.min(axis=0)) / spread * FINE), axis=0, return_index=True)
    return [(float(risk), float(cost)) for risk, cost in pairs[np.sort(first)]]


def scope_style(svg: str, where: str) -> str:
    r"""Limit the style rules of a picture to an element, so that they do not affect the page.

    >>> scope_style("<svg><style>text { fill: #222 }\n.node { x: 1 }</style></svg>", "#here")
    '<svg><style>#here text { fill: #222 }\n#here .node { x: 1 }</style></svg>'
    """

    def narrow(match: re.Match[str]) -> str:
        return f"<style>{re.sub(r'(?m)^(?=[.a-z])', f'{where} ', match.group(1))}</style>"

    return re.sub(r"<style>(.*?)</style>", narrow, svg, flags=re.DOTALL)


def _sample_rows(table: Table) -> Codes:
    """Return the places of some rows from all over a table."""
    return np.unique(np.linspace(0, table.rows - 1, min(SAMPLES, table.rows)).astype(np.int64))


def _samples(table: Table, policy: Policy) -> Samples:
    """Return some rows from all over a table, and what each level of each column would publish of them."""
    rows = _sample_rows(table)
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


# Solutions from safer to finer


@dataclass(frozen=True, slots=True)
class ShownSolution:
    """One of several solutions: what it is in words, its figures, and some rows as it would publish them.

    `node` are its levels where it is one choice of levels for all rows; else `size` is its k, for an `algorithm`. The
    share `loss` of all detail is lost, and `after` has the sampled rows, a text for each column.
    """

    words: str
    size: int
    risk: float
    loss: float
    left_out: int
    classes: int
    after: tuple[tuple[str, ...], ...]
    node: tuple[int, ...] | None = None
    algorithm: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Solutions:
    """Solutions from the safest to the finest, which all satisfy the guarantee, or the same with another k.

    `kind` says what differs: levels, or sizes of k. `before` has the sampled rows of the original, under `columns`. The
    one that was published is `own`; `others` are the places, risk and loss, of solutions that another one beats.
    """

    kind: str
    unit: str
    columns: tuple[str, ...]
    before: tuple[tuple[str, ...], ...]
    solutions: tuple[ShownSolution, ...]
    others: tuple[tuple[float, float], ...] = ()

    @property
    def own(self) -> int | None:
        """Return the place of the solution that was published."""
        return next((index for index, each in enumerate(self.solutions) if each.own), None)


def key_of_solutions(policy: Policy, made: Mapping[str, Any]) -> Any:
    """Return the key of other solutions: they are outdated when it changes."""
    return job_of(policy), made["algorithm"]


def solve(desk: Desk, policy: Policy, made: Mapping[str, Any]) -> Solutions | None:
    """Return solutions from safer to finer, with the one that was published; None where there is nothing to vary.

    Where one level holds for a whole column and the lattice is small enough, they are its Pareto front; else each is
    what the same algorithm finds for another k.
    """
    algorithm = parse_algorithm(made["algorithm"] or "auto")
    if algorithm.traits.keeps_values or policy.model is None:
        return None
    desk.enter("reading")
    table = table_of(desk, policy)
    if algorithm.traits.recodings == {"by-column"} and algorithm.traits.hierarchies:
        with suppress(ParameterError):
            return _solve_by_levels(desk, table, policy, made)
    return _solve_by_size(desk, table, policy, algorithm, made) if sizes_asked(policy.models) else None


def _solve_by_levels(desk: Desk, table: Table, policy: Policy, made: Mapping[str, Any]) -> Solutions:
    """Return solutions from the lattice of levels."""
    desk.enter(TRYING)
    exploration = explore_by_policy(table, policy, limit=MAX_NODES, metrics=("loss",), progress=desk.report)
    samples = _samples(transform_by_policy(table, policy), policy)
    rows = range(len(samples.before[exploration.columns[0]]))
    own = _own_node(exploration, made)
    front = [row for row in exploration.pareto("loss") if row["node"] != own]
    front += [] if own is None else [exploration.node(own)]
    solutions = [
        ShownSolution(
            levels_in_words(exploration, row["node"]),
            row["smallest_class"],
            row["risk"],
            row["loss"],
            row["suppressed_rows"],
            row["classes"],
            tuple(
                tuple(
                    samples.after[name][level][index]
                    for name, level in zip(exploration.columns, row["node"], strict=True)
                )
                for index in rows
            ),
            node=row["node"],
            own=row["node"] == own,
        )
        for row in sorted(front, key=lambda row: (row["risk"], -row["loss"]))
    ]
    before = tuple(tuple(samples.before[name][index] for name in exploration.columns) for index in rows)
    others = tuple(places_of(exploration, "loss"))
    return Solutions("levels", exploration.unit, tuple(exploration.columns), before, tuple(solutions), others)


def _own_node(exploration: Exploration, made: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Return the node of the release if its figures identify it, else None."""
    same = [
        row
        for row in exploration.ranked("loss", most=int(exploration.satisfied.sum()))
        if (row["classes"], row["smallest_class"]) == (made["classes"], made["k"])
        and abs(row["loss"] - (made["loss"] or 0.0)) < 1e-9
    ]
    node: tuple[int, ...] | None = same[0]["node"] if same else None
    return node


def arrow(before: str, after: str) -> str:
    """Write a value before and after; an unchanged one is written once.

    >>> arrow("88", "80-89"), arrow("male", "male")
    ('88 → 80-89', 'male')
    """
    return before if before == after else f"{before} → {after}"


def levels_in_words(exploration: Exploration, node: Sequence[int]) -> str:
    """Return in words what is published of each column that is not unmodified."""
    coarser = [
        f"{column} {_plain_meaning(meanings[level])}"
        for column, meanings, level in zip(exploration.columns, exploration.meanings, node, strict=True)
        if level
    ]
    return ", ".join(coarser) or "everything unmodified"


def _plain_meaning(meaning: str) -> str:
    """Return the meaning of a level in plain words.

    >>> _plain_meaning("width 10 (9)"), _plain_meaning("month (24)"), _plain_meaning("one value")
    ('in steps of 10', 'by month', 'not shown')
    """
    plain = re.sub(r" \([0-9,]+\)$", "", meaning)
    if plain == "one value":
        return "not shown"
    if plain.startswith("width "):
        return f"in steps of {plain.removeprefix('width ')}"
    if masked := re.fullmatch(r"([0-9]+) characters? masked", plain):
        return f"without {'the last character' if masked[1] == '1' else f'{masked[1]} characters'}"
    return f"by {plain}" if plain in PERIODS else f"in {plain}"


PERIODS = ("day", "month", "quarter", "year", "decade")
SIZES = (2, 3, 5, 8, 12, 20, 35, 60, 100)
"""Sizes of k that are tried in addition to the required one."""
# Seconds of a search that can be done again for every size as it was.
MAX_SECONDS_TO_REPEAT = 3.0
# After this time no further size is tried, if there are some already: the nearest ones come first.
LONGEST, ENOUGH = 12.0, 3


def _solve_by_size(
    desk: Desk, table: Table, policy: Policy, algorithm: Algorithm, made: Mapping[str, Any]
) -> Solutions:
    """Return solutions by searching again with other class sizes."""
    searching = algorithm if made["counters"]["seconds"] < MAX_SECONDS_TO_REPEAT else _without_refining(algorithm)
    asked, members = max(sizes_asked(policy.models)), made["original_people"] or made["original_rows"]
    possible = [k for k in SIZES if k != asked and k <= (members or 0) // 4]
    sizes = sorted(possible, key=lambda k: abs(math.log(k / asked)))
    rows = _sample_rows(table)
    source = transform_by_policy(table, policy)
    columns = tuple(policy.schema.quasi)
    before = tuple(tuple(as_text(source.data[name][int(row)].as_py()) for name in columns) for row in rows)
    solutions = [_own_solution(desk, policy, made, asked, rows)]
    began = time.monotonic()
    for index, k in enumerate(sizes):
        if time.monotonic() - began > LONGEST and len(solutions) > ENOUGH:
            break
        desk.enter(f"searching with k = {k}")
        tried = replace(policy, models=with_size(policy.models, k), algorithm=searching)
        with suppress(IndistinctError):  # a k that cannot be had is none of several
            solutions.append(_solution_for(tried, table, k, rows))
        desk.report((index + 1) / len(sizes))
    ordered = sorted(solutions, key=lambda each: (-each.size, each.risk))
    return Solutions("sizes", made["figures"].unit, columns, before, tuple(ordered))


def _without_refining(algorithm: Algorithm) -> Algorithm:
    """Return the algorithm that a refinement starts with: refining every size would take too long."""
    start = arguments_of(algorithm).get("start") if algorithm.name == Refine.name else None
    return algorithm if not isinstance(start, str) or start == BEST else parse_algorithm(start)


def _own_solution(desk: Desk, policy: Policy, made: Mapping[str, Any], k: int, rows: Codes) -> ShownSolution:
    """Describe the current release as a solution."""
    after = _labels_of(sorted_rows(desk, policy, made["files"]), rows)
    gone = made["suppressed_rows"] if made["suppressed_people"] is None else made["suppressed_people"]
    return ShownSolution(
        f"classes of at least {k}", k, 1 / made["k"] if made["k"] else 0.0, made["loss"] or 0.0, gone or 0,
        made["classes"], after, algorithm=made["algorithm"], own=True,
    )  # fmt: skip


def _solution_for(policy: Policy, table: Table, k: int, rows: Codes) -> ShownSolution:
    """Make a release for one class size, and describe it as a solution."""
    release = run_job(job_of_policy(policy, table=table, output=None))
    certificate, losses = release.certificate, losses_of(release)
    gone = certificate.suppressed_rows if certificate.people is None else certificate.people.suppressed
    return ShownSolution(
        f"classes of at least {k}", k, 1 / certificate.smallest_class if certificate.smallest_class else 0.0,
        sum(losses.values()) / len(losses) if losses else 0.0, gone or 0, certificate.classes,
        _labels_of(by_class(table, policy, release.recoding), rows), algorithm=spell(policy.algorithm),
    )  # fmt: skip


def _labels_of(sorted_rows: Sorted, rows: Codes) -> tuple[tuple[str, ...], ...]:
    """Return the published labels of some rows; suppressed rows are marked."""
    positions = np.empty(len(sorted_rows.order), dtype=np.int64)
    positions[sorted_rows.order] = np.arange(len(sorted_rows.order))
    ends = np.cumsum(sorted_rows.sizes)
    classes = np.searchsorted(ends, positions[rows], side="right")
    there = [int(each) for each in classes if each < len(sorted_rows.sizes)]
    labels = dict(zip(there, sorted_rows.labels(there), strict=True)) if there else {}
    nothing = (LEFT_OUT, *[""] * (len(sorted_rows.headings) - 1))
    return tuple(tuple(labels.get(int(each), nothing)) for each in classes)


@dataclass(frozen=True, slots=True, eq=False)
class AlgorithmGrid:
    """What algorithms give for several k: the comparison, its pictures by name, and the k of each trial."""

    comparison: Comparison
    pictures: Mapping[str, str]
    sizes: tuple[int, ...]


def compare_grid(desk: Desk, policy: Policy, algorithms: Sequence[str], sizes: Sequence[int]) -> AlgorithmGrid:
    """Make and measure a release for each algorithm and each k; the releases are discarded."""
    desk.enter("reading")
    table = table_of(desk, policy)
    by_spec = {all_of(with_size(policy.models, k)).spec(): k for k in sizes}
    comparison = compare_by_policy(
        table,
        replace(policy, target=None),
        algorithms=list(algorithms),
        models=list(by_spec),
        metrics=METRICS,
        workers=1,
        progress=desk.report,
    )
    return AlgorithmGrid(
        comparison, draw_comparison(comparison), tuple(by_spec[str(trial.point.model)] for trial in comparison.trials)
    )


def plain_trials(grid: AlgorithmGrid) -> list[dict[str, Any]]:
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
