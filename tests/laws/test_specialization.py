"""Laws of subtree cuts and of suppressed values and cells, judged row by row with the slow reference."""

from dataclasses import replace
from itertools import combinations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from indistinct.algorithms.base import Problem
from indistinct.algorithms.full_domain.cell_suppression import CellSuppression
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.algorithms.full_domain.optimal import Optimal
from indistinct.algorithms.full_domain.tds import Specialization, TopDownSpecialization
from indistinct.algorithms.full_domain.value_suppression import ValueSuppression
from indistinct.errors import InfeasibleError
from indistinct.frequencies.count import Request
from indistinct.metrics import Loss, igpl, information_gain
from indistinct.models import DistinctLDiversity, KAnonymity
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import columns_of
from indistinct.testing.reference import violating_classes
from indistinct.testing.strategies import models, samples
from references.publishing import counted_with_rows

SPECIALIZATIONS = st.one_of(
    st.builds(
        TopDownSpecialization,
        st.sampled_from([None, "disease"]),
        st.sampled_from(["igpl", "igpl-original", "ig"]),
        st.booleans(),
    ),
    st.builds(TopDownSpecialization, st.none(), st.just("distortion"), st.booleans()),
)
ABSORBING = st.one_of(
    st.builds(KAnonymity, st.integers(1, 4)), st.builds(DistinctLDiversity, st.just("disease"), st.integers(1, 3))
)
SHARES = st.sampled_from([0.0, 0.1, 0.3, 0.6])
SETTINGS = settings(max_examples=60, deadline=None)


def problem_of(sample, model, *, keys=(), share=0.0):
    request = Request(sample.schema.quasi, tuple(dict.fromkeys([*model.keys, *keys])), sample.hierarchies)
    counted = counted_with_rows(sample.table, request)
    columns = columns_of(counted.domains, sample.hierarchies)
    budget = int(share * sample.table.num_rows)
    return counted, Problem(counted.frequencies, columns, model, suppression=budget)


def searched(algorithm, problem):
    try:
        return algorithm.find(problem)
    except InfeasibleError:
        assume(False)


def row_codes(counted):
    """Return the codes of every row of the table, in the table's order."""
    codes = np.empty((len(counted.grouping.order), counted.frequencies.vectors.shape[1]), dtype=np.int64)
    codes[counted.grouping.order] = np.repeat(counted.frequencies.vectors, counted.grouping.counts, axis=0)
    return codes


def levels_of(recoding):
    """Return the level of each value of each column."""
    return [
        column.summary.published.levels[group] for column, group in zip(recoding.columns, recoding.groups, strict=True)
    ]


def breaks(sample, counted, space, *, levels, model):
    """Return which rows stand in a class that breaks the model, under a cut."""
    shown = []
    for row, codes in zip(sample.table.to_pylist(), row_codes(counted).tolist(), strict=True):
        nodes = [
            f"{levels[j][code]}:{space.taxonomies[j].ancestors[code, levels[j][code]]}" for j, code in enumerate(codes)
        ]
        shown.append({**row, **dict(zip(sample.schema.quasi, nodes, strict=True))})
    broken = set(violating_classes(shown, sample.schema.quasi, model=model))
    return [tuple(row[name] for name in sample.schema.quasi) in broken for row in shown]


def specializations(space, levels, *, siblings):
    """Yield every cut one step finer."""
    for j, taxonomy in enumerate(space.taxonomies):
        nodes = {(int(level), int(taxonomy.ancestors[code, level])) for code, level in enumerate(levels[j]) if level}
        for level, node in sorted(nodes):
            carrying = (levels[j] == level) & (taxonomy.ancestors[:, level] == node)
            children = set(taxonomy.ancestors[carrying, level - 1].tolist())
            for chosen in [{child} for child in sorted(children)] if siblings else [children]:
                moving = carrying & np.isin(taxonomy.ancestors[:, level - 1], sorted(chosen))
                yield [np.where(moving, level - 1, old) if place == j else old for place, old in enumerate(levels)]


