"""Laws of partitioning: the kernels find the same trees and halves as their plain twins, and trees say what they do."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.algorithms.partition import layout as layout_module
from indistinct.algorithms.partition import strict as strict_module
from indistinct.algorithms.partition.by_depth import partition_by_depth
from indistinct.algorithms.partition.by_loss import Costs, LossSearch
from indistinct.algorithms.partition.layout import layout_of, ranks_of
from indistinct.algorithms.partition.relaxed import halve_by_rounds, halve_by_size
from indistinct.algorithms.partition.strict import partition_by_size
from indistinct.algorithms.partition.strict_any_model import partition_by_rounds
from indistinct.models import KAnonymity
from indistinct.recoding.kinds import same_parts
from indistinct.testing.strategies import Sample, samples

quick = settings(deadline=None, max_examples=80)


def prepared(sample: Sample):
    counted = sample.count()
    columns = sample.columns(counted)
    return counted.frequencies, layout_of(columns), ranks_of(columns, counted.frequencies.vectors)


def shape(cuts, node=0):
    """Return a tree of cuts as nested tuples, leaves as None."""
    if cuts.axis[node] < 0:
        return None
    return (
        int(cuts.axis[node]),
        int(cuts.cut[node]),
        shape(cuts, int(cuts.left[node])),
        shape(cuts, int(cuts.right[node])),
    )


def boxes(cuts, sizes):
    """Return the box of every class, found by walking the tree."""
    found = {}

    def walk(node, low, high):
        axis = int(cuts.axis[node])
        if axis < 0:
            found[int(cuts.left[node])] = (low, high)
            return
        cut = int(cuts.cut[node])
        walk(int(cuts.left[node]), low, (*high[:axis], cut, *high[axis + 1 :]))
        walk(int(cuts.right[node]), (*low[:axis], cut + 1, *low[axis + 1 :]), high)

    walk(0, (0,) * len(sizes), tuple(size - 1 for size in sizes))
    return [found[label] for label in sorted(found)]


@st.composite
def large_domains(draw):
    """Return cells over domains so sparse that medians are found by selection, not by counting."""
    width, cells = draw(st.integers(1, 3)), draw(st.integers(1, 40))
    wide = st.one_of(st.integers(0, 9), st.integers(0, 4_000))
    rows = draw(st.sets(st.tuples(*[wide] * width), min_size=1, max_size=cells))
    counts = draw(st.lists(st.integers(1, 5), min_size=len(rows), max_size=len(rows)))
    return np.array(sorted(rows), dtype=np.uint32), np.array(counts, dtype=np.int64)


def line_layout(ranks):
    """Return the layout of columns whose values are their own ranks."""
    import pyarrow as pa

    from indistinct.recoding.columns import QuasiColumn
    from indistinct.tables.domain import Domain

    return layout_of(
        [QuasiColumn(Domain(f"q{j}", pa.array(np.arange(int(ranks[:, j].max()) + 1)))) for j in range(ranks.shape[1])]
    )


@quick
@given(samples(most_rows=40), st.integers(1, 7))
def test_the_kernel_finds_the_tree_of_the_rounds(sample, k):
    frequencies, layout, ranks = prepared(sample)
    if frequencies.rows < k:
        return
    fast = partition_by_size(ranks, frequencies.counts, layout=layout, k=k).cuts
    slow = partition_by_rounds(
        ranks, frequencies.classes, layout=layout, model=KAnonymity(k), counters=Counter()
    ).numbered()
    assert shape(fast) == shape(slow)
    assert fast.locate(ranks).tolist() == slow.locate(ranks).tolist()


@quick
@given(large_domains(), st.integers(1, 6), st.sampled_from([1, 8, 1 << 16]))
def test_counting_and_selecting_find_the_same_medians(drawn, k, limit):
    from indistinct.frequencies.value import Classes

    ranks, counts = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout_module, "MAX_VALUES_COUNTED", limit)
        layout = line_layout(ranks)
        fast = partition_by_size(ranks, counts, layout=layout, k=k).cuts
    slow = partition_by_rounds(ranks, Classes(counts), layout=layout, model=KAnonymity(k), counters=Counter())
    assert shape(fast) == shape(slow.numbered())


@quick
@given(samples(most_rows=40), st.integers(1, 4), st.integers(2, 9))
def test_several_threads_find_the_tree_of_one(as_if_large, sample, k, threads):
    frequencies, layout, ranks = prepared(sample)
    if frequencies.rows < k:
        return
    alone = partition_by_size(ranks, frequencies.counts, layout=layout, k=k).cuts
    with pytest.MonkeyPatch.context() as patch:
        as_if_large(patch, threads=threads)
        together = partition_by_size(ranks, frequencies.counts, layout=layout, k=k).cuts
    for part in ("axis", "cut", "left", "right"):
        assert getattr(alone, part).tolist() == getattr(together, part).tolist()


@quick
@given(samples(most_rows=40), st.integers(1, 4))
def test_cells_of_a_class_stand_together(sample, k):
    frequencies, layout, ranks = prepared(sample)
    if frequencies.rows < k:
        return
    found = partition_by_size(ranks, frequencies.counts, layout=layout, k=k)
    assert found.class_ids.tolist() == sorted(found.cuts.locate(ranks).tolist())
    assert found.cuts.locate(found.ranks).tolist() == found.class_ids.tolist()
    cells = zip(found.ranks.tolist(), found.counts.tolist(), strict=True)
    assert sorted(cells) == sorted(zip(ranks.tolist(), frequencies.counts.tolist(), strict=True))


@quick
@given(large_domains(), st.integers(1, 3))
def test_a_short_stack_and_narrow_words_find_the_same_tree(drawn, k):
    ranks, counts = drawn
    layout = line_layout(ranks)
    usual = partition_by_size(ranks, counts, layout=layout, k=k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict_module, "INITIAL_STACK_PARTS", 1)
        patch.setattr(layout_module, "BITS_PER_WORD", 13)
        cramped = partition_by_size(ranks, counts, layout=layout, k=k)
    assert shape(cramped.cuts) == shape(usual.cuts)
    assert cramped.ranks.tolist() == usual.ranks.tolist()
    assert cramped.counts.tolist() == usual.counts.tolist()


@quick
@given(samples(most_rows=40), st.integers(1, 4))
def test_kernels_and_numpy_find_the_same_leaf(as_if_large, sample, k):
    frequencies, layout, ranks = prepared(sample)
    if frequencies.rows < k:
        return
    cuts = partition_by_size(ranks, frequencies.counts, layout=layout, k=k).cuts
    plain = cuts.locate(ranks)
    with pytest.MonkeyPatch.context() as patch:
        as_if_large(patch, threads=3)
        compiled = cuts.locate(ranks)
    assert plain.dtype == compiled.dtype
    assert plain.tolist() == compiled.tolist()


def by_loss(sample, k, *, trees="node"):
    """Return the partition by loss, and the ranks that it was found on."""
    counted = sample.count()
    columns, frequencies = sample.columns(counted), counted.frequencies
    layout, ranks = layout_of(columns), ranks_of(columns, frequencies.vectors)
    costs = Costs.of(columns, layout, rows=frequencies.rows, trees=trees, in_order=False)
    model = KAnonymity(k)
    search = LossSearch(costs, layout, k, 3)
    return ranks, partition_by_depth(search, ranks, frequencies.classes, layout=layout, model=model, counters=Counter())


@quick
@given(samples(most_rows=40), st.integers(1, 4), st.integers(1, 5), st.sampled_from(["node", "set"]))
def test_partitioning_by_loss_does_not_depend_on_threads_and_its_cuts_find_every_cell(
    as_if_large, sample, k, threads, trees
):
    if sample.count().frequencies.rows < k:
        return
    ranks, alone = by_loss(sample, k, trees=trees)
    plain = alone.cuts.locate(ranks)
    with pytest.MonkeyPatch.context() as patch:
        as_if_large(patch, threads=threads)
        _, together = by_loss(sample, k, trees=trees)
        compiled = alone.cuts.locate(ranks)
    assert same_parts(alone.cuts, together.cuts)
    assert plain.tolist() == compiled.tolist()
    assert alone.cuts.locate(alone.ranks).tolist() == alone.class_ids.tolist() == together.class_ids.tolist()
    assert np.bincount(alone.class_ids, weights=alone.counts).min() >= k


@quick
@given(samples(most_rows=40), st.integers(1, 7))
def test_the_kernel_halves_as_the_rounds_do(sample, k):
    frequencies, layout, ranks = prepared(sample)
    if frequencies.rows < k:
        return
    fast = halve_by_size(ranks, frequencies.counts, layout=layout, k=k)
    slow = halve_by_rounds(ranks, frequencies, layout=layout, model=KAnonymity(k), counters=Counter())
    assert fast.size == slow.size
    assert classes_of(fast) == classes_of(slow)
    assert np.bincount(fast.cells, weights=fast.counts).tolist() == frequencies.counts.tolist()


def classes_of(pieces):
    """Return the classes of relaxed partitioning without their numbers."""
    classes = {}
    for cell, label, count in zip(
        pieces.cells.tolist(), pieces.class_ids.tolist(), pieces.counts.tolist(), strict=True
    ):
        classes.setdefault(label, Counter())[cell] += count
    return Counter(frozenset(counter.items()) for counter in classes.values())


@quick
@given(samples(most_rows=40), st.integers(1, 5))
def test_regions_are_disjoint_boxes_that_cover_everything(sample, k):
    frequencies, layout, ranks = prepared(sample)
    if frequencies.rows < k:
        return
    cuts = partition_by_size(ranks, frequencies.counts, layout=layout, k=k).cuts
    low, high = cuts.bounds(layout.sizes)
    found = list(zip(map(tuple, low.tolist()), map(tuple, high.tolist()), strict=True))
    assert found == boxes(cuts, layout.sizes)
    volume = sum(np.prod([b - a + 1 for a, b in zip(*box, strict=True)]) for box in found)
    assert volume == np.prod(layout.sizes)
    labels = cuts.locate(ranks)
    assert (ranks >= low[labels]).all()
    assert (ranks <= high[labels]).all()
    for one in range(len(found)):
        for other in range(one):
            assert ((low[one] > high[other]) | (low[other] > high[one])).any()


@quick
@given(samples(most_rows=40), st.integers(1, 5))
def test_leaves_are_numbered_from_left_to_right(sample, k):
    frequencies, layout, ranks = prepared(sample)
    if frequencies.rows < k:
        return
    cuts = partition_by_size(ranks, frequencies.counts, layout=layout, k=k).cuts
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        if cuts.axis[node] < 0:
            order.append(int(cuts.left[node]))
        else:
            stack += [int(cuts.right[node]), int(cuts.left[node])]
    assert order == list(range(cuts.classes))
