"""Exports of hospitals elsewhere, with names of columns that say nothing: what inspect proposes, and that it runs."""

import datetime as dt
import json
import random

import pytest

import indistinct as ind
from indistinct.inspection.inspect import inspect
from indistinct.inspection.starter import write_starter
from indistinct.job.policy import read_policy

ROWS, PEOPLE = 1500, 700


def visits(seed):
    """Yield visits of people: person, born, sex, postcode, diagnosis, day, cost, weight, hospital."""
    draw = random.Random(seed)  # noqa: S311 (no secret)
    people = [
        (
            f"{100000 + 7 * number}",
            dt.date(1930, 1, 1) + dt.timedelta(days=draw.randrange(25_000)),
            draw.randrange(2),
            draw.randrange(60),
        )
        for number in range(PEOPLE)
    ]
    chosen = people + [draw.choice(people) for _ in range(ROWS - PEOPLE)]
    draw.shuffle(chosen)
    for person, born, sex, place in chosen:
        code = draw.choice(["E11.9", "I10", "J45.0", "K29.1", "M54.5", "F32.0", "C61", "S72.0"])
        day = dt.date(2024, 1, 1) + dt.timedelta(days=draw.randrange(180))
        weight = None if draw.random() < 0.02 else round(draw.uniform(45, 120), 1)
        yield person, born, sex, place, code, day, round(draw.lognormvariate(6.5, 1), 2), weight, draw.randrange(12)


def number(value, decimal, thousands):
    return f"{value:,.2f}".replace(",", "#").replace(".", decimal).replace("#", thousands)


def german(seed=1):
    lines = ["c1;c2;c3;c4;c5;c6;c7;c8;c9"]
    for person, born, sex, place, code, day, cost, weight, hospital in visits(seed):
        lines.append(
            f"{person};{born:%d.%m.%Y};{'mw'[sex]};{'0' if place < 20 else '5'}{1000 + place * 7};{code};"
            f"{day:%d.%m.%Y};{number(cost, ',', '.')};{'-99' if weight is None else str(weight).replace('.', ',')};"
            f"{'unbekannt' if hospital == 0 else f'Klinik Köln {hospital}'}"
        )
    return "\n".join(lines).encode("cp1252")


def french(seed=2):
    lines = ["V1;V2;V3;V4;V5;V6;V7;V8;V9"]
    for person, born, sex, place, code, day, cost, weight, hospital in visits(seed):
        lines.append(
            f"{person};{born:%d/%m/%Y};{'HF'[sex]};{75000 + place};{code};{day:%d/%m/%Y} 08:30;"
            f"{number(cost, ',', chr(160))};{'999' if weight is None else str(weight).replace('.', ',')};"
            f"{'inconnu' if hospital == 0 else f'Hôpital Évry {hospital}'}"
        )
    return "\r\n".join(lines).encode("latin-1")


def japanese(seed=3, encoding="cp932"):
    lines = ["項目1,項目2,項目3,項目4,項目5,項目6,項目7,項目8,項目9"]
    for person, born, sex, place, code, day, cost, weight, hospital in visits(seed):
        lines.append(
            f"{person},{born:%Y}年{born:%m}月{born:%d}日,{'男女'[sex]},{100 + place}-{1000 + place},{code},"
            f"{day:%Y/%m/%d},{cost:.0f},{-9 if weight is None else weight},"
            f"{'不明' if hospital == 0 else f'病院{hospital}'}"
        )
    return "\n".join(lines).encode(encoding)


EXPORTS = {
    "german": (german, {"decimal": ",", "thousands": ".", "dates": "%d.%m.%Y"}, "-99", "unbekannt"),
    "french": (
        french,
        {"decimal": ",", "thousands": " ", "dates": {"*": "%d/%m/%Y", "V6": "%d/%m/%Y %H:%M"}},
        "999",
        "inconnu",
    ),
    "japanese": (japanese, {"dates": {"*": "%Y年%m月%d日", "項目6": "%Y/%m/%d"}}, "-9", "不明"),
    "japanese in UTF-16": (
        lambda: japanese(encoding="utf-16"),
        {"dates": {"*": "%Y年%m月%d日", "項目6": "%Y/%m/%d"}},
        "-9",
        "不明",
    ),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_inspect_proposes_how_to_read_an_export(tmp_path, name):
    make, expected, mark, word = EXPORTS[name]
    path = tmp_path / "export.csv"
    path.write_bytes(make())
    found = inspect(ind.open(path))
    proposed = {
        key: value for key, value in found.to_json()["reading"].items() if key in ("decimal", "thousands", "dates")
    }
    assert proposed == expected
    columns = dict(enumerate(found.columns, start=1))
    assert mark in found.reading.marks(columns[8].name)
    assert word in found.reading.missing
    assert [str(columns[index].kind) for index in (2, 6, 7, 8)] == ["date", "date", "number", "number"]
    assert [column.name for column in found.columns if column.role == "person"] == [columns[1].name]
    assert found.people == PEOPLE
    assert any(f"{mark} in" in finding for finding in columns[8].findings)


@pytest.mark.parametrize("name", EXPORTS)
def test_the_first_policy_of_an_export_can_be_read(tmp_path, name):
    path = tmp_path / "export.csv"
    path.write_bytes(EXPORTS[name][0]())
    found = inspect(path)
    written = write_starter(found, path, tmp_path / "policy.toml", reading=found.reading)
    assert read_policy(tmp_path / "policy.toml") == written
    again = ind.open(path, reading=written.input.reading)
    assert {column.name: column.kind for column in found.columns} == dict(again.kinds)


def test_a_column_of_mixed_notations_is_left_as_text_and_told(tmp_path):
    path = tmp_path / "a.csv"
    rows = [
        f"{1 + i % 28:02}.01.2024;{1 + i % 28:02}.02.2024" if i % 3 else f"{1 + i % 28:02}.01.2024;secret {i}"
        for i in range(60)
    ]
    path.write_text("a;b\n" + "\n".join(rows) + "\n")
    found = inspect(ind.open(path))
    assert [str(column.kind) for column in found.columns] == ["date", "text"]
    assert "mixes notations" in found.columns[1].findings[0]
    assert "secret" not in str(found)


def test_inspect_looks_at_chosen_columns_only(tmp_path):
    path = tmp_path / "export.csv"
    path.write_bytes(german())
    found = inspect(ind.open(path, columns=["c2", "c7"]))
    assert [column.name for column in found.columns] == ["c2", "c7"]
    assert found.reading.decimal == ","


def test_what_is_declared_stays(tmp_path):
    path = tmp_path / "export.csv"
    path.write_bytes(german())
    found = inspect(ind.open(path, text=["c2"], missing=["", "x"]))
    assert found.reading.text == ("c2", "c4")
    assert found.reading.missing[:2] == ("", "x")
    assert str(found.columns[1].kind) == "text"


def test_stray_texts_among_dates_are_counted_and_not_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b\n" + "".join(f"{1 + i % 28:02}.01.2024;x{i % 7}\n" for i in range(60)) + "secret;x\n")
    found = inspect(ind.open(path))
    assert str(found.columns[0].kind) == "text"
    assert "except 1 distinct value" in found.columns[0].findings[0]
    assert "secret" not in json.dumps(found.to_json())
