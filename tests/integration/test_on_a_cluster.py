"""The engine spark beyond its laws: types, limits, folders, a cluster of two workers, and what is refused."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.cli import main
from indistinct.engines import chosen_engine
from indistinct.engines.spark import Spark, session, source, worker
from indistinct.errors import InputError, MissingExtraError, OutputError, ParameterError
from indistinct.tables import Reading
from references.engine_runs import rows_of
from references.spark_cluster import SETTINGS as CLUSTER
from references.spark_cluster import options_of, running_cluster
from references.spark_session import QUIET, needs_java, spark

pytestmark = [*QUIET, pytest.mark.xdist_group("spark")]
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "on-a-cluster.md"
SCHEMA = ind.Schema(identifiers=["name"], quasi=["age", "sex", "zipcode"], sensitive=["disease"])
MODEL = "k-anonymity:k=5"


def visits(rows=600):
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(rows)],
            "age": rng.integers(18, 90, rows),
            "sex": rng.choice(["f", "m"], rows),
            "zipcode": rng.choice(["0150", "0151", "5003"], rows),
            "disease": rng.choice(["flu", "gout", "asthma"], rows),
        }
    )


@pytest.fixture(scope="module")
def table():
    return visits()


@pytest.fixture(scope="module")
def frame(table):
    return spark().createDataFrame(table).repartition(5)


# A folder of files.


@needs_java
def test_a_frame_becomes_a_folder_that_can_be_verified(frame, table, tmp_path):
    place = tmp_path / "release.parquet"
    release = ind.anonymize(frame, SCHEMA, model=MODEL, algorithm="mondrian", output=place)
    first = ind.anonymize(table, SCHEMA, model=MODEL, algorithm="mondrian")
    assert release.recoding == first.recoding
    assert rows_of(release.table) == rows_of(first.table)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["release.parquet", "release.parquet.certificate.json"]
    assert [path.name for path in place.iterdir()] == ["part-00000.parquet"]
    assert stat.S_IMODE(place.stat().st_mode) & 0o700 == 0o700
    assert ind.verify(place, SCHEMA, MODEL).holds
    told = json.loads((tmp_path / "release.parquet.certificate.json").read_text())
    assert told["output_digest"] == release.certificate.output_digest
    # Somebody adds a row's worth of another file: the certificate is no longer that of the folder.
    pq.write_table(pq.read_table(place / "part-00000.parquet").slice(0, 300), place / "part-00001.parquet")
    assert any("certificate" in warning for warning in ind.verify(place, SCHEMA, MODEL).warnings)


@needs_java
def test_commands_take_a_folder_and_what_it_was_made_of_where_they_lie(frame, table, tmp_path, capsys):
    spark()  # commands run in the session that is there
    place, original = tmp_path / "release.parquet", tmp_path / "visits.parquet"
    pq.write_table(table, original)
    ind.anonymize(frame, SCHEMA, model=MODEL, algorithm="mondrian", output=place)
    roles = ["--identifier", "name", "--quasi", "age,sex,zipcode", "--sensitive", "disease"]
    both = [place, *roles, "--original", original, "--engine", "spark"]
    for command in (["verify", *both, "--model", MODEL], ["measure", *both], ["assess", *both]):
        assert main(list(map(str, command))) == 0, capsys.readouterr().err


@needs_java
def test_releases_replace_each_other_whatever_they_are(frame, table, tmp_path):
    place = tmp_path / "release.parquet"
    options = {"model": MODEL, "algorithm": "mondrian", "output": place}
    ind.anonymize(table, SCHEMA, **options)
    with pytest.raises(OutputError, match="exists already"):
        ind.anonymize(frame, SCHEMA, **options)
    ind.anonymize(frame, SCHEMA, **options, overwrite=True)
    assert place.is_dir()
    ind.anonymize(table, SCHEMA, **options, overwrite=True)
    assert place.is_file()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_of_anything_else_is_never_replaced(table, tmp_path):
    place = tmp_path / "release.parquet"
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="is a directory"):
        ind.anonymize(table, SCHEMA, model=MODEL, output=place, overwrite=True)
    assert (place / "notes.txt").read_text() == "mine"


@needs_java
def test_workers_write_parquet_alone_and_a_failure_leaves_nothing_behind(frame, tmp_path):
    from pyspark.sql import functions

    options = {"model": MODEL, "algorithm": "mondrian"}
    with pytest.raises(OutputError, match="Parquet alone"):
        ind.anonymize(frame, SCHEMA, **options, output=tmp_path / "release.csv")
    drawn = frame.withColumn("age", (functions.rand() * 10**9).cast("long"))
    with pytest.raises(InputError, match=r"not counted before|does not know"):
        ind.anonymize(drawn, SCHEMA, **options, output=tmp_path / "release.parquet")
    assert list(tmp_path.iterdir()) == []


# What is opened.


@needs_java
@pytest.mark.parametrize("scheme", ["hdfs", "s3a", "abfss", "file"])
def test_an_address_is_refused_before_any_work_and_nothing_is_left_there(frame, tmp_path, scheme):
    with pytest.raises(OutputError, match=f"not to an address that begins with {scheme}://") as refused:
        ind.anonymize(frame, SCHEMA, model=MODEL, algorithm="mondrian", output=f"{scheme}://{tmp_path}/release.parquet")
    assert "a path that driver and workers share" in refused.value.hint
    assert list(tmp_path.iterdir()) == []


@needs_java
def test_a_frame_goes_to_spark_and_stays_there(frame, tmp_path, table):
    assert chosen_engine(frame).name == "spark"
    opened = ind.open(frame)
    assert isinstance(opened, source.SparkTable)
    assert repr(opened) == "<SparkTable of 600 rows: name, age, sex, zipcode, disease>"
    pq.write_table(table.slice(0, 300), tmp_path / "a.parquet")
    pq.write_table(table.slice(300), tmp_path / "b.parquet")
    assert ind.open(tmp_path, engine="spark").rows == 600
    assert chosen_engine(tmp_path / "a.parquet").name == "memory"


@needs_java
def test_types_that_cannot_be_compared_are_refused_by_name(frame):
    from pyspark.sql import functions

    for made, kind in [
        (functions.array(frame["age"]), "array<bigint>"),
        (functions.create_map(frame["sex"], frame["age"]), "map<string,bigint>"),
        (frame["sex"].cast("binary"), "binary"),
        (functions.struct(frame["age"]), "struct<age:bigint>"),
    ]:
        with pytest.raises(InputError, match=re.escape(f"'odd' has the type {kind}")):
            ind.open(frame.withColumn("odd", made))


@needs_java
def test_texts_that_a_collation_takes_for_one_are_told_apart(frame):
    from pyspark.sql import functions

    short = spark().createDataFrame([("a",), ("A",), ("a",)], "text string")
    opened = Spark().open(short.select(functions.collate("text", "UNICODE_CI").alias("text")), Reading())
    groups = opened.groups(["text"])
    assert dict(zip(groups.table["text"].to_pylist(), groups.counts.tolist(), strict=True)) == {"a": 2, "A": 1}
    both = spark().createDataFrame([(1, 2), (1, 3)], "age int, AGE int")
    assert sorted(Spark().open(both, Reading()).groups(["AGE"]).table["AGE"].to_pylist()) == [2, 3]


@needs_java
def test_moments_are_those_of_utc_whatever_the_session_says(tmp_path):
    lines = "SELECT TIMESTAMP '2020-01-01 05:00:00+00:00' AS at, TIMESTAMP_NTZ '2020-01-01 05:00:00' AS clock"
    opened = Spark().open(spark().sql(lines), Reading())
    assert opened.arrow.types == [pa.timestamp("us", tz="UTC"), pa.timestamp("us")]
    found = opened.groups(["at", "clock"]).table.to_pylist()[0]
    assert found["at"].hour == found["clock"].hour == 5


@needs_java
def test_what_is_declared_is_left_to_memory(frame):
    with pytest.raises(ParameterError, match="by their own types"):
        ind.open(frame, decimal=",")
    with pytest.raises(ParameterError, match="'age' is declared as text"):
        ind.open(frame, text=["age"])
    with pytest.raises(InputError, match="cannot read"):
        ind.anonymize(GUIDE, SCHEMA, model=MODEL, engine="spark")


def test_arrow_types_that_spark_lacks_are_widened_or_refused():
    from indistinct.engines.spark.types import types_to_send

    narrow = pa.schema([("a", pa.uint32()), ("b", pa.dictionary(pa.int8(), pa.string())), ("c", pa.timestamp("s"))])
    assert types_to_send(narrow).types == [pa.int64(), pa.string(), pa.timestamp("us")]
    for kind in (pa.timestamp("ns"), pa.uint64(), pa.time64("us"), pa.list_(pa.int8())):
        with pytest.raises(InputError, match="does not carry"):
            types_to_send(pa.schema([("a", kind)]))


@needs_java
def test_columns_of_types_that_spark_lacks_are_published_in_their_values(tmp_path):
    hours = pa.array([1_729_987_200 + 1800 * (row % 6) for row in range(40)], pa.timestamp("s", "Asia/Tokyo"))
    kept = pa.array([("a", "b", None)[row % 3] for row in range(40)]).dictionary_encode()
    table = pa.table({"age": [row % 3 for row in range(40)], "at": hours, "kept": kept})
    table = table.append_column("number", pa.array(range(2**32 - 40, 2**32), pa.uint32()))
    schema = ind.Schema(quasi=["age"], sensitive=["at"], insensitive=["kept", "number"])
    model, output = "distinct-l-diversity:sensitive=at,l=2", tmp_path / "release.parquet"
    spark()
    release = ind.anonymize(table, schema, model=model, algorithm="mondrian", engine="spark", output=output)
    assert release.certificate.holds
    assert sorted(zip(*(release.table[name].to_pylist() for name in ("number", "kept")), strict=True)) == list(
        zip(table["number"].to_pylist(), kept.to_pylist(), strict=True)
    )


# Limits, and what is missing.


@needs_java
def test_more_groups_than_the_driver_takes_are_counted_and_refused(frame, monkeypatch):
    opened = Spark().open(frame, Reading())
    monkeypatch.setattr(source, "most_bytes", lambda _session: 2 * source.BYTES_OF_VALUE * 10)
    with pytest.raises(InputError, match=r"72 combinations of values, and the driver can take about 10") as caught:
        opened.groups(["age"])
    assert "spark.driver.maxResultSize" in caught.value.hint
    assert len(opened.groups(["sex"]).counts) == 2


def test_java_is_looked_for_and_must_not_be_old(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InputError, match="none was found"):
        session.require_java()
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_442\"' >&2\n")
    java.chmod(0o755)
    with pytest.raises(InputError, match="is Java 8"):
        session.require_java()
    java.write_text("#!/bin/sh\necho 'openjdk version \"21.0.2\" 2024' >&2\n")
    session.require_java()


def test_a_missing_extra_says_what_to_install(monkeypatch, table):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtraError, match="pyspark") as caught:
        ind.anonymize(table, SCHEMA, model=MODEL, engine="spark")
    assert caught.value.hint == 'pip install "indistinct[spark]"'


def test_sizes_of_memory_are_read_as_spark_writes_them():
    assert [session._bytes(text) for text in ("1g", "512m", "0", "1048576", "2GB")] == [
        1 << 30,
        1 << 29,
        0,
        1 << 20,
        2 << 30,
    ]


# Order, and parts of the output.


def test_parts_ascend_with_classes_and_are_of_one_size():
    sizes = np.array([5, 90_000, 5, 10_000])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rng = np.random.default_rng(1)
    places = np.repeat(np.arange(4), sizes)
    words = rng.integers(0, worker.WORDS, len(places))
    keys = worker.keys_of(places, words)
    order = np.argsort(keys)
    found = worker.ClassPlaces(np.arange(4), starts, 10, whole=False).part(places, words)[order]
    assert (np.diff(found) >= 0).all()
    assert np.abs(np.bincount(found, minlength=10) - 10_000).max() < 1_000
    whole = worker.ClassPlaces(np.arange(4), starts, 10, whole=True).part(places, words)
    assert all(len(set(whole[places == place])) == 1 for place in range(4))


@needs_java
def test_order_inside_a_class_is_drawn_anew_and_the_key_stands_in_no_plan(frame, monkeypatch):
    from pyspark import cloudpickle

    schema = ind.Schema(quasi=["sex"], insensitive=["name"], identifiers=["age", "zipcode", "disease"])
    keys, sent = [], []
    monkeypatch.setattr("secrets.token_bytes", lambda size: keys.append(os.urandom(size)) or keys[-1])
    run = type(frame).mapInArrow

    def noted(self, *arguments, **options):
        made = run(self, *arguments, **options)
        sent.append(made._jdf.queryExecution().toString().encode() + cloudpickle.dumps(arguments[0]))
        spark().sparkContext._pickled_broadcast_vars.clear()  # or the next function would ask for it too
        return made

    monkeypatch.setattr(type(frame), "mapInArrow", noted)
    made = [ind.anonymize(frame, schema, model=MODEL, algorithm="mondrian").table for _ in range(2)]
    assert rows_of(made[0]) == rows_of(made[1])
    assert made[0]["name"].to_pylist() != made[1]["name"].to_pylist()
    assert list(dict.fromkeys(made[0]["sex"].to_pylist())) == sorted(set(made[0]["sex"].to_pylist()))
    names = [row["name"] for row in made[0].to_pylist() if row["sex"] == made[0]["sex"][0].as_py()]
    assert names != sorted(names, key=lambda name: int(name.split()[1]))
    drawn = [key for key in keys if len(key) == 32]
    assert (len(drawn), len(sent)) == (2, 4)
    assert not [plan for plan in sent for key in drawn if key in plan or key.hex().encode() in plan]


@needs_java
def test_a_million_cells_go_to_workers_of_a_session_that_encrypts(tmp_path):
    """PySpark's broadcast takes no array above 64 KB there: a table of some thousand cells has such."""
    assert spark().sparkContext._encryption_enabled
    people = spark().range(1_000_000, numPartitions=2)
    release = ind.anonymize(
        people,
        ind.Schema(quasi=["id"]),
        model="k-anonymity:k=1000",
        algorithm="mondrian",
        output=tmp_path / "r.parquet",
    )
    assert release.certificate.rows == len(release.assignment.class_ids) == 1_000_000
    assert release.certificate.smallest_class >= 1000


