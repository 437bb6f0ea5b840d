"""Parquet files that workers of Spark read and write themselves: the values of Spark, one file for each part."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.engines.spark import Spark, files, publish, worker
from indistinct.engines.spark import source as of_spark
from indistinct.engines.spark.files import FilePiece, FilePieces, unite_groups
from indistinct.engines.spark.parcels import pack_parts, pack_table, unpack_parcels
from indistinct.errors import InputError, OutputError
from indistinct.tables import Reading
from references.engine_runs import rows_of
from references.spark_session import QUIET, needs_java, spark

pytestmark = [*QUIET, pytest.mark.xdist_group("spark")]
SCHEMA = ind.Schema(quasi=["age", "town"], insensitive=["note"])
OPTIONS = {"model": "k-anonymity:k=5", "algorithm": "mondrian", "engine": "spark"}
NOON = datetime.datetime(1900, 1, 1, 12, 30)
KINDS = {
    "int8": pa.array([1, None, -128], pa.int8()),
    "uint8": pa.array([255, None, 0], pa.uint8()),
    "uint32": pa.array([2**32 - 1, None, 0], pa.uint32()),
    "int64": pa.array([2**62, None, 0], pa.int64()),
    "float": pa.array([0.5, None, -0.0], pa.float32()),
    "truth": pa.array([True, None, False]),
    "text": pa.array(["é", None, ""]),
    "long.text": pa.array(["日本", None, "a"], pa.large_string()),
    "coded": pa.array(["x", None, "y"]).dictionary_encode(),
    "price": pa.array([Decimal("0.10"), None, Decimal("-7.25")], pa.decimal128(6, 2)),
    "day": pa.array([datetime.date(1582, 10, 10), None, datetime.date(2020, 2, 29)]),
    "moment": pa.array([NOON, None, NOON], pa.timestamp("us", "Europe/Oslo")),
    "clock": pa.array([NOON, None, NOON], pa.timestamp("ms")),
}


def people(rows=400):
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "age": rng.integers(18, 40, rows),
            "town": rng.choice(["Oslo", "Bergen", "Ås"], rows),
            "note": [f"note {row}" for row in range(rows)],
        }
    )


def sorted_groups(groups):
    rows = zip(*(column.to_pylist() for column in groups.table.columns), groups.counts.tolist(), strict=True)
    return sorted(map(repr, rows))


@needs_java
def test_workers_read_the_values_that_spark_reads(tmp_path):
    place = tmp_path / "kinds.parquet"
    pq.write_table(pa.table(KINDS), place, row_group_size=2)
    spark()
    opened = Spark().open(place, Reading())
    assert len(opened.pieces) == 2
    for name in KINDS:
        mine, theirs = opened.groups([name]), opened._groups_of_frame([name])
        assert sorted_groups(mine) == sorted_groups(theirs), name
        kind = mine.table[name].type
        assert (kind.value_type if isinstance(kind, pa.DictionaryType) else kind) == theirs.table[name].type, name


@needs_java
def test_groups_beyond_the_rows_that_a_driver_takes_are_united_by_workers(tmp_path, monkeypatch):
    spark()
    place = tmp_path / "people.parquet"
    pq.write_table(people(), place, row_group_size=60)
    opened = Spark().open(place, Reading())
    direct = opened.groups(["age", "town"])
    monkeypatch.setattr(of_spark, "most_bytes", lambda _session: of_spark.bytes_of_groups(100, ["age", "town"]))
    united = opened.groups(["age", "town"])
    assert len(direct.counts) == 66
    assert sorted_groups(united) == sorted_groups(direct)
    with pytest.raises(InputError, match=r"there are 400 combinations of values, and the driver can take about 150"):
        opened.groups(["note"])


def test_a_large_row_group_is_read_by_several_tasks(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BATCH", 100)
    place = tmp_path / "people.parquet"
    pq.write_table(people(), place, row_group_size=350)
    whole = (FilePiece(str(place), 0, 350), FilePiece(str(place), 1, 50))
    pieces = files.split_pieces(whole, 6)
    assert [(each.row_group, each.first, each.rows) for each in pieces] == [
        (0, 0, 116),
        (0, 116, 117),
        (0, 233, 117),
        (1, 0, 50),
    ]
    assert files.split_pieces(whole, 2) == whole
    numbers = [pa.record_batch({"id": range(len(pieces))})]
    read = pa.Table.from_batches(FilePieces(pieces, pa.schema([("note", pa.string())])).read(numbers))
    assert read["c0"].to_pylist() == people()["note"].to_pylist()


@needs_java
def test_spark_reads_where_arrow_may_read_otherwise(tmp_path):
    moments = pa.table({"at": pa.array([NOON], pa.timestamp("us", "UTC")), "age": [1]})
    old = moments.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""})
    for name, table, options in [
        ("int96", moments, {"use_deprecated_int96_timestamps": True}),
        ("calendar", old, {}),
        ("length", pa.table({"for": pa.array([5], pa.duration("us"))}), {}),
    ]:
        place = tmp_path / f"{name}.parquet"
        pq.write_table(table, place, **options)
        spark()
        opened = Spark().open(place, Reading())
        assert opened.pieces is None, name
        assert opened.groups(opened.columns).counts.tolist() == [1]
    both = tmp_path / "both"
    both.mkdir()
    pq.write_table(pa.table({"age": [1]}), both / "a.parquet")
    pq.write_table(pa.table({"age": pa.array([1], pa.int32())}), both / "b.parquet")
    assert Spark().open(both, Reading()).pieces is None


@needs_java
def test_a_release_of_files_is_that_of_memory_and_says_nothing_but_its_columns(tmp_path, monkeypatch):
    spark()
    monkeypatch.setattr(publish, "FEW_ROWS", 100)
    source, output = tmp_path / "people.parquet", tmp_path / "release.parquet"
    pq.write_table(people(), source, row_group_size=150)
    release = ind.anonymize(source, SCHEMA, **OPTIONS, output=output)
    first = ind.anonymize(source, SCHEMA, **{**OPTIONS, "engine": "memory"})
    assert rows_of(release.table) == rows_of(first.table)
    assert sorted(path.name for path in output.iterdir()) == [f"part-{part:05}.parquet" for part in range(4)]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["people.parquet", "release.parquet", "release.parquet.certificate.json"]
    )
    for path in output.iterdir():
        assert pq.read_metadata(path).metadata is None
        assert pq.read_schema(path).names == ["age", "town", "note"]
    notes = [cell for path in sorted(output.iterdir()) for cell in pq.read_table(path)["note"].to_pylist()]
    assert notes != sorted(notes, key=lambda note: int(note.split()[1]))


@needs_java
def test_a_task_that_runs_twice_leaves_one_file(tmp_path, monkeypatch):
    spark()
    source, output = tmp_path / "people.parquet", tmp_path / "release.parquet"
    pq.write_table(people(), source)
    run, left = publish._Job.run, []

    class Attempt:
        def __init__(self, number):
            self.taskAttemptId = lambda: number

    def run_twice(job, frame, holder, method, schema):
        """Let a task write here, twice as two attempts do; the second is the one that Spark tells of."""
        if method != "write":
            return run(job, frame, holder, method, schema)
        parcels = frame.toArrow().to_batches()
        for number in (7, 8):
            monkeypatch.setattr("pyspark.TaskContext.get", lambda number=number: Attempt(number))
            told = pa.Table.from_batches(holder.write(parcels, 0))
        left.extend(sorted(path.name for path in holder.folder.iterdir()))
        return type("Frame", (), {"toArrow": lambda _: told})()

    monkeypatch.setattr(publish._Job, "run", run_twice)
    release = ind.anonymize(source, SCHEMA, **OPTIONS, output=output)
    assert left == ["part-00000-7.parquet", "part-00000-8.parquet"]
    assert [path.name for path in output.iterdir()] == ["part-00000.parquet"]
    assert release.certificate.rows == pq.read_table(output).num_rows == 400
    assert len(list(tmp_path.iterdir())) == 3


def test_a_file_that_workers_do_not_see_is_named(tmp_path):
    place = tmp_path / "gone.parquet"
    pq.write_table(pa.table({"age": [1]}), place)
    piece, schema = FilePiece(str(place), 1, 1), pa.schema([("age", pa.int64())])
    numbers = [pa.record_batch({"id": [0]})]
    with pytest.raises(InputError, match=r"could not read the file 'gone\.parquet'"):
        list(FilePieces((piece,), schema).read(numbers))
    place.unlink()
    with pytest.raises(InputError, match=r"does not see the file 'gone\.parquet'") as caught:
        list(FilePieces((piece,), schema).count(numbers))
    assert "share" in caught.value.hint


def test_a_folder_that_driver_and_workers_do_not_share_is_said(tmp_path):
    schema = pa.schema([("age", pa.int64())])
    with (
        pytest.raises(InputError, match="does not see the folder of the output"),
        worker.writer_at(tmp_path / "elsewhere", "part.parquet", schema),
    ):
        pass
    with pytest.raises(OutputError, match="the driver does not see"):
        publish._take_file(tmp_path / "part.parquet", tmp_path / "target.parquet", 3)


def test_parcels_hold_the_rows_of_their_part(monkeypatch):
    texts = pa.array(["a", None, "b", "a", "c", "c", "c", "c"]).dictionary_encode()
    table = pa.table({"text": texts, "number": range(8)})
    parts = np.array([1, 0, 1, 0, 1, 1, 1, 1])
    batches = list(pack_parts(table, parts))
    assert [batch["part"].to_pylist() for batch in batches] == [[0], [1]]
    for part, numbers in enumerate([[1, 3], [0, 2, 4, 5, 6, 7]]):
        found, rows = unpack_parcels([batches[part]])
        assert (found, rows["number"].to_pylist()) == (part, numbers)
        assert rows["text"].to_pylist() == [texts[number].as_py() for number in numbers]
    assert unpack_parcels(batches)[1].num_rows == 8
    assert unpack_parcels([]) == (0, None)
    assert list(pack_parts(table.slice(0, 0), parts[:0])) == []
    monkeypatch.setattr("indistinct.engines.spark.parcels.PARCEL_BYTES", 1)
    assert unpack_parcels(pack_table(table, part=3))[1].num_rows == len(list(pack_table(table, part=3))) == 8


def test_groups_of_pieces_are_united():
    first = pa.table({"c0": pa.array(["a", "b"]).dictionary_encode(), "rows": [2, 3]})
    second = pa.table({"c0": pa.array(["c", "a", None]).dictionary_encode(), "rows": [1, 5, 4]})
    united = unite_groups([first, second])
    assert dict(zip(*(column.to_pylist() for column in united.columns), strict=True)) == {
        "a": 7,
        "b": 3,
        "c": 1,
        None: 4,
    }
