"""MDAV against plain Python over rows, worked examples, blocks, and what is refused."""

from collections import Counter
from math import isnan, nan, sqrt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.cluster import mdav
from indistinct.hierarchy import Hierarchy

JOBS = {"a": "left", "b": "left", "c": "right"}
TREE = Hierarchy.tree({"*": {"left": ["a", "b"], "right": ["c"]}})


def names_apart(one, other):
    return 0.0 if one == other else 0.5 if JOBS[one] == JOBS[other] else 1.0


def rows_apart(one, other, deviations):
    total = 0.0
    for x, y, deviation in zip(one[0], other[0], deviations, strict=True):
        if isnan(x) or isnan(y):
            total += 2.0 if isnan(x) != isnan(y) else 0.0
        else:
            apart = (x - y) * (1 / deviation if deviation else 0.0)
            total += apart * apart
    for x, y in zip(one[1], other[1], strict=True):
        total += names_apart(x, y) ** 2
    return total


def centre_of(rows):
    numbers = []
    for column in zip(*(row[0] for row in rows), strict=True):
        known = [x for x in column if not isnan(x)]
        numbers.append(sum(known) / len(known) if known and 2 * len(known) >= len(rows) else nan)
    names = []
    for column in zip(*(row[1] for row in rows), strict=True):
        totals = {x: sum(names_apart(x, y) for y in column) for x in set(column)}
        names.append(min(sorted(totals), key=lambda x, totals=totals: totals[x]))
    return numbers, names


def reference_classes(rows, k):
    """Return the classes of rows in canonical order, one by one as the paper has it."""
    deviations = []
    for column in zip(*(row[0] for row in rows), strict=True):
        known = [x for x in column if not isnan(x)]
        mean = sum(known) / len(known) if known else 0.0
        deviations.append(sqrt(sum((x - mean) ** 2 for x in known) / len(known)) if known else 0.0)
    left, classes = list(range(len(rows))), []

    def take(r):
        nearest = sorted(left, key=lambda i: (rows_apart(rows[i], rows[r], deviations), rows[i][2]))[:k]
        classes.append(nearest)
        for i in nearest:
            left.remove(i)

    def farthest(point):
        return max(left, key=lambda i: (rows_apart(rows[i], point, deviations), [-c for c in rows[i][2]]))

    while len(left) >= 3 * k:
        r = farthest(centre_of([rows[i] for i in left]))
        take(r)
        take(farthest(rows[r]))
    if len(left) >= 2 * k:
        take(farthest(centre_of([rows[i] for i in left])))
    return [*classes, left] if left else classes


number = st.one_of(st.none(), st.integers(0, 6))


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(number, st.integers(0, 3), st.sampled_from("abc")), min_size=4, max_size=24),
    k=st.integers(2, 4),
)
def test_classes_are_those_of_the_rows_one_by_one(rows, k):
    names = ["x", "y", "job"]
    table = pa.table(
        {
            "x": pa.array([row[0] for row in rows], pa.int64()),
            "y": pa.array([row[1] for row in rows], pa.int64()),
            "job": [row[2] for row in rows],
        }
    )
    if table["x"].null_count == len(rows):
        return
    release = ind.anonymize(
        table, ind.Schema(quasi=names), model=ind.KAnonymity(k), algorithm="mdav", hierarchies={"job": TREE}
    )
    values = sorted({row[0] for row in rows if row[0] is not None})
    canonical = sorted(
        (
            ([nan if x is None else float(x), float(y)], [job], [-1 if x is None else values.index(x), y, ord(job)])
            for x, y, job in rows
        ),
        key=lambda row: row[2],
    )
    expected = sorted(len(each) for each in reference_classes(canonical, k))
    shown = Counter()
    for each in reference_classes(canonical, k):
        members = [canonical[i] for i in each]
        xs = [row[0][0] for row in members]
        shown[
            (
                min((x for x in xs if not isnan(x)), default=None),
                max((x for x in xs if not isnan(x)), default=None),
                any(map(isnan, xs)),
                min(row[0][1] for row in members),
                max(row[0][1] for row in members),
            )
        ] += len(each)
    bounds = ind.anonymize(
        table,
        ind.Schema(quasi=names),
        model=ind.KAnonymity(k),
        algorithm="mdav:numeric=bounds",
        hierarchies={"job": TREE},
    ).table.to_pylist()
    absent = [row.get("x_missing", False) for row in bounds]
    got = Counter(
        (row["x_min"], row["x_max"], missing, row["y_min"], row["y_max"])
        for row, missing in zip(bounds, absent, strict=True)
    )
    assert got == shown
    assert release.certificate.holds
    assert min(expected) >= k or len(rows) < k


