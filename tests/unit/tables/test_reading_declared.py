"""What is declared about a file is how it is read: notations, dates, marks for missing, types."""

import datetime as dt

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.errors import InputError, ParameterError

DAY = dt.date(2024, 1, 31)


def written(tmp_path, text, *, name="data.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


GERMAN = "a;b;c;d\n31.01.2024;1.234,50;7;unbekannt\n01.02.2024;12,5;-99;x\n;-99;9;y\n28.02.2024;0,5;unbekannt;z\n"


def test_decimals_dates_and_marks_of_a_german_file(tmp_path):
    table = ind.open(
        written(tmp_path, GERMAN, encoding="cp1252"),
        decimal=",",
        thousands=".",
        dates="%d.%m.%Y",
        missing=["", "-99", "unbekannt"],
    )
    assert table.data.to_pydict() == {
        "a": [DAY, dt.date(2024, 2, 1), None, dt.date(2024, 2, 28)],
        "b": [1234.5, 12.5, None, 0.5],
        "c": [7, None, 9, None],
        "d": [None, "x", "y", "z"],
    }


def test_nothing_at_all_is_no_number_and_no_date_whatever_marks_are_declared(tmp_path):
    path = written(tmp_path, "a,b,c\n1,2024-01-31,\n,2024-02-01,x\n-99,,y\n")
    table = ind.open(path, missing=["-99"])
    assert table.data.to_pydict() == {
        "a": [1, None, None],
        "b": [DAY, dt.date(2024, 2, 1), None],
        "c": ["", "x", "y"],
    }


def test_marks_of_one_column_leave_the_others_alone(tmp_path):
    path = written(tmp_path, "a,b,c\n1,-99,x\n-99,3,x\n5,-99,?\n")
    table = ind.open(path, missing={"a": "-99", "c": ["?"]})
    assert table.data.to_pydict() == {"a": [1, None, 5], "b": [-99, 3, -99], "c": ["x", "x", None]}
    table = ind.open(path, missing={"*": ["?"], "a": ["-99"]})
    assert table.data["c"].null_count == 1
    assert table.data["b"].null_count == 0


def test_a_mark_is_compared_with_numbers_by_size(tmp_path):
    assert ind.open(written(tmp_path, "a,b\n1.50,1\n-99.00,-99\n"), missing=["-99"]).data.to_pydict() == {
        "a": [1.5, None],
        "b": [1, None],
    }


@pytest.mark.parametrize(
    ("form", "cell", "value"),
    [
        ("%d.%m.%Y", "31.01.2024", DAY),
        ("%d.%m.%Y", "1.2.2024", dt.date(2024, 2, 1)),
        ("%m/%d/%Y", "1/31/2024", DAY),
        ("%d.%m.%y", "31.01.24", DAY),
        ("%Y年%m月%d日", "2024年1月31日", DAY),
        ("%d.%m.%Y %H:%M", "31.01.2024 08:30", dt.datetime(2024, 1, 31, 8, 30)),
        ("%H:%M", "8:30", dt.time(8, 30)),
        ("%d %b %Y", "31 Jan 2024", DAY),
        ("%Y-%m-%d", "2024-01-31", DAY),
    ],
)
def test_dates_for_all_columns_or_for_one(tmp_path, form, cell, value):
    path = written(tmp_path, f"a;b\n{cell};x\n{cell};y\n")
    for dates in (form, {"a": form}, [form]):
        assert ind.open(path, dates=dates).data.to_pydict() == {"a": [value, value], "b": ["x", "y"]}


def test_digits_alone_are_dates_only_in_a_named_column(tmp_path):
    path = written(tmp_path, "a,b\n20240131,20240131\n")
    assert ind.open(path, dates={"a": "%Y%m%d"}).data.to_pydict() == {"a": [DAY], "b": [20240131]}
    with pytest.raises(ParameterError, match="no mark between"):
        ind.open(path, dates="%Y%m%d")


def test_two_formats_for_all_columns(tmp_path):
    path = written(tmp_path, "a;b\n31.01.2024;31.01.2024 08:30\n31.01.2024;31.01.2024 09:30\n")
    table = ind.open(path, dates=["%d.%m.%Y", "%d.%m.%Y %H:%M"])
    assert table.data["a"][0].as_py() == DAY
    assert table.data["b"][1].as_py() == dt.datetime(2024, 1, 31, 9, 30)


def test_types(tmp_path):
    path = written(tmp_path, "a,b,c,d\n007,+5,12,31.01.2024\n012,1.5,13,01.02.2024\n")
    types = {"a": "integer", "b": "number", "c": "text", "d": "date"}
    table = ind.open(path, types=types, dates="%d.%m.%Y")
    assert table.data.to_pydict() == {
        "a": [7, 12],
        "b": [5.0, 1.5],
        "c": ["12", "13"],
        "d": [DAY, dt.date(2024, 2, 1)],
    }


def test_cells_that_do_not_fit_are_counted_with_their_lines_and_not_shown(tmp_path):
    path = written(tmp_path, 'a,b\n31.01.2024,x\n\n01.02.2024,"y\nz"\nsecret,x\n31.02.2024,x\n')
    with pytest.raises(InputError, match="2 of 4 cells do not fit it, on lines 6, 7\n") as caught:
        ind.open(path, dates="%d.%m.%Y")
    assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match="1 of 2 cells do not fit it, on line 3\n"):
        ind.open(written(tmp_path, "a\n1\nsecret\n"), types={"a": "number"})


