"""People and rows that are unique on published values, counted by definition on small tables."""

from itertools import chain, combinations
from unittest import mock

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.engines import open_source
from indistinct.frequencies import singled_out as counting
from indistinct.frequencies.count import Request
from indistinct.frequencies.singled_out import count_apart, singled_out, without_class
from indistinct.frequencies.value import CLASS

ZONES = {"a": "north", "b": "north", "c": "south", "d": "south", "e": "west"}
TOWNS = ind.Hierarchy.from_rows([(town, zone, "*") for town, zone in ZONES.items()])


def powerset(names):
    return chain.from_iterable(combinations(names, size) for size in range(1, len(names) + 1))


def alone_on(rows, names, whose):
    """Return the members who have values in some columns that no other member has."""
    found = set()
    for row in rows:
        same = {other[whose] for other in rows if all(other[name] == row[name] for name in names)}
        found |= {row[whose]} if len(same) == 1 else set()
    return found


def alone_on_any(rows, names, whose):
    """Return the members who are unique on any set of columns."""
    return set().union(*(alone_on(rows, some, whose) for some in powerset(names)))


# Codes


@st.composite
def coded(draw):
    rows = draw(st.integers(1, 12))
    columns = draw(st.integers(1, 4))
    cells = st.lists(st.integers(0, 3), min_size=rows, max_size=rows)
    table = {f"c{place}": draw(cells) for place in range(columns)}
    return table, draw(cells), draw(cells)


@settings(deadline=None)
@given(coded(), st.booleans(), st.booleans(), st.booleans(), st.sampled_from([0, 1 << 21]))
def test_members_alone_are_those_of_the_definition(drawn, people, with_class, compiled, largest):
    table, owners, classes = drawn
    rows = [
        {name: cells[place] for name, cells in table.items()}
        | {"owner": owners[place] if people else place, "class": classes[place]}
        for place in range(len(owners))
    ]
    codes = {name: np.array(cells, dtype=np.uint8) for name, cells in table.items()}
    whose = np.array([row["owner"] for row in rows])
    dense = np.unique(whose, return_inverse=True)[1]
    members = len(set(whose.tolist()))
    with mock.patch.multiple(counting, is_large=lambda _rows: compiled, LARGEST_TABLE=largest):
        found = singled_out(
            codes, dense, members=members, people=people, classes=np.array(classes) if with_class else None
        )
    names = (*table, *(["class"] if with_class else []))
    # Whoever is unique on the class alone is unique on it with every column.
    expected = alone_on_any(rows, names, "owner")
    assert (found.least, found.most) == (len(expected), len(expected))
    for key, count in found.by_columns.items():
        own = (*without_class(key), *(["class"] if CLASS in key else []))
        assert count == len(alone_on(rows, own, "owner")) > 0
    if expected and not with_class:  # sets that are named explain somebody
        assert found.by_columns


@settings(deadline=None)
@given(coded(), st.booleans())
def test_sets_counted_by_queries_agree(drawn, with_class):
    table, _, classes = drawn
    rows = [{name: cells[place] for name, cells in table.items()} | {"owner": place} for place in range(len(classes))]
    rows = [row | {"class": one} for row, one in zip(rows, classes, strict=True)]
    found = count_apart(
        list(table), len(rows), lambda names: len(alone_on(rows, names, "owner")), classes=["class"] * with_class
    )
    expected = alone_on_any(rows, (*table, *(["class"] if with_class else [])), "owner")
    assert found.least == found.most == len(expected)


# Tables


@st.composite
def people_with_rows(draw):
    """Draw people with several rows each, with missing values in every column, and zones that are suppressed."""
    whole = draw(st.lists(st.tuples(st.integers(0, 6), st.sampled_from("abcde")), min_size=3, max_size=14))
    value = st.sampled_from([None, "x", "y", "z"])
    amount = st.sampled_from([None, 0.0, -0.0, 1.5, 2.5])
    rows = [
        {"who": f"p{who}", "town": town, "ward": draw(value), "cost": draw(amount), "disease": draw(value)}
        for who, town in whole
    ]
    rows[0]["disease"] = "x"  # a sensitive column without any value is refused
    zones = sorted({ZONES[row["town"]] for row in rows})
    kept = draw(st.sets(st.sampled_from(zones), min_size=1))
    return rows, kept


