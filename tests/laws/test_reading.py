"""Whatever is written in a notation is read back when the notation is declared, and no value turns into another."""

import datetime as dt
import tempfile
from pathlib import Path

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.tables.notation import moments, plain_numbers
from indistinct.tables.value import Reading, declare, to_options

FORMS = ("%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y年%m月%d日", "%d.%m.%Y %H:%M", "%d %b %Y")
MARKS = ((",", "."), (",", " "), (",", None), (None, ","), (None, "'"))
MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 12, 31))
NUMBERS = st.decimals(-10_000_000, 10_000_000, places=2)


def spell(number, decimal, thousands):
    return f"{number:,.2f}".replace(",", "#").replace(".", decimal or ".").replace("#", thousands or "")


@settings(deadline=None)
@given(
    st.lists(MOMENTS, min_size=1, max_size=8),
    st.lists(NUMBERS, min_size=8, max_size=8),
    st.sampled_from(FORMS),
    st.sampled_from(MARKS),
)
def test_reading_undoes_writing(days, numbers, form, marks):
    kind = (lambda day: day.replace(second=0, microsecond=0)) if "%H" in form else (lambda day: day.date())
    rows = list(zip(days, numbers, strict=False))
    text = "day;cost\n" + "\n".join(f"{day.strftime(form)};{spell(number, *marks)}" for day, number in rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_text(text, encoding="utf-8")
        table = ind.open(path, dates={"day": form}, decimal=marks[0], thousands=marks[1], types={"cost": "number"})
    assert table.data["day"].to_pylist() == [kind(day) for day, _ in rows]
    assert table.data["cost"].to_pylist() == [float(number) for _, number in rows]


@settings(deadline=None)
@given(
    st.lists(st.text("0123456789.,/- '年月日:TeE+x", max_size=12), min_size=1),
    st.sampled_from(FORMS),
    st.sampled_from(MARKS),
)
def test_what_fits_a_notation_is_written_so(texts, form, marks):
    """Python's own parser agrees on every date, and on every number."""
    for text, day in zip(texts, moments(pa.array(texts), form).to_pylist(), strict=True):
        if day is not None:
            read = dt.datetime.strptime(text, form)
            assert day == (read if "%H" in form else read.date())
    for text, number in zip(texts, plain_numbers(pa.array(texts), *marks).to_pylist(), strict=True):
        if number is not None:
            float(number)
            assert sum(map(str.isdigit, number)) == sum(map(str.isdigit, text))


@settings(deadline=None)
@given(
    st.builds(
        Reading,
        missing=st.lists(st.text(max_size=3), max_size=3).map(tuple),
        text=st.lists(st.sampled_from("ab"), unique=True).map(tuple),
        decimal=st.sampled_from([None, ","]),
        thousands=st.sampled_from([None, " ", "'"]),
        dates=st.lists(st.sampled_from(FORMS), unique=True, max_size=2).map(tuple),
        dates_in=st.dictionaries(st.sampled_from("cd"), st.sampled_from(FORMS)),
        missing_in=st.dictionaries(st.sampled_from("abcd"), st.lists(st.text(max_size=3), min_size=1).map(tuple)),
        types=st.dictionaries(st.sampled_from("ef"), st.sampled_from(["number", "date", "text"])),
        header=st.booleans(),
    )
)
def test_options_say_what_a_reading_says(reading):
    assert declare(**to_options(reading)) == reading
