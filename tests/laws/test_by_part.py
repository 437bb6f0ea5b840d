"""A release that is made part by part has the classes and rows of the one that is made in memory."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.engines.passes import Room
from indistinct.errors import InfeasibleError, InputError
from indistinct.testing.strategies import samples
from references.engine_runs import rows_of
from references.pass_runs import MODELS, NOWHERE, by_passes, measurements

few = settings(deadline=None, max_examples=5, phases=[Phase.explicit, Phase.reuse, Phase.generate])


def answers(table, schema, folder, **options):
    """Return a release in memory, and one that DuckDB makes part by part."""
    memory = ind.anonymize(table, schema, engine="memory", seed=1, **options)
    place = folder / "release.parquet"
    parts = ind.anonymize(table, schema, engine="duckdb", seed=1, output=place, overwrite=True, **options)
    return memory, parts, pq.read_table(place)


def require_equal(memory, parts, written):
    assert rows_of(written) == rows_of(memory.table)
    assert written.column_names == memory.table.column_names
    mine, theirs = (replace(each.certificate, **NOWHERE) for each in (parts, memory))
    assert mine == theirs


@pytest.mark.parametrize("model", MODELS)
@few
@given(data=st.data())
def test_samples_of_every_kind(model, data, tmp_path_factory):
    sample = data.draw(samples(most_rows=40))
    assume(sample.table["disease"].null_count < sample.table.num_rows)
    room = Room(data.draw(st.integers(10, 12)), data.draw(st.sampled_from([0, 3, 100])), 100, 0)
    options = {"model": model.format(k=data.draw(st.integers(2, 5))), "hierarchies": sample.hierarchies}
    with pytest.MonkeyPatch.context() as patch:
        by_passes(room, patch)
        try:
            found = answers(
                sample.table, sample.schema, tmp_path_factory.mktemp("parts"), algorithm="mondrian", **options
            )
        except (InfeasibleError, InputError):
            assume(False)
    require_equal(*found)


@pytest.mark.parametrize("model", MODELS)
@few
@given(data=st.data())
def test_measurements(model, data, tmp_path_factory):
    table = data.draw(measurements())
    schema = ind.Schema(quasi=table.column_names[:-1], sensitive=["disease"])
    room = Room(data.draw(st.integers(100, 160)), data.draw(st.sampled_from([0, 10])), 100, 0)
    form = data.draw(st.sampled_from(["numeric=interval", "numeric=bounds"]))
    wanted = model.format(k=data.draw(st.integers(2, 5)))
    with pytest.MonkeyPatch.context() as patch:
        by_passes(room, patch)
        try:
            found = answers(table, schema, tmp_path_factory.mktemp("parts"), model=wanted, algorithm=f"mondrian:{form}")
        except InfeasibleError:
            assume(False)
    require_equal(*found)


@pytest.mark.parametrize("model", MODELS)
@few
@given(data=st.data())
def test_regions_of_known_values(model, data, tmp_path_factory):
    """Regions end at the cuts above a part, too, also where no row of the part is near."""
    sample = data.draw(samples(most_rows=40))
    assume(sample.table["disease"].null_count < sample.table.num_rows)
    options = {"model": model.format(k=data.draw(st.integers(2, 5))), "hierarchies": sample.hierarchies}
    with pytest.MonkeyPatch.context() as patch:
        by_passes(Room(data.draw(st.integers(10, 12)), 100, 100, 0), patch)
        try:
            folder = tmp_path_factory.mktemp("parts")
            found = answers(sample.table, sample.schema, folder, algorithm="mondrian:extent=region", **options)
        except (InfeasibleError, InputError):
            assume(False)
    require_equal(*found)


def test_regions_of_parts_reach_to_the_cuts_between_them(tmp_path):
    """No row is aged 40 to 59: the classes on both sides of the gap are in different parts, and meet in it."""
    ages = [*range(40), *range(60, 100)]
    table = pa.table({"age": ages * 5, "sex": ["F", "M", "M", "F"] * 100, "disease": ["a", "b"] * 200})
    schema = ind.Schema(quasi=["age", "sex"], sensitive=["disease"])
    with pytest.MonkeyPatch.context() as patch:
        by_passes(Room(20, 200, 200, 0), patch)
        found = answers(table, schema, tmp_path, model="k-anonymity:k=20", algorithm="mondrian:extent=region")
    require_equal(*found)
    assert {"[ .. 9]", "[30-59]", "[60-69]", "[90-]"} <= set(found[2]["age"].to_pylist())


def test_regions_are_refused_where_values_or_a_saved_recoding_need_other_parts(tmp_path):
    table = pa.table({"age": list(range(200)), "disease": ["a", "b"] * 100})
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    options = {"model": "k-anonymity:k=2", "algorithm": "mondrian:extent=region", "engine": "duckdb"}
    with pytest.MonkeyPatch.context() as patch:
        by_passes(Room(10, 3, 100, 0), patch)
        with pytest.raises(ind.OutOfMemoryError, match="not with extent=region, as not all values of column 'age' fit"):
            ind.anonymize(table, schema, output=tmp_path / "out.parquet", **options)
        by_passes(Room(10, 300, 300, 0), patch)
        with pytest.raises(ind.OutOfMemoryError, match="not with extent=region and save_recoding: regions take new"):
            ind.anonymize(
                table, schema, output=tmp_path / "out.parquet", save_recoding=tmp_path / "recoding.json", **options
            )
    assert list(tmp_path.iterdir()) == []


def test_ranges_as_columns_are_refused_by_name(tmp_path):
    table = pa.table({"age": list(range(200)), "disease": ["a", "b"] * 100})
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    options = {"model": "k-anonymity:k=2", "algorithm": "mondrian", "ranges": "columns"}
    with pytest.MonkeyPatch.context() as patch:
        by_passes(Room(10, 3, 100, 0), patch)
        with pytest.raises(ind.OutOfMemoryError, match="part by part, but not with ranges=columns"):
            answers(table, schema, tmp_path, **options)


@few
@given(data=st.data())
def test_another_table_under_a_recoding_by_parts(data, tmp_path_factory):
    table, folder = data.draw(measurements()), tmp_path_factory.mktemp("parts")
    schema = ind.Schema(quasi=table.column_names[:-1], sensitive=["disease"])
    chosen = np.random.default_rng(data.draw(st.integers(0, 100))).integers(0, len(table), 2 * len(table))
    other = table.take(pa.array(chosen))
    room = Room(data.draw(st.integers(100, 160)), data.draw(st.sampled_from([0, 10])), 100, 0)
    options = {"model": f"k-anonymity:k={data.draw(st.integers(2, 5))}", "algorithm": "mondrian"}
    with pytest.MonkeyPatch.context() as patch:
        by_passes(room, patch)
        try:
            memory = ind.anonymize(table, schema, engine="memory", seed=1, **options)
        except InfeasibleError:
            assume(False)
        places = {"output": folder / "release.parquet", "save_recoding": folder / "recoding.json"}
        ind.anonymize(table, schema, engine="duckdb", seed=1, **places, **options)
        assume("by-part" in places["save_recoding"].read_text())
        wanted = ind.apply(memory.recoding, other, suppression=1.0, seed=1)
        again = folder / "again.parquet"
        found = ind.apply(places["save_recoding"], other, suppression=1.0, seed=1, engine="duckdb", output=again)
    assert rows_of(pq.read_table(again)) == rows_of(wanted.table)
    assert found.certificate.suppressed_rows == wanted.certificate.suppressed_rows
    assert [each.achieved for each in found.certificate.verdicts] == [e.achieved for e in wanted.certificate.verdicts]


@few
@given(data=st.data())
def test_values_that_the_first_table_did_not_have(data, tmp_path_factory):
    """Ranges cover new numbers, and sets what they list: other rows are suppressed, as memory does."""
    rng, folder = np.random.default_rng(data.draw(st.integers(0, 1000))), tmp_path_factory.mktemp("parts")
    missing = rng.random(600) < data.draw(st.sampled_from([0.0, 0.1]))
    table = pa.table(
        {
            "x": rng.normal(size=600),
            "beds": pa.array(rng.integers(0, 9, 600) * 3, mask=missing[::-1]),
            "ward": pa.array(rng.choice(["a", "b", "c", "d"], 600), mask=missing),
            "disease": rng.choice(["flu", "gout"], 600),
        }
    )
    names = rng.choice(["a", "c", "d", "m", "z"], 600, p=[0.3, 0.3, 0.3, 0.05, 0.05])
    other = table.set_column(2, "ward", pa.array(names, mask=rng.random(600) < 0.02))
    beds = pa.array(rng.integers(data.draw(st.sampled_from([0, -3])), 28, 600), mask=rng.random(600) < 0.02)
    other = other.set_column(1, "beds", beds)
    schema = ind.Schema(quasi=["x", "beds", "ward"], sensitive=["disease"])
    options = {"model": "k-anonymity:k=3", "algorithm": "mondrian"}
    memory = ind.anonymize(table, schema, engine="memory", seed=1, **options)
    places = {"output": folder / "release.parquet", "save_recoding": folder / "recoding.json"}
    again = folder / "again.parquet"
    with pytest.MonkeyPatch.context() as patch:
        by_passes(Room(150, 10, 100, 0), patch)
        ind.anonymize(table, schema, engine="duckdb", seed=1, **places, **options)
        assert "by-part" in places["save_recoding"].read_text()
        found = ind.apply(places["save_recoding"], other, suppression=1.0, seed=1, engine="duckdb", output=again)
        with pytest.raises(InfeasibleError, match="of which it does not cover"):
            ind.apply(places["save_recoding"], other, engine="duckdb", output=folder / "none.parquet")
    wanted = ind.apply(memory.recoding, other, suppression=1.0, seed=1)
    assert rows_of(pq.read_table(again)) == rows_of(wanted.table)
    assert found.certificate.suppressed_rows == wanted.certificate.suppressed_rows > 0


@few
@given(data=st.data())
def test_what_adds_up_is_what_memory_measures(data, tmp_path_factory):
    table = data.draw(measurements())
    schema = ind.Schema(quasi=table.column_names[:-1], sensitive=["disease"])
    with pytest.MonkeyPatch.context() as patch:
        by_passes(Room(100, 10, 100, 0), patch)
        try:
            memory, parts, _ = answers(
                table, schema, tmp_path_factory.mktemp("parts"), model="k-anonymity:k=3", algorithm="mondrian"
            )
        except InfeasibleError:
            assume(False)
    wanted = ind.measure(memory)
    for name, value in ind.measure(parts).items():
        assert value == pytest.approx(wanted[name], rel=1e-9), name


def test_a_file_that_changes_after_the_cuts_is_not_published(tmp_path, monkeypatch):
    table = pa.table({"x": np.arange(400.0), "y": np.arange(400.0)[::-1]})
    source, place = tmp_path / "table.parquet", tmp_path / "release.parquet"
    pq.write_table(table, source)
    by_passes(Room(100, 10, 100, 0), monkeypatch)

    def change(job, plan):
        pq.write_table(pa.table({"x": np.arange(400.0) + 0.5, "y": np.arange(400.0)}), source)

    monkeypatch.setattr("indistinct.job.running.check_by_part", change)
    with pytest.raises(InputError, match="has changed while it was read"):
        ind.anonymize(
            source,
            ind.Schema(quasi=["x", "y"]),
            model="k-anonymity:k=3",
            algorithm="mondrian",
            engine="duckdb",
            output=place,
        )
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]
