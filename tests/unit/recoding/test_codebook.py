"""What labels say by themselves: codebooks, intervals of pandas and structs of polars."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.recoding.codebook import codebook_of
from indistinct.recoding.intervals import interval_structs, pandas_intervals, range_column
from indistinct.recoding.label_spans import span_of
from indistinct.tables.domain import Kind

DAY = dt.date


def told(labels, **known):
    book = codebook_of(pa.table({"x": pa.array(labels, pa.string())}), columns=["x"], **known)
    return {entry.label: (entry.kind, entry.low, entry.high, entry.high_inside) for entry in book}


@pytest.mark.parametrize(
    ("label", "low", "high", "inside"),
    [
        ("[25-30]", 25, 30, True),
        ("[-5 .. 12]", -5, 12, True),
        ("[ .. 24]", None, 24, True),
        ("[-24]", None, 24, True),
        ("[ .. -4.9)", None, -4.9, False),
        ("[85-]", 85, None, True),
        ("[-]", None, None, True),
        ("[0.5-1.5)", 0.5, 1.5, False),
        ("[20, 25)", 20, 25, False),
        ("20-24", 20, 24, True),
        ("<18", None, 18, False),
        (">=85", 85, None, True),
        ("[25-30] or missing", 25, 30, True),
    ],
)
def test_ranges_have_their_ends(label, low, high, inside):
    assert told([label, "7"])[label] == ("range", low, high, inside)


@pytest.mark.parametrize(
    ("label", "low", "high", "inside"),
    [
        ("2024-02", DAY(2024, 2, 1), DAY(2024, 3, 1), False),
        ("2023-Q4", DAY(2023, 10, 1), DAY(2024, 1, 1), False),
        ("1990s", DAY(1990, 1, 1), DAY(2000, 1, 1), False),
        ("9999", DAY(9999, 1, 1), dt.datetime.max, True),
        ("[2024-01-02 .. 2024-03-04]", DAY(2024, 1, 2), DAY(2024, 3, 4), True),
        ("2024-01-02", DAY(2024, 1, 2), DAY(2024, 1, 2), True),
    ],
)
def test_dates_and_calendars_have_their_ends(label, low, high, inside):
    kind, *ends = told([label, "2020-05"])[label]
    assert ends == [low, high, inside]
    assert kind == ("value" if low == high else "range")


def test_a_day_beside_times_of_day_is_all_of_it():
    book = told(["2024-01-02", "[2024-01-02 10:00:00 .. 2024-01-04]", "2024-01"])
    assert book["2024-01-02"] == ("range", DAY(2024, 1, 2), DAY(2024, 1, 3), False)
    assert book["[2024-01-02 10:00:00 .. 2024-01-04]"] == ("range", dt.datetime(2024, 1, 2, 10), DAY(2024, 1, 5), False)


def test_what_is_no_range_of_numbers_is_none():
    assert told(["02138", "[02138-02140]"])["02138"][0] == "value"
    assert told(["021**"])["021**"] == ("group", None, None, True)
    assert told(["*", "flu"])["*"][0] == "everything"
    assert told(['["a .. b" .. c]', "q"])['["a .. b" .. c]'] == ("range", "a .. b", "c", True)
    assert span_of(("[30-25]",), Kind.NUMBER) is None


def test_sets_groups_and_missing():
    tree = ind.Hierarchy.from_rows([["flu", "lungs", "*"], ["asthma", "lungs", "*"], ["ulcer", "gut", "*"]])
    book = codebook_of(
        pa.table({"x": pa.array(["lungs", '{missing, flu, "a, b"}', None, "ulcer"])}), hierarchies={"x": tree}
    )
    assert [(e.label, e.kind, e.values, e.missing) for e in book.of("x")] == [
        ("lungs", "group", ("flu", "asthma"), False),
        ("ulcer", "value", ("ulcer",), False),
        ('{missing, flu, "a, b"}', "set", ("flu", "a, b"), True),
        (None, "missing", (), True),
    ]
    assert book.table.num_rows == 4
    assert book.to_json()["x"][0]["values"] == ["flu", "asthma"]


def test_columns_without_labels_are_left_out_and_ends_are_one_column():
    table = pa.table({"age_from": [18, None], "age_to": [21, 30], "age_missing": ["no", "some"], "sex": ["f", "m"]})
    book = ind.intervals(table)
    assert book.columns == ("age",)
    assert [(e.label, e.low, e.high, e.missing) for e in book] == [
        ("[18 .. 21]", 18, 21, False),
        ("[ .. 30]", None, 30, True),
    ]
    with pytest.raises(ind.InputError, match="no column 'sex'"):
        book.of("sex")


def test_value_labels_of_a_statistics_file_stand_beside_their_codes(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"sex": [1.0, 2.0, 1.0], "age": ["[18-21]", "[22-30]", "[18-21]"]})
    labels = {"sex": {1.0: "male", 2.0: "female"}}
    for suffix, write in ((".sav", pyreadstat.write_sav), (".dta", pyreadstat.write_dta)):
        path = tmp_path / f"release{suffix}"
        write(frame, str(path), variable_value_labels=labels)
        book = ind.intervals(path)
        assert {e.label: e.code for e in book.of("sex")} == {"male": 1, "female": 2}
        assert [(e.low, e.high) for e in book.of("age")] == [(18, 21), (22, 30)]


PEOPLE = pa.table(
    {
        "age": [20, 21, 22, 30, 31, 32, 40, 41, 42],
        "weight": [1.5, 2.5, 3.5, 1.0, 2.0, 3.0, 9.5, 8.5, 7.5],
        "born": pa.array([DAY(2000, 1, i + 1) for i in range(9)]),
        "ill": list("abcabcabc"),
    }
)
SCHEMA = ind.Schema(quasi=["age", "weight", "born"], sensitive=["ill"])


def test_pandas_intervals_are_closed_as_labels_say():
    release = ind.anonymize(PEOPLE, SCHEMA, model="k-anonymity:k=3", algorithm="mondrian", seed=1)
    frame = release.to_pandas(intervals=True)
    plain = release.to_pandas()
    assert str(frame["age"].dtype) == "interval[int64, both]"
    assert str(frame["weight"].dtype) == "interval[float64, both]"
    assert frame["born"].dtype.closed == "both"
    assert frame["ill"].tolist() == plain["ill"].tolist()
    for label, interval in zip(plain["age"], frame["age"], strict=True):
        assert label == f"[{interval.left}-{interval.right}]"
    assert list(frame.columns) == list(plain.columns)


def test_regions_of_fractions_are_open_above_and_infinite():
    values = {"age": [20, 21, 22, 30, 31, 32, 40, 41, 42], "weight": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]}
    for name, column in values.items():
        table = pa.table({name: column, "ill": list("abcabcabc")})
        schema = ind.Schema(quasi=[name], sensitive=["ill"])
        release = ind.anonymize(table, schema, model="k-anonymity:k=3", algorithm="mondrian:extent=region")
        shown = release.to_pandas(intervals=True)[name]
        assert shown.dtype.closed == ("both" if name == "age" else "left")
        assert [sum(value in interval for interval in shown.unique()) for value in column] == [1] * 9
        assert np.isinf(shown.array.left).any()


def test_mixed_ends_become_objects_that_are_right_each():
    table = pa.table({"x": ["[20, 25)", "30", "*"]})
    made = pandas_intervals(range_column(table["x"], "x"))
    assert list(made) == [
        pd.Interval(20, 25, closed="left"),
        pd.Interval(30, 30, closed="both"),
        pd.Interval(-np.inf, np.inf, closed="both"),
    ]


def test_polars_gets_structs():
    release = ind.anonymize(PEOPLE, SCHEMA, model="k-anonymity:k=3", algorithm="mondrian", seed=1)
    frame = release.to_polars(intervals=True)
    assert frame.schema["age"] == pl.Struct({"low": pl.Int64, "high": pl.Int64, "high_inside": pl.Boolean})
    assert frame.schema["born"].fields[0].dtype == pl.Date
    assert frame.select(pl.col("age").struct.field("low")).to_series().min() == 20


def test_missing_values_stay_missing():
    column = range_column(pa.chunked_array([["[20-21]", None, "30"]]), "age")
    assert pd.Series(pandas_intervals(column)).isna().tolist() == [False, True, False]
    assert interval_structs(column).null_count == 1
