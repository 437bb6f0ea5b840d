import csv
import datetime as dt
import decimal
import gzip
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indistinct.errors import InputError, ParameterError
from indistinct.tables import delimited, open_table
from indistinct.tables.dictionaries import TEXT


@pytest.fixture
def opened(tmp_path):
    def _open(content, name="a.csv", **options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return open_table(path, **options).data

    return _open


def refused(opened, content, *parts, name="a.csv", **options):
    with pytest.raises(InputError) as caught:
        opened(content, name=name, **options)
    assert caught.value.hint
    for part in parts:
        assert part in caught.value.message
    assert "secret" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "-20", "0", ""], pa.int64(), [1, -20, 0, None]),
        (["02138", "10001"], TEXT, ["02138", "10001"]),
        (["1", "2.50", "1e3", "-.5"], pa.float64(), [1.0, 2.5, 1000.0, -0.5]),
        (["1", "nan"], TEXT, ["1", "nan"]),
        (["1.5", "inf"], TEXT, ["1.5", "inf"]),
        (["1e999", "1"], TEXT, ["1e999", "1"]),
        (["1", "x"], TEXT, ["1", "x"]),
        (["+1", "2"], TEXT, ["+1", "2"]),
        (["0x10", "1"], TEXT, ["0x10", "1"]),
        (["1_000", "1"], TEXT, ["1_000", "1"]),
        ([" 1", "1"], TEXT, [" 1", "1"]),
        (['"1\n"', "1"], TEXT, ["1\n", "1"]),
        (["9223372036854775807"], pa.int64(), [9223372036854775807]),
        (
            ["9223372036854775808", "-1"],
            pa.decimal128(38, 0),
            [decimal.Decimal("9223372036854775808"), decimal.Decimal(-1)],
        ),
        (["9" * 39, "1"], TEXT, ["9" * 39, "1"]),
        (["2024-02-29", "1999-12-31"], pa.date32(), [dt.date(2024, 2, 29), dt.date(1999, 12, 31)]),
        (["2023-02-29", "1999-12-31"], TEXT, ["2023-02-29", "1999-12-31"]),
        (["2024-01-01 10:20", "2024-01-01T10:20:30.5"], pa.timestamp("us"), None),
        (["2024-01-01", "2024-01-01 10:20"], TEXT, ["2024-01-01", "2024-01-01 10:20"]),
        (["2024-01-01T10:20:30Z", "2024-01-01T10:20:30Z"], TEXT, ["2024-01-01T10:20:30Z"] * 2),
        (["NA", "null", "None", "NaN"], TEXT, ["NA", "null", "None", "NaN"]),
        (["true", "false"], TEXT, ["true", "false"]),
        (["", '""'], TEXT, [None, None]),
    ],
)
def test_types_are_those_of_every_value(opened, cells, kind, values):
    data = opened("x,y\n" + "".join(f"{cell},k\n" for cell in cells))
    assert data["x"].type == kind
    if values is not None:
        assert data["x"].to_pylist() == values


def test_a_late_value_decides_for_the_whole_column(opened, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 4096)
    rows = [f"{i},{i}.5,{i % 7},2024-01-01,s{i}" for i in range(20_000)]
    rows[-1] = "late,1,007,2024-1-1,s"
    data = opened("a,b,c,d,e\n" + "\n".join(rows))
    assert [data[name].type for name in "abcde"] == [TEXT, pa.float64(), TEXT, TEXT, TEXT]
    assert data["a"].to_pylist() == [*map(str, range(19_999)), "late"]
    assert data["b"].to_pylist()[:2] == [0.5, 1.5]
    assert data["c"].to_pylist()[-2:] == [str(19_998 % 7), "007"]


def test_many_distinct_values_stay_exact(opened, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 1 << 16)
    rows = 80_000
    data = opened("s,f,i,few\n" + "".join(f"n{i},{i}.25,{i},{i % 3}\n" for i in range(rows)))
    assert data["s"].type == pa.string()
    assert data["s"].to_pylist() == [f"n{i}" for i in range(rows)]
    assert data["f"].to_pylist() == [i + 0.25 for i in range(rows)]
    assert data["i"].to_pylist() == list(range(rows))
    assert data["few"].to_pylist() == [i % 3 for i in range(rows)]


