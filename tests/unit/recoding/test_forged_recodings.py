"""Stored recodings that somebody changed: refused by the reader, before any loop trusts an array of theirs."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError
from indistinct.recoding.kinds import Cuts
from indistinct.recoding.storage import VERSION, recoding_from_json, recoding_to_json
from indistinct.recoding.validation import check_recoding

RNG = np.random.default_rng(0)
TABLE = pa.table(
    {
        "a": [None, *RNG.integers(0, 9, 199).tolist()],
        "b": [f"t{code}" for code in RNG.integers(0, 3, 200)],
        "s": [f"d{code}" for code in RNG.integers(0, 8, 200)],
    }
)
SCHEMA = ind.Schema(quasi=["a", "b"], sensitive=["s"])
TREES = {"a": ind.Hierarchy.intervals([3]), "b": ind.Hierarchy.suppression()}
BUCKETS = ("anatomy:l=3", "slicing:l=3,columns=each", "slicing:l=2,generalize=20", "multiset:l=3")
FORMS = {"by-column": "datafly", "by-region": "mondrian", "by-cell": "refine", "by-row": "mondrian:relaxed=true"}
ALGORITHMS = (*BUCKETS, *FORMS.values(), "mondrian:choose=loss")
BIG = 2**31 - 1


@pytest.fixture(scope="module")
def documents():
    """Return a recoding of every kind as text, by its algorithm."""
    special = {"datafly": {"hierarchies": TREES, "suppression": 0.3}}
    releases = {
        name: ind.anonymize(TABLE, SCHEMA, model="k-anonymity:k=3", algorithm=name, seed=1, **special.get(name, {}))
        for name in ALGORITHMS
    }
    return {name: recoding_to_json(release.recoding) for name, release in releases.items()}


def inside(data, path):
    """Return what holds the part that a path leads to, and the last step of the path."""
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in way:
        data = data[step]
    return data, last


def put(path, value):
    def forge(data):
        owner, last = inside(data, path)
        owner[last] = value

    return forge


def numbers(path, change):
    """Change the list of numbers of an array, and its shape if it is no matrix."""

    def forge(data):
        owner, last = inside(data, path)
        array = owner[last]
        array["values"] = change(array["values"])
        if len(array["shape"]) == 1 and isinstance(array["values"], list):
            array["shape"] = [len(array["values"])]

    return forge


def first_becomes(value):
    return lambda values: [value, *values[1:]]


CHANGES = {
    "longer": lambda values: [*values, *values[:1] * 1000],
    "shorter": lambda values: values[:-3] if len(values) > 3 else [],
    "empty": lambda _values: [],
    "negative": first_becomes(-5),
    "huge": first_becomes(BIG),
    "beyond 32 bits": first_becomes(2**31),
    "beyond 64 bits": first_becomes(2**70),
    "a boolean": first_becomes(True),
    "a float": first_becomes(1.5),
    "text": first_becomes("1"),
    "a long text": first_becomes("9" * 5000),
    "missing": first_becomes(None),
    "nested": lambda values: [[value] for value in values],
    "no list": lambda _values: 3,
}
ARRAYS = {
    "anatomy:l=3": ("vectors", "cells", "joint", "class_ids", "counts"),
    "slicing:l=3,columns=each": ("vectors", "cells", "joint", "class_ids", "counts"),
    "slicing:l=2,generalize=20": ("generalized.0.columns.0.ranks", "generalized.0.cuts.left"),
    "multiset:l=3": ("cells", "class_ids"),
    "datafly": ("groups.0", "suppressed", "columns.0.ranks", "columns.1.summary.low"),
    "mondrian": (
        *("cuts.axis", "cuts.cut", "cuts.left", "cuts.right", "values", "columns.1.ranks"),
        *("columns.1.summary.members.0", "columns.1.summary.members.1", "columns.0.summary.published.leaves"),
    ),
    "mondrian:choose=loss": ("cuts.cut", "cuts.members.0", "cuts.members.1"),
    "refine": ("vectors", "class_ids", "values"),
    "mondrian:relaxed=true": ("vectors", "cells", "class_ids", "counts", "values"),
}
# What these changes leave is consistent; whether it fits a table is seen when it is applied.
CONSISTENT = {
    *((path, name) for path in ("columns.0.summary.published.leaves", "counts") for name in ("huge", "beyond 32 bits")),
    ("joint", "huge"),
    ("suppressed", "shorter"),
}
FORGED_ARRAYS = [
    pytest.param(algorithm, numbers(path, change), id=f"{algorithm} {path} {name}")
    for algorithm, paths in ARRAYS.items()
    for path in paths
    for name, change in CHANGES.items()
    if (path, name) not in CONSISTENT
]


def bare(path):
    """Make an array one number without a shape."""

    def forge(data):
        owner, last = inside(data, path)
        owner[last] |= {"values": [0], "shape": []}

    return forge


FORGED_ARRAYS += [
    pytest.param(algorithm, bare(path), id=f"{algorithm} {path} bare")
    for algorithm, paths in ARRAYS.items()
    for path in paths
]


def duplicate_vector(data):
    data["vectors"]["values"][:2] = data["vectors"]["values"][2:4]


def swapped(path):
    def forge(data):
        owner, last = inside(data, path)
        values = owner[last]["values"]
        values[0], values[-1] = values[-1], values[0]

    return forge


def loop(data):
    """Let two nodes be each other's child, with one parent each, away from the root."""
    cuts = {key: data["cuts"][key]["values"] for key in ("axis", "cut", "left", "right")}
    count = len(cuts["axis"])
    for key, added in (("axis", (0, 0)), ("cut", (0, 0)), ("left", (count + 1, count)), ("right", (1, 2))):
        cuts[key] += added
        data["cuts"][key]["shape"] = [count + 2]


