"""Models that compare with the table, a population or all classes: parameters, small examples and what they declare."""

import math
from fractions import Fraction

import numpy as np
import pytest

import indistinct as ind
from indistinct.errors import InfeasibleError, InputError, ParameterError
from indistinct.frequencies.value import POPULATION, Classes, Histogram
from indistinct.models import BasicBetaLikeness, EnhancedBetaLikeness
from indistinct.models.of_people import OfPeople
from indistinct.models.registry import parse_model
from indistinct.release.certificate import Certificate, ModelVerdict
from indistinct.testing.reference import smallest_class
from references.classes import classes_of


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ind.BasicBetaLikeness("s", beta=0), "`beta` of BasicBetaLikeness must be above 0; got 0"),
        (lambda: ind.EnhancedBetaLikeness("s", beta=-1), "`beta` of EnhancedBetaLikeness must be above 0; got -1"),
        (lambda: ind.BasicBetaLikeness(3, beta=1), "`sensitive` of BasicBetaLikeness must be the name of a column"),
        (lambda: ind.DeltaDisclosure("s", delta=0), "`delta` of DeltaDisclosure must be above 0; got 0"),
        (lambda: ind.DeltaDisclosure("s", delta=math.inf), "`delta` of DeltaDisclosure must be a finite number"),
        (lambda: ind.DeltaPresence(low=0.5, high=0.2), "`low` of DeltaPresence is 0.5, above `high`, 0.2"),
        (lambda: ind.DeltaPresence(low=-0.1, high=0.2), "`low` of DeltaPresence must be from 0 to 1; got -0.1"),
        (lambda: ind.DeltaPresence(low=0, high=0), "`high` of DeltaPresence must be from 0 to 1; got 0"),
        (lambda: ind.KMap(k=0), "`k` of KMap must be at least 1; got 0"),
        (lambda: ind.KMap(k=5, significance=0.1), "`significance` and `population_size` of KMap go together"),
        (lambda: ind.KMap(5, 0, 100), "`significance` of KMap must be above 0 and below 1; got 0"),
        (lambda: ind.KMap(5, 0.1, 100, "normal"), "`estimator` of KMap must be one of zero-truncated-poisson, poisson"),
        (lambda: ind.AverageRisk(threshold=0), "`threshold` of AverageRisk must be above 0 and at most 1; got 0"),
        (lambda: ind.SampleUniqueness(share=1.5), "`share` of SampleUniqueness must be from 0 to 1; got 1.5"),
        (
            lambda: ind.PopulationUniqueness(0.1, 100, "guess"),
            "`estimator` of PopulationUniqueness must be one of dankar, pitman, zayatz, snb; got 'guess'",
        ),
        (
            lambda: ind.EntropyLDiversity("s", 2, "miller"),
            "`estimator` of EntropyLDiversity must be one of shannon, grassberger; got 'miller'",
        ),
    ],
)
def test_every_refusal_says_what_was_expected_and_has_a_hint(make, sentence):
    with pytest.raises(ParameterError) as caught:
        make()
    assert caught.value.message.startswith(sentence)
    assert caught.value.hint


@pytest.mark.parametrize(
    "spec",
    [
        "basic-beta-likeness:sensitive=s,beta=2.0",
        "enhanced-beta-likeness:sensitive=s,beta=1/3",
        "delta-disclosure:sensitive=s,delta=1.5",
        "delta-presence:low=0.05,high=1/3,absent=false",
        "k-map:k=5",
        "k-map:k=5,significance=0.01,population_size=1000000,estimator=poisson,sample_size=100",
        "average-risk:threshold=0.05",
        "sample-uniqueness:share=0.0",
        "population-uniqueness:share=0.01,population_size=1000,estimator=snb",
        "entropy-l-diversity:sensitive=s,l=2.5,estimator=grassberger",
    ],
)
def test_what_is_spelled_is_read_back(spec):
    assert parse_model(spec).spec() == spec


def test_only_gains_count_for_beta_likeness():
    # p(a) = 1/2, p(b) = 1/4, p(c) = 1/4. In the first class a gains (3/4 - 1/2)/(1/2) = 1/2; in the second b gains 1.
    original = ["a"] * 4 + ["b"] * 2 + ["c"] * 2
    classes = classes_of([["a", "a", "a", "b"], ["b", "b", "c", "a"]], original=original)
    assert BasicBetaLikeness("s", 0.5).violations(classes).tolist() == [False, True]
    assert BasicBetaLikeness("s", 1).violations(classes).tolist() == [False, False]
    assert BasicBetaLikeness("s", 1).achieved(classes) == {"beta": 1.0}


