"""Tables whose cells do not fit in memory: what is said, what goes level by level, and what is refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.engines.duckdb import DuckDB
from indistinct.engines.passes import Room
from indistinct.errors import InfeasibleError, InputError, OutOfMemoryError, ParameterError
from indistinct.frequencies.count import Request
from indistinct.frequencies.passes import KeyColumn, KnownValues
from indistinct.tables import Reading

ROOM = Room(cells=150, numbers=20, texts=50, classes=1000)
SCHEMA = ind.Schema(quasi=["height", "weight", "ward"], sensitive=["disease"])
MODEL = "k-anonymity:k=4"


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    rows = 2000
    return pa.table(
        {
            "person": rng.integers(0, 900, rows),
            "height": pa.array(rng.normal(size=rows), mask=rng.random(rows) < 0.05),
            "weight": np.exp(rng.normal(size=rows)),
            "ward": rng.choice(["north", "south", "west"], rows),
            "disease": rng.choice(["flu", "gout", "mumps"], rows),
        }
    )


@pytest.fixture
def source(table, tmp_path):
    path = tmp_path / "measured.parquet"
    pq.write_table(table.drop_columns(["person"]), path, row_group_size=300)
    return path


@pytest.fixture
def small(monkeypatch):
    """Let the engine duckdb hold few cells at once."""
    monkeypatch.setattr("indistinct.engines.duckdb.DuckDB", lambda *_: DuckDB(room=ROOM))


def publish(source, algorithm="mondrian", schema=SCHEMA, model=MODEL, **options):
    return ind.anonymize(source, schema, model=model, algorithm=algorithm, engine="duckdb", **options)


@pytest.mark.usefixtures("small")
def test_a_file_is_published_and_nothing_is_left(source, tmp_path, monkeypatch):
    folder = tmp_path / "spilled"
    folder.mkdir()
    monkeypatch.setenv("INDISTINCT_SPILL", str(folder))
    shares = []
    path = tmp_path / "release.parquet"
    release = publish(source, output=path, progress=shares.append)
    memory = ind.anonymize(source, SCHEMA, model=MODEL, algorithm="mondrian", engine="memory")
    assert release.certificate.holds
    assert release.certificate.classes == memory.certificate.classes
    assert sorted(map(str, pq.read_table(path).to_pylist())) == sorted(map(str, memory.table.to_pylist()))
    assert shares == sorted(shares)
    assert list(folder.rglob("*.rows")) == []


@pytest.mark.usefixtures("small")
def test_files_that_cannot_all_be_open_are_written_by_several_passes(source, monkeypatch):
    first = publish(source)
    monkeypatch.setattr("indistinct.job.parts.MAX_FILES", 3)
    again = publish(source)
    assert again.recoding.cuts.classes == first.recoding.cuts.classes
    assert sorted(map(str, again.table.to_pylist())) == sorted(map(str, first.table.to_pylist()))


@pytest.mark.usefixtures("small")
def test_a_column_with_many_values_is_known_by_the_ends_of_classes(source):
    recoding = publish(source).recoding
    height, weight, ward = (column.domain for column in recoding.columns)
    assert len(height) < 1500
    assert len(weight) < 1500
    assert len(ward) == 3
    assert recoding.cuts.classes > 100


@pytest.mark.usefixtures("small")
def test_a_recoding_with_ends_alone_is_kept_and_applied(source, table, tmp_path):
    first = publish(source, save_recoding=tmp_path / "recoding", output=tmp_path / "first.parquet")
    again = ind.apply(tmp_path / "recoding", table.drop_columns(["person"]), engine="memory")
    rows = pq.read_table(tmp_path / "first.parquet")
    assert sorted(map(str, again.table.to_pylist())) == sorted(map(str, rows.to_pylist()))
    assert again.certificate.classes == first.certificate.classes


@pytest.mark.usefixtures("small")
def test_auto_takes_what_is_possible_and_says_why(source):
    release = publish(source, algorithm="auto")
    assert release.certificate.algorithm == "mondrian"
    assert release.certificate.holds
    assert "do not fit in memory" in "\n".join(str(each) for each in release.explanation.attempts)


@pytest.mark.usefixtures("small")
def test_another_algorithm_says_how_many_cells_there_are_and_what_to_coarsen(source):
    with pytest.raises(OutOfMemoryError, match=r"about [\d,]+ different combinations") as raised:
        publish(source, algorithm="datafly", hierarchies={"height": ind.Hierarchy.suppression()})
    assert raised.value.details["cells"] > 1500
    assert "'weight' (about " in raised.value.message
    assert "mondrian" in raised.value.hint
    assert "leave them out" in raised.value.hint


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        ("mondrian:relaxed=true", "relaxed=true"),
        ("mondrian:missing=pattern", "missing=pattern"),
        ("mondrian:numeric=mean", "numeric=mean"),
    ],
)
def test_what_passes_over_rows_cannot_count_is_refused_by_name(source, algorithm, words):
    with pytest.raises(OutOfMemoryError, match=f"not with {words}"):
        publish(source, algorithm=algorithm)


def test_a_release_that_came_back_to_memory_is_verified_there(table):
    release = publish(table.drop_columns(["person"]))
    assert ind.verify(release).holds
    assert ind.verify(release).classes == release.certificate.classes


@pytest.mark.usefixtures("small")
def test_metrics_are_those_of_memory_but_for_two_that_need_every_value(source):
    """Of a class only the ends are kept, so that most values of a column are the end of none."""
    release = publish(source)
    memory = ind.anonymize(source, SCHEMA, model=MODEL, algorithm="mondrian", engine="memory")
    mine, theirs = ind.measure(release), dict(ind.measure(memory).items())
    left_out = [name for name, _ in mine.not_measured]
    assert left_out == ["iloss", "entropy"]
    assert dict(mine.items()) == pytest.approx({name: theirs[name] for name in theirs if name not in left_out})
    with pytest.raises(ParameterError, match="entropy cannot be measured on a release that was made round by round"):
        ind.measure(release, ["entropy"])


@pytest.mark.usefixtures("small")
def test_people_are_refused_by_name(table):
    schema = ind.Schema(quasi=SCHEMA.quasi, sensitive=SCHEMA.sensitive, person=["person"])
    with pytest.raises(OutOfMemoryError, match="not with people"):
        publish(table, schema=schema)


@pytest.mark.usefixtures("small")
def test_a_model_that_cannot_be_satisfied_is_infeasible(source):
    with pytest.raises(InfeasibleError):
        publish(source, model="distinct-l-diversity:sensitive=disease,l=4")


@pytest.mark.usefixtures("small")
def test_text_with_too_many_values_is_refused(table):
    names = pa.array([f"street {index % 700}" for index in range(table.num_rows)])
    schema = ind.Schema(quasi=["height", "street"])
    with pytest.raises(OutOfMemoryError, match="'street' has more than 50 distinct values"):
        publish(table.select(["height"]).append_column("street", names), schema=schema)


def test_too_many_classes_are_refused_with_what_to_ask_for(source, monkeypatch):
    monkeypatch.setattr("indistinct.engines.duckdb.DuckDB", lambda *_: DuckDB(room=Room(150, 20, 50, classes=30)))
    with pytest.raises(OutOfMemoryError, match="more than 30 classes") as raised:
        publish(source)
    assert "larger classes" in raised.value.hint


def test_a_large_part_that_cannot_be_cut_is_one_class(monkeypatch):
    """Rows that all agree, and rows of one disease: neither may be held at once, and no cut is allowed."""
    rng = np.random.default_rng(2)
    alike = pa.table({"x": np.zeros(500), "y": np.ones(500), "disease": ["flu", "gout"] * 250})
    apart = pa.table({"x": rng.normal(size=300) + 9, "y": rng.normal(size=300), "disease": ["mumps"] * 299 + ["flu"]})
    schema = ind.Schema(quasi=["x", "y"], sensitive=["disease"])
    monkeypatch.setattr("indistinct.engines.duckdb.DuckDB", lambda *_: DuckDB(room=Room(20, 1, 50, 1000)))
    both = pa.concat_tables([alike, apart])
    for model in ("k-anonymity:k=3", "distinct-l-diversity:sensitive=disease,l=2"):
        mine = publish(both, schema=schema, model=model)
        theirs = ind.anonymize(both, schema, model=model, algorithm="mondrian", engine="memory")
        assert sorted(map(str, mine.table.to_pylist())) == sorted(map(str, theirs.table.to_pylist()))
        assert mine.certificate.classes == theirs.certificate.classes


def test_memory_decides_where_it_begins(source, table):
    assert len(publish(source, memory="1GB").recoding.columns[1].domain) == 2000  # every value: it was not needed
    twice, request = pa.concat_tables([table] * 2), Request(("height", "weight"))
    opened = DuckDB().open(twice, Reading())
    assert len(DuckDB().count(opened, request).frequencies) == 2000
    with pytest.raises(OutOfMemoryError) as raised:
        DuckDB(memory=200_000).count(opened, request)
    assert 1500 < raised.value.details["cells"] < 2500  # rows that agree are one cell


def test_a_number_that_leaves_no_room_for_missing_is_an_error():
    with pytest.raises(InputError, match="largest number of its type"):
        KeyColumn("code", pa.uint64()).keys(pa.chunked_array([pa.array([2**64 - 1], pa.uint64())]))


def test_numbers_without_an_order_are_an_error():
    with pytest.raises(InputError, match="1 NaN"):
        KeyColumn("height", pa.float64()).keys(pa.chunked_array([[float("nan"), 1.0]]))


def test_values_of_batches_are_added_up_in_any_order():
    def of(cells):
        return KnownValues.nothing("x", pa.int64(), 4, keyed=True).plus(pa.chunked_array([cells]))

    few = of([3, None, 1]).merged(of([3, 7]))
    assert sorted(few.distinct.drop_null().to_pylist()) == [1, 3, 7]
    assert few.missing
    many = of([1, 2, 3]).merged(of([4, 5]))
    assert many.distinct is None
    keys = KeyColumn("x", pa.int64())
    assert keys.values(np.array([many.low, many.high], dtype=np.uint64)).to_pylist() == [1, 5]


@pytest.mark.usefixtures("small")
def test_only_a_search_is_told_of_another_algorithm(source, table):
    with pytest.raises(OutOfMemoryError) as raised:
        publish(source, "kaca")
    assert "mondrian needs no more" in raised.value.hint
    recoding = ind.anonymize(table.drop_columns(["person"]), SCHEMA, model=MODEL, algorithm="mondrian").recoding
    with pytest.raises(OutOfMemoryError) as raised:
        ind.apply(recoding, source, engine="duckdb")
    assert "mondrian" not in raised.value.hint
