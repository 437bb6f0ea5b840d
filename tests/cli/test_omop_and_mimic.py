"""Invented tables in the shapes of OMOP and MIMIC, prepared by the SQL of the guide and published by command."""

import json
import re
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

PEOPLE = 300
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "several-tables.md"
OMOP = """
[tables.person]
path = "people.csv"
people = true
[tables.person.columns]
person_id = "person"
gender_concept_id = "quasi"
birth_date = { role = "quasi", tells = "birth", hierarchy = { dates = ["year", "decade"] } }
race_concept_id = "quasi"
first_seen = { role = "quasi", hierarchy = { dates = ["year"] } }
death_date = "identifier"
CONDITIONS
[tables.measurement]
path = "measurement.csv"
[tables.measurement.columns]
person_id = "person"
measurement_id = "identifier"
measurement_date = { role = "time", unknown = true }
value_as_number = "insensitive"
[time]
anchor = "first_seen"
window = ["2010-01-01", "2024-12-31"]
[privacy]
models = ["linked-anonymity:k=5"]
suppression = 0.05
"""
MIMIC = """
[tables.patients]
path = "people.csv"
people = true
[tables.patients.columns]
subject_id = "person"
gender = "quasi"
anchor_age = "quasi"
anchor_year = "identifier"
anchor_year_group = "quasi"
dod = "identifier"
first_admission = { role = "quasi", hierarchy = { dates = ["year", "decade"] } }
[tables.admissions]
path = "admissions.csv"
knows = 1
[tables.admissions.columns]
subject_id = "person"
hadm_id = "identifier"
admittime = "time"
admission_type = "quasi"
[tables.diagnoses]
path = "diagnoses.csv"
knows = 2
[tables.diagnoses.columns]
subject_id = "person"
icd_code = { role = "quasi", hierarchy = { mask = "right" } }
admitted = { role = "time", hierarchy = { days = [30, 365] } }
[time]
anchor = "first_admission"
window = ["2110-01-01", "2203-12-31"]
[privacy]
models = ["linked-anonymity:k=5"]
knows_together = 2
suppression = 0.05
"""


def blocks_of(language, heading):
    """Return the code of a language under a heading of the guide."""
    part = GUIDE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", part, re.S)


def write(folder, tables):
    for name, columns in tables.items():
        csv.write_csv(pa.table(columns), folder / f"{name}.csv")


def prepare(folder, heading, monkeypatch):
    """Run the SQL of the guide, as its reader does."""
    monkeypatch.chdir(folder)
    (sql,) = blocks_of("sql", heading)
    connection = duckdb.connect()
    for statement in sql.split(";"):
        if statement.strip():
            connection.execute(statement)


def omop(folder):
    generator = np.random.default_rng(3)
    person = generator.permutation(PEOPLE) + 1000
    first = np.datetime64("2010-01-01") + generator.integers(0, 3000, PEOPLE)
    rows = PEOPLE * 6
    who = generator.integers(0, PEOPLE, rows)
    start = first[who] + generator.integers(0, 1000, rows)
    groups = {leaf: 10 + (leaf - 100) // 5 for leaf in range(100, 130)}
    pairs = [(leaf, leaf, 0) for leaf in groups] + [(group, leaf, 1) for leaf, group in groups.items()]
    pairs += [(0, leaf, 2) for leaf in groups] + [(0, group, 1) for group in sorted(set(groups.values()))] + [(0, 0, 0)]
    write(
        folder,
        {
            "person": {
                "person_id": person,
                "gender_concept_id": generator.choice([8507, 8532], PEOPLE),
                "birth_datetime": pa.array(np.datetime64("1950-01-01") + generator.integers(0, 20_000, PEOPLE)),
                "race_concept_id": generator.choice([8527, 8515], PEOPLE),
            },
            "observation_period": {"person_id": person, "observation_period_start_date": pa.array(first)},
            "death": {"person_id": person[:9], "death_date": pa.array(first[:9] + 1001)},
            "condition_occurrence": {
                "condition_occurrence_id": np.arange(rows),
                "person_id": person[who],
                "condition_concept_id": generator.choice(list(groups), rows),
                "condition_start_date": pa.array(start),
                "condition_end_date": pa.array(start + 3),
                "visit_occurrence_id": np.arange(rows) // 2,
                "condition_source_value": [f"X{i % 9}" for i in range(rows)],
            },
            "measurement": {
                "measurement_id": np.arange(rows),
                "person_id": person[who],
                "measurement_date": pa.array(start),
                "value_as_number": np.round(generator.normal(100, 15, rows), 1),
            },
            "concept_ancestor": {
                "ancestor_concept_id": [above for above, _, _ in pairs],
                "descendant_concept_id": [below for _, below, _ in pairs],
                "min_levels_of_separation": [levels for _, _, levels in pairs],
            },
        },
    )
    return OMOP.replace("CONDITIONS", blocks_of("toml", "OMOP")[0])


def mimic(folder):
    generator = np.random.default_rng(4)
    person, year = np.arange(PEOPLE) + 10_000_000, generator.integers(2110, 2200, PEOPLE)
    first = np.array([np.datetime64(f"{each}-01-01T00:00") for each in year])
    first = first + generator.integers(0, 300 * 1440, PEOPLE).astype("timedelta64[m]")
    stays = PEOPLE * 2
    who = np.arange(stays) % PEOPLE
    admitted = first[who] + np.where(np.arange(stays) < PEOPLE, 0, 400 * 1440).astype("timedelta64[m]")
    rows = stays * 3
    write(
        folder,
        {
            "patients": {
                "subject_id": person,
                "gender": generator.choice(["F", "M"], PEOPLE),
                "anchor_age": generator.integers(18, 91, PEOPLE),
                "anchor_year": year,
                "anchor_year_group": generator.choice(["2008 - 2010", "2011 - 2013"], PEOPLE),
                "dod": pa.nulls(PEOPLE, pa.string()),
            },
            "admissions": {
                "subject_id": person[who],
                "hadm_id": np.arange(stays) + 20_000_000,
                "admittime": pa.array(admitted.astype("datetime64[s]")),
                "admission_type": generator.choice(["URGENT", "ELECTIVE"], stays),
            },
            "diagnoses_icd": {
                "subject_id": person[who[np.arange(rows) % stays]],
                "hadm_id": np.arange(rows) % stays + 20_000_000,
                "seq_num": np.arange(rows) // stays + 1,
                "icd_code": generator.choice(["I10", "I11", "E10", "E11", "J45"], rows),
                "icd_version": np.full(rows, 10),
            },
        },
    )
    return MIMIC


@pytest.mark.parametrize(("heading", "shape"), [("OMOP", omop), ("MIMIC", mimic)])
def test_a_guide_leads_from_exported_tables_to_a_verified_release(heading, shape, run, tmp_path, monkeypatch):
    policy = shape(tmp_path)
    prepare(tmp_path, heading, monkeypatch)
    (tmp_path / "policy.toml").write_text(policy, encoding="utf-8")
    assert run("assess", "--policy", "policy.toml", "--knows", "1").code == 0
    assert run("anonymize", "policy.toml", "-o", "release").code == 0
    assert run("verify", "release", "--policy", "policy.toml", "--originals").code == 0
    attacked = run("attack", "known-rows", "release", "--policy", "policy.toml", "--most-below", "0", "--json")
    assert attacked.code == 0
    assert json.loads(attacked.out)["attempts"] > PEOPLE * 0.9
    assert run("measure", "release", "--policy", "policy.toml").code == 0
