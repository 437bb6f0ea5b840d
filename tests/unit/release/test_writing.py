import csv
import datetime as dt
import decimal
import hashlib
import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.errors import OutputError
from indistinct.release.certificate import Certificate
from indistinct.release.writing import delimited
from indistinct.release.writing._delimited_kernels import STEP, spell_rows
from indistinct.release.writing.files import write_release, write_table
from indistinct.tables import open_table

TABLE = pa.table({"age": [31, None], "city": pa.array(["Oslo", "Bergen"]).dictionary_encode()})


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_release_and_its_certificate(tmp_path):
    def fill(sink):
        sink.accept("", [TABLE])

    def certify(sink):
        digest = sink.names[""].digest
        return Certificate("1", (), rows=2, classes=1, smallest_class=2, output_digest=digest)

    final = write_release(tmp_path / "r.csv", fill, certify)
    assert listing(tmp_path) == ["r.csv", "r.csv.certificate.json"]
    assert final.output_digest == hashlib.sha256((tmp_path / "r.csv").read_bytes()).hexdigest()
    assert final.output_digest in (tmp_path / "r.csv.certificate.json").read_text()
    with pytest.raises(OutputError):
        write_release(tmp_path / "r.csv", fill, certify)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".pq", ".arrow", ".feather", ".ipc", ".CSV"])
def test_every_format_comes_back(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    assert write_table(TABLE, path) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert open_table(path).data.to_pydict() == TABLE.to_pydict()
    first = path.read_bytes()
    write_table(TABLE, path, overwrite=True)
    assert path.read_bytes() == first


@pytest.mark.parametrize("name", ["a", "a.ods", "a.csv.gz"])
def test_an_unknown_suffix_is_refused(tmp_path, name):
    with pytest.raises(OutputError, match="suffix") as caught:
        write_table(TABLE, tmp_path / name)
    assert ".parquet" in caught.value.hint
    assert listing(tmp_path) == []


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
def test_nothing_unpublished_is_in_the_file(tmp_path, suffix):
    frame = pd.DataFrame({"city": pd.Categorical(["Oslo", "hidden-city"]), "n": [1, 2]}, index=["hidden-a", "hidden-b"])
    table = pa.Table.from_pandas(frame).select(["city", "n"]).slice(0, 1)
    offsets = pa.py_buffer(np.array([0, 4], np.int32).tobytes())
    text = pa.Array.from_buffers(pa.string(), 1, [pa.py_buffer(b"\0"), offsets, pa.py_buffer(b"hidd")])
    number = pa.Array.from_buffers(pa.int64(), 1, [pa.py_buffer(b"\0"), pa.py_buffer(b"hidden-n")])
    table = table.append_column("text", text).append_column("number", number)
    assert table.slice(0, 1)["number"].null_count == 1
    write_table(table, tmp_path / f"a{suffix}")
    content = (tmp_path / f"a{suffix}").read_bytes()
    assert b"hidd" not in content
    assert b"pandas" not in content
    assert b"ARROW:schema" not in content
    assert open_table(tmp_path / f"a{suffix}").data.to_pydict() == {
        "city": ["Oslo"],
        "n": [1],
        "text": [None],
        "number": [None],
    }


def test_parquet_shows_text_to_every_reader_and_no_first_occurrence(tmp_path):
    table = pa.table({"city": pa.array(["b", "a", "b"]).dictionary_encode()})
    write_table(table, tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet")["city"].type == pa.string()
    assert pl.read_parquet(tmp_path / "a.parquet").schema == {"city": pl.String}
    codes = pq.read_table(tmp_path / "a.parquet", read_dictionary=["city"])["city"].chunk(0)
    assert codes.dictionary.to_pylist() == ["a", "b"]
    assert pq.ParquetFile(tmp_path / "a.parquet").metadata.metadata is None


def test_a_type_without_text_is_refused(tmp_path):
    table = pa.table({"list": [["secret"]]})
    with pytest.raises(OutputError) as caught:
        write_table(table, tmp_path / "a.csv")
    assert "secret" not in str(caught.value)
    assert listing(tmp_path) == []


# ---------------------------------------------------------------- delimited text


def twin(table, delimiter=","):
    """Write a table the slow way, with the quoting of the csv module where it is the same."""
    lone = table.num_columns == 1

    def field(value):
        if value is None:
            return '""' if lone else ""
        special = value == "" or any(mark in value for mark in '",;|\t\r\n')
        if not special and value == value.strip(" \t\n\r\f"):
            return value
        buffer = io.StringIO(newline="")
        csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="").writerow([value])
        return buffer.getvalue()

    rows = [table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)]
    return "".join(delimiter.join(map(field, row)) + "\n" for row in rows).encode()


TEXTS = (
    st.none()
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
    | st.sampled_from(["", " ", "a,b", 'say "x"', "two\nlines", "cr\r", "=1+1", "x" * 40, "ü" * 9, " a", "b\t"])
)


