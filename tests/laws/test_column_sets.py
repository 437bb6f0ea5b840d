"""Laws of models that group classes by a few columns: brute force over kept rows, monotone over global recodings."""

from collections import Counter
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.frequencies.value import PERSON, Classes, ClassLabels, Histogram
from indistinct.models import AverageRisk, KAnonymity, SubsetAnonymity
from indistinct.models.dropping import classes_to_drop
from indistinct.models.of_people import in_people
from indistinct.models.subset_groups import SubsetGroups

tables = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=8)
models = st.builds(SubsetAnonymity, st.integers(1, 3), st.integers(1, 3))


def classes_of(rows, people=None):
    vectors, ids = np.unique(np.array(rows), axis=0, return_inverse=True)
    ids, histograms = ids.reshape(-1), {}
    if people is not None:
        pairs, counts = np.unique(np.stack([ids, people]), axis=1, return_counts=True)
        starts = np.cumsum([0, *np.bincount(pairs[0], minlength=len(vectors))])
        histograms[(PERSON,)] = Histogram(starts, pairs[1].astype(np.int32), counts, np.bincount(people))
    return Classes(np.bincount(ids).astype(np.int64), histograms, ClassLabels(("a", "b", "c"), vectors))


def keeps_by_hand(model, rows, people=None):
    whom = range(len(rows)) if people is None else people
    for columns in combinations(range(3), model.size):
        pairs = {(tuple(row[j] for j in columns), person) for row, person in zip(rows, whom, strict=True)}
        if min(Counter(group for group, _ in pairs).values(), default=model.k) < model.k:
            return False
    return True


@settings(deadline=None, max_examples=60)
@given(models, tables)
def test_the_largest_set_of_rows_that_keeps_the_promise_is_kept(model, rows):
    classes = classes_of(rows)
    gone = classes_to_drop(model, classes)
    shown = [tuple(vector) for vector in classes.labels.codes.tolist()]
    most = max(
        sum(rows.count(shown[place]) for place in kept)
        for count in range(len(shown) + 1)
        for kept in combinations(range(len(shown)), count)
        if keeps_by_hand(model, [row for row in rows if row in {shown[place] for place in kept}])
    )
    assert len(rows) - int(classes.sizes[gone].sum()) == most
    assert (not model.violations(classes).any()) == keeps_by_hand(model, rows)


@settings(deadline=None, max_examples=60)
@given(
    models,
    tables,
    st.sampled_from([None, KAnonymity(2), AverageRisk("1/2"), AverageRisk("1/2") & KAnonymity(2)]),
    st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2)),
)
def test_generalizing_all_values_of_a_column_keeps_the_promise_and_drops_no_more_rows(model, rows, other, merged):
    both = model if other is None else model & other
    finer, coarser = classes_of(rows), classes_of([tuple(np.array(row) // merged) for row in rows])
    if not both.violations(finer).any():
        assert not both.violations(coarser).any()
    before, after = classes_to_drop(both, finer), classes_to_drop(both, coarser)
    assert not both.violations(finer.take(np.flatnonzero(~before))).any()
    if both.traits.absorbing:
        assert int(coarser.sizes[after].sum()) <= int(finer.sizes[before].sum())
    else:
        assert not all(part.traits.class_wise or part.needs_labels for part in both.parts())


@settings(deadline=None, max_examples=60)
@given(models, tables, st.data())
def test_people_are_counted_in_every_group(model, rows, data):
    people = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))))
    classes, judge = classes_of(rows, people), in_people(model, ["person"])
    assert (not judge.violations(classes).any()) == keeps_by_hand(model, rows, people)
    gone = classes_to_drop(judge, classes)
    shown = [tuple(vector) for vector in classes.labels.codes.tolist()]
    kept = {shown[place] for place in np.flatnonzero(~gone)}
    several = (some for count in range(len(shown) + 1) for some in combinations(shown, count))
    largest = max((some for some in several if keeps_by_hand(model, *rows_in(some, rows, people))), key=len)
    assert kept == set(largest)

    order = np.array(data.draw(st.permutations(range(len(shown)))))
    assert (classes_to_drop(judge, classes.take(order)) == gone[order]).all()


def rows_in(shown, rows, people):
    inside = [(row, person) for row, person in zip(rows, people, strict=True) if row in shown]
    return [row for row, _ in inside], [person for _, person in inside]


@settings(deadline=None, max_examples=60)
@given(models, tables, st.data())
def test_witnesses_have_enough_people_or_are_all(model, rows, data):
    """Whoever joins a group finds k people in it among the witnesses exactly if there are so many."""
    whom = data.draw(st.none() | st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    classes = classes_of(rows, None if whom is None else np.array(whom))
    asking = np.array(data.draw(st.lists(st.booleans(), min_size=len(classes), max_size=len(classes))))
    chosen = SubsetGroups(classes, model.column_sets("abc")).witnesses(model.k, asking)
    assert not (chosen & asking).any()
    shown = classes.labels.codes.tolist()
    for columns in combinations(range(3), model.size):
        groups = [tuple(vector[j] for j in columns) for vector in shown]
        for group in {group for group, asks in zip(groups, asking, strict=True) if asks}:
            others = [i for i, each in enumerate(groups) if each == group and not asking[i]]
            whose = [
                number if whom is None else whom[number]
                for number, row in enumerate(rows)
                if list(row) in [shown[i] for i in others if chosen[i]]
            ]
            assert len(set(whose)) >= model.k or all(chosen[i] for i in others)


@settings(deadline=None, max_examples=40)
@given(tables, st.integers(1, 3), st.integers(1, 3))
def test_k_anonymity_implies_it(rows, k, size):
    classes = classes_of(rows)
    kept = classes.take(np.flatnonzero(~KAnonymity(k).violations(classes)))
    assert not SubsetAnonymity(k, size).violations(kept).any()
    assert not len(kept) or SubsetAnonymity(k, 3).achieved(kept) == KAnonymity(k).achieved(kept)