def runs(starts, members):
    """Return sets as a document has them."""
    return [{"type": "int32", "shape": [len(part)], "values": part} for part in (starts, members)]


def set_of_two(data):
    """Let a second node be cut at the first set."""
    cut, axis = data["cuts"]["cut"]["values"], data["cuts"]["axis"]["values"]
    first = next(node for node, at in enumerate(cut) if at >= 0 and axis[node] >= 0)
    cut[first] = -1


def set_of_another(data):
    """Let a set of numbers be one of texts, of which there are fewer."""
    cut, axis = data["cuts"]["cut"]["values"], data["cuts"]["axis"]["values"]
    node = next(node for node, at in enumerate(cut) if at < 0 and axis[node] >= 0)
    data["cuts"]["members"][1]["values"][data["cuts"]["members"][0]["values"][-1 - cut[node]]] = 9


FORGERIES = {
    "a root that is its own child": ("mondrian", put("cuts.left.values.0", 0)),
    "a node outside the tree": ("mondrian", put("cuts.right.values.0", BIG)),
    "one node with two parents": ("mondrian", put("cuts.right.values.0", 1)),
    "a loop away from the root": ("mondrian", loop),
    "a cut of no column": ("mondrian", put("cuts.axis.values.0", 2)),
    "a cut behind the last rank": ("mondrian", put("cuts.cut.values.0", 10)),
    "a cut at a set of nobody": ("mondrian", put("cuts.cut.values.0", -1)),
    "sets that are gone": ("mondrian:choose=loss", put("cuts.members", None)),
    "a set of two nodes": ("mondrian:choose=loss", set_of_two),
    "a set of another column": ("mondrian:choose=loss", set_of_another),
    "a set that descends": ("mondrian:choose=loss", put("cuts.members", runs([0, 2], [1, 0]))),
    "a value twice in a set": ("mondrian:choose=loss", put("cuts.members", runs([0, 2], [1, 1]))),
    "an empty set": ("mondrian:choose=loss", put("cuts.members", runs([0, 0], []))),
    "sets without a start": ("mondrian:choose=loss", put("cuts.members", runs([], []))),
    "two leaves of one number": ("mondrian", numbers("cuts.left", lambda left: [*left[:-1], left[-1] - 1])),
    "ranks twice": ("mondrian", numbers("columns.0.ranks", lambda ranks: [ranks[1], *ranks[1:]])),
    "another matrix": ("mondrian", put("values", {"type": "int32", "shape": [0, 2], "values": []})),
    "a wrong width": ("refine", put("vectors.shape", [1, -1])),
    "numbers that are floats": ("refine", put("class_ids.type", "double")),
    "numbers that are texts": ("refine", put("class_ids.type", "string")),
    "a type of nothing": ("refine", put("class_ids.type", "nonsense")),
    "a vector twice": ("refine", duplicate_vector),
    "a vector twice by row": ("mondrian:relaxed=true", duplicate_vector),
    "cells that descend": ("mondrian:relaxed=true", swapped("cells")),
    "counts without end": ("mondrian:relaxed=true", put("counts.values.0", 2**53)),
    "a count of none": ("anatomy:l=3", put("counts.values.0", 0)),
    "a star outside": ("datafly", put("star", {"type": "int32", "shape": [2], "values": [0, BIG]})),
    "a star too short": ("datafly", put("star", {"type": "int32", "shape": [1], "values": [0]})),
    "levels of nothing": ("datafly", put("levels", {"c": 1})),
    "a level below raw": ("datafly", put("levels.a", -1)),
    "no groups": ("datafly", put("groups", [])),
    "no columns": ("mondrian", put("columns", [])),
    "a column twice": ("mondrian", put("columns.1.domain.column", "a")),
    "another name published": ("mondrian", put("columns.0.summary.published.column", "b")),
    "no published values": ("mondrian", put("columns.0.summary.published.outputs", [])),
    "a published value less": ("mondrian", put("columns.0.summary.published.outputs.0.1.values", ["x"])),
    "a floor without missing": ("mondrian", put("columns.1.floor", 1)),
    "a floor that is true": ("mondrian", put("columns.0.floor", True)),
    "missing as a number": ("mondrian", put("columns.0.domain.missing", 1)),
    "a value twice": ("mondrian", put("columns.1.domain.values.values", ["t0", "t0", "t2"])),
    "a value that is missing": ("mondrian", put("columns.1.domain.values.values", ["t0", None, "t2"])),
    "values of a nested type": ("mondrian", put("columns.1.domain.values.type", "list<item: int8>")),
    "values of another type": ("mondrian", put("columns.0.domain.values.type", "bool")),
    "values that are no numbers": ("mondrian", put("columns.0.domain.values.values.0", "one")),
    "half a character": ("mondrian", put("nonce", "\ud800")),
    "a span that is no length": ("mondrian", put("columns.0.summary.published.span", -1.0)),
    "a size beyond all tables": ("mondrian", put("columns.0.summary.published.size", 10**30)),
    "a schema without the column": ("mondrian", put("schema.quasi", ["a"])),
    "a schema with a column more": ("mondrian", put("schema.quasi", ["a", "b", "c"])),
    "a schema with a column twice": ("mondrian", put("schema.sensitive", ["a"])),
    "a schema of one text": ("mondrian", put("schema.quasi", "ab")),
    "a recoded column kept": ("mondrian", put("schema", {"quasi": ["b"], "sensitive": ["s"], "insensitive": ["a"]})),
    "a known column hidden": ("anatomy:l=3", put("schema", {"identifiers": ["a"], "quasi": ["b"], "sensitive": ["s"]})),
    "a promise that is a number": ("mondrian", put("promise", 4)),
    "a share above one": ("mondrian", put("suppression", 1.5)),
    "a share in words": ("mondrian", put("suppression", "all")),
    "a field of nobody": ("mondrian", put("secret", 1)),
    "a reading of numbers": ("mondrian", put("reading.decimal", 5)),
    "a reading of one text": ("mondrian", put("reading.missing", "x")),
    "a reading without a format": ("mondrian", put("reading.dates", ["%Q"])),
    "a reading of two minds": ("mondrian", put("reading.thousands", ".")),
    "a reading of more": ("mondrian", put("reading.secret", 1)),
    "another kind": ("mondrian", put("kind", "by-cell")),
    "an unknown kind": ("mondrian", put("kind", "by-magic")),
    "a kind that is a list": ("mondrian", put("kind", [])),
    "a transformation of nobody": ("mondrian", put("transformations", {"nobody": {"round": 5.0}})),
    "a transformation of a quasi-identifier": ("mondrian", put("transformations", {"a": {"round": 5.0}})),
    "a transformation in two ways": ("mondrian", put("transformations", {"s": {"round": 5.0, "clear": "all"}})),
    "a transformation without a step": ("mondrian", put("transformations", {"s": {"round": -1.0}})),
    "a transformation of more": ("mondrian", put("transformations", {"s": {"clear": "all", "shout": 1}})),
    "a transformation by a file": (
        "mondrian",
        put("transformations", {"s": {"level": 1, "hierarchy": {"file": "/etc/hostname"}}}),
    ),
    "version true": ("mondrian", put("version", True)),
    "version 0": ("mondrian", put("version", 0)),
    "the next version": ("mondrian", put("version", VERSION + 1)),
    "arrays elsewhere": ("mondrian", put("arrow", "0" * 64)),
    "an array elsewhere": ("mondrian", put("values", {"shape": [1, 2], "array": 0})),
    "an unknown form": ("anatomy:l=3", put("form", "circles")),
    "a form that is a list": ("anatomy:l=3", put("form", [])),
    "l in words": ("anatomy:l=3", put("l", "three")),
    "l of none": ("anatomy:l=3", put("l", 0)),
    "a size in words": ("anatomy:l=3", put("size", "three")),
    "a size beyond all tables of rows": ("anatomy:l=3", put("size", 2**70)),
    "an unknown attribute": ("anatomy:l=3", put("slices", [["a", "b", "salary"], ["s"]])),
    "an attribute twice": ("anatomy:l=3", put("slices", [["a", "b", "s"], ["s"]])),
    "an attribute nowhere": ("anatomy:l=3", put("slices", [["a", "b"]])),
    "tables the other way": ("anatomy:l=3", put("slices", [["s"], ["a", "b"]])),
    "a bucket left out": ("slicing:l=3,columns=each", put("class_ids.values", None)),
    "a slice generalized twice": (
        "slicing:l=2,generalize=20",
        lambda data: data["generalized"].append(data["generalized"][0]),
    ),
    "a slice of other values": (
        "slicing:l=2,generalize=20",
        put("generalized.0.columns.0.domain.declared", True),
    ),
    "a slice that is a bucket": (
        "slicing:l=2,generalize=20",
        lambda data: data.update(generalized=[json.loads(json.dumps(data))]),
    ),
}


