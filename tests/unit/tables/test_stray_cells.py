"""Cells that are not like the others: errors say where they are and what helps, and first policies run."""

import datetime as dt

import pytest

import indistinct as ind
from indistinct.errors import InputError
from indistinct.inspection.inspect import inspect
from indistinct.inspection.starter import write_starter

SCHEMA = ind.Schema(quasi=["q"], sensitive=["s"])


def write(tmp_path, cells, *, lines=None):
    path = tmp_path / "a.csv"
    path.write_text("q;s\n" + "".join(f"{cell};{'xyz'[i % 3]}\n" for i, cell in enumerate(cells)), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("cells", "marks"),
    [
        ([f"{60 + i},5" for i in range(30)], {"decimal": ","}),
        ([f"{1 + i}.200,5" for i in range(30)], {"decimal": ",", "thousands": "."}),
    ],
)
def test_a_stray_cell_among_declared_numbers_is_told_by_its_line(tmp_path, cells, marks):
    path = write(tmp_path, [*cells[:7], "environ 70", *cells[7:], "environ 80"])
    with pytest.raises(InputError) as caught:
        ind.anonymize(ind.open(path, **marks), SCHEMA, model="k-anonymity:k=2")
    assert "2 cells of column 'q', on lines 9, 33, are not numbers" in str(caught.value)
    assert "not declared" not in str(caught.value)
    assert "marks for missing" in caught.value.hint
    assert "environ" not in f"{caught.value}{caught.value.hint}"


def test_a_stray_cell_in_a_frame_is_told_by_its_row():
    import pyarrow as pa

    frame = pa.table({"q": [f"{60 + i},5" for i in range(30)] + ["environ"], "s": ["x", "y"] * 15 + ["x"]})
    with pytest.raises(InputError, match="1 cell of column 'q', on row 31, is not a number"):
        ind.anonymize(ind.open(frame, decimal=","), SCHEMA, model="k-anonymity:k=2")


@pytest.mark.parametrize("cells", [["75 011", "69 003", "13 001", "31 000"], ["+5 ", " 6", " 7", " 8"]])
def test_numbers_that_are_all_written_otherwise_are_no_mixture(tmp_path, cells):
    with pytest.raises(InputError) as caught:
        ind.anonymize(write(tmp_path, cells * 4), SCHEMA, model="k-anonymity:k=2")
    assert "mixes" not in str(caught.value)
    assert "none of its 4 distinct values" in str(caught.value)
    assert "--text" in caught.value.hint


@pytest.mark.parametrize(
    "cells",
    [
        ["75 011", "69 003", "13 001", "31 000"],
        ["12", "13", "14", "about 15", "16"],
        ["12,5", "13,5", "14,5", "about 15", "16,5", "1,5", "2,5"],
        ["12%", "13%", "x%", "15 %"],
        ["2024-01-01", "2024-01-02", "soon", "2024-01-03", "2024-01-04"],
        ["31.01.2024", "30.01.2024", "soon", "15.01.2024", "16.02.2024"],
        ["$5", "€6", "7", "8", "9"],
        ["18h23", "20h13", "02h38"],
    ],
)
def test_the_first_policy_runs(tmp_path, cells):
    path = write(tmp_path, cells * 8)
    found = inspect(path)
    policy = write_starter(found, path, tmp_path / "p.toml", reading=found.reading)
    assert ind.anonymize(
        ind.open(path, reading=policy.input.reading),
        ind.Schema(quasi=["q", "s"]),
        model="k-anonymity:k=2",
        suppression=1.0,
    )
    assert "q" not in found.reading.text or found.columns[0].findings


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y"])
@pytest.mark.parametrize("mark", ["-99", "0000-00-00", "00.00.0000", "deceased"])
def test_a_mark_among_dates_does_not_make_them_text(tmp_path, form, mark):
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=row) for row in range(40)]
    ages = [-99 if row % 9 == 0 else 20 + row for row in range(40)]
    rows = [f"{age},{mark if row % 8 == 0 else f'{days[row]:{form}}'}" for row, age in enumerate(ages)]
    path = tmp_path / "a.csv"
    path.write_text("age,visit\n" + "\n".join(rows) + "\n")
    found = ind.inspect(path)
    visit = next(column for column in found.columns if column.name == "visit")
    assert (str(visit.kind), visit.missing) == ("date", 5)
    assert f"{mark} in 5 rows looks like a mark for missing" in visit.findings
    assert "visit" not in found.reading.text
    assert found.reading.missing_in["visit"] == (mark,)
    for engine in ("memory", "duckdb"):
        opened = ind.open(path, reading=found.reading, engine=engine)
        assert opened.kinds["visit"] == "date"


def test_a_name_among_dates_is_not_told(tmp_path):
    days = [f"{dt.date(2024, 1, 1) + dt.timedelta(days=row):%d.%m.%Y}" for row in range(40)]
    path = tmp_path / "a.csv"
    path.write_text("visit\n" + "\n".join([*days, "Miller", "-99", "-99"]) + "\n")
    found = ind.inspect(path)
    assert found.reading.text == ("visit",)
    assert "Miller" not in repr(found.to_json())


def test_the_error_about_dates_with_a_mark_says_how_to_declare_it(tmp_path):
    days = [f"{dt.date(2024, 1, 1) + dt.timedelta(days=row):%d.%m.%Y}" for row in range(40)]
    path = tmp_path / "a.csv"
    path.write_text("visit\n" + "\n".join([*days, "-99", "-99"]) + "\n")
    with pytest.raises(InputError, match="may be marks for missing") as caught:
        ind.anonymize(path, ind.Schema(quasi=["visit"]), model="k-anonymity:k=2")
    assert "--missing visit=MARK" in caught.value.hint
    assert "-99" not in caught.value.hint
