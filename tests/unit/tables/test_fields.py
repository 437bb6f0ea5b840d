"""Plain delimited text is read in one pass; what comes is what Arrow reads, or nothing."""

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import indistinct.machine.threads
import indistinct.tables.fields
from indistinct.release.writing.files import write_table
from indistinct.release.writing.formats import _in_one_pass, read_as_written
from indistinct.tables.fields import read_fields

quick = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
PIECES = st.sampled_from(["a", "b", "é", ",", '"', " ", "long text of many letters "])
CELLS = st.none() | st.lists(PIECES, max_size=4).map("".join)


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch):
    """Read small files as large ones are read, in small blocks."""
    monkeypatch.setattr(indistinct.machine.threads, "LARGE_ROWS", 0)
    monkeypatch.setattr(indistinct.tables.fields, "BLOCK_BYTES", 256)
    monkeypatch.setattr(indistinct.tables.fields, "INITIAL_FIELDS", 2)


@quick
@given(st.lists(st.tuples(CELLS, CELLS, st.sampled_from(["x", "y"]), st.integers(1, 4)), min_size=1, max_size=30))
def test_what_was_written_is_read(tmp_path, runs):
    rows = [run[:3] for run in runs for _ in range(run[3])]
    table = pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate("abc")})
    path = tmp_path / "a.csv"
    write_table(table, path, overwrite=True)
    found = read_fields(path, [2, 0, 1], width=3, delimiter=",", begin=len(b"a,b,c\n"))
    if found is not None:  # a row may be longer than a block
        assert [column.cast(pa.string()).to_pylist() for column in found] == [
            table[name].to_pylist() for name in ("c", "a", "b")
        ]


@quick
@given(st.binary(max_size=60), st.integers(0, 40), st.sampled_from([b"", b"\n"]))
def test_changed_bytes_are_read_as_arrow_reads_them_or_not_at_all(tmp_path, change, at, end):
    text = b"a,b\n" + b'"one, ",two\n' * 3 + b'three,"fo""ur"\n' * 3 + b",\n"
    text = text[: 4 + at] + change + text[4 + at + len(change) :] + end
    path = tmp_path / "a.csv"
    path.write_bytes(text)
    found = _in_one_pass(path, [0, 1], width=2, mark=",")
    if found is None:
        return
    convert = pyarrow.csv.ConvertOptions(
        column_types={"a": pa.string(), "b": pa.string()},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    expected = pyarrow.csv.read_csv(path, parse_options=parse, convert_options=convert)
    assert [column.cast(pa.string()).to_pylist() for column in found] == [
        expected["a"].to_pylist(),
        expected["b"].to_pylist(),
    ]


@pytest.mark.parametrize(
    "text", ["a,b\n1\n", "a,b\n1,2,3\n", 'a,b\n"1\n",2\n', "a,b\n1,2", "a,b\n\n1,2\n", "a,b\r\n1,2\n"]
)
def test_what_is_not_plain_is_left_to_arrow(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_text(text, newline="")
    assert _in_one_pass(path, [0, 1], width=2, mark=",") is None


def test_a_field_that_is_no_text_is_not_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n1,\xff\n")
    assert _in_one_pass(path, [0, 1], width=2, mark=",") is None


def test_a_file_is_read_back_in_one_pass(tmp_path):
    table = pa.table({"a": ["x", None, ""] * 9, "b": [str(n) for n in range(27)]})
    path = tmp_path / "a.csv"
    write_table(table, path)
    read = read_as_written(path, path, ["b", "a"], table.schema).data
    assert read["a"].cast(pa.string()).to_pylist() == table["a"].to_pylist()
    assert read["b"].cast(pa.string()).to_pylist() == table["b"].to_pylist()
    assert read["a"].type == pa.dictionary(pa.int8(), pa.string())
