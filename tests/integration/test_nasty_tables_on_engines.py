"""Spark and PostgreSQL answer as memory does on tables with missing values in every type, odd texts and odd files."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.engines.spark import Spark
from indistinct.tables import Reading
from references.hive_tables import PARTED, hive_table, sources_of, write_partitions
from references.nasty_runs import VERBS, answers_of
from references.nasty_tables import SHAPES, nasty_table, rows_of, write_shape
from references.spark_session import QUIET, needs_java, spark

ON_SPARK = [needs_java, *QUIET, pytest.mark.xdist_group("spark")]
ENGINES = [
    *(pytest.param("spark", shape, marks=ON_SPARK, id=f"spark-{shape}") for shape in SHAPES),
    pytest.param("postgres", None, id="postgres"),
]


@pytest.fixture(scope="module")
def of_memory(tmp_path_factory):
    folder, table = tmp_path_factory.mktemp("memory"), nasty_table()
    return answers_of("memory", write_shape(table, folder, "file"), folder, table)


@pytest.fixture(scope="module")
def known():
    """The answers of each engine, asked once."""
    return {}


@pytest.mark.parametrize(("engine", "shape"), ENGINES)
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_answers_as_memory_does(of_memory, known, tmp_path_factory, request, engine, shape, verb):
    if (engine, shape) not in known:
        table, folder = nasty_table(), tmp_path_factory.mktemp("a b=c")  # Spark must not take it for an address
        if engine == "spark":
            spark()
            source = write_shape(table, folder, shape)
        else:
            server = request.getfixturevalue("postgres")
            source = ind.DatabaseTable(server.url, server.upload(table))
        known[engine, shape] = answers_of(engine, source, folder, table)
    assert known[engine, shape][verb] == of_memory[verb]


@pytest.mark.parametrize("files", [1, 3])
@pytest.mark.parametrize("model", ["k-anonymity:k=5", "k-anonymity:k=5 & distinct-l-diversity:sensitive=illness,l=3"])
@pytest.mark.parametrize("marks", [pytest.param(None, marks=ON_SPARK, id="spark")])
def test_three_hundred_thousand_rows_with_missing_texts(tmp_path, files, model, marks):
    """Arrow leaves undefined numbers under missing texts, which ended the process without a word."""
    spark()
    rng, rows = np.random.default_rng(files), 300_000

    def texts(name, count):
        cells = np.array([f"{name}{i}" for i in range(count)], dtype=object)[rng.integers(0, count, rows)]
        cells[rng.random(rows) < 0.01] = None
        return pa.array(cells.tolist(), pa.string())

    table = pa.table({"age": rng.integers(18, 90, rows), "city": texts("c", 40), "illness": texts("i", 12)})
    (tmp_path / "in").mkdir()
    for number in range(files):
        part = table.slice(number * rows // files, rows // files)
        pq.write_table(part, tmp_path / "in" / f"{number}.parquet", row_group_size=40_000)
    schema = ind.Schema(quasi=["age", "city"], sensitive=["illness"])
    how = {"model": model, "algorithm": "mondrian", "seed": 1}
    found = [ind.anonymize(tmp_path / "in", schema, engine=engine, **how).table for engine in ("memory", "spark")]
    one, other = (each.cast(pa.schema([(name, pa.string()) for name in each.column_names])) for each in found)
    counts = [each.group_by(each.column_names).aggregate([([], "count_all")]) for each in (one, other)]
    assert rows_of(counts[0]) == rows_of(counts[1])
    assert other["illness"].null_count == table["illness"].null_count


@pytest.mark.parametrize("named", ["folder", "pattern", "list"])
@pytest.mark.parametrize("marks", [pytest.param(None, marks=ON_SPARK, id="spark")])
def test_spark_reads_hive_partitions_as_memory_does(tmp_path, named, marks):
    spark()
    folder = tmp_path / "a b=c%20[x]"
    write_partitions(hive_table(), folder)
    source = folder if named == "folder" else sources_of(folder)["list"]
    if named == "pattern":
        source = f"{tmp_path}/a*/**/*.parquet"
        folder_is_column = ind.open(source)
        assert folder_is_column.columns[-5:] == ("a b", *PARTED)  # the pattern leaves that folder open too
    opened, table = Spark().open(source, Reading()), ind.open(source)
    assert opened.pieces is not None
    assert rows_of(opened.table()) == rows_of(table.data)
    assert opened.columns == table.columns
    groups = opened.groups([*PARTED, "illness"])
    assert int(groups.counts.sum()) == len(table.data)
    schema = ind.Schema(quasi=["age", *PARTED], sensitive=["illness"], identifiers=table.columns[2:-4])
    how = {"model": "k-anonymity:k=3", "algorithm": "mondrian", "seed": 1}
    found = [ind.anonymize(source, schema, engine=engine, **how).table for engine in ("memory", "spark")]
    assert rows_of(found[0]) == rows_of(found[1])


@pytest.mark.parametrize("columns", [["city"], ["seen_on", "count"]])
@pytest.mark.parametrize("marks", [pytest.param(None, marks=ON_SPARK, id="spark")])
def test_spark_writes_the_partitions_of_memory(tmp_path, columns, marks):
    spark()
    table = nasty_table().select(["person", "age", "city", "illness"])
    rows = len(table)
    table = table.append_column(
        "seen_on", pa.array([None if i % 3 else 19_700 + i % 2 for i in range(rows)], pa.date32())
    )
    table = table.append_column("count", pa.array([None if i % 5 else i % 4 for i in range(rows)], pa.int64()))
    schema = ind.Schema(
        identifiers=["person"], quasi=["age", "city"], sensitive=["illness"], insensitive=["seen_on", "count"]
    )
    how = {"model": "k-anonymity:k=3", "algorithm": "mondrian", "seed": 1, "partition_by": columns}
    released = {}
    for engine in ("memory", "spark"):
        pq.write_table(table, tmp_path / "in.parquet")
        released[engine] = ind.anonymize(
            tmp_path / "in.parquet", schema, engine=engine, output=tmp_path / f"{engine}.parquet", **how
        )
    paths = {
        engine: sorted(str(path.relative_to(tmp_path / f"{engine}.parquet")) for path in folder.rglob("*.parquet"))
        for engine, folder in ((each, tmp_path / f"{each}.parquet") for each in released)
    }
    assert paths["memory"] == paths["spark"]
    one, other = (released[engine].table for engine in released)
    assert one.column_names == other.column_names
    assert rows_of(one) == rows_of(other)


@pytest.mark.parametrize("marks", [pytest.param(None, marks=ON_SPARK, id="spark")])
def test_a_release_is_a_frame_of_spark(marks):
    session = spark()
    table = nasty_table()
    schema = ind.Schema(
        quasi=["age", "city"],
        sensitive=["illness"],
        identifiers=["person"],
        insensitive=[name for name in table.column_names if name not in ("age", "city", "illness", "person")],
    )
    release = ind.anonymize(table, schema, model="k-anonymity:k=3", algorithm="mondrian", seed=3)
    for frame in (release.to_spark(), release.to_spark(session=session)):
        assert frame.columns == release.table.column_names
        assert frame.schema["seen"].dataType.simpleString() == "timestamp_ntz"
        assert rows_of(frame.toArrow()) == rows_of(release.table)
