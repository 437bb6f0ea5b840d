"""Laws of a population beside cells: what is counted, merging and dropping, and both ways to find people again."""

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.engines import open_source
from indistinct.frequencies.count import Request
from indistinct.frequencies.population import with_population
from indistinct.frequencies.value import POPULATION, Classes, Histogram
from indistinct.models import DeltaPresence, KMap
from indistinct.models.dropping import classes_to_drop
from indistinct.release.verification.population import Population, count_people, population_by_class

people = st.lists(st.tuples(st.integers(20, 27), st.sampled_from("xyz")), min_size=1, max_size=24)
bounds = st.sampled_from([(0, 0.5), (0.1, 0.5), (0.2, 1), ("1/3", "2/3"), (0, 1)])
presences = st.builds(lambda ends, absent: DeltaPresence(*ends, absent), bounds, st.booleans())
pairs = st.lists(
    st.integers(0, 9).flatmap(lambda more: st.integers(0, 5).map(lambda f: (f, f + more))), min_size=1, max_size=7
)


def beside(counts):
    """Return classes with so many rows, and so many people of the population."""
    rows, others = (np.array(part, dtype=np.int64) for part in zip(*counts, strict=True))
    present = others > 0
    histogram = Histogram(
        np.concatenate([[0], np.cumsum(present)]).astype(np.int64),
        np.zeros(present.sum(), dtype=np.int32),
        others[present],
        np.array([others.sum()]),
    )
    return Classes(rows, {(POPULATION,): histogram})


@settings(deadline=None, max_examples=40)
@given(people, people)
def test_cells_know_the_people_who_share_their_values(rows, others):
    table, register = (
        pa.table({"age": [a for a, _ in part], "sex": [s for _, s in part]}) for part in (rows, rows + others)
    )
    engine, source = open_source(table)
    counted = engine.count(source, Request(("age", "sex"), population=engine.open(register, source.reading)))
    known = [[None, *d.values.to_pylist()][1 - d.missing :] for d in counted.domains]
    f, everybody = Counter(rows), Counter(rows + others)
    for absent in (False, True):
        cells = with_population(counted.frequencies, counted.population, absent=absent)
        vectors = [tuple(values[code] for values, code in zip(known, v, strict=True)) for v in cells.vectors.tolist()]
        assert sorted(vectors) == sorted(everybody if absent else f)
        assert cells.counts.tolist() == [f[vector] for vector in vectors]
        assert cells.classes.population.tolist() == [everybody[vector] for vector in vectors]
        whole = cells.classes.regroup(np.zeros(len(cells), dtype=np.int32), 1)
        assert whole.population.tolist() == [sum(everybody[vector] for vector in vectors)]


@settings(deadline=None, max_examples=150)
@given(st.one_of(presences, st.builds(KMap, st.integers(1, 9))), pairs, st.data())
def test_declared_traits_hold_when_classes_merge_and_go(model, counts, data):
    classes, traits = beside(counts), model.traits
    ids = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(counts), max_size=len(counts))), dtype=np.int32)
    merged, broken = classes.regroup(ids, 3), model.violations(classes)
    if traits.monotone and not broken.any():
        assert not model.violations(merged).any()
    if traits.absorbing:
        for place in np.flatnonzero(~broken & (classes.sizes > 0)):
            assert not model.violations(merged)[ids[place]]
    gone = classes_to_drop(model, classes)
    if not traits.suppressible:
        assert gone.all() == broken.any()
    if traits.stable:
        kept = np.flatnonzero(~gone)
        assert not model.violations(classes.take(kept)).any()


def test_people_who_are_not_judged_may_join_a_class():
    """Without the absent, delta-presence with a lower bound is not monotone: the counterexample."""
    model, classes = DeltaPresence(0.5, 1, absent=False), beside([(1, 2), (0, 8)])
    assert not model.traits.monotone
    assert not model.violations(classes).any()
    assert model.violations(classes.regroup(np.zeros(2, dtype=np.int32), 1)).all()
    judging = DeltaPresence(0.5, 1)
    assert judging.traits.monotone
    assert judging.violations(classes).tolist() == [False, True]


@settings(deadline=None, max_examples=15)
@given(people, people, st.sampled_from(["optimal", "mondrian", "datafly"]))
def test_labels_and_recoding_find_the_same_people(rows, others, algorithm):
    """Full-domain labels and regions do not overlap; what nothing covers is outside either way."""
    sample, everybody = (
        pa.table({"age": [a for a, _ in part], "sex": [s for _, s in part]}) for part in (rows, rows + others)
    )
    schema = ind.Schema(quasi=["age", "sex"])
    trees = {"age": ind.Hierarchy.intervals([2, 4]), "sex": ind.Hierarchy.suppression()}
    try:
        release = ind.anonymize(
            sample, schema, model=KMap(3), algorithm=algorithm, hierarchies=trees, population=everybody
        )
    except ind.InfeasibleError:
        assume(False)
    engine, source = open_source(everybody)
    shown = open_source(release.table)[1]
    counted = engine.count(shown, Request(release.schema.quasi, published=True))
    by_recoding = population_by_class(count_people(Population(engine, source, schema, release.recoding)), counted)
    by_label = population_by_class(count_people(Population(engine, source, schema, hierarchies=trees)), counted)
    assert by_recoding.counts.tolist() == by_label.counts.tolist()
    assert by_recoding.outside == by_label.outside
    assert by_recoding.counts.sum() + by_recoding.outside == by_recoding.size == len(rows + others)
    assert by_recoding.counts.min() >= 3