SCHEMA = pa.schema(
    [
        ("who", pa.string()),
        ("town", pa.string()),
        ("ward", pa.string()),
        ("cost", pa.float64()),
        ("disease", pa.string()),
    ]
)


def published(rows, kept):
    """Return the table before, the release with zones in place of towns, and its rows with their people."""
    shown = [row | {"town": ZONES[row["town"]]} for row in rows if ZONES[row["town"]] in kept]
    before = pa.Table.from_pylist(rows, schema=SCHEMA)
    return before, pa.Table.from_pylist(shown, schema=SCHEMA).drop_columns(["who"]), shown


@settings(deadline=None, max_examples=60)
@given(people_with_rows(), st.sampled_from(["memory", "duckdb"]))
def test_people_with_suppressed_rows_are_counted_alike_under_every_role(drawn, engine):
    before, release, shown = published(*drawn)
    if engine == "duckdb":
        connection = duckdb.connect()
        before, release = connection.from_arrow(before), connection.from_arrow(release)
    insensitive = ind.Schema(person=["who"], quasi=["town"], insensitive=["ward", "cost", "disease"])
    found = ind.assess(release, insensitive, original=before, hierarchies={"town": TOWNS}).risk.published
    expected = alone_on_any(shown, ("town", "ward", "cost", "disease"), "who")
    assert (found.unit, found.members) == ("people", len({row["who"] for row in shown}))
    assert (found.least, found.most) == (len(expected), len(expected))
    for key, count in found.by_columns.items():
        names = (*without_class(key), *(["town"] if CLASS in key else []))
        assert count == len(alone_on(shown, names, "who"))
    sensitive = ind.Schema(person=["who"], quasi=["town"], sensitive=["disease"], insensitive=["ward", "cost"])
    risk = ind.assess(release, sensitive, original=before, hierarchies={"town": TOWNS}).risk
    assert risk.own_values == {"disease": len(alone_on(shown, ["disease"], "who"))}
    assert risk.published.least == len(alone_on_any(shown, ("town", "ward", "cost"), "who"))


@settings(deadline=None, max_examples=60)
@given(people_with_rows())
def test_rows_are_counted_alike_with_a_population_and_without_roles(drawn):
    before, release, shown = published(*drawn)
    numbered = [row | {"row": place} for place, row in enumerate(shown)]
    schema = ind.Schema(identifiers=["who"], quasi=["town"], sensitive=["disease"], insensitive=["ward"])
    given = {"hierarchies": {"town": TOWNS}}
    for known in ({}, {"original": before}, {"original": before, "population": before}):
        risk = ind.assess(release, schema, **given, **known).risk
        assert risk.published.columns == ("ward", "cost")  # a column without a role is published as well
        assert risk.published.least == len(alone_on_any(numbered, ("town", "ward", "cost"), "row"))
        assert risk.own_values == {"disease": len(alone_on(numbered, ["disease"], "row"))}


@settings(deadline=None, max_examples=60)
@given(people_with_rows())
def test_bounds_contain_the_people_whose_rows_are_not_known(drawn):
    """A release that was made here does not keep which person has which unmodified values."""
    rows, _ = drawn
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    schema = ind.Schema(person=["who"], quasi=["town"], sensitive=["disease"], insensitive=["ward", "cost"])
    release = ind.anonymize(
        table, schema, model="k-anonymity:k=1", algorithm="optimal", hierarchies={"town": TOWNS}, suppression=0.3
    )
    known = ind.assess(release, original=table, hierarchies={"town": TOWNS}).risk
    hidden = ind.assess(release).risk
    assert known.published.exact
    assert hidden.published.least <= known.published.least <= hidden.published.most
    assert known.own_values["disease"] <= hidden.own_values["disease"]


