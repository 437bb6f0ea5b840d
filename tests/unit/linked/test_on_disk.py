"""Event tables that wait on disk: the same release as in memory, in many runs of classes as in one."""

from collections import Counter
from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.errors import InputError, ParameterError
from indistinct.linked.policy import linked_policy_from_toml
from indistinct.linked.publishing import publish_linked
from indistinct.linked.runs import class_runs
from indistinct.linked.verify import verify_tables
from indistinct.release.writing.files import write_table
from indistinct.samples.clinic import generate_clinic

PEOPLE = 240
POLICY = """
[tables.patients]
path = "patients.csv"
people = true
[tables.patients.columns]
patient = "person"
own = "insensitive"
sex = { role = "quasi" }
region = "REGION"
birth_date = { role = "quasi", tells = "birth" }
first_admission = { role = "quasi" }
death_date = "identifier"
allergies = { role = "quasi", list = "|", knows = 1 }
[tables.diagnoses]
path = "diagnoses.SUFFIX"
knows = KNOWS
[tables.diagnoses.columns]
patient = "person"
code = { role = "quasi", hierarchy = { mask = "right" } }
date = { role = "time" }
cost = "COST"
[tables.prescriptions]
path = "prescriptions.SUFFIX"
knows = 1
[tables.prescriptions.columns]
patient = "person"
drug = { role = "quasi" }
date = { role = "time", unknown = true }
[tables.labs]
path = "labs.SUFFIX"
columns = { patient = "person", date = { role = "time", unknown = true }, test = "insensitive", value = "insensitive" }
[time]
anchor = "first_admission"
window = ["2010-01-01", "2024-12-31"]
[privacy]
models = ["MODEL"]
knows_together = 2
suppression = 0.05
"""
DEFAULTS = {"REGION": "insensitive", "KNOWS": "1", "COST": "identifier", "MODEL": "linked-anonymity:k=3"}
VARIANTS = {
    "one": ("csv", {}),
    "two": ("parquet", {"KNOWS": "2"}),
    "all": ("csv", {"KNOWS": '"all"'}),
    "l": ("parquet", {"MODEL": "linked-anonymity:k=4,l=2", "COST": "sensitive"}),
    "l of people": ("csv", {"MODEL": "linked-anonymity:k=4,l=1.5", "REGION": "sensitive"}),
    "nothing known": ("tsv", {"KNOWS": "0"}),
}


@pytest.fixture(scope="module")
def clinic():
    tables = generate_clinic(PEOPLE, seed=11)
    generator = np.random.default_rng(4)
    lists = ["|".join(generator.choice(["nuts", "pollen", "milk"], generator.integers(0, 3))) for _ in range(PEOPLE)]
    patients = tables["patients"].append_column("allergies", pa.array(lists, pa.string()))
    patients = patients.append_column("own", patients["patient"])
    return {"patients": patients, **{name: tables[name] for name in ("diagnoses", "prescriptions", "labs")}}


@pytest.fixture
def small_runs(monkeypatch):
    """Blocks, runs of classes and partitions of a few rows, as tables have that are a million times larger."""
    monkeypatch.setattr("indistinct.linked.streams.BLOCK_ROWS", 211)
    monkeypatch.setattr("indistinct.linked.streams.PAIRS_TOGETHER", 50)
    monkeypatch.setattr("indistinct.linked.search.SAMPLED_ROWS", 300)
    monkeypatch.setattr("indistinct.linked.folder.BLOCK_ROWS", 97)
    monkeypatch.setattr("indistinct.linked.runs.BYTES_OF_ROW", 1 << 22)
    monkeypatch.setattr("indistinct.linked.passing.PARTITION_BYTES", 700)


def policy_in(folder, suffix, **changes):
    text = POLICY.replace("SUFFIX", suffix)
    for name, value in (DEFAULTS | changes).items():
        text = text.replace(name, value)
    return linked_policy_from_toml(text, base=folder)


def write_clinic(clinic, folder, suffix):
    for name, table in clinic.items():
        if name != "patients" and suffix == "parquet":
            pq.write_table(table, folder / f"{name}.parquet", row_group_size=100)
        else:
            write_table(table, folder / f"{name}.{'csv' if name == 'patients' else suffix}")


def published_about_each(release):
    """Return what is published about each original person, in any table, whatever the pseudonyms are."""
    people = release.tables["patients"]
    own = dict(zip(people["patient"].to_pylist(), people["own"].to_pylist(), strict=True))
    about = {}
    for name, table in release.tables.items():
        columns = [table[column].cast(pa.string()).to_pylist() for column in sorted(table.column_names)]
        at = sorted(table.column_names).index("patient")
        for row in zip(*columns, strict=True):
            about.setdefault(own[row[at]], Counter())[name, row[:at] + row[at + 1 :]] += 1
    return about


