"""Membership disclosure on small releases: groups, unknown values, limits, estimates, random buckets, bad input."""

import json
import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from indistinct.errors import InputError, ParameterError
from indistinct.evaluation.assess import membership as module
from indistinct.evaluation.assess.membership import (
    Membership,
    membership,
    membership_by_covers,
    random_buckets,
)
from indistinct.frequencies.slices import KNOWN, Slice
from indistinct.view.cover import Cover, cover_of_each


def slices_of(buckets, columns):
    """Return a slice for each column of a release in buckets."""
    return [
        Slice(np.asarray(buckets), {KNOWN: np.asarray(codes)}, np.ones(len(buckets), np.int64)) for codes in columns
    ]


def codes_of(slices):
    return [each.codes[KNOWN] for each in slices]


def release(buckets, *columns):
    return slices_of(buckets, columns)


def repeated(times, *columns, extra=()):
    """Return a release whose first bucket's columns occur in so many buckets, and one further bucket."""
    parts = [*[columns] * times, *([extra] if extra else [])]
    buckets = [b for b, part in enumerate(parts) for _ in part[0]]
    return release(buckets, *([v for part in parts for v in part[j]] for j in range(len(columns))))


@pytest.mark.parametrize("times", [1, 10, 11, 20, 21, 200])
def test_groups_of_matching_buckets_end_where_the_paper_ends_them(times):
    found = membership(repeated(times, [0, 1], [0, 1], extra=([2], [2])), np.array([[0, 0], [2, 2]]))
    group = 0 if times <= 10 else 1 if times <= 20 else 2
    labels = ("1 to 10", "11 to 20", "over 20")
    assert [label for label, _ in found.matching_original] == list(labels)
    assert dict(found.matching_fake) == {label: 3 * (place == group) for place, label in enumerate(labels)}
    originals = dict.fromkeys(labels, 0)
    originals["1 to 10"] += 1
    originals[labels[group]] += 1
    assert dict(found.matching_original) == originals
    assert found.unique_original == (2 if times == 1 else 1)
    assert found.mean_matching_original == (times + 1) / 2
    assert found.mean_matching_fake == times


def test_equal_originals_count_once_and_unknown_ones_are_no_candidates():
    published = release([0, 0, 1], [0, 1, 2], [0, 1, 2])
    originals = np.array([[0, 0], [0, 0], [-1, 0], [0, -1], [0, 2], [7, 0], [2, 2]])
    found = membership(published, originals)
    assert (found.candidates, found.originals, found.fake) == (5, 2, 3)
    assert found.fake_per_original == 1.5


def test_no_rows_are_no_candidates():
    empty = np.empty(0, dtype=np.int64)
    found = membership(slices_of(empty, (empty, empty)), np.empty((0, 2), dtype=np.int64), limit=0)
    assert found.exact
    assert (found.candidates, found.originals, found.fake) == (0, 0, 0)
    assert (found.mean_matching_original, found.mean_matching_fake, found.fake_per_original) == (0, 0, 0)
    assert found.unique_share == 0


def test_a_release_without_any_original_is_all_fake():
    published = release([0, 0], [0, 1], [0, 1])
    for limit in (0, 100):
        found = membership(published, np.array([[-1, -1]]), limit=limit, seed=1)
        assert found.originals == 0
        assert found.fake == pytest.approx(4)
        assert found.fake_per_original == math.inf
        assert found.to_json()["fake_per_original"] is None


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint32, np.int64])
def test_every_type_of_codes_will_do(kind):
    published = slices_of(np.array([0, 0, 5], dtype=kind), (np.array([0, 1, 100], dtype=kind),) * 2)
    assert membership(published, np.array([[0, 1], [100, 100]], dtype=kind)).fake == 3


def test_figures_are_frozen_and_plain_in_json():
    found = membership(release([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 2]), np.array([[0, 0], [1, 1]]))
    with pytest.raises(FrozenInstanceError):
        found.fake = 0
    assert json.loads(json.dumps(found.to_json())) == {
        "candidates": 6,
        "originals": 2,
        "fake": 4,
        "exact": True,
        "interval": [6.0, 6.0],
        "matching_original": {"1 to 10": 2, "11 to 20": 0, "over 20": 0},
        "matching_fake": {"1 to 10": 4, "11 to 20": 0, "over 20": 0},
        "unique_original": 1,
        "mean_matching_original": 1.5,
        "mean_matching_fake": 1.25,
        "fake_per_original": 2.0,
    }


