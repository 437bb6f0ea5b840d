"""Full-domain searches: the proven optimum and Incognito, on Adult where it is there and on census-like rows."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping

import pyarrow as pa

import indistinct as ind
from benchmarks.data import QUASI, census
from benchmarks.timing import Line, best
from indistinct.algorithms.base import Problem
from indistinct.algorithms.full_domain.incognito import Incognito
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.algorithms.full_domain.objective import objective_of
from indistinct.algorithms.full_domain.optimal import Optimal, survey_lattice
from indistinct.engines import count_source
from indistinct.errors import InputError
from indistinct.frequencies.count import Request
from indistinct.metrics import parse_metric
from indistinct.models import Model
from indistinct.recoding.columns import columns_of
from indistinct.samples import census_hierarchies
from indistinct.suppression_limit import Budget
from indistinct_papers.adult import ADULT_QUASI, adult_hierarchies, load_adult, load_adult_arx


def problem_of(
    table: pa.Table,
    names: list[str],
    hierarchies: Mapping[str, ind.Hierarchy],
    *,
    k: int,
    share: float,
    also: Model | None = None,
) -> Problem:
    model = ind.KAnonymity(k=k) if also is None else ind.KAnonymity(k=k) & also
    counted = count_source(table, Request(names, keys=model.keys))
    columns = columns_of(counted.domains, {name: hierarchies[name] for name in names if name in hierarchies})
    rows = Budget(share).allows(table.num_rows)
    return Problem(counted.frequencies, columns, model, suppression=rows, counters=Counter())


def optimal_lines() -> Iterator[Line]:
    """The optimum under geometric loss against a walk over every node of the same lattice, in the same process."""
    try:
        table, hierarchies = load_adult_arx(), adult_hierarchies("arx")
    except InputError:
        table, hierarchies = pa.table(ind.open(census(30_000)).data), census_hierarchies()
    names = list(table.column_names)
    for share, elsewhere in ((0.0, 0.07), (0.05, 1.5), (1.0, 4.1)):
        problem = problem_of(table, names, hierarchies, k=5, share=share)

        def search(problem: Problem = problem) -> None:
            Optimal(metric="geometric-loss").search(problem)

        def walk(problem: Problem = problem) -> None:
            space = FullDomain(problem)
            survey_lattice(space, objective_of(space, parse_metric("geometric-loss")))

        search()
        walk()
        ours = best(search)
        yield Line(
            f"optimal, {share:.0%} suppression, {len(names)} columns", ours, "walk over all nodes", best(walk), None
        )
        ours = best(search, clock=time.process_time)
        yield Line("  its CPU time", ours, "ARX 3.9.2, CPU, on a like machine", elsewhere, 1)


def closeness_lines() -> Iterator[Line]:
    """The optimum for models that are not absorbing: of the sensitive column, 5 % suppression, CPU time."""
    try:
        table, hierarchies = load_adult_arx(), adult_hierarchies("arx")
    except InputError:
        return
    names = [name for name in table.column_names if name != "occupation"]
    models = [
        (ind.TCloseness("occupation", t=0.2), "half of ARX 3.9.2, CPU, a like machine", 2.7 / 2),
        (ind.DistinctLDiversity("occupation", l=5), "ARX 3.9.2, CPU, on a like machine", 0.81),
        (ind.TCloseness("occupation", t=0.2, distance="ordered"), "two seconds", 2.0),
        (ind.AlphaK("occupation", alpha=0.3, k=5), "two seconds", 2.0),
        (ind.EntropyLDiversity("occupation", l=4), "two seconds", 2.0),
        (ind.RecursiveLDiversity("occupation", c=3, l=3), "two seconds", 2.0),
    ]
    for model, peer, theirs in models:
        problem = problem_of(table, names, hierarchies, k=5, share=0.05, also=model)

        def search(problem: Problem = problem) -> None:
            Optimal(metric="geometric-loss").search(problem)

        search()
        what = f"optimal, {model.spec()}, {problem.counters['checks']:,} of {problem.counters['nodes']:,} nodes"
        yield Line(what, best(search, clock=time.process_time), peer, theirs, 1)


def incognito_lines() -> Iterator[Line]:
    """All variants on the compacted cells of Adult, sizes 3 to 9, against one minute."""
    try:
        table, hierarchies = load_adult(), adult_hierarchies("reference")
    except InputError:
        return
    names = [*ADULT_QUASI, "salary-class"]
    began = time.perf_counter()
    for size in range(3, 10):
        for variant in ("basic", "super-roots", "cube"):
            Incognito(variant).satisfying(problem_of(table, names[:size], hierarchies, k=2, share=0))
    ours = time.perf_counter() - began
    yield Line("Incognito, three variants, 3 to 9 columns of Adult", ours, "one minute", 60.0, 1)


def million_lines(rows: int) -> Iterator[Line]:
    """A million rows: the search should cost little beside the one GROUP BY."""
    table, names = ind.open(census(rows)).data, [*QUASI, "salary"]
    hierarchies = census_hierarchies()
    problem = problem_of(table, names, hierarchies, k=5, share=0.05)
    Optimal(metric="geometric-loss").search(problem)
    ours = best(lambda: Optimal(metric="geometric-loss").search(problem))
    theirs = best(lambda: count_source(table, Request(names)))
    yield Line(f"optimal, 5% suppression, {rows:,} rows", ours, "the one GROUP BY", theirs, None)
