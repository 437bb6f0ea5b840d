"""Time, distortion and discernibility of four local recoding algorithms: the nine charts of Verma (2013).

The thesis prints curves without numbers and leaves out its hierarchies, so what can be compared is who is below whom.
"""

import math
import time
from collections.abc import Mapping
from functools import partial

import pyarrow as pa

from indistinct.algorithms.base import Problem, Progress
from indistinct.algorithms.registry import parse_algorithm
from indistinct.drawing.charts import draw
from indistinct.drawing.lines import Scale, line_charts
from indistinct.engines import count_source
from indistinct.errors import InputError
from indistinct.frequencies.count import Counted, Request
from indistinct.hierarchy import Hierarchy
from indistinct.metrics import Discernibility, Distortion
from indistinct.models import KAnonymity
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import columns_of
from indistinct.reproduce.base import Cell, Reproduction
from indistinct.reproduce.datasets import adult_hierarchies, census_hierarchies, generate_census, load_adult
from indistinct.reproduce.datasets.adult import WHERE

TITLE = "Local recoding: time, distortion and discernibility"
ALGORITHMS = ("kaca", "top-down", "top-down-kaca", "two-level", "two-level:rule=literal")
RULES = ("two-level", "two-level:rule=literal")
REPEATS = 3
KS = (2, 5, 10)
MEASURES: Mapping[str, Scale] = {"seconds": "log", "distortion": "linear", "discernibility": "log"}
HEADINGS = ("size", "cells", "k", "algorithm", *MEASURES)
ADULT_ORDER = ("workclass", "education", "marital-status", "race", "sex", "age", "occupation")
CENSUS_ORDER = ("workclass", "education", "marital", "race", "sex", "age", "occupation")
# As many as Adult's training rows without unknowns.
CENSUS_ROWS = 30_162


def reproduce_local_recoding(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Search with each algorithm for the first so many quasi-identifiers and every k, and measure what it found."""
    table, hierarchies, data = _table()
    rows = list[tuple[Cell, ...]]()
    measure_algorithms(table, hierarchies, min(sizes))  # so that no search is timed with the compilation of its kernels
    for place, size in enumerate(sizes):
        rows += measure_algorithms(table, hierarchies, size)
        progress((place + 1) / len(sizes))
    held, settings = _claims(rows), len(sizes) * len(KS)
    return Reproduction(
        title=TITLE,
        source="M. Verma (2013). k-Anonymity using two level clustering. Thesis.",
        data=data,
        headings=HEADINGS,
        rows=tuple(rows),
        findings=tuple(
            f"{rule}, of {settings} settings: faster than the three others in {counts['seconds']}, distortion at most "
            f"that of kaca in {counts['distortion']}, discernibility at most that of kaca in {counts['discernibility']}"
            for rule, counts in held.items()
        ),
        facts={"settings": settings, "held": held},
        differs=("the thesis prints curves without numbers and leaves out its hierarchies; its machine is not ours",),
        picture=partial(_picture, rows, data),
    )


def measure_algorithms(table: pa.Table, hierarchies: Mapping[str, Hierarchy], size: int) -> list[tuple[Cell, ...]]:
    """Return a row for every k and algorithm on the first so many quasi-identifiers."""
    columns = table.column_names[:size]
    counted = count_source(table, Request(columns, (), hierarchies))
    return [
        (size, len(counted.frequencies), k, algorithm, *_measure(counted, hierarchies, algorithm, k))
        for k in KS
        for algorithm in ALGORITHMS
    ]


def _measure(counted: Counted, hierarchies: Mapping[str, Hierarchy], algorithm: str, k: int) -> tuple[Cell, ...]:
    problem = Problem(counted.frequencies, columns_of(counted.domains, hierarchies), KAnonymity(k))
    seconds = math.inf
    for _ in range(REPEATS):
        began = time.perf_counter()
        recoding = parse_algorithm(algorithm).search(problem)
        seconds = min(seconds, time.perf_counter() - began)
    assignment = assign(counted.frequencies, recoding)
    return float(f"{seconds:.3g}"), round(Distortion().value(assignment), 2), int(Discernibility().value(assignment))


def _picture(rows: list[tuple[Cell, ...]], data: str) -> str:
    """Return the nine charts: a measure in each row, a k in each column."""
    charts = line_charts(
        [dict(zip(HEADINGS, row, strict=True)) for row in rows],
        x=("size", "quasi-identifiers"),
        across="k",
        lines="algorithm",
        measures=MEASURES,
    )
    return draw(charts, title=TITLE, notes=[data])


def _claims(rows: list[tuple[Cell, ...]]) -> dict[str, dict[str, int]]:
    """Return, for each rule of two-level, in how many settings each claim of the thesis holds.

    A rule is compared with the three other algorithms, not with the other rule: the better of two would win too often.
    """
    held = {rule: dict.fromkeys(("distortion", "discernibility", "seconds"), 0) for rule in RULES}
    for start in range(0, len(rows), len(ALGORITHMS)):
        found = {str(row[3]): [float(cell or 0) for cell in row[4:]] for row in rows[start : start + len(ALGORITHMS)]}
        for rule, counts in held.items():
            counts["seconds"] += found[rule][0] < min(found[name][0] for name in ALGORITHMS if name not in RULES)
            counts["distortion"] += found[rule][1] <= found["kaca"][1]
            counts["discernibility"] += found[rule][2] <= found["kaca"][2]
    return held


def _table() -> tuple[pa.Table, Mapping[str, Hierarchy], str]:
    """Return Adult, or where it is not at hand a generated census of the same shape."""
    hierarchies: Mapping[str, Hierarchy]
    try:
        table, hierarchies, order = load_adult(training_only=True), adult_hierarchies(), ADULT_ORDER
        data = f"Adult, {table.num_rows:,} training rows without unknowns, reference hierarchies"
    except InputError:
        table, hierarchies, order = generate_census(CENSUS_ROWS, seed=1), census_hierarchies(), CENSUS_ORDER
        data = f"generated census, {table.num_rows:,} rows; for Adult {WHERE}"
    return table.select(order), {name: hierarchies[name] for name in order}, data
