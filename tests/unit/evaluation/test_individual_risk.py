"""Individual risk, household risk, and survey weights that come through an engine: people, edges, bad input."""

import json

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.engines import count_source
from indistinct.errors import InputError, ParameterError
from indistinct.evaluation.assess.individual import (
    household_risks,
    individual_risk,
    risks_of_counts,
    sums_of_weights,
    weight_keys,
)
from indistinct.frequencies.count import Request
from indistinct.frequencies.value import PERSON, Classes


def counted(columns, *, keys, person=()):
    return count_source(ind.open(pa.table(columns)), Request(["age"], keys, person=person))


def sums(weights, *, people=None):
    columns = {"age": [30, 30, 40, 40], "weight": weights} | ({} if people is None else {"patient": people})
    found = counted(
        columns,
        keys=weight_keys("weight", people=people is not None),
        person=[] if people is None else ["patient"],
    )
    return found, sums_of_weights(found.frequencies.classes, found.known["weight"])


def test_weights_are_summed_by_class():
    assert sums([2.5, 2.5, 10.0, 0.0])[1].tolist() == [5.0, 10.0]
    assert sums([3, 4, 5, 6])[1].tolist() == [7, 11]


def test_everybody_has_one_weight_whatever_the_number_of_rows():
    found, weights = sums([7, 7, 7, 5], people=["a", "a", "a", "b"])
    assert weights.tolist() == [7, 12]
    risk = individual_risk(found.frequencies.classes, weights)
    single, pair = risks_of_counts(np.array([1, 2]), np.array([7.0, 12.0]))
    assert risk.risks.tolist() == [single, pair]
    # Somebody who is in both classes is found in the class with the higher risk.
    assert (risk.people, risk.expected, risk.highest) == (2, single + pair, single)
    assert json.loads(json.dumps(risk.to_json()))["mean"] == risk.mean


def test_people_of_classes_that_are_left_out_do_not_count():
    found, weights = sums([7, 7, 7, 5], people=["a", "a", "b", "c"])
    kept = found.frequencies.classes.take(np.array([0]))
    assert individual_risk(kept, weights[:1]).people == 1


@pytest.mark.parametrize(
    ("weights", "people", "words"),
    [
        ([1.0, None, 2.0, None], None, "missing for 2 rows"),
        ([1, -1, 2, 3], None, "negative for 1 rows"),
        ([1.0, float("inf"), 2.0, 3.0], None, "1 infinite"),
        ([-1, -1, -1, 2], ["a", "a", "b", "c"], "negative for 2 people"),
        (["one", "two", "three", "four"], None, "must be numbers; got text"),
        ([1, 2, 3, 4], ["a", "a", "b", "c"], "1 people have several"),
    ],
)
def test_weights_that_cannot_be_used_are_named_without_a_value(weights, people, words):
    with pytest.raises(InputError, match=words) as refused:
        sums(weights, people=people)
    assert "'weight'" in refused.value.message
    assert "three" not in str(refused.value)


def test_a_histogram_that_was_not_asked_for_is_an_error():
    found = counted({"age": [1, 2], "weight": [1, 2]}, keys=[])
    domain = counted({"age": [1, 2], "weight": [1, 2]}, keys=[("weight",)]).known["weight"]
    with pytest.raises(ParameterError, match="no histogram"):
        sums_of_weights(found.frequencies.classes, domain)
    with pytest.raises(ParameterError, match="no histogram"):
        household_risks(found.frequencies.classes, np.ones(2), key=("home",))


def test_a_sample_that_is_the_population_has_a_risk_of_one_over_the_class():
    assert risks_of_counts(np.arange(1, 6), np.arange(1, 6) * 1.0) == pytest.approx(1 / np.arange(1, 6))
    # Weights below 1 cannot make a population smaller than its sample.
    assert risks_of_counts(np.array([1, 2, 3]), np.array([0.0, 1.0, 2.5])) == pytest.approx([1, 1 / 2, 1 / 3])


@pytest.mark.parametrize(
    ("counts", "weights", "words"),
    [([1, 2], [3.0], "2 classes"), ([0], [3.0], "empty"), ([1], [-1.0], "at least 0"), ([1], [np.nan], "finite")],
)
def test_counts_and_weights_that_do_not_fit_are_errors(counts, weights, words):
    with pytest.raises(ParameterError, match=words):
        risks_of_counts(np.array(counts), np.array(weights))


def test_an_empty_sample_has_no_risk():
    found = individual_risk(Classes(np.zeros(0, dtype=np.int64)), np.zeros(0))
    assert (found.mean, found.highest, found.people) == (0, 0, 0)


def test_a_household_is_found_if_anybody_of_it_is():
    columns = {"age": [30, 30, 40, 50], "home": ["x", "x", "x", "y"]}
    classes = counted(columns, keys=[("home",)]).frequencies.classes
    risks = np.array([0.5, 0.2, 1.0])
    assert household_risks(classes, risks, key=("home",)) == pytest.approx([1 - 0.5 * 0.5 * 0.8, 1.0])


def test_somebody_is_found_once_in_a_household():
    columns = {"age": [30, 40, 40, 50], "home": ["x", "x", "x", "y"], "patient": ["a", "a", "b", "c"]}
    classes = counted(columns, keys=[(PERSON,), (PERSON, "home")], person=["patient"]).frequencies.classes
    found = household_risks(classes, np.array([0.5, 0.2, 0.1]), key=(PERSON, "home"))
    assert found == pytest.approx([1 - 0.5 * 0.8, 0.1])
