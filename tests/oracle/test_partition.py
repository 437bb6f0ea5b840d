"""Partitioning against its definition over rows in plain Python, and against brute force."""

from collections import Counter
from itertools import combinations, pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.errors import ParameterError
from references.mondrian import (
    Line,
    Names,
    Tree,
    allowable_cuts,
    loss_partition,
    relaxed_partition,
    size_bound,
    strict_partition,
)

quick = settings(deadline=None, max_examples=60)

number = st.integers(0, 7)
LEAVES = ("a", "b", "c", "d", "e")
PATHS = {"a": ("ab", "*"), "b": ("ab", "*"), "c": ("cde", "*"), "d": ("cde", "*"), "e": ("cde", "*")}
TREE = ind.Hierarchy.from_rows([(leaf, *path) for leaf, path in PATHS.items()])


def rows_of(width, *, most=40):
    return st.lists(st.tuples(*[number] * width), min_size=1, max_size=most)


vectors = st.integers(1, 4).flatmap(rows_of)


def released(rows, algorithm, k, *, hierarchies=None):
    """Return the release, and its classes as the original vectors of their rows."""
    names = [f"q{place}" for place in range(len(rows[0]))]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    table = pa.table({**columns, "key": list(range(len(rows)))})
    schema = ind.Schema(quasi=names, insensitive=["key"])
    release = ind.anonymize(table, schema, model=ind.KAnonymity(k), algorithm=algorithm, hierarchies=hierarchies or {})
    classes = {}
    for shown in release.table.to_pylist():
        classes.setdefault(tuple(shown[name] for name in names), []).append(shown["key"])
    return release, list(classes.values())


def strict_classes(rows, k, *, hierarchies=None):
    """Return the rows of every class; region bounds are different for every class, so none look alike."""
    return released(rows, ind.Mondrian(extent="region"), k, hierarchies=hierarchies)[1]


@quick
@given(vectors, st.integers(1, 6))
def test_strict_partitioning_is_its_definition(rows, k):
    k = min(k, len(rows))
    axes = [Line.of(column) for column in zip(*rows, strict=True)]
    expected = strict_partition(rows, axes, k=k)
    assert {frozenset(c) for c in strict_classes(rows, k)} == {frozenset(c) for c in expected}


@quick
@given(
    st.lists(
        st.tuples(st.sampled_from([*LEAVES, None]), number, st.sampled_from([None, 1, 2, 5])), min_size=1, max_size=30
    ),
    st.integers(1, 4),
)
def test_strict_partitioning_with_a_tree_and_missing_values_is_its_definition(rows, k):
    k = min(k, len(rows))
    if {row[0] for row in rows} == {None} or {row[2] for row in rows} == {None}:
        return
    paths = {**PATHS, None: (None, "*")} if any(row[0] is None for row in rows) else PATHS
    axes = [Tree(paths), Line.of(row[1] for row in rows), Line.of(row[2] for row in rows)]
    expected = strict_partition(rows, axes, k=k)
    _, found = released(rows, ind.Mondrian(), k, hierarchies={"q0": TREE})
    assert {frozenset(c) for c in found} == {frozenset(c) for c in expected}


word = st.sampled_from([*"uvwxyz", None])
mixed = st.lists(
    st.tuples(word, st.sampled_from(LEAVES), st.sampled_from([None, 1, 2, 5, 9]), number), min_size=1, max_size=40
)


@quick
@given(mixed, st.integers(1, 5), st.sampled_from([1, 2, 3, 5]))
def test_partitioning_by_loss_is_its_definition(rows, k, positions):
    k = min(k, len(rows))
    if {row[0] for row in rows} == {None} or {row[2] for row in rows} == {None}:
        return
    columns = list(zip(*rows, strict=True))
    axes = [Names.of(columns[0]), Tree(PATHS), Line.of(columns[2]), Line.of(columns[3])]
    expected = loss_partition(rows, axes, smallest=k, positions=positions, fits=lambda part: True)
    algorithm = ind.Mondrian(choose="loss", positions=positions)
    release, _ = released(rows, algorithm, k, hierarchies={"q1": TREE})
    assert located(release, rows) == {frozenset(part) for part in expected}


@quick
@given(st.lists(st.tuples(st.integers(0, 120), st.integers(0, 90)), min_size=60, max_size=120), st.integers(1, 5))
def test_partitioning_by_loss_with_many_values_is_its_definition(numbers, k):
    rows = [(f"t{first:03}", second, f"u{first * second % 97:02}") for first, second in numbers]
    columns = list(zip(*rows, strict=True))
    axes = [Names.of(columns[0]), Line.of(columns[1]), Names.of(columns[2])]
    expected = loss_partition(rows, axes, smallest=k, positions=3, fits=lambda part: True)
    release, _ = released(rows, ind.Mondrian(choose="loss", positions=3), k)
    assert located(release, rows) == {frozenset(part) for part in expected}


