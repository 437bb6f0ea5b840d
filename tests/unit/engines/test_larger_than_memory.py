"""Tables that are counted and published without being held in memory: Parquet files and DuckDB relations."""

import subprocess
import sys
from collections import Counter

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.engines import chosen_engine
from indistinct.engines.base import bytes_in_memory
from indistinct.engines.duckdb.source import own_words
from indistinct.errors import InputError, MissingExtraError, OutputError, ParameterError
from indistinct.machine.memory import bytes_of
from indistinct.release.writing.formats import FORMATS

SCHEMA = ind.Schema(identifiers=["name"], quasi=["age", "zip"], sensitive=["disease"], insensitive=["cost"])
MODEL = "k-anonymity:k=4"


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    rows = 3000
    return pa.table(
        {
            "name": [f"person {i}" for i in range(rows)],
            "age": pa.array(rng.integers(0, 90, rows), mask=rng.random(rows) < 0.05),
            "zip": pa.array(rng.integers(10, 40, rows)).cast(pa.string()).dictionary_encode(),
            "disease": rng.choice(["flu", "asthma", "gout"], rows),
            "cost": np.where(rng.random(rows) < 0.1, -0.0, rng.random(rows).round(2)),
        }
    )


@pytest.fixture
def source(table, tmp_path):
    path = tmp_path / "patients.parquet"
    pq.write_table(table, path, row_group_size=700)
    return path


def rows_of(table):
    return Counter(tuple(row.values()) for row in table.to_pylist())


def files_of(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian:relaxed=true", "anatomy:l=2"])
def test_a_file_is_published_as_memory_publishes_it(source, tmp_path, algorithm, suffix):
    made = {
        engine: ind.anonymize(
            source,
            SCHEMA,
            model=None if algorithm.startswith("anatomy") else MODEL,
            algorithm=algorithm,
            engine=engine,
            seed=3,
            output=tmp_path / f"{engine}{suffix}",
        )
        for engine in ("memory", "duckdb")
    }
    mine, theirs = made["duckdb"], made["memory"]
    assert mine.certificate.holds
    assert mine.recoding == theirs.recoding
    assert (mine.certificate.classes, mine.certificate.rows) == (theirs.certificate.classes, theirs.certificate.rows)
    read = {engine: ind.open(tmp_path / f"{engine}{suffix}").data for engine in made}
    assert rows_of(read["duckdb"]) == rows_of(read["memory"])
    assert mine.table.num_rows == mine.certificate.rows


def test_a_release_of_it_can_be_verified_measured_and_applied(source, tmp_path):
    release = ind.anonymize(
        source, SCHEMA, model=MODEL, algorithm="mondrian", engine="duckdb", output=tmp_path / "release.parquet"
    )
    assert ind.verify(tmp_path / "release.parquet", SCHEMA, MODEL).holds
    assert 0 < ind.measure(release)["gcp"] < 1
    again = ind.apply(release.recoding, source, engine="duckdb", output=tmp_path / "again.parquet")
    assert again.certificate.classes == release.certificate.classes


def test_a_release_of_it_can_be_assessed_and_attacked(source, tmp_path):
    for algorithm in ("mondrian", "anatomy:l=2"):
        model = None if algorithm.startswith("anatomy") else MODEL
        made = [
            ind.anonymize(source, SCHEMA, model=model, algorithm=algorithm, engine=engine, seed=2)
            for engine in ("duckdb", "memory")
        ]
        figures = [ind.assess(release, original=source).to_json()["prosecutor"] for release in made]
        assert figures[0] == figures[1]
        found = [ind.attack("homogeneity", release, original=source).tally for release in made]
        assert found[0] == found[1]
        assert ind.measure(made[0]).to_json() == ind.measure(made[1]).to_json()


def test_a_relation_is_a_table(table):
    relation = duckdb.connect().from_arrow(table.drop_columns(["name"]))
    schema = ind.Schema(quasi=["age", "zip"], sensitive=["disease"], insensitive=["cost"])
    release = ind.anonymize(relation, schema, model=MODEL, algorithm="mondrian")
    expected = ind.anonymize(table.drop_columns(["name"]), schema, model=MODEL, algorithm="mondrian")
    assert rows_of(release.table) == rows_of(expected.table)


def test_the_engine_is_chosen_by_size(source, monkeypatch):
    assert chosen_engine(source).name == "memory"
    assert chosen_engine(source, "duckdb").name == "duckdb"
    assert chosen_engine(source, "auto", "200MB").name == "memory"
    assert bytes_in_memory(source) >= 3000 * 5 * 4
    monkeypatch.setattr("indistinct.engines.free_bytes", lambda: 1000)
    assert chosen_engine(source).name == "duckdb"
    assert chosen_engine(source.with_suffix(".csv")).name == "memory"


@pytest.mark.parametrize("memory", ["much", "1XB", "-1GB", "10MB", 5])
def test_an_amount_of_memory_is_checked(memory):
    with pytest.raises(ParameterError, match="`memory` must be"):
        bytes_of(memory)


def test_what_the_engine_cannot_do_is_said(source, tmp_path, monkeypatch):
    text, broken = tmp_path / "patients.arrow", tmp_path / "broken.parquet"
    text.write_text("age,zip\n1,2\n")
    broken.write_bytes(b"PAR1 nothing")
    with pytest.raises(ParameterError, match="no engine 'duckdbb'"):
        ind.anonymize(source, SCHEMA, model=MODEL, engine="duckdbb")
    with pytest.raises(InputError, match=r"cannot read a .* that ends in \.arrow"):
        ind.anonymize(text, ind.Schema(quasi=["age", "zip"]), model=MODEL, engine="duckdb")
    with pytest.raises(InputError, match="there is no file"):
        ind.anonymize(tmp_path / "none.parquet", SCHEMA, model=MODEL, engine="duckdb")
    with pytest.raises(InputError, match="cannot be read as a Parquet file"):
        ind.anonymize(broken, SCHEMA, model=MODEL, engine="duckdb")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match="needs the package duckdb") as missing:
        ind.anonymize(source, SCHEMA, model=MODEL, engine="duckdb")
    assert missing.value.hint == 'pip install "indistinct[duckdb]"'


