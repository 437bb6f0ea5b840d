"""Laws of compiled tests: kernels judge classes, and partition by them, as the models themselves do."""

from collections import Counter
from dataclasses import dataclass

import numba as nb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.algorithms.partition import strict as strict_module
from indistinct.algorithms.partition.layout import layout_of, ranks_of
from indistinct.algorithms.partition.strict import partition_by_test, partition_strictly
from indistinct.algorithms.partition.strict_any_model import partition_by_rounds
from indistinct.models import (
    AlphaK,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveLDiversity,
    TCloseness,
    XYAnonymity,
)
from indistinct.models._test_kernels import NO, UNDECIDED, YES, add_cell, clear, satisfies
from indistinct.models.compiled_test import compile_test, scratch_of
from indistinct.testing.strategies import models, samples
from references.classes import classes_of

quick = settings(deadline=None, max_examples=80)
VALUES = "abcdefghijklmnop"
PATHS = {value: (value, f"group {place % 5}", f"half {place % 5 % 2}", "*") for place, value in enumerate(VALUES)}
PATHS = {value: path[1:] for value, path in PATHS.items()} | {None: ("none", "half 0", "*")}
cells = st.one_of(st.none(), st.sampled_from("abc"), st.sampled_from(VALUES))
shares = st.one_of(st.sampled_from(["1/2", "1/3", "2/3", 0.1, 1]), st.floats(0.01, 1))
judged = st.one_of(
    st.builds(KAnonymity, st.integers(1, 8)),
    st.builds(AlphaK, st.just("s"), shares, st.integers(1, 4)),
    st.builds(AlphaK, st.just("s"), shares, st.integers(1, 4), st.sets(st.sampled_from(VALUES), min_size=1)),
    st.builds(XYAnonymity, st.just("s"), st.integers(1, 5)),
    st.builds(DistinctLDiversity, st.just("s"), st.integers(1, 5)),
    st.builds(EntropyLDiversity, st.just("s"), st.one_of(st.integers(1, 5), st.floats(1, 5))),
    st.builds(RecursiveLDiversity, st.just("s"), st.sampled_from([0.1, 0.5, 1, 1.5, 2, 10]), st.integers(1, 6)),
    st.builds(
        TCloseness,
        st.just("s"),
        st.one_of(st.sampled_from([0, 0.25, 0.5, 1]), st.floats(0, 1)),
        st.sampled_from(["equal", "ordered", "hierarchical"]),
    ),
)


@nb.njit
def answers(test, scratch, sizes, out):
    """Judge every class on its own, on both sides in turn."""
    for i in range(len(sizes)):
        side = i % 2
        seen = add_cell(test.indptr, test.entries, scratch.tally, scratch.touched, np.uint64(side), i, 0)
        out[i] = satisfies(test, scratch, side, seen, sizes[i])
        clear(scratch, side, seen)


@settings(deadline=None, max_examples=300)
@given(st.lists(judged, min_size=1, max_size=3), st.lists(st.lists(cells, min_size=1, max_size=30), max_size=6))
def test_kernels_judge_as_the_model_does(several, groups):
    model = several[0]
    for other in several[1:]:
        model &= other
    groups = [*groups, ["a"]]
    classes = classes_of(groups, original=[*(value for group in groups for value in group), *VALUES], paths=PATHS)
    test = compile_test(model, classes)
    out, scratch = np.empty(len(groups), dtype=np.int64), scratch_of(test)
    answers(test, scratch, classes.sizes, out)
    expected = np.where(model.violations(classes), NO, YES)
    assert ((out == expected) | (out == UNDECIDED)).all()
    assert not scratch.tally.any()
    assert not scratch.sums.any()


