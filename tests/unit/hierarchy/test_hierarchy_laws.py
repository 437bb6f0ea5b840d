"""What holds of every hierarchy over every column: levels nest, nodes are runs, leaves add up."""

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.hierarchy import Hierarchy, Taxonomy, suggest
from indistinct.tables.domain import Domain

WORDS = st.text("ab1*-é", max_size=5)


def domains(values: st.SearchStrategy[Any], kind: pa.DataType) -> st.SearchStrategy[Domain]:
    listed = st.lists(values, max_size=25, unique=True).map(lambda chosen: pa.array(sorted(set(chosen)), kind))
    return st.builds(lambda array, missing: Domain("x", array, missing=missing), listed, st.booleans())


INTEGERS = domains(st.integers(-300, 300), pa.int64())
FLOATS = domains(st.floats(-300, 300).map(lambda value: value + 0.0), pa.float64())
DAYS = domains(st.dates(), pa.date32())
MOMENTS = domains(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)), pa.timestamp("us"))
TEXTS = domains(WORDS, pa.string())

WIDTHS = st.tuples(st.sampled_from([0.1, 0.5, 1, 3, 7]), st.lists(st.integers(2, 5), max_size=3)).map(
    lambda drawn: [float(np.round(drawn[0] * ratio, 6)) for ratio in np.cumprod([1, *drawn[1]])]
)
LEVELS = st.lists(st.sampled_from(["day", "month", "quarter", "year", "decade"]), min_size=1, unique=True).map(
    lambda chosen: sorted(chosen, key=["day", "month", "quarter", "year", "decade"].index)
)


@st.composite
def cut_lists(draw: st.DrawFn) -> list[list[float]]:
    cuts = draw(st.lists(st.integers(-600, 600).map(lambda half: half / 2), min_size=1, max_size=8, unique=True))
    lists = [sorted(cuts)]
    while len(lists[-1]) > 1 and draw(st.booleans()):
        lists.append(lists[-1][:: draw(st.integers(2, 3))])
    return lists


def check(taxonomy: Taxonomy, domain: Domain) -> None:
    ancestors, size = taxonomy.ancestors, len(domain)
    assert ancestors.shape == (size, taxonomy.height + 1)
    assert ancestors[:, 0].tolist() == list(range(size))
    assert taxonomy.labels[0] == domain.texts()
    assert taxonomy.rooted
    assert taxonomy.size >= size
    ranks = taxonomy.ranks()
    assert sorted(ranks.tolist()) == list(range(size))
    for level in range(taxonomy.height + 1):
        nodes = ancestors[:, level]
        labels, leaves = taxonomy.labels[level], taxonomy.leaves[level]
        assert len(labels) == len(leaves) == len(set(labels))
        _, firsts = np.unique(nodes, return_index=True)
        assert (np.diff(firsts) > 0).all(), "nodes are numbered by their first value"
        if size:
            assert len(firsts) == len(labels)
            assert (np.bincount(nodes, minlength=len(labels)) <= leaves).all()
        for node in range(len(firsts)):
            places = np.sort(ranks[nodes == node])
            assert (np.diff(places) == 1).all(), "a node is one run of ranks"
        if level < taxonomy.height:
            assert len(set(zip(nodes.tolist(), ancestors[:, level + 1].tolist(), strict=True))) == len(firsts)
            assert (domain.missing and labels[0] is None) or None not in labels
    if domain.missing:
        assert ancestors[0].tolist() == [0] * (taxonomy.height + 1)
        assert [labels[0] for labels in taxonomy.labels[:-1]] == [None] * taxonomy.height
        assert all(leaves[0] == 1 for leaves in taxonomy.leaves[:-1])


@settings(deadline=None, max_examples=60)
@given(domain=INTEGERS | FLOATS, widths=WIDTHS, origin=st.sampled_from([0, 1, -2.5, 1000]))
def test_intervals(domain: Domain, widths: list[float], origin: float) -> None:
    check(Hierarchy.intervals(widths, origin=origin).bind(domain), domain)


@settings(deadline=None, max_examples=60)
@given(domain=INTEGERS | FLOATS, cuts=cut_lists())
def test_cut_points(domain: Domain, cuts: list[list[float]]) -> None:
    check(Hierarchy.intervals(cuts=cuts).bind(domain), domain)


@settings(deadline=None, max_examples=60)
@given(domain=DAYS | MOMENTS, levels=LEVELS)
def test_dates(domain: Domain, levels: list[str]) -> None:
    check(Hierarchy.dates(levels).bind(domain), domain)


@settings(deadline=None, max_examples=60)
@given(domain=TEXTS | INTEGERS, side=st.sampled_from(["left", "right"]), levels=st.none() | st.integers(1, 6))
def test_masking(domain: Domain, side: str, levels: int | None) -> None:
    check(Hierarchy.masking(side, levels=levels).bind(domain), domain)


@settings(deadline=None, max_examples=30)
@given(domain=TEXTS | INTEGERS | FLOATS | DAYS | MOMENTS)
def test_suppression_and_suggestions(domain: Domain) -> None:
    check(Hierarchy.suppression().bind(domain), domain)
    check(suggest(domain).bind(domain), domain)


@settings(deadline=None, max_examples=40)
@given(domain=domains(st.integers(0, 40).map(lambda i: f"v{i}"), pa.string()), extra=st.integers(0, 20))
def test_order(domain: Domain, extra: int) -> None:
    taxonomy = Hierarchy.order([f"v{i}" for i in range(41 + extra)]).bind(domain)
    check(taxonomy, domain)
    assert taxonomy.size == 41 + extra + domain.missing


@settings(deadline=None, max_examples=60)
@given(
    domain=domains(st.integers(0, 15), pa.int64()),
    parents=st.lists(st.integers(0, 3), min_size=16, max_size=16),
    above=st.lists(st.integers(0, 1), min_size=4, max_size=4),
)
def test_tables(domain: Domain, parents: list[int], above: list[int]) -> None:
    rows = [[leaf, f"p{parent}", f"q{above[parent]}", "*"] for leaf, parent in enumerate(parents)]
    taxonomy = Hierarchy.from_rows(rows).bind(domain)
    check(taxonomy, domain)
    assert taxonomy.size == 16 + domain.missing
