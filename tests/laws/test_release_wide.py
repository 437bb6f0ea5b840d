"""Laws of models that judge all classes together, and of what searches drop for them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.frequencies.value import Classes
from indistinct.models import AverageRisk, DistinctLDiversity, KAnonymity, PopulationUniqueness, SampleUniqueness
from indistinct.models.dropping import classes_to_drop
from references.classes import classes_of

sizes = st.lists(st.integers(1, 6), min_size=1, max_size=8)
shares = st.sampled_from(["1/2", "1/3", "1/4", 0.1, 0.3, 1])
models = st.one_of(
    st.builds(AverageRisk, shares),
    st.builds(SampleUniqueness, st.sampled_from([0, 0.1, "1/5", "1/2"])),
    st.builds(lambda share, k: AverageRisk(share) & KAnonymity(k), shares, st.integers(1, 3)),
    st.builds(lambda share, other: AverageRisk(share) & SampleUniqueness(other), shares, st.sampled_from([0, 0.2])),
)


def of(numbers):
    return Classes(np.array(numbers, dtype=np.int64))


@settings(deadline=None, max_examples=60)
@given(models, sizes)
def test_no_choice_of_classes_drops_fewer_rows(model, numbers):
    """Every set of classes is tried; the one that goes smallest first loses no more rows than the best of them."""
    classes = of(numbers)
    gone = classes_to_drop(model, classes)
    assert not model.violations(classes.take(np.flatnonzero(~gone))).any()
    fewest = min(
        sum(numbers) - sum(numbers[place] for place in kept)
        for count in range(len(numbers) + 1)
        for kept in combinations(range(len(numbers)), count)
        if not model.violations(of([numbers[place] for place in kept])).any()
    )
    assert int(classes.sizes[gone].sum()) == fewest


@settings(deadline=None, max_examples=60)
@given(models, sizes, st.data())
def test_merging_keeps_the_promise_and_drops_no_more_rows(model, numbers, data):
    classes = of(numbers)
    ids = data.draw(st.lists(st.integers(0, 3), min_size=len(numbers), max_size=len(numbers)))
    merged = classes.regroup(np.array(ids, dtype=np.int32), 4)
    coarser = merged.take(np.flatnonzero(merged.sizes))
    assert model.violations(classes).any() or not model.violations(coarser).any()
    before, after = (int(each.sizes[classes_to_drop(model, each)].sum()) for each in (classes, coarser))
    assert after <= before


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), min_size=1, max_size=7), shares)
def test_classes_that_break_another_model_go_first(groups, share):
    model = AverageRisk(share) & DistinctLDiversity("s", 2)
    classes = classes_of(groups)
    gone = classes_to_drop(model, classes)
    assert gone[DistinctLDiversity("s", 2).violations(classes)].all()
    assert not model.violations(classes.take(np.flatnonzero(~gone))).any()


def test_dropping_a_large_class_breaks_the_average_risk():
    """Average risk is not stable, and is declared so."""
    classes, model = of([1, 1, 8]), AverageRisk("1/3")
    assert not model.traits.stable
    assert not model.violations(classes).any()
    assert model.violations(classes.take(np.array([0, 1]))).all()


@pytest.mark.parametrize("estimator", ["zayatz", "pitman", "snb"])
def test_merging_may_raise_an_estimate_of_population_uniques(estimator):
    """The estimators waver, so that nothing is declared of population uniqueness."""
    model, dice = PopulationUniqueness(0.5, 2000, estimator), np.random.default_rng(5)
    assert not model.traits.monotone
    assert not model.traits.absorbing
    rises = 0
    for _ in range(4):
        classes = of(np.minimum(dice.geometric(0.45, 60), 9))
        # Two large classes become one: uniques stay, and the sample looks less even.
        large = np.argsort(classes.sizes)[-12:]
        ids = np.arange(60, dtype=np.int32)
        ids[large] = large[0]
        united = classes.regroup(ids, 60)
        united = united.take(np.flatnonzero(united.sizes))
        rises += model.achieved(united)["share"] > model.achieved(classes)["share"] + 1e-12
    assert rises > 0


def test_without_sample_uniques_nobody_is_unique_in_the_population():
    assert PopulationUniqueness(0, 1000).achieved(of([2, 3, 4])) == {"share": 0.0}
    assert not PopulationUniqueness(0, 1000).violations(of([2, 3, 4])).any()
