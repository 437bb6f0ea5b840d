"""Guesses at a notation refuse or propose; texts that only look a little like numbers and dates stay text."""

import random

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError
from indistinct.frequencies.person_columns import CodedColumn, likely_person
from indistinct.inspection.inspect import inspect
from indistinct.tables.marks import is_mark, number_marks
from indistinct.tables.notation import likely_notation


@pytest.mark.parametrize(
    ("texts", "lines"),
    [
        (["31.01.2024", "01.02.2024"], ['dates = "%d.%m.%Y"']),
        (["01.02.2024", "03.04.2024"], ['dates = "%d.%m.%Y"', 'dates = "%m.%d.%Y"']),
        (["1/31/2024", "2/3/2024"], ['dates = "%m/%d/%Y"']),
        (["03/02/2024", "04/05/2024"], ['dates = "%d/%m/%Y"', 'dates = "%m/%d/%Y"']),
        (["31.01.2024 08:30", "01.02.2024 09:00"], ['dates = "%d.%m.%Y %H:%M"']),
        (["2024年1月31日", "2024年12月3日"], ['dates = "%Y年%m月%d日"']),
        (["31.01.24", "30.12.99"], ['dates = "%d.%m.%y"']),
        (["1.234,56", "12,5"], ['decimal = "," and thousands = "."']),
        (["12,5", "3,25", "k.A.", "7", "8,5"], ['decimal = ","']),
        (["1 234,5", "7,5"], ['decimal = "," and thousands = " "']),
        (["1,234.50", "2"], ['thousands = ","']),
        (["1,234", "999"], ['decimal = ","', 'thousands = ","']),
        (["1'234.50", "20.10"], ['thousands = "\'"']),
    ],
)
def test_notations(texts, lines):
    assert list(likely_notation(pa.array(texts)).lines("q")) == lines


@pytest.mark.parametrize(
    "texts",
    [
        ["E11.9", "I10", "J45.0"],
        ["1.2.3", "1.10.0", "2.0.1"],
        ["192.168.0.1", "10.0.0.1"],
        ["0171-1234567", "030 123456", "+49 171 123456"],
        ["12-345", "00-950", "31-123"],
        ["02138", "12345"],
        ["2024-01-31", "2024-02-01"],
        ["123 456", "234 567", "345 678", "456 789"],
        ["male", "female"],
        ["he paid 1,5", "31.01.2024 was a Wednesday"],
        ["10:30", "11:45"],
        ["1,2,3", "2,3", "1"],
        ["1-2", "3-4"],
        ["[20-30]", "[31.01.2024 .. 01.02.2024]"],
        ["A", "B", "1,5"],
        ["100-1000", "159-1059"],
        [],
        [""],
    ],
)
def test_text(texts):
    assert likely_notation(pa.array(texts, pa.string())) is None


SCHEMA = ind.Schema(quasi=["q"], sensitive=["s"], insensitive=["i"], identifiers=["n"])


def table(column, cells):
    columns = {name: ["x", "y"] * 3 for name in "qsin"}
    return pa.table({**columns, column: cells})


@pytest.mark.parametrize("column", ["q", "s"])
def test_a_notation_that_was_not_declared_is_refused_where_it_matters(column):
    cells = ["31.01.2024", "01.02.2024"] * 3
    with pytest.raises(InputError, match=f"column '{column}' looks like dates") as caught:
        ind.anonymize(table(column, cells), SCHEMA, model="k-anonymity:k=2")
    assert 'dates = "%d.%m.%Y"' in caught.value.hint
    assert "--dates %d.%m.%Y" in caught.value.hint
    assert "31.01" not in str(caught.value)
    for declared in ({"text": [column]}, {"dates": "%d.%m.%Y"}, {"types": {column: "text"}}):
        assert ind.anonymize(
            ind.open(table(column, cells), **declared), SCHEMA, model="k-anonymity:k=2"
        ).certificate.holds


@pytest.mark.parametrize("column", ["i", "n"])
def test_a_column_that_nobody_recodes_may_look_as_it_likes(column):
    cells = ["31.01.2024", "01.02.2024"] * 3
    assert ind.anonymize(table(column, cells), SCHEMA, model="k-anonymity:k=2").certificate.holds


def test_a_hierarchy_of_names_says_that_a_column_is_text():
    tree = ind.Hierarchy.tree({"*": ["31.01.2024", "01.02.2024"]})
    source = table("q", ["31.01.2024", "01.02.2024"] * 3)
    assert ind.anonymize(source, SCHEMA, model="k-anonymity:k=2", hierarchies={"q": tree}).certificate.holds
    with pytest.raises(InputError, match="looks like dates"):
        ind.anonymize(source, SCHEMA, model="k-anonymity:k=2", hierarchies={"q": ind.Hierarchy.dates()})