def test_a_frequent_value_gains_less_under_enhanced_beta_likeness():
    # p(a) = 1/2 may gain ln 2 = 0.69, p(b) = 1/10 up to beta.
    original = ["a"] * 5 + ["b"] + ["c"] * 4
    doubled, other = ["a"] * 9 + ["b"], ["b", "b", "b", *["c"] * 3, *["a"] * 4]
    classes = classes_of([doubled, other], original=original)
    assert BasicBetaLikeness("s", 2).violations(classes).tolist() == [False, False]
    assert EnhancedBetaLikeness("s", 2).violations(classes).tolist() == [True, False]
    assert EnhancedBetaLikeness("s", 2).achieved(classes) == {"beta": math.inf}
    assert EnhancedBetaLikeness("s", 2).achieved(classes_of([other], original=original)) == {"beta": pytest.approx(2)}


def test_delta_disclosure_is_strict_and_looks_at_values_that_occur():
    original = ["a", "a", "b", "b"]
    classes = classes_of([["a"], ["a", "b"], ["a", "a", "a", "b"]], original=original)
    # q/p = 2, 1, and 3/2 with 1/2: log2 is 1, 0 and at most 1.
    assert ind.DeltaDisclosure("s", 1).violations(classes).tolist() == [True, False, True]
    assert ind.DeltaDisclosure("s", 1.01).violations(classes).tolist() == [False, False, False]
    assert ind.DeltaDisclosure("s", 1).achieved(classes) == {"delta": 1.0}


def test_a_class_without_a_value_makes_it_too_rare_when_it_joins():
    """Delta-disclosure is not monotone: the counterexample of its page."""
    model, original = ind.DeltaDisclosure("s", 1), ["s"] * 3 + ["x"] * 7
    classes = classes_of([["s", "x"], ["x"] * 8], original=original)
    assert not model.traits.monotone
    assert not model.violations(classes).any()
    assert model.violations(classes.regroup(np.zeros(2, dtype=np.int32), 1)).all()


def test_a_corrected_entropy_is_larger_and_needs_as_many_values():
    groups = [["a", "b"], ["a"], ["a", "b", "c"]]
    shannon, corrected = (ind.EntropyLDiversity("s", 2, each) for each in ("shannon", "grassberger"))
    assert shannon.violations(classes_of(groups)).tolist() == [False, True, False]
    assert corrected.violations(classes_of(groups)).tolist() == [False, True, False]
    skewed = classes_of([["a", "a", "a", "b", "c"]])
    assert shannon.achieved(skewed)["l"] == pytest.approx(2.5864, abs=1e-4)
    # ln 5 - (3·G(3) + 2·G(1))/5 with G(3) = 2 - γ - ln 2 and G(1) = -γ - ln 2: 1.6798, capped by three values.
    assert corrected.achieved(skewed)["l"] == 3.0


def test_merging_may_lower_a_corrected_entropy():
    model = ind.EntropyLDiversity("s", 3, "grassberger")
    classes = classes_of([["a", "b", "c"], ["a"] * 3 + ["b", "c"]])
    assert not model.violations(classes).any()
    assert not model.traits.monotone
    union = classes_of([["a"] * 4 + ["b"] * 2 + ["c"] * 2])
    assert model.violations(union).all()


def beside(rows, others):
    """Return classes with so many rows, and so many people of the population."""
    cells = np.arange(len(rows) + 1)
    histogram = Histogram(cells, np.zeros(len(rows), dtype=np.int32), np.array(others), np.array([sum(others)]))
    return Classes(np.array(rows), {(POPULATION,): histogram})


def test_delta_presence_of_classes_of_the_population():
    classes = beside([1, 2, 0], [10, 4, 5])
    assert ind.DeltaPresence(0.1, 0.5).violations(classes).tolist() == [False, False, True]
    assert ind.DeltaPresence(0.1, 0.5, absent=False).violations(classes).tolist() == [False, False, False]
    assert ind.DeltaPresence(0, 0.4).violations(classes).tolist() == [False, True, False]
    assert ind.DeltaPresence(0, 1).achieved(classes) == {"low": 0.0, "high": 0.5}
    assert ind.DeltaPresence(0, 1, absent=False).achieved(classes) == {"low": 0.1, "high": 0.5}


