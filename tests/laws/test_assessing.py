"""An assessment says what plain Python says: of rows, of people, with and without a population."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from references import risks as by_hand

SETTINGS = settings(max_examples=25, deadline=None)
VALUES = st.sampled_from(["a", "b", "c"])
ROWS = st.lists(st.tuples(VALUES, VALUES, VALUES, st.integers(0, 5)), min_size=1, max_size=30)
MORE = st.lists(st.tuples(VALUES, VALUES, VALUES, st.integers(6, 11)), max_size=30)
QUASI = ["x", "y"]


def table_of(rows):
    x, y, s, person = zip(*rows, strict=True)
    return pa.table({"x": x, "y": y, "s": s, "person": pa.array(person)})


def check(found, wanted):
    assert {key: found[key] for key in ("uniques", "classes", "rows")} == {
        key: wanted[key] for key in ("uniques", "classes", "rows")
    }
    assert found["class_sizes"]["cumulative"] == pytest.approx(wanted["cumulative"])
    for attacker in ("prosecutor", "journalist"):
        if attacker in wanted:
            assert {key: found[attacker][key] for key in wanted[attacker]} == pytest.approx(wanted[attacker])
    assert found["marketer"]["average"] == pytest.approx(wanted["marketer"])
    assert found["population_uniques"]["counted"] == pytest.approx(wanted["counted"])


def assert_no_more(coarser, found):
    """Assert that merging classes exposes nobody."""
    finer = {**found["prosecutor"], "uniques": found["uniques"], "classes": found["classes"]}
    assert all(coarser[key] <= finer[key] + 1e-12 for key in finer)


@SETTINGS
@given(ROWS, MORE, st.sampled_from([0.09, 0.2, 0.5, 1.0]))
def test_rows(rows, more, threshold):
    schema = ind.Schema(quasi=QUASI, sensitive=["s"], identifiers=["person"])
    vectors = [row[:2] for row in rows]
    found = ind.assess(table_of(rows), schema, threshold=threshold).to_json()
    check(found, by_hand.risks(vectors, threshold=threshold))
    assert found["journalist"]["highest"] == found["prosecutor"]["highest"]
    for column, name in enumerate(QUASI):
        assert_no_more(found["columns"][name]["removed"], found)
        removed = by_hand.risks(by_hand.without(vectors, column), threshold=threshold)
        told = found["columns"][name]["removed"]
        assert {key: told[key] for key in removed["prosecutor"]} == pytest.approx(removed["prosecutor"])
        assert (told["uniques"], told["classes"]) == (removed["uniques"], removed["classes"])
    largest, mean, pure = by_hand.shares(vectors, [row[2] for row in rows])
    told = found["sensitive"]["s"]
    assert (told["largest_share"], told["mean_share"], told["homogeneous"]) == pytest.approx((largest, mean, pure))
    everybody = [*rows, *more]
    beyond = ind.assess(table_of(rows), schema, threshold=threshold, population=table_of(everybody)).to_json()
    wanted = by_hand.risks(vectors, threshold=threshold, population=[row[:2] for row in everybody])
    check(beyond, wanted)
    assert all(beyond["journalist"][key] <= beyond["prosecutor"][key] + 1e-12 for key in found["prosecutor"])


@SETTINGS
@given(ROWS, MORE)
def test_people(rows, more):
    schema = ind.Schema(quasi=QUASI, sensitive=["s"], person=["person"])
    vectors, everybody = [row[:2] for row in rows], [*rows, *more]
    found = ind.assess(table_of(rows), schema, threshold=0.3, population=table_of(everybody)).to_json()
    wanted = by_hand.risks(
        vectors,
        threshold=0.3,
        people=[row[3] for row in rows],
        population=[row[:2] for row in everybody],
        population_people=[row[3] for row in everybody],
    )
    check(found, wanted)
    assert found["unit"] == "people"
    for name in QUASI:
        assert_no_more(found["columns"][name]["removed"], found)
    assert found["prosecutor"]["average"] <= found["classes"] / found["members"] + 1e-12
    assert found["members"] == len({row[3] for row in rows})
    values = {vector: {row[2] for row in rows if row[:2] == vector} for vector in vectors}
    told = {row[3] for row in rows if len(values[row[:2]]) == 1}
    assert found["sensitive"]["s"]["homogeneous"] == pytest.approx(len(told) / found["members"])
