"""The columns of a sliced release: found from correlations, or given and checked."""

from functools import partial

import numpy as np
import pytest

from indistinct.algorithms.bucket.attributes import explicit_columns, partition_attributes, share_by_correlation
from indistinct.errors import ParameterError
from indistinct.frequencies.slices import sharing_problem

NAMES = ("age", "sex", "zip", "job", "pay", "disease")


def correlated(**pairs):
    """Return a matrix in which the named pairs, as `one_other=value`, are correlated and no others are."""
    matrix = np.eye(len(NAMES))
    for pair, value in pairs.items():
        one, other = map(NAMES.index, pair.split("_"))
        matrix[one, other] = matrix[other, one] = value
    return matrix


STRONG = correlated(age_pay=0.9, zip_disease=0.8, sex_job=0.7, sex_disease=0.3, age_disease=0.2, job_pay=0.1)


def sliced(matrix=STRONG, *, sensitive=("disease",), columns=3, alpha=None):
    return partition_attributes(NAMES, matrix, sensitive=sensitive, columns=columns, alpha=alpha)


def test_correlated_attributes_share_a_column():
    assert sliced() == (("age", "pay"), ("sex", "job"), ("zip", "disease"))


def test_each_attribute_can_have_a_column():
    assert sliced(columns=6) == tuple((name,) for name in NAMES)
    assert sliced(columns=6, alpha=1) == tuple((name,) for name in NAMES)


def test_alpha_gives_the_sensitive_attribute_its_nearest_partners():
    assert sliced(alpha=1) == (("age", "pay"), ("sex", "zip", "job"), ("disease",))
    assert sliced(alpha=2) == (("age", "pay"), ("sex", "job"), ("zip", "disease"))
    assert sliced(alpha=3, columns=2) == (("age", "job", "pay"), ("sex", "zip", "disease"))
    assert sliced(alpha=5, columns=2) == (("age", "sex", "zip", "job", "disease"), ("pay",))


def test_partners_in_a_tie_are_the_earlier_names():
    tied = correlated(age_disease=0.5, sex_disease=0.5, zip_disease=0.5, job_disease=0.6)
    assert ("age", "sex", "job", "disease") in sliced(tied, alpha=4)
    assert ("age", "job", "disease") in sliced(tied, alpha=3)


def test_sensitive_attributes_choose_in_turn_and_never_each_other():
    both = correlated(disease_pay=1.0, disease_zip=0.9, pay_zip=0.95, pay_age=0.5, disease_age=0.4, sex_job=0.6)
    assert sliced(both, sensitive=("disease", "pay"), alpha=2) == (
        ("age", "pay"), ("sex", "job"), ("zip", "disease"),
    )  # fmt: skip
    assert sliced(both, sensitive=("pay", "disease"), alpha=2) == (
        ("age", "disease"), ("sex", "job"), ("zip", "pay"),
    )  # fmt: skip


def test_sensitive_columns_may_take_everything():
    assert sliced(sensitive=("disease", "age"), alpha=3, columns=2) == (
        ("age", "job", "pay"),
        ("sex", "zip", "disease"),
    )


def test_no_sensitive_attribute():
    assert sliced(sensitive=()) == sliced(sensitive=(), alpha=2) == sliced()


@pytest.mark.parametrize("columns", [1, 0, -3])
def test_one_column_is_no_slicing(columns):
    with pytest.raises(ParameterError, match=f"at least 2; got {columns}") as raised:
        sliced(columns=columns)
    assert raised.value.hint == "slicing into one column publishes the table unmodified"


def test_more_columns_than_attributes():
    with pytest.raises(ParameterError, match="at most the number of attributes, 6; got 7") as raised:
        sliced(columns=7)
    assert "columns=6" in raised.value.hint
    with pytest.raises(ParameterError, match="attributes, 1; got 2") as raised:
        partition_attributes(("age",), np.eye(1), sensitive=(), columns=2, alpha=None)
    assert "cannot be sliced" in raised.value.hint


