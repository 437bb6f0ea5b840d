"""What always holds of distances between distributions, and of releases that change nothing."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.metrics.distributions import (
    correlation_of,
    cramers_v,
    hellinger,
    kullback_leibler,
    middle_ranks,
    total_variation,
    wasserstein,
)

COUNTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=6).filter(
    lambda pairs: all(sum(each) for each in zip(*pairs, strict=True))
)


@given(COUNTS)
def test_distances_are_symmetric_bounded_and_ordered(pairs) -> None:
    p, q = (np.array(each) / sum(each) for each in zip(*pairs, strict=True))
    line = np.arange(len(p), dtype=np.float64) ** 2
    varied, far = total_variation(p, q), hellinger(p, q)
    assert (varied, far) == pytest.approx((total_variation(q, p), hellinger(q, p)))
    assert wasserstein(p, q, positions=line) == pytest.approx(wasserstein(q, p, positions=line))
    assert -1e-12 <= far**2 <= varied + 1e-12
    assert varied <= min(1, math.sqrt(2) * far) + 1e-12
    assert varied - 1e-9 <= wasserstein(p, q, positions=line) <= varied * line[-1] + 1e-9  # steps are 1 or longer
    # Pinsker's inequality, in bits.
    assert kullback_leibler(p, q, rows=10, smoothing=0) >= 2 * varied**2 / math.log(2) - 1e-9
    for same in (p, q):
        assert total_variation(same, same) == hellinger(same, same) == 0
        assert kullback_leibler(same, same, rows=10) == wasserstein(same, same, positions=line) == 0


@given(st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=2, max_size=4))
def test_dependence_does_not_know_which_attribute_comes_first(rows) -> None:
    joint = np.array(rows, dtype=np.float64)
    assert 0 <= cramers_v(joint) <= 1
    assert cramers_v(joint) == pytest.approx(cramers_v(joint.T))
    independent = np.outer(joint.sum(axis=1) + 1, joint.sum(axis=0) + 1)
    assert cramers_v(independent) == pytest.approx(0, abs=1e-7)


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=3, max_size=12))
def test_correlations_are_those_of_numpy(points) -> None:
    x, y = np.array(points, dtype=np.float64).T
    powers = [np.stack([np.ones(len(x)), each, each**2]) for each in (x, y)]
    found = correlation_of(powers[0] @ powers[1].T)
    if np.ptp(x) and np.ptp(y):
        assert found == pytest.approx(np.corrcoef(x, y)[0, 1])
    else:
        assert found is None


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from("abc"), st.integers(0, 2)), min_size=4, max_size=12))
def test_a_release_that_changes_nothing_is_at_no_distance(rows) -> None:
    age, city, ill = (list(part) for part in zip(*rows, strict=True))
    table = pa.table({"age": age, "city": city, "ill": ill})
    found = ind.distributions(table, table, ind.Schema(quasi=["age", "city"], sensitive=["ill"]))
    for each in found.columns:
        assert (each.total_variation, each.hellinger, each.kullback_leibler) == (0, 0, 0)
        assert not each.wasserstein
    for pair in found.pairs:
        assert (pair.total_variation, pair.hellinger) == (0, 0)
        for twice in (pair.cramers_v, pair.pearson, pair.spearman):
            assert twice is None or twice[0] == twice[1]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["mondrian", "anatomy:l=2", "slicing:l=2", "multiset:l=2"]))
def test_shares_of_every_kind_of_release_are_distributions(seed, algorithm) -> None:
    draw = np.random.default_rng(seed)
    table = pa.table(
        {
            "age": draw.integers(20, 40, 40),
            "zip": draw.choice(list("abcd"), 40),
            "ill": np.tile(["x", "y", "z", "w"], 10),
        }
    )
    model = "k-anonymity:k=4" if algorithm == "mondrian" else None
    release = ind.anonymize(
        table, ind.Schema(quasi=["age", "zip"], sensitive=["ill"]), algorithm=algorithm, model=model
    )
    found = ind.distributions(release, table)
    assert {each.column for each in found.columns} == set(table.column_names)
    for each in (*found.columns, *found.pairs):
        assert -1e-12 <= each.hellinger**2 <= each.total_variation + 1e-9 <= 1 + 1e-9
    exact = [each for each in found.columns if algorithm != "mondrian" or each.column == "ill"]
    assert all(each.total_variation == pytest.approx(0, abs=1e-12) for each in exact)
    apart = {pair.columns for pair in found.pairs if not pair.together}
    assert bool(apart) == (algorithm != "mondrian")


def test_middle_ranks_are_shares() -> None:
    assert middle_ranks(np.array([0.2, 0.3, 0.5])) == pytest.approx([0.1, 0.35, 0.75])