@pytest.mark.parametrize(
    ("algorithm", "forge"),
    [*FORGED_ARRAYS, *(pytest.param(*forged, id=name) for name, forged in FORGERIES.items())],
)
def test_a_forged_recoding_is_refused(documents, algorithm, forge):
    data = json.loads(documents[algorithm])
    forge(data)
    with pytest.raises(InputError) as caught:
        recoding_from_json(json.dumps(data))
    assert caught.value.hint


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_untouched_recoding_is_not(documents, algorithm):
    recoding = recoding_from_json(documents[algorithm])
    check_recoding(recoding)
    assert ind.apply(recoding, TABLE).certificate.holds


@pytest.mark.parametrize(
    "forge",
    [put("joint.values.0", 99), numbers("joint", lambda codes: codes[::-1]), put("counts.values.0", BIG)],
    ids=["a value of nobody", "values of others", "more rows"],
)
def test_rows_that_the_table_does_not_have_are_refused_on_applying(documents, forge):
    data = json.loads(documents["anatomy:l=3"])
    forge(data)
    with pytest.raises(InputError, match="another one"):
        ind.apply(recoding_from_json(json.dumps(data)), TABLE)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"format": "indistinct-recoding", "version": 3, "kind": "by-cell", "columns": NaN}',
        '{"format": "indistinct-recoding", "version": ' + "9" * 10_000 + "}",
    ],
    ids=["brackets", "objects", "NaN", "digits"],
)
def test_no_document_is_too_strange_to_be_refused(text):
    with pytest.raises(InputError):
        recoding_from_json(text)


