"""Importance and levels on a cluster whose driver holds little: the answer of memory, by all three ways."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.engines.duckdb import DuckDB
from indistinct.engines.passes import Room
from indistinct.engines.spark import Spark
from references.engine_runs import rows_of
from references.pass_runs import NOWHERE
from references.spark_session import QUIET, needs_java, spark

pytestmark = [*QUIET, pytest.mark.xdist_group("spark")]
SCHEMA = ind.Schema(quasi=["height", "zipcode", "age"], sensitive=["disease"], insensitive=["note"])
OPTIONS = {
    "hierarchies": {"zipcode": ind.Hierarchy.masking(levels=3), "age": ind.Hierarchy.intervals([5, 10, 40])},
    "importance": {"height": 0.2, "zipcode": 7},
    "seed": 1,
}


@pytest.fixture
def file(tmp_path):
    rng, rows = np.random.default_rng(5), 1500
    table = pa.table(
        {
            "height": rng.normal(size=rows),
            "zipcode": pa.array([f"{code:03d}" for code in rng.integers(0, 300, rows)]),
            "age": pa.array(rng.integers(20, 90, rows), mask=rng.random(rows) < 0.05),
            "disease": rng.choice(["flu", "gout", "mumps"], rows),
            "note": [f"note {row}" for row in range(rows)],
        }
    )
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "table.parquet", row_group_size=400)
    return tmp_path / "in" / "table.parquet"


@needs_java
@pytest.mark.parametrize("classes", [1000, 0], ids=["levels", "parts"])
@pytest.mark.parametrize("levels", [{}, {"zipcode": (1, None), "age": (0, 3)}])
def test_mondrian(classes, levels, file, tmp_path, monkeypatch):
    spark()
    monkeypatch.setattr("indistinct.engines.spark.Spark", lambda *_: Spark(room=Room(200, 1000, 1000, classes)))
    options = {**OPTIONS, "model": "k-anonymity:k=3", "algorithm": "mondrian", "levels": levels}
    memory = ind.anonymize(file, SCHEMA, engine="memory", **options)
    mine = ind.anonymize(file, SCHEMA, engine="spark", output=tmp_path / "release.parquet", **options)
    assert rows_of(pq.read_table(tmp_path / "release.parquet")) == rows_of(memory.table)
    assert replace(mine.certificate, **NOWHERE) == replace(memory.certificate, **NOWHERE)


@needs_java
@pytest.mark.parametrize("algorithm", ["datafly", "optimal"])
def test_searches_above_levels(algorithm, file, tmp_path, monkeypatch):
    spark()
    schema = replace(SCHEMA, quasi=("zipcode", "age"), insensitive=("note", "height"))
    # On level 1 there are 30 codes and 15 bands of ages, and one more for those that are missing.
    monkeypatch.setattr("indistinct.engines.spark.Spark", lambda *_: Spark(room=Room(1440, 1000, 1000, 1000)))
    options = {**OPTIONS, "model": "k-anonymity:k=3", "algorithm": algorithm, "suppression": 0.05}
    options |= {"importance": {"age": 3}, "levels": {"zipcode": (1, 2), "age": (1, None)}}
    memory = ind.anonymize(file, schema, engine="memory", **options)
    mine = ind.anonymize(file, schema, engine="spark", output=tmp_path / "release.parquet", **options)
    assert mine.recoding.levels == memory.recoding.levels
    assert rows_of(pq.read_table(tmp_path / "release.parquet")) == rows_of(memory.table)
    assert replace(mine.certificate, **NOWHERE) == replace(memory.certificate, **NOWHERE)


@needs_java
def test_tasks_go_up_as_far_as_all_rows_together(file, tmp_path, monkeypatch):
    """Each task holds fewer combinations than all: where they end is where one process ends."""
    spark()
    schema = replace(SCHEMA, quasi=("zipcode", "age"), insensitive=("note", "height"))
    room = Room(120, 1000, 1000, 1000)
    monkeypatch.setattr("indistinct.engines.spark.Spark", lambda *_: Spark(room=room))
    monkeypatch.setattr("indistinct.engines.duckdb.DuckDB", lambda *_: DuckDB(room=room))
    options = {**OPTIONS, "model": "k-anonymity:k=3", "algorithm": "optimal", "importance": None}
    mine = ind.anonymize(file, schema, engine="spark", output=tmp_path / "release.parquet", **options)
    alone = ind.anonymize(file, schema, engine="duckdb", **options)
    assert any("at or above these levels" in each for each in mine.certificate.warnings)
    assert mine.certificate.warnings == alone.certificate.warnings
    assert rows_of(pq.read_table(tmp_path / "release.parquet")) == rows_of(alone.table)
