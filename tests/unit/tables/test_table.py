import datetime as dt
import decimal
import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.errors import InputError
from indistinct.tables import Table, open_table
from indistinct.tables.dictionaries import TEXT, assemble, compact

PEOPLE = {"age": [31, 42, None], "city": ["Oslo", None, "Oslo"]}


def test_a_table_drops_schema_and_field_metadata():
    field = pa.field("age", pa.int64(), metadata={b"note": b"row 7 is the mayor"})
    table = Table(pa.table([[1]], schema=pa.schema([field], metadata={b"pandas": b"{}"})))
    assert table.data.schema.metadata is None
    assert table.data.schema.field("age").metadata is None
    assert (table.columns, table.rows) == (("age",), 1)


@pytest.mark.parametrize("names", [["a", "a"], ["a", " "], []])
def test_a_table_refuses_names_that_repeat_or_are_blank_or_none_at_all(names):
    with pytest.raises(InputError):
        Table(pa.table([[1]] * len(names), names=names))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"age": pd.array([31, 42, None], dtype="Int64"), "city": PEOPLE["city"]}),
        pl.DataFrame(PEOPLE),
        pl.LazyFrame(PEOPLE),
        pl.DataFrame(PEOPLE).with_columns(pl.col("city").cast(pl.Categorical)),
        pl.DataFrame(PEOPLE).with_columns(pl.col("city").cast(pl.Enum(["Bergen", "Oslo"]))),
        pa.table(PEOPLE),
        pa.RecordBatch.from_pydict(PEOPLE),
        Table(pa.table(PEOPLE)),
    ],
    ids=["pandas", "polars", "lazy", "categorical", "enum", "arrow", "batch", "table"],
)
def test_every_frame_gives_the_same_table(frame):
    opened = open_table(frame)
    assert opened.data.to_pydict() == PEOPLE
    assert opened.data.schema.field("city").type in (pa.string(), TEXT)
    assert open_table(frame, columns=["city"]).columns == ("city",)


def test_a_reader_and_any_object_with_an_arrow_stream_are_frames():
    class Capsule:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table(PEOPLE).__arrow_c_stream__(requested_schema)

    assert open_table(Capsule()).data.to_pydict() == PEOPLE
    assert open_table(pa.table(PEOPLE).to_reader()).data.to_pydict() == PEOPLE


def test_a_pandas_index_is_never_a_column(tmp_path):
    frame = pd.DataFrame({"age": [31, 42]}, index=pd.Index(["Ann", "Bob"], name="person"))
    assert open_table(frame).columns == ("age",)
    frame.to_parquet(tmp_path / "indexed.parquet")
    assert pq.read_table(tmp_path / "indexed.parquet").column_names == ["age", "person"]
    assert open_table(tmp_path / "indexed.parquet").columns == ("age",)
    assert open_table(pa.Table.from_pandas(frame)).columns == ("age",)


@pytest.mark.parametrize("values", [["secret", 1], [object()], [b"secret"], [1, 2j], [["secret"]]])
def test_mixed_or_odd_columns_are_refused_without_their_values(values):
    with pytest.raises(InputError, match="'odd'") as caught:
        open_table(pd.DataFrame({"odd": pd.Series(values, dtype=object)}))
    assert "secret" not in str(caught.value)
    assert caught.value.hint


def test_pandas_columns_must_have_distinct_names():
    with pytest.raises(InputError, match="'a'"):
        open_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))


@pytest.mark.parametrize("source", [17, None, ["a.csv"], pl.Series("a", [1])])
def test_what_is_no_table_is_refused(source):
    with pytest.raises(InputError):
        open_table(source)


def test_categories_are_text_and_numbers_are_plain():
    frame = pd.DataFrame(
        {
            "city": pd.Categorical(["Oslo", "Bergen"], categories=["Molde", "Bergen", "Oslo"], ordered=True),
            "level": pd.Categorical([3, 1]),
        }
    )
    data = open_table(frame).data
    assert data["city"].type == TEXT
    assert data["city"].to_pylist() == ["Oslo", "Bergen"]
    assert data["level"].type == pa.int64()


