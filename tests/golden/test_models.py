"""Worked examples for the models, from the papers that define them."""

import math

import pytest

from indistinct.models import (
    AlphaK,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    RecursiveLDiversity,
    TCloseness,
    XYAnonymity,
)
from references.classes import classes_of

# The salaries of Li et al. 2007, in thousands.
SALARIES = list(range(3, 12))

# The classes of a table in which HIV is frequent: two values each, yet far from uniform.
SKEWED = [["Hepatitis", "Hepatitis", "HIV"], ["Flu", "HIV", "HIV", "HIV"]]


@pytest.mark.parametrize(("group", "distance"), [([3, 4, 5], 0.375), ([6, 8, 11], 1 / 6)])
def test_ordered_distance_of_the_salary_example(group, distance):
    classes = classes_of([group], ("salary",), original=SALARIES)
    assert TCloseness("salary", t=0.5, distance="ordered").achieved(classes)["t"] == pytest.approx(distance, abs=1e-15)
    assert not TCloseness("salary", t=distance, distance="ordered").violations(classes).any()
    assert TCloseness("salary", t=distance - 1e-6, distance="ordered").violations(classes).all()


def test_entropy_diversity_of_the_skewed_table():
    model = EntropyLDiversity("s", l=1.8)
    assert model.achieved(classes_of(SKEWED[:1]))["l"] == pytest.approx(1.8899, abs=5e-5)
    assert model.achieved(classes_of(SKEWED[1:]))["l"] == pytest.approx(1.7548, abs=5e-5)
    assert model.violations(classes_of(SKEWED)).tolist() == [False, True]
    assert not EntropyLDiversity("s", l=1.7547).violations(classes_of(SKEWED)).any()
    assert not DistinctLDiversity("s", l=2).violations(classes_of(SKEWED)).any()


def test_alpha_and_recursive_diversity_of_the_skewed_table():
    classes = classes_of(SKEWED)
    assert AlphaK("s", alpha=0.5, k=3, protected="HIV").violations(classes).tolist() == [False, True]
    assert AlphaK("s", alpha=0.5, k=3, protected="HIV").achieved(classes) == {"alpha": 0.75, "k": 3}
    assert RecursiveLDiversity("s", c=3, l=2).violations(classes).tolist() == [False, True]


def test_recursive_diversity_of_a_hand_computed_class():
    # 5, 3, 1, 1: with l = 2 the tail is 5, with l = 3 it is 2, with l = 4 it is 1.
    classes = classes_of([list("aaaaabbbcd")])
    ratios = [RecursiveLDiversity("s", c=1, l=rank).achieved(classes)["c"] for rank in (1, 2, 3, 4, 5)]
    assert ratios == [0.5, 1.0, 2.5, 5.0, math.inf]


def test_hierarchical_distance_of_a_hand_computed_tree():
    # Two groups of two leaves; the class holds one leaf. Inside its group 1/4 moves up one of two levels, and
    # 1/2 moves between the groups over the root: 1/2 * 1/4 + 1 * 1/2.
    paths = {"a": ("AB", "*"), "b": ("AB", "*"), "c": ("CD", "*"), "d": ("CD", "*")}
    classes = classes_of([["a"]], original=list("abcd"), paths=paths)
    assert TCloseness("s", t=1, distance="hierarchical").achieved(classes) == {"t": 0.625}
    assert TCloseness("s", t=1).achieved(classes) == {"t": 0.75}


ROWS = [["flu", "flu", "cold"], ["flu", "HIV", "cold", "cold"], ["flu"]]


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_xy_anonymity_with_a_row_key_is_k_anonymity(k):
    numbers = iter(range(100))
    keyed = classes_of([[next(numbers) for _ in group] for group in ROWS], ("row",))
    xy, plain = XYAnonymity("row", k), KAnonymity(k)
    assert xy.violations(keyed).tolist() == plain.violations(keyed).tolist()
    assert xy.achieved(keyed) == plain.achieved(keyed)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_xy_anonymity_with_the_sensitive_column_is_distinct_diversity(k):
    classes = classes_of(ROWS)
    xy, distinct = XYAnonymity("s", k), DistinctLDiversity("s", k)
    assert xy.violations(classes).tolist() == distinct.violations(classes).tolist()
    assert xy.achieved(classes)["k"] == distinct.achieved(classes)["l"]


def test_xy_anonymity_with_a_person_counts_people_not_rows():
    visits = classes_of([["ann", "ann", "ann"], ["bob", "cyd", "cyd"]], ("person",))
    assert KAnonymity(3).violations(visits).tolist() == [False, False]
    assert XYAnonymity("person", 2).violations(visits).tolist() == [True, False]


def test_xy_anonymity_counts_vectors_of_several_columns():
    pairs = classes_of([[("ann", 1), ("ann", 2)], [("ann", 1), ("ann", 1)]], ("person", "year"))
    assert XYAnonymity(("person", "year"), 2).violations(pairs).tolist() == [False, True]


# The class sizes that stand for k people of the population, one by one from the distribution function: Σ e^-m m^i / i!
# with m = k times the sampling fraction, without i = 0 and over 1 - e^-m where the number is known not to be 0.
@pytest.mark.parametrize(
    ("k", "fraction", "significance", "poisson", "truncated"),
    [
        (3, 0.1, 0.05, 2, 3),  # m = 0.3: P(0) = .7408, P(1) = .2222, P(2) = .0333; truncated .8575, .9861
        (5, 0.1, 0.05, 3, 3),  # m = 0.5: .6065, .9098, .9856; truncated .7707, .9634
        (10, 0.1, 0.05, 4, 4),  # m = 1: .3679, .7358, .9197, .9810; truncated .5820, .8730, .9700
        (20, 0.1, 0.05, 6, 6),  # m = 2: ... .9473, .9834; truncated ... .9391, .9808
        (5, 0.5, 0.01, 5, 5),  # m = 2.5: the count would be 7, and five rows are five people anyhow
        (5, 0.01, 0.05, 1, 2),  # m = 0.05: .9512; truncated .9752
    ],
)
def test_estimated_k_map_of_el_emam_and_dankar(k, fraction, significance, poisson, truncated):
    size = 100_000
    sample = int(size * fraction)
    assert KMap(k, significance, size, "poisson").threshold(sample) == poisson
    assert KMap(k, significance, size).threshold(sample) == truncated
