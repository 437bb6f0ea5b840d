"""The mean square contingency of two attributes, and bins of equal width."""

import numpy as np
import pytest

from indistinct.algorithms.bucket import correlation as module
from indistinct.algorithms.bucket.correlation import correlations, phi_squared, put_into_bins


def ones(size):
    return np.ones(size, dtype=np.int64)


def table(rows):
    """Return two attributes and their weights from a contingency table."""
    counts = np.array(rows)
    first, second = np.indices(counts.shape)
    return first.ravel(), second.ravel(), counts.ravel()


def by_definition(first, second, weights):
    """Add up the formula over every pair of values, as it is printed."""
    total = weights.sum()
    left = {v: weights[first == v].sum() / total for v in set(first[weights > 0].tolist())}
    right = {v: weights[second == v].sum() / total for v in set(second[weights > 0].tolist())}
    if min(len(left), len(right)) < 2:
        return 0.0
    terms = []
    for a, one in left.items():
        for b, other in right.items():
            together = weights[(first == a) & (second == b)].sum() / total
            terms.append((together - one * other) ** 2 / (one * other))
    return sum(terms) / (min(len(left), len(right)) - 1)


def test_two_by_two_by_hand():
    # (30·40 - 10·20)² / (40·60·50·50) = 1,000,000 / 6,000,000
    first, second, weights = table([[30, 10], [20, 40]])
    assert phi_squared(first, second, weights=weights) == pytest.approx(1 / 6, abs=1e-12)


def test_three_by_two_by_hand():
    # φ² = Σ n_ij² / (n_i n_j) - 1; the rows count 2, 2 and 4, the columns 4 and 4.
    first, second, weights = table([[2, 0], [1, 1], [1, 3]])
    total = 4 / (2 * 4) + 1 / (2 * 4) + 1 / (2 * 4) + 1 / (4 * 4) + 9 / (4 * 4)
    assert phi_squared(first, second, weights=weights) == pytest.approx(total - 1, abs=1e-12)


def test_a_function_of_the_other_attribute_is_fully_correlated():
    fine = np.arange(12)
    assert phi_squared(fine, fine // 4, weights=ones(12)) == 1.0


@pytest.mark.parametrize("weights", [[1, 1, 1], [5, 0, 7]])
def test_a_constant_attribute_depends_on_nothing(weights):
    weights = np.array(weights)
    assert phi_squared(np.zeros(3, dtype=np.int32), np.arange(3), weights=weights) == 0.0
    assert phi_squared(np.arange(3), np.full(3, 9), weights=weights) == 0.0


def test_values_that_do_not_occur_are_not_counted():
    first, second = np.array([0, 7, 900, 0, 7, 3]), np.array([5, 2, 5, 2, 5, 8])
    weights = np.array([3, 4, 1, 1, 2, 0])
    assert phi_squared(first, second, weights=weights) == pytest.approx(by_definition(first, second, weights))
    kept = weights > 0
    assert phi_squared(first, second, weights=weights) == phi_squared(first[kept], second[kept], weights=weights[kept])


def test_no_rows_no_correlation():
    nothing = np.empty(0, dtype=np.int32)
    assert phi_squared(nothing, nothing, weights=np.empty(0, dtype=np.int64)) == 0.0
    assert correlations([nothing, nothing], weights=nothing).tolist() == [[1, 0], [0, 1]]


def test_sorted_and_tabulated_pairs_agree(monkeypatch):
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 60, 400), rng.integers(0, 50, 400)
    second[:200] = first[:200] % 50
    weights = rng.integers(0, 4, 400)
    tabulated = phi_squared(first, second, weights=weights)
    monkeypatch.setattr(module, "_MANY_CELLS", 10)
    assert phi_squared(first, second, weights=weights) == tabulated
    assert tabulated == pytest.approx(by_definition(first, second, weights), abs=1e-12)


def test_more_pairs_of_values_than_any_matrix_could_hold():
    first = np.arange(50_000)
    second = np.concatenate([np.arange(1, 50_000), [0]])
    assert phi_squared(first, second, weights=ones(50_000)) == 1.0


def test_matrix_holds_every_pair_once_and_reports_progress():
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, size, 200).astype(np.int32) for size in (2, 3, 9, 1)]
    weights = rng.integers(1, 5, 200)
    shares = []
    matrix = correlations(columns, weights=weights, progress=shares.append)
    assert shares == [done / 6 for done in range(1, 7)]
    assert (matrix == matrix.T).all()
    assert matrix.diagonal().tolist() == [1.0] * 4
    assert matrix[3].tolist() == [0, 0, 0, 1]
    for one in range(4):
        for other in range(one):
            assert matrix[one, other] == phi_squared(columns[one], columns[other], weights=weights)
    assert (correlations(columns, weights=weights) == matrix).all()


def test_matrix_of_one_attribute_and_of_none():
    assert correlations([np.arange(3)], weights=ones(3), progress=lambda _share: None).tolist() == [[1.0]]
    assert correlations([], weights=ones(3)).shape == (0, 0)


def test_bins_have_equal_width_and_hold_their_lower_end():
    assert put_into_bins(np.arange(11.0)).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]
    assert put_into_bins(np.arange(0.0, 101.0, 10.0), 5).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
    assert put_into_bins(np.array([17.0, 24.2, 24.4, 90.0])).tolist() == [0, 0, 1, 2]


def test_empty_bins_leave_no_gap():
    assert put_into_bins(np.array([0.0, 1.0, 50.0, 100.0])).tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("line", [[], [4.0], [3.0, 3.0, 3.0], [np.inf], [5e300]])
def test_a_constant_line_is_one_bin(line):
    assert put_into_bins(np.array(line)).tolist() == [0] * len(line)


def test_order_of_the_line_does_not_matter():
    line = np.array([9.0, 0.0, 4.9, 0.2, 9.0])
    assert put_into_bins(line, 2).tolist() == [1, 0, 1, 0, 1]


def test_places_at_the_ends_of_what_floats_hold():
    assert put_into_bins(np.array([-1.7e308, 0.0, 1.7e308]), 4).tolist() == [0, 1, 2]
    assert put_into_bins(np.array([0.0, 5e-324]), 4).tolist() == [0, 1]
    assert put_into_bins(np.array([-np.inf, 0.0, 5.0, 10.0, np.inf]), 10).tolist() == [0, 0, 1, 2, 2]
    assert put_into_bins(np.array([-np.inf, np.inf]), 10).tolist() == [0, 1]
