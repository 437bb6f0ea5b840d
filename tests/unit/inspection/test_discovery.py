"""A first look by content: columns whose names say nothing, in several languages; figures, the page, and bounds."""

import json
import random
import re

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import ParameterError
from indistinct.inspection import combinations as module
from indistinct.inspection.combinations import risky_combinations
from indistinct.inspection.inspection_document import inspection_page, write_inspection_page
from indistinct.inspection.starter import write_starter
from indistinct.job.policy import read_policy
from indistinct.samples import generate_visits

ROWS = 400


@pytest.fixture(scope="module")
def table():
    """People in one row each, with columns whose names say nothing."""
    draw = random.Random(5)  # noqa: S311 (no secret)
    given, family = ("Иван", "Ольга", "Сергей", "Мария"), ("Смирнов", "Кузнецов", "Попов", "Волков", "Орлов")
    return pa.table(
        {
            "f1": [f"{draw.choice(family)} {draw.choice(given)}" for _ in range(ROWS)],
            "f2": [f"m{place}@example.org" for place in range(ROWS)],
            "f3": [draw.choice(["SW1A 1AA", "EC1A 1BB", "M1 1AE"]) for _ in range(ROWS)],
            "f4": [draw.choice(["E11.9", "I10", "J45.0", "K29.1", "M54.5"]) for _ in range(ROWS)],
            "f5": [draw.choice(["муж", "жен"]) for _ in range(ROWS)],
            "f6": [draw.randrange(18, 100) for _ in range(ROWS)],
            "f7": [f"DE{draw.randrange(100):02}" if place % 4 else "GB82WEST12345698765432" for place in range(ROWS)],
            "credit": [["4111111111111111", "5500000000000004", "6011000000000004", "340000000000009",
                        "3530111333300000"][place % 5] for place in range(ROWS)],
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def found(table):
    return ind.inspect(table)


def test_roles_follow_from_values(found):
    roles = {column.name: str(column.role) for column in found.columns}
    assert roles == {
        "f1": "identifier",
        "f2": "identifier",
        "f3": "quasi",
        "f4": "sensitive",
        "f5": "quasi",
        "f6": "quasi",
        "f7": "quasi",
        "credit": "identifier",
    }


def test_every_suggestion_has_a_reason_and_a_figure(found):
    told = {column.name: (column.reason, column.figure) for column in found.columns}
    assert told["f2"] == ("nearly every value is unique: addresses of mail", "100 % of 400 distinct values")
    assert told["f3"] == ("others often know it: postal codes, as of the United Kingdom", "100 % of 3 distinct values")
    assert told["f4"][0] == "must not be learned about a person: codes of diagnoses (ICD-10)"
    assert told["f5"] == ("in doubt: others may know it", "0 % of the rows are unique")
    assert told["f1"][0].startswith("it may point at a person: names of people")
    assert all(reason and re.search(r"\d", figure) for reason, figure in told.values())


def test_the_hipaa_list_is_a_hint(found):
    letters = {column.name: column.safe_harbor and column.safe_harbor.letter for column in found.columns}
    assert letters == {"f1": "A", "f2": "F", "f3": "B", "f4": None, "f5": None, "f6": "C", "f7": None, "credit": "J"}
    ages = next(column.safe_harbor for column in found.columns if column.name == "f6")
    assert re.search(r"\(\d+ rows? (are|is) above 89\)", ages.asks)


def test_figures_are_plain_json_without_values(found):
    document = json.loads(json.dumps(found.to_json()))
    mail, partly = document["columns"][1], document["columns"][6]
    assert mail["patterns"] == [
        {
            "name": "e-mail",
            "meaning": "addresses of mail",
            "share": 1.0,
            "judged": ROWS,
            "threshold": 0.9,
            "holds": True,
            "certain": True,
            "safe_harbor": "F",
        }
    ]
    assert mail["safe_harbor"]["paragraph"] == "45 CFR 164.514(b)(2)(i)(F)"
    assert mail["involved_share"] is None, "identifiers are dropped and combined with nothing"
    assert 0 < document["columns"][5]["involved_share"] <= 1
    assert set(document["combinations"]) == {
        "unit", "members", "looked_at", "sampled", "size", "columns", "by_size", "found", "sets", "notes",
    }  # fmt: skip
    assert set(document["combinations"]["sets"][0]) == {"columns", "unique", "unique_share", "minimal"}
    assert partly["patterns"] == [], "one IBAN among many values is below the share that is told"
    for secret in ("example.org", "Смирнов", "4111", "GB82", "SW1A"):
        assert secret not in json.dumps(document, ensure_ascii=False)


def test_what_some_values_hold_is_told():
    texts = [f"m{place}@example.org" if place % 4 == 0 else f"code {place % 9}" for place in range(80)]
    (column,) = ind.inspect(pa.table({"x": texts})).columns
    assert column.role == "quasi"
    assert [(each.name, each.holds) for each in column.partly] == [("e-mail", False)]


def test_the_page_shows_combinations_and_no_cell(found, tmp_path):
    path = write_inspection_page(found, tmp_path / "page.html", name="people.csv")
    text = path.read_text(encoding="utf-8")
    assert (path.stat().st_mode & 0o077) == 0, "for its owner alone"
    assert "<script" not in text
    together = found.combinations
    best = together.sets[0]
    assert f">{' + '.join(best.columns)}<" in text
    assert f">{best.unique:,}</data>" in text
    assert "164.514(b)(2)(i)" in text
    for secret in ("example.org", "Смирнов", "SW1A"):
        assert secret not in text
        assert secret in inspection_page(found, name="people.csv", values=True)


def test_a_page_about_nobody_who_stands_out():
    found = ind.inspect(pa.table({"a": ["x", "x"], "b": ["y", "y"]}))
    assert found.combinations.sets == ()
    assert "no column has more than one value" in inspection_page(found, name="t")


def test_people_are_counted_where_a_column_tells_them_apart():
    visits = generate_visits(800, seed=3)
    found = ind.inspect(visits)
    frame = visits.to_pandas()
    assert (found.combinations.unit, found.combinations.members) == ("people", frame["person"].nunique())
    for each in found.combinations.sets:
        groups = frame.groupby(list(each.columns), observed=True, dropna=False)["person"]
        assert each.unique == frame.loc[groups.transform("nunique") == 1, "person"].nunique()


def test_large_tables_are_searched_by_a_sample_and_counted_whole(monkeypatch):
    draw = np.random.default_rng(1)
    codes = {name: draw.integers(0, size, 5_000) for name, size in (("a", 300), ("b", 40), ("c", 9), ("d", 2))}
    whole = risky_combinations(codes, rows=5_000)
    monkeypatch.setattr(module, "MAX_WORK_FOR_ALL", 14 * 2_000)
    monkeypatch.setattr(module, "SAMPLE_MEMBERS", 2_000)
    found = risky_combinations(codes, rows=5_000)
    assert (found.sampled, found.looked_at, found.members) == (True, 2_000, 5_000)
    assert found.sets == whole.sets
    assert "a sample of 2,000 of 5,000 rows" in found.notes[0]


def test_a_sample_is_looked_for_among_all():
    """Among a thousand rows alone every pair would be unique; among all of them three columns are needed."""
    draw = np.random.default_rng(2)
    codes = {name: draw.integers(0, 30, 4_000) for name in "abc"}
    rows = {name: pa.array(column) for name, column in codes.items()}
    whole = ind.inspect(pa.table(rows)).combinations
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_WORK_FOR_ALL", 0)
        patch.setattr(module, "SAMPLE_MEMBERS", 1_000)
        found = risky_combinations(codes, rows=4_000)
    assert found.sets == whole.sets
    assert found.sets[0].columns == ("a", "b", "c")
    for size in (1, 2, 3):
        assert found.found.by_size[size] / 1_000 == pytest.approx(whole.found.by_size[size] / 4_000, abs=0.05)


def test_many_columns_are_combined_in_smaller_sets(monkeypatch):
    monkeypatch.setattr(module, "MAX_SETS", 60)
    codes = {f"c{j}": np.arange(50) % (j + 2) for j in range(10)}
    found = risky_combinations(codes, rows=50)
    assert found.found.size == 2
    assert found.notes == ("10 columns are many: sets of up to 2 were looked at",)


def test_the_first_policy_uses_what_was_found(found, tmp_path):
    written = write_starter(found, tmp_path / "d.csv", tmp_path / "p.toml", reading=found.reading)
    assert read_policy(tmp_path / "p.toml") == written
    assert written.schema.identifiers == ("f1", "f2", "credit")
    text = (tmp_path / "p.toml").read_text(encoding="utf-8")
    assert "# Columns that single out most:" in text
    assert "codes of diagnoses (ICD-10); 100 % of 5 distinct values" in text


@pytest.mark.parametrize("size", [0, -1, 1.5, True])
def test_a_size_that_is_none(table, size):
    with pytest.raises(ParameterError, match=r"`unique_sets`.* must be a whole number"):
        ind.inspect(table, unique_sets=size)


def test_fewer_columns_together(table):
    found = ind.inspect(table, unique_sets=1)
    assert found.combinations.found.size == 1
    assert all(len(each.columns) == 1 for each in found.combinations.sets)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.uint64(), [2**64 - 1 - place for place in range(40)]),
        (pa.string_view(), [f"m{place}@example.org" for place in range(40)]),
        (pa.large_string(), [f"m{place}@example.org" for place in range(40)]),
        (pa.time32("s"), list(range(40))),
        (pa.date64(), [86_400_000 * 365_000 * place for place in range(8)] * 5),
        (pa.string(), [" "] * 39 + ["x"]),
    ],
)
def test_unusual_types_are_looked_at(kind, values):
    found = ind.inspect(pa.table({"x": pa.array(values, kind), "y": ["a", "b"] * 20}))
    assert found.columns[0].reason
    assert found.columns[0].figure
