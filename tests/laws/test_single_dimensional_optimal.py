"""Laws of the optimal cuts: the kernel weighs nodes as its plain twin does, and limits only stop the search."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.algorithms.partition import single_dimensional_optimal
from indistinct.algorithms.partition.single_dimensional_optimal import (
    HEAD,
    OUT,
    TAIL,
    CutSearch,
    CutSpace,
    find_optimal_cuts,
    weigh_node_by_model,
    weigh_node_by_size,
)
from indistinct.frequencies.value import Classes
from indistinct.models import KAnonymity

quick = settings(deadline=None, max_examples=200)


@st.composite
def spaces(draw, *, most_rows=40, most_columns=3):
    """Return a space of distinct cells, whose ranks have no gaps, with a small k and budget."""
    width = draw(st.integers(1, most_columns))
    vectors = draw(st.lists(st.tuples(*[st.integers(0, 4)] * width), min_size=1, max_size=most_rows))
    cells, counts = np.unique(np.array(vectors), axis=0, return_counts=True)
    ranks = np.stack([np.unique(own, return_inverse=True)[1] for own in cells.T], axis=1)
    k = draw(st.integers(1, min(4, len(vectors))))
    budget = draw(st.integers(0, len(vectors) - 1))
    return CutSpace.of(ranks, Classes(counts), KAnonymity(k), budget=draw(st.sampled_from([0, budget])))


@quick
@given(spaces(), st.data())
def test_the_kernel_weighs_a_node_as_its_twin_does(space, data):
    statuses = st.sampled_from([TAIL, TAIL, HEAD, OUT])
    status = np.array(data.draw(st.lists(statuses, min_size=space.cuts, max_size=space.cuts)), dtype=np.int8)
    fast = weigh_node_by_size(space, space.cells, status.copy())
    slow = weigh_node_by_model(space, space.cells, status.copy())
    assert (fast is None) == (slow is None)
    if fast is None:
        return
    assert (fast.cost, fast.bound, fast.full) == (slow.cost, slow.bound, slow.full)
    assert fast.status.tolist() == slow.status.tolist()
    tail = fast.status == TAIL
    assert fast.effects[tail].tolist() == slow.effects[tail].tolist()
    both = [
        sorted(zip(map(tuple, cells.ranks.tolist()), cells.classes.sizes.tolist(), strict=True))
        for cells in (classes_of(space, fast), classes_of(space, slow))
    ]
    assert both[0] == both[1]
    assert fast.branching_cut() == slow.branching_cut()


def classes_of(space, node):
    """Return the cells of a node, each with the intervals of head and tail in place of its ranks."""
    intervals = space.intervals(node.status != OUT)
    ranks = np.stack([own[node.cells.ranks[:, j]] for j, own in enumerate(intervals)], axis=1)
    return single_dimensional_optimal.RankedCells(ranks, node.cells.classes)


@quick
@given(spaces())
def test_a_node_may_be_weighed_from_the_cells_of_another_above_it(space):
    root = weigh_node_by_size(space, space.cells, np.zeros(space.cuts, dtype=np.int8))
    cut = None if root is None else root.branching_cut()
    if cut is None:
        return
    for value in (HEAD, OUT):
        changed = root.status.copy()
        changed[cut] = value
        below, anew = (weigh_node_by_size(space, cells, changed.copy()) for cells in (root.cells, space.cells))
        assert (below is None) == (anew is None)
        if below is not None:
            assert (below.cost, below.bound, below.full) == (anew.cost, anew.bound, anew.full)


@quick
@given(spaces(), st.integers(1, 12))
def test_a_search_that_is_stopped_knows_how_good_it_is(space, nodes):
    best, proof = find_optimal_cuts(space, [], nodes=np.inf, seconds=None)
    assert proof.proven
    assert proof.best == CutSearch(space)._look_at(space.cells, np.where(best, HEAD, OUT).astype(np.int8)).cost
    _, stopped = find_optimal_cuts(space, [], nodes=nodes, seconds=None)
    assert stopped.bound <= proof.best <= stopped.best
    assert find_optimal_cuts(space, [best], nodes=nodes, seconds=None)[1].best == proof.best


@quick
@given(spaces())
def test_the_order_of_nodes_does_not_matter(space):
    expected = find_optimal_cuts(space, [], nodes=np.inf, seconds=None)[1].best
    kept, single_dimensional_optimal.MAX_BYTES_KEPT = single_dimensional_optimal.MAX_BYTES_KEPT, 0
    try:
        assert find_optimal_cuts(space, [], nodes=np.inf, seconds=None)[1].best == expected
    finally:
        single_dimensional_optimal.MAX_BYTES_KEPT = kept


@quick
@given(spaces(), st.integers(2, 30))
def test_better_starts_leave_optimum_and_bounds_as_they_are(space, nodes):
    expected = find_optimal_cuts(space, [], nodes=np.inf, seconds=None)[1].best
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(single_dimensional_optimal, "EASY_NODES", 1)
        patch.setattr(single_dimensional_optimal, "MIN_CLASSES_FOR_LARGER_K", 1)
        best, proof = find_optimal_cuts(space, [], nodes=np.inf, seconds=None)
        _, stopped = find_optimal_cuts(space, [], nodes=nodes, seconds=None)
    assert (proof.best, proof.proven) == (expected, True)
    assert proof.best == CutSearch(space)._look_at(space.cells, np.where(best, HEAD, OUT).astype(np.int8)).cost
    assert stopped.bound <= expected <= stopped.best


@quick
@given(spaces())
def test_answers_for_larger_k_satisfy_k_and_improving_starts_at_them(space):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(single_dimensional_optimal, "MIN_CLASSES_FOR_LARGER_K", 1)
        answers = single_dimensional_optimal._answers_for_larger_k(space, nodes=100, deadline=math.inf)
    larger = [k for k in (space.model.k * 2**step for step in range(1, 9)) if k <= space.rows]
    assert len(answers) == len(larger)
    search = CutSearch(space)
    search.improve(answers, nodes=1000, deadline=math.inf)
    for k, made in zip(reversed(larger), answers, strict=True):
        sizes = np.bincount(space.class_ids(space.cells, made), weights=space.cells.classes.sizes)
        assert space.budget or sizes.min() >= k
        assert search.cost <= CutSearch(space)._look_at(space.cells, np.where(made, HEAD, OUT).astype(np.int8)).cost


def test_improving_stops_at_its_limits():
    ranks = np.stack(np.meshgrid(*[np.arange(8)] * 2), axis=-1).reshape(-1, 2)
    space = CutSpace.of(ranks, Classes(np.full(len(ranks), 3)), KAnonymity(2), budget=0)
    counts = []
    for nodes, deadline in ((0, math.inf), (math.inf, time.monotonic() - 1), (math.inf, math.inf)):
        search = CutSearch(space)
        search.improve([], nodes=nodes, deadline=deadline)
        counts.append(search.nodes)
    assert counts[0] == counts[1] < counts[2]
