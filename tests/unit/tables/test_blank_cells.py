"""What spreadsheets leave behind: columns and lines that are empty, and a last line with totals."""

import gzip

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError
from indistinct.inspection.inspect import inspect
from indistinct.tables import open_table


def written(tmp_path, text, *, name="a.csv", encoding="utf-8"):
    path = tmp_path / name
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


ROWS = {"a": [1, 2, 3], "b": ["x", "y", "z"]}


@pytest.mark.parametrize(
    "text",
    [
        "a;b;;\n1;x;;\n2;y;;\n3;z;;\n",
        "a;;b;\n1;;x;\n2;;y;\n3;;z;\n",
        'a;b;"";\r\n"1";x;;\r\n2;"y";"";\r\n3;z;;\r\n',
        "\ufeffa;b;;\n1;x;;\n\n2;y;;\n3;z;;\n",
        "\n\na;b;;\n1;x;;\n2;y;;\n3;z;;\n",
        "a;b;;\n1;x;;\n;;;\n2;y;;\n3;z;;\n;;;\n;;;\n",
        "a;b;; \n1;x;; \n2;y;; \n3;z;; \n",
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_columns_without_a_name_and_a_value_are_left_out(tmp_path, text, name):
    table = ind.open(written(tmp_path, text, name=name))
    assert table.data.to_pydict() == ROWS
    assert table.left_out[0] == "2 columns without a name and without a value"


def test_a_column_without_a_name_that_has_a_value_is_refused(tmp_path):
    with pytest.raises(InputError, match="columns without: 4"):
        ind.open(written(tmp_path, "a;b;;\n1;x;;\n2;y;;7\n"))


def test_empty_lines_are_left_out(tmp_path):
    path = written(tmp_path, 'a;b\n1;x\n;\n2;y\n"";""\n3;z\n;\n')
    for declared in ({}, {"missing": ["-99"]}, {"columns": ["a", "b"]}):
        table = ind.open(path, **declared)
        assert table.data.to_pydict() == ROWS
        assert table.left_out == ("3 empty lines",)
    assert ind.open(path, columns=["a"]).data.to_pydict() == {"a": ROWS["a"]}


def test_a_row_of_marks_for_missing_is_a_row(tmp_path):
    table = ind.open(written(tmp_path, "a;b\n1;x\n-99;-99\n;\n2;y\n"), missing=["", "-99"])
    assert table.data.to_pydict() == {"a": [1, None, 2], "b": ["x", None, "y"]}
    assert table.left_out == ("1 empty line",)


def test_a_row_that_is_empty_in_the_chosen_columns_only_is_a_row(tmp_path):
    table = ind.open(written(tmp_path, "a;b\n1;x\n;y\n2;z\n"), columns=["a"])
    assert table.data.to_pydict() == {"a": [1, None, 2]}
    assert table.left_out == ()


def test_an_empty_field_of_a_file_of_one_column_is_a_row(tmp_path):
    assert ind.open(written(tmp_path, "a\n1\n\n2\n")).rows == 3


def test_lines_are_counted_with_the_empty_ones(tmp_path):
    path = written(tmp_path, "a;b;\n1;x;\n;;\n2;y;\n;;\nfoo;z;\n")
    with pytest.raises(InputError, match="1 of 3 cells do not fit it, on line 6"):
        ind.open(path, types={"a": "number"})


@pytest.mark.parametrize(
    "last",
    ["TOTAL;;;4500", "Total;;;", ";;Summe:;4500", "Somme;;;12", "合計;;;4500", "Insgesamt;;;1", ";Grand Total;;4500"],
)
@pytest.mark.parametrize("end", ["", "\n", "\n;;;\n"])
def test_a_last_line_with_a_total_is_refused(tmp_path, last, end):
    path = written(tmp_path, f"a;b;c;d\n1;x;u;1500\n2;y;v;1500\n3;z;w;1500\n{last}{end}")
    with pytest.raises(InputError, match="the last line, line 5, looks like a total") as caught:
        ind.open(path)
    assert "4500" not in str(caught.value)
    assert "remove the line" in caught.value.hint


@pytest.mark.parametrize("last", ["4;total;w;1500", "4;x;;", ";;;12", "Totalschaden;;;5"])
def test_other_last_lines_are_people(tmp_path, last):
    assert ind.open(written(tmp_path, f"a;b;c;d\n1;x;u;1500\n2;y;v;1500\n{last}\n")).rows == 3


def test_what_was_left_out_is_said(tmp_path, capsys):
    from indistinct.cli import main

    path = written(tmp_path, "age;sex;\n" + "".join(f"{20 + i};{'mf'[i % 2]};\n" for i in range(40)) + ";;\n")
    assert inspect(path).left_out == ("1 column without a name and without a value", "1 empty line")
    assert main(["inspect", str(path)]) == 0
    said = capsys.readouterr().err
    assert "note: 1 column without a name and without a value left out" in said
    assert "note: 1 empty line left out" in said


def test_a_published_row_without_any_value_counts(tmp_path):
    table = pa.table({"a": pa.array([1, 2, None, None] * 5, pa.int64()), "b": ["x", "y", None, None] * 5})
    schema, path = ind.Schema(quasi=["a"], sensitive=["b"]), tmp_path / "release.csv"
    ind.anonymize(table, schema, model="k-anonymity:k=5", output=path)
    assert open_table(path, published=True).rows == 20
    assert ind.verify(path, schema, "k-anonymity:k=5").holds
    assert ind.verify(path, schema, "k-anonymity:k=5", original=table).holds
