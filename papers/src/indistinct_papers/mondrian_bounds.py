"""How large a class of a partition can be: the bounds of LeFevre et al. (2006), met and not met.

A strict multidimensional class has at most 2d(k - 1) + m rows, m being the most rows with one vector. A
single-dimensional one has no such bound: there are tables of distinct vectors on which every recoding of columns leaves
half of all rows in one class.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Problem, Progress
from indistinct.algorithms.registry import parse_algorithm
from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.machine.arrays import Codes
from indistinct.models import KAnonymity
from indistinct.recoding.columns import columns_of
from indistinct.recoding.kinds import ByRow
from indistinct.samples import generate_normal, generate_uniform
from indistinct_papers.base import Cell, Claim, Reproduction
from indistinct_papers.partitions import boxes_of

K = 5
HEADINGS = (
    *("table", "rows", "d", "m", "k", "partitioning", "classes", "largest class", "bound", "share of bound"),
    "C_DM",
)
DRAWN = 10_000
MULTI, SINGLE, RELAXED, LEFT = "mondrian", "single-dimensional", "mondrian:relaxed=true", "median on the left alone"
# A table of the values of one column on which the cut at the median is not allowable for k = 2, and another one is.
COUNTEREXAMPLE = (0, 1, 2, 3, 3, 3, 3)
SMALL_TABLES, SMALL_ROWS, SMALL_K = 1_000, 12, 2
SETTING: dict[str, Any] = {
    "setting": "theorems, proven",
    "ours": "drawn tables, and tables that are made to attain the bound",
}
PROVEN = "the paper proves it and prints no table; ours are drawn or made for the bound"


def reproduce_mondrian_bounds(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Compare the largest class with the bound: on drawn tables, where the bound is met, and where single cuts fail."""
    rows = list[tuple[Cell, ...]]()
    drawn = {
        "uniform": generate_uniform(DRAWN, seed=1, columns=3, cardinality=8),
        "normal": generate_normal(DRAWN, seed=1, columns=3, cardinality=8),
    }
    rows += [_row(name, table, k, MULTI) for name, table in drawn.items() for k in (2, 10, 50)]
    rows += [_row(name, table, k, RELAXED) for name, table in drawn.items() for k in (2, 10, 50)]
    rows.append(_row("0 1 2 3 3 3 3", pa.table({"x1": COUNTEREXAMPLE}), SMALL_K, LEFT))
    rows += [_row("star", star(d, k, m), k, MULTI) for d, k, m in ((1, 3, 4), (2, 5, 4), (2, 10, 12), (3, 4, 3))]
    for place, size in enumerate(sizes):
        table = axes(size)
        rows += [_row("axes", table, K, algorithm) for algorithm in (MULTI, SINGLE)]
        progress((place + 1) / len(sizes))
    strict = [row for row in rows if row[5] == MULTI]
    grown = [(int(row[1] or 0), int(row[7] or 0)) for row in rows if row[5] == SINGLE]
    held = all(int(row[7] or 0) <= int(row[8] or 0) for row in strict)
    met = all(row[7] == row[8] for row in strict if row[0] == "star")
    possible, at_median = try_medians()
    return Reproduction(
        title="Bounds of the largest class",
        source="K. LeFevre, D. DeWitt, R. Ramakrishnan (2006). Mondrian multidimensional k-anonymity. ICDE.",
        data="drawn tables; a point with neighbours (star); rows along two axes and one in the corner (axes)",
        headings=HEADINGS,
        rows=tuple(rows),
        findings=(
            f"the cut at the median is allowable in {at_median} of {possible} drawn tables that have an allowable cut",
        ),
        claims=claims(rows),
        facts={"bound_held": held, "bound_met": met, "single_dimensional": dict(grown)},
        differs=("the paper proves the bounds and prints no figures; the tables are ours",),
    )