def test_chunks_keep_classes_whole(monkeypatch):
    monkeypatch.setattr(worker, "CHUNK", 4)
    places = [0, 0, 1, 1, 1, 1, 1, 2, 3, 3]  # in batches of three
    keys = worker.keys_of(np.array(places), np.arange(10))
    batches = pa.table({"key": keys}).to_batches(max_chunksize=3)
    chunks = [worker.places_of(chunk).tolist() for chunk in worker.in_chunks(batches, whole=True)]
    assert chunks == [[0, 0], [1, 1, 1, 1, 1, 2], [3, 3]]
    assert [len(chunk) for chunk in worker.in_chunks(batches)] == [6, 4]


# A cluster.


@needs_java
def test_the_guide_runs_on_a_cluster_of_two_workers(tmp_path):
    """One master and two workers, each a process; spark-submit runs the job that the guide shows."""
    pq.write_table(visits(), tmp_path / "visits.parquet", row_group_size=100)
    (job,) = re.findall(r"^```py\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.M | re.S)
    (tmp_path / "release_visits.py").write_text(job)
    places = [str(tmp_path / name) for name in ("release_visits.py", "visits.parquet", "release.parquet")]
    with running_cluster(tmp_path) as cluster:
        submit = [str(cluster.home / "bin" / "spark-submit"), "--master", cluster.address, "--driver-memory", "512m"]
        line = [*submit, *options_of(CLUSTER), *places]
        done = subprocess.run(line, env=cluster.environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    executors = {path.parent.name for path in tmp_path.glob("work*/app-*/*")}
    assert len(list(tmp_path.glob("work*/app-*/*"))) >= 2, executors
    assert ind.verify(tmp_path / "release.parquet", SCHEMA, MODEL).holds
    assert re.search(r"600 rows in \d+ classes", done.stdout)
