"""Importance and levels where cells do not fit: the answer of memory, level by level, part by part and above levels."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.engines.passes import Room
from indistinct.errors import InfeasibleError
from references.engine_runs import rows_of
from references.pass_runs import MODELS, NOWHERE, by_passes

few = settings(deadline=None, max_examples=8, phases=[Phase.explicit, Phase.reuse, Phase.generate])
SCHEMA = ind.Schema(quasi=["height", "zipcode", "age", "job"], sensitive=["disease"])
HIERARCHIES = {"zipcode": ind.Hierarchy.masking(levels=3), "age": ind.Hierarchy.intervals([5, 10, 40])}
HEIGHTS = {"zipcode": 3, "age": 4, "job": 1}


@st.composite
def tables(draw, *, fewest=60):
    """Return rows with measurements, codes and numbers with hierarchies, and names without one."""
    rng, size = np.random.default_rng(draw(st.integers(0, 10_000))), draw(st.integers(fewest, 400))
    missing = rng.random(size) < draw(st.sampled_from([0.0, 0.1]))
    return pa.table(
        {
            "height": rng.normal(size=size),
            "zipcode": pa.array([f"{code:03d}" for code in rng.integers(0, draw(st.sampled_from([20, 300])), size)]),
            "age": pa.array(rng.integers(20, 90, size), mask=missing),
            "job": rng.choice(["cook", "nurse", "smith"], size),
            "disease": rng.choice(["flu", "cold", "mumps"], size),
        }
    )


importances = st.dictionaries(st.sampled_from(SCHEMA.quasi), st.sampled_from([0.3, 2, 5.5, 40]), max_size=3)


@st.composite
def bounds(draw, *, least=True, most=True):
    """Return least and most levels of some columns."""
    found = {}
    for name in draw(st.sets(st.sampled_from(sorted(HEIGHTS)), min_size=1)):
        low = draw(st.integers(0, HEIGHTS[name])) if least else 0
        high = draw(st.integers(low, HEIGHTS[name])) if most else None
        found[name] = (low, draw(st.sampled_from([high, None])))
    return found


def both(table, room, folder, **options):
    """Return a release in memory, and one that DuckDB makes where little fits, as it was written."""
    place = folder / "release.parquet"
    options = {"hierarchies": HIERARCHIES, "seed": 1, **options}
    try:
        memory = ind.anonymize(table, SCHEMA, engine="memory", **options)
    except InfeasibleError:
        assume(False)
    with pytest.MonkeyPatch.context() as patch:
        by_passes(room, patch)
        beyond = ind.anonymize(table, SCHEMA, engine="duckdb", output=place, overwrite=True, **options)
    return memory, beyond, pq.read_table(place)


def require_equal(memory, beyond, written):
    assert rows_of(written) == rows_of(memory.table)
    assert written.column_names == memory.table.column_names
    mine, theirs = (replace(each.certificate, **NOWHERE) for each in (beyond, memory))
    assert mine == theirs


@pytest.mark.parametrize("classes", [1000, 0], ids=["levels", "parts"])
@pytest.mark.parametrize("model", MODELS)
@few
@given(data=st.data())
def test_mondrian(classes, model, data, tmp_path_factory):
    table = data.draw(tables())
    room = Room(data.draw(st.sampled_from([60, 100, 200])), data.draw(st.sampled_from([0, 1000])), 1000, classes)
    options = {"importance": data.draw(importances), "levels": data.draw(st.one_of(st.just({}), bounds()))}
    wanted = model.format(k=data.draw(st.integers(2, 5)))
    folder = tmp_path_factory.mktemp("release")
    found = both(table, room, folder, model=wanted, algorithm="mondrian", **options)
    require_equal(*found)
    if classes:
        again = ind.apply(found[1].recoding, table, suppression=0, seed=1)
        assert rows_of(again.table) == rows_of(found[0].table)


@few
@given(data=st.data())
def test_a_recoding_by_parts_keeps_to_its_levels(data, tmp_path_factory):
    """Applied to the same table it publishes the same rows, and to another one what the recoding in memory does."""
    table, folder = data.draw(tables(fewest=200)), tmp_path_factory.mktemp("release")
    room = Room(data.draw(st.sampled_from([60, 100])), data.draw(st.sampled_from([0, 1000])), 1000, 0)
    options = {"model": "k-anonymity:k=3", "algorithm": "mondrian", "hierarchies": HIERARCHIES, "seed": 1}
    options["levels"] = data.draw(bounds())
    try:
        memory = ind.anonymize(table, SCHEMA, engine="memory", **options)
    except InfeasibleError:
        assume(False)
    saved, places = folder / "recoding.json", [folder / f"{name}.parquet" for name in ("first", "again", "other")]
    other = table.take(pa.array(np.random.default_rng(1).integers(0, len(table), len(table))))
    with pytest.MonkeyPatch.context() as patch:
        by_passes(room, patch)
        ind.anonymize(table, SCHEMA, engine="duckdb", output=places[0], save_recoding=saved, **options)
        assert "by-part" in saved.read_text()
        ind.apply(saved, table, engine="duckdb", seed=1, output=places[1])
        found = ind.apply(saved, other, engine="duckdb", seed=1, output=places[2], suppression=1.0)
    wanted = ind.apply(memory.recoding, other, seed=1, suppression=1.0)
    assert rows_of(pq.read_table(places[1])) == rows_of(pq.read_table(places[0])) == rows_of(memory.table)
    assert rows_of(pq.read_table(places[2])) == rows_of(wanted.table)
    assert found.certificate.suppressed_rows == wanted.certificate.suppressed_rows


@few
@given(data=st.data())
def test_regions_within_least_levels(data, tmp_path_factory):
    table = data.draw(tables())
    options = {"importance": data.draw(importances), "levels": data.draw(bounds(most=False))}
    form = {"model": "k-anonymity:k=3", "algorithm": "mondrian:extent=region"}
    found = both(table, Room(60, 1000, 1000, 1000), tmp_path_factory.mktemp("release"), **form, **options)
    require_equal(*found)


ABOVE = ["optimal", "optimal:metric=discernibility", "incognito", "samarati", "datafly", "bottom-up"]
COARSE = ind.Schema(quasi=["zipcode", "age", "job"], sensitive=["disease"], insensitive=["height"])


@pytest.mark.parametrize("algorithm", ABOVE)
@few
@given(data=st.data())
def test_searches_above_levels(algorithm, data):
    """As many cells fit as the least levels leave: then the lattice is that of memory."""
    table = data.draw(tables(fewest=200))
    levels = {"zipcode": (1, data.draw(st.sampled_from([1, 2, None]))), **data.draw(bounds())}
    options = {
        "model": "k-anonymity:k=4",
        "hierarchies": HIERARCHIES,
        "importance": data.draw(st.one_of(st.just({}), st.just({"zipcode": 4}), st.just({"age": 0.2, "job": 3}))),
        "levels": levels,
        "suppression": data.draw(st.sampled_from([0, 0.1])),
        "algorithm": algorithm,
    }
    try:
        memory = ind.anonymize(table, COARSE, engine="memory", seed=1, **options)
    except InfeasibleError:
        assume(False)
    with pytest.MonkeyPatch.context() as patch:
        by_passes(Room(len(cells_of(table)) - 1, 1000, 1000, 1000), patch)
        beyond = ind.anonymize(table, COARSE, engine="duckdb", seed=1, **options)
    told = [each for each in beyond.certificate.warnings if "at or above" in each]
    assume(not told)
    assert beyond.recoding.levels == memory.recoding.levels
    assert rows_of(beyond.table) == rows_of(memory.table)
    assert replace(beyond.certificate, **NOWHERE) == replace(memory.certificate, **NOWHERE)


def cells_of(table):
    return {tuple(row.values()) for row in table.select(list(COARSE.quasi)).to_pylist()}


def survey(rows=600):
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "height": rng.normal(size=rows),
            "zipcode": pa.array([f"{code:03d}" for code in rng.integers(0, 300, rows)]),
            "age": rng.integers(20, 90, rows),
            "job": rng.choice(["cook", "nurse", "smith"], rows),
            "disease": rng.choice(["flu", "cold", "mumps"], rows),
        }
    )


REFUSED = {
    "but not with extent=region and most levels: a region may reach over top nodes without rows": {
        "levels": {"zipcode": (0, 2)},
        "algorithm": "mondrian:extent=region",
    },
    "cannot suppress their rows": {"levels": {"zipcode": (0, 1)}, "suppression": 0.9, "model": "k-anonymity:k=20"},
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_refused_is_named(words, tmp_path, monkeypatch):
    options = {"model": "k-anonymity:k=3", "algorithm": "mondrian", "hierarchies": HIERARCHIES, **REFUSED[words]}
    by_passes(Room(100, 1000, 1000, 0), monkeypatch)
    with pytest.raises(ind.OutOfMemoryError, match=words):
        ind.anonymize(survey(), SCHEMA, engine="duckdb", output=tmp_path / "release.parquet", **options)
    assert list(tmp_path.iterdir()) == []


def test_levels_that_leave_too_few_are_infeasible(tmp_path, monkeypatch):
    by_passes(Room(100, 1000, 1000, 0), monkeypatch)
    options = {"model": "k-anonymity:k=20", "algorithm": "mondrian", "hierarchies": HIERARCHIES}
    with pytest.raises(
        InfeasibleError, match=r"within the levels zipcode=0..1: .* cannot hold: [0-9,]+ rows are below"
    ):
        ind.anonymize(survey(), SCHEMA, engine="duckdb", levels={"zipcode": (0, 1)}, **options)


def test_all_values_of_a_column_with_levels_must_fit(monkeypatch):
    by_passes(Room(100, 10, 50, 1000), monkeypatch)
    table = survey().set_column(2, "age", pa.array(np.arange(600)))
    options = {"model": "k-anonymity:k=3", "algorithm": "mondrian", "hierarchies": {"age": HIERARCHIES["age"]}}
    schema = ind.Schema(quasi=["height", "age"], insensitive=["zipcode", "job", "disease"])
    with pytest.raises(ind.OutOfMemoryError, match="column 'age' has more than 50 distinct values"):
        ind.anonymize(table, schema, engine="duckdb", levels={"age": (1, None)}, **options)


def test_levels_outside_the_hierarchy_are_refused(monkeypatch):
    by_passes(Room(100, 1000, 1000, 1000), monkeypatch)
    for algorithm in ("mondrian", "datafly"):
        options = {"model": "k-anonymity:k=3", "algorithm": algorithm, "hierarchies": HIERARCHIES}
        with pytest.raises(ind.ParameterError, match="must lie within its hierarchy"):
            ind.anonymize(survey(), SCHEMA, engine="duckdb", levels={"zipcode": (0, 9)}, **options)