def test_missing_is_what_is_listed(opened):
    text = 'a,b\nNA,x\n"NA",\n"",y\n'
    assert opened(text).to_pydict() == {"a": ["NA", "NA", None], "b": ["x", None, "y"]}
    assert opened(text, missing=["NA"]).to_pydict() == {"a": [None, None, ""], "b": ["x", "", "y"]}
    assert opened(text, missing="NA")["a"].null_count == 2
    assert opened(text, missing=()).to_pydict() == {"a": ["NA", "NA", ""], "b": ["x", "", "y"]}


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("né,b\nå,1\n".encode(), None),
        ("né,b\nå,1\n".encode("utf-8-sig"), None),
        ("né,b\nå,1\n".encode("utf-8-sig"), "utf-8"),
        ("né,b\nå,1\n".encode("utf-16"), None),
        ("né,b\nå,1\n".encode("utf-16-le"), "utf-16-le"),
        ("né,b\nå,1\n".encode("utf-32"), None),
        ("né,b\nå,1\n".encode("cp1252"), None),
        ("né,b\nå,1\n".encode("latin-1"), "latin-1"),
    ],
)
def test_encodings_are_found_or_given(opened, content, encoding):
    assert opened(content, encoding=encoding).to_pydict() == {"né": ["å"], "b": [1]}


def test_latin_text_is_found_even_after_the_sample(opened):
    body = "a,b\n" + "x,1\n" * 100_000
    assert opened(body.encode() + "€,1\n".encode("cp1252"))["a"][-1].as_py() == "€"
    assert opened(body.encode() + b"\x81\xe5,1\n")["a"][-1].as_py() == "\x81å"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "no-such", "rot13", "utf-16"])
def test_a_wrong_or_unknown_encoding_is_refused(opened, encoding):
    refused(opened, "a,b\nsecret å,1\n".encode("latin-1"), encoding=encoding)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_delimiters_are_found(opened, mark):
    text = f"a{mark}b\n1{mark}x\n2{mark}y\n"
    assert opened(text).to_pydict() == {"a": [1, 2], "b": ["x", "y"]}
    assert opened(text, name="a.txt").column_names == ["a", "b"]


def test_delimiters_inside_quotes_do_not_count(opened):
    text = 'a;b\n"x,y";"1,5"\n"z,w";"2,5"\n'
    assert opened(text).to_pydict() == {"a": ["x,y", "z,w"], "b": ["1,5", "2,5"]}
    assert opened('city\n"Oslo, Norway"\n').to_pydict() == {"city": ["Oslo, Norway"]}


def test_the_delimiter_with_more_fields_wins(opened):
    assert opened("[1, 2];x;*\n[3, 4];y;*\n", header=True).column_names == ["[1, 2]", "x", "*"]


def test_a_delimiter_can_be_given(opened):
    assert opened("a:b\n1:2\n", delimiter=":").to_pydict() == {"a": [1], "b": [2]}
    assert opened("a,b\tc\n1,2\t3\n", name="a.tsv").column_names == ["a,b", "c"]
    for wrong in ("", "::", '"', "\n", "é"):
        with pytest.raises(ParameterError):
            opened("a,b\n1,2\n", delimiter=wrong)


@pytest.mark.parametrize(
    "content", ["a,b\n1,2\n3,4\n", "a,b\r\n1,2\r\n3,4", "a,b\r1,2\r3,4\r", "\n\na,b\n1,2\n\n3,4\n\n"]
)
def test_line_ends_and_blank_lines(opened, content):
    assert opened(content).to_pydict() == {"a": [1, 3], "b": [2, 4]}


def test_in_one_column_a_blank_line_is_a_missing_value(opened):
    assert opened("a\nx\n\ny\n").to_pydict() == {"a": ["x", None, "y"]}
    assert opened("a\n\n").to_pydict() == {"a": [None]}


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "\ufeffa,b\r\n", "a,b\n\n"])
def test_a_header_alone_is_a_table_without_rows(opened, content):
    data = opened(content)
    assert (data.num_rows, data.column_names) == (0, ["a", "b"])


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(opened, content):
    refused(opened, content, "empty")
    refused(opened, gzip.compress(content), "empty", name="a.csv.gz")


@pytest.mark.parametrize(
    ("content", "line", "found"),
    [
        ("a,b\n1,2\nsecret\n3,4\n", 3, 1),
        ("a,b\n1,2\n1,2,secret\n", 3, 3),
        ('a,b\n"x\ny",2\nsecret,2,3\n', 4, 3),
    ],
)
def test_ragged_rows_name_the_line_and_the_counts(opened, content, line, found):
    error = refused(opened, content, f"line {line}", "expected 2", f"got {found}")
    assert (error.details["line"], error.details["found"]) == (line, found)


def test_a_ragged_row_beyond_the_sample(opened):
    refused(opened, "a,b\n" + "1,2\n" * 100_000 + "secret\n", "line 100002")


@pytest.mark.parametrize(
    "content",
    [
        'a,b\n1,"secret\n2,3\n4,5\n',
        'a,b\n1,"secret\n2,"x"\n4,5\n',
        'a,b\n"secret\n2,"x"\n4,5\n',
    ],
)
def test_a_quote_that_swallows_lines_is_refused(opened, content):
    refused(opened, content, "quote")
    refused(opened, content, "quote", columns=["a"])

    refused(opened, content, "quote", columns=["b", "a"])


