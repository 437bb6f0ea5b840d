"""Verbs about what is larger than memory: it is counted where it lies, sampled, or refused with figures."""

import numpy as np
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.evaluation.assess.membership import membership_by_kind
from indistinct.inspection import inspect as inspecting
from indistinct.release.published import describe_release
from indistinct.samples import generate_patients

SCHEMA = ind.Schema(
    identifiers=["name"], quasi=["age", "sex", "zipcode"], sensitive=["disease"], insensitive=["admitted", "cost"]
)
METRICS = ["loss", "discernibility", "average-class-size", "classification:target=disease"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    pq.write_table(generate_patients(3_000, seed=2), folder / "original.parquet")
    for suffix in ("parquet", "csv"):
        ind.anonymize(
            folder / "original.parquet",
            SCHEMA,
            model="k-anonymity:k=5",
            algorithm="mondrian",
            output=folder / f"release.{suffix}",
            seed=1,
        )
    return folder


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("person", [(), ("name",)])
def test_a_release_that_is_counted_where_it_lies_measures_as_one_in_memory(files, suffix, person):
    schema = SCHEMA if not person else ind.Schema((), SCHEMA.quasi, SCHEMA.sensitive, SCHEMA.insensitive, person=person)
    metrics = METRICS[:3] if person else METRICS
    found = []
    for engine in ("memory", "duckdb"):
        original = files / "original.parquet"
        given = ind.published(files / f"release.{suffix}", schema, original=original, engine=engine)
        assert (given.main.in_memory is None) == (engine == "duckdb")
        members = membership_by_kind(given)["quasi-identifiers"].to_json()
        found.append((ind.measure(given, metrics).to_json(), members))
    assert found[0] == found[1]


def test_membership_says_what_it_needs_where_memory_is_bounded(files):
    given = ind.published(
        files / "release.parquet", SCHEMA, original=files / "original.parquet", engine="duckdb", memory="200MB"
    )
    assert membership_by_kind(given)["quasi-identifiers"].exact
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("indistinct.evaluation.assess.membership.CLASS", 10**6)
        with pytest.raises(ind.OutOfMemoryError, match=r"combinations with \d+ classes takes about [\d,]+ MB, and 200"):
            membership_by_kind(given)


def test_rows_that_do_not_fit_are_drawn_by_chance_and_it_is_said(files, monkeypatch):
    table, source = pq.read_table(files / "original.parquet"), ind.open(files / "original.parquet", engine="duckdb")
    whole = ind.inspect(source)
    assert (whole.rows, whole.sampled_from, whole.warnings) == (3_000, None, ind.inspect(table).warnings)
    monkeypatch.setattr(inspecting, "MEMORY_SHARE_FOR_ROWS", 2e-4)
    some = ind.inspect(source, memory="1GB")
    assert 500 < some.rows < 2_500
    assert some.sampled_from == 3_000
    assert f"{some.rows:,} of 3,000 rows, drawn by chance" in some.warnings[0]
    assert some.to_json()["sampled_from"] == 3_000
    assert some.schema == whole.schema
    assert ind.inspect(source, memory="1GB").to_json() == some.to_json()


def test_a_table_in_memory_is_never_sampled(files, monkeypatch):
    monkeypatch.setattr(inspecting, "MEMORY_SHARE_FOR_ROWS", 0)
    assert ind.inspect(pq.read_table(files / "original.parquet"), memory="200MB").sampled_from is None


def test_attacks_say_what_they_need_before_they_begin(files):
    with pytest.raises(ind.OutOfMemoryError) as caught:
        ind.attack(
            "homogeneity", files / "release.parquet", SCHEMA, original=files / "original.parquet", engine="duckdb"
        )
    assert "every row of the release, which has 3,000 rows of" in caught.value.message
    assert "--memory 1GB" in (caught.value.hint or "")


def test_weights_count_as_rows_do():
    """What is read back of groups with counts is what is read back of their rows."""
    chance = np.random.default_rng(5)
    table = generate_patients(400, seed=5).select(["age", "sex", "disease"])
    schema = ind.Schema(quasi=["age", "sex"], sensitive=["disease"])
    rows = table.take(chance.permutation(400))
    one = ind.measure_table(rows, schema, original=table, metrics=METRICS[:3]).to_json()
    lies = ind.published(rows, schema, original=table, engine="duckdb")
    assert ind.measure(lies, METRICS[:3]).to_json() == one


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_release_that_was_just_written_is_measured_without_reading_it(files, tmp_path, monkeypatch, suffix, engine):
    job = {"model": "k-anonymity:k=5", "algorithm": "mondrian", "seed": 1, "engine": engine}
    original, output = files / "original.parquet", tmp_path / f"release.{suffix}"
    release = ind.anonymize(original, SCHEMA, output=output, **job)
    expected = ind.measure(ind.anonymize(original, SCHEMA, **job | {"engine": "memory"}), METRICS[:3]).to_json()

    def refuse(*_):
        raise AssertionError("the release was read")

    monkeypatch.setattr("indistinct.release.writing.places.FilePlace.read", refuse)
    monkeypatch.setattr("indistinct.release.published.open_source", refuse)
    assert ind.measure(release, METRICS[:3]).to_json() == expected
    assert set(ind.measure(release)) >= {"loss", "discernibility"}


def test_a_written_release_that_is_too_large_for_memory_is_read_where_it_lies(files, tmp_path, monkeypatch):
    release = ind.anonymize(
        files / "original.parquet",
        SCHEMA,
        model="k-anonymity:k=5",
        algorithm="mondrian",
        engine="duckdb",
        output=tmp_path / "release.parquet",
    )
    monkeypatch.setattr("indistinct.machine.memory.ALLOWED_TIMES_FILE_SIZE", 0)
    monkeypatch.setattr("indistinct.machine.memory.ALLOWED_BYTES_AT_LEAST", 10)
    opened = describe_release(release).tables
    assert (opened.engine.name, opened.sources[""].rows) == ("duckdb", release.certificate.rows)
    assert opened.sources[""].in_memory is None
    assert ind.assess(release).to_json()