@quick
@given(mixed, st.integers(1, 3))
def test_partitioning_by_loss_for_another_model_is_its_definition(rows, l):
    ill = [f"s{number % 3}" for *_, number in rows]
    if len(set(ill)) < l or {row[0] for row in rows} == {None} or {row[2] for row in rows} == {None}:
        return
    columns = list(zip(*rows, strict=True))[:3]
    axes = [Names.of(columns[0]), Tree(PATHS), Line.of(columns[2])]
    table = pa.table({**{f"q{place}": column for place, column in enumerate(columns)}, "s": ill})
    schema = ind.Schema(quasi=["q0", "q1", "q2"], sensitive=["s"])
    model, algorithm = ind.DistinctLDiversity("s", l=l), ind.Mondrian(choose="loss")
    release = ind.anonymize(table, schema, model=model, algorithm=algorithm, hierarchies={"q1": TREE})
    rows = list(zip(*columns, strict=True))
    expected = loss_partition(
        rows, axes, smallest=1, positions=5, fits=lambda part: len({ill[row] for row in part}) >= l
    )
    assert located(release, rows) == {frozenset(part) for part in expected}


def test_partitioning_of_many_numbers_by_loss_is_its_definition():
    """Large parts are sorted by digits and small ones are not; both find the cuts of the definition."""
    random = np.random.default_rng(5)
    rows = np.stack(
        [random.normal(size=6_000), random.integers(0, 3_000, 6_000), random.exponential(size=6_000)], axis=1
    )
    rows[random.integers(0, 6_000, 40), 2] = np.nan
    table = pa.table({f"q{place}": pa.array(column, from_pandas=True) for place, column in enumerate(rows.T)})
    schema = ind.Schema(quasi=table.column_names)
    release = ind.anonymize(table, schema, model=ind.KAnonymity(4), algorithm=ind.Mondrian(choose="loss"))
    vectors = [tuple(None if np.isnan(cell) else cell for cell in row) for row in rows.tolist()]
    assert located(release, vectors) == {frozenset(part.tolist()) for part in numbers_by_loss(rows, k=4, positions=5)}


def numbers_by_loss(rows, *, k, positions):
    """Return the classes of strict partitioning of numbers by loss, by its definition."""
    spans = np.nanmax(rows, axis=0) - np.nanmin(rows, axis=0)
    ends = np.rint((rows - np.nanmin(rows, axis=0)) / spans * (1 << 24))
    values = np.where(np.isnan(rows), -np.inf, rows)  # missing is first in the order
    done, waiting = [], [np.arange(len(rows))]
    while waiting:
        part = waiting.pop()
        cuts = [
            (sum(len(side) * width(ends[side]) for side in sides), axis, turn, sides)
            for axis in range(rows.shape[1])
            for turn, sides in enumerate(cuts_of(values[:, axis], part, k=k, positions=positions))
        ]
        if cuts:
            waiting.extend(min(cuts, key=lambda cut: cut[:3])[3])
        else:
            done.append(part)
    return done


def width(ends):
    known = [column[~np.isnan(column)] for column in ends.T]
    return sum(column.max() - column.min() for column in known if len(column))


def cuts_of(values, part, *, k, positions):
    """Yield both sides of the cuts nearest to even shares of the rows, the middle first, none twice."""
    distinct, counts = np.unique(values[part], return_counts=True)
    reach = np.cumsum(counts)[:-1]
    allowed = (reach >= k) & (reach <= len(part) - k)
    reach, distinct = reach[allowed], distinct[:-1][allowed]
    taken = set()
    for share in (3, 4, 2, 5, 1) if len(reach) else ():
        nearest = int(np.abs(reach * (positions + 1) - share * len(part)).argmin())
        if nearest not in taken:
            taken.add(nearest)
            left = values[part] <= distinct[nearest]
            yield part[left], part[~left]


def located(release, rows):
    """Return the classes of a tree of cuts as sets of row numbers, even those that look alike."""
    columns = release.recoding.columns
    codes = []
    for place, column in enumerate(columns):
        domain = column.domain
        values = [None, *domain.values.to_pylist()] if domain.missing else domain.values.to_pylist()
        codes.append([int(column.ranks[values.index(row[place])]) for row in rows])
    class_ids = release.recoding.cuts.locate(np.array(codes, dtype=np.uint32).T)
    return {frozenset(np.flatnonzero(class_ids == label).tolist()) for label in set(class_ids.tolist())}