def test_k_map_counts_people_of_the_population():
    classes = beside([1, 2, 0], [10, 4, 2])
    assert ind.KMap(5).violations(classes).tolist() == [False, True, False]
    assert ind.KMap(5).achieved(classes) == {"k": 4}
    with pytest.raises(InfeasibleError, match="the population has 16 people"):
        ind.KMap(17).check(beside([3], [16]))


@pytest.mark.parametrize("model", [ind.KMap(2), ind.DeltaPresence(0, 1)])
def test_a_population_that_lacks_people_of_the_table_is_refused(model):
    with pytest.raises(InputError, match="the population is smaller than the sample"):
        model.violations(beside([3, 1], [2, 4]))
    with pytest.raises(ParameterError, match="compares the release with a population, and none is given"):
        model.violations(Classes(np.array([3])))


@pytest.mark.parametrize("truncated", [True, False])
def test_thresholds_are_those_of_the_definition(truncated):
    estimator = "zero-truncated-poisson" if truncated else "poisson"
    for k in (1, 2, 3, 5, 10, 20, 50):
        for fraction in (0.0001, 0.01, 0.1, 0.3, 1):
            for significance in (0.001, 0.01, 0.05, 0.2):
                size = 100_000
                found = ind.KMap(k, significance, size, estimator).threshold(int(fraction * size))
                assert found == smallest_class(k, significance, int(fraction * size) / size, truncated=truncated)


def test_an_estimate_knows_the_size_of_its_sample():
    model = ind.KMap(5, significance=0.05, population_size=1000)
    assert not model.traits.sizes_only
    bound = model.sampled(100)
    assert bound == ind.KMap(5, significance=0.05, population_size=1000, sample_size=100)
    assert bound.traits.sizes_only
    assert bound.smallest == bound.threshold(100) == 3
    assert bound.sampled(7) == bound
    assert ind.KMap(5).sampled(100) == ind.KMap(5)
    assert bound.achieved(Classes(np.array([3, 9])))["k"] == 5
    both = (model & ind.KAnonymity(2)).sampled(100)
    assert both.parts()[0] == bound
    with pytest.raises(ParameterError, match="the sample has 1,001"):
        model.threshold(1001)


def test_a_mean_that_underflows_has_a_quantile():
    assert ind.KMap(100_000, 0.01, 100_000).threshold(90_000) == pytest.approx(90_000 + 2.33 * 300, abs=3)


def test_average_risk_is_compared_exactly():
    classes = Classes(np.array([2, 3, 4]))
    assert ind.AverageRisk(Fraction(1, 3)).violations(classes).tolist() == [False] * 3
    assert ind.AverageRisk(0.333333).violations(classes).tolist() == [True] * 3
    assert ind.AverageRisk(1).achieved(classes) == {"threshold": pytest.approx(1 / 3)}
    assert not ind.AverageRisk(0.5).violations(Classes(np.array([0, 2]))).any()


def test_a_population_that_is_smaller_than_the_sample_has_no_estimate():
    with pytest.raises(ParameterError, match="is 5, and the table has 9 rows"):
        ind.PopulationUniqueness(0.1, population_size=5).violations(Classes(np.array([2, 3, 4])))


def test_of_two_verdicts_the_weaker_one_counts_whichever_way_is_stronger():
    verdicts = (
        ModelVerdict("delta-presence:low=0,high=1", True, {"low": 0.2, "high": 0.4}, 0, 0, False, ("low",)),
        ModelVerdict(
            "delta-presence:low=0,high=1,absent=false", True, {"low": 0.3, "high": 0.5}, 0, 0, False, ("low",)
        ),
    )
    assert Certificate("1", verdicts, 9, 3, 2).achieved == {"k": 2, "low": 0.2, "high": 0.5}


def test_shares_of_people_are_not_monotone_but_release_wide_models_are():
    for model in (ind.BasicBetaLikeness("s", 1), ind.DeltaPresence(0, 1), ind.EnhancedBetaLikeness("s", 1)):
        assert model.traits.monotone
        assert not OfPeople(model).traits.monotone
    for model in (ind.AverageRisk(0.5), ind.SampleUniqueness(0.1)):
        assert OfPeople(model).traits.monotone
        assert not OfPeople(model).traits.absorbing
    assert OfPeople(ind.KMap(3)).traits.absorbing
