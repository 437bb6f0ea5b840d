"""The fewest stars: the integer program against all partitions of the rows, and what a star means."""

import math
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.full_domain import fewest_stars
from indistinct.algorithms.full_domain.fewest_stars import StarSolution, StarTable, is_valid, solve
from indistinct.frequencies.compatible_rows import compatible_rows, fewest_compatible


def least_cost(rows, weights, *, k, budget):
    """Return what the best partition costs: in a group every column is starred in which its rows differ.

    All partitions are looked at: of the rows that are left, the first is dropped, or any group that has it is made.
    """
    groups = {}
    for group in range(1, 1 << len(rows)):
        inside = [row for place, row in enumerate(rows) if group >> place & 1]
        if len(inside) >= k:
            differing = zip(weights, zip(*inside, strict=True), strict=True)
            groups[group] = len(inside) * sum(w for w, column in differing if len(set(column)) > 1)

    @cache
    def least(left, drops, published):
        if not left:
            return 0 if published else math.inf
        first = left & -left
        best = sum(weights) + least(left ^ first, drops - 1, published) if drops else math.inf
        rest = others = left ^ first
        while True:
            if (group := first | others) in groups:
                best = min(best, groups[group] + least(left ^ group, drops, True))
            if not others:
                return best
            others = (others - 1) & rest

    return least((1 << len(rows)) - 1, budget, False)


TEN = [(0, 0, 0), (0, 1, 2), (1, 1, 0), (2, 0, 1), (2, 2, 2), (1, 0, 2), (0, 2, 1), (1, 2, 0), (2, 1, 1), (0, 0, 2)]


@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=2, max_size=10),
    weights=st.tuples(*[st.sampled_from([1, 2, 3])] * 3),
    k=st.integers(2, 3),
    budget=st.integers(0, 2),
)
@example(rows=TEN, weights=(1, 1, 1), k=3, budget=0)
@example(rows=TEN, weights=(3, 1, 2), k=3, budget=1)
@example(rows=TEN, weights=(1, 2, 2), k=2, budget=2)
def test_the_integer_program_finds_what_all_partitions_find(rows, weights, k, budget):
    if len(rows) < k:
        return
    names = ["a", "b", "c"]
    table = pa.table(dict(zip(names, ([f"v{v}" for v in column] for column in zip(*rows, strict=True)), strict=True)))
    algorithm = ind.CellSuppression(search="optimal", importance=dict(zip(names, weights, strict=True)), nodes=0)
    release = ind.anonymize(
        table, ind.Schema(quasi=names), model=ind.KAnonymity(k), algorithm=algorithm, suppression=f"{budget} rows"
    )
    shown = [tuple(row.values()) for row in release.table.to_pylist()]
    cost = sum(w for row in shown for w, value in zip(weights, row, strict=True) if value == "*")
    cost += (len(rows) - len(shown)) * sum(weights)
    assert release.counters["proven"]
    assert cost == release.explanation.loss == least_cost(rows, weights, k=k, budget=min(budget, len(rows) - 1))
    assert min(shown.count(row) for row in shown) >= k


def table_of(rows, *, k, budget=0):
    values, counts = np.unique(np.array(rows), axis=0, return_counts=True)
    return StarTable(values, counts, np.ones(values.shape[1], dtype=np.int64), 1, k, budget)


def all_stars(table):
    cells = np.arange(len(table.values))
    stars = np.tile((table.values != table.values[0]).any(axis=0), (len(cells), 1))
    return StarSolution(cells, table.counts, stars, np.zeros(len(cells), dtype=bool))


def test_equal_rows_part_where_that_saves_stars():
    table = table_of([(0,), (0,), (0,), (1,)], k=2)
    best, proof = solve(table, all_stars(table), nodes=0, seconds=None)
    assert (proof.best, proof.proven) == (2, True)
    assert is_valid(table, best)


def test_a_bound_is_each_rows_way_to_its_neighbours():
    # Distances to the nearest other row: 1, 1 and 2, by hand.
    assert table_of([(0, 0), (0, 1), (1, 2)], k=2).floors.tolist() == [1, 1, 2]
    assert table_of([(0, 0), (0, 1), (1, 2)], k=2).bound == 4


def test_a_table_too_large_for_a_proof_keeps_its_start_and_a_gap(monkeypatch):
    monkeypatch.setattr(fewest_stars, "MAX_CELL_VISITS", 1)
    table = table_of([(0, 0), (0, 1), (1, 0), (1, 2)], k=2)
    _, proof = solve(table, all_stars(table), nodes=0, seconds=None)
    assert (proof.best, proof.bound, proof.proven) == (8, 4, False)
    assert "not proven" in proof.sentence()