def test_frames_open_without_pandas_and_polars(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    assert open_table(pa.table({"a": [1]})).rows == 1


@pytest.mark.parametrize("suffix", [".parquet", ".pq", ".arrow", ".feather", ".ipc"])
def test_binary_files_open_as_they_were(tmp_path, suffix):
    data = pa.table(
        {
            "age": [31, None],
            "paid": [decimal.Decimal("1.50"), None],
            "born": [dt.date(1990, 2, 3), None],
            "city": pa.array(["Oslo", None]).dictionary_encode(),
        }
    )
    path = tmp_path / f"people{suffix}"
    if suffix in (".parquet", ".pq"):
        pq.write_table(data, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, data.schema) as writer:
            writer.write_table(data)
    opened = open_table(path)
    assert opened.name == path.name
    assert opened.data.to_pydict() == data.to_pydict()
    assert open_table(str(path), columns=["born", "age"]).columns == ("born", "age")
    with pytest.raises(InputError, match="bron") as caught:
        open_table(path, columns=["bron"])
    assert "'born'" in str(caught.value)


def test_codes_that_point_beyond_their_dictionary_are_refused(tmp_path):
    """Compiled loops would follow them out of the dictionary."""
    wild = pa.DictionaryArray.from_arrays(pa.array([0, 5_000_000], pa.int32()), pa.array(["a", "b"]), safe=False)
    data = pa.table({"a": wild})
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_file(file, data.schema) as writer:
        writer.write_table(data)
    with pytest.raises(InputError, match="cannot be read"):
        open_table(tmp_path / "a.arrow")


def test_an_arrow_stream_opens_too(tmp_path):
    data = pa.table({"age": [1, 2]})
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_stream(file, data.schema) as writer:
        writer.write_table(data)
    assert open_table(tmp_path / "a.arrow").data.to_pydict() == {"age": [1, 2]}


def test_parquet_text_comes_as_codes_where_it_repeats(tmp_path):
    data = pa.table({"sex": ["F", "M"] * 2000, "name": [f"person {i}" for i in range(4000)]})
    pq.write_table(data, tmp_path / "a.parquet")
    opened = open_table(tmp_path / "a.parquet").data
    assert (opened["sex"].type, opened["name"].type) == (pa.dictionary(pa.int8(), pa.string()), pa.string())
    assert opened.to_pydict() == data.to_pydict()


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_a_broken_binary_file_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"not what it says")
    with pytest.raises(InputError, match="cannot be read"):
        open_table(tmp_path / name)


def test_paths_that_cannot_be_opened(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"x")
    (tmp_path / "a").write_bytes(b"x")
    with pytest.raises(InputError, match="no file"):
        open_table(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="no file"):
        open_table(tmp_path / ("n" * 300 + ".csv"))
    with pytest.raises(InputError, match="several kinds"):
        open_table(tmp_path)
    with pytest.raises(InputError, match=r"\.xlsx"):
        open_table(tmp_path / "a.xlsx")
    with pytest.raises(InputError, match="suffix"):
        open_table(tmp_path / "a")


def test_assemble_joins_dictionaries_and_finds_every_kind_of_missing():
    hidden = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, None], pa.int8()), pa.array([None, "b"]))
    doubled = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), pa.array(["b", "a", "b"]))
    empty = pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), pa.array([], pa.string()))
    for chunks in ([hidden, doubled, empty], [empty], [hidden]):
        column = pa.chunked_array(chunks)
        array = assemble(column)
        assert array.type.value_type == TEXT.value_type
        assert array.to_pylist() == column.to_pylist()
        assert array.dictionary.null_count == 0
        assert len(array.dictionary.unique()) == len(array.dictionary)
    assert len(assemble(pa.chunked_array([], TEXT))) == 0


def test_compact_forgets_what_does_not_occur_and_the_order_of_occurrence():
    column = pa.chunked_array([pa.array(["z", "suppressed", None, "a", "z"]).dictionary_encode()])
    kept = column.filter(pa.array(np.array([True, False, True, True, True])))
    array = compact(kept, ascending=True)
    assert array.dictionary.to_pylist() == ["a", "z"]
    assert array.to_pylist() == ["z", None, "a", "z"]


def test_what_is_printed_holds_no_cells():
    frame = pd.DataFrame({"age": [31, 31, 42, 42], "city": ["Hammerfest", "Hammerfest", "Molde", "Molde"]})
    source = open_table(frame)
    release = ind.anonymize(source, ind.Schema(quasi=["age", "city"]), model="k-anonymity:k=2")
    for value in (source, release, release.recoding, release.assignment, release.assignment.frequencies):
        assert "Hammerfest" not in repr(value)
        assert len(repr(value)) < 200
    assert release.counters["checks"] == 0


def test_a_field_may_be_longer_than_a_block(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "".join(f"{row},{'z' * (5_000_000 if row == 3 else 1)}\n" for row in range(6)))
    assert open_table(path).rows == 6


def test_a_table_goes_to_another_process(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,sex\n1,a\n2,b\n")
    assert pickle.loads(pickle.dumps(ind.open(path))).data == ind.open(path).data  # noqa: S301 (our own)
