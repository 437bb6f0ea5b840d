"""How far counts are off whose predicates name one attribute or several: a claim of LeFevre et al. (2006).

A predicate asks for a range of each attribute that it names. The answer takes the rows of a class as spread evenly
over the ranges that the release shows for it: of a multidimensional release those of the class's own values, of a
single-dimensional one, in each column, that of all values between two cuts. The paper prints a table for predicates
over one attribute, and says of those over several that the multidimensional model often does better.
"""

from collections.abc import Sequence
from functools import partial
from itertools import groupby, product

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Progress
from indistinct.drawing.charts import draw
from indistinct.drawing.lines import line_charts
from indistinct.figures import plural
from indistinct.machine.arrays import Codes
from indistinct.samples import generate_normal
from indistinct_papers.base import Cell, Claim, Reproduction
from indistinct_papers.mondrian_synthetic import BASELINES, NODES, OPTIMUM
from indistinct_papers.partitions import partition

ROWS, CARDINALITY, SEEDS, QUERIES = 1_000, 50, 10, 400
MULTI = "mondrian"
ALGORITHMS = (*BASELINES, MULTI)
# How many attributes tables have, and of how many of them predicates ask for a range.
TABLES = {2: (1, 2), 4: (1, 2, 4)}
HEADINGS = ("k", "attributes", "named", "algorithm", "mean error", "spread of means", "relative error", "proven")
TITLE = "Error of counts whose predicates name several attributes"


