"""Releases of several tables under every kind of declaration, each verified as published and beside its originals."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import indistinct as ind
from indistinct.errors import ParameterError, SchemaError
from indistinct.linked.checking import check_release
from indistinct.linked.declared import LinkedPolicy, LinkedTable, TimeRules
from indistinct.linked.guarantee import LinkedAnonymity
from indistinct.linked.policy import linked_policy_from_toml, read_linked_policy
from indistinct.linked.publishing import publish_linked
from indistinct.release.writing.files import write_table
from indistinct.samples.clinic import generate_clinic

BASE = """
[tables.patients]
path = "patients.csv"
people = true
[tables.patients.columns]
patient = "person"
sex = { role = "quasi" }
region = "REGION"
birth_date = { role = "quasi", tells = "birth" }
first_admission = { role = "quasi" }
death_date = DEATH
allergies = { role = "quasi", list = "|", knows = 1 }
[tables.diagnoses]
path = "diagnoses.csv"
knows = KNOWS
[tables.diagnoses.columns]
patient = "person"
code = { role = "quasi", hierarchy = { mask = "right" } }
date = { role = "time" }
cost = "COST"
[tables.labs]
path = "labs.csv"
[tables.labs.columns]
patient = "person"
date = { role = "time", unknown = true }
test = "insensitive"
value = "insensitive"
[time]
anchor = "first_admission"
window = { diagnoses = ["2010-01-01", "2024-12-31"], labs = ["2009-12-31", "2025-01-01"] }
as = "UNIT"
[privacy]
models = ["MODEL"]
knows_together = 2
suppression = 0.05
"""
DEFAULTS = {
    "REGION": "insensitive",
    "DEATH": '"identifier"',
    "KNOWS": "1",
    "COST": "identifier",
    "UNIT": "days",
    "MODEL": "linked-anonymity:k=3",
}
VARIANTS = {
    "weeks": {"UNIT": "weeks"},
    "months": {"UNIT": "months"},
    "dates": {"UNIT": "dates"},
    "death": {"DEATH": '{ role = "quasi", tells = "death" }'},
    "all": {"KNOWS": '"all"'},
    "two": {"KNOWS": "2"},
    "l": {"MODEL": "linked-anonymity:k=4,l=2", "COST": "sensitive"},
    "l of people": {"MODEL": "linked-anonymity:k=4,l=1.5", "REGION": "sensitive"},
}


def policy_of(base=Path(), **changes):
    text = BASE
    for name, value in (DEFAULTS | changes).items():
        text = text.replace(name, value)
    return linked_policy_from_toml(text, base=base)


@pytest.fixture(scope="module")
def clinic():
    tables = generate_clinic(250, seed=11)
    generator = np.random.default_rng(4)
    kinds = ["nuts", "pollen", "milk"]
    lists = ["|".join(generator.choice(kinds, generator.integers(0, 3))) or None for _ in range(250)]
    patients = tables["patients"].append_column("allergies", pa.array(lists, pa.string()))
    names = ("diagnoses", "labs")
    return {"patients": patients, **{name: tables[name] for name in names}}


@pytest.fixture(scope="module")
def files(clinic, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    for name, table in clinic.items():
        csv.write_csv(table, folder / f"{name}.csv")
    return folder


@pytest.mark.parametrize("name", VARIANTS)
def test_a_release_is_verified_and_fits_its_originals(name, files, tmp_path):
    policy = policy_of(files, **VARIANTS[name])
    release = publish_linked(policy, folder=tmp_path / "release")
    found = check_release(tmp_path / "release", policy, originals=True)
    assert [check.words for check in found.checks if not check.holds] == []
    assert "originals" in [check.name for check in found.checks]
    cells = [cell for cell in release.tables["patients"]["allergies"].to_pylist() if cell]
    assert all(cell.split("|") == sorted(cell.split("|")) for cell in cells)


def test_a_table_without_rows_is_published(clinic):
    release = publish_linked(policy_of(), sources={**clinic, "diagnoses": clinic["diagnoses"].slice(0, 0)})
    assert release.tables["diagnoses"].num_rows == 0
    assert release.certificate.holds


def test_a_death_that_is_not_published_goes_with_a_time_that_is_not(clinic):
    """One class of all people: births and deaths are stars, so every known offset must be one."""
    text = BASE
    for name, value in (DEFAULTS | VARIANTS["death"] | {"MODEL": "linked-anonymity:k=200"}).items():
        text = text.replace(name, value)
    policy = linked_policy_from_toml(text + '[algorithm]\nuse = "datafly"\n', base=Path())
    release = publish_linked(policy, sources=clinic)
    assert set(release.tables["patients"]["death_date"].to_pylist()) == {"*"}
    assert set(release.tables["diagnoses"]["date"].to_pylist()) == {"*"}


def test_no_row_is_deleted_where_none_may_be(clinic):
    text = BASE
    for name, value in (DEFAULTS | {"KNOWS": "2"}).items():
        text = text.replace(name, value)
    release = publish_linked(linked_policy_from_toml(text + "rows = 0.0\n", base=Path()), sources=clinic)
    assert release.certificate.suppressed_people == 0
    assert release.tables["diagnoses"].num_rows == clinic["diagnoses"].num_rows


def test_other_engines_and_options_are_refused_by_name(tmp_path):
    text = BASE
    for name, value in DEFAULTS.items():
        text = text.replace(name, value)
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError, match="engine spark"):
        ind.run(tmp_path / "policy.toml", engine="spark")
    with pytest.raises(ParameterError, match="seed"):
        ind.run(tmp_path / "policy.toml", seed=1)


def test_unknown_tables_are_named():
    patients, rows = pa.table({"id": ["a", "b"], "sex": ["f", "f"]}), pa.table({"id": ["a"], "ward": ["x"]})
    schemas = {"patients": ind.Schema(quasi=["sex"], person=["id"]), "rows": ind.Schema(quasi=["ward"], person=["id"])}
    with pytest.raises(ind.SchemaError, match="no table 'row'"):
        ind.anonymize_tables(
            {"patients": patients, "rows": rows},
            schemas,
            people="patients",
            knows={"row": 1},
            model="linked-anonymity:k=2",
        )
    with pytest.raises(ind.SchemaError, match="no `knows`"):
        ind.anonymize_tables(
            {"patients": patients, "rows": rows}, schemas, people="patients", knows={}, model="linked-anonymity:k=2"
        )


def test_a_window_and_what_dates_tell_are_checked():
    with pytest.raises(ParameterError, match="two days"):
        TimeRules("first", {"visits": ("2010-01-01", "2024-12-31")})
    patients = LinkedTable("p", ind.Schema(quasi=["b"], person=["id"]), people=True, tells={"b": "born"})
    with pytest.raises(SchemaError, match="birth or death"):
        LinkedPolicy((patients,), LinkedAnonymity(2))


def test_person_ids_are_numbers_however_they_are_stored():
    patients = pa.table({"id": pa.array([1, 2, 3, 4], pa.int64()), "sex": ["f", "f", "m", "m"]})
    stays = pa.table({"id": pa.array([1.0, 2.0, 3.0, 4.0]), "ward": ["a", "a", "b", "b"]})
    schemas = {"p": ind.Schema(quasi=["sex"], person=["id"]), "s": ind.Schema(quasi=["ward"], person=["id"])}
    made = ind.anonymize_tables(
        {"p": patients, "s": stays}, schemas, people="p", knows={"s": 1}, model="linked-anonymity:k=2"
    )
    assert made.tables["s"].num_rows == 4


@pytest.mark.parametrize("suffix", [".tsv", ".feather", ".arrow", ".pq", ".xlsx"])
def test_a_table_comes_in_the_format_of_its_input_and_tells_no_more(suffix, tmp_path):
    """The values of a person who is suppressed, and original IDs, are nowhere in the files."""
    people = [f"SECRET{i:02}" for i in range(31)]
    tests = pa.array(["ALONE", *(["x", "y"] * 15)]).dictionary_encode()
    write_table(pa.table({"id": people, "sex": ["ALONE", *("fm" * 15)]}), tmp_path / "people.csv")
    write_table(
        pa.table({"id": people, "test": tests, "value": [i / 4 for i in range(31)]}), tmp_path / f"labs{suffix}"
    )
    (tmp_path / "policy.toml").write_text(
        f"""
        [tables.people]
        path = "people.csv"
        people = true
        columns = {{ id = "person", sex = "quasi" }}
        [tables.labs]
        path = "labs{suffix}"
        columns = {{ id = "person", test = "insensitive", value = "insensitive" }}
        [privacy]
        models = ["linked-anonymity:k=15"]
        suppression = "1 person"
        [algorithm]
        use = "datafly"
        [output]
        folder = "release"
        """,
        encoding="utf-8",
    )
    release = ind.run(tmp_path / "policy.toml")
    policy = read_linked_policy(tmp_path / "policy.toml")
    assert check_release(tmp_path / "release", policy, originals=True).holds
    read = ind.open(tmp_path / "release" / f"labs{suffix}").data
    assert read.num_rows == release.tables["labs"].num_rows == 30
    assert sorted(read["test"].to_pylist()) == ["x"] * 15 + ["y"] * 15
    for path in (tmp_path / "release").iterdir():
        content = path.read_bytes()
        assert not any(secret in content for secret in (b"SECRET", b"ALONE", str(tmp_path).encode()))
    columns = [each for table in release.tables.values() for each in table.columns]
    dictionaries = [each.chunk(0).dictionary.to_pylist() for each in columns if pa.types.is_dictionary(each.type)]
    assert all("ALONE" not in values for values in dictionaries)


def test_the_loss_of_a_certificate_does_not_tell_a_hidden_number_of_rows():
    """One deleted row of 31: with all digits of the loss, readers of the release could solve for the rows."""
    people = [f"p{i}" for i in range(30)]
    patients = pa.table({"id": people, "sex": ["f"] * 30})
    stays = pa.table({"id": [*people, "p0"], "ward": ["a"] * 30 + ["b"]})
    schemas = {"p": ind.Schema(quasi=["sex"], person=["id"]), "s": ind.Schema(quasi=["ward"], person=["id"])}
    made = ind.anonymize_tables(
        {"p": patients, "s": stays},
        schemas,
        people="p",
        knows={"s": 1},
        model="linked-anonymity:k=5",
        hierarchies={"s": {"ward": ind.Hierarchy.suppression()}},
    )
    assert made.tables["s"].num_rows == 30
    assert made.certificate.tables["s"].suppressed_rows is None
    assert made.certificate.loss == 0.02