@quick
@given(vectors, st.integers(1, 6))
def test_relaxed_partitioning_is_its_definition(rows, k):
    k = min(k, len(rows))
    axes = [Line.of(column) for column in zip(*rows, strict=True)]
    expected = [Counter(rows[row] for row in part) for part in relaxed_partition(rows, axes, k=k)]
    release, _ = released(rows, ind.Mondrian(relaxed=True), k)
    cells = list(map(tuple, release.assignment.frequencies.vectors.tolist()))
    domains = [column.domain.values.to_pylist() for column in release.recoding.columns]
    found = {}
    pieces = release.recoding
    for cell, label, count in zip(
        pieces.cells.tolist(), pieces.class_ids.tolist(), pieces.counts.tolist(), strict=True
    ):
        vector = tuple(domain[code] for domain, code in zip(domains, cells[cell], strict=True))
        found.setdefault(label, Counter())[vector] += count
    assert sorted(map(sorted, (c.items() for c in found.values()))) == sorted(
        map(sorted, (c.items() for c in expected))
    )


@quick
@given(vectors, st.integers(1, 6))
def test_strict_classes_keep_the_size_bound_and_cannot_be_cut(rows, k):
    k = min(k, len(rows))
    for part in strict_classes(rows, k):
        assert k <= len(part) <= size_bound(rows, k=k)
        assert not allowable_cuts(rows, part, k=k)


@quick
@given(vectors, st.integers(1, 6))
def test_relaxed_classes_have_k_to_2k_less_one_rows(rows, k):
    k = min(k, len(rows))
    release, _ = released(rows, ind.Mondrian(relaxed=True), k)
    sizes = Counter()
    for label, count in zip(release.recoding.class_ids.tolist(), release.recoding.counts.tolist(), strict=True):
        sizes[label] += count
    assert min(sizes.values()) >= k
    assert max(sizes.values()) <= max(2 * k - 1, 1)


@quick
@given(vectors, st.integers(1, 6))
def test_relaxed_and_strict_keep_the_bounds_of_the_metrics(rows, k):
    k = min(k, len(rows))
    strict, _ = released(rows, ind.Mondrian(extent="region"), k)
    told = ind.measure(strict, ["discernibility", f"average-class-size:k={k}"])
    assert told["discernibility"] <= size_bound(rows, k=k) * len(rows)
    assert told["average-class-size"] <= size_bound(rows, k=k) / k


@quick
@given(st.lists(st.integers(0, 9), min_size=1, max_size=16), st.integers(1, 5))
def test_exact_single_dimensional_cuts_are_the_best_of_all(values, k):
    k = min(k, len(values))
    present = sorted(set(values))
    best = min(
        sum(size * size for size in sizes)
        for count in range(len(present))
        for chosen in combinations(range(1, len(present)), count)
        if min(sizes := segment_sizes(values, present, chosen)) >= k
    )
    _, classes = released([(value,) for value in values], ind.SingleDimensional(search="optimal"), k)
    assert sum(len(part) ** 2 for part in classes) == best


def segment_sizes(values, present, chosen):
    bounds = [0, *chosen, len(present)]
    return [sum(v in present[a:b] for v in values) for a, b in pairwise(bounds)]


few = st.integers(0, 3)
small_tables = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[few] * width), min_size=1, max_size=14))


def best_grid(rows, fits, *, allowed=0):
    """Return the smallest discernibility of all cuts of all columns: classes that do not fit are suppressed."""
    present = [sorted(set(column)) for column in zip(*rows, strict=True)]
    choices = [[set(some) for n in range(len(own)) for some in combinations(own[:-1], n)] for own in present]
    best = len(rows) ** 2 + 1
    for cuts in product(*choices):
        classes = {}
        for row, values in enumerate(rows):
            key = tuple(sum(cut < value for cut in own) for own, value in zip(cuts, values, strict=True))
            classes.setdefault(key, []).append(row)
        dropped = sum(len(part) for part in classes.values() if not fits(part))
        if dropped <= allowed:
            kept = sum(len(part) ** 2 for part in classes.values() if fits(part))
            best = min(best, kept + dropped * len(rows))
    return best


