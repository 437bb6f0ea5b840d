"""Two-level clustering on the worked examples of Verma (2013): numbers, similar clusters, limits, and the table."""

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.algorithms.cluster.sequence import digits_of, equal_range, sequence_number, similar_clusters
from indistinct.errors import ParameterError
from indistinct.metrics import Distortion

CHOICES = [2, 3, 2, 3]
PEOPLE = pa.table(
    {
        "row": [1, 2, 3, 4, 5, 6],
        "job": ["cat1", "cat1", "cat1", "cat1", "cat2", "cat2"],
        "birth": ["1975", "1955", "1955", "1955", "1975", "1975"],
        "postcode": ["4350", "4350", "5432", "5433", "4350", "4350"],
    }
)
SCHEMA = ind.Schema(quasi=["job", "birth", "postcode"], insensitive=["row"])


@pytest.mark.parametrize(("letters", "number"), [("ACAB", 14), ("AAAA", 1), ("BCBC", 36)])
def test_sequence_numbers(letters, number):
    digits = tuple("ABC".index(letter) for letter in letters)
    assert sequence_number(digits, CHOICES) == number
    assert digits_of(number, CHOICES) == digits


def test_sequence_numbers_are_exact_beyond_64_bits():
    choices = [10] * 40
    assert sequence_number([9] * 40, choices) == 10**40
    assert digits_of(10**40, choices) == (9,) * 40


def test_similar_clusters_of_the_last_attribute():
    groups = similar_clusters(3, CHOICES).tolist()
    assert groups == [[first, first + 1, first + 2] for first in range(1, 36, 3)]
    assert len(groups) == 12


def test_similar_clusters_of_the_third_attribute():
    groups = similar_clusters(2, CHOICES).tolist()
    assert groups[:4] == [[1, 4], [2, 5], [3, 6], [7, 10]]
    assert groups[-1] == [33, 36]
    assert len(groups) == 18


def test_similar_clusters_of_the_second_attribute():
    groups = similar_clusters(1, CHOICES).tolist()
    assert groups[:6] == [[first, first + 6, first + 12] for first in range(1, 7)]
    assert groups[6:] == [[first, first + 6, first + 12] for first in range(19, 25)]


def test_similar_clusters_of_the_first_attribute():
    assert similar_clusters(0, CHOICES).tolist() == [[first, first + 18] for first in range(1, 19)]


@pytest.mark.parametrize("attribute", range(4))
def test_similar_clusters_differ_in_their_attribute_alone(attribute):
    groups = similar_clusters(attribute, CHOICES)
    assert sorted(groups.ravel().tolist()) == list(range(1, 37))
    for group in groups:
        digits = np.array([digits_of(int(number), CHOICES) for number in group])
        assert (np.ptp(digits, axis=0) > 0).tolist() == [place == attribute for place in range(4)]


def test_digits_and_numbers_must_be_possible():
    for wrong in (
        lambda: sequence_number([2, 0, 0, 0], CHOICES),
        lambda: digits_of(37, CHOICES),
        lambda: digits_of(0, CHOICES),
        lambda: similar_clusters(4, CHOICES),
    ):
        with pytest.raises(ParameterError):
            wrong()


def test_the_limits_of_the_second_outer_cluster():
    """The prefix (0B, 0C) leaves exactly the rows with 0E, 0F and 0H."""
    listed = ["ACE", "ACG", "ACH", "ADE", "ADG", "AFI", "BCF", "BCH", "BCE", "BDE", "BDG", "BDI"]
    vectors = np.array(sorted([ord(letter) - ord("A") for letter in row] for row in listed))
    low, high = equal_range(vectors, [1, 2])
    assert ["".join(chr(ord("A") + d) for d in row) for row in vectors[low:high]] == ["BCE", "BCF", "BCH"]
    assert equal_range(vectors, []) == (0, 12)
    low, high = equal_range(vectors, [1, 25, 0])
    assert low == high


@pytest.mark.parametrize("algorithm", ["two-level", "two-level:rule=literal", "two-level:stub=true"])
def test_the_published_two_anonymous_table(algorithm):
    release = ind.anonymize(
        PEOPLE, SCHEMA, model="k-anonymity:k=2", algorithm=algorithm, hierarchies={"postcode": ind.Hierarchy.masking()}
    )
    found = {}
    for row in release.table.to_pylist():
        shown = (row["job"], row["birth"], row["postcode"])
        found.setdefault(shown, set()).add(row["row"])
    assert found == {("cat1", "*", "4350"): {1, 2}, ("cat1", "1955", "543*"): {3, 4}, ("cat2", "1975", "4350"): {5, 6}}
    assert Distortion().value(release.assignment) == 2.5
