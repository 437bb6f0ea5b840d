"""How far from the least possible loss: the optimum of small tables, and a bound for large ones."""

from collections.abc import Iterator

import pyarrow as pa

import indistinct as ind
from benchmarks.data import QUASI, census
from benchmarks.lattice import problem_of
from benchmarks.least_loss import least_loss, optimum
from benchmarks.timing import Line
from indistinct.algorithms.base import Problem
from indistinct.algorithms.registry import parse_algorithm
from indistinct.errors import InputError
from indistinct.metrics import parse_metric
from indistinct.recoding.assign import assign
from indistinct_papers.adult import ADULT_QUASI, load_adult_arx

SMALL = ((20, 2), (20, 3), (20, 5), (30, 2), (30, 3), (40, 2), (40, 3))


def optimum_lines() -> Iterator[Line]:
    """Twenty to forty rows of census against the optimum, then all of Adult against a bound that no partition beats."""
    for rows, k in SMALL:
        problem = problem_of(ind.open(census(rows)).data, QUASI, {}, k=k, share=0)
        lost = {spec: _loss(problem, spec) for spec in ("mondrian", "mondrian:choose=loss", "auto")}
        best = optimum(problem, above=min(lost.values()))
        peer = "the optimum" if best.proven else "the best known"
        for spec, loss in lost.items():
            yield Line(f"{spec}, gcp × 1,000, {rows} rows, k = {k}", 1e3 * loss, peer, 1e3 * best.loss, None)
        if not best.proven:
            what = f"best known, {rows} rows, k = {k}"
            yield Line(what, 1e3 * best.loss, "no partition below", 1e3 * best.bound, None)
    table, names = _large()
    for k in (2, 5, 10):
        problem = problem_of(table, names, {}, k=k, share=0)
        bound = least_loss(problem)
        for spec in ("mondrian", "mondrian:choose=loss", "auto"):
            loss = _loss(problem, spec)
            what = f"{spec}, gcp × 1,000, {table.num_rows:,} rows, k = {k}"
            yield Line(what, 1e3 * loss, "no partition below", 1e3 * bound, None)


def _large() -> tuple[pa.Table, list[str]]:
    try:
        return load_adult_arx(), list(ADULT_QUASI)
    except InputError:
        return ind.open(census(30_000)).data, QUASI


def _loss(problem: Problem, spec: str) -> float:
    recoding = parse_algorithm(spec).find(problem)
    return parse_metric("gcp").value(assign(problem.frequencies, recoding))
