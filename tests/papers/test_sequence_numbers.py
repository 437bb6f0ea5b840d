"""The machinery of the thesis on two-level clustering: numbers, similar clusters and search limits, against plain ways
to find the same, and against the groups that the product makes."""

from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct_papers.documents import INNER_CLUSTERS, SEQUENCE, SEQUENCE_OPTIONS
from indistinct_papers.sequence_numbers import letters_of, narrow_limits, number_of, similar_numbers

quick = settings(deadline=None, max_examples=40)
options_of = st.lists(st.integers(1, 4), min_size=1, max_size=5).map(tuple)


def every_cluster(options):
    return ["".join(chr(ord("A") + code) for code in codes) for codes in product(*map(range, options))]


def test_the_worked_example():
    assert number_of(SEQUENCE, SEQUENCE_OPTIONS) == 14
    assert letters_of(14, SEQUENCE_OPTIONS) == SEQUENCE
    assert (every_cluster(SEQUENCE_OPTIONS)[0], every_cluster(SEQUENCE_OPTIONS)[-1]) == ("AAAA", "BCBC")


@quick
@given(options=options_of)
def test_numbers_are_those_of_clusters_in_alphabetical_order(options):
    clusters = every_cluster(options)
    assert [number_of(letters, options) for letters in clusters] == list(range(1, prod(options) + 1))
    assert [letters_of(number, options) for number in range(1, prod(options) + 1)] == clusters


@quick
@given(options=options_of, data=st.data())
def test_similar_clusters_are_the_groups_that_differ_in_one_column(options, data):
    """Grouping by all other columns, as the product does, gives the same groups; they partition the numbers."""
    column = data.draw(st.integers(0, len(options) - 1))
    grouped = {}
    for letters in every_cluster(options):
        rest = letters[:column] + letters[column + 1 :]
        grouped.setdefault(rest, []).append(number_of(letters, options))
    found = similar_numbers(column, options)
    assert sorted(found) == sorted(map(tuple, grouped.values()))
    assert sorted(number for group in found for number in group) == list(range(1, prod(options) + 1))


@quick
@given(clusters=st.lists(st.text("ABCD", min_size=3, max_size=3), min_size=1, max_size=30), beginning=st.text("ABCDE"))
def test_limits_are_those_of_a_linear_search(clusters, beginning):
    ordered, beginning = sorted(clusters), beginning[:3]
    limits = narrow_limits(ordered, beginning)
    assert len(limits) == len(beginning)
    for length, (first, last) in enumerate(limits, start=1):
        places = [place + 1 for place, each in enumerate(ordered) if each.startswith(beginning[:length])]
        assert list(range(first, last + 1)) == places


def test_the_limits_of_the_worked_example():
    assert narrow_limits(INNER_CLUSTERS, "BC") == [(7, 12), (7, 9)]


@pytest.mark.parametrize("letters", ["ACA", "ACABA"])
def test_a_cluster_has_a_letter_for_each_column(letters):
    with pytest.raises(ValueError, match="zip"):
        number_of(letters, SEQUENCE_OPTIONS)
