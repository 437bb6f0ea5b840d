"""Counts over partitions: boxes, ranges that predicates ask for, and the claim about several attributes."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.samples import generate_normal
from indistinct_papers import mondrian_predicates as predicates
from indistinct_papers import mondrian_workload
from indistinct_papers.partitions import Boxes, partition

TABLE = pa.table({"x1": [0, 1, 2, 7, 8, 9], "x2": [3, 3, 4, 5, 6, 6]})


def test_rows_are_spread_evenly_over_their_box() -> None:
    boxes = Boxes(np.array([[0, 0], [5, 0]]), np.array([[4, 9], [9, 9]]), np.array([10, 20]))
    low, high = np.array([[0, 0], [0, 0], [4, 5], [9, 9]]), np.array([[9, 9], [4, 9], [5, 9], [9, 9]])
    assert boxes.count_within(low, high) == pytest.approx([30, 10, 10 / 10 + 20 / 10, 20 / 50])


ALGORITHMS = ["mondrian", "single-dimensional", "single-dimensional:search=optimal"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_labels_lie_in_regions_and_hold_their_rows(algorithm: str) -> None:
    found = partition(TABLE, algorithm, k=2, cardinality=10)
    region, values = found.region, found.published
    assert (region.low <= values.low).all()
    assert (values.high <= region.high).all()
    assert (region.low.min(axis=0).tolist(), region.high.max(axis=0).tolist()) == ([0, 0], [9, 9])
    assert (values.low.min(axis=0).tolist(), values.high.max(axis=0).tolist()) == ([0, 3], [9, 6])
    everything = np.zeros((1, 2)), np.full((1, 2), 9)
    assert region.count_within(*everything) == values.count_within(*everything) == [6]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_boxes_are_the_ranges_that_a_release_shows(algorithm: str) -> None:
    table = generate_normal(200, seed=3, columns=2, cardinality=20)
    boxes = partition(table, algorithm, k=8, cardinality=20).published
    schema, model = ind.Schema(quasi=table.column_names), ind.KAnonymity(8)
    release = ind.anonymize(
        table, schema, model=model, algorithm=f"{algorithm}{',' if ':' in algorithm else ':'}numeric=bounds"
    )
    ends = ["x1_min", "x1_max", "x2_min", "x2_max"]
    shown = release.table.group_by(ends).aggregate([([], "count_all")]).to_pylist()
    ours = zip(boxes.low.tolist(), boxes.high.tolist(), boxes.sizes.tolist(), strict=True)
    expected = [(low[0], high[0], low[1], high[1], size) for low, high, size in ours]
    assert sorted(tuple(row.values()) for row in shown) == sorted(expected)


def test_no_label_of_a_column_overlaps_another_in_a_single_dimensional_release() -> None:
    boxes = partition(
        generate_normal(200, seed=3, columns=2, cardinality=20), ALGORITHMS[1], k=8, cardinality=20
    ).published
    for axis in range(2):
        ranges = sorted(set(zip(boxes.low[:, axis].tolist(), boxes.high[:, axis].tolist(), strict=True)))
        assert all(before[1] < after[0] for before, after in pairwise(ranges))


def test_rows_are_counted_where_all_ranges_hold() -> None:
    low, high = np.array([[0, 0], [1, 4]]), np.array([[2, 3], [7, 9]])
    assert predicates.count_rows(TABLE, low, high).tolist() == [2, 2]


def test_predicates_ask_for_ranges_of_as_many_attributes_as_they_name() -> None:
    low, high = predicates.draw_ranges(4, 2, seed=1)
    asked = (low > 0) | (high < predicates.CARDINALITY - 1)
    assert (low <= high).all()
    assert asked.sum(axis=1).max() == 2
    assert asked.any(axis=0).all()


def test_errors_with_published_labels(monkeypatch) -> None:
    """Ranges as tight as each class, which no single-dimensional release shows, would make its errors smaller."""
    monkeypatch.setattr(predicates, "ALGORITHMS", ("single-dimensional", predicates.MULTI))
    errors = {(row[2], row[3]): row[4] for row in predicates.measure_errors(10, 4)}
    assert (errors[2, "mondrian"], errors[2, "single-dimensional"]) == (32.86, 61.02)
    assert (errors[4, "mondrian"], errors[4, "single-dimensional"]) == (10.79, 18.89)


def rows_of(*errors: tuple[int, float, float]) -> list[tuple[object, ...]]:
    """Return rows of predicates over two attributes: k, the single- and the multidimensional error."""
    return [
        (k, 2, 2, name, error, 0.1, 0.1, None)
        for k, single, multi in errors
        for name, error in zip(predicates.ALGORITHMS, (single + 1, single, multi), strict=True)
    ]


def test_often_is_more_than_half_of_the_settings() -> None:
    often = predicates.judge_claim(rows_of((10, 12.0, 5.0), (25, 12.0, 6.0), (50, 12.0, 13.0)))
    assert often.verdict == "confirmed"
    assert often.figures.startswith("smaller errors in 2 of 3 settings, 0.42 to 1.08")
    assert often.figures.endswith("not smaller for k = 50, 2 of 2 attributes")
    assert predicates.judge_claim(rows_of((10, 12.0, 5.0), (50, 12.0, 13.0))).verdict == "depends"
    assert predicates.judge_claim(rows_of((10, 5.0, 12.0))).verdict == "not confirmed"


def test_the_figure_measures_both_models(monkeypatch) -> None:
    monkeypatch.setattr(predicates, "SEEDS", 2)
    monkeypatch.setattr(predicates, "QUERIES", 50)
    made = predicates.reproduce_mondrian_predicates((50,), lambda share: None)
    assert len(made.rows) == (2 + 3) * 3
    assert made.claims == (predicates.judge_claim(made.rows),)
    assert "of 3 settings" in made.claims[0].figures  # two tables are too few for the verdict itself
    assert made.picture is not None
    assert "2 of 4 attributes" in made.picture()


def test_counts_over_one_attribute_are_compared_with_the_better_baseline() -> None:
    """The multidimensional mean is below the greedy one, and below the optimal one up to k = 25."""
    means = {"single": 4.0, "single, greedy": 6.0}
    rows = [
        (k, model, axis, 0.0, means.get(model, k / 10), 0.0, 0.0, 0.0, 1.0)
        for k in (10, 25, 50)
        for model in mondrian_workload.ALGORITHMS
        for axis in "XY"
    ]
    claim = mondrian_workload.judge_claim(rows)
    assert (claim.verdict, claim.held, claim.tested, claim.rule) == ("confirmed", 4, 6, "often")
    assert claim.figures.startswith("smaller errors in 4 of 6 settings, 0.25 to 1.25 of the better")
    assert claim.figures.endswith("; not smaller for X, k = 50; Y, k = 50")
    assert "the printed mean is smaller in 3 of 6" in claim.setting