def classes_of(values, *, k, **options):
    table = pa.table({"x": values})
    release = ind.anonymize(table, ind.Schema(quasi=["x"]), model=ind.KAnonymity(k), algorithm=ind.MDAV(**options))
    return Counter(release.table["x"].to_pylist())


def test_a_worked_example():
    """Mean 4.5: 11 is farthest, with 10; farthest from 11 is 0, with 1. Of 2, 3, 4, 5 the first of 2 and 5, with 3."""
    assert classes_of([0, 1, 2, 3, 4, 5, 10, 11], k=2) == {"[10-11]": 2, "[0-1]": 2, "[2-3]": 2, "[4-5]": 2}


def test_means_are_published():
    assert classes_of([0, 1, 2, 3, 4, 5, 10, 11], k=2, numeric="mean") == {10.5: 2, 0.5: 2, 2.5: 2, 4.5: 2}


def test_equal_rows_part_unless_they_stay_whole():
    values = [0, 0, 0, 1, 9, 9]
    assert classes_of(values, k=2) == {"9": 2, "0": 2, "[0-1]": 2}
    assert classes_of(values, k=2, split=False) == {"9": 2, "[0-1]": 4}


def test_fewer_than_two_classes_worth_of_rows_are_one_class():
    assert classes_of([1, 2, 5], k=2) == {"[1-5]": 3}


def test_k_above_the_rows_is_infeasible():
    with pytest.raises(ind.InfeasibleError, match="k = 4"):
        classes_of([1, 2, 3], k=4)


def test_important_columns_decide_what_is_near():
    table = pa.table({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]})
    for column in "xy":
        release = ind.anonymize(
            table, ind.Schema(quasi=["x", "y"]), model=ind.KAnonymity(2), algorithm=ind.MDAV(importance={column: 5})
        )
        assert set(map(str, release.table[column].to_pylist())) == {"0", "1"}
    with pytest.raises(ind.ParameterError, match="above 0"):
        ind.MDAV(importance={"x": 0})


def test_large_tables_are_cut_in_blocks_at_medians(monkeypatch):
    monkeypatch.setattr(mdav, "MAX_BLOCK_ROWS", 40)
    draw = np.random.default_rng(1)
    table = pa.table({"x": draw.integers(0, 1000, 150), "y": draw.integers(0, 50, 150)})
    release = ind.anonymize(table, ind.Schema(quasi=["x", "y"]), model=ind.KAnonymity(3), algorithm="mdav")
    sizes = Counter(tuple(row.values()) for row in release.table.to_pylist()).values()
    assert release.certificate.holds
    assert (min(sizes), sum(sizes)) == (3, 150)
    assert all(size % 3 == 0 or size < 6 for size in sizes)


def test_other_models_unite_the_nearest_classes():
    values = [0, 1, 2, 3, 10, 11, 12, 13]
    table = pa.table({"x": values, "s": ["a", "a", "b", "b", "a", "b", "a", "b"]})
    release = ind.anonymize(
        table,
        ind.Schema(quasi=["x"], sensitive=["s"]),
        model=ind.KAnonymity(2) & ind.DistinctLDiversity("s", l=2),
        algorithm="mdav",
    )
    assert Counter(release.table["x"].to_pylist()) == {"[0-3]": 4, "[10-11]": 2, "[12-13]": 2}


def test_recodings_of_whole_cells_fit_other_tables():
    table, schema = pa.table({"x": [0, 0, 1, 1, 9, 9]}), ind.Schema(quasi=["x"])
    kept = ind.anonymize(table, schema, model=ind.KAnonymity(2), algorithm="mdav:split=false").recoding
    again = ind.apply(kept, pa.table({"x": [9, 9, 9, 1, 1, 0, 0]}))
    assert Counter(again.table["x"].to_pylist()) == {9: 3, 0: 2, 1: 2}
    parted = ind.anonymize(table, schema, model=ind.KAnonymity(2), algorithm="mdav").recoding
    assert kept.reusable
    assert not parted.reusable
