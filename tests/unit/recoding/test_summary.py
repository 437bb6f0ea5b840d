"""From classes to published values: ranges, sets, ancestors, means."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from indistinct.errors import ParameterError
from indistinct.frequencies.encode import encode_column
from indistinct.hierarchy import Hierarchy
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.summary import (
    Bounds,
    Style,
    distinct_sets,
    floor_of,
    meeting_levels,
    node_runs,
    summarize_ranges,
    summarize_sets,
    summarize_tree,
    tight_bounds,
)


def column_of(values, hierarchy=None, **options):
    domain = encode_column("c", pa.chunked_array([values]), **options).domain
    taxonomy = None if hierarchy is None else hierarchy.bind(domain)
    return QuasiColumn(domain, taxonomy, tree=hierarchy is not None)


def bounds(*triples):
    low, high, absent = zip(*triples, strict=True)
    return Bounds(np.array(low, np.int32), np.array(high, np.int32), np.array(absent))


def outputs(summary):
    return {name: values.to_pylist() for name, values in summary.published.outputs}


def test_tight_bounds_keep_missing_apart():
    column = column_of([None, 5, 7, 9])
    found = tight_bounds(column, np.array([0, 1, 3, 0], np.int32), class_ids=np.array([0, 0, 1, 2]), classes=3)
    assert floor_of(column) == 1
    assert found.absent.tolist() == [True, False, True]
    assert found.low.tolist()[:2] == [1, 3]
    assert found.high.tolist()[:2] == [1, 3]
    assert found.low[2] > found.high[2]


def test_equal_ranges_are_one_published_value():
    summary, codes = summarize_ranges(column_of([5, 7, 9]), bounds((0, 1, False), (2, 2, False), (0, 1, False)))
    assert codes.tolist() == [0, 1, 0]
    assert outputs(summary) == {"c": ["[5-7]", "9"]}
    assert summary.published.leaves.tolist() == [2, 1]
    assert summary.published.low.tolist() == [5, 9]


def test_ranges_that_are_all_single_values_keep_their_type():
    summary, _ = summarize_ranges(column_of([5, 7]), bounds((0, 0, False), (1, 1, False)))
    assert summary.published.outputs[0][1].type == pa.int64()


def test_covers():
    summary, codes = summarize_ranges(column_of([None, 5, 7, 9]), bounds((1, 2, True), (3, 3, False)))
    ranks = np.array([0, 1, 2, 3])
    assert summary.covers(np.repeat(codes[:1], 4), ranks, floor=1).tolist() == [True, True, True, False]
    assert summary.covers(np.repeat(codes[1:], 4), ranks, floor=1).tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("bounds", {"c_min": [5, None], "c_max": [7, None], "c_missing": [True, True]}),
        ("mean", {"c": [6.5, None], "c_missing": [True, True]}),
        ("interval+mean", {"c": ["[5-7] or missing", None], "c_mean": [6.5, None]}),
        ("interval", {"c": ["[5-7] or missing", None]}),
    ],
)
def test_numeric_forms(form, expected):
    means = np.array([6.5, np.nan]) if "mean" in form else None
    column = column_of([None, 5, 7])
    summary, codes = summarize_ranges(column, bounds((1, 2, True), (3, -1, True)), form=form, means=means)
    assert {name: [values[code] for code in codes] for name, values in outputs(summary).items()} == expected


def test_the_mean_of_dates_is_a_date():
    days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 4)]
    column = column_of(days)
    means = np.array([column.positions.mean()])
    summary, _ = summarize_ranges(column, bounds((0, 1, False)), form="mean", means=means)
    assert outputs(summary) == {"c": [datetime.date(2020, 1, 2)]}


TREE = Hierarchy.tree({"*": {"artist": ["dancer", "writer"], "professional": ["engineer", "lawyer"]}})


def test_a_class_shows_the_lowest_common_ancestor():
    column = column_of(["dancer", "engineer", "lawyer", "writer"], TREE)
    ranks = {text: int(column.ranks[code]) for code, text in enumerate(column.domain.texts())}
    pairs = [("dancer", "writer"), ("engineer", "engineer"), ("dancer", "lawyer")]
    summary, codes = summarize_tree(
        column, bounds(*((min(ranks[a], ranks[b]), max(ranks[a], ranks[b]), False) for a, b in pairs))
    )
    shown = outputs(summary)["c"]
    assert [shown[code] for code in codes] == ["artist", "engineer", "*"]
    assert summary.published.leaves[codes].tolist() == [2, 1, 4]
    assert summary.published.levels[codes].tolist() == [1, 0, 2]
    everyone = np.arange(4)
    artist = summary.covers(np.repeat(codes[:1], 4), everyone, floor=0)
    assert {text for text, rank in ranks.items() if artist[rank]} == {"dancer", "writer"}


def test_runs_and_meeting_levels():
    ancestors = np.array([[0, 0, 0], [1, 0, 0], [2, 1, 0]])
    assert meeting_levels(ancestors, np.array([0, 0, 2]), np.array([1, 2, 2])).tolist() == [1, 2, 0]
    first, last = node_runs(ancestors[:, 1], 2)
    assert (first.tolist(), last.tolist()) == ([0, 2], [1, 2])


def test_equal_sets_are_one_published_value():
    column = column_of(["a", "b", "c"])
    summary, codes = summarize_sets(column, np.array([0, 2, 3, 5, 7]), np.array([0, 2, 1, 0, 2, 0, 1], np.int32))
    assert codes.tolist()[0] == codes.tolist()[2]
    shown = outputs(summary)["c"]
    assert [shown[code] for code in codes] == ["{a, c}", "b", "{a, c}", "{a, b}"]
    ranks = np.arange(3)
    assert summary.covers(np.repeat(codes[:1], 3), ranks, floor=0).tolist() == [True, False, True]


def test_sets_that_hash_alike_are_told_apart(monkeypatch):
    """A collision is seen when members are compared, and another hash is tried."""
    original = np.random.default_rng

    class Colliding:
        def integers(self, *_args, **_options):
            return np.ones(4, dtype=np.uint64)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Colliding() if seed == 0 else original(seed))
    pick, codes = distinct_sets(np.array([0, 1, 2, 3]), np.array([0, 3, 0]), 4)
    assert len(pick) == 2
    assert codes[0] == codes[2] != codes[1]


def test_styles_are_checked():
    with pytest.raises(ParameterError, match="extent"):
        Style(extent="box")
    with pytest.raises(ParameterError, match="numeric"):
        Style(numeric="median")
    with pytest.raises(ParameterError, match=r"`trees` must be one of node, set; got 'nonsense'"):
        Style(trees="nonsense")
