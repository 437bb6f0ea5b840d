"""Candidates, originals and fake tuples of the worked example of slicing (Li, Li, Zhang and Molloy 2012)."""

import numpy as np
import pytest

from indistinct.evaluation.assess.membership import membership
from indistinct.frequencies.slices import KNOWN, Slice

TABLE = [
    (22, "M", 47906, "dyspepsia"),
    (22, "F", 47906, "flu"),
    (33, "F", 47905, "flu"),
    (52, "F", 47905, "bronchitis"),
    (54, "M", 47302, "flu"),
    (60, "M", 47302, "dyspepsia"),
    (60, "M", 47304, "dyspepsia"),
    (64, "F", 47304, "gastritis"),
]
BUCKETS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
AGE, SEX, ZIP, DISEASE = range(4)


def coded(columns):
    """Return the release with these columns of attributes, and the original rows in its codes."""
    codes = []
    for attributes in columns:
        vectors = [tuple(row[a] for a in attributes) for row in TABLE]
        known = sorted(set(vectors))
        codes.append(np.array([known.index(vector) for vector in vectors]))
    slices = [Slice(BUCKETS, {KNOWN: each}, np.ones(len(BUCKETS), np.int64)) for each in codes]
    return slices, np.stack(codes, axis=1)


SLICED = [(AGE, SEX), (ZIP, DISEASE)]
SINGLE = [(AGE,), (SEX,), (ZIP,), (DISEASE,)]
BUCKETIZED = [(AGE, SEX, ZIP), (DISEASE,)]
SLICED_QUASI = [(AGE, SEX), (ZIP,)]
BUCKETIZED_QUASI = [(AGE, SEX, ZIP)]


@pytest.mark.parametrize(
    ("columns", "candidates", "originals", "fake"),
    [
        (SLICED, 28, 8, 20),
        (SINGLE, 72, 8, 64),
        (BUCKETIZED, 24, 8, 16),
        (SLICED_QUASI, 14, 8, 6),
        (BUCKETIZED_QUASI, 8, 8, 0),
    ],
)
def test_candidates_originals_and_fake_tuples(columns, candidates, originals, fake):
    found = membership(*coded(columns))
    assert (found.candidates, found.originals, found.fake) == (candidates, originals, fake)
    assert found.exact
    assert found.interval == (candidates, candidates)
    assert found.unique_original == 8, "the two buckets share no age, so that nothing matches both"
    assert found.matching_original == (("1 to 10", 8), ("11 to 20", 0), ("over 20", 0))
    assert found.matching_fake == (("1 to 10", fake), ("11 to 20", 0), ("over 20", 0))


def test_bucketization_gives_every_quasi_identifier_vector_away():
    found = membership(*coded(BUCKETIZED_QUASI))
    assert (found.unique_share, found.fake_per_original) == (1.0, 0.0)


@pytest.mark.parametrize("columns", [SLICED, SINGLE, BUCKETIZED, SLICED_QUASI, BUCKETIZED_QUASI])
def test_the_estimate_finds_the_same_numbers(columns):
    exact, estimate = (membership(*coded(columns), limit=limit, seed=5) for limit in (1000, 0))
    assert not estimate.exact
    assert estimate.originals == exact.originals
    assert estimate.candidates == pytest.approx(exact.candidates, rel=0.01)
    assert estimate.interval[0] <= exact.candidates <= estimate.interval[1]
    assert estimate.mean_matching_fake == pytest.approx(exact.mean_matching_fake)