@pytest.mark.parametrize("most", [counting.MOST_CELLS, 0])
@pytest.mark.parametrize("person", [(), ("who",)])
def test_engines_count_classes_alike(monkeypatch, person, most):
    monkeypatch.setattr("indistinct.engines.groups.MOST_CELLS", most)
    table = pa.table(
        {
            "who": ["a", "a", "b", "c", "d"],
            "age": [None, "1", "1", "2", "2"],
            "ward": ["x", "x", "y", "y", None],
            "cost": [1.5, 1.5, 2.0, 2.0, float("nan")],
        }
    )
    asked = Request((), person=person, published_columns=("ward", "cost"), class_columns=("age",), published=True)
    memory, inside = open_source(table)
    engine, source = open_source(duckdb.connect().from_arrow(table))
    exact, found = memory.count(inside, asked).singled_out, engine.count(source, asked).singled_out
    assert exact.exact
    assert exact.least == (4 if person else 5)
    if most or not person:
        assert (found.least, found.most) == (exact.least, exact.most)
        assert CLASS in {name for key in found.by_columns for name in key}
    else:  # which people have the rows is not counted beyond memory
        assert found.least <= exact.least <= found.most


# Buckets


def found_in_slices(rows, slices):
    """Return the rows of which an attacker who knows all unmodified values finds the entry of a slice."""
    found = set()
    for me in rows:
        fitting = {row["bucket"] for row in rows}
        for names in slices:
            fitting &= {row["bucket"] for row in rows if all(row[name] == me[name] for name in names)}
        for names in slices:
            same = [row for row in rows if row["bucket"] in fitting and all(row[name] == me[name] for name in names)]
            found |= {me["row"]} if len(same) == 1 else set()
    return found


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 3, st.sampled_from(["flu", "cold"])), min_size=2, max_size=12),
    st.sampled_from([(("age",), ("ward", "day")), (("age", "ward", "day"),), (("age",), ("ward",), ("day",))]),
    st.randoms(use_true_random=False),
)
def test_bounds_of_slices_contain_what_an_attacker_finds(cells, slices, chance):
    sizes = max(len(cells) // 3, 1)
    rows = [
        {"row": place, "bucket": place % sizes, "age": age, "ward": ward, "day": day, "disease": disease}
        for place, (age, ward, day, disease) in enumerate(cells)
    ]
    columns = {"bucket": [row["bucket"] for row in rows]}
    every = (*slices, ("disease",))
    for names in every:  # a slice is permuted inside each bucket
        for bucket in range(sizes):
            own = [row for row in rows if row["bucket"] == bucket]
            for target, source in zip(own, chance.sample(own, len(own)), strict=True):
                for name in names:
                    columns.setdefault(name, [None] * len(rows))[target["row"]] = source[name]
    table = ind.BucketTable(pa.table(columns), every, "sliced")
    schema = ind.Schema(quasi=["age"], sensitive=["disease"], insensitive=["ward", "day"])
    found = ind.assess(table, schema).risk.published
    truth = found_in_slices(rows, slices)
    assert found.least <= len(truth) <= found.most


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_value_that_only_one_person_shows_is_theirs_alone_in_one_row_or_in_several(engine):
    rows = [
        {"who": who, "town": town, "ward": None, "cost": cost, "disease": "x"}
        for who, town, cost in [
            ("one row", "a", 1.0),
            ("two rows of one value", "a", 2.0),
            ("two rows of one value", "b", 2.0),
            ("shares with published", "b", 3.0),
            ("shares with published too", "a", 3.0),
            ("shares with suppressed", "a", 4.0),
            ("suppressed", "e", 4.0),
            ("suppressed", "e", 5.0),
        ]
    ]
    before, release, _ = published(rows, {"north"})
    if engine == "duckdb":
        connection = duckdb.connect()
        before, release = connection.from_arrow(before), connection.from_arrow(release)
    roles = {"insensitive": {"insensitive": ["ward", "cost", "disease"]}, "sensitive": {"sensitive": ["cost"]}}
    roles["sensitive"]["insensitive"] = ["ward", "disease"]
    found = {
        role: ind.assess(
            release, ind.Schema(person=["who"], quasi=["town"], **columns), original=before, hierarchies={"town": TOWNS}
        ).risk
        for role, columns in roles.items()
    }
    assert found["insensitive"].published.by_columns[("cost",)] == 3
    assert found["insensitive"].published.least == found["insensitive"].published.most == 3
    assert found["sensitive"].own_values == {"cost": 3}
