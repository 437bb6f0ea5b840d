"""TopDown on cells gives the classes of the plain version, which moves rows one by one down literal hierarchies."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indistinct.algorithms.cluster.top_down import TopDown
from indistinct.algorithms.cluster.top_down_parts import specialize_by_size
from indistinct.algorithms.cluster.tree_space import ClusterSpace
from indistinct.recoding.assign import assign
from references.kaca import random_problem


def plain_top_down(rows, ancestors, *, k, again=False):
    """Return the classes of TopDown as lists of rows; a row is a tuple of codes, `ancestors[j][code]` its path.

    A class is a part of rows under a tuple of (level, node); rows are in canonical order.
    """
    tops = tuple((len(paths[0]) - 1, paths[0][-1]) for paths in ancestors)
    work, out = [(tops, list(rows), frozenset())], []
    while work:
        general, part, tried = work.pop(0)
        best = None
        for column, (level, _) in enumerate(general):
            if level == 0 or column in tried:
                continue
            children = {}
            for row in part:
                children.setdefault(ancestors[column][row[column]][level - 1], []).append(row)
            kept, rest = _unspecialized(children, k)
            score = (sum(map(len, kept.values())), -len(kept))
            if score[0] and (best is None or score > best[0]):
                best = (score, column, kept, rest)
        if best is None:
            out.append(part)
            continue
        _, column, kept, rest = best
        level = general[column][0] - 1
        for node, child in kept.items():
            lower = (*general[:column], (level, node), *general[column + 1 :])
            # A single child is no choice: what was tried before the step is still tried.
            work.append((lower, child, tried if not rest and len(kept) == 1 else frozenset()))
        if rest and again:
            work.append((general, rest, tried | {column}))
        elif rest:
            out.append(rest)
    return out


def _unspecialized(children, k):
    kept = {node: list(child) for node, child in children.items() if len(child) >= k}
    rest = [row for node, child in children.items() if node not in kept for row in child]
    firsts = {node: min(child) for node, child in children.items()}
    while rest and len(rest) < k:
        spare = [node for node in kept if len(kept[node]) > k]
        if spare:
            node = min(spare, key=lambda node: (-len(kept[node]), firsts[node]))
            rest.append(kept[node].pop(0))
        elif kept:
            rest += kept.pop(min(kept, key=lambda node: (len(kept[node]), node)))
        else:
            break
    return kept, sorted(rest)


def classes_of_parts(space, parts):
    vectors = space.problem.frequencies.vectors
    found = [[] for _ in range(len(parts))]
    for cell, label, count in zip(parts.pieces.cells, parts.pieces.class_ids, parts.pieces.counts, strict=True):
        found[label] += [tuple(vectors[cell].tolist())] * int(count)
    return Counter(tuple(sorted(part)) for part in found)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.booleans())
@example(72, 3, True)
@example(252, 3, True)
def test_same_classes_as_row_by_row(seed, k, again):
    problem = random_problem(seed, k=k)
    space = ClusterSpace(problem)
    frequencies = problem.frequencies
    rows = [tuple(v.tolist()) for v, n in zip(frequencies.vectors, frequencies.counts, strict=True) for _ in range(n)]
    ancestors = [taxonomy.ancestors.tolist() for taxonomy in space.taxonomies]
    wanted = Counter(tuple(sorted(part)) for part in plain_top_down(rows, ancestors, k=k, again=again))
    assert classes_of_parts(space, specialize_by_size(space, k=k, again=again)) == wanted


@pytest.mark.parametrize("again", [False, True])
def test_models_of_values_agree_with_sizes_where_values_do_not_matter(again):
    """With one sensitive value for all and alpha = 1 nothing but sizes counts."""
    for seed in range(12):
        plain = random_problem(seed, k=3)
        valued = random_problem(seed, k=3, model="alpha-k:sensitive=s,alpha=1,k=3", values=1)
        algorithm = TopDown(respecialize_remainder=again)
        sizes = [np.sort(assign(p.frequencies, algorithm.search(p)).classes.sizes) for p in (plain, valued)]
        assert np.array_equal(*sizes)


def test_a_remainder_may_go_further_down():
    """Large remainders that another column can divide are rare; here is one."""
    space = ClusterSpace(random_problem(72, k=3))
    assert len(specialize_by_size(space, k=3, again=True)) > len(specialize_by_size(space, k=3))
