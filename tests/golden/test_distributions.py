"""Distributions before and after, computed by hand."""

import math

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.release.opening import BucketTable

# Four people; the release says 20-40 of everybody, so that each age has a third of every row.
PEOPLE = pa.table({"age": [20, 20, 30, 40], "sex": ["f", "f", "m", "m"], "pay": [1, 1, 2, 3]})
SCHEMA = ind.Schema(quasi=["age"], insensitive=["sex", "pay"])


def both(found, one, other):
    (pair,) = [each for each in found.pairs if each.columns == (one, other)]
    return pair


def test_a_range_is_spread_evenly() -> None:
    published = pa.table({"age": ["20-40"] * 4, "sex": ["f", "f", "m", "m"], "pay": [1, 1, 2, 3]})
    found = ind.distributions(published, PEOPLE, SCHEMA)
    age, sex, pay = found.columns
    # Before 2/4, 1/4, 1/4; after a third each.
    assert age.total_variation == pytest.approx(1 / 6)
    assert age.hellinger == pytest.approx(
        math.sqrt(((math.sqrt(1 / 2) - math.sqrt(1 / 3)) ** 2 + 2 * (1 / 2 - math.sqrt(1 / 3)) ** 2) / 2)
    )
    # With half a row more of each value: 2.5, 1.5 and 1.5 of 5.5 rows, against 11/6 of 5.5 each.
    expected = sum(p / 5.5 * math.log2(p / (11 / 6)) for p in (2.5, 1.5, 1.5))
    assert age.kullback_leibler == pytest.approx(expected)
    # A sixth of the rows moves from 20 on: 1/6 · 10 to 30, and 1/12 · 10 further to 40.
    assert age.wasserstein == pytest.approx(10 / 6 + 10 / 12)
    assert age.wasserstein_share == pytest.approx((10 / 6 + 10 / 12) / 20)
    assert (sex.total_variation, sex.wasserstein, pay.wasserstein) == (0, None, 0)
    # Every age is as likely with every sex: 1/6 each, before 1/2 (20, f), 1/4 (30, m), 1/4 (40, m).
    pair = both(found, "age", "sex")
    assert pair.total_variation == pytest.approx((1 / 3 + 3 * (1 / 6) + 2 * (1 / 12)) / 2)
    assert pair.cramers_v == pytest.approx((1, 0), abs=1e-12)
    assert (pair.pearson, pair.spearman) == (None, None)
    numbers = both(found, "age", "pay")
    # Deviations from the means 27.5 and 1.75: covariance 6.875, variances 68.75 and 0.6875.
    assert numbers.pearson == pytest.approx((6.875 / math.sqrt(68.75 * 0.6875), 0), abs=1e-9)
    # Ranks 1.5, 1.5, 3, 4 on both sides.
    assert numbers.spearman == pytest.approx((1, 0), abs=1e-9)
    assert (found.rows, found.published_rows) == (4, 4)


def test_slices_of_a_bucket_are_independent() -> None:
    schema = ind.Schema(quasi=["age"], sensitive=["pay"])
    original = PEOPLE.select(["age", "pay"])
    published = pa.table({"age": [20, 30, 20, 40], "pay": [2, 1, 3, 1], "bucket": [1, 1, 2, 2]})
    found = ind.distributions(BucketTable(published, (("age",), ("pay",))), original, schema)
    assert [each.total_variation for each in found.columns] == [0, 0]
    (pair,) = found.pairs
    assert not pair.together
    # In bucket 1 each of (20, 1), (20, 2), (30, 1), (30, 2) has 1/8 of all rows; in bucket 2 likewise with 40 and 3.
    # Before: (20, 1) 1/2, (30, 2) 1/4, (40, 3) 1/4. After: (20, 1) 2/8, the six others 1/8 each.
    assert pair.total_variation == pytest.approx((1 / 4 + 1 / 8 + 1 / 8 + 4 / 8) / 2)
    assert pair.cramers_v[0] == pytest.approx(1)


def test_suppressed_rows_and_missing_values_are_left_out_where_they_have_no_place() -> None:
    original = pa.table({"age": [20, None, 30, 40]})
    published = pa.table({"age": ["20", None, "30"]})
    found = ind.distributions(published, original, ind.Schema(quasi=["age"]))
    (age,) = found.columns
    # Missing was a quarter and is a third; the ages go from a third each to a half, a half and nothing.
    assert age.total_variation == pytest.approx(1 / 4)
    assert age.wasserstein == pytest.approx(10 / 6 + 10 / 3)
    assert (found.rows, found.published_rows) == (4, 3)
