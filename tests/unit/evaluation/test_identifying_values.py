"""Columns that point at people are known by their values: other numbers of a person, addresses, phones, free text."""

import random

import numpy as np
import pyarrow as pa
import pytest

from indistinct.inspection.inspect import inspect
from indistinct.inspection.patterns.registry import patterns_of_texts
from indistinct.schema import Role


def profiles(columns):
    return {column.name: column for column in inspect(pa.table(columns)).columns}


def points_at_people(texts, *, rows):
    found = patterns_of_texts(texts, np.ones(len(texts)), rows=rows)
    return any(each.holds and each.role is Role.IDENTIFIER for each in found)


def visits(**more):
    """Return visits of 60 people with what does not change from visit to visit, and further columns by person."""
    draw = random.Random(3)  # noqa: S311 (no secret)
    people = [(draw.randrange(2), 1930 + draw.randrange(70), draw.randrange(30)) for _ in range(60)]
    rows = [*range(60), *(draw.randrange(60) for _ in range(140))]
    columns = {"c1": [f"A{who:04}" for who in rows]}
    columns |= {f"c{2 + part}": [people[who][part] for who in rows] for part in range(3)}
    return {**columns, **{name: [value(who) for who in rows] for name, value in more.items()}}


def test_another_number_of_each_person_is_an_identifier():
    found = profiles(visits(c9=lambda who: f"{who * 7919 % 10007}-x", c10=lambda who: who // 2))
    assert found["c1"].role == "person"
    assert found["c9"].role == "identifier"
    assert "one value for each person" in found["c9"].reason
    assert found["c10"].role == "quasi"


@pytest.mark.parametrize(
    "texts",
    [
        [f"m{i}@mail.example.com" for i in range(30)],
        [f"({200 + i}) 555-{9000 + i}" for i in range(30)],
        [f"+49 171 {1234567 + i}" for i in range(30)],
        [f"06.12.34.{10 + i}.78" for i in range(30)],
        [f"06 12 34 {10 + i} 78" for i in range(30)],
        [f"03-{1234 + i}-5678" for i in range(30)],
        [f"{('Hauptstraße', 'Lindenweg')[i % 2]} {i}" for i in range(1, 31)],
        [f"spoke with Mr Smith on day {i}" for i in range(30)],
    ],
)
def test_shapes_that_point_at_people(texts):
    assert points_at_people(pa.array(texts), rows=100)
    assert profiles({"f1": texts * 2})["f1"].role == "identifier"


@pytest.mark.parametrize(
    "texts",
    [
        [f"{60600 + i}-{6000 + i}" for i in range(30)],
        [f"0{2100 + i}-{6000 + i}" for i in range(30)],
        [f"{i:02}.01.2024" for i in range(1, 31)],
        [f"{i:02}.01.2024 08:30" for i in range(1, 31)],
        [f"2024-01-{i:02}" for i in range(1, 31)],
        [f"J{i:02}.{i % 10}" for i in range(30)],
        [f"{100 + i}-{1000 + i}" for i in range(30)],
        [f"Klinik Köln {i}" for i in range(30)],
        ["Craft and related trades workers", "Clerks", "Service and sales workers"],
        [],
    ],
)
def test_other_shapes(texts):
    assert points_at_people(pa.array(texts, pa.string()), rows=100) is False


def test_free_text_that_repeats_is_a_category():
    texts = [f"treated in the ward number {i}" for i in range(30)]
    assert points_at_people(pa.array(texts), rows=1000) is False


def test_a_repeated_identifier_says_what_it_may_be():
    found = profiles({"N° patient": [f"P{i % 31:03}" for i in range(60)], "v": [i % 3 for i in range(60)]})
    assert found["N° patient"].role == "identifier"
    assert "31 values in 60 rows: if these are people, give it the role person" in found["N° patient"].reason
    once = profiles({"id": list(range(60)), "v": [i % 3 for i in range(60)]})
    assert "role person" not in once["id"].reason


def test_identifiers_that_differ_only_by_case_or_spaces_are_told():
    names = [f"p{i:03}" for i in range(30)] + [f"P{i:03} " for i in range(5)]
    found = profiles({"patient_id": names * 2, "v": [i % 3 for i in range(70)]})
    assert any("5 values differ from others only by case or spaces" in each for each in found["patient_id"].findings)


def test_free_text_is_nobody():
    found = profiles({"f1": [f"spoke with Mr Smith on day {i % 30}" for i in range(60)]})
    assert "role person" not in found["f1"].reason