@SETTINGS
@given(samples(most_rows=16), models(), SPECIALIZATIONS)
def test_specialization_satisfies_the_model_and_cannot_go_on(sample, model, algorithm):
    counted, problem = problem_of(sample, model, keys=algorithm.keys)
    recoding = searched(algorithm, problem)
    space, levels = FullDomain(problem), levels_of(recoding)
    assert not len(recoding.suppressed)
    assert not any(breaks(sample, counted, space, levels=levels, model=model))
    for finer in specializations(space, levels, siblings=algorithm.siblings):
        assert any(breaks(sample, counted, space, levels=finer, model=model)), "a valid specialization was left out"


@SETTINGS
@given(samples(most_rows=16), SPECIALIZATIONS)
def test_published_values_are_ancestors(sample, algorithm):
    _, problem = problem_of(sample, KAnonymity(2), keys=algorithm.keys)
    recoding = searched(algorithm, problem)
    for taxonomy, column, group in zip(FullDomain(problem).taxonomies, recoding.columns, recoding.groups, strict=True):
        published = column.summary.published
        texts = published.outputs[0][1].cast("string").to_pylist()
        for code, shown in enumerate(group.tolist()):
            level = published.levels[shown]
            assert texts[shown] == taxonomy.labels[level][taxonomy.ancestors[code, level]]


@SETTINGS
@given(samples(most_rows=16), SPECIALIZATIONS)
def test_scores_are_those_of_the_definition_at_every_step(sample, algorithm):
    algorithm = replace(algorithm, target="disease", score="igpl")
    counted, problem = problem_of(sample, KAnonymity(2), keys=algorithm.keys)
    assume(problem.frequencies.rows >= 2)
    space = FullDomain(problem)
    search = Specialization(space, algorithm)
    labels = sample.table["disease"].to_pylist()
    codes = row_codes(counted)
    while search.candidates:
        for candidate, score in zip(search.candidates, search.scores(), strict=True):
            expected = _igpl(space, search, candidate, codes=codes, labels=labels)
            assert abs(score - expected) < 1e-9
        candidate = search.candidates.pop(0)
        search._specialize(candidate)


@settings(max_examples=30, deadline=None)
@given(samples(most_rows=12), st.booleans())
def test_the_decrease_of_distortion_is_that_of_whole_releases(sample, siblings):
    algorithm = TopDownSpecialization(score="distortion", siblings=siblings)
    counted, problem = problem_of(sample, KAnonymity(2))
    assume(problem.frequencies.rows >= 2)
    space = FullDomain(problem)
    search, codes = Specialization(space, algorithm), row_codes(counted)

    def distortion(levels):
        """Sum, over rows and columns, the share of the way from the raw value to the root."""
        heights = [taxonomy.ancestors.shape[1] - 1 for taxonomy in space.taxonomies]
        return sum(levels[j][code] / heights[j] for row in codes for j, code in enumerate(row) if heights[j])

    def smallest(levels):
        vectors = [
            tuple((int(levels[j][c]), int(space.taxonomies[j].ancestors[c, levels[j][c]])) for j, c in enumerate(row))
            for row in codes
        ]
        return min(map(vectors.count, vectors))

    while search.candidates:
        before = [own.copy() for own in search.levels]
        for candidate, score in zip(search.candidates, search.scores(), strict=True):
            after = [own.copy() for own in before]
            after[candidate.column][search._moving(candidate)] -= 1
            expected = igpl(distortion(before) - distortion(after), smallest(before) - smallest(after))
            assert abs(score - expected) < 1e-9
        search._specialize(search.candidates.pop(0))


def _igpl(space, search, candidate, *, codes, labels):
    """Return the score of a candidate from the rows, by the definition."""
    column, ancestors = candidate.column, space.taxonomies[candidate.column].ancestors
    before = [
        tuple(
            (int(search.levels[j][code]), int(space.taxonomies[j].ancestors[code, search.levels[j][code]]))
            for j, code in enumerate(row)
        )
        for row in codes
    ]
    after, parts = [], {}
    for place, (row, vector) in enumerate(zip(codes, before, strict=True)):
        finer = vector
        if vector[column] == (candidate.level, candidate.node):
            child = int(ancestors[row[column], candidate.level - 1])
            moves = candidate.child is None or child == candidate.child
            part = (candidate.level - 1, child) if moves else vector[column]
            parts.setdefault(part, []).append(labels[place])
            finer = (*vector[:column], part, *vector[column + 1 :])
        after.append(finer)
    known = sorted(set(labels), key=str)
    gain = information_gain([[part.count(label) for label in known] for part in parts.values()])
    return igpl(gain, min(map(before.count, before)) - min(map(after.count, after)))


