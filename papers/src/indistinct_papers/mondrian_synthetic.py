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
from indistinct.figures import plural
from indistinct.frequencies.count import Request
from indistinct.metrics import AverageClassSize, Discernibility
from indistinct.models import KAnonymity
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import columns_of
from indistinct.samples import generate_normal, generate_uniform
from indistinct_papers.base import Cell, Claim, Reproduction

NODES = 100_000  # the algorithm's own limit
OPTIMUM = "single-dimensional:search=optimal"
BASELINES = ("single-dimensional", OPTIMUM)
ALGORITHMS = ("mondrian", "mondrian:relaxed=true", *BASELINES)
MEASURES: Mapping[str, Scale] = {"discernibility": "log", "average-class-size": "linear"}
ROWS, ATTRIBUTES, CARDINALITY, MU, SIGMA, K, SEED = 10_000, 5, 8, 3.5, 0.2, 10, 1
SOURCE = (
    "K. LeFevre, D. DeWitt, R. Ramakrishnan (2006). Mondrian multidimensional k-anonymity. ICDE. Curves, no numbers."
)
DIFFERS = (
    "the paper's single-dimensional curve is an exhaustive optimum (Bayardo and Agrawal 2005); ours is searched with "
    f"at most {NODES:,} nodes, and `none below` is what no such recoding is below; the greedy one is drawn as well",
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
    rows, headings = list[tuple[Cell, ...]](), ("data", growing, "algorithm", "classes", *MEASURES, "none below")
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
        findings=(*findings(rows), name_proven([(f"{row[0]}, {growing} {row[1]}", row[4], row[6]) for row in rows])),
        facts={"multidimensional_below_single_dimensional": not any(_above(rows, metric) for metric in MEASURES)},
        claims=(judge_greedy_claim([(f"{row[0]}, {growing} {row[1]}", row[2], row[4], row[6]) for row in rows]),),
        picture=partial(_picture, rows, headings, title, data),
        differs=DIFFERS,
    )


def measure_algorithms(table: pa.Table, k: int) -> Iterable[tuple[str, tuple[Cell, ...]]]:
    """Yield for each algorithm the classes, the discernibility, the average class size, and what none can be below."""
    counted = count_source(table, Request(tuple(table.column_names), (), {}))
    problem = Problem(counted.frequencies, columns_of(counted.domains, {}), KAnonymity(k))
    for algorithm in ALGORITHMS:
        problem.counters.clear()
        found = assign(counted.frequencies, parse_algorithm(algorithm).find(problem))
        average = round(AverageClassSize(k).value(found), 4)
        bound = problem.counters["bound"] or None
        yield algorithm, (len(found.classes.sizes), int(Discernibility().value(found)), average, bound)


def findings(rows: list[tuple[Cell, ...]]) -> list[str]:
    """Return where multidimensional partitioning is not below single-dimensional, for each metric."""
    sentences = []
    for metric in MEASURES:
        failed = _above(rows, metric)
        where = f"not below for {', '.join(failed)}" if failed else "below single-dimensional everywhere"
        sentences.append(f"{metric}: multidimensional is {where}")
    return sentences


def name_proven(rows: Sequence[tuple[str, Cell, Cell]]) -> str:
    """Say which optima are proven: a row has a setting, the cost and, of the optimum alone, its bound."""
    bounded = [(setting, cost == bound) for setting, cost, bound in rows if bound is not None]
    proven = [setting for setting, is_proven in bounded if is_proven]
    rest = [setting for setting, is_proven in bounded if not is_proven]
    words = f"proven single-dimensional optima: {', '.join(proven) or 'none'}"
    return f"{words}; best known after {NODES:,} nodes: {', '.join(rest)}" if rest else words


def _above(rows: list[tuple[Cell, ...]], metric: str) -> list[str]:
    place = 4 + list(MEASURES).index(metric)
    values = {(row[0], row[1], row[2]): float(row[place] or 0) for row in rows}
    return [
        f"{algorithm} ({data}, {value})"
        for data, value in dict.fromkeys((row[0], row[1]) for row in rows)
        for algorithm in ALGORITHMS[:2]
        if not values[data, value, algorithm] < min(values[data, value, baseline] for baseline in BASELINES)
    ]


def judge_greedy_claim(rows: Sequence[tuple[str, Cell, Cell, Cell]]) -> Claim:
    """Judge whether greedy multidimensional releases are often better than optimal single-dimensional ones.

    A row has a setting, an algorithm, its discernibility and, of the exact baseline, what no answer is below. Below
    the bound the greedy one is better than any optimum; between bound and best it is not known.
    """
    ours = {setting: int(cost or 0) for setting, algorithm, cost, _ in rows if algorithm == ALGORITHMS[0]}
    exact = {setting: (int(cost or 0), int(bound or 0)) for setting, _, cost, bound in rows if bound is not None}
    below = [setting for setting in ours if ours[setting] < exact[setting][1]]
    above = [setting for setting in ours if ours[setting] >= exact[setting][0]]
    proven = sum(best == bound for best, bound in exact.values())
    ratios = [exact[setting][0] / ours[setting] for setting in ours]
    figures = (
        f"Mondrian is below the optimum in {len(below)} of {len(ours)} settings; the best single-dimensional C_DM is "
        f"{min(ratios):.2f} to {max(ratios):.2f} times Mondrian's; {plural(proven, 'optimum is', 'optima are')} proven"
    )
    if above:
        figures += f"; not below for {'; '.join(above)}"
    return Claim(
        text="The greedy algorithm often produces higher-quality results than optimal single-dimensional algorithms",
        source="LeFevre et al. (2006)",
        held=len(below),
        tested=len(ours),
        figures=figures,
        differs="quality is C_DM; what is not proven optimal is judged by its bound",
        place="Halwe and Verma, slide of contributions; abstract",
        setting="uniform and normal tables and Adult; C_DM and C_AVG by k, attributes and deviation",
        ours=f"C_DM, {next(iter(ours))} to {list(ours)[-1]}",
        rule="often",
    )


def _picture(rows: list[tuple[Cell, ...]], headings: tuple[str, ...], title: str, data: str) -> str:
    named = [dict(zip(headings, row, strict=True)) for row in rows]
    charts = line_charts(named, x=(headings[1], headings[1]), across="data", lines="algorithm", measures=MEASURES)
    return draw(charts, title=title, notes=[data])