def claims(rows: Sequence[tuple[Cell, ...]]) -> tuple[Claim, ...]:
    """Return the two theorems about the largest class, and that the first bound is attained."""
    named = [dict(zip(HEADINGS, row, strict=True)) for row in rows]
    strict = [(int(row["largest class"] or 0), int(row["bound"] or 0)) for row in named if row["partitioning"] == MULTI]
    stars = [row for row in named if row["table"] == "star"]
    met = sum(row["largest class"] == row["bound"] for row in stars)
    axes_of = [row for row in named if row["partitioning"] == SINGLE]
    shares = [int(row["largest class"] or 0) / int(row["rows"] or 1) for row in axes_of]
    source, held = "LeFevre et al. (2006)", sum(largest <= bound for largest, bound in strict)
    return (
        Claim(
            "a class of a strict multidimensional partition has at most 2d(k - 1) + m rows",
            source,
            held,
            len(strict),
            f"in {held} of {len(strict)} partitions; {min(largest / bound for largest, bound in strict):.2f} to "
            f"{max(largest / bound for largest, bound in strict):.2f} of the bound",
            PROVEN,
            place="Murthy and Srinivas, 2.3",
            **SETTING,
        ),
        Claim(
            "that bound is attained",
            source,
            met,
            len(stars),
            f"on {met} of {len(stars)} stars: a point and its 2d neighbours, which no cut can part",
            PROVEN,
            place="bounds on partition size",
            **SETTING,
        ),
        Claim(
            "a class of a single-dimensional partition may grow in proportion to the table",
            source,
            sum(share > 0.4 for share in shares),
            len(shares),
            "rows along two axes: "
            + ", ".join(f"{row['largest class']:,} of {row['rows']:,} rows in one class" for row in axes_of),
            PROVEN,
            place="Murthy and Srinivas, bounds on partition size",
            **SETTING,
        ),
        _claim_of_quality(named, source),
        *_claims_beyond_strict(named, source),
    )


def _claim_of_quality(named: Sequence[dict[str, Cell]], source: str) -> Claim:
    """Return the bounds of quality: no partition has a smaller C_DM than k for each row, nor a smaller C_AVG than 1."""
    shares: dict[str, list[float]] = {"C_DM": [], "C_AVG": []}
    for row in named:
        if row["partitioning"] == MULTI:
            rows, classes, bound, dm = (int(row[name] or 0) for name in ("rows", "classes", "bound", "C_DM"))
            shares["C_DM"].append(dm / (bound * rows))
            shares["C_AVG"].append(rows / (bound * classes))
    both = [share for several in shares.values() for share in several]
    held = sum(share <= 1 for share in both)
    spans = ", ".join(f"{metric} {min(each):.2f} to {max(each):.2f} of its bound" for metric, each in shares.items())
    return Claim(
        "C_DM and C_AVG of a strict multidimensional partition are at most (2d(k - 1) + m) / k times the optimum",
        source,
        held,
        len(both),
        f"in {held} of {len(both)} settings; {spans}",
        f"{PROVEN}; the optimum is replaced by what no partition is below: k for each row, and 1. The slide's bound of "
        "C_AVG alone is multiplied by the rows, where it has to be divided by k",
        place="Halwe and Verma, slide of bounds on quality",
        **SETTING,
    )


def _claims_beyond_strict(named: Sequence[dict[str, Cell]], source: str) -> tuple[Claim, ...]:
    """Return the bound of relaxed partitioning, and the lemma about medians."""
    relaxed = [
        (int(row["largest class"] or 0), int(row["bound"] or 0)) for row in named if row["partitioning"] == RELAXED
    ]
    within = sum(largest <= bound for largest, bound in relaxed)
    possible, at_median = try_medians()
    return (
        Claim(
            "in relaxed partitioning a class has at most 2k - 1 rows",
            source,
            within,
            len(relaxed),
            f"in {within} of {len(relaxed)} partitions; the largest classes have "
            + ", ".join(f"{largest} of {bound}" for largest, bound in relaxed),
            "parts that publish the same are one class in a release; the bound is of parts",
            "Murthy and Srinivas, 2.3",
            **SETTING,
        ),
        Claim(
            "if a cut of an attribute is allowable, the cut at its median is",
            source,
            at_median,
            possible,
            f"in {at_median} of {possible} drawn tables of one column that have an allowable cut; not of "
            "0 1 2 3 3 3 3 for k = 2, whose median has nothing above it",
            "ours may cut before the median too, and then the statement holds",
            "Murthy and Srinivas, 2.3",
            **SETTING,
        ),
    )


