"""How often intervals on a release contain the truth, for each rule and width of ranges, as the guide shows it."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.evaluation.analyze.result import Interval

GUIDE = Path(__file__).parents[4] / "docs" / "guides" / "analyzing.md"
TABLES, ROWS, SLOPE = 12, 2_000, 5.0
AGES = np.arange(18, 90)


def people(seed: int) -> pa.Table:
    random = np.random.default_rng(1_000 + seed)
    age, sex = random.choice(AGES, ROWS), random.integers(0, 2, ROWS)
    return pa.table({"age": age, "sex": sex, "cost": 100 + SLOPE * age + 20 * sex + random.normal(0, 60, ROWS)})


def in_ranges(table: pa.Table, column: str, width: int) -> pa.Table:
    low = (np.asarray(table[column]) // width * width).astype(int)
    labels = [f"[{each}-{each + width - 1}]" for each in low]
    return table.set_column(table.column_names.index(column), column, pa.array(labels))


def intervals(column: str, width: int, term: str, rule: str) -> list[Interval]:
    """Return the interval of one term on the release of each table."""
    schema = ind.Schema(quasi=[column], insensitive=[name for name in ("age", "sex", "cost") if name != column])
    found = []
    for seed in range(TABLES):
        table = people(seed)
        rules = {column: rule} if column == "age" else {}
        result = ind.analyze(
            in_ranges(table, column, width), "cost ~ age + sex", original=table, schema=schema, rules=rules, seed=seed
        )
        (after,) = (each.after for each in result.analyses[0].terms if each.name == term)
        assert after is not None
        found.append(after)
    return found


@cache
def slope_and_coverage(width: int, rule: str) -> tuple[float, int]:
    found = intervals("age", width, "age", rule)
    return float(np.mean([each.estimate for each in found])), sum(not each.excludes(SLOPE) for each in found)


def category_coverage(width: int) -> int:
    """Return in how many tables the difference of the last range and the first has its true value in its interval."""
    low = AGES // width * width
    first, last = AGES[low == low.min()], AGES[low == low.max()]
    term = f"age[T.{low.max()} to {low.max() + width - 1}]"
    truth = SLOPE * (last.mean() - first.mean())
    return sum(not each.excludes(truth) for each in intervals("age", width, term, "category"))


@pytest.mark.parametrize("width", [5, 10, 20])
def test_the_guide_shows_the_coverage_of_each_rule(width: int) -> None:
    (row,) = re.findall(rf"^\| {width} years \|(.*)\|$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    cells = [cell.strip() for cell in row.split("|")]
    for rule, (slope, covers) in zip(("imputation", "midpoint"), (cells[:2], cells[2:4]), strict=True):
        found, count = slope_and_coverage(width, rule)
        assert found == pytest.approx(float(slope), abs=0.01)
        assert covers == f"{count} of {TABLES}"
    assert cells[4] == f"{category_coverage(width)} of {TABLES}"


def test_imputation_covers_the_slope_where_midpoints_do_not() -> None:
    assert slope_and_coverage(20, "imputation")[1] >= 10
    assert slope_and_coverage(20, "midpoint")[1] <= 2


def test_an_outcome_in_ranges_covers_the_slope() -> None:
    covers = sum(not each.excludes(SLOPE) for each in intervals("cost", 100, "age", ""))
    assert f"{covers} of {TABLES} intervals" in GUIDE.read_text(encoding="utf-8")
    assert covers >= 10