def test_unique_matches_are_a_share_of_the_originals():
    published = release([0, 0, 1, 1], [0, 1, 1, 2])
    assert membership(published, np.array([[0], [1], [2], [2]])).unique_share == pytest.approx(2 / 3)
    assert membership(published, np.array([[0], [1], [-1], [-1]])).unique_share == pytest.approx(1 / 2)


def test_columns_that_do_not_fit_a_word_are_ranked():
    """Nine columns of 1024 codes need 90 bits: the first ones would be shifted out of a word."""
    rng = np.random.default_rng(3)
    columns = [np.concatenate([rng.permutation(1023)[:12], [1023]]) for _ in range(9)]
    buckets = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6]
    published = release([*buckets, *buckets], *(np.concatenate([c, c]) for c in columns))
    found = membership(published, np.stack(columns, axis=1))
    assert found.exact
    assert (found.candidates, found.originals, found.fake) == (6 * 2**9 + 1, 13, 6 * 2**9 - 12)


def test_the_limit_is_on_pairs_of_bucket_and_tuple():
    published = repeated(3, [0, 1], [0, 1])
    originals = np.array([[0, 0]])
    assert membership(published, originals, limit=12).exact
    assert not membership(published, originals, limit=11).exact


def test_an_estimate_repeats_with_its_seed_alone():
    rng = np.random.default_rng(0)
    published = release(random_buckets(300, 10, rng=rng), *(rng.integers(0, 8, 300) for _ in range(3)))
    originals = np.stack(codes_of(published), axis=1)
    one, same, other = (membership(published, originals, limit=0, samples=500, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one.candidates != other.candidates
    assert one.candidates == one.originals + one.fake
    assert sum(count for _, count in one.matching_fake) == pytest.approx(one.fake)


def test_an_estimate_that_meets_no_fake_tuple_still_allows_for_some():
    """One pair in ten thousand holds a fake tuple, which ten draws do not meet."""
    size = 100
    published = release([0] * size, range(size), range(size))
    originals = np.array([(a, b) for a in range(size) for b in range(size)][1:])
    found = membership(published, originals, limit=0, samples=10, seed=0)
    assert (found.fake, found.candidates, found.mean_matching_fake) == (0, 9999, 0)
    assert found.interval == (9999, 10_000), "no more fake tuples than pairs that are left"


def test_products_beyond_every_integer_are_estimated():
    columns = [np.arange(20)] * 50
    found = membership(release([0] * 20, *columns), np.stack(columns, axis=1), samples=100, seed=0)
    assert not found.exact
    assert found.candidates == pytest.approx(20.0**50)
    assert found.interval[0] <= 20.0**50 * (1 + 1e-12)


def test_more_tuples_than_a_number_holds_are_refused():
    columns = [np.arange(20)] * 300
    with pytest.raises(InputError, match="more tuples"):
        membership(release([0] * 20, *columns), np.stack(columns, axis=1))


def plain_matching(tuples, published):
    """Count matching buckets of tuples without an index."""
    count = np.zeros(len(tuples), dtype=np.int64)
    for bucket in np.unique(published[0].units):
        inside = published[0].units == bucket
        count += np.all([np.isin(t, c[inside]) for t, c in zip(tuples.T, codes_of(published), strict=True)], axis=0)
    return count


@pytest.mark.parametrize("codes", [(3, 4, 2), (2, 500), (900, 900, 2), (5,), (2, 2, 2, 300)])
def test_the_kernel_counts_as_the_plain_twin(codes):
    """Frequent values, rare ones, and both together; the first column is the one whose values have fewest buckets."""
    rng = np.random.default_rng(7)
    published = release(random_buckets(1000, 4, rng=rng), *(rng.integers(0, size, 1000) for size in codes))
    tuples = np.stack([rng.integers(0, c.max() + 1, 400) for c in codes_of(published)], axis=1)
    index = module._index(module._covers(published))
    assert np.array_equal(module._matching(tuples, index), plain_matching(tuples, published))
    mean = [cover.lengths.sum() / size for cover, size in zip(index.covers, index.sizes, strict=True)]
    assert index.order[0] == np.argmin(mean)


def test_random_buckets_have_one_size_but_the_last():
    buckets = random_buckets(103, 10, rng=np.random.default_rng(1))
    assert np.bincount(buckets).tolist() == [10] * 10 + [3]
    assert buckets.tolist() != sorted(buckets), "rows next to each other must not share a bucket by their place"
    assert random_buckets(0, 10, rng=np.random.default_rng(1)).tolist() == []
    again = random_buckets(103, 10, rng=np.random.default_rng(1))
    assert np.array_equal(buckets, again)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: membership(release([0]), np.array([[0]])), "at least one column"),
        (lambda: membership(release([0], [0, 1]), np.array([[0]])), "each of the 1 published rows"),
        (lambda: membership(release([0, 1], [0, -1]), np.array([[0]])), "at least 0"),
        (lambda: membership(release([0], [0]), np.array([[0, 0]])), "1 columns"),
        (lambda: membership(release([0], [0]), np.array([0])), "matrix"),
        (lambda: membership(release([0], [0]), np.array([[0]]), limit=-1), "`limit` of membership"),
        (lambda: membership(release([0], [0]), np.array([[0]]), samples=1), "`samples` of membership"),
        (lambda: random_buckets(5, 0, rng=np.random.default_rng(1)), "`size` of random_buckets"),
        (lambda: random_buckets(-5, 1, rng=np.random.default_rng(1)), "`rows` of random_buckets"),
    ],
)
def test_bad_input_is_named(call, match):
    with pytest.raises(ParameterError, match=match):
        call()