@quick
@given(samples(most_rows=40), models(), st.one_of(st.none(), models()), st.integers(1, 3))
def test_the_tested_kernel_finds_the_tree_of_the_rounds(as_if_large, sample, one, other, threads):
    model = one if other is None else one & other
    counted = sample.count(model)
    columns, classes = sample.columns(counted), counted.frequencies.classes
    layout, ranks = layout_of(columns), ranks_of(columns, counted.frequencies.vectors)
    slow_counters, fast_counters = Counter(), Counter()
    slow = partition_by_rounds(ranks, classes, layout=layout, model=model, counters=slow_counters).numbered()
    with pytest.MonkeyPatch.context() as patch:
        as_if_large(patch, threads=threads)
        patch.setattr(strict_module, "INITIAL_STACK_PARTS", threads)
        found = partition_by_test(ranks, classes, layout=layout, model=model, counters=fast_counters)
    if found is None:  # a class lies on the limit
        return
    assert shape(found.cuts) == shape(slow)
    assert found.cuts.locate(ranks).tolist() == slow.locate(ranks).tolist()
    assert found.class_ids.tolist() == sorted(slow.locate(ranks).tolist())
    assert fast_counters["checks"] == slow_counters["checks"]


def shape(cuts, node=0):
    if cuts.axis[node] < 0:
        return None
    left, right = shape(cuts, int(cuts.left[node])), shape(cuts, int(cuts.right[node]))
    return int(cuts.axis[node]), int(cuts.cut[node]), left, right


def halves_on_the_limit():
    """Return classes of one column in which every part of four rows is uniform over two values, and its layout."""
    import pyarrow as pa

    from indistinct.engines import count_source
    from indistinct.frequencies.count import Request
    from indistinct.recoding.columns import columns_of

    table = pa.table({"q": [1, 1, 2, 2, 3, 3, 4, 4], "s": ["a", "b"] * 4})
    counted = count_source(table, Request(["q"], (("s",),)))
    columns = columns_of(counted.domains, {})
    return counted.frequencies.classes, layout_of(columns), ranks_of(columns, counted.frequencies.vectors)


def test_what_rounding_could_decide_is_left_to_the_model(as_if_large, monkeypatch):
    classes, layout, ranks = halves_on_the_limit()
    model = EntropyLDiversity("s", l=2 / (1 - 1e-9))
    as_if_large(monkeypatch)
    given = {"layout": layout, "model": model, "counters": Counter()}
    assert partition_by_test(ranks, classes, **given) is None
    slow = partition_by_rounds(ranks, classes, **given).numbered()
    assert shape(partition_strictly(ranks, classes, **given).cuts) == shape(slow)


def test_a_subclass_does_not_inherit_the_tests():
    @dataclass(frozen=True, slots=True)
    class Stricter(DistinctLDiversity):
        def violations(self, classes):
            return np.ones(len(classes), dtype=bool)

    classes = classes_of([["a", "b"]], original=list(VALUES))
    assert compile_test(DistinctLDiversity("s", 2), classes) is not None
    assert compile_test(Stricter("s", 2), classes) is None
    assert compile_test(KAnonymity(2) & Stricter("s", 2), classes) is None


def test_ratios_that_do_not_fit_64_bits_are_left_to_the_model():
    classes = classes_of([["a", "b"]], original=list(VALUES))
    assert compile_test(AlphaK("s", f"{10**18 - 1}/{10**18}", 1), classes) is not None
    assert compile_test(AlphaK("s", f"{10**30 - 1}/{10**30}", 1), classes) is None
    assert compile_test(RecursiveLDiversity("s", 1e-30, 1), classes) is None


@quick
@given(
    st.lists(st.lists(st.integers(0, 1999), min_size=1, max_size=40), min_size=1, max_size=5),
    st.sampled_from([0.05, 0.1, 0.2, 0.3, 0.4]),
    st.integers(1, 40),
)
def test_few_of_many_ordered_values_are_judged_as_the_model_does(groups, t, l):
    """Where a class has few of the values, the kernel goes from one of them to the next."""
    original = [*(value for group in groups for value in group), *range(2000), *range(300)]
    classes = classes_of(groups, original=original)
    ordered = TCloseness("s", t, "ordered")
    for model in (ordered, ordered & TCloseness("s", 1 - t) & RecursiveLDiversity("s", 2, l)):
        test = compile_test(model, classes)
        out = np.empty(len(groups), dtype=np.int64)
        answers(test, scratch_of(test), classes.sizes, out)
        assert out.tolist() == np.where(model.violations(classes), NO, YES).tolist()
