"""Laws of comparing tables: the same rows equally often, whatever their order, chunks and size."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.errors import UnseenValueError
from indistinct.frequencies import _kernels
from indistinct.frequencies.encode import encode_column, in_domain
from indistinct.frequencies.fingerprint import PRIME, fingerprint, same_rows

quick = settings(deadline=None, max_examples=100)
remainders = st.one_of(st.integers(0, PRIME - 1), st.sampled_from([0, 1, PRIME - 1, PRIME // 2, 1 << 32, 1 << 60]))


@quick
@given(remainders, remainders)
def test_products_are_those_of_whole_numbers(left, right):
    assert int(_kernels.multiplied(np.uint64(left), np.uint64(right))) == left * right % PRIME


@quick
@given(remainders, st.integers(0, 40))
def test_multiples_are_those_of_whole_numbers(factor, size):
    assert _kernels.multiples(np.uint64(factor), size).tolist() == [factor * i % PRIME for i in range(size)]


@st.composite
def pairs_of_tables(draw):
    """Return two tables of as many columns that share values; often they hold the same rows."""
    columns = draw(st.integers(1, 4))
    cell = st.one_of(st.none(), st.integers(-3, 3))
    row = st.tuples(*[cell] * columns)
    first = draw(st.lists(row, min_size=1, max_size=9))
    second = draw(st.one_of(st.permutations(first), st.lists(row, min_size=1, max_size=9)))
    if draw(st.booleans()):  # one row twice and another lost: as many rows, and the same values nearly
        second = [*second[1:], second[-1]]
    return first, second


def encoded(first, second, cut):
    """Return the columns of two tables in the domains of both together."""
    both = [pa.chunked_array([pa.array(column, pa.int64())]) for column in zip(*first, *second, strict=True)]
    found = []
    for rows in (first, second):
        columns = [pa.array(column, pa.int64()) for column in zip(*rows, strict=True)]
        chunked = [pa.chunked_array([column[:cut], column[cut:]]) for column in columns]
        wholes = [encode_column("a", whole) for whole in both]
        found.append(
            [in_domain(encode_column("a", own), whole.domain) for own, whole in zip(chunked, wholes, strict=True)]
        )
    return found


@quick
@given(pairs_of_tables(), st.integers(0, 5), st.booleans())
def test_tables_are_the_same_if_their_rows_are(as_if_large, tables, cut, large):
    first, second = tables
    if any(all(row[j] is None for row in rows) for rows in tables for j in range(len(first[0]))):
        return
    mine, theirs = encoded(first, second, cut)
    with pytest.MonkeyPatch.context() as patch:
        if large:
            as_if_large(patch)
        assert same_rows(mine, theirs) == (Counter(first) == Counter(second))


def test_a_fingerprint_is_the_product_over_rows():
    columns = [
        encode_column("a", pa.chunked_array([[3, 1, 2]])),
        encode_column("b", pa.chunked_array([["y", "x", "y"]])),
    ]
    x, first, second = 11, 13, 17
    expected = (x + 2 * first + second) * (x + 0) * (x + first + second) % PRIME
    assert fingerprint(columns, [x, first, second]) == expected


def test_a_column_takes_the_codes_of_another_domain():
    known = encode_column("a", pa.chunked_array([["a", "b", None, "c"]])).domain
    own = encode_column("a", pa.chunked_array([["c", None], ["c", "a"]]))
    assert in_domain(own, known).codes.tolist() == [3, 0, 3, 1]
    with pytest.raises(UnseenValueError):
        in_domain(encode_column("a", pa.chunked_array([["a", "z"]])), known)
    with pytest.raises(UnseenValueError):
        in_domain(own, encode_column("a", pa.chunked_array([["a", "b", "c"]])).domain)