@st.composite
def text_tables(draw):
    width = draw(st.integers(1, 4))
    rows = draw(st.lists(st.tuples(*[TEXTS] * width), max_size=12))
    names = draw(
        st.lists(st.sampled_from(["a", 'q"', "x,y", "ä b", " s"]), min_size=width, max_size=width, unique=True)
    )
    columns = [pa.array([row[j] for row in rows], pa.string()) for j in range(width)]
    encoded = [column.dictionary_encode() if draw(st.booleans()) else column for column in columns]
    return pa.table(encoded, names=names)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=text_tables(), block=st.sampled_from([1, 3, 1 << 16]), loose=st.sampled_from([0, 1 << 26]))
def test_the_kernel_writes_what_its_twin_writes(tmp_path, table, block, loose):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "BLOCK_ROWS", block)
        patch.setattr(delimited, "LOOSE_BYTES", loose)
        for suffix, mark in ((".csv", ","), (".tsv", "\t")):
            write_table(table, tmp_path / f"a{suffix}", overwrite=True)
            assert (tmp_path / f"a{suffix}").read_bytes() == twin(table, mark)


def test_the_kernel_is_the_loop_it_says():
    rng = np.random.default_rng(3)
    fields = [bytes(rng.integers(97, 123, size, dtype=np.uint8)) for size in (0, 1, 15, 16, 17, 40, 3, 100)]
    pool = np.frombuffer(b"".join(fields) + bytes(STEP), dtype=np.uint8)
    lengths = np.array([len(field) for field in fields])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    codes = rng.integers(0, 4, (2, 50)).astype(np.int32)
    first = np.array([0, 4])
    expected = b"".join(fields[codes[0, i]] + fields[4 + codes[1, i]] for i in range(50))
    out = np.empty(len(expected) + STEP, dtype=np.uint8)
    written = spell_rows(codes, first, starts, lengths, pool, out)
    assert bytes(out[:written]) == expected
    assert spell_rows.py_func(codes, first, starts, lengths, pool, out) == written


def no_number(text):
    return text[:1].isalpha()


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(
            st.none() | WORDS.filter(no_number),
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.none() | st.floats(allow_nan=False, allow_infinity=False),
            st.none() | st.dates(),
            st.none() | st.datetimes(),
            st.none() | st.integers(-(10**38) + 1, 10**38 - 1).map(decimal.Decimal),
        ),
        max_size=6,
    )
)
def test_values_come_back_from_delimited_text(tmp_path, rows):
    kinds = [pa.string(), pa.int64(), pa.float64(), pa.date32(), pa.timestamp("us"), pa.decimal128(38, 0)]
    columns = [pa.array([row[j] for row in rows], kind) for j, kind in enumerate(kinds)]
    table = pa.table(columns, names=["text", "int", "float", "date", "time", "huge"])
    write_table(table, tmp_path / "a.csv", overwrite=True)
    back = open_table(tmp_path / "a.csv", published=True).data  # else a row without any value is left out
    for name in table.column_names:
        assert back[name].to_pylist() == table[name].to_pylist()
    if any(row[2] is not None for row in rows):
        assert back["float"].type == pa.float64()


def test_spellings_of_other_kinds(tmp_path):
    moment = dt.datetime(2024, 1, 2, 3, 4, 5)
    table = pa.table(
        {
            "flag": [True, None],
            "money": [decimal.Decimal("1.50"), decimal.Decimal("-2.00")],
            "whole": [1.0, 2e30],
            "exact": pa.array([moment, None], pa.timestamp("ns")),
            "finer": pa.array([1, None], pa.timestamp("ns")),
            "level": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array([7, 8])),
        }
    )
    write_table(table, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines() == [
        "flag,money,whole,exact,finer,level",
        "true,1.50,1.0,2024-01-02 03:04:05.000000,1970-01-01 00:00:00.000000001,7",
        ",-2.00,2e+30,,,8",
    ]


def test_many_rows_in_many_blocks_keep_their_order(tmp_path):
    rows = 3 * delimited.BLOCK_ROWS + 17
    table = pa.table({"i": np.arange(rows), "s": pa.array([f"s{i % 5}" for i in range(rows)]).dictionary_encode()})
    write_table(table, tmp_path / "a.csv")
    back = open_table(tmp_path / "a.csv").data
    assert back["i"].to_pylist() == list(range(rows))
    assert back["s"].to_pylist() == table["s"].to_pylist()


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_a_table_without_rows(tmp_path, suffix):
    table = pa.table({"a": pa.array([], pa.string()).dictionary_encode(), "b": pa.array([], pa.int64())})
    write_table(table, tmp_path / f"a{suffix}")
    back = open_table(tmp_path / f"a{suffix}").data
    assert (back.num_rows, back.column_names) == (0, ["a", "b"])


@pytest.mark.parametrize("algorithm", ["mondrian", "slicing:size=2"])
def test_a_release_never_replaces_the_file_that_was_read(tmp_path, algorithm):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"age": [1, 1, 2, 2], "sex": ["f", "f", "m", "m"]}), path)
    before = path.read_bytes()
    release = ind.anonymize(path, ind.Schema(quasi=["age", "sex"]), model="k-anonymity:k=2", algorithm=algorithm)
    with pytest.raises(OutputError, match="replace the input"):
        release.write(path, overwrite=True)
    assert path.read_bytes() == before
