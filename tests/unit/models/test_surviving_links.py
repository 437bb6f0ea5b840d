"""Releases that look right and are not: links that survive, values and weights that slip through a check."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.frequencies.slices import KNOWN, Slice, find_contained
from indistinct.models import LDiverseLinks, link_probability
from indistinct.models.link_probability import expected_rows, link
from indistinct.release.opening import BucketTable


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
    certificate = ind.verify(BucketTable(linked, release.certificate.columns), schema, LDiverseLinks(2), original=table)
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
    certificate = ind.verify(BucketTable(linked, release.certificate.columns), schema, LDiverseLinks(2), original=table)
    assert verdict_of(certificate, "columns-preserved").holds
    assert not verdict_of(certificate, "links-broken").holds


def test_where_chance_could_leave_all_rows_true_nothing_is_claimed():
    table = pa.table({"age": range(8), "disease": [f"d{row}" for row in range(8)]})
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    unpermuted = table.append_column("bucket", pa.array([row // 2 for row in range(8)]))
    certificate = ind.verify(
        BucketTable(unpermuted, (("age",), ("disease",))), schema, LDiverseLinks(2), original=table
    )
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
    entries = [Slice(buckets, {KNOWN: home if place == 0 else known, "s": values}, ones) for place in range(slices)]
    found = link(entries, np.ones((1, slices), dtype=np.int64), home=0, name="s")
    first, second = 2 * Fraction(1, 1024) ** slices, Fraction(1, 1025) ** slices
    exact = (first / 2 + second) / (first + second)
    assert found.matches.tolist() == [2]
    assert found.strongest[0] == pytest.approx(float(exact))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 12), st.sampled_from([1, 30, 1000]))
def test_expected_rows_are_the_same_by_buckets_and_by_tuples(seed, slices, buckets, tuples):
    """Few tuples are looked up in buckets, many are looked for among what each bucket could make."""
    rng = np.random.default_rng(seed)
    owners = rng.integers(0, buckets, 60)
    owners[0] = buckets - 1
    sizes = rng.integers(1, 8, slices)
    entries = []
    for size in sizes:
        pairs, counts = np.unique(np.stack([owners, rng.integers(0, size, 60)], axis=1), axis=0, return_counts=True)
        order = rng.permutation(len(pairs))
        codes = {KNOWN: pairs[order, 1], "s": rng.integers(0, 3, len(pairs))}
        entries.append(Slice(pairs[order, 0], codes, counts[order]))
    wanted = np.unique(np.stack([rng.integers(-1, size + 1, tuples) for size in sizes], axis=1), axis=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link_probability, "TUPLES_PER_BLOCK", 7)
        patch.setattr(link_probability, "MAX_BUCKETS_PER_TUPLE", np.inf)
        plain = link(entries, wanted, home=0, name="s")
        patch.setattr(link_probability, "MAX_BUCKETS_PER_TUPLE", 0)
        made = link(entries, wanted, home=0, name="s")
    for one, other in ((made.strongest, plain.strongest), (made.matches, plain.matches)):
        assert one.tolist() == other.tolist()
    assert made.expected.tolist() == plain.expected.tolist()
    assert expected_rows(entries, wanted) == pytest.approx(plain.expected.sum(), rel=1e-12, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from([3, 2**40]))
def test_vectors_are_contained_if_an_equal_one_is_there(seed, columns, size):
    rng = np.random.default_rng(seed)
    mine = [rng.integers(0, 4, 30) * (size // 3) for _ in range(columns)]
    theirs = [rng.integers(-1, 4, 20) * (size // 3) for _ in range(columns)]
    present = {vector for vector in zip(*theirs, strict=True) if min(vector) >= 0}
    assert find_contained(mine, theirs).tolist() == [vector in present for vector in zip(*mine, strict=True)]
