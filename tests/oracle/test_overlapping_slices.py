"""The bound of overlapping slicing by brute force: all ways in which the rows of a bucket may be put together.

Attributes are numbered, and columns are tuples of numbers; the sensitive attribute is the last one. A way gives each
row one entry of every column such that entries agree on the attributes that they share. All ways are equally likely.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SENSITIVE = 3


def ways(rows, columns):
    """Yield the rows of every way."""
    entries = [[tuple(row[attribute] for attribute in column) for row in rows] for column in columns]
    for orders in product(*(permutations(own) for own in entries[1:])):
        made = []
        for parts in zip(entries[0], *orders, strict=True):
            row = {}
            for column, part in zip(columns, parts, strict=True):
                if any(row.setdefault(a, value) != value for a, value in zip(column, part, strict=True)):
                    break
            else:
                made.append(tuple(row[attribute] for attribute in range(SENSITIVE + 1)))
                continue
            break
        else:
            yield made


def beliefs(rows, columns):
    """Return how likely each sensitive value is for each known tuple that some row has, over all ways.

    The attacker knows that a row of the bucket has the tuple: of each way, any row that shows it may be the person's.
    """
    weights = defaultdict(Counter)
    for made in ways(rows, columns):
        for *known, value in made:
            weights[tuple(known)][value] += 1
    return {
        known: {value: Fraction(count, sum(values.values())) for value, count in values.items()}
        for known, values in weights.items()
    }


def shares(rows, column):
    """Return the share of each sensitive value among the entries of its column that agree with a known tuple."""
    found = {}
    for known in {row[:SENSITIVE] for row in rows}:
        own = [row for row in rows if all(row[a] == known[a] for a in column if a != SENSITIVE)]
        values = Counter(row[SENSITIVE] for row in own)
        found[known] = {value: Fraction(count, len(own)) for value, count in values.items()}
    return found


few = st.integers(0, 1)
buckets = st.lists(st.tuples(few, few, few, st.sampled_from("abc")), min_size=2, max_size=4)
layouts = st.sampled_from(
    [
        ((0, 1), (1, 2), (2, 3)),
        ((0, 1), (0, 2), (0, 3)),
        ((0, 1), (1, 2), (1, 2, 3)),
        ((0, 1, 2), (0, 1), (3,)),
        ((0, 1), (1, 2, 3)),
    ]
)


@settings(deadline=None, max_examples=80)
@given(buckets, layouts)
def test_known_attributes_in_several_columns_leave_the_bound_as_it_was(rows, columns):
    (sensitive,) = [column for column in columns if SENSITIVE in column]
    expected = shares(rows, sensitive)
    found = beliefs(rows, columns)
    for known, wanted in expected.items():
        assert found[known] == wanted


@settings(deadline=None, max_examples=80)
@given(buckets, layouts)
def test_the_most_frequent_value_of_an_entry_bounds_what_is_believed(rows, columns):
    (sensitive,) = [column for column in columns if SENSITIVE in column]
    bound = max(share for values in shares(rows, sensitive).values() for share in values.values())
    assert max(share for values in beliefs(rows, columns).values() for share in values.values()) == bound


def test_a_sensitive_attribute_in_two_columns_may_be_certain():
    rows = [(0, 0, 0, "a"), (0, 0, 1, "b"), (1, 0, 0, "c"), (1, 0, 1, "d")]
    columns = ((0, 3), (2, 3), (1,))
    for column in columns[:2]:
        assert {share for values in shares(rows, column).values() for share in values.values()} == {Fraction(1, 2)}
    assert beliefs(rows, columns)[0, 0, 0] == {"a": 1}


@pytest.mark.parametrize("columns", [((0, 1), (2, 3)), ((0, 1, 2), (3,))])
def test_plain_slicing_is_the_case_without_shared_attributes(columns):
    rows = [(0, 0, 0, "a"), (0, 1, 0, "b"), (1, 0, 1, "a"), (1, 1, 1, "c")]
    (sensitive,) = [column for column in columns if SENSITIVE in column]
    found = beliefs(rows, columns)
    assert all(found[known] == wanted for known, wanted in shares(rows, sensitive).items())
