"""Laws of φ² and of bins: bounded, symmetric, blind to names and orders; a weight is a repetition."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.algorithms.bucket.correlation import correlations, phi_squared, put_into_bins

quick = settings(deadline=None, max_examples=80)


@st.composite
def attributes(draw, *, count=2):
    rows = draw(st.integers(1, 20))
    columns = [np.array(draw(st.lists(st.integers(0, 4), min_size=rows, max_size=rows))) for _ in range(count)]
    return columns, np.array(draw(st.lists(st.integers(1, 5), min_size=rows, max_size=rows)), dtype=np.int64)


@quick
@given(attributes())
def test_symmetric_and_bounded(drawn):
    (first, second), weights = drawn
    value = phi_squared(first, second, weights=weights)
    assert 0.0 <= value <= 1.0
    assert value == phi_squared(second, first, weights=weights)


@quick
@given(attributes())
def test_an_attribute_determines_itself(drawn):
    (first, _), weights = drawn
    assert phi_squared(first, first, weights=weights) == float(len(set(first.tolist())) > 1)


@quick
@given(attributes())
def test_weights_are_repetitions(drawn):
    (first, second), weights = drawn
    repeated = np.repeat(first, weights), np.repeat(second, weights)
    ones = np.ones(weights.sum(), dtype=np.int64)
    assert phi_squared(first, second, weights=weights) == phi_squared(*repeated, weights=ones)
    assert phi_squared(first, second, weights=weights) == phi_squared(first, second, weights=3 * weights)


@quick
@given(attributes(), st.permutations(range(5)), st.randoms(use_true_random=False))
def test_names_of_values_and_order_of_rows_do_not_matter(drawn, renamed, random):
    (first, second), weights = drawn
    rows = list(range(len(weights)))
    random.shuffle(rows)
    moved = np.array(renamed)[first][rows] * 1000
    assert phi_squared(moved, second[rows], weights=weights[rows]) == phi_squared(first, second, weights=weights)


@quick
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_a_product_table_is_independent(left, right):
    counts = np.outer(left, right)
    first, second = np.indices(counts.shape)
    assert phi_squared(first.ravel(), second.ravel(), weights=counts.ravel()) == 0.0


@quick
@given(attributes(count=4))
def test_matrix_is_symmetric_and_equal_attributes_are_equal_in_it(drawn):
    columns, weights = drawn
    matrix = correlations([*columns, columns[0]], weights=weights)
    assert (matrix == matrix.T).all()
    assert (matrix.diagonal() == 1).all()
    assert (matrix[0, 1:4] == matrix[4, 1:4]).all()


@quick
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20, unique=True), st.integers(1, 12)
)
def test_bins_keep_the_order_and_are_few(line, bins):
    found = put_into_bins(np.array(sorted(line)), bins)
    assert set(found.tolist()) == set(range(found[-1] + 1))
    assert (np.diff(found) >= 0).all()
    assert found[-1] < bins
    assert (found[-1] > 0) == (len(line) > 1 and bins > 1)
