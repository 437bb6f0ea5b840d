"""Laws of membership disclosure: exact equals sets, estimates hold, columns may be permuted inside buckets."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.evaluation.assess.membership import membership, random_buckets
from indistinct.frequencies.slices import KNOWN, Slice

quick = settings(max_examples=80, deadline=None)


def slices_of(buckets, columns):
    """Return a slice for each column of a release in buckets."""
    return [
        Slice(np.asarray(buckets), {KNOWN: np.asarray(codes)}, np.ones(len(buckets), np.int64)) for codes in columns
    ]


def codes_of(slices):
    return [each.codes[KNOWN] for each in slices]


@st.composite
def releases(draw):
    """Return a release of few rows and values, and original rows: some published, some unknown, some mixed."""
    rows, columns = draw(st.integers(1, 14)), draw(st.integers(1, 4))
    buckets = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    value = st.integers(0, draw(st.integers(0, 4)))
    table = draw(st.lists(st.tuples(*[value] * columns), min_size=rows, max_size=rows))
    others = draw(st.lists(st.tuples(*[st.integers(-1, 5)] * columns), max_size=6))
    codes = np.array(table).reshape(rows, columns)
    return slices_of(buckets, codes.T), np.array([*table, *others]).reshape(-1, columns)


def matching_by_sets(published):
    """Return every candidate with its number of matching buckets."""
    count = Counter()
    for bucket in set(published[0].units.tolist()):
        inside = published[0].units == bucket
        count.update(product(*(set(column[inside].tolist()) for column in codes_of(published))))
    return count


def grouped(numbers):
    ends = {"1 to 10": (1, 10), "11 to 20": (11, 20), "over 20": (21, float("inf"))}
    return tuple((label, sum(low <= n <= high for n in numbers)) for label, (low, high) in ends.items())


@quick
@given(releases())
def test_exact_equals_sets(data):
    published, originals = data
    candidates = matching_by_sets(published)
    table = set(map(tuple, originals.tolist()))
    matching = [count for x, count in candidates.items() if x in table]
    fake = [count for x, count in candidates.items() if x not in table]
    found = membership(published, originals)
    assert found.exact
    assert (found.candidates, found.originals, found.fake) == (len(candidates), len(matching), len(fake))
    assert found.matching_original == grouped(matching)
    assert found.matching_fake == grouped(fake)
    assert found.unique_original == matching.count(1)
    assert found.mean_matching_original == pytest.approx(np.mean(matching) if matching else 0)
    assert found.mean_matching_fake == pytest.approx(np.mean(fake) if fake else 0)


@quick
@given(releases(), st.integers(0, 1000))
def test_permuting_a_column_inside_buckets_changes_nothing(data, seed):
    published, originals = data
    rng = np.random.default_rng(seed)
    permuted = []
    for original in codes_of(published):
        column = original.copy()
        for bucket in np.unique(published[0].units):
            inside = np.flatnonzero(published[0].units == bucket)
            column[inside] = column[rng.permutation(inside)]
        permuted.append(column)
    assert membership(slices_of(published[0].units, permuted), originals) == membership(published, originals)


@quick
@given(releases(), st.integers(0, 1000))
def test_an_estimate_is_consistent_and_tells_the_originals_exactly(data, seed):
    published, originals = data
    exact = membership(published, originals)
    found = membership(published, originals, limit=0, samples=50, seed=seed)
    assert not found.exact
    assert found.candidates >= found.originals == exact.originals
    assert found.fake == pytest.approx(found.candidates - found.originals)
    assert found.interval[0] <= found.candidates <= found.interval[1]
    assert (found.matching_original, found.unique_original) == (exact.matching_original, exact.unique_original)
    assert sum(count for _, count in found.matching_fake) == pytest.approx(found.fake)
    if exact.fake == 0:
        assert found.interval == (found.originals, found.originals)


@pytest.mark.parametrize("codes", [(12, 6, 9), (30, 40), (3, 3, 3, 3, 4)])
def test_intervals_hold_the_exact_number_in_almost_all_runs(codes):
    """At a confidence of 95 %, 87 of 100 runs or fewer would be a chance of 15 in ten thousand."""
    rng = np.random.default_rng(11)
    columns = tuple((size * rng.random(600) ** 2).astype(np.int64) for size in codes)
    published, originals = slices_of(random_buckets(600, 8, rng=rng), columns), np.stack(columns, axis=1)[::2]
    exact = membership(published, originals)
    runs = [membership(published, originals, limit=0, samples=2000, seed=seed) for seed in range(100)]
    held = sum(run.interval[0] <= exact.candidates <= run.interval[1] for run in runs)
    assert held >= 88
    assert any(run.interval[0] > run.originals for run in runs), "the interval must say something"
    assert np.mean([run.candidates for run in runs]) == pytest.approx(exact.candidates, rel=0.01)
    assert np.mean([run.mean_matching_fake for run in runs]) == pytest.approx(exact.mean_matching_fake, rel=0.02)
    for place, (_, count) in enumerate(exact.matching_fake):
        spread = np.mean([run.matching_fake[place][1] for run in runs])
        assert spread == pytest.approx(count, rel=0.05, abs=0.005 * exact.candidates)