@SETTINGS
@given(samples(most_rows=16), models(), SHARES)
def test_values_are_published_raw_or_as_the_root(sample, model, share):
    counted, problem = problem_of(sample, model, share=share)
    recoding = searched(ValueSuppression(), problem)
    space, levels = FullDomain(problem), levels_of(recoding)
    assert all(set(own.tolist()) <= {0, top} for own, top in zip(levels, space.lattice.heights, strict=True))
    outside = breaks(sample, counted, space, levels=levels, model=model)
    assignment = assign(counted.frequencies, recoding)
    assert sum(outside) == assignment.suppressed <= problem.suppression
    assert assignment.classes.rows
    if share and not model.traits.absorbing:
        return
    for j, top in enumerate(space.lattice.heights):
        for code in np.flatnonzero(levels[j]) if top else ():
            restored = [own.copy() for own in levels]
            restored[j][code] = 0
            more = sum(breaks(sample, counted, space, levels=restored, model=model))
            assert more > min(problem.suppression, problem.frequencies.rows - 1), "a value was suppressed in vain"


@SETTINGS
@given(samples(most_rows=18), models(), SHARES)
def test_starred_cells_save_rows_and_lose_no_more(sample, model, share):
    counted, problem = problem_of(sample, model, share=share)
    plain = assign(counted.frequencies, searched(Optimal(), problem))
    starred = assign(counted.frequencies, searched(CellSuppression(), problem))
    assert starred.suppressed <= plain.suppressed <= problem.suppression
    assert Loss().value(starred) <= Loss().value(plain) + 1e-12
    rows = _published(sample, counted, starred)
    assert violating_classes(rows, sample.schema.quasi, model=model, original=sample.table.to_pylist()) == []


def _published(sample, counted, assignment):
    """Return the published rows, with the columns that a model looks at as they are."""
    texts = [column.outputs[0][1].cast("string").to_pylist() for column in assignment.columns]
    labels = np.empty(sample.table.num_rows, dtype=np.int64)
    labels[counted.grouping.order] = np.repeat(assignment.class_ids, counted.grouping.counts)
    return [
        {**row, **{name: texts[j][assignment.values[label, j]] for j, name in enumerate(sample.schema.quasi)}}
        for row, label in zip(sample.table.to_pylist(), labels.tolist(), strict=True)
        if label >= 0
    ]


@SETTINGS
@given(samples(most_rows=18), ABSORBING, SHARES)
def test_what_is_dropped_could_not_be_placed_and_what_is_shown_is_the_node(sample, model, share):
    counted, problem = problem_of(sample, model, share=share)
    plain = searched(Optimal(), problem)
    assignment = assign(counted.frequencies, searched(CellSuppression(), problem))
    space = FullDomain(problem)
    nodes = np.stack([group[counted.frequencies.vectors[:, j]] for j, group in enumerate(plain.groups)], axis=1)
    for cell, label in enumerate(assignment.class_ids.tolist()):
        for j, column in enumerate(assignment.columns if label >= 0 else ()):
            shown, level = assignment.values[label, j], plain.levels[column.column]
            own = space.taxonomies[j].labels[level][nodes[cell, j]]
            text = column.outputs[0][1][int(shown)].cast("string").as_py()
            assert text == own or column.levels[shown] == space.lattice.heights[j]
    dropped = np.flatnonzero(assignment.class_ids < 0)
    for stars in range(len(plain.groups) + 1):
        for kept in combinations(range(len(plain.groups)), len(plain.groups) - stars):
            if len(dropped):
                _, labels = np.unique(nodes[np.ix_(dropped, kept)], axis=0, return_inverse=True)
                together = counted.frequencies.classes.take(dropped).regroup(labels.reshape(-1), labels.max() + 1)
                assert model.violations(together).all(), "rows were dropped that stars would have saved"
