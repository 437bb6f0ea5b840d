"""A release of a small invented clinic: what it publishes, and every way in which a changed one is refused."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from indistinct.errors import IndistinctError, InputError, VerificationError
from indistinct.linked.folder import open_folder
from indistinct.linked.opening import open_linked
from indistinct.linked.originals import compare_with_originals
from indistinct.linked.policy import linked_policy_from_toml, read_linked_policy
from indistinct.linked.publishing import publish_linked
from indistinct.linked.verify import verify_tables
from indistinct.samples.clinic import clinic_codes, generate_clinic

POLICY = """
[tables.patients]
path = "patients.csv"
people = true
[tables.patients.columns]
patient = "person"
sex = { role = "quasi" }
region = { role = "quasi" }
birth_date = { role = "quasi", tells = "birth", hierarchy = { dates = ["year", "decade"] } }
first_admission = { role = "quasi", hierarchy = { dates = ["year"] } }
death_date = "identifier"
[tables.diagnoses]
path = "diagnoses.parquet"
knows = 2
[tables.diagnoses.columns]
patient = "person"
code = { role = "quasi", hierarchy = { mask = "right" } }
date = { role = "time", hierarchy = { days = [7, 30, 365] } }
cost = "identifier"
[tables.prescriptions]
path = "prescriptions.csv"
knows = 1
[tables.prescriptions.columns]
patient = "person"
drug = { role = "quasi" }
date = "identifier"
[tables.labs]
path = "labs.csv"
[tables.labs.columns]
patient = "person"
date = { role = "time", unknown = true }
test = "insensitive"
value = "insensitive"
[time]
anchor = "first_admission"
window = ["2010-01-01", "2024-12-31"]
[privacy]
models = ["linked-anonymity:k=3"]
suppression = 0.1
rows = 0.6
[output]
folder = "release/"
"""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    for name, table in generate_clinic(600, seed=3).items():
        if name == "diagnoses":
            pq.write_table(table, folder / "diagnoses.parquet")
        else:
            csv.write_csv(table, folder / f"{name}.csv")
    csv.write_csv(clinic_codes(), folder / "codes.csv")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def policy(clinic):
    return read_linked_policy(clinic / "policy.toml")


@pytest.fixture(scope="module")
def opened(policy):
    return open_linked(policy)


@pytest.fixture(scope="module")
def release(policy):
    return publish_linked(policy, folder=policy.output)


def levels_of(release):
    return {name: dict(entry.levels) for name, entry in release.certificate.tables.items()}


def test_it_lies_in_a_folder_with_one_certificate(release, clinic):
    names = {path.name for path in (clinic / "release").iterdir()}
    assert names == {"patients.csv", "diagnoses.parquet", "prescriptions.csv", "labs.csv", "certificate.json"}
    told = json.loads((clinic / "release" / "certificate.json").read_text())
    assert told["holds"]
    assert told["smallest_group"] >= 3
    assert 0 < release.tables["diagnoses"].num_rows <= 600 * 20


def test_what_was_written_is_verified_again(release, policy, opened):
    folder = open_folder(policy.output, policy)
    assert folder.digests_match() is None
    tables = folder.read()
    assert verify_tables(policy, tables).holds
    assert compare_with_originals(opened, tables, levels_of(release)).holds


def test_pseudonyms_are_new_and_the_same_in_all_tables(release, policy, clinic):
    ids = set(release.tables["patients"]["patient"].to_pylist())
    originals = set(csv.read_csv(clinic / "patients.csv")["patient"].to_pylist())
    assert not ids & originals
    for name in ("diagnoses", "prescriptions", "labs"):
        assert set(release.tables[name]["patient"].to_pylist()) <= ids
    again = publish_linked(policy)
    assert not ids & set(again.tables["patients"]["patient"].to_pylist())


def test_files_are_sorted(release):
    for table in release.tables.values():
        rows = list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
        people = [row[0] for row in rows]
        assert people == sorted(people)


def test_values_of_passed_tables_are_kept(release, clinic):
    before = csv.read_csv(clinic / "labs.csv")
    count = release.tables["labs"].num_rows
    kept = Counter(zip(*(release.tables["labs"][n].to_pylist() for n in ("test", "value")), strict=True))
    every = Counter(zip(*(before[n].to_pylist() for n in ("test", "value")), strict=True))
    assert not kept - every
    assert count >= 0.85 * before.num_rows


def replace_table(release, name, table):
    return {**release.tables, name: table}


def set_column(table, name, values):
    return table.set_column(table.column_names.index(name), name, values)


def refused(policy, tables):
    verdict = verify_tables(policy, tables)
    assert not verdict.holds
    return {check.name for check in verdict.checks if not check.holds}


def test_the_order_of_the_file_is_refused(release, policy):
    shuffled = release.tables["labs"].take(
        pa.array(np.random.default_rng(1).permutation(release.tables["labs"].num_rows))
    )
    assert refused(policy, replace_table(release, "labs", shuffled)) == {"order"}


def test_the_order_of_the_file_within_a_person_is_refused(release, policy):
    table = release.tables["labs"]
    order = np.lexsort(
        (np.arange(table.num_rows)[::-1], pc.rank(table["patient"].combine_chunks(), tiebreaker="dense"))
    )
    assert refused(policy, replace_table(release, "labs", table.take(pa.array(order)))) == {"order"}


def test_a_row_of_nobody_is_refused(release, policy):
    table = release.tables["labs"]
    ids = table["patient"].to_pylist()
    ids[-1] = "f" * 32
    changed = set_column(table, "patient", pa.array(ids))
    assert "persons of rows" in refused(policy, replace_table(release, "labs", changed))


def test_a_person_with_two_rows_is_refused(release, policy):
    table = release.tables["patients"]
    twice = pa.concat_tables([table.slice(0, 1), table])
    assert "people" in refused(policy, replace_table(release, "patients", twice))


def test_original_ids_are_refused(release, policy):
    tables = {}
    ids = {p: f"P{i:05d}" for i, p in enumerate(release.tables["patients"]["patient"].to_pylist())}
    for name, table in release.tables.items():
        tables[name] = set_column(table, "patient", pa.array([ids[p] for p in table["patient"].to_pylist()]))
    assert "pseudonyms" in refused(policy, tables)


def test_a_dropped_column_that_is_published_is_refused(release, policy):
    table = release.tables["diagnoses"]
    extra = table.append_column("cost", pa.array(np.ones(table.num_rows)))
    assert refused(policy, replace_table(release, "diagnoses", extra)) == {"columns"}


def test_an_offset_beyond_the_calendar_is_refused(release, policy):
    table = release.tables["labs"]
    times = table["date"].cast(pa.string()).to_pylist()
    times[0] = "99999"
    assert "calendar" in refused(policy, replace_table(release, "labs", set_column(table, "date", pa.array(times))))


def test_a_label_of_one_person_alone_is_refused(release, policy):
    table = release.tables["prescriptions"]
    drugs = table["drug"].cast(pa.string()).to_pylist()
    drugs[0] = "X99"
    changed = set_column(table, "drug", pa.array(drugs))
    assert policy.model.spec() in refused(policy, replace_table(release, "prescriptions", changed))


def test_rows_deleted_for_a_single_person_are_seen_beside_the_originals(release, policy, opened):
    table = release.tables["diagnoses"]
    fewer = table.slice(1)
    assert compare_with_originals(opened, release.tables, levels_of(release)).holds
    assert not compare_with_originals(opened, replace_table(release, "diagnoses", fewer), levels_of(release)).holds


def test_rows_moved_between_people_are_seen_beside_the_originals(policy):
    """{a, a} and {} published as {a} and {a}."""
    people = pa.table({"id": ["x", "y"], "sex": ["f", "f"]})
    rows = pa.table({"id": ["x", "x"], "code": ["a", "a"]})
    small = linked_policy_from_toml(
        """
        [tables.people]
        path = "people.csv"
        people = true
        columns = { id = "person", sex = { role = "quasi" } }
        [tables.rows]
        path = "rows.csv"
        knows = 0
        columns = { id = "person", code = { role = "quasi" } }
        [privacy]
        models = ["linked-anonymity:k=2"]
        """,
        base=Path(),
    )
    opened = open_linked(small, {"people": people, "rows": rows})
    ids = ["0" * 32, "1" * 32]
    published = {"people": pa.table({"id": ids, "sex": ["f", "f"]}), "rows": pa.table({"id": ids, "code": ["a", "a"]})}
    assert verify_tables(small, published).holds
    assert not compare_with_originals(opened, published, {"rows": {"code": 0}}).holds
    sound = {**published, "rows": pa.table({"id": [ids[0]] * 2, "code": ["a", "a"]})}
    assert compare_with_originals(opened, sound, {"rows": {"code": 0}}).holds


def test_nothing_is_written_where_a_file_is_in_the_way(policy, release, clinic):
    before = {path.name: path.read_bytes() for path in (clinic / "release").iterdir()}
    with pytest.raises(IndistinctError):
        publish_linked(policy, folder=policy.output)
    assert {path.name: path.read_bytes() for path in (clinic / "release").iterdir()} == before


def test_a_changed_file_does_not_match_its_digest(policy, clinic, tmp_path):
    publish_linked(policy, folder=tmp_path / "r")
    (tmp_path / "r" / "labs.csv").write_text("patient,date,test,value\n")
    assert open_folder(tmp_path / "r", policy).digests_match() == "labs"


def test_an_unsound_search_writes_nothing(policy, clinic, tmp_path, monkeypatch):
    """The verifier does not believe the search."""
    monkeypatch.setattr(
        "indistinct.linked.search.suppressed_rows",
        lambda classes, tables, *rest: {name: np.zeros(len(rows.person), dtype=bool) for name, rows in tables.items()},
    )
    with pytest.raises(VerificationError):
        publish_linked(policy, folder=tmp_path / "unsound")
    assert not (tmp_path / "unsound").exists()


def with_policy(text, *changes):
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


BAD_POLICIES = {
    "no `knows`": [("knows = 2\n", "")],
    "anchor": [('anchor = "first_admission"', 'anchor = "nothing"')],
    "no window": [('window = ["2010-01-01", "2024-12-31"]\n', "")],
    "unknown key": [("knows = 1", "knowz = 1")],
    "at most one column with the role time": [
        ('cost = "identifier"', 'cost = { role = "time" }'),
    ],
    "no table is marked": [("people = true\n", "")],
    "a list column is allowed in the people table": [
        ('test = "insensitive"', 'test = { role = "quasi", list = "|", knows = 1 }'),
    ],
    "must be 0, 1, 2, 3": [("knows = 2", "knows = 4")],
    "at most 3 are counted": [("knows = 1", "knows = 3")],
    "linked-anonymity": [("linked-anonymity:k=3", "k-anonymity:k=3")],
    "its file is named after it": [("[tables.labs", '[tables."../labs"')],
    "two tables are called 'Diagnoses'": [("[tables.labs", "[tables.Diagnoses")],
    "two days": [('window = ["2010-01-01", "2024-12-31"]', "window = [2010-01-01T00:00:00, 2024-12-31]")],
    "ascending": [("days = [7, 30, 365]", "days = [30, 7]")],
}


@pytest.mark.parametrize("words", BAD_POLICIES)
def test_a_bad_policy_says_what_is_wrong(words):
    with pytest.raises(IndistinctError, match=words):
        linked_policy_from_toml(with_policy(POLICY, *BAD_POLICIES[words]), base=Path())


def changed_input(clinic, name, change):
    tables = {}
    for each in ("patients", "prescriptions", "labs"):
        tables[each] = csv.read_csv(clinic / f"{each}.csv")
    tables["diagnoses"] = pq.read_table(clinic / "diagnoses.parquet")
    tables[name] = change(tables[name])
    return tables


def set_first(name, value):
    def change(table):
        values = table[name].to_pylist()
        values[0] = value
        return set_column(table, name, pa.array(values, table.schema.field(name).type))

    return change


def day(text):
    return np.datetime64(text).item()


def set_all(name, value):
    return lambda table: set_column(table, name, pa.array([value] * table.num_rows))


BAD_TABLES = {
    "who are not in the people table": ("diagnoses", set_first("patient", "P9999999")),
    "more rows than people": ("patients", lambda table: pa.concat_tables([table, table.slice(0, 1)])),
    "has no person ID": ("labs", set_first("patient", None)),
    "has no person ID in column .* of 1 row": ("patients", set_first("patient", " ")),
    "column 'value' of table 'labs' holds dates": ("labs", set_all("value", "2020-02-01")),
    "has no date in column 'date'": ("diagnoses", set_first("date", None)),
    "before the window": ("diagnoses", set_first("date", day("2009-12-31"))),
    "after the window": ("diagnoses", set_first("date", day("2025-01-01"))),
    "has no date in column 'first_admission'": ("patients", set_first("first_admission", None)),
    "before the birth": (
        "patients",
        lambda table: set_column(table, "birth_date", pa.array([day("2024-12-30")] * 600)),
    ),
    "were born after it ends": ("patients", set_first("birth_date", day("2025-06-01"))),
    "person IDs are numbers": ("labs", lambda table: set_column(table, "patient", pa.array(np.arange(table.num_rows)))),
    "types uint64 and string": ("labs", set_all("patient", pa.scalar(2**63, pa.uint64()))),
    "no role for": ("labs", lambda table: table.append_column("more", table["value"])),
    "k = 3 but": ("patients", lambda table: table.slice(0, 2)),
}


@pytest.mark.parametrize("words", BAD_TABLES)
def test_bad_input_is_an_error_without_a_value(words, clinic, policy):
    name, change = BAD_TABLES[words]
    with pytest.raises(IndistinctError, match=words) as caught:
        open_linked(policy, changed_input(clinic, name, change))
    assert "P0" not in str(caught.value)


def test_a_second_date_in_an_event_table_is_an_error(clinic):
    text = with_policy(POLICY, ('cost = "identifier"', 'cost = "insensitive"'))
    tables = changed_input(clinic, "diagnoses", lambda t: set_column(t, "cost", t["date"]))
    with pytest.raises(InputError, match="holds dates"):
        open_linked(linked_policy_from_toml(text, base=clinic), tables)


def test_a_key_between_event_tables_is_dropped_with_a_warning(clinic):
    text = with_policy(
        POLICY,
        ('value = "insensitive"', 'value = "insensitive"\nstay = "insensitive"'),
        ('drug = { role = "quasi" }', 'drug = { role = "quasi" }\nstay = "insensitive"'),
    )
    tables = changed_input(clinic, "labs", lambda t: t)
    for name in ("labs", "prescriptions"):
        stays = pa.array([f"stay of {p}" for p in tables[name]["patient"].to_pylist()])
        tables[name] = tables[name].append_column("stay", stays)
    made = publish_linked(linked_policy_from_toml(text, base=clinic), sources=tables)
    assert "stay" not in made.tables["labs"].column_names
    assert len([words for words in made.certificate.warnings if "links rows" in words]) == 2
