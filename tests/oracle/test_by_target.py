"""Partitioning by targets against its definition over rows in plain Python, and what it refuses."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.errors import ParameterError, SchemaError
from references.mondrian import Line, Names, Tree, entropy, loss_partition, squared_deviation

quick = settings(deadline=None, max_examples=60)
LEAVES = ("a", "b", "c", "d", "e")
PATHS = {"a": ("ab", "*"), "b": ("ab", "*"), "c": ("cde", "*"), "d": ("cde", "*"), "e": ("cde", "*")}
TREE = ind.Hierarchy.from_rows([(leaf, *path) for leaf, path in PATHS.items()])
number = st.integers(0, 9)
rows_of = st.tuples(st.sampled_from("uvwxyz"), st.sampled_from(LEAVES), st.sampled_from([None, 1, 2, 5, 9]), number)
people = st.lists(
    st.tuples(rows_of, st.sampled_from(["yes", "no", None]), st.sampled_from(["*", "=x", "-0.0"]), number | st.none()),
    min_size=1,
    max_size=40,
)


def axes_of(rows):
    columns = list(zip(*rows, strict=True))
    return [Names.of(columns[0]), Tree(PATHS), Line.of(columns[2]), Line.of(columns[3])]


def released(rows, targets, k, *, model=None, **parameters):
    names = [f"q{place}" for place in range(len(rows[0]))]
    table = pa.table({**dict(zip(names, zip(*rows, strict=True), strict=True)), **targets})
    schema = ind.Schema(quasi=names, sensitive=[name for name in targets if name not in names])
    algorithm = ind.Mondrian(**parameters)
    return ind.anonymize(table, schema, model=model or ind.KAnonymity(k), algorithm=algorithm, hierarchies={"q1": TREE})


def located(release, rows):
    """Return the classes of a tree of cuts as sets of row numbers, even those that look alike."""
    codes = []
    for place, column in enumerate(release.recoding.columns):
        values = [*([None] if column.domain.missing else []), *column.domain.values.to_pylist()]
        codes.append([int(column.ranks[values.index(row[place])]) for row in rows])
    class_ids = release.recoding.cuts.locate(np.array(codes, dtype=np.uint32).T)
    return {frozenset(np.flatnonzero(class_ids == label).tolist()) for label in set(class_ids.tolist())}


def is_possible(rows, *, k):
    return len(rows) >= k and any(row[2] is not None for row in rows)


@quick
@given(people, st.integers(1, 5), st.sampled_from([1, 3, 5]), st.booleans())
def test_cuts_by_information_gain_are_their_definition(people, k, positions, several):
    rows = [row for row, *_ in people]
    if not is_possible(rows, k=k):
        return
    targets = {"ill": [each[1] for each in people], "mark": [each[2] for each in people]}
    if all(value is None for value in targets["ill"]):
        return
    names = ["ill", "mark"] if several else ["ill"]
    expected = loss_partition(
        rows,
        axes_of(rows),
        smallest=k,
        positions=positions,
        fits=lambda part: True,
        mixed=lambda part: sum(entropy([targets[name][row] for row in part]) for name in names),
    )
    release = released(rows, targets, k, choose="information-gain", target=names, positions=positions)
    assert located(release, rows) == {frozenset(part) for part in expected}
    assert release.certificate.holds


@quick
@given(people, st.integers(1, 5), st.booleans())
def test_cuts_by_variance_are_their_definition(people, k, several):
    rows = [row for row, *_ in people]
    if not is_possible(rows, k=k):
        return
    pay = [each[3] for each in people]
    targets = {"pay": pay, "hours": [row[3] * row[3] - 3 for row in rows]}
    if all(value is None for value in pay):
        return
    names = ["pay", "hours"] if several else ["pay"]
    whole = {name: squared_deviation(targets[name]) for name in names}
    known = {name: sum(value is not None for value in targets[name]) for name in names}

    def mixed(part):
        return sum(
            squared_deviation([targets[name][row] for row in part]) * known[name] / whole[name]
            for name in names
            if whole[name]
        )

    expected = loss_partition(rows, axes_of(rows), smallest=k, positions=5, fits=lambda part: True, mixed=mixed)
    release = released(rows, targets, k, choose="variance", target=names)
    assert located(release, rows) == {frozenset(part) for part in expected}


@quick
@given(people, st.integers(1, 3))
def test_a_target_that_is_a_quasi_identifier_is_cut_last(people, k):
    rows = [row for row, *_ in people]
    if not is_possible(rows, k=k):
        return
    expected = loss_partition(
        rows,
        axes_of(rows),
        smallest=k,
        positions=5,
        fits=lambda part: True,
        mixed=lambda part: entropy([rows[row][1] for row in part]),
        last=(1,),
    )
    release = released(rows, {}, k, choose="information-gain", target=["q1"])
    assert located(release, rows) == {frozenset(part) for part in expected}


@quick
@given(people, st.integers(1, 3))
def test_cuts_for_another_model_are_their_definition(people, l):
    rows = [row for row, *_ in people]
    marks = [each[2] for each in people]
    if not is_possible(rows, k=1) or len(set(marks)) < l:
        return
    expected = loss_partition(
        rows,
        axes_of(rows),
        smallest=1,
        positions=5,
        fits=lambda part: len({marks[row] for row in part}) >= l,
        mixed=lambda part: entropy([marks[row] for row in part]),
    )
    release = released(
        rows, {"mark": marks}, 1, model=ind.DistinctLDiversity("mark", l=l), choose="information-gain", target="mark"
    )
    assert located(release, rows) == {frozenset(part) for part in expected}


@pytest.fixture(scope="module")
def table():
    dice = np.random.default_rng(5)
    rows = 400
    age, town = dice.integers(18, 80, rows), dice.choice(["*", "=x", "Oslo", "Bergen"], rows)
    days = pa.array(dice.integers(10_000, 12_000, rows).astype(np.int32)).cast(pa.date32())
    return pa.table(
        {
            "age": age,
            "town": town,
            "pay": pa.array([None if dice.random() < 0.1 else float(a * 100 + dice.normal(0, 300)) for a in age]),
            "since": days,
            "ill": np.where((age > 50) ^ (dice.random(rows) < 0.1), "flu", "cold"),
        }
    )


SCHEMA = ind.Schema(quasi=["age", "town"], sensitive=["ill"], insensitive=["pay", "since"])


def published(table, algorithm, **more):
    return ind.anonymize(table, SCHEMA, model="k-anonymity:k=8", algorithm=algorithm, seed=2, **more)


def shown(release):
    return sorted(map(str, release.table.to_pylist()))


def test_the_target_of_the_job_is_that_of_the_search(table):
    own = published(table, "mondrian:choose=information-gain,target=ill")
    assert shown(published(table, "mondrian:choose=information-gain", target="ill")) == shown(own)
    assert own.certificate.algorithm == "mondrian:choose=information-gain,target=ill"
    several = published(table, ind.Mondrian(choose="variance", target=("pay", "since")))
    assert several.certificate.algorithm == "mondrian:choose=variance,target=pay|since"
    assert several.certificate.holds


def test_pure_parts_are_cut_by_loss(table):
    constant = table.set_column(4, "ill", pa.array(["flu"] * table.num_rows))
    by_target = published(constant, "mondrian:choose=information-gain,target=ill")
    assert shown(by_target) == shown(published(constant, "mondrian:choose=loss"))


@pytest.mark.parametrize("missing", ["value", "pattern"])
@pytest.mark.parametrize("algorithm", ["choose=information-gain,target=ill", "choose=variance,target=pay"])
def test_duckdb_finds_the_same(table, tmp_path, algorithm, missing):
    path = tmp_path / "table.parquet"
    pq.write_table(table, path, row_group_size=37)
    spec = f"mondrian:{algorithm},missing={missing}"
    assert shown(published(path, spec, engine="duckdb")) == shown(published(table, spec))


def test_dates_are_numbers_and_regions_have_no_sets(table):
    release = published(table, "mondrian:choose=variance,target=since,extent=region")
    assert release.certificate.holds
    again = ind.apply(release.recoding, table, model="k-anonymity:k=8", seed=2)
    assert shown(again) == shown(release)


def test_rows_in_another_order_and_doubled_rows_are_cut_alike(table):
    spec = "mondrian:choose=variance,target=pay"
    turned = table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows)))
    assert shown(published(turned, spec)) == shown(published(table, spec))
    twice = ind.anonymize(pa.concat_tables([table, table]), SCHEMA, model="k-anonymity:k=16", algorithm=spec)
    assert shown(twice) == sorted([*shown(published(table, spec)), *shown(published(table, spec))])


def test_people_are_searched(table):
    persons = table.append_column("id", pa.array([f"p{index // 2}" for index in range(table.num_rows)]))
    schema = ind.Schema(quasi=["age", "town"], sensitive=["ill"], insensitive=["pay", "since"], person=["id"])
    made = ind.anonymize(persons, schema, model="k-anonymity:k=5", algorithm="mondrian:choose=variance,target=pay")
    assert made.certificate.holds


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        ("choose=variance,target=ill", ParameterError, "'ill' is not"),
        ("choose=variance,target=town", ParameterError, "'town' is not"),
        ("choose=information-gain", ParameterError, "is needed where choose=information-gain"),
        ("choose=information-gain,target=nobody", SchemaError, "does not name it"),
        ("target=ill", ParameterError, "is not looked at where choose=width"),
        ("choose=loss,target=ill", ParameterError, "is not looked at where choose=loss"),
        ("choose=variance,target=pay,relaxed=true", ParameterError, "must be width when it is relaxed"),
    ],
)
def test_what_cannot_be_searched_is_refused(table, spec, error, words):
    with pytest.raises(error, match=words):
        published(table, f"mondrian:{spec}")


def test_a_target_that_no_release_shows_is_refused(table):
    schema = ind.Schema(quasi=["age", "town"], identifiers=["pay", "since"], sensitive=["ill"])
    algorithm = ind.Mondrian(choose="variance", target="pay")
    with pytest.raises(SchemaError, match="no release shows it"):
        ind.anonymize(table, schema, model="k-anonymity:k=8", algorithm=algorithm)


def test_one_row_and_one_value():
    one = pa.table({"age": [30], "day": [datetime.date(2024, 1, 1)]})
    schema = ind.Schema(quasi=["age"], insensitive=["day"])
    made = ind.anonymize(one, schema, model="k-anonymity:k=1", algorithm="mondrian:choose=variance,target=day")
    assert made.table.num_rows == 1
