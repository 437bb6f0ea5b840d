"""KACA in blocks and planes gives exactly the classes of the plain version that compares every pair of classes."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.algorithms.base import Problem
from indistinct.algorithms.cluster import _merge_nearest_kernels as _kernels
from indistinct.algorithms.cluster.merge_nearest import forest_of, fresh_state, merge_by_model, merge_by_size
from indistinct.algorithms.cluster.tree_space import ClusterSpace
from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.hierarchy import Hierarchy
from indistinct.models import KAnonymity
from indistinct.recoding.columns import columns_of
from references.kaca import plain_kaca, random_problem


def fast_kaca(space, *, k, stub):
    forest, frequencies = forest_of(space), space.problem.frequencies
    nodes = space.cells + forest.offsets
    found, _ = merge_by_size(forest, np.arange(len(nodes)), frequencies.counts, nodes=nodes, k=k, stub=stub)
    classes = [[] for _ in range(int(found.class_ids.max()) + 1)]
    for cell, label, count in zip(found.cells, found.class_ids, found.counts, strict=True):
        classes[label].append((int(cell), int(count)))
    return Counter(tuple(members) for members in classes)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 100_000), st.integers(1, 7), st.booleans(), st.sampled_from(["uniform", "height"]))
def test_same_classes_as_the_plain_version(seed, k, stub, scheme):
    space = ClusterSpace(random_problem(seed, k=k), scheme=scheme)
    assert fast_kaca(space, k=k, stub=stub) == Counter(plain_kaca(space, k=k, stub=stub))


def wide_problem(rows, k, seed=5):
    """Return a table of several blocks, with a column of more values than a byte can count; a few cells are small."""
    dice = np.random.default_rng(seed)
    columns = {
        "zip": [f"{code:05d}" for code in dice.integers(0, 400, rows) * 7],
        "name": [f"n{code}" for code in dice.integers(0, 700, rows)],
        "age": dice.integers(18, 90, rows),
    }
    hierarchies = {"zip": Hierarchy.masking(), "age": Hierarchy.intervals([5, 10, 20])}
    often = np.repeat(np.arange(rows), np.where(dice.random(rows) < 1 / 20, 1, k))
    counted = count_source(pa.table(columns).take(pa.array(often)), Request(tuple(columns), (), hierarchies))
    return Problem(counted.frequencies, columns_of(counted.domains, hierarchies), KAnonymity(k))


@pytest.mark.parametrize(("stub", "scheme"), [(True, "uniform"), (False, "height")])
def test_several_blocks_and_wide_columns(stub, scheme):
    space = ClusterSpace(wide_problem(1100, 3), scheme=scheme)
    assert len(space.problem.frequencies) > 2 * _kernels.BLOCK
    assert len(space.trees[1]) > 2 * _kernels.ABSENT
    assert fast_kaca(space, k=3, stub=stub) == Counter(plain_kaca(space, k=3, stub=stub))


def test_the_bytes_of_two_nodes_tell_what_their_common_ancestor_costs():
    """Distances by planes are those of the trees, for generalized nodes too."""
    space = ClusterSpace(wide_problem(900, 2))
    forest, dice = forest_of(space), np.random.default_rng(3)
    cells = np.stack([dice.integers(0, len(tree), 600) for tree in space.trees], axis=1).astype(np.int32)
    tuples = np.unique(cells, axis=0)
    state = fresh_state(forest, np.arange(len(tuples)), np.ones(len(tuples), np.int64), nodes=tuples + forest.offsets)
    tuples = state.nodes[: len(tuples)] - forest.offsets  # classes that are alike near the roots lie together
    differs, sums = np.empty(_kernels.BLOCK, np.uint8), np.empty(_kernels.BLOCK, forest.weights.dtype)
    for asked in range(0, len(tuples), 37):
        query = state.planes[asked // _kernels.BLOCK, :, asked % _kernels.BLOCK].copy()
        query[query == _kernels.ABSENT] = _kernels.ASKED
        wanted = space.climbed(space.meet(tuples, tuples[asked][None]))
        for block in range(len(state.planes)):
            here = wanted[block * _kernels.BLOCK : (block + 1) * _kernels.BLOCK]
            _kernels._distances(forest, state.planes[block], query, differs, sums)
            assert np.array_equal(sums[: len(here)], here)
            assert _kernels._bound(forest, state.masks[block], query, 1 << 60) <= here.min()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100_000), st.integers(1, 6))
def test_models_of_values_agree_with_sizes_where_values_do_not_matter(seed, k):
    """Alpha = 1 asks for sizes alone, so both loops must find the same classes."""
    problem = random_problem(seed, k=k, model=f"alpha-k:sensitive=s,alpha=1,k={k}")
    space, frequencies = ClusterSpace(problem), problem.frequencies
    forest = forest_of(space)
    cells, nodes = np.arange(len(frequencies)), space.cells + forest.offsets
    one, _ = merge_by_size(forest, cells, frequencies.counts, nodes=nodes, k=k, stub=False)
    other, _ = merge_by_model(forest, cells, nodes=nodes, classes=frequencies.classes, model=problem.model)
    assert np.array_equal(one.cells, other.cells)
    assert np.array_equal(one.class_ids, other.class_ids)