def try_medians() -> tuple[int, int]:
    """Return how many small tables of one column have an allowable cut, and of how many of them the median is one."""
    draw, possible, at_median = np.random.default_rng(1), 0, 0
    for _ in range(SMALL_TABLES):
        values = np.sort(draw.integers(0, 6, int(draw.integers(2 * SMALL_K, SMALL_ROWS + 1))))
        allowable = {int(end) for end in values if min((values <= end).sum(), (values > end).sum()) >= SMALL_K}
        possible += bool(allowable)
        at_median += int(values[(len(values) + 1) // 2 - 1]) in allowable
    return possible, at_median


def star(d: int, k: int, m: int) -> pa.Table:
    """Return m copies of a point with k - 1 copies of each of its 2d neighbours: no cut leaves k rows on both sides.

    With at least k - 1 copies of the point no vector is more frequent than it.
    """
    steps = [step for axis in range(d) for step in (tuple(s * (j == axis) for j in range(d)) for s in (-1, 1))]
    points = [(0,) * d] * m + [step for step in steps for _ in range(k - 1)]
    return pa.table({f"x{axis + 1}": [point[axis] + 1 for point in points] for axis in range(d)})


def axes(size: int) -> pa.Table:
    """Return rows (1, 0) to (size, 0), rows (0, 1) to (0, size), and the corner (size, size); all vectors are distinct.

    A cut of x and a cut of y together leave the corner alone in its cell, so that for k > 1 only one column can be
    cut. Then all rows along the other axis share their value of it, and with it their class.
    """
    along = range(1, size + 1)
    return pa.table({"x1": [*along, *[0] * size, size], "x2": [*[0] * size, *along, size]})


def _relaxed_sizes(table: pa.Table, k: int) -> Codes:
    """Return the sizes of the parts of relaxed partitioning."""
    counted = count_source(table, Request(tuple(table.column_names), (), {}))
    found = parse_algorithm(RELAXED).find(Problem(counted.frequencies, columns_of(counted.domains, {}), KAnonymity(k)))
    assert isinstance(found, ByRow)  # noqa: S101 (what relaxed partitioning finds)
    return np.bincount(found.class_ids, weights=found.counts).astype(np.int64)


def _cut_at_medians(values: list[int], k: int) -> list[int]:
    """Return the sizes of the parts of one sorted column that is cut after the median alone."""
    left = [value for value in values if value <= values[(len(values) + 1) // 2 - 1]]
    right = values[len(left) :]
    if min(len(left), len(right)) < k:
        return [len(values)]
    return [*_cut_at_medians(left, k), *_cut_at_medians(right, k)]


def _row(name: str, table: pa.Table, k: int, algorithm: str) -> tuple[Cell, ...]:
    d, rows = table.num_columns, table.num_rows
    counts = table.group_by(table.column_names).aggregate([([], "count_all")])["count_all"]
    m = max(counts.to_pylist())
    cardinality = 1 + max(int(column.to_numpy().max()) for column in table.columns)
    if algorithm == RELAXED:
        sizes = _relaxed_sizes(table, k)
    elif algorithm == LEFT:
        sizes = np.array(_cut_at_medians(sorted(table["x1"].to_pylist()), k))
    else:
        sizes = boxes_of(table, algorithm, k=k, cardinality=cardinality).sizes
    bound = 2 * k - 1 if algorithm == RELAXED else 2 * d * (k - 1) + m
    figures = (len(sizes), int(sizes.max()), bound, round(int(sizes.max()) / bound, 3))
    return (name, rows, d, m, k, algorithm, *figures, int((sizes**2).sum()))
