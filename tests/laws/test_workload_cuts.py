"""Cuts for a workload weigh what their definition says, are allowed, and depend on no thread."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.algorithms.partition import by_workload
from indistinct.algorithms.partition.by_depth import DepthParts
from indistinct.algorithms.partition.by_workload import partition_by_workload
from indistinct.algorithms.partition.layout import layout_of, ranks_of
from indistinct.metrics.queries.workload import Boxes
from indistinct.models import DistinctLDiversity, KAnonymity
from indistinct.testing.strategies import samples
from references.workload_cuts import weight_of_cut

quick = settings(deadline=None, max_examples=40)
KINDS = ("line", "set", "node")


@st.composite
def workloads(draw):
    """Return a sample with what some queries accept of its columns."""
    sample = draw(samples(most_rows=30))
    counted = sample.count()
    columns = sample.columns(counted)
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    queries = draw(st.integers(1, 70))
    accepted = []
    for column in columns:
        matrix = random.random((queries, len(column.domain))) < random.random()
        matrix[random.random(queries) < 0.5] = True
        accepted.append(None if draw(st.booleans()) else matrix)
    return (
        sample,
        counted,
        columns,
        Boxes(np.arange(queries), random.integers(1, 4, queries).astype(float), tuple(accepted)),
    )


def partition(columns, frequencies, boxes, model, *, trees="node", in_order=False):
    ranks = ranks_of(columns, frequencies.vectors)
    found = partition_by_workload(
        ranks,
        frequencies.classes,
        columns=columns,
        layout=layout_of(columns),
        boxes=boxes,
        trees=trees,
        in_order=in_order,
        model=model,
        counters=Counter(),
    )
    return ranks, found


@quick
@given(workloads(), st.integers(1, 3), st.sampled_from(["node", "set"]), st.booleans())
def test_a_cut_weighs_what_its_definition_says(drawn, k, trees, in_order):
    _, counted, columns, boxes = drawn
    frequencies = counted.frequencies
    ranks, counts = ranks_of(columns, frequencies.vectors), frequencies.counts
    whole = by_workload.WholeTable(int(counts.sum()), by_workload.count_queries(ranks, counts, boxes, columns))
    by_rank = by_workload._by_rank(boxes, columns)
    ranks = np.ascontiguousarray(ranks)
    search = by_workload._Search.of(
        ranks, counts, columns, layout_of(columns), by_rank, whole, trees=trees, in_order=in_order, model=KAnonymity(k)
    )
    everything = np.arange(len(ranks))
    parts = DepthParts(
        everything, layout_of(columns).pack(ranks, counts), np.array([0, len(ranks)]), np.zeros(1, np.int64)
    )
    weights = search.weigh(parts, 0, 1)[0]
    kinds = [KINDS[kind] for kind in search.columns.kind]
    accepted = [
        None if each is None else each[:, own.by_rank] for each, own in zip(boxes.accepted, columns, strict=True)
    ]
    asked = np.ones((len(ranks), len(boxes.weights)), dtype=bool)
    for place, matrix in enumerate(accepted):
        asked &= True if matrix is None else matrix.T[ranks[:, place]]
    truths, shares = np.maximum(counts @ asked, 1), boxes.weights / boxes.weights.sum()
    for candidate in np.flatnonzero(np.isfinite(weights))[:12]:
        division = search.divide(parts, np.array([candidate]))
        middle = int(division.middles[0])
        left, right = division.order[:middle].tolist(), division.order[middle:].tolist()
        assert min(counts[left].sum(), counts[right].sum()) >= k
        expected = weight_of_cut(left, right, ranks, counts, columns, kinds, accepted, shares, truths, search.tie)
        assert weights[candidate] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@quick
@given(workloads(), st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_parts_do_not_depend_on_threads_and_cannot_be_cut_at_their_middle(as_if_large, drawn, k, threads, in_order):
    _, counted, columns, boxes = drawn
    frequencies = counted.frequencies
    if frequencies.rows < k:
        return
    ranks, alone = partition(columns, frequencies, boxes, KAnonymity(k), in_order=in_order)
    with pytest.MonkeyPatch.context() as patch:
        as_if_large(patch, threads=threads)
        _, together = partition(columns, frequencies, boxes, KAnonymity(k), in_order=in_order)
    assert alone.class_ids.tolist() == together.class_ids.tolist()
    class_ids = alone.cuts.locate(ranks)
    assert np.bincount(class_ids, weights=frequencies.counts).min() >= k
    for own in range(alone.cuts.classes):
        cells = np.flatnonzero(class_ids == own)
        for place in range(len(columns)):
            order = cells[np.argsort(ranks[cells, place], kind="stable")]
            up_to, values = np.cumsum(frequencies.counts[order]), ranks[order, place]
            borders = up_to[:-1][values[1:] != values[:-1]]
            assert not ((borders >= k) & (up_to[-1] - borders >= k)).any()


@quick
@given(workloads())
def test_another_model_allows_every_cut(drawn):
    sample, _, columns, boxes = drawn
    model = DistinctLDiversity("disease", l=2)
    counted = sample.count(model)
    if model.violations(counted.frequencies.classes.regroup(np.zeros(len(counted.frequencies), np.int32), 1)).any():
        return
    ranks, found = partition(columns, counted.frequencies, boxes, model)
    class_ids = found.cuts.locate(ranks)
    assert not model.violations(counted.frequencies.classes.regroup(class_ids, found.cuts.classes)).any()