def test_a_search_that_is_stopped_prints_its_gap():
    draw = np.random.default_rng(3)
    table = pa.table({name: [f"v{v}" for v in draw.integers(0, 4, 60)] for name in "abcd"})
    release = ind.anonymize(
        table,
        ind.Schema(quasi=list("abcd")),
        model=ind.KAnonymity(3),
        algorithm="cell-suppression:search=optimal,nodes=1",
    )
    assert release.certificate.holds
    assert release.counters["bound"] <= release.explanation.proof.best
    assert ("gained" in str(release.explanation)) == (not release.counters["proven"])


def test_a_star_that_matches_everything_counts_more_rows_than_hide_anybody():
    """Published (a, *) and (a, y) count two rows each, yet who knows (a, x) finds one row."""
    values, counts = np.array([[0, 0], [0, 1]]), np.array([1, 1])
    stars = np.array([[False, True], [False, False]])
    assert compatible_rows(values, stars, counts).tolist() == [2, 2]
    release = ind.anonymize(
        pa.table({"a": ["a", "a"], "b": ["x", "y"]}),
        ind.Schema(quasi=["a", "b"]),
        model=ind.KAnonymity(2),
        algorithm="cell-suppression:search=optimal",
    )
    assert release.table.to_pylist() == [{"a": "a", "b": "*"}] * 2


@pytest.mark.parametrize("search", ["greedy", "optimal"])
def test_a_starred_release_tells_the_count_of_sdcmicro_beside_its_own(search):
    draw = np.random.default_rng(8)
    table = pa.table({name: draw.choice(["x", "y", "z"], 60, p=[0.8, 0.1, 0.1]) for name in "abc"})
    release = ind.anonymize(
        table,
        ind.Schema(quasi=list("abc")),
        model=ind.KAnonymity(3),
        algorithm=f"cell-suppression:search={search}",
        hierarchies={name: ind.Hierarchy.suppression() for name in "abc"},
        suppression=1.0 if search == "greedy" else 0,
    )
    rows = [tuple(row.values()) for row in release.table.to_pylist()]
    assert any("*" in row for row in rows)
    fits = [sum(all(a == b or "*" in (a, b) for a, b in zip(x, y, strict=True)) for y in rows) for x in rows]
    (told,) = release.explanation.notes
    assert f"each row fits at least {min(fits)} rows; that is no promise" in told
    assert told in str(release.explanation)
    assert release.explanation.to_json()["notes"] == [told]
    assert release.counters["stars"] == sum(row.count("*") for row in rows)


@settings(max_examples=40)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=12), st.data())
def test_what_fits_is_counted_as_pairs_of_rows_are_compared(rows, data):
    """Of values 0 to 2 a 2 is a star, and every row stands some times."""
    values, counts = np.array(rows), np.array([data.draw(st.integers(1, 3)) for _ in rows])

    def fits(one, other):
        return all(a == b or 2 in (a, b) for a, b in zip(one, other, strict=True))

    expected = [sum(int(n) for y, n in zip(rows, counts, strict=True) if fits(x, y)) for x in rows]
    assert compatible_rows(values, values == 2, counts).tolist() == expected
    assert fewest_compatible(values, values == 2, counts) == (min(expected) if (values == 2).any() else None)


def test_fitting_k_rows_is_no_class_of_k_rows():
    """True (a, x) (a, x) (a, y), published (a, *) (a, *) (a, y): every vector fits two rows, but the last row one."""
    stars = np.array([[False, True], [False, True], [False, False]])
    values = np.array([[0, 0], [0, 0], [0, 1]])
    assert compatible_rows(values, stars, np.ones(3, dtype=int)).tolist() == [3, 3, 3]
    schema = ind.Schema(quasi=["a", "b"])
    shown = pa.table({"a": ["a"] * 3, "b": ["*", "*", "y"]})
    assert not ind.verify(shown, schema, model=ind.KAnonymity(2)).holds


def test_models_that_ask_for_more_than_rows_are_refused_by_name():
    table = pa.table({"a": ["x", "x", "y"], "s": ["1", "2", "3"]})
    with pytest.raises(ind.ParameterError, match="counts rows alone"):
        ind.anonymize(
            table,
            ind.Schema(quasi=["a"], sensitive=["s"]),
            model=ind.DistinctLDiversity("s", l=2),
            algorithm="cell-suppression:search=optimal",
        )


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"search": "best"}, "search"),
        ({"search": "optimal", "nodes": -1}, "nodes"),
        ({"search": "optimal", "seconds": 0.0}, "seconds"),
        ({"nodes": 5}, "nodes"),
        ({"importance": {"a": 0}}, "importance"),
    ],
)
def test_parameters_are_checked(arguments, named):
    with pytest.raises(ind.ParameterError) as caught:
        ind.CellSuppression(**arguments)
    assert caught.value.parameter == named
