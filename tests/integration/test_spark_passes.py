"""Tables with more combinations than Spark's driver takes: workers pass over the rows, with the answer of memory."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.engines.duckdb import DuckDB
from indistinct.engines.passes import Room
from indistinct.engines.spark import Spark, passes, source
from indistinct.engines.spark.estimating import KEPT, Smallest, join_words, merge_smallest, smallest_words, words_of
from indistinct.errors import OutOfMemoryError
from indistinct.frequencies.count import Request
from indistinct.recoding.columns import QuasiColumn
from indistinct.tables import Reading
from references.engine_runs import rows_of
from references.spark_session import QUIET, needs_java, spark

pytestmark = [*QUIET, pytest.mark.xdist_group("spark")]
ROOM = Room(cells=150, numbers=20, texts=50, classes=1000)
SCHEMA = ind.Schema(quasi=["height", "weight", "ward"], sensitive=["disease"], insensitive=["note"])
BOTH = "k-anonymity:k=4 & distinct-l-diversity:sensitive=disease,l=2"


def measured(rows=2000):
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "height": pa.array(rng.normal(size=rows), mask=rng.random(rows) < 0.05),
            "weight": np.exp(rng.normal(size=rows)),
            "ward": rng.choice(["north", "south", "west"], rows),
            "disease": rng.choice(["flu", "gout", "mumps"], rows),
            "note": [f"note {row}" for row in range(rows)],
        }
    )


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "measured.parquet"
    pq.write_table(measured(), path, row_group_size=300)
    return path


@pytest.fixture
def small(monkeypatch):
    """Let the driver hold few cells, and a worker few rows of a part."""
    spark()
    monkeypatch.setattr("indistinct.engines.spark.Spark", lambda *_: Spark(room=ROOM))


def publish(table, algorithm="mondrian", model="k-anonymity:k=4", schema=SCHEMA, **options):
    return ind.anonymize(table, schema, model=model, algorithm=algorithm, **options)


def cuts_in_order(recoding):
    """Yield the cuts of a tree, each before those below it: the column and the value after which it lies."""
    cuts, waiting = recoding.cuts, [0]
    while waiting:
        node = waiting.pop()
        axis = int(cuts.axis[node])
        if axis < 0:
            yield None
            continue
        column = QuasiColumn(recoding.columns[axis].domain)
        yield column.name, column.domain.texts()[column.by_rank[cuts.cut[node]]]
        waiting += [cuts.right[node], cuts.left[node]]


def require_equal(mine, memory):
    """Fail unless two releases cut alike, and have the same rows in every class."""
    assert list(cuts_in_order(mine.recoding)) == list(cuts_in_order(memory.recoding))
    assert rows_of(mine.table) == rows_of(memory.table)
    assert mine.certificate.verdicts == memory.certificate.verdicts


@needs_java
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("algorithm", "model"), [("mondrian", BOTH), ("mondrian:extent=region", "k-anonymity:k=4")])
def test_files_go_level_by_level_with_the_answer_of_memory(file, algorithm, model, tmp_path):
    output = tmp_path / "release.parquet"
    mine = publish(file, algorithm, model, engine="spark", output=output)
    require_equal(mine, publish(file, algorithm, model, engine="memory"))
    assert len(mine.recoding.columns[1].domain) < 2000  # ends of classes alone, so cells were not collected
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "measured.parquet",
        "release.parquet",
        "release.parquet.certificate.json",
    ]


@needs_java
@pytest.mark.usefixtures("small")
def test_a_frame_goes_level_by_level_too_and_answers_are_added_up_on_workers(file):
    frame = spark().createDataFrame(measured()).repartition(7)
    require_equal(publish(frame, model=BOTH), publish(file, model=BOTH, engine="memory"))


@needs_java
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("form", ["choose=loss", "choose=information-gain,target=disease"])
def test_cuts_from_a_sample_are_those_of_duckdb(file, form, monkeypatch):
    monkeypatch.setattr("indistinct.engines.duckdb.DuckDB", lambda *_: DuckDB(room=ROOM))
    mine, theirs = (publish(file, f"mondrian:{form}", BOTH, engine=engine) for engine in ("spark", "duckdb"))
    assert mine.certificate.holds
    assert rows_of(mine.table) == rows_of(theirs.table)
    assert mine.certificate.verdicts == theirs.certificate.verdicts


@needs_java
def test_the_memory_of_the_driver_decides(file, monkeypatch):
    spark()
    request, opened = Request(SCHEMA.quasi), Spark().open(file, Reading())
    assert Spark().cells_beyond_memory(opened, request) is None
    monkeypatch.setattr(source, "most_bytes", lambda _session: source.bytes_of_groups(1000, SCHEMA.quasi))
    beyond = Spark().cells_beyond_memory(opened, request)
    assert beyond.cells == 2000
    assert list(beyond.widest) == ["weight", "height", "ward"]
    assert Spark().cells_beyond_memory(opened, Request(("ward",))) is None  # three, as an estimate says
    require_equal(publish(file, engine="spark"), publish(file, engine="memory"))
    with pytest.raises(OutOfMemoryError, match=r"about 2,000 different combinations.*not with relaxed=true"):
        publish(file, "mondrian:relaxed=true", engine="spark")


@needs_java
@pytest.mark.usefixtures("small")
def test_a_part_that_cannot_be_cut_is_one_class(tmp_path):
    """Rows that all agree: more than a worker holds at once, and read some at a time."""
    alike = pa.table({"x": np.zeros(600), "y": np.ones(600)})
    apart = pa.table({"x": np.arange(300.0) + 9, "y": np.arange(300.0)})
    pq.write_table(pa.concat_tables([alike, apart]), tmp_path / "t.parquet", row_group_size=100)
    schema = ind.Schema(quasi=["x", "y"])
    found = [publish(tmp_path / "t.parquet", schema=schema, engine=engine) for engine in ("spark", "memory")]
    require_equal(*found)


def test_tasks_without_rows_have_no_answer():
    kinds = pa.schema([("x", pa.float64())])
    asking = passes.Asking(kinds, None, lambda rows: sum(map(len, rows.batches(["x"]))), sum)
    empty, some = (pa.RecordBatch.from_pydict({"c0": cells}, pa.schema([("c0", pa.float64())])) for cells in ([], [1]))
    assert list(asking.answer([empty], 0)) == []
    answers = [*asking.answer([empty, some], 3), *asking.answer([some, some], 4)]
    assert list(passes.unpack_answers(answers)) == [(3, 1), (4, 2)]
    assert list(passes.unpack_answers(asking.add_up(answers, 0))) == [(0, 3)]
    assert list(asking.add_up([], 0)) == []


def test_distinct_values_are_estimated_and_few_are_counted():
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 60_000, 200_000)
    table = pa.table({"x": numbers / 7, "town": pa.array((numbers % 5).astype(str)).dictionary_encode()})
    nothing = [Smallest.nothing()] * 3
    parts = [smallest_words(nothing, table.slice(first, 50_000)) for first in range(0, 200_000, 50_000)]
    whole, x, town = (each.distinct for each in merge_smallest(parts))
    exact = len(np.unique(numbers))
    assert len(parts[0][0].words) == KEPT
    assert abs(whole - exact) < 0.06 * exact
    assert abs(x - exact) < 0.06 * exact
    assert town == 5


def test_words_are_those_of_values_whatever_their_form():
    texts = pa.chunked_array([["a", None, "b", "a"]])
    coded = texts.dictionary_encode()
    assert words_of(texts, 0).tolist() == words_of(coded, 0).tolist()
    assert len(set(words_of(texts, 0))) == 3
    assert words_of(texts, 0)[0] != words_of(texts, 1)[0]
    zeros = words_of(pa.chunked_array([[0.0, -0.0, None]]), 0)
    assert zeros[0] == zeros[1] != zeros[2]
    days = pa.chunked_array([pa.array([1, 2, None, 1], pa.date32())])
    assert len(set(words_of(days, 0))) == 3
    swapped = [join_words([np.array([each], dtype=np.uint64) for each in pair]) for pair in ((1, 2), (2, 1))]
    assert swapped[0] != swapped[1]