def test_quotes_that_first_occur_after_the_sample(opened):
    plain = "x,y,1\n" * 60_000
    for tail, cells in [
        ('"p,q",r,2\n', ("p,q", "r", 2)),
        ('p,"q\nr",2\n', ("p", "q\nr", 2)),
        ('"p",q,"2"\n', ("p", "q", 2)),
        ('a,"x,y\n1,2",3\n', ("a", "x,y\n1,2", 3)),
    ]:
        data = opened(f"a,b,c\n{plain}{tail}")
        assert tuple(column[-1].as_py() for column in data.columns) == cells
        assert data.num_rows == 60_001
        assert opened(f"a,b,c\n{plain}{tail}", columns=["a"])["a"][-1].as_py() == cells[0]
    for tail in ('p,"secret\nx,y,1\n', 'p,q,"secret\nx,y,1\n'):
        refused(opened, f"a,b,c\n{plain}{tail}", "line 6000")


def test_a_quote_that_swallows_a_large_file_is_refused(opened, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 4096)
    refused(opened, 'a,b\n1,"secret\n' + "1,2\n" * 50_000)


def test_records_longer_than_a_block_are_read(opened, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 1024)
    long = "x" * 5000
    assert opened(f"a,b\n{long},1\ny,2\n").to_pydict() == {"a": [long, "y"], "b": [1, 2]}


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("a,a\n1,2\n", "columns 1, 2"),
        ("a,\n1,2\n", "without: 2"),
        (",a\n0,1\n", "without: 1"),
        ("a, \n1,2\n", "without: 2"),
    ],
)
def test_headers_must_name_every_column_once(opened, content, part):
    refused(opened, content, part)


@pytest.mark.parametrize("content", [b"a,b\nsecret\0,1\n", b"a\0,b\n1,2\n", "a,b\nsecret,1\n".encode("utf-16-le")])
def test_nul_bytes_are_refused(opened, content):
    refused(opened, content, "NUL")


def test_gzip(opened):
    text = 'a,b\n1,"x\ny"\n'
    assert opened(gzip.compress(text.encode()), name="a.csv.gz").to_pydict() == {"a": [1], "b": ["x\ny"]}
    refused(opened, text, name="a.csv.gz")
    body = gzip.compress(("a,b\n" + "".join(f"{i},secret{i}\n" for i in range(200_000))).encode())
    refused(opened, body[:-500], name="a.csv.gz")


def test_columns_are_chosen_and_ordered(opened):
    assert opened("a,b,c\n1,2,3\n", columns=["c", "a"]).to_pydict() == {"c": [3], "a": [1]}
    refused(opened, "a,b,c\n1,2,3\n", "'d'", columns=["d"])


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(CELL, CELL), max_size=5), block=st.sampled_from([64, 1 << 21]))
def test_quoted_text_comes_back_as_the_csv_module_wrote_it(opened, rows, block):
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL)
    writer.writerows([("a", "b"), *(("x" + a, "x" + b) for a, b in rows)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "BLOCK_BYTES", block)
        data = opened(buffer.getvalue())
    assert list(zip(*data.to_pydict().values(), strict=True)) == [("x" + a, "x" + b) for a, b in rows]


def test_codes_stay_text_where_that_is_said(opened):
    content = "icd,age,day\n250.00,31,2024-01-01\n250.0,32,2024-01-02\n,33,2024-01-03\n"
    assert opened(content)["icd"].to_pylist() == [250.0, 250.0, None]
    data = opened(content, text=["icd", "day"])
    assert data["icd"].to_pylist() == ["250.00", "250.0", None]
    assert (data["day"].type, data["age"].type) == (TEXT, pa.int64())
    assert opened(content, text="icd", columns=["age"]).column_names == ["age"]
    refused(opened, content, "'icf'", text=["icf"])


def test_other_tables_have_text_too(tmp_path):
    numbers = pa.table({"code": [1, 2, None], "age": [3, 4, 5]})
    assert open_table(numbers, text=["code"]).data["code"].to_pylist() == ["1", "2", None]
    pq.write_table(numbers, tmp_path / "a.parquet")
    table = open_table(tmp_path / "a.parquet", text=["code"])
    assert table.data["code"].to_pylist() == ["1", "2", None]
    assert table.reading.text == ("code",)
    assert open_table(table, text=["age"]).reading.text == ("code", "age")
    with pytest.raises(InputError, match="'cod'"):
        open_table(numbers, text=["cod"])


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (["250.00", "250.0", "7.5"], ("x",)),
        (["1.5", "1", "1.0"], ("x",)),
        (["1.5", "2.5", "1.5", ""], ()),
        (["1", "2", "3"], ()),
        (["01", "1"], ()),
    ],
)
def test_numbers_that_are_spelled_in_several_ways_are_told(tmp_path, cells, names):
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{cell},k\n" for cell in cells))
    assert open_table(tmp_path / "a.csv").respelled == names
    assert open_table(tmp_path / "a.csv", text=["x"]).respelled == ()