def test_nan_is_no_number(documents):
    text = documents["mondrian"].replace('"suppression": 0.0', '"suppression": NaN')
    with pytest.raises(InputError):
        recoding_from_json(text)


@pytest.mark.parametrize("child", [0, BIG])
def test_a_tree_without_end_is_refused_before_many_rows_are_sent_down(child):
    """120,000 cells go down the tree in a compiled loop, which follows whatever it is given."""
    rows = np.random.default_rng(1).integers(0, 400, (2, 120_000))
    table, schema = pa.table({"a": rows[0], "b": rows[1]}), ind.Schema(quasi=["a", "b"])
    recoding = ind.anonymize(table, schema, model="k-anonymity:k=9000", algorithm="mondrian").recoding
    data = json.loads(recoding_to_json(recoding))
    data["cuts"]["left"]["values"][0] = data["cuts"]["right"]["values"][0] = child
    with pytest.raises(InputError):
        ind.apply(recoding_from_json(json.dumps(data)), table)


def test_recodings_that_python_built_are_checked_too(documents):
    recoding = recoding_from_json(documents["mondrian"])
    cuts = recoding.cuts
    for forged in (
        replace(recoding, cuts=Cuts(cuts.axis, cuts.cut, cuts.left, np.zeros_like(cuts.right))),
        replace(recoding, values=recoding.values.astype(np.float64)),
        replace(recoding, values=recoding.values.astype(np.uint64)),
        replace(recoding, columns=()),
        replace(recoding, suppression=float("nan")),
    ):
        with pytest.raises(InputError):
            check_recoding(forged)


def test_a_deep_tree_is_checked_at_once():
    """A chain of a million cuts: a check that walks from node to node would take a step for each level."""
    table, schema = pa.table({"a": range(3)}), ind.Schema(quasi=["a"])
    recoding = ind.anonymize(table, schema, model="k-anonymity:k=1").recoding
    inner = 1_000_000
    nodes = np.arange(2 * inner + 1)
    axis = np.where(nodes % 2 == 0, 0, -1)
    axis[-1] = -1
    left, right = np.where(axis < 0, nodes // 2, nodes + 1), np.where(axis < 0, -1, nodes + 2)
    left[-1] = inner
    values = np.zeros((inner + 1, 1), dtype=np.int32)
    check_recoding(replace(recoding, cuts=Cuts(axis, np.zeros_like(axis), left, right), values=values))
    left[1], left[-1] = inner, inner
    with pytest.raises(InputError):
        check_recoding(replace(recoding, cuts=Cuts(axis, np.zeros_like(axis), left, right), values=values))
