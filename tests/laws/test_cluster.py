"""Laws of local recoding on random tables: classes hold, rows stay, values only become ancestors, limits are exact."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.algorithms.base import Problem
from indistinct.algorithms.cluster.kaca import KACA
from indistinct.algorithms.cluster.merge_nearest import forest_of, merge_by_size
from indistinct.algorithms.cluster.top_down import TopDown
from indistinct.algorithms.cluster.top_down_kaca import TopDownKACA
from indistinct.algorithms.cluster.top_down_parts import specialize_by_size
from indistinct.algorithms.cluster.tree_space import ClusterSpace, Tree, recoding_of
from indistinct.frequencies.pieces import Pieces
from indistinct.metrics import Distortion
from indistinct.recoding.assign import assign
from references.kaca import random_problem

seeds = st.integers(0, 100_000)
ALGORITHMS = [KACA(), KACA(stub=False), KACA(scheme="height", beta=2.0), TopDown(), TopDown(True), TopDownKACA(part=8)]
MODELS = [
    "k-anonymity:k=4",
    "alpha-k:sensitive=s,alpha=0.7,k=3",
    "distinct-l-diversity:sensitive=s,l=2",
    "entropy-l-diversity:sensitive=s,l=1.5",
    "t-closeness:sensitive=s,t=0.4 & k-anonymity:k=2",
]


def feasible(seed, model):
    """Return a problem that one class for all satisfies."""
    for attempt in range(seed, seed + 100):
        problem = random_problem(attempt, k=8, model=model)
        if not problem.model.violations(problem.whole()).any():
            return problem
    raise AssertionError("no table satisfies the model")


def published(problem, algorithm):
    return assign(problem.frequencies, algorithm.find(problem))


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from(ALGORITHMS), st.sampled_from(MODELS))
def test_every_class_holds_and_no_row_is_lost(seed, algorithm, model):
    problem = feasible(seed, model)
    assignment = published(problem, algorithm)
    assert not problem.model.violations(assignment.classes).any()
    assert assignment.suppressed == 0
    rows = np.bincount(assignment.cells, weights=assignment.counts, minlength=len(problem.frequencies))
    assert np.array_equal(rows, problem.frequencies.counts)


@settings(max_examples=30, deadline=None)
@given(seeds, st.sampled_from(ALGORITHMS))
def test_published_values_are_the_closest_common_ancestors(seed, algorithm):
    problem = random_problem(seed, k=3)
    assignment, space = published(problem, algorithm), ClusterSpace(problem)
    vectors = problem.frequencies.vectors
    for label in range(len(assignment.classes)):
        members = vectors[assignment.cells[assignment.class_ids == label]]
        for place, taxonomy in enumerate(space.taxonomies):
            level = assignment.columns[place].levels[assignment.values[label, place]]
            paths = taxonomy.ancestors[members[:, place]]
            assert len(np.unique(paths[:, level])) == 1
            assert level == 0 or len(np.unique(paths[:, level - 1])) > 1


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 6), st.booleans())
def test_nothing_is_lost_only_where_nothing_was_needed(seed, k, stub):
    problem = random_problem(seed, k=k)
    distortion = Distortion().value(published(problem, KACA(stub=stub)))
    assert (distortion == 0) == bool((problem.frequencies.counts >= k).all())


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(2, 6))
def test_donors_keep_k_rows(seed, k):
    """Every class that merging leaves behind has k rows before classes that look alike are united, trunks included."""
    space = ClusterSpace(random_problem(seed, k=k))
    forest, counts = forest_of(space), space.problem.frequencies.counts
    nodes = space.cells + forest.offsets
    found, _ = merge_by_size(forest, np.arange(len(counts)), counts, nodes=nodes, k=k, stub=True)
    assert np.bincount(found.class_ids, weights=found.counts).min() >= k
    kept = np.bincount(found.cells, weights=found.counts, minlength=len(counts))
    assert np.array_equal(kept, counts)


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 5), st.booleans())
def test_one_part_for_all_is_kaca(seed, k, stub):
    problem = random_problem(seed, k=k)
    whole = TopDownKACA(part=problem.frequencies.rows + 5, stub=stub)
    assert (
        published(problem, whole).classes.sizes.tolist() == published(problem, KACA(stub=stub)).classes.sizes.tolist()
    )


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 4), st.integers(0, 12))
def test_merging_inside_parts_never_loses_more_than_the_parts(seed, k, more):
    """Classes inside a part are generalized at most to the part's own tuple."""
    problem = random_problem(seed, k=k + more)
    smaller = Problem(problem.frequencies, problem.columns, random_problem(seed, k=k).model)
    inside = Distortion().value(published(smaller, TopDownKACA(part=k + more)))
    assert inside <= Distortion().value(published(problem, TopDown())) + 1e-9


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 5))
def test_parts_have_their_size(seed, k):
    space = ClusterSpace(random_problem(seed, k=k))
    parts = specialize_by_size(space, k=k)
    assert np.add.reduceat(parts.pieces.counts, parts.starts[:-1]).min() >= k


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from(["uniform", "height"]))
def test_integer_distances_are_the_distortion(seed, scheme):
    space = ClusterSpace(random_problem(seed), scheme=scheme)
    frequencies = space.problem.frequencies
    labels = np.random.default_rng(seed).integers(0, 4, len(frequencies))
    pieces = Pieces(np.arange(len(labels)), None, frequencies.counts, labels)
    assignment = assign(frequencies, recoding_of(space, pieces, by_row=False))
    _, dense = np.unique(labels, return_inverse=True)
    tuples = space.tuples_of(np.arange(len(labels)), class_ids=dense, classes=int(dense.max()) + 1)
    total = np.sum(space.climbed(tuples)[dense] * frequencies.counts) / space.scale
    assert total == pytest.approx(Distortion(scheme=scheme).value(assignment), abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_common_ancestors_by_climbing(seed):
    space = ClusterSpace(random_problem(seed))
    for tree in space.trees:
        every = np.arange(len(tree))
        found = tree.lca(every[:, None], every[None, :])
        for one in range(len(tree)):
            for other in range(len(tree)):
                assert found[one, other] == next(node for node in _up(tree, one) if node in _up(tree, other))


def _up(tree: Tree, node: int) -> list[int]:
    way = []
    while node >= 0:
        way.append(node)
        node = int(tree.parent[node])
    return way