def plain_certificate(release):
    told = release.certificate.to_json()
    return {**told, "tables": {name: {**each, "digest": ""} for name, each in told["tables"].items()}}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_release_is_that_of_memory(name, clinic, tmp_path, small_runs):
    suffix, changes = VARIANTS[name]
    write_clinic(clinic, tmp_path, suffix)
    policy = policy_in(tmp_path, suffix, **changes)
    memory = publish_linked(policy, folder=tmp_path / "memory", engine="memory")
    disk = publish_linked(policy, folder=tmp_path / "disk", engine="duckdb")
    assert plain_certificate(disk) == plain_certificate(memory)
    assert published_about_each(disk) == published_about_each(memory)
    for each in ("diagnoses", "prescriptions"):
        ids = disk.tables[each]["patient"].to_pylist()
        assert ids == sorted(ids)
    assert disk.tables["prescriptions"].num_rows > 0


def test_verification_in_runs_finds_what_it_finds_at_once(clinic, tmp_path, monkeypatch):
    write_clinic(clinic, tmp_path, "csv")
    policy = policy_in(tmp_path, "csv", KNOWS="2", MODEL="linked-anonymity:k=4,l=2", COST="sensitive")
    tables = dict(publish_linked(policy, folder=tmp_path / "release").tables)
    rows = tables["diagnoses"]
    tables["diagnoses"] = rows.slice(0, 700)
    whole = verify_tables(policy, tables)
    monkeypatch.setattr("indistinct.linked.runs.BYTES_OF_ROW", 1 << 26)
    parts = verify_tables(policy, tables)
    assert not whole.holds
    assert parts.to_json() == whole.to_json()
    assert parts.judgement.smallest.tolist() == whole.judgement.smallest.tolist()
    assert parts.judgement.share.tolist() == whole.judgement.share.tolist()


def test_no_run_has_more_rows_than_its_largest_class_needs(clinic, tmp_path, small_runs, monkeypatch):
    """What is in memory together does not grow with the table."""
    write_clinic(clinic, tmp_path, "csv")
    seen = []

    def watched(opened, classes, *, data):
        limit = opened.memory // (1 << 22)
        rows = np.zeros(classes.size, dtype=np.int64)
        for each in opened.judged:
            np.add.at(rows, classes.classes, each.counts(opened.size)[classes.kept])
        for run in class_runs(opened, classes, data=data):
            seen.append((sum(each.rows for each in run), limit + int(rows.max())))
            yield run

    monkeypatch.setattr("indistinct.linked.search.class_runs", watched)
    publish_linked(policy_in(tmp_path, "csv"), folder=tmp_path / "release", engine="duckdb")
    assert len(seen) > 8
    assert all(rows <= most for rows, most in seen)


NASTY = """
[tables.people]
path = "people.parquet"
people = true
[tables.people.columns]
id = "person"
own = "insensitive"
sex = "quasi"
first = { role = "quasi", hierarchy = { dates = ["year"] } }
[tables.events]
path = "events.SUFFIX"
knows = 1
[tables.events.columns]
id = "person"
text = "quasi"
number = "quasi"
nothing = "quasi"
whole = "quasi"
left = "insensitive"
small = "insensitive"
day = { role = "time" }
[tables.other]
path = "other.feather"
knows = 1
columns = { id = "person", flag = "quasi", amount = "quasi" }
[time]
anchor = "first"
window = ["2010-01-01", "2024-12-31"]
[privacy]
models = ["linked-anonymity:k=3"]
suppression = 0.1
knows_together = 2
"""
SIZE = 40
TEXTS = [None, "*", "=1+1", " ", "x", "x ", "-", "NA", "[1-2]", "é\u0301", '"', "a,b", "a\nb", "zz\ttab", "0", "-0"]
IDS = [f" P {i:03}" for i in range(SIZE)]


def nasty_events(rows, seed=0):
    generator = np.random.default_rng((rows, seed))

    def pick(values, kind):
        return pa.array([values[i] for i in generator.integers(0, len(values), rows)], kind)

    days = [date(2013, 1, 1) + timedelta(int(i)) for i in generator.integers(0, 900, rows)]
    return pa.table(
        {
            "id": pa.array([IDS[i] for i in generator.integers(0, SIZE, rows)], pa.string()),
            "text": pick(TEXTS, pa.string()),
            "number": pick([None, 0.0, -0.0, 1e300, 0.1, 7.0], pa.float64()),
            "nothing": pa.nulls(rows, pa.float64()),
            "whole": pick([None, 0, -5, 2**53], pa.int64()),
            "left": pick(TEXTS, pa.string()),
            "small": pick([None, -0.0, 0.0, float("inf"), 1.5], pa.float32()),
            "day": pa.array(days, pa.date32()),
        }
    )


