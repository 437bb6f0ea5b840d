"""Dates of SPSS, Stata and SAS in every format are dates or periods, and never the numbers that count them."""

import datetime as dt

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import indistinct as ind
from indistinct.errors import InputError
from indistinct.tables.program_dates import Counts, format_of

DAY = dt.date(2024, 3, 7)
SINCE_1960 = (DAY - dt.date(1960, 1, 1)).days
SINCE_1582 = (DAY - dt.date(1582, 10, 14)).days * 86_400
MONTHS = (2024 - 1960) * 12 + 2
WRITERS = {".dta": pyreadstat.write_dta, ".xpt": pyreadstat.write_xport, ".sav": pyreadstat.write_sav}


def opened(folder, suffix, cells, form, **declared):
    path = folder / f"a{suffix}"
    WRITERS[suffix](pd.DataFrame({"x": cells}), path, variable_format={"x": form})
    return ind.open(path, **declared)


def column(folder, suffix, cells, form, **declared):
    return opened(folder, suffix, cells, form, **declared).data["x"]


@pytest.mark.parametrize(
    ("suffix", "form", "number"),
    [
        *((".dta", form, SINCE_1960) for form in ("%td", "%d", "%dD_m_Y", "%tdD_m_Y", "%tdNN/DD/CCYY", "%-td")),
        *((".xpt", form, SINCE_1960) for form in ("DATE9.", "YYMMDD10.", "JULIAN7.", "WORDDATE18.", "NLDATE20.")),
        *((".xpt", form, SINCE_1960) for form in ("YEAR4.", "MMYY5.", "MONTH2.", "MONYY7.", "YYQ6.", "QTR1.")),
        *((".sav", form, SINCE_1582) for form in ("DATE11", "ADATE10", "EDATE10", "SDATE10", "JDATE7")),
        *((".sav", form, SINCE_1582) for form in ("MOYR8", "QYR8", "WKYR10")),
    ],
)
def test_counts_of_days_are_dates(tmp_path, suffix, form, number):
    read = column(tmp_path, suffix, [float(number), None, float(number)], form)
    assert read.to_pylist() == [DAY, None, DAY]


@pytest.mark.parametrize(
    ("form", "number", "text"),
    [
        ("%tm", MONTHS, "2024-03"),
        ("%tmMon_CCYY", MONTHS, "2024-03"),
        ("%tq", MONTHS // 3, "2024Q1"),
        ("%th", MONTHS // 6, "2024H1"),
        ("%tw", (2024 - 1960) * 52 + 9, "2024W10"),
        ("%tm", -1, "1959-12"),
    ],
)
def test_periods_are_no_days_and_are_told(tmp_path, form, number, text):
    table = opened(tmp_path, ".dta", [float(number), None], form)
    assert table.data["x"].to_pylist() == [text, None]
    assert any("'x'" in note and form in note for note in table.notes)


def test_years_of_stata_are_years_and_parts_of_a_week_are_numbers(tmp_path):
    assert column(tmp_path, ".dta", [2024.0, 1999.0], "%ty").to_pylist() == [2024, 1999]
    assert column(tmp_path, ".sav", [1.0, 7.0], "WKDAY9").to_pylist() == [1, 7]


@pytest.mark.parametrize(
    ("suffix", "form", "number"),
    [
        (".dta", "%tc", SINCE_1960 * 86_400_000 + 3_600_250),
        (".dta", "%tcHH:MM", SINCE_1960 * 86_400_000 + 3_600_250),
        (".xpt", "DATETIME20.", SINCE_1960 * 86_400 + 3_600.25),
        (".xpt", "DTYEAR4.", SINCE_1960 * 86_400 + 3_600.25),
        (".xpt", "DTDATE9.", SINCE_1960 * 86_400 + 3_600.25),
        (".sav", "DATETIME20", SINCE_1582 + 3_600.25),
        (".sav", "YMDHMS19", SINCE_1582 + 3_600.25),
    ],
)
def test_moments_are_exact(tmp_path, suffix, form, number):
    read = column(tmp_path, suffix, [float(number), None], form)
    assert read.to_pylist() == [dt.datetime(2024, 3, 7, 1, 0, 0, 250_000), None]


def test_hours_of_a_day_are_times_and_longer_ones_are_spans(tmp_path):
    assert column(tmp_path, ".sav", [3600.0, None], "TIME8").to_pylist() == [dt.time(1), None]
    assert column(tmp_path, ".xpt", [3600.0, None], "TIME8.").to_pylist() == [dt.time(1), None]
    assert column(tmp_path, ".sav", [90_000.0], "TIME8").to_pylist() == [dt.timedelta(hours=25)]
    assert column(tmp_path, ".sav", [3600.0], "DTIME10").to_pylist() == [dt.timedelta(hours=1)]


def test_what_shows_a_part_of_the_day_is_told(tmp_path):
    (note,) = opened(tmp_path, ".xpt", [1.0, 2.0], "YEAR4.").notes
    assert note == "column 'x' is shown as YEAR4 by its program, but holds days: they were read whole"
    assert opened(tmp_path, ".xpt", [1.0, 2.0], "DATE9.").notes == ()


@pytest.mark.parametrize(("suffix", "form"), [(".dta", "%td"), (".dta", "%tm"), (".xpt", "DATE9."), (".sav", "DATE11")])
def test_marks_for_missing_hold_among_dates(tmp_path, suffix, form):
    numbers = [600.0 * 86_400, -99.0, 601.0 * 86_400] if suffix == ".sav" else [600.0, -99.0, 601.0]
    assert column(tmp_path, suffix, numbers, form, missing=["", "-99"]).null_count == 1
    assert column(tmp_path, suffix, numbers, form, missing={"x": ["-99"]}).null_count == 1
    assert column(tmp_path, suffix, numbers, form).null_count == 0


def test_numbers_that_are_no_dates_are_refused_by_name_or_declared(tmp_path):
    with pytest.raises(InputError, match=r"column 'x' counts days .* outside the years 1 to 9999") as caught:
        column(tmp_path, ".dta", [1.0, 9e9], "%td")
    assert "9" not in caught.value.message.replace("9999", "").replace("%td", "")
    assert column(tmp_path, ".dta", [1.0, 9e9], "%td", types={"x": "number"}).type == pa.int64()
    with pytest.raises(InputError, match="business days"):
        column(tmp_path, ".dta", [1.0, 2.0], "%tbnyse")
    assert column(tmp_path, ".dta", [1.0, 2.0], "%tbnyse", types={"x": "number"}).to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("form", "counts"),
    [
        ("YYMMN6", Counts.DAYS),
        ("MMYYS7.", Counts.DAYS),
        ("YYQRD", Counts.DAYS),
        ("DOWNAME9", Counts.DAYS),
        ("E8601DA10.", Counts.DAYS),
        ("EURDFMY7", Counts.DAYS),
        ("E8601DT19.3", Counts.MOMENTS),
        ("B8601DN8", Counts.MOMENTS),
        ("NLDATMYM20", Counts.MOMENTS),
        ("DTMONYY7", Counts.MOMENTS),
        ("HHMM5.", Counts.HOURS),
        ("TOD8", Counts.HOURS),
        ("BEST12.", None),
        ("DOLLAR8.2", None),
        ("$CHAR20.", None),
        ("YEARS", None),
        ("", None),
    ],
)
def test_formats_of_sas(form, counts):
    found = format_of(form, ".sas7bdat")
    assert (None if found is None else found.counts) is counts