def test_a_declaration_that_fits_no_cell_is_an_error(tmp_path):
    path = written(tmp_path, "a,b\n31.01.2024,x\n01.02.2024,y\n")
    with pytest.raises(InputError, match="fits no cell"):
        ind.open(path, dates="%d/%m/%Y")
    with pytest.raises(InputError, match="fits no cell"):
        ind.open(path, dates={"b": "%d.%m.%Y"})
    with pytest.raises(InputError, match="fits no cell"):
        ind.open(path, types={"b": "number"})
    for named in ({"dates": {"c": "%d.%m.%Y"}}, {"missing": {"c": ["?"]}}, {"types": {"c": "number"}}, {"text": ["c"]}):
        with pytest.raises(InputError, match="no column 'c'"):
            ind.open(path, **named)


@pytest.mark.parametrize(
    "options",
    [
        {"decimal": ".", "thousands": "."},
        {"decimal": ",", "thousands": ","},
        {"thousands": "."},
        {"decimal": ",", "delimiter": ","},
        {"decimal": "ab"},
        {"decimal": "1"},
        {"dates": "%d.%m"},
        {"dates": "day"},
        {"dates": "%Q"},
        {"dates": "%d.%m.%Y %z"},
        {"types": {"a": "colour"}},
        {"types": {"a": "number"}, "text": ["a"]},
        {"dates": {"a": "%d.%m.%Y"}, "text": ["a"]},
        {"dates": {"a": ["%d.%m.%Y", "%Y"]}},
        {"missing": [-99]},
    ],
)
def test_contradictions_are_refused(tmp_path, options):
    with pytest.raises(ParameterError):
        ind.open(written(tmp_path, "a;b\n1;x\n"), **options)


def test_a_decimal_mark_that_is_the_delimiter_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="same mark"):
        ind.open(written(tmp_path, "a,b\n1,x\n2,y\n"), decimal=",")
    table = ind.open(written(tmp_path, 'a,b\n"1,5",x\n2,y\n'), decimal=",")
    assert table.data["a"].to_pylist() == [1.5, 2.0]


def test_with_a_decimal_comma_a_point_is_none(tmp_path):
    table = ind.open(written(tmp_path, "a;b\n1.5;1,5\n2.5;2\n"), decimal=",")
    assert table.data.to_pydict() == {"a": ["1.5", "2.5"], "b": [1.5, 2.0]}


@pytest.mark.parametrize("mark", [" ", "\u00a0", "\u202f"])
def test_every_space_parts_thousands(tmp_path, mark):
    path = written(tmp_path, f"a;b\n1{mark}234,5;x\n12;y\n")
    assert ind.open(path, decimal=",", thousands=" ").data["a"].to_pylist() == [1234.5, 12.0]


def test_frames_and_parquet_take_declarations_too(tmp_path):
    table = pa.table(
        {"a": ["31.01.2024", "01.02.2024", "-99"], "b": ["1,5", "2", "-99"], "c": [1, -99, 3], "d": ["7", "8", "-99"]}
    )
    expected = {"a": [DAY, dt.date(2024, 2, 1), None], "b": [1.5, 2.0, None], "c": [1, None, 3], "d": ["7", "8", None]}
    options = {"dates": "%d.%m.%Y", "decimal": ",", "missing": ["-99"]}
    assert ind.open(table, **options).data.to_pydict() == expected
    assert ind.open(table.to_pandas(), **options).data.to_pydict() == expected
    pq.write_table(table, tmp_path / "t.parquet")
    assert ind.open(tmp_path / "t.parquet", **options).data.to_pydict() == expected
    with pytest.raises(InputError, match="fits no cell"):
        ind.open(pd.DataFrame({"a": ["x"]}), dates="%d.%m.%Y")
    with pytest.raises(InputError, match="has the type int64 already"):
        ind.open(pa.table({"a": [1]}), types={"a": "date"})


