"""Faults of runs on what is larger than memory: a clear error, nothing left, nothing half-published."""

import resource
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.engines.duckdb import DuckDB
from indistinct.engines.passes import Room, TablePasses
from indistinct.frequencies.passes import KnownValues

ROWS = 60_000
SCHEMA = ind.Schema(quasi=["age", "zipcode"], insensitive=["note"])
HIERARCHIES = {"age": ind.Hierarchy.intervals([10, 50]), "zipcode": ind.Hierarchy.masking(levels=3)}
ROOM = Room(cells=500, numbers=5_000, texts=5_000, classes=10**6)


def _table(*, same=0.0):
    chance = np.random.default_rng(4)
    alike = chance.random(ROWS) < same
    ages, codes = chance.integers(0, 90, ROWS), chance.integers(100, 999, ROWS)
    return pa.table(
        {
            "age": np.where(alike, 40, ages),
            "zipcode": np.where(alike, 555, codes).astype(str),
            "note": [f"{number:020d}" for number in chance.integers(0, 10**15, ROWS)],
        }
    )


@pytest.fixture
def folders(tmp_path, monkeypatch):
    for name in ("in", "out", "spill"):
        (tmp_path / name).mkdir()
    (tmp_path / "spill").chmod(0o700)
    monkeypatch.setenv("INDISTINCT_SPILL", str(tmp_path / "spill"))
    return tmp_path


@pytest.fixture
def little_room(monkeypatch):
    monkeypatch.setattr("indistinct.engines.duckdb.DuckDB", lambda *_: DuckDB(room=ROOM))


def _is_empty(*places):
    return [path for place in places for path in place.iterdir()] == []


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
def test_a_full_disk_ends_the_run_and_leaves_nothing(folders, algorithm):
    """No file may grow beyond 200 KB, which neither the rows on their way nor the release keep to."""
    source = folders / "in" / "table.parquet"
    pq.write_table(_table(), source)
    command = [
        sys.executable,
        "-m",
        "indistinct",
        "anonymize",
        source,
        "--quasi",
        "age,zipcode",
        "--insensitive",
        "note",
    ]
    command += ["--hierarchy", "age=intervals:10,50", "--model", "k-anonymity:k=5", "--algorithm", algorithm]
    command += ["--engine", "duckdb", "--memory", "200MB", "-o", folders / "out" / "release.parquet"]
    command = [part for part in command if algorithm == "datafly" or part not in ("--hierarchy", "age=intervals:10,50")]

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    ran = subprocess.run(list(map(str, command)), preexec_fn=limit, capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stderr
    assert "error:" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert _is_empty(folders / "out", folders / "spill")


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
def test_a_file_that_changes_between_passes_is_not_published(folders, algorithm, monkeypatch):
    source, out = folders / "in" / "table.parquet", folders / "out" / "release.parquet"
    pq.write_table(_table(), source)
    values = TablePasses.values

    def values_and_change(self, *arguments, **options):
        found: dict[str, KnownValues] = values(self, *arguments, **options)
        pq.write_table(_table().slice(1), source)
        return found

    monkeypatch.setattr(TablePasses, "values", values_and_change)
    with pytest.raises(ind.InputError, match="has changed while it was read, so nothing is published"):
        ind.anonymize(
            source,
            SCHEMA,
            model="k-anonymity:k=5",
            hierarchies=HIERARCHIES,
            algorithm=algorithm,
            engine="duckdb",
            output=out,
        )
    assert _is_empty(folders / "out")


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
def test_a_vector_with_more_rows_than_a_part_may_have(folders, algorithm):
    """Most rows are one combination, which no cut makes smaller: the answer is memory's where that can be said."""
    source, out = folders / "in" / "table.parquet", folders / "out" / "release.parquet"
    table = _table(same=0.7)
    pq.write_table(table, source)
    wanted = {"model": "k-anonymity:k=5", "algorithm": algorithm, "seed": 1}
    hierarchies = HIERARCHIES if algorithm == "datafly" else {}
    release = ind.anonymize(source, SCHEMA, engine="duckdb", output=out, hierarchies=hierarchies, **wanted)
    assert release.certificate.holds
    assert pq.read_metadata(out).num_rows == ROWS
    if algorithm == "mondrian":
        memory = ind.anonymize(table, SCHEMA, engine="memory", **wanted)
        one, other = (sorted(map(str, each.to_pylist())) for each in (pq.read_table(out), memory.table))
        assert one == other
    assert _is_empty(folders / "spill")