def nasty_tables(rows):
    first = [date(2012, 1, 1) + timedelta(i) for i in range(SIZE)]
    people = pa.table({"id": IDS, "own": IDS, "sex": ["f", "m"] * (SIZE // 2), "first": first})
    generator = np.random.default_rng(rows)
    amounts = [None, Decimal("1.50"), Decimal("-2.00")]
    other = pa.table(
        {
            "id": [IDS[i] for i in generator.integers(0, SIZE, rows)],
            "flag": pa.array([[True, False, None][i] for i in generator.integers(0, 3, rows)], pa.bool_()),
            "amount": pa.array([amounts[i] for i in generator.integers(0, 3, rows)], pa.decimal128(9, 2)),
        }
    )
    return people, nasty_events(rows), other


@pytest.mark.parametrize("rows", [0, 1, 400])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_nasty_tables_are_the_same_on_disk(suffix, rows, tmp_path, small_runs):
    people, events, other = nasty_tables(rows)
    pq.write_table(people, tmp_path / "people.parquet")
    write_table(other, tmp_path / "other.feather")
    if suffix == "parquet":
        pq.write_table(events, tmp_path / "events.parquet", row_group_size=37)
    else:
        write_table(events, tmp_path / "events.csv")
    policy = linked_policy_from_toml(NASTY.replace("SUFFIX", suffix), base=tmp_path)
    found = []
    for engine in ("memory", "duckdb"):
        release = publish_linked(policy, folder=tmp_path / engine, engine=engine)
        made = release.tables["people"]
        own = dict(zip(made["id"].to_pylist(), made["own"].to_pylist(), strict=True))
        found.append(
            {
                name: Counter(
                    (own[row["id"]], *(repr(row[column]) for column in sorted(row) if column != "id"))
                    for row in release.tables[name].to_pylist()
                )
                for name in ("people", "events", "other")
            }
        )
        assert release.certificate.holds
    assert found[0] == found[1]
    assert all(found[0].values()) == (rows == 400)


@pytest.mark.parametrize("place", [0, 399])
def test_a_bad_row_leaves_nothing_behind(place, tmp_path, small_runs):
    people, events, other = nasty_tables(400)
    ids = events["id"].to_pylist()
    ids[place] = "stranger"
    pq.write_table(people, tmp_path / "people.parquet")
    write_table(other, tmp_path / "other.feather")
    pq.write_table(events.set_column(0, "id", pa.array(ids)), tmp_path / "events.parquet")
    policy = linked_policy_from_toml(NASTY.replace("SUFFIX", "parquet"), base=tmp_path)
    with pytest.raises(InputError, match=r"table 'events' has 1 row of people"):
        publish_linked(policy, folder=tmp_path / "release", engine="duckdb")
    assert not (tmp_path / "release").exists()


def test_memory_and_engines_are_checked(clinic, tmp_path):
    write_clinic(clinic, tmp_path, "csv")
    policy = policy_in(tmp_path, "csv")
    for engine in ("spark", "postgres", "pandas"):
        with pytest.raises(ParameterError, match=f"engine {engine}"):
            publish_linked(policy, engine=engine)
    with pytest.raises(ParameterError, match="memory"):
        publish_linked(policy, engine="duckdb", memory="lots")


def test_frames_wait_on_disk_too(clinic, small_runs):
    roles = {"person": ["patient"], "quasi": ["sex", "birth_date"]}
    schemas = {
        "patients": ind.Schema(**roles, insensitive=["own", "region"], identifiers=["first_admission"]),
        "prescriptions": ind.Schema(person=["patient"], quasi=["drug"]),
    }
    tables = {
        "patients": clinic["patients"].drop_columns(["allergies", "death_date"]),
        "prescriptions": clinic["prescriptions"].drop_columns("date"),
    }
    memory, disk = (
        ind.anonymize_tables(
            tables,
            schemas,
            people="patients",
            knows={"prescriptions": 1},
            model="linked-anonymity:k=3",
            engine=engine,
        )
        for engine in ("memory", "duckdb")
    )
    assert published_about_each(memory) == published_about_each(disk)
