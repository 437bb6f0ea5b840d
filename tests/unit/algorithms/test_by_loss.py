"""Mondrian that chooses by loss: a worked example, what it refuses, and its recodings on other tables."""

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import ParameterError, UnseenValueError
from indistinct.recoding.storage import recoding_from_json, recoding_to_json

JOBS = ind.Hierarchy.tree({"*": {"arts": ["dancer", "writer"], "health": ["medic", "nurse", "surgeon"]}})


def released(columns, algorithm, *, k=2, hierarchies=None):
    table = pa.table(columns)
    schema = ind.Schema(quasi=table.column_names)
    return ind.anonymize(table, schema, model=ind.KAnonymity(k), algorithm=algorithm, hierarchies=hierarchies or {})


def shown(release):
    return sorted(tuple(row.values()) for row in release.table.to_pylist())


def test_unordered_values_are_cut_between_sets():
    """Alphabetical order puts the two frequent values of each pair apart; their frequency puts them together."""
    columns = {"town": ["b", "b", "d", "d", "a", "c"]}
    release = released(columns, "mondrian:choose=loss")
    assert shown(release) == [("b",), ("b",), ("d",), ("d",), ("{a, c}",), ("{a, c}",)]
    assert ind.measure(release, ["gcp"])["gcp"] == pytest.approx(2 * (2 / 4) / 6)
    assert ind.measure(released(columns, "mondrian"), ["gcp"])["gcp"] > 2 * (2 / 4) / 6


def test_the_column_is_cut_after_which_least_is_lost():
    """Cut by age each row would lose 1/41 and its town, cut by town 40/41 of its age."""
    columns = {"age": [20, 21, 60, 61], "town": ["a", "b", "a", "b"]}
    release = released(columns, "mondrian:choose=loss")
    assert shown(release) == [("[20-60]", "a")] * 2 + [("[21-61]", "b")] * 2
    assert ind.measure(release, ["gcp"])["gcp"] == pytest.approx(40 / 41 / 2)
    assert {row[0] for row in shown(released(columns, "mondrian"))} == {"[20-21]", "[60-61]"}


def test_a_tree_is_cut_into_children_and_shows_nodes_or_finer_sets():
    columns = {"job": ["dancer", "dancer", "medic", "nurse"]}
    node = released(columns, "mondrian:choose=loss", hierarchies={"job": JOBS})
    assert shown(node) == [("dancer",)] * 2 + [("health",)] * 2
    sets = released(columns, "mondrian:choose=loss,trees=set", hierarchies={"job": JOBS})
    assert shown(sets) == [("dancer",)] * 2 + [("{medic, nurse}",)] * 2
    assert [ind.measure(each, ["gcp"])["gcp"] for each in (node, sets)] == pytest.approx([0.3, 0.2])
    whole = {"job": [*columns["job"], "surgeon"]}
    named = released(whole, "mondrian:choose=loss,trees=set", hierarchies={"job": JOBS})
    assert shown(named) == [("dancer",)] * 2 + [("health",)] * 3


def test_what_cannot_be_chosen_is_refused():
    for wrong in (
        {"choose": "luck"},
        {"choose": "loss", "relaxed": True},
        {"choose": "loss", "positions": 0},
        {"choose": "loss", "trees": "leaf"},
        {"trees": "set"},
        {"choose": "loss", "trees": "set", "extent": "region"},
    ):
        with pytest.raises(ParameterError):
            ind.Mondrian(**wrong)


def test_next_month_finds_the_same_classes():
    columns = {"age": [20, 21, 60, 61, 30, 31], "town": ["a", "b", "c", "a", "b", "b"]}
    release = released(columns, "mondrian:choose=loss")
    recoding = recoding_from_json(recoding_to_json(release.recoding))
    assert recoding == release.recoding
    assert shown(ind.apply(recoding, pa.table(columns))) == shown(release)
    with pytest.raises(UnseenValueError):
        ind.apply(recoding, pa.table({"age": [20, 21], "town": ["a", "new"]}), model="k-anonymity:k=1")


def test_a_new_leaf_goes_where_its_node_went():
    columns = {"job": ["dancer", "dancer", "writer", "medic", "nurse", "medic", "medic"], "n": [1, 2, 3, 4, 5, 6, 7]}
    release = released(columns, "mondrian:choose=loss", hierarchies={"job": JOBS})
    assert {row[0] for row in shown(release)} >= {"arts"}
    next_month = pa.table({"job": ["surgeon"], "n": [5]})
    again = ind.apply(release.recoding, next_month, model="k-anonymity:k=1")
    assert again.table["job"].to_pylist() == ["health"]


def test_regions_keep_every_column_in_order():
    columns = {"age": [20, 21, 60, 61, 30, 31], "town": ["a", "b", "c", "a", "b", "b"]}
    release = released(columns, "mondrian:choose=loss,extent=region")
    assert release.recoding.cuts.members is None
    assert ind.apply(
        release.recoding, pa.table({"age": [99], "town": ["c"]}), model="k-anonymity:k=1"
    ).certificate.holds


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shift", [10**6, 10**12, 10**15])
def test_what_is_lost_does_not_depend_on_where_zero_is(shift: int) -> None:
    rng = np.random.default_rng(1)
    x, y, z = rng.integers(0, 60, 500), rng.integers(0, 60, 500), rng.choice(list("abcdefgh"), 500)
    schema, loss = ind.Schema(quasi=["x", "y", "z"]), []
    for base in (0, shift):
        table = pa.table({"x": x + base, "y": y, "z": z})
        release = ind.anonymize(table, schema, model="k-anonymity:k=5", algorithm="mondrian:choose=loss")
        loss.append(ind.measure(release)["gcp"])
    assert loss[0] == loss[1]
