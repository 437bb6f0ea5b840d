"""Formats of dates that do not fit, years of two digits, and dates of Japanese eras."""

import datetime as dt

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError
from indistinct.inspection.inspect import inspect

SCHEMA = ind.Schema(quasi=["q"], sensitive=["s"])


def write(tmp_path, cells):
    path = tmp_path / "a.csv"
    path.write_text("q;s\n" + "".join(f"{cell};{'xyz'[i % 3]}\n" for i, cell in enumerate(cells)), encoding="utf-8")
    return path


def days(count=60):
    return [dt.date(2020, 1, 1) + dt.timedelta(days=17 * i) for i in range(count)]


def test_a_format_that_fits_some_cells_of_a_column_is_not_said_to_fit_none(tmp_path):
    path = write(tmp_path, [f"{day:%d/%m/%Y}" for day in days()])
    with pytest.raises(InputError) as caught:
        ind.open(path, dates="%m/%d/%Y")
    assert "fits no column" in str(caught.value)
    assert "no cell" not in str(caught.value)
    assert "column 'q'" in caught.value.hint
    assert '`dates = "%d/%m/%Y"`' in caught.value.hint
    assert "`--dates %d/%m/%Y`" in caught.value.hint


def test_a_format_that_fits_nothing_names_the_one_that_does(tmp_path):
    path = write(tmp_path, [f"{day:%d.%m.%Y}" for day in days()])
    with pytest.raises(InputError, match="fits no cell of any column") as caught:
        ind.open(path, dates="%m/%d/%Y")
    assert "`--dates %d.%m.%Y`" in caught.value.hint


@pytest.mark.parametrize("dates", ["%m/%d/%Y", {"q": "%m/%d/%Y"}])
def test_a_format_that_fits_most_cells_names_the_one_that_fits_all(tmp_path, dates):
    early = [dt.date(2020, 1 + i % 12, 1 + i % 11) for i in range(60)]
    path = write(tmp_path, [f"{day:%d/%m/%Y}" for day in [*early, dt.date(2020, 1, 31)]])
    with pytest.raises(InputError, match="1 of 61 cells do not fit it, on line 62") as caught:
        ind.open(path, dates=dates)
    assert "%d/%m/%Y" in caught.value.hint


def test_years_of_two_digits_that_lie_in_the_future_are_refused(tmp_path):
    path = write(tmp_path, ["03/02/45", "15/11/68", "21/07/69", "30/01/99"] * 5)
    for declared in ({"dates": "%d/%m/%y"}, {"dates": {"q": "%d/%m/%y"}}):
        with pytest.raises(InputError) as caught:
            ind.open(path, **declared)
        assert "10 of 20 cells of column 'q' would lie in the future, on lines 2, 3, 6, 7, 10, …" in str(caught.value)
        assert "four digits" in caught.value.hint
        assert "--text q" in caught.value.hint
    assert ind.open(path, text=["q"]).kinds["q"] == "text"
    past = write(tmp_path, ["03/02/01", "15/11/98"])
    assert ind.open(past, dates="%d/%m/%y").data["q"].to_pylist() == [dt.date(2001, 2, 3), dt.date(1998, 11, 15)]


def test_inspect_tells_of_years_of_two_digits(tmp_path):
    path = write(tmp_path, ["03/02/45", "15/11/68", "21/07/69", "30/01/99"] * 5)
    found = inspect(path)
    assert found.reading.text == ("q",)
    assert not found.reading.dates
    assert any("10 rows would lie in the future" in each for each in found.columns[0].findings)
    past = inspect(write(tmp_path, ["03/02/01", "15/11/98", "30/01/99"] * 5))
    assert past.reading.dates == ("%d/%m/%y",)
    assert any("two digits" in each for each in past.columns[0].findings)


ERAS = ["昭和54年6月5日", "令和6年1月2日", "平成元年12月31日", "昭和39年6月17日"]


@pytest.mark.parametrize("column", ["q", "s"])
def test_dates_of_japanese_eras_are_refused(column):
    columns = {name: ["x", "y"] * 8 for name in "qs"}
    source = pa.table({**columns, column: ERAS * 4})
    with pytest.raises(InputError, match=f"column '{column}' looks like dates of Japanese eras") as caught:
        ind.anonymize(source, SCHEMA, model="k-anonymity:k=2")
    assert "1979-06-05" in caught.value.hint
    assert f"--text {column}" in caught.value.hint
    assert ind.anonymize(ind.open(source, text=[column]), SCHEMA, model="k-anonymity:k=2").certificate.holds


def test_inspect_tells_of_dates_of_japanese_eras(tmp_path):
    found = inspect(write(tmp_path, ERAS * 5))
    assert "q" in found.reading.text
    assert any("Japanese eras" in each for each in found.columns[0].findings)