def test_an_opened_table_takes_further_declarations():
    table = ind.open(pa.table({"a": ["31.01.2024"], "b": [1]}))
    again = ind.open(table, dates="%d.%m.%Y")
    assert again.data["a"].to_pylist() == [DAY]
    assert ind.open(again) is again


def test_a_column_without_any_cell_fits_its_declaration(tmp_path):
    table = ind.open(written(tmp_path, "a,b\n,x\n,y\n"), dates={"a": "%d.%m.%Y"}, types={"b": "text"})
    assert str(table.data.schema.field("a").type) == "date32[day]"


DATA_FIRST = (
    "52,F,2024-01-31\n31,M,2024-02-03\n47,F,2024-02-04\n33,M,2024-02-05\n",
    "Berlin;31.01.2024\nBonn;02.02.2024\nTrier;03.02.2024\nUlm;04.02.2024\n",
    "Berlin,male\nBonn,male\nBerlin,female\nUlm,male\nUlm,female\n",
    "1950;12,5\n1961;3,5\n1975;4,0\n1982;4,5\n",
    "P000123,flu\nP000124,cold\nP000125,flu\nP000126,flu\n",
)


@pytest.mark.parametrize("text", DATA_FIRST)
@pytest.mark.parametrize("options", [{}, {"text": ["no"]}, {"columns": ["no"]}, {"dates": {"no": "%Y"}}])
def test_a_first_line_of_data_is_refused_and_not_shown(tmp_path, text, options):
    path = written(tmp_path, text)
    with pytest.raises(InputError, match="looks like data") as caught:
        ind.open(path, **options)
    told = f"{caught.value} {caught.value.hint}".replace(str(path), "")
    assert not any(cell in told for cell in text.splitlines()[0].replace(";", ",").split(","))
    assert ind.open(path, header=True).rows == len(text.splitlines()) - 1


@pytest.mark.parametrize(
    "text",
    [
        "country,2019,2020,2021\nA,12,13,14\nB,1,2,3\nC,4,5,6\n",
        "country,2020\nA,12\nB,1\nC,4\n",
        "city,2019,2020\nA,good,bad\nB,bad,bad\nC,good,good\n",
        "0,1,2\n5,6,7\n8,9,10\n11,12,13\n",
        "age,sex\n31,M\n32,F\n33,M\n",
        "name,name of city\nname,x\ny,z\na,b\n",
        "a,b\na,b\n1,2\na,b\n3,4\n5,6\n",
        "c1,V7,項目3\n1,2,3\n4,5,6\n7,8,9\n",
        "item\n1\n2\n3\n",
        "age 0,18,19,20\nA,1,2,3\nB,3,4,5\nC,4,5,6\n",
    ],
)
def test_names_are_not_taken_for_data(tmp_path, text):
    assert ind.open(written(tmp_path, text)).rows >= 3


def test_names_that_repeat_are_numbered_because_they_may_be_data(tmp_path):
    with pytest.raises(InputError, match="columns 2, 3") as caught:
        ind.open(written(tmp_path, "Miller,flu,flu\nSmith,cold,flu\n"))
    assert "flu" not in str(caught.value)


def test_marks_are_found_among_columns_of_every_type():
    moment = dt.datetime(2024, 1, 31, tzinfo=dt.UTC)
    table = pa.table(
        {
            "zone": [moment, moment.replace(month=3)],
            "day": pa.array([DAY, dt.date(2024, 2, 1)], pa.date64()),
            "small": pa.array([1.5, 2.5], pa.float32()),
            "large": pa.array([2**63, 1], pa.uint64()),
            "truth": [True, False],
        }
    )
    read = ind.open(table, missing=["2024-01-31", "2024-13-45", "1.5", "unknown", "true"]).data
    assert {name: read[name].null_count for name in read.column_names} == {
        "zone": 1,
        "day": 1,
        "small": 1,
        "large": 0,
        "truth": 1,
    }


def test_a_declared_notation_does_not_depend_on_what_cells_look_like(tmp_path):
    """June writes 1.5 and July 1.500: a plain number is the same in both, a number is refused or grouped in both."""
    june, july = tmp_path / "june.csv", tmp_path / "july.csv"
    june.write_text("x;y\n1.5;1,5\n2.25;2,5\n")
    july.write_text("x;y\n1.500;1,5\n2.250;2,5\n")
    notation = {"decimal": ",", "thousands": ".", "delimiter": ";"}
    values = [ind.open(path, types={"x": "plain-number"}, **notation).data["x"].to_pylist() for path in (june, july)]
    assert values == [[1.5, 2.25], [1.5, 2.25]]
    with pytest.raises(ind.InputError, match="the type number"):
        ind.open(june, types={"x": "number"}, **notation)
    assert ind.open(july, types={"x": "number"}, **notation).data["x"].to_pylist() == [1500, 2250]
