"""Samples of a database and of a cluster: so many rows, drawn once, of which nothing stays."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.engines.passes import Room
from indistinct.engines.postgres import Postgres
from indistinct.engines.spark import Spark, sampling
from indistinct.tables import Reading
from references.clinic import SCHEMA, sessions_of, with_visits
from references.spark_session import QUIET, needs_java, spark

pytestmark = [*QUIET, pytest.mark.xdist_group("spark")]
MEASURED = ind.Schema(quasi=["height", "weight"], sensitive=["disease"], insensitive=["note"])


def measured(rows=900):
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "note": [f"note {row}" for row in range(rows)],
            "height": pa.array(rng.normal(size=rows), mask=rng.random(rows) < 0.05),
            "weight": rng.integers(0, 40, rows),
            "disease": rng.choice(["flu", "gout", "mumps"], rows),
        }
    )


@pytest.fixture
def file(tmp_path):
    (tmp_path / "in").mkdir()
    pq.write_table(measured(), tmp_path / "in" / "measured.parquet", row_group_size=200)
    return tmp_path / "in" / "measured.parquet"


def held_blocks():
    return len(dict(spark().sparkContext._jsc.getPersistentRDDs()))


@needs_java
@pytest.mark.parametrize("kind", ["file", "frame"])
@pytest.mark.parametrize("room", [None, Room(150, 20, 50, 10_000), Room(150, 20, 50, 0)])
def test_counting_and_publishing_see_one_draw(kind, room, file, tmp_path, monkeypatch):
    session, output = spark(), tmp_path / "release.parquet"
    # A frame that gives other rows first whenever it is read.
    frame = session.read.parquet(str(file)).orderBy("weight").repartition(5)
    if room is not None:
        monkeypatch.setattr("indistinct.engines.spark.Spark", lambda *_: Spark(room=room))
    release = ind.anonymize(
        file if kind == "file" else frame,
        MEASURED,
        model="k-anonymity:k=3",
        algorithm="mondrian",
        sample=0.4,
        engine="spark",
        output=output,
    )
    notes = pq.read_table(output)["note"].to_pylist()
    assert release.certificate.rows == release.certificate.original_rows == len(set(notes)) == len(notes) == 360
    assert release.certificate.sample == 0.4
    assert release.certificate.smallest_class >= 3
    assert held_blocks() == 0, "workers forget the sample"


@needs_java
def test_workers_draw_equal_rows_one_by_one():
    engine = Spark()
    source = engine.open(spark().createDataFrame([("a",)] * 10 + [("b",)] * 10, "kind string"), Reading())
    seen = Counter()
    for _ in range(8):
        drawn = engine.draw(source, 0.5, person=())
        assert drawn.rows == 10
        seen[drawn.table()["kind"].to_pylist().count("a")] += 1
        assert drawn.table().sort_by("kind").equals(drawn.table().sort_by("kind")), "it is one draw"
        drawn.close()
    assert len(seen) > 1
    assert held_blocks() == 0


@needs_java
@pytest.mark.parametrize("share", [0.0001, 1])
def test_nobody_and_everybody(share):
    engine = Spark()
    source = engine.open(spark().range(100), Reading())
    drawn = engine.draw(source, share, person=())
    assert drawn.rows == drawn.table().num_rows == round(100 * share)
    drawn.close()


@needs_java
def test_too_few_words_are_drawn_again(monkeypatch):
    tried, last_word = [], sampling._last_word

    def find(*arguments):
        tried.append(arguments)
        return None if len(tried) == 1 else last_word(*arguments)

    monkeypatch.setattr(sampling, "_last_word", find)
    engine = Spark()
    drawn = engine.draw(engine.open(spark().range(100), Reading()), 0.2, person=())
    assert (drawn.rows, len(tried)) == (20, 2)
    drawn.close()
    assert held_blocks() == 0


@needs_java
def test_workers_draw_people_with_all_their_rows():
    engine = Spark()
    rows = [(f"p{number % 20}", number % 3, number) for number in range(120)]
    source = engine.open(spark().createDataFrame(rows, "who string, ward int, row int").repartition(3), Reading())
    drawn = engine.draw(source, 0.25, person=("who", "ward"))
    every = Counter((who, ward) for who, ward, _ in rows)
    found = Counter(zip(*(drawn.table()[name].to_pylist() for name in ("who", "ward")), strict=True))
    assert len(found) == len(every) // 4
    assert all(every[each] == count for each, count in found.items())
    drawn.close()


@needs_java
def test_the_frame_is_the_population_of_its_sample(tmp_path):
    frame = spark().createDataFrame([(20 + i % 10, i) for i in range(100)], "age int, key int")
    schema = ind.Schema(quasi=["age"], insensitive=["key"])
    release = ind.anonymize(
        frame, schema, model="k-map:k=10", algorithm="optimal", sample=0.3, output=tmp_path / "release.parquet"
    )
    assert release.certificate.population_size == 100
    assert release.certificate.smallest_class < 10


@needs_java
def test_a_sample_of_fewer_than_k_rows_says_so(file):
    with pytest.raises(ind.InfeasibleError, match=r"a sample of 0.002 has 2 rows"):
        ind.anonymize(file, MEASURED, model="k-anonymity:k=3", sample=0.002, engine="spark")
    assert held_blocks() == 0


@pytest.fixture(scope="module")
def server(postgres):
    return with_visits(postgres, "sampled")


@pytest.fixture
def visits(server):
    server.run("DROP TABLE IF EXISTS sampled.release")
    return ind.DatabaseTable(server.url, "sampled.visits")


OPTIONS = {"model": "k-anonymity:k=5", "algorithm": "mondrian"}


@pytest.mark.parametrize("person", [(), ("name",)])
def test_rows_of_a_database(server, visits, person, tmp_path):
    schema = replace(SCHEMA, identifiers=(), person=("name",)) if person else SCHEMA
    release = ind.anonymize(visits, schema, sample=0.25, output=tmp_path / "release.parquet", **OPTIONS)
    written = pq.read_table(tmp_path / "release.parquet")
    assert release.certificate.rows == release.certificate.original_rows == len(written)
    assert person or len(written) == 100
    assert release.certificate.sample == 0.25
    assert sessions_of(server) == 0


def test_a_sample_goes_to_a_table_of_the_database(server, visits):
    release = ind.anonymize(
        visits, SCHEMA, sample=0.25, output=ind.DatabaseTable(server.url, "sampled.release"), **OPTIONS
    )
    assert release.certificate.rows == server.run("SELECT count(*) AS n FROM sampled.release")[0][0] == 100


def test_the_table_of_a_database_is_the_population_of_its_sample(visits):
    release = ind.anonymize(visits, SCHEMA, model="k-map:k=8", algorithm="mondrian", sample=0.25)
    [verdict] = release.certificate.verdicts
    assert release.certificate.population_size == 400
    assert verdict.holds
    assert verdict.achieved["k"] >= 8


def test_columns_of_a_sample_are_transformed(visits):
    cost = ind.Transformation(round=50, top=200)
    release = ind.anonymize(visits, SCHEMA, sample=0.5, transformations={"cost": cost}, **OPTIONS)
    assert release.certificate.rows == 200
    assert set(release.table["cost"].to_pylist()) <= {0, 50, 100, 150, 200}


def test_a_sample_of_a_database_that_does_not_fit_says_so(visits):
    with Postgres().open(visits, Reading()) as table, pytest.raises(ind.OutOfMemoryError, match="a sample of"):
        table.draw(0.5, person=(), most=100)
