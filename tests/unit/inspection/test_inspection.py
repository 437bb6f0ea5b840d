"""A first look at a table: the numbers are right, and in doubt the safer role is suggested."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import indistinct as ind
from indistinct.errors import InputError
from indistinct.hierarchy import Hierarchy
from indistinct.inspection.inspect import inspect
from indistinct.inspection.roles import suggest_role, words_of
from indistinct.inspection.starter import write_starter
from indistinct.job.policy import read_policy
from indistinct.samples import generate_census, generate_patients, generate_visits
from indistinct.schema import Role
from indistinct.tables import Table
from indistinct.tables.proposals import MAX_TEXTS_JUDGED
from indistinct.tables.value import Reading


def inspected(**columns: object) -> dict[str, object]:
    found = inspect(Table(pa.table(columns)))
    return {column.name: column for column in found.columns}


def test_numbers_of_a_column() -> None:
    columns = inspected(
        city=pa.array(["Oslo", "Oslo", "Bergen", None, "Bergen", "Tromsø"]).dictionary_encode(),
        age=[30, 30, 30, 30, 41, 41],
        day=[dt.date(2024, 1, 1)] * 5 + [None],
    )
    city, age, day = columns["city"], columns["age"], columns["day"]
    assert (city.distinct, city.missing, city.smallest_group) == (3, 1, 1)
    assert city.unique_share == pytest.approx(1 / 6)
    assert (age.distinct, age.missing, age.smallest_group, age.unique_share) == (2, 0, 2, 0.0)
    assert (day.distinct, day.missing, day.smallest_group) == (1, 1, 5)
    assert [str(column.kind) for column in (city, age, day)] == ["text", "number", "date"]
    assert age.frequent == ((30, 4), (41, 2))


def test_whatever_can_be_opened_is_inspected(tmp_path: Path) -> None:
    table = pa.table({"zipcode": ["4351", "4352"], "disease": ["SECRETVALUE", "flu"]})
    path = tmp_path / "data.csv"
    pa.csv.write_csv(table, path)
    for source in (table, table.to_pandas(), Table(table), str(path), path):
        found = ind.inspect(source)
        assert isinstance(found, ind.Inspection)
        assert found.schema.sensitive == ("disease",)
        assert "SECRETVALUE" not in repr(found)
    with pytest.raises(InputError, match="from a path or a frame"):
        ind.inspect(7)


def test_how_many_stand_out_together() -> None:
    found = inspect(pa.table({"sex": ["f", "f", "m", None], "age": [1, 1, 1, 1]}))
    assert found.schema.quasi == ("sex",)
    assert (found.classes, found.smallest_class, found.unique_rows, found.unique_share) == (3, 1, 2, 0.5)


def test_roles_of_the_generated_tables() -> None:
    patients = inspect(Table(generate_patients(500, seed=1))).schema
    assert patients.identifiers == ("name",)
    assert patients.quasi == ("age", "sex", "zipcode", "admitted")
    assert patients.sensitive == ("disease", "cost")
    census = inspect(Table(generate_census(500, seed=1))).schema
    assert census.sensitive == ("salary",)
    assert len(census.quasi) == 8
    visits = inspect(Table(generate_visits(500, seed=1))).schema
    assert visits.person == ("person",)
    assert visits.sensitive == ("diagnosis",)


@pytest.mark.parametrize(
    ("name", "distinct", "pointing", "role"),
    [
        ("Patient ID", 10, False, Role.IDENTIFIER),
        ("e-mail", 10, False, Role.IDENTIFIER),
        ("first_name", 900, True, Role.IDENTIFIER),
        ("country_name", 30, False, Role.QUASI),
        ("dateOfBirth", 900, True, Role.QUASI),
        ("ZIP5", 900, True, Role.QUASI),
        ("Diagnoses", 10, False, Role.SENSITIVE),
        ("Diagnosis_code", 10, False, Role.SENSITIVE),
        ("annual-income", 900, True, Role.SENSITIVE),
        ("remark", 900, True, Role.IDENTIFIER),
        ("Vorname", 40, False, Role.IDENTIFIER),
        ("Geschlecht", 3, False, Role.QUASI),
        ("Geburtsdatum", 900, True, Role.QUASI),
        ("Diagnose", 10, False, Role.SENSITIVE),
        ("Kosten", 900, True, Role.SENSITIVE),
        ("x7", 5, False, Role.QUASI),
        ("source", 1, False, Role.INSENSITIVE),
        ("source", 0, False, Role.INSENSITIVE),
        ("valid", 2, False, Role.QUASI),
    ],
)
def test_suggested_roles(name: str, distinct: int, pointing: bool, role: Role) -> None:
    assert suggest_role(name, distinct=distinct, pointing=pointing)[0] is role


def test_a_value_in_a_few_rows_and_none_in_the_others_is_not_the_same_for_everybody() -> None:
    def few(value: object, count: int) -> list[object]:
        return [value] * count + [None] * (300 - count)

    columns = inspected(
        dialysis=few("yes", 5),
        truth=few(True, 5),
        flag=few(1.0, 2),
        hiv=few(1, 5),
        vehicle=few("ZH 12345", 1),
        permit=[f"P-{i}7" for i in range(6)] + [None] * 294,
        mostly=[None] * 3 + ["here"] * 297,
        rare=[1, 1] + [0] * 298,
        almost=["x"] * 3 + ["usual"] * 297,
        marked=pa.array([float("nan")] * 295 + [1.0] * 5),
        constant=["usual"] * 300,
    )
    roles = {name: column.role for name, column in columns.items()}
    assert roles.pop("constant") is Role.INSENSITIVE
    assert roles.pop("hiv") is Role.SENSITIVE
    assert {roles.pop("vehicle"), roles.pop("permit")} == {Role.IDENTIFIER}, "each value is one person's"
    assert set(roles.values()) == {Role.QUASI}
    assert columns["dialysis"].reason.endswith("5 of 300 rows have a value, the others none")
    assert columns["vehicle"].reason.endswith("1 of 300 rows has a value, the others none")
    assert columns["mostly"].reason.endswith("3 of 300 rows differ from all others")
    assert columns["rare"].reason.endswith("2 of 300 rows differ from all others")


def test_words_of_names() -> None:
    assert words_of("dateOfBirth") == ("date", "of", "birth")
    assert words_of("ZIP-Code_2") == ("zip", "code")
    assert words_of("straße 7") == ("straße",)
    assert words_of("1234") == ()


def test_numbers_that_point_at_people() -> None:
    rows = 40
    columns = inspected(
        serial=list(range(rows)), measured=[i / 7 for i in range(rows)], text=[f"t{i}" for i in range(rows)]
    )
    assert columns["serial"].role is Role.IDENTIFIER
    assert columns["measured"].role is Role.QUASI, "fractions are measured, not given to people"
    assert columns["text"].role is Role.IDENTIFIER


def test_hierarchies_are_suggested_for_quasi_identifiers_alone() -> None:
    columns = inspected(age=[17, 90], city=["Oslo", "Bergen"], income=[1, 2], zip=["01234", "99999"])
    assert columns["age"].hierarchy == Hierarchy.intervals([5, 10, 20])
    assert columns["zip"].hierarchy == Hierarchy.masking()
    assert columns["city"].hierarchy is None, "sets of values say more than suppression"
    assert columns["income"].hierarchy is None


def test_strange_columns_are_described_not_refused() -> None:
    columns = inspected(
        empty=pa.array([None, None, None]),
        nothing=pa.array([None, None, None], pa.string()),
        age=[1.5, float("nan"), float("inf")],
        flag=[True, False, None],
    )
    assert columns["empty"].role is Role.INSENSITIVE
    assert (columns["nothing"].distinct, columns["nothing"].missing) == (0, 3)
    assert columns["age"].distinct == 3
    assert columns["flag"].distinct == 2


def test_a_table_without_rows_or_with_lists_is_refused() -> None:
    with pytest.raises(InputError, match="no rows"):
        inspect(Table(pa.table({"age": pa.array([], pa.int64())})))
    with pytest.raises(InputError, match="cannot be grouped"):
        inspect(Table(pa.table({"age": [[1], [2]]})))


def test_the_starter_policy_is_read_again_and_tells_no_value(tmp_path: Path) -> None:
    table = pa.table(
        {"age": [1, 2], "city": ["SECRETVALUE42", "Oslo"], "a,b disease": ["x", "y"], "disease": ["x", "y"]}
    )
    found = inspect(Table(table))
    path = tmp_path / "policy.toml"
    written = write_starter(found, tmp_path / "data.parquet", path, reading=Reading(";", missing=("", "?")))
    assert read_policy(path) == written
    assert [model.spec() for model in written.models] == [
        "k-anonymity:k=2",
        'distinct-l-diversity:sensitive="a,b disease",l=2',
        "distinct-l-diversity:sensitive=disease,l=2",
    ]
    assert written.output.path == Path("data-release.parquet")
    text = path.read_text()
    assert "SECRETVALUE42" not in text
    assert text.startswith("# A first policy.")
    assert "# 2 values; 100 % of the rows unique; others often know it\ncity" in text
    levels = "for algorithms that publish levels of a hierarchy, such as optimal: hierarchy = { intervals = [2] }"
    assert f"others often know it; {levels}\nage" in text


def test_more_texts_than_are_judged_and_none_that_occurs_once(tmp_path: Path) -> None:
    texts = [f"street {number}" for number in range(MAX_TEXTS_JUDGED + 5)] * 2
    pyarrow.csv.write_csv(pa.table({"street": texts, "age": [30, 40] * (MAX_TEXTS_JUDGED + 5)}), tmp_path / "table.csv")
    (street, _) = inspect(tmp_path / "table.csv").columns
    assert (street.name, street.distinct) == ("street", MAX_TEXTS_JUDGED + 5)