@quick
@given(small_tables, st.integers(1, 4), st.sampled_from([0, 1, 3, 6]))
def test_exact_cuts_of_several_columns_are_the_best_of_all(rows, k, allowed):
    k, allowed = min(k, len(rows)), min(allowed, len(rows) - 1)
    names = [f"q{place}" for place in range(len(rows[0]))]
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})
    release = ind.anonymize(
        table,
        ind.Schema(quasi=names),
        model=ind.KAnonymity(k),
        algorithm="single-dimensional:search=optimal,nodes=0",
        suppression=allowed / len(rows) + 1e-9,
    )
    best = best_grid(rows, lambda part: len(part) >= k, allowed=allowed)
    assert ind.measure(release, ["discernibility"])["discernibility"] == best
    assert (release.counters["proven"], release.counters["bound"], release.counters["gap"]) == (1, best, 0)


@quick
@given(small_tables, st.lists(st.sampled_from("abc"), min_size=14, max_size=14), st.integers(1, 3))
def test_exact_cuts_for_another_model_are_the_best_of_all(rows, drawn, l):
    ill = drawn[: len(rows)]
    if len(set(ill)) < l:
        return
    names = [f"q{place}" for place in range(len(rows[0]))]
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)} | {"s": ill})
    release = ind.anonymize(
        table,
        ind.Schema(quasi=names, sensitive=["s"]),
        model=ind.DistinctLDiversity("s", l=l),
        algorithm=ind.SingleDimensional(search="optimal", nodes=0),
    )
    best = best_grid(rows, lambda part: len({ill[row] for row in part}) >= l)
    assert ind.measure(release, ["discernibility"])["discernibility"] == best


@quick
@given(st.lists(st.tuples(st.sampled_from(LEAVES), few), min_size=2, max_size=14), st.integers(1, 4))
def test_exact_cuts_along_a_tree_are_published_apart(rows, k):
    k = min(k, len(rows))
    order = {leaf: rank for rank, leaf in enumerate(LEAVES)}
    release, classes = released(rows, ind.SingleDimensional(search="optimal", nodes=0), k, hierarchies={"q0": TREE})
    best = best_grid([(order[leaf], number) for leaf, number in rows], lambda part: len(part) >= k)
    assert sum(len(part) ** 2 for part in classes) == best
    assert release.counters["proven"] == 1


def grid_cost(rows, columns, k):
    _, classes = released([tuple(row[place] for place in columns) for row in rows], ind.SingleDimensional(), k)
    return sum(len(part) ** 2 for part in classes)


@quick
@given(st.integers(2, 4).flatmap(lambda width: rows_of(width, most=60)), st.integers(1, 5))
def test_greedy_cuts_are_no_worse_than_those_of_fewer_columns(rows, k):
    k, every = min(k, len(rows)), range(len(rows[0]))
    whole = grid_cost(rows, every, k)
    for count in range(1, len(every)):
        for some in combinations(every, count):
            assert whole <= grid_cost(rows, some, k)


def test_greedy_cuts_of_many_columns_are_no_worse_than_those_of_the_first_ones():
    dice = np.random.default_rng(3)
    rows = list(map(tuple, dice.integers(0, 5, (200, 11)).tolist()))
    costs = [grid_cost(rows, range(width), 4) for width in range(1, 12)]
    assert costs == sorted(costs, reverse=True)


@quick
@given(vectors, st.integers(1, 5))
def test_a_single_dimensional_result_is_a_grid_that_cannot_be_refined(rows, k):
    k = min(k, len(rows))
    release, classes = released(rows, ind.SingleDimensional(), k)
    assert min(map(len, classes)) >= k
    cuts = [intervals_of(release, place, rows) for place in range(len(rows[0]))]
    grid = Counter(tuple(cut[value] for cut, value in zip(cuts, row, strict=True)) for row in rows)
    assert sorted(grid.values()) == sorted(map(len, classes))
    for place, cut in enumerate(cuts):
        for last in sorted(set(cut))[:-1]:
            if cut[last] != cut[min(v for v in cut if v > last)]:
                continue  # there is a cut already
            finer = [(*(c[v] for c, v in zip(cuts, row, strict=True)), row[place] > last) for row in rows]
            assert min(Counter(finer).values()) < k


def intervals_of(release, place, rows):
    """Return the published value of every value of a column; neighbours that share it are not cut apart."""
    originals = [row[place] for row in rows]
    shown = {row["key"]: row[f"q{place}"] for row in release.table.to_pylist()}
    return {value: shown[key] for key, value in enumerate(originals)}


def test_the_exact_form_is_for_one_column():
    with pytest.raises(ParameterError) as refused:
        released([(1, 2), (3, 4)], ind.SingleDimensional(exact=True), 1)
    assert refused.value.parameter == "exact"
    with pytest.raises(ParameterError) as refused:
        ind.SingleDimensional(search="best")
    assert refused.value.parameter == "search"
    with pytest.raises(ParameterError) as refused:
        ind.SingleDimensional(nodes=5)
    assert refused.value.parameter == "nodes"