def reproduce_mondrian_predicates(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Answer counts over one and over several attributes from partitions of random tables, for each k."""
    rows = list[tuple[Cell, ...]]()
    settings = [(k, attributes) for k in sizes for attributes in TABLES]
    for index, (k, attributes) in enumerate(settings):
        rows += measure_errors(k, attributes)
        progress((index + 1) / len(settings))
    data = (
        f"{ROWS:,} rows, attributes of {CARDINALITY} values, discrete normal around {CARDINALITY // 2}, sigma = 0.2; "
        f"{SEEDS} tables, {QUERIES} ranges each"
    )
    return Reproduction(
        title=TITLE,
        source="K. LeFevre, D. DeWitt, R. Ramakrishnan (2006). Mondrian multidimensional k-anonymity. ICDE. A sentence "
        "of its conclusion; no numbers.",
        data=data,
        headings=HEADINGS,
        rows=tuple(rows),
        findings=(_describe_one(rows), _describe_proven(rows)),
        facts={},
        claims=(judge_claim(rows),),
        picture=partial(_picture, rows, data),
        differs=(
            "the paper's queries over several attributes are not printed; ours ask for a range of each attribute, "
            "whose ends are drawn evenly",
            f"the paper's single-dimensional release is an exhaustive optimum; ours is searched with at most {NODES:,} "
            "nodes. It is drawn with the greedy one, and Mondrian is compared with whichever answers better",
        ),
    )


def measure_errors(k: int, attributes: int) -> list[tuple[Cell, ...]]:
    """Return a row for each number of attributes in a predicate and each algorithm: means over random tables."""
    tables = [generate_normal(ROWS, seed=seed, columns=attributes, cardinality=CARDINALITY) for seed in range(SEEDS)]
    errors: dict[tuple[int, str], list[tuple[float, float]]] = {}
    proven: dict[str, list[bool | None]] = {name: [] for name in ALGORITHMS}
    for seed, table in enumerate(tables):
        partitions = {name: partition(table, name, k=k, cardinality=CARDINALITY) for name in ALGORITHMS}
        for named, name in product(TABLES[attributes], partitions):
            low, high = draw_ranges(attributes, named, seed=seed)
            truth = count_rows(table, low, high)
            missed = float(np.abs(partitions[name].published.count_within(low, high) - truth).mean())
            errors.setdefault((named, name), []).append((missed, missed / float(truth.mean())))
        for name, found in partitions.items():
            proven[name].append(found.proven)
    rows = list[tuple[Cell, ...]]()
    for (named, name), several in errors.items():
        missed_of, relative = np.array(several).T
        means = (round(float(missed_of.mean()), 2), round(float(missed_of.std()), 2), round(float(relative.mean()), 4))
        optima = sum(map(bool, proven[name])) if name == OPTIMUM else None
        rows.append((k, attributes, named, name, *means, optima))
    return rows


def draw_ranges(attributes: int, named: int, *, seed: int) -> tuple[Codes, Codes]:
    """Return the ends of random boxes: ranges of the attributes that are named, everything of the others."""
    generator = np.random.default_rng([seed, attributes, named])
    low = np.zeros((QUERIES, attributes), dtype=np.int64)
    high = np.full((QUERIES, attributes), CARDINALITY - 1, dtype=np.int64)
    for query in range(QUERIES):
        chosen = generator.choice(attributes, size=named, replace=False)
        ends = np.sort(generator.integers(0, CARDINALITY, size=(named, 2)), axis=1)
        low[query, chosen], high[query, chosen] = ends.T
    return low, high


def count_rows(table: pa.Table, low: Codes, high: Codes) -> Codes:
    """Return how many rows of a table lie in each box."""
    values = np.stack([column.to_numpy() for column in table.columns], axis=1)
    inside = (low[:, None] <= values[None]) & (values[None] <= high[:, None])
    return np.asarray(inside.all(axis=2).sum(axis=1))


def compare_errors(rows: Sequence[tuple[Cell, ...]]) -> dict[str, float]:
    """Return, for each setting, the multidimensional error over the smaller single-dimensional one."""
    ratios = dict[str, float]()
    for (k, attributes, named), group in groupby(rows, key=lambda row: row[:3]):
        errors = {str(row[3]): float(row[4] or 0) for row in group}
        ratios[f"k = {k}, {named} of {attributes} attributes"] = errors[MULTI] / min(errors[name] for name in BASELINES)
    return ratios


def judge_claim(rows: Sequence[tuple[Cell, ...]]) -> Claim:
    """Return the paper's claim; it says *often*, which more than half of the settings confirm."""
    text = "for predicates over several attributes multidimensional recoding often does better"
    ratios = compare_errors([row for row in rows if int(row[2] or 0) > 1])
    worse = [name for name, ratio in ratios.items() if ratio >= 1]
    held, tested = len(ratios) - len(worse), len(ratios)
    figures = (
        f"smaller errors in {held} of {tested} settings, {min(ratios.values()):.2f} to {max(ratios.values()):.2f} of "
        "the better single-dimensional ones"
    )
    where = f"; not smaller for {'; '.join(worse)}" if worse else ""
    differs = f"means over {SEEDS} random tables; labels as each release publishes them"
    return Claim(
        text,
        "LeFevre et al. (2006)",
        held,
        tested,
        figures + where,
        differs,
        place="Murthy and Srinivas, 5; Halwe and Verma, slide of conclusions",
        setting="Synthetic tables; predicates over several attributes, counts",
        ours=f"k = {', '.join(map(str, dict.fromkeys(row[0] for row in rows)))}; two and four attributes",
        rule="often",
    )


def _describe_one(rows: Sequence[tuple[Cell, ...]]) -> str:
    ratios = compare_errors([row for row in rows if row[2] == 1]).values()
    return (
        f"predicates over one attribute: errors are {min(ratios):.2f} to {max(ratios):.2f} of the better "
        "single-dimensional ones"
    )


def _describe_proven(rows: Sequence[tuple[Cell, ...]]) -> str:
    proven = {(row[0], row[1]): int(row[7] or 0) for row in rows if row[3] == OPTIMUM}
    settings = ", ".join(
        f"{count} for k = {k} and {attributes} attributes" for (k, attributes), count in proven.items()
    )
    return f"of {plural(SEEDS, 'table')} in each setting these single-dimensional optima are proven: {settings}"


def _picture(rows: Sequence[tuple[Cell, ...]], data: str) -> str:
    """Return a chart for each kind of predicate: the error as k grows."""
    named = [{**dict(zip(HEADINGS, row, strict=True)), "predicate": f"{row[2]} of {row[1]} attributes"} for row in rows]
    charts = line_charts(named, x=("k", "k"), across="predicate", lines="algorithm", measures={"mean error": "linear"})
    return draw(charts, title=TITLE, notes=[data])
