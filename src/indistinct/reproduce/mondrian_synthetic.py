"""Discernibility and average class size on uniform and normal tables: three charts of LeFevre et al. (2006).

They show what partitioning costs as k, the spread of a normal distribution, and the number of attributes grow. The
paper prints curves without numbers, so what can be compared is who is below whom, and how curves rise.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import pyarrow as pa

from indistinct.algorithms.base import Problem, Progress
from indistinct.algorithms.registry import parse_algorithm
from indistinct.drawing.charts import draw
from indistinct.drawing.lines import Scale, line_charts
from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.metrics import AverageClassSize, Discernibility
from indistinct.models import KAnonymity
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import columns_of
from indistinct.reproduce.base import Cell, Reproduction
from indistinct.reproduce.datasets import generate_normal, generate_uniform

ALGORITHMS = ("mondrian", "mondrian:relaxed=true", "single-dimensional")
MEASURES: Mapping[str, Scale] = {"discernibility": "log", "average-class-size": "linear"}
ROWS, ATTRIBUTES, CARDINALITY, MU, SIGMA, K, SEED = 10_000, 5, 8, 3.5, 0.2, 10, 1
SOURCE = (
    "K. LeFevre, D. DeWitt, R. Ramakrishnan (2006). Mondrian multidimensional k-anonymity. ICDE. Curves, no numbers."
)
DIFFERS = (
    "single-dimensional is greedy here; the paper's is an exhaustive optimum (Bayardo and Agrawal 2005) and lies lower",
    "the paper's random tables are not published; ours are drawn with its settings, sigma relative to the cardinality",
)
Setting = tuple[str, Cell, pa.Table, int]


def reproduce_by_k(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Partition a uniform and a normal table of five attributes with each k."""
    tables = {"uniform": _uniform(ATTRIBUTES), "normal": _normal(ATTRIBUTES, SIGMA)}
    settings = [(data, k, table, k) for data, table in tables.items() for k in sizes]
    return _reproduce("k", settings, f"{ATTRIBUTES} attributes, sigma = {SIGMA}", progress)


def reproduce_by_sigma(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Partition normal tables of five attributes, each with another sigma, given in tenths."""
    settings = [("normal", tenths / 10, _normal(ATTRIBUTES, tenths / 10), K) for tenths in sizes]
    return _reproduce("sigma", settings, f"{ATTRIBUTES} attributes, k = {K}", progress)


def reproduce_by_attributes(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Partition uniform and normal tables, each with another number of attributes."""
    make: Mapping[str, Callable[[int], pa.Table]] = {"uniform": _uniform, "normal": partial(_normal, sigma=SIGMA)}
    settings = ((data, size, table(size), K) for data, table in make.items() for size in sizes)
    return _reproduce("attributes", list(settings), f"sigma = {SIGMA}, k = {K}", progress)


def _uniform(columns: int) -> pa.Table:
    return generate_uniform(ROWS, seed=SEED, columns=columns, cardinality=CARDINALITY)


def _normal(columns: int, sigma: float) -> pa.Table:
    return generate_normal(ROWS, seed=SEED, columns=columns, cardinality=CARDINALITY, mu=MU, sigma=sigma)


def _reproduce(growing: str, settings: Sequence[Setting], rest: str, progress: Progress) -> Reproduction:
    rows, headings = list[tuple[Cell, ...]](), ("data", growing, "algorithm", "classes", *MEASURES)
    for place, (data, value, table, k) in enumerate(settings):
        rows += [(data, value, algorithm, *figures) for algorithm, figures in measure_algorithms(table, k)]
        progress((place + 1) / len(settings))
    title = f"Partitioning of generated tables against {growing}"
    data = f"{ROWS:,} rows, {CARDINALITY} values an attribute, {rest}; normal around {MU}"
    return Reproduction(
        title=title,
        source=SOURCE,
        data=data,
        headings=headings,
        rows=tuple(rows),
        findings=tuple(findings(rows)),
        facts={"multidimensional_below_single_dimensional": not any(_above(rows, metric) for metric in MEASURES)},
        picture=partial(_picture, rows, headings, title, data),
        differs=DIFFERS,
    )


def measure_algorithms(table: pa.Table, k: int) -> Iterable[tuple[str, tuple[Cell, ...]]]:
    """Yield for each algorithm the number of classes, the discernibility and the average class size."""
    counted = count_source(table, Request(tuple(table.column_names), (), {}))
    problem = Problem(counted.frequencies, columns_of(counted.domains, {}), KAnonymity(k))
    for algorithm in ALGORITHMS:
        found = assign(counted.frequencies, parse_algorithm(algorithm).search(problem))
        average = round(AverageClassSize(k).value(found), 4)
        yield algorithm, (len(found.classes.sizes), int(Discernibility().value(found)), average)


def findings(rows: list[tuple[Cell, ...]]) -> list[str]:
    """Return where multidimensional partitioning is not below single-dimensional, for each metric."""
    told = []
    for metric in MEASURES:
        failed = _above(rows, metric)
        where = f"not below for {', '.join(failed)}" if failed else "below single-dimensional everywhere"
        told.append(f"{metric}: multidimensional is {where}")
    return told


def _above(rows: list[tuple[Cell, ...]], metric: str) -> list[str]:
    place = 4 + list(MEASURES).index(metric)
    values = {(row[0], row[1], row[2]): float(row[place] or 0) for row in rows}
    return [
        f"{algorithm} ({data}, {value})"
        for data, value in dict.fromkeys((row[0], row[1]) for row in rows)
        for algorithm in ALGORITHMS[:2]
        if not values[data, value, algorithm] < values[data, value, ALGORITHMS[2]]
    ]


def _picture(rows: list[tuple[Cell, ...]], headings: tuple[str, ...], title: str, data: str) -> str:
    named = [dict(zip(headings, row, strict=True)) for row in rows]
    charts = line_charts(named, x=(headings[1], headings[1]), across="data", lines="algorithm", measures=MEASURES)
    return draw(charts, title=title, notes=[data])
