"""The first policy of several tables, and policies of several tables as TOML."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from indistinct.errors import InputError
from indistinct.linked.declared import ListColumn, TimeColumn
from indistinct.linked.guarantee import LinkedAnonymity
from indistinct.linked.opening import open_linked
from indistinct.linked.policy import linked_policy_from_toml
from indistinct.linked.proposing import propose_linked, tables_in
from indistinct.linked.writing import linked_policy_to_toml, move_linked
from indistinct.release.writing.files import write_table
from indistinct.samples.clinic import CLINIC_POLICY, clinic_codes, generate_clinic


@pytest.fixture
def files(tmp_path):
    """The files of a clinic by table name."""
    found = {}
    for name, table in generate_clinic(200, seed=3).items():
        found[name] = tmp_path / f"{name}.csv"
        write_table(table, found[name])
    return found


def test_the_people_table_its_key_and_the_calendar_are_proposed(files):
    shuffled = {name: files[name] for name in ("labs", "diagnoses", "patients", "stays")}
    policy = propose_linked(shuffled).policy
    assert [table.name for table in policy.tables] == list(shuffled)
    assert policy.people.name == "patients"
    assert {table.person for table in policy.tables} == {"patient"}
    assert policy.time is not None
    assert policy.time.anchor == "first_admission"
    assert policy.people.tells == {"birth_date": "birth"}
    assert policy.people.schema.role("death_date") == "identifier"
    assert policy.table("diagnoses").time == TimeColumn("date")
    assert "code" in policy.table("diagnoses").schema.quasi
    first, last = policy.time.windows["stays"]
    assert (first.month, first.day, last.month, last.day) == (1, 1, 12, 31)


def test_a_proposal_opens_as_it_is(files):
    proposal = propose_linked(files)
    assert open_linked(proposal.policy).size == 200
    assert proposal.reasons[0] == "patients has one row a person: no two rows have the same patient"
    linked = [each for each in proposal.reasons if " rows a person" in each]
    assert linked
    assert not any(".0 rows" in each for each in linked)
    assert set(proposal.inspections) == set(files)
    assert all(table.knows == 0 for table in proposal.policy.events if table.is_counted)


def test_a_key_may_have_another_name(tmp_path):
    people = pa.table({"id": [f"p{number}" for number in range(40)], "sex": ["f", "m"] * 20})
    visits = pa.table({"patient_no": [f"p{number % 40}" for number in range(90)], "ward": ["a", "b", "c"] * 30})
    for name, table in {"people": people, "visits": visits}.items():
        write_table(table, tmp_path / f"{name}.csv")
    policy = propose_linked({name: tmp_path / f"{name}.csv" for name in ("visits", "people")}).policy
    assert policy.people.name == "people"
    assert policy.table("visits").person == "patient_no"
    assert policy.time is None


def test_a_people_table_that_has_several_rows_a_person_is_refused(files):
    assert propose_linked(files, people="patients").policy.people.name == "patients"
    with pytest.raises(InputError, match="has one row a person, and another one"):
        propose_linked(files, people="stays")


def test_a_table_without_a_person_id_is_left_out(files, tmp_path):
    write_table(clinic_codes(), tmp_path / "codes.csv")
    (tmp_path / "policy.toml").write_text(CLINIC_POLICY)
    found = tables_in(tmp_path)
    assert set(found) == {*files, "codes"}
    proposal = propose_linked(found)
    assert proposal.left_out == ("codes",)
    assert "codes" not in {table.name for table in proposal.policy.tables}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_files_of_every_kind_are_several_tables(suffix, tmp_path):
    for name, table in generate_clinic(30, seed=1).items():
        write_table(table, tmp_path / f"{name}{suffix}")
    assert set(tables_in(tmp_path)) == {"patients", "stays", "diagnoses", "labs", "prescriptions"}


def test_files_with_the_same_columns_are_one_table(files, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in ("1", "2"):
        write_table(generate_clinic(30, seed=int(part))["stays"], folder / f"stays-{part}.csv")
    assert tables_in(folder) is None


def test_tables_without_a_common_key_are_refused(tmp_path):
    write_table(pa.table({"id": ["a", "b", "c"], "sex": ["f", "m", "f"]}), tmp_path / "people.csv")
    write_table(pa.table({"who": ["x", "x", "y"], "ward": ["1a", "1b", "1b"]}), tmp_path / "visits.csv")
    with pytest.raises(InputError, match="has one row a person, and another one") as raised:
        propose_linked({name: tmp_path / f"{name}.csv" for name in ("people", "visits")})
    assert "a person ID in common" in str(raised.value.hint)


@pytest.mark.parametrize("path", ["clinic", "proposal", "everything"])
def test_a_policy_of_several_tables_comes_back_from_toml(path, files, tmp_path):
    write_table(clinic_codes(), tmp_path / "codes.csv")
    policy = linked_policy_from_toml(CLINIC_POLICY, base=tmp_path)
    if path == "proposal":
        policy = propose_linked(files).policy
    if path == "everything":
        people = policy.people
        lists = (ListColumn("allergies", "|", 1),)
        tables = [replace(people, lists=lists) if each.people else each for each in policy.tables]
        windows = {each.name: (date(2010, 1, 1), date(2024, 12, 30 + place % 2)) for place, each in enumerate(tables)}
        policy = replace(
            policy,
            tables=tuple(tables),
            model=LinkedAnonymity(7, 2.5),
            time=replace(policy.time, unit="weeks", windows={each.name: windows[each.name] for each in tables}),
            rows=0.4,
            nodes=9,
        )
    text = linked_policy_to_toml(policy, heading="Several tables.")
    back = linked_policy_from_toml(text, base=policy.base)
    again = linked_policy_to_toml(back, heading="Several tables.")
    assert again == text
    assert {table.name: table.knows for table in back.tables} == {table.name: table.knows for table in policy.tables}
    for table in policy.tables:
        other = back.table(table.name)
        assert {name: table.schema.role(name) for name in table.schema.columns} == {
            name: other.schema.role(name) for name in other.schema.columns
        }
        assert (table.time, table.tells, table.people) == (other.time, other.tells, other.people)
        assert table.hierarchies.keys() == other.hierarchies.keys()
    assert (back.model, back.together, back.suppression, back.rows) == (
        policy.model,
        policy.together,
        policy.suppression,
        policy.rows,
    )


def test_files_move_with_a_policy(tmp_path):
    write_table(clinic_codes(), tmp_path / "codes.csv")
    policy = linked_policy_from_toml(CLINIC_POLICY, base=tmp_path)
    moved = move_linked(policy, lambda path: Path("data") / path, base=tmp_path.parent)
    assert 'path = "data/patients.csv"' in linked_policy_to_toml(moved)
    assert 'parents = "data/codes.csv"' in linked_policy_to_toml(moved)
    inside = move_linked(policy, lambda path: path, base=tmp_path, move_hierarchy=lambda _: None)
    assert "codes.csv" not in linked_policy_to_toml(inside)
