"""Local recoding: each algorithm against KACA in the same process, and growth on census-like rows."""

from collections.abc import Iterator, Mapping
from functools import partial

import pyarrow as pa

import indistinct as ind
from benchmarks.data import QUASI, census
from benchmarks.lattice import problem_of
from benchmarks.timing import Line, best
from indistinct.algorithms.registry import parse_algorithm
from indistinct.errors import InputError
from indistinct.samples import census_hierarchies
from indistinct_papers.adult import adult_hierarchies, load_adult

ADULT = ["workclass", "education", "marital-status", "race", "sex", "age"]
CENSUS = ["workclass", "education", "marital", "race", "sex", "age"]


def _table() -> tuple[pa.Table, list[str], Mapping[str, ind.Hierarchy]]:
    try:
        return load_adult(training_only=True), ADULT, adult_hierarchies("reference")
    except InputError:
        return ind.open(census(30_000)).data, CENSUS, census_hierarchies()


def clustering_lines() -> Iterator[Line]:
    """Six columns, k = 5: KACA against half a second, the others against KACA."""
    table, names, hierarchies = _table()
    problem, times = problem_of(table, names, hierarchies, k=5, share=0), {}
    for spelled in ("kaca", "top-down", "top-down-kaca", "two-level"):
        algorithm = parse_algorithm(spelled)
        algorithm.find(problem)
        times[spelled] = best(partial(algorithm.search, problem))
    yield Line(f"kaca, {len(problem.frequencies):,} cells", times["kaca"], "half a second", 0.5, 1)
    for spelled in ("top-down", "top-down-kaca", "two-level"):
        yield Line(spelled, times[spelled], "kaca", times["kaca"], 1)
    yield Line("two-level", times["two-level"], "a tenth of a second", 0.1, 1)


def clustering_growth_lines(largest: int) -> Iterator[Line]:
    """From ten thousand rows up, eight columns, k = 5, against one minute."""
    for rows in (10_000, 100_000, 1_000_000):
        if rows > largest:
            return
        problem = problem_of(ind.open(census(rows)).data, QUASI, census_hierarchies(), k=5, share=0)
        for spelled in ("two-level", "top-down-kaca"):
            ours = best(partial(parse_algorithm(spelled).search, problem), repeat=1)
            yield Line(f"{spelled}, {rows:,} rows, {len(problem.frequencies):,} cells", ours, "one minute", 60.0, 1)
