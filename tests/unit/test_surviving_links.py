"""Releases that look right and are not: links that survive, values and weights that slip through a check."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from indistinct.release.bucket_table import BucketTable
from indistinct.release.link_probability import Entries, link
from indistinct.release.verify_buckets import verify_buckets

import indistinct as ind


def verdicts_of(certificate, name):
    return [verdict for verdict in certificate.verdicts if verdict.model.startswith(name)]


def verdict_of(certificate, name):
    (verdict,) = verdicts_of(certificate, name)
    return verdict


def test_two_slices_that_stay_linked_are_caught_beside_others_that_do_not():
    rng = np.random.default_rng(5)
    rows = 2_000
    diseases = [f"d{code}" for code in rng.integers(0, 12, rows)]
    columns = {"age": np.arange(rows), "zip": rng.integers(0, 90, rows), "job": rng.integers(0, 40, rows)}
    table = pa.table({**columns, "disease": diseases})
    schema = ind.Schema(quasi=["age", "zip", "job"], sensitive=["disease"])
    release = ind.anonymize(table, schema, algorithm="slicing:l=2,size=20,columns=each")
    assert verdict_of(release.certificate, "links-broken").holds
    own = pa.array([diseases[age] for age in release.table["age"].to_pylist()])
    linked = release.table.drop_columns("disease").append_column("disease", own)
    certificate = verify_buckets(BucketTable(linked, release.certificate.columns), schema, l=2, original=table)
    assert not verdict_of(certificate, "links-broken").holds


def test_known_attributes_that_stay_linked_to_each_other_are_caught():
    """Membership rests on them, although no sensitive value is told."""
    rng = np.random.default_rng(6)
    rows = 2_000
    columns = {"age": np.arange(rows), "zip": rng.integers(0, 90, rows)}
    table = pa.table({**columns, "disease": [f"d{code}" for code in rng.integers(0, 12, rows)]})
    schema = ind.Schema(quasi=["age", "zip"], sensitive=["disease"])
    release = ind.anonymize(table, schema, algorithm="slicing:l=2,size=20,columns=each")
    assert verdict_of(release.certificate, "links-broken").holds
    own = pa.array(columns["zip"][release.table["age"].to_numpy()])
    linked = release.table.set_column(release.table.column_names.index("zip"), "zip", own)
    certificate = verify_buckets(BucketTable(linked, release.certificate.columns), schema, l=2, original=table)
    assert verdict_of(certificate, "columns-preserved").holds
    assert not verdict_of(certificate, "links-broken").holds


def test_where_chance_could_leave_all_rows_true_nothing_is_claimed():
    table = pa.table({"age": range(8), "disease": [f"d{row}" for row in range(8)]})
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    unpermuted = table.append_column("bucket", pa.array([row // 2 for row in range(8)]))
    certificate = verify_buckets(BucketTable(unpermuted, (("age",), ("disease",))), schema, l=2, original=table)
    assert not verdicts_of(certificate, "links-broken")
    assert any("too few rows" in warning for warning in certificate.warnings)


def test_zeros_of_both_signs_are_published_as_one():
    table = pa.table({"age": range(8), "x": [0.0, -0.0] * 4, "disease": ["flu", "cold"] * 4})
    schema = ind.Schema(quasi=["age", "x"], sensitive=["disease"])
    release = ind.anonymize(table, schema, algorithm="slicing:l=2,columns=age|x+disease")
    assert {str(x) for x in release.table["x"].to_pylist()} == {"0.0"}


@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.timestamp("us", "Europe/Oslo"), pa.timestamp("ms", "UTC")])
@pytest.mark.parametrize("algorithm", ["slicing:l=2,columns=each", "anatomy:l=2", "multiset:l=2"])
def test_timestamps_of_every_kind_are_found_again(kind, algorithm):
    seen = pa.array([1_700_000_000 + 3_600 * row for row in range(8)], pa.timestamp("s", kind.tz)).cast(kind)
    table = pa.table({"seen": seen, "disease": ["flu", "cold"] * 4})
    release = ind.anonymize(table, ind.Schema(quasi=["seen"], sensitive=["disease"]), algorithm=algorithm)
    assert verdict_of(release.certificate, "columns-preserved").holds


def test_weights_on_both_sides_of_the_scaling_are_added():
    """Products of sixty shares of buckets of 1,024 and 1,025 rows lie just above and just below 2 to the power -600."""
    slices, sizes = 60, (1024, 1025)
    buckets = np.repeat([0, 1], sizes)
    ones, values = np.ones(len(buckets), dtype=np.int64), np.zeros(len(buckets), dtype=np.int64)
    values[1] = 1
    known = np.concatenate([np.eye(1, size, dtype=np.int64)[0] for size in sizes])
    home = known.copy()
    home[1] = 1  # two entries agree in the first bucket, one in the second
    entries = [Entries(buckets, home if place == 0 else known, ones, {"s": values}) for place in range(slices)]
    found = link(entries, np.ones((1, slices), dtype=np.int64), home=0, name="s")
    first, second = 2 * Fraction(1, 1024) ** slices, Fraction(1, 1025) ** slices
    exact = (first / 2 + second) / (first + second)
    assert found.matches.tolist() == [2]
    assert found.strongest[0] == pytest.approx(float(exact))