def test_membership_is_a_value():
    figures = (3, 2, 1, True, (3.0, 3.0), (("1 to 10", 2),), (("1 to 10", 1),), 2, 1.0, 1.0)
    assert Membership(*figures) == Membership(*figures)
    assert hash(Membership(*figures)) == hash(Membership(*figures))


def test_an_estimate_of_disjoint_buckets_is_the_number_of_pairs():
    """Every fake tuple that is drawn matches one bucket, and the pairs without an original are known."""
    rng = np.random.default_rng(4)
    buckets = np.repeat(np.arange(50), 40)
    columns = [40 * buckets + np.tile(rng.permutation(40), 50) for _ in range(4)]
    originals = np.stack(columns, axis=1)
    found = membership(slices_of(buckets, columns), originals, limit=1000, seed=1)
    assert not found.exact
    assert found.candidates == 50 * 40**4
    assert found.fake == 50 * 40**4 - 2000
    assert found.interval[0] < found.candidates == found.interval[1]


@pytest.mark.parametrize("most", [0, 300, 1 << 22])
@pytest.mark.parametrize("limit", [0, 10**6])
def test_columns_whose_buckets_are_not_listed_are_counted_alike(most, limit, monkeypatch):
    """Ranges of very many values are asked run by run; the seed draws the same candidates."""
    rng = np.random.default_rng(3)
    low, high = np.sort(rng.integers(0, 60, (2, 40)), axis=0)
    wide = Cover(np.arange(41), low, np.minimum(high, low + 9))
    letters = rng.integers(0, 5, 40)
    covers = (wide, cover_of_each(letters))
    originals = np.stack([rng.integers(0, 62, 300), rng.integers(-1, 6, 300)], axis=1)
    owners, codes = wide.written_out()
    published = slices_of(owners, (codes, letters[owners]))
    expected = membership(published, originals, limit=limit, samples=500, seed=1)
    monkeypatch.setattr(module, "MAX_LISTED", most)
    assert membership_by_covers(covers, originals, limit=limit, samples=500, seed=1) == expected
    inside = originals[(originals[:, 0] < 60) & (originals[:, 1] >= 0) & (originals[:, 1] < 5)]
    tuples = inside[(inside[:, 0] <= wide.high.max())]
    found = module._matching(tuples, module._index(covers))
    assert found.tolist() == plain_matching(tuples, published).tolist()