@pytest.mark.parametrize("suffix", sorted(set(FORMATS) - {".csv", ".tsv", ".parquet", ".pq"}))
def test_formats_of_whole_columns_and_sheets_are_refused_by_name(source, tmp_path, suffix):
    place = tmp_path / f"x{suffix}"
    with pytest.raises(OutputError, match=rf"x\{suffix} cannot be written batch by batch"):
        ind.anonymize(source, SCHEMA, model=MODEL, algorithm="mondrian", engine="duckdb", output=place)
    assert files_of(tmp_path) == ["patients.parquet"]


def test_nothing_is_written_where_a_promise_cannot_be_kept(source, tmp_path):
    with pytest.raises(ind.InfeasibleError):
        ind.anonymize(source, SCHEMA, model="k-anonymity:k=4000", engine="duckdb", output=tmp_path / "out.parquet")
    assert files_of(tmp_path) == ["patients.parquet"]


def test_the_command_line_names_the_engine(source, tmp_path):
    command = [sys.executable, "-m", "indistinct", "anonymize", str(source), "--identifier", "name"]
    command += ["--quasi", "age,zip", "--sensitive", "disease", "--insensitive", "cost", "--model", MODEL]
    command += ["--algorithm", "mondrian", "--engine", "duckdb", "--memory", "500MB", "-v"]
    done = subprocess.run([*command, "-o", str(tmp_path / "out.parquet")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "engine duckdb" in done.stderr
    assert ind.verify(tmp_path / "out.parquet", SCHEMA, MODEL).holds


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (
            "reading the Arrow source failed: Failed to launch worker thread: Resource temporarily unavailable",
            MemoryError,
        ),
        ("Could not convert string 'x' to INT32", ind.InputError),
    ],
)
def test_an_error_of_duckdb_that_is_want_of_memory_is_not_called_one_of_the_file(words, kind):
    @own_words
    def fail():
        raise duckdb.InvalidInputException(words)

    with pytest.raises(kind) as caught:
        fail()
    assert "convert" not in str(caught.value)
