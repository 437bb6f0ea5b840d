"""What `assess` tells of a few columns, and the count in which a star matches everything."""

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.evaluation.assess import column_sets
from indistinct.evaluation.assess.column_sets import smallest_combinations
from indistinct.frequencies.value import Classes, ClassLabels

NAMES = ("a", "b", "c", "d")


def classes_of(rows):
    values, counts = np.unique(np.array(rows), axis=0, return_counts=True)
    return Classes(counts), ClassLabels(NAMES[: values.shape[1]], values)


def test_the_smallest_combination_of_one_two_and_three_columns_is_found():
    """Each of two values stands twice in every column, every pair once."""
    found = smallest_combinations(*classes_of([(1, 0, 0), (1, 1, 1), (0, 0, 1), (0, 1, 0)]))
    assert [each.to_json() for each in found] == [
        {"size": 1, "sets": 3, "smallest": 2},
        {"size": 2, "sets": 3, "smallest": 1},
        {"size": 3, "sets": 1, "smallest": 1},
    ]


def test_no_more_than_three_columns_are_counted_together():
    assert [each.size for each in smallest_combinations(*classes_of([(0, 0, 0, 0)] * 3))] == [1, 2, 3]
    assert [each.size for each in smallest_combinations(*classes_of([(0, 1)] * 3))] == [1, 2]


def test_sets_that_would_take_long_are_left_out(monkeypatch):
    classes, labels = classes_of([(0, 0, 0, 0), (1, 1, 1, 1)])
    monkeypatch.setattr(column_sets, "WORK", 4 * len(classes))
    assert [each.size for each in smallest_combinations(classes, labels)] == [1, 3]


def test_nothing_is_found_of_no_rows():
    assert smallest_combinations(Classes(np.zeros(0, dtype=np.int64)), ClassLabels(("a",), np.zeros((0, 1), int))) == ()


def test_people_are_counted_where_a_column_tells_them_apart():
    """One person has both rows with a = x."""
    table = pa.table({"who": ["1", "1", "2", "3"], "a": ["x", "x", "y", "y"]})
    of_rows = ind.assess(table.drop(["who"]), ind.Schema(quasi=["a"])).risk
    of_people = ind.assess(table, ind.Schema(quasi=["a"], person=["who"])).risk
    assert [risk.column_sets[0].smallest for risk in (of_rows, of_people)] == [2, 1]


def test_a_star_that_matches_everything_is_told_beside_classes():
    """Published (a, *) and (a, y) fit two rows each, and stand alone in their classes."""
    table = pa.table({"a": ["a", "a"], "b": ["*", "y"]})
    risk = ind.assess(table, ind.Schema(quasi=["a", "b"])).risk
    assert (risk.smallest, risk.fewest_compatible) == (1, 2)
    assert risk.to_json()["fewest_compatible"] == 2


@pytest.mark.parametrize("values", [["x", "y"], [1, 2], [None, "x"]])
def test_without_stars_there_is_nothing_to_compare(values):
    assert ind.assess(pa.table({"a": values}), ind.Schema(quasi=["a"])).risk.fewest_compatible is None