def test_points_of_thousands_are_not_taken_for_decimals(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("q;s\n" + "850;x\n1.200;y\n12.000;x\n900;y\n" * 3)
    schema = ind.Schema(quasi=["q"], sensitive=["s"])
    with pytest.raises(InputError, match="looks like numbers") as caught:
        ind.anonymize(path, schema, model="k-anonymity:k=2")
    assert 'thousands = "."' in caught.value.hint
    release = ind.anonymize(ind.open(path, decimal=",", thousands="."), schema, model="k-anonymity:k=2")
    assert release.certificate.holds
    assert ind.open(path, decimal=",", thousands=".").data["q"].to_pylist()[:3] == [850, 1200, 12000]


def test_points_beside_a_declared_comma_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("q;s\n" + "1.5;1,5\n2.5;2,5\n" * 3)
    schema = ind.Schema(quasi=["q"], sensitive=["s"])
    with pytest.raises(InputError, match="decimal point"):
        ind.anonymize(ind.open(path, decimal=","), schema, model="k-anonymity:k=2")
    both = ind.open(path, decimal=",", types={"q": "plain-number"})
    assert both.data["q"].to_pylist()[:2] == [1.5, 2.5]
    assert ind.anonymize(both, schema, model="k-anonymity:k=2").certificate.holds


@pytest.mark.parametrize(
    ("values", "marks"),
    [
        ([*range(20, 90), -99, -99], {"-99": 2}),
        ([*range(20, 90), -99], {}),
        ([*range(20, 90), 99, 99], {}),
        ([*range(90), 999, 999, 999], {"999": 3}),
        ([36.5, 37.1, 38.2, 39.9, 36.6] * 4 + [99.9, 99.9], {"99.9": 2}),
        ([*range(-50, 50), -99, -99], {}),
        ([*range(5, 2000, 7), 999, 999], {}),
        ([1, 2, 3] * 9 + [99, 99], {"99": 2}),
        ([*range(20, 60), 998, 998, 999, 999], {"999": 2, "998": 2}),
        ([99] * 20, {}),
        ([*range(60), -1, -1, -1], {"-1": 3}),
        ([*range(20, 60), -1], {}),
        ([*range(-5, 60), -1, -1], {}),
        ([-1, 0, 1] * 20, {}),
        ([-1, 0, 1, 2] * 20, {}),
        ([0.5, 1.5, 22.5] * 10 + [-1.0] * 3, {"-1": 3}),
        ([0.5, 1200.0, 15000.0] * 5 + [-9.0, -9.0], {"-9": 2}),
    ],
)
def test_numbers_that_stand_for_missing(values, marks):
    assert number_marks(pa.chunked_array([values])) == marks


@pytest.mark.parametrize(
    "text", ["unknown", "Unbekannt", "k.A.", "N/A", "inconnu", "不明", "-", "?", "keine Angabe", "NR"]
)
def test_words_that_stand_for_missing(text):
    assert is_mark(text, others=["12", "13", text])


@pytest.mark.parametrize("text", ["none", "no", "0", "x", "NA", "NR", "Na", "M"])
def test_words_that_may_be_values(text):
    assert not is_mark(text, others=["DE", "FR", "NL", text])


def coded(values):
    distinct = {value: code for code, value in enumerate(dict.fromkeys(values))}
    return CodedColumn(np.array([distinct[value] for value in values], dtype=np.int32), len(distinct))


def rows(seed=1, people=400, visits=1200):
    """Return visits with a person, look-alikes of one, and what depends on them."""
    draw = random.Random(seed)  # noqa: S311 (no secret)
    person = [(draw.randrange(2), draw.randrange(9_000), draw.randrange(150)) for _ in range(people)]
    table = {name: [] for name in ("person", "case", "sex", "born", "zip", "city", "state", "icd", "chapter", "ward")}
    table |= {"ward name": [], "ward floor": [], "age": [], "cost": [], "day": [], "year": []}
    for visit in range(visits):
        who = visit if visit < people else draw.randrange(people)
        sex, born, place = person[who]
        icd, ward, day = draw.randrange(80), draw.randrange(40), draw.randrange(365)
        cells = (
            who,
            visit // 2 if visit < 20 else visit,
            sex,
            born,
            place,
            place // 3,
            place // 15,
            icd,
            icd // 8,
            ward,
        )
        cells += (f"ward {ward}", ward % 4, 20 + born // 150, draw.randrange(50_000), day, day // 30)
        for name, cell in zip(table, cells, strict=True):
            table[name].append(cell)
    return table


def test_a_person_is_found_by_what_does_not_change():
    columns = {name: coded(values) for name, values in rows().items()}
    assert likely_person(columns, list(columns)) == "person"
    without = {name: column for name, column in columns.items() if name != "person"}
    candidates = [name for name in without if name != "born"]
    assert likely_person(without, candidates) is None


@pytest.mark.parametrize("seed", range(5))
def test_look_alikes_are_not_people(seed):
    columns = {name: coded(values) for name, values in rows(seed).items() if name not in ("person", "born")}
    assert likely_person(columns, list(columns)) is None


def test_people_are_found_in_a_table_without_names_of_columns():
    table = {f"c{index}": values for index, values in enumerate(rows().values())}
    found = inspect(pa.table(table))
    assert found.schema.person == ("c0",)
    assert found.people == 400
    assert found.columns[0].reason == "400 people in 1,200 rows"


def test_what_is_known_of_people_is_not_the_people():
    found = inspect(
        pa.table({"patient_age": [20 + i % 40 for i in range(800)], "group": [i % 40 // 5 for i in range(800)]})
    )
    assert found.schema.person == ()