@pytest.mark.parametrize(
    ("sensitive", "columns", "alpha", "left", "most"),
    [
        (("disease",), 2, 6, "0 attributes for 1 other", 5),
        (("disease",), 2, 99, "0 attributes for 1 other", 5),
        (("disease",), 4, 4, "2 attributes for 3 other", 3),
        (("disease", "age"), 2, 4, "0 attributes for 0 other", 3),
        (("disease", "age"), 4, 3, "0 attributes for 2 other", 2),
    ],
)
def test_alpha_that_leaves_too_few_attributes(sensitive, columns, alpha, left, most):
    with pytest.raises(ParameterError) as raised:
        sliced(sensitive=sensitive, columns=columns, alpha=alpha)
    assert left in raised.value.message
    assert f"alpha of at most {most}" in raised.value.hint
    assert sliced(sensitive=sensitive, columns=columns, alpha=most)


@pytest.mark.parametrize("sensitive", [("disease", "age"), ("disease", "age", "pay")])
def test_too_few_columns_for_the_sensitive_attributes(sensitive):
    with pytest.raises(ParameterError, match="is too few for") as raised:
        sliced(sensitive=sensitive, columns=2, alpha=1)
    assert f"at least {len(sensitive) + 1} columns" in raised.value.hint
    assert sliced(sensitive=sensitive, columns=len(sensitive) + 1, alpha=1)


def test_given_columns_stay_as_they_are():
    given = [["zip", "disease"], ["sex", "age"], ["pay", "job"]]
    assert explicit_columns(given, NAMES) == (("zip", "disease"), ("sex", "age"), ("pay", "job"))


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ([NAMES[:2], NAMES[3:]], "missing: 'zip'", "add each"),
        ([NAMES[:1], NAMES[4:]], "missing: 'sex', 'zip', 'job'", "add each"),
        ([NAMES[:3], NAMES[2:]], "repeated: 'zip'", "once"),
        ([[*NAMES[:3], "age"], NAMES[3:]], "repeated: 'age'", "once"),
        ([NAMES[:3], [*NAMES[3:], "ages"]], "no attribute 'ages'", "did you mean 'age'?"),
        ([NAMES[:3], [*NAMES[3:], "Q"]], "no attribute 'Q'", "age, sex, zip, job, pay, disease"),
        ([NAMES[:3], [], NAMES[3:]], "column 2 of slicing has no attribute", "leave"),
        ([NAMES], "at least two columns; got 1", "publishes the table unmodified"),
        ([], "at least two columns; got 0", "publishes the table unmodified"),
    ],
)
def test_given_columns_that_do_not_fit(given, message, hint):
    with pytest.raises(ParameterError) as raised:
        explicit_columns(given, NAMES)
    assert message in raised.value.message
    assert hint in raised.value.hint
    assert raised.value.exit_code == 2


def test_columns_take_over_the_attributes_that_they_depend_on_most():
    names = ["a", "b", "c", "d", "s"]
    correlation = np.eye(5)
    for one, other, value in ((0, 1, 0.9), (0, 2, 0.3), (1, 2, 0.5), (2, 3, 0.4), (1, 3, 0.6), (3, 4, 0.8)):
        correlation[one, other] = correlation[other, one] = value
    columns = (("a", "b"), ("c",), ("d", "s"))
    share = partial(share_by_correlation, names, correlation, columns)
    assert share(sensitive=["s"], overlap=0) == columns
    # d is known beside s: a+b depends on d by b (0.6), and then c on b (0.5).
    assert share(sensitive=["s"], overlap=1) == (("a", "b", "d"), ("b", "c"), ("d", "s"))
    assert share(sensitive=["s"], overlap=2) == (("a", "b", "d"), ("b", "c", "d"), ("d", "s"))
    apart = (("a", "b"), ("c",), ("d",), ("s",))
    made = share_by_correlation(names, correlation, apart, sensitive=["s"], overlap=3)
    assert share(sensitive=["s"], distinctive=["b", "d"], overlap=1) == (("a", "b"), ("a", "c"), ("d", "s"))
    # Nothing is known beside s; a+b is the widest, and no column takes over all of it.
    assert made == (("a", "b"), ("b", "c"), ("b", "d"), ("s",))
    assert all(sharing_problem(each, ["s"]) is None for each in (made, share(sensitive=["s"], overlap=2)))
