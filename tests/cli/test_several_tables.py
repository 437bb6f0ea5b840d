"""Several tables about the same people at the command line: releases, gates, tampered folders and bad input."""

import json
import re
import shutil
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pytest

from indistinct.release.writing.staging import digest_of
from indistinct.samples.clinic import CLINIC_POLICY, clinic_codes, generate_clinic

PEOPLE = 300
DEATH = (
    'death_date = "identifier"',
    'death_date = { role = "quasi", tells = "death", hierarchy = { dates = ["year", "decade"] } }',
)


def write_clinic(folder, tables, policy=CLINIC_POLICY):
    folder.mkdir(exist_ok=True)
    for name, table in tables.items():
        csv.write_csv(table, folder / f"{name}.csv")
    csv.write_csv(clinic_codes(), folder / "codes.csv")
    (folder / "policy.toml").write_text(policy, encoding="utf-8")
    return folder / "policy.toml"


@pytest.fixture(scope="module")
def tables():
    return generate_clinic(PEOPLE, seed=5)


@pytest.fixture(scope="module")
def released(tables, tmp_path_factory):
    from indistinct.cli import main

    policy = write_clinic(tmp_path_factory.mktemp("several") / "clinic", tables)
    assert main(["anonymize", str(policy)]) == 0
    return policy


@pytest.fixture
def copied(released, tmp_path):
    """A copy of the release that a test may change, and its policy."""
    shutil.copytree(released.parent / "release", tmp_path / "release")
    return tmp_path / "release", released


def changed(folder, name, change):
    """Change a table of a release."""
    path = folder / f"{name}.csv"
    text = pa.csv.ConvertOptions(column_types=dict.fromkeys(csv.read_csv(path).column_names, pa.string()))
    csv.write_csv(change(csv.read_csv(path, convert_options=text)), path)


def recertify(folder):
    """Write the digests of the present files into the certificate, as an attacker who changes them could."""
    path = folder / "certificate.json"
    told = json.loads(path.read_text())
    for entry in told["tables"].values():
        entry["digest"] = digest_of(folder / entry["file"])
    path.write_text(json.dumps(told))


def swap_first_two_people(table):
    people = table["patient"].unique().to_pylist()
    other = {people[0]: people[1], people[1]: people[0]}
    swapped = table.set_column(0, "patient", pa.array([other.get(each, each) for each in table["patient"].to_pylist()]))
    return swapped.sort_by([(name, "ascending") for name in swapped.column_names])


def add_a_row(table):
    return pa.concat_tables([table.slice(0, 1), table])


TAMPERED = {
    "a table removed": lambda folder: (folder / "stays.csv").unlink(),
    "a row added": lambda folder: changed(folder, "labs", add_a_row),
    "a row removed": lambda folder: changed(folder, "diagnoses", lambda table: table.slice(1)),
    "a pseudonym swapped": lambda folder: changed(folder, "diagnoses", swap_first_two_people),
    "no certificate": lambda folder: (folder / "certificate.json").unlink(),
}
CLAIMS = {
    "model": "linked-anonymity:k=50",
    "smallest_group": 50,
    "people": PEOPLE + 1,
    "knows": {"stays": 3, "diagnoses": 3},
    "knows_together": 3,
    "assumptions": [],
    "bounds": {},
    "holds": False,
    "time": {"anchor": "birth_date", "as": "days", "anchors_inside": True},
}


@pytest.mark.parametrize("words", TAMPERED)
def test_a_tampered_folder_is_refused(words, copied, run):
    folder, policy = copied
    assert run("verify", folder, "--policy", policy).code == 0
    TAMPERED[words](folder)
    ran = run("verify", folder, "--policy", policy)
    assert ran.code in (1, 4)
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("name", "change"),
    [("labs", add_a_row), ("diagnoses", lambda table: table.slice(1)), ("diagnoses", swap_first_two_people)],
)
def test_a_tampered_table_with_a_new_digest_is_refused_beside_its_originals(name, change, copied, run):
    folder, policy = copied
    changed(folder, name, change)
    recertify(folder)
    ran = run("verify", folder, "--policy", policy, "--originals", "--json")
    assert ran.code == 4
    assert {each["name"] for each in json.loads(ran.out)["checks"] if not each["holds"]} & {"originals", "certificate"}


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_certificate_that_says_something_else_is_refused(claim, copied, run):
    folder, policy = copied
    path = folder / "certificate.json"
    told = json.loads(path.read_text())
    assert told[claim] != CLAIMS[claim]
    path.write_text(json.dumps({**told, claim: CLAIMS[claim]}))
    ran = run("verify", folder, "--policy", policy, "--json")
    (check,) = (each for each in json.loads(ran.out)["checks"] if each["name"] == "certificate")
    assert ran.code == 4
    assert not check["holds"]
    assert claim in check["words"]


@pytest.mark.parametrize(
    "claim", [{"rows": 1}, {"knows": 0}, {"roles": {}}, {"time": None}, {"person": "sex"}, {"people": True}]
)
def test_a_certificate_that_says_something_else_of_a_table_is_refused(claim, copied, run):
    folder, policy = copied
    path = folder / "certificate.json"
    told = json.loads(path.read_text())
    told["tables"]["stays"] |= claim
    path.write_text(json.dumps(told))
    ran = run("verify", folder, "--policy", policy)
    assert ran.code == 4
    assert f"{next(iter(claim))} of stays" in " ".join(ran.out.split())


def publish_alone(run, clinic, folder):
    """Publish each table alone, 5-anonymous."""
    folder.mkdir()
    quasi = {
        "patients": "sex,region,birth_date,first_admission",
        "stays": "ward,admitted",
        "diagnoses": "code,date",
        "labs": "date",
        "prescriptions": "date",
    }
    rest = {
        "patients": ["--identifier", "death_date"],
        "stays": ["--insensitive", "length", "--identifier", "stay"],
        "diagnoses": ["--insensitive", "cost"],
        "labs": ["--insensitive", "test,value"],
        "prescriptions": ["--insensitive", "drug"],
    }
    for name, columns in quasi.items():
        roles = ["--quasi", columns, "--insensitive", "patient", *rest[name]]
        how = ["--model", "k-anonymity:k=5", "--algorithm", "mondrian", "-o", folder / f"{name}.csv"]
        assert run("anonymize", clinic / f"{name}.csv", *roles, *how).code == 0


def test_the_attack_is_a_gate(released, run, tmp_path):
    naive = tmp_path / "naive"
    publish_alone(run, released.parent, naive)
    attack = ["attack", "known-rows", "--policy", released, "--sample", "60", "--seed", "1"]
    stopped = run(*attack, naive, "--most-below", "0.5", "--json")
    assert stopped.code == 4
    told = json.loads(stopped.out)
    assert told["below_k"] > 50
    assert told["control"] < told["singled_out"] / told["attempts"] / 2
    assert told["baseline"] < told["risk"] / 2
    assert "of the people are left among fewer than 5; at most 50 % are allowed" in stopped.err
    assert run(*attack, naive, "--most-below", "1").code == 0
    assert run(*attack, naive).code == 0
    let_out = run(*attack, released.parent / "release", "--most-below", "0", "--json")
    assert let_out.code == 0
    assert json.loads(let_out.out)["smallest"] >= 5
    assert run(*attack, naive, "--most-below", "5").code == 2


def test_the_assessment_is_a_gate(released, run):
    folder = released.parent / "release"
    assert run("assess", folder, "--policy", released, "--most-below", "0").code == 0
    stopped = run("assess", "--policy", released, "--knows", "1", "--most-below", "0.1")
    assert stopped.code == 4
    assert "at most 10 % are allowed" in stopped.err
    alone = run("assess", released.parent / "patients.csv", "--quasi", "sex", "--most-below", "0.1")
    assert alone.code == 2
    assert "--most-below goes with a policy of several tables" in alone.err


def in_place(table, column, row, value):
    """Return a table with another value in one cell."""
    values = table[column].to_pylist()
    values[row] = value
    return table.set_column(
        table.column_names.index(column), column, pa.array(values, table[column].type if value is None else None)
    )


def with_table(name, change):
    return lambda tables, policy: ({**tables, name: change(tables[name])}, policy)


def with_policy(old, new):
    def change(tables, policy):
        assert old in policy
        return tables, policy.replace(old, new)

    return change


def number_ids(table):
    return table.set_column(0, "patient", pc.cast(pc.utf8_slice_codeunits(table["patient"], 1), pa.int64()))


def bury(tables, policy):
    """Let the person of the first stay die on the day of the first admission, where the stay is later."""
    stays, patients = tables["stays"], tables["patients"]
    admitted = dict(zip(patients["patient"].to_pylist(), patients["first_admission"].to_pylist(), strict=True))
    row = next(
        i
        for i, (who, day) in enumerate(zip(stays["patient"].to_pylist(), stays["admitted"].to_pylist(), strict=True))
        if day > admitted[who]
    )
    who = stays["patient"][row].as_py()
    place = patients["patient"].to_pylist().index(who)
    return {**tables, "patients": in_place(patients, "death_date", place, admitted[who])}, policy.replace(*DEATH)


def know_whole(tables, policy):
    """Let attackers know all diagnoses, and let hardly any row be deleted."""
    whole = policy.replace("knows = 2", 'knows = "all"')
    return tables, whole.replace("knows_together = 2", "knows_together = 1\nrows = 0.01")


STRANGER = "Zz-stranger-Zz"
BAD = {
    "events of unknown people": (
        1,
        "of people who are not in the people table",
        with_table("stays", lambda table: in_place(table, "patient", 3, STRANGER)),
    ),
    "two people rows of one person": (
        1,
        "more rows than people",
        with_table("patients", lambda table: pa.concat_tables([table, table.slice(0, 1)])),
    ),
    "no people": (1, "table 'patients' has no rows", with_table("patients", lambda table: table.slice(0, 0))),
    "missing person": (1, "has no person ID", with_table("labs", lambda table: in_place(table, "patient", 0, None))),
    "missing time": (1, "has no date", with_table("stays", lambda table: in_place(table, "admitted", 0, None))),
    "missing time of a streamed table": (
        1,
        "has no date",
        with_table("labs", lambda table: in_place(table, "date", 0, None)),
    ),
    "a time before the window": (
        1,
        "before the window",
        with_table("stays", lambda table: in_place(table, "admitted", 0, date(2009, 12, 31))),
    ),
    "a time after the window": (
        1,
        "after the window",
        with_table("diagnoses", lambda table: in_place(table, "date", 0, date(2025, 1, 1))),
    ),
    "a missing anchor": (
        1,
        "has no date in column 'first_admission'",
        with_table("patients", lambda table: in_place(table, "first_admission", 0, None)),
    ),
    "an event before birth": (
        1,
        "before the birth",
        with_table("patients", lambda table: in_place(table, "birth_date", 0, date(2024, 12, 31))),
    ),
    "an event after death": (1, "after the death", bury),
    "a second date": (
        1,
        "holds dates",
        with_policy('stay = "identifier"', 'stay = "identifier"\nleft = "insensitive"'),
    ),
    "a list in an event table": (
        1,
        "a list column is allowed in the people table alone",
        with_policy('ward = { role = "quasi" }', 'ward = { role = "quasi", list = "|", knows = 1 }'),
    ),
    "no knows": (1, "no `knows`", with_policy("knows = 1\n", "")),
    "no window": (1, "window", with_policy('window = ["2010-01-01", "2024-12-31"]\n', "")),
    "no window of one table": (
        1,
        "there is no window for table",
        with_policy('window = ["2010-01-01", "2024-12-31"]', 'window = { stays = ["2010-01-01", "2024-12-31"] }'),
    ),
    "fewer people than k": (3, "k = 500", with_policy("linked-anonymity:k=5", "linked-anonymity:k=500")),
    "numbers here and texts there": (1, "person IDs are numbers in table", with_table("stays", number_ids)),
    "rows beyond the limit": (
        3,
        "deletes at most",
        know_whole,
    ),
    "more known than is counted": (1, "must be 0, 1, 2, 3", with_policy("knows = 2", "knows = 4")),
    "too many together": (1, "knows_together", with_policy("knows_together = 2", "knows_together = 4")),
}  # fmt: skip


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("words", BAD)
def test_bad_input_writes_nothing_and_tells_no_value(words, engine, tables, run, tmp_path):
    code, message, change = BAD[words]
    if words == "a second date":
        left = tables["stays"].append_column("left", tables["stays"]["admitted"])
        made, text = change({**tables, "stays": left}, CLINIC_POLICY)
    else:
        made, text = change(tables, CLINIC_POLICY)
    policy = write_clinic(tmp_path / "clinic", made, text)
    ran = run("anonymize", policy, "--engine", engine)
    assert (ran.code, message in " ".join(ran.err.split())) == (code, True), ran.err
    assert not (tmp_path / "clinic" / "release").exists()
    assert not re.search(rf"{STRANGER}|P0000|\d\d\d\d-\d\d-\d\d", (ran.err + ran.out).split("hint:")[0])
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_key_between_event_tables_is_dropped_with_a_warning(engine, tables, run, tmp_path):
    keys = pa.array(range(tables["stays"].num_rows))
    labs = tables["labs"].slice(0, len(keys))
    stays = tables["stays"].set_column(1, "stay", keys)
    labs = labs.append_column("stay", keys).set_column(0, "patient", stays["patient"].slice(0, labs.num_rows))
    labs = labs.set_column(labs.column_names.index("date"), "date", stays["admitted"].slice(0, labs.num_rows))
    text = CLINIC_POLICY.replace('stay = "identifier"', 'stay = "insensitive"')
    text = text.replace('test = "insensitive"', 'test = "insensitive"\nstay = "insensitive"')
    policy = write_clinic(tmp_path / "clinic", {**tables, "stays": stays, "labs": labs}, text)
    ran = run("anonymize", policy, "--engine", engine)
    assert ran.code == 0
    assert "column stays.stay links rows of event tables as a key and is dropped" in " ".join(ran.err.split())
    for name in ("stays", "labs"):
        assert "stay" not in csv.read_csv(tmp_path / "clinic" / "release" / f"{name}.csv").column_names


def test_what_several_tables_do_not_have_is_refused_by_name(released, run, tmp_path):
    folder = released.parent / "release"
    for words in (
        ["apply", folder, released.parent / "stays.csv", "-o", tmp_path / "out.csv"],
        ["ledger", "add", tmp_path / "ledger.json", folder],
        ["anonymize", released, "--engine", "spark", "-o", tmp_path / "out"],
        ["anonymize", released, "--engine", "postgres", "-o", tmp_path / "out"],
        ["measure", folder, "--policy", released, "--engine", "duckdb"],
        ["attack", "record-linkage", folder, "--policy", released],
    ):
        ran = run(*words)
        assert ran.code in (1, 2), words
        assert "Traceback" not in ran.err
    assert not (tmp_path / "out").exists()


def test_the_folder_is_scanned_table_by_table(released, run, tmp_path):
    clean = run("scan", released.parent / "release", "--policy", released, "--json")
    told = json.loads(clean.out)
    assert clean.code == 0
    assert [path["file"].rpartition("/")[2] for path in told["files"]] == [
        f"{name}.csv" for name in ("patients", "stays", "diagnoses", "labs", "prescriptions")
    ]
    assert {each["severity"] for file in told["files"] for each in file["findings"]} == {"note"}
    naive = tmp_path / "naive"
    publish_alone(run, released.parent, naive)
    leaky = run("scan", naive, "--policy", released, "--json")
    assert leaky.code == 4
    leaks = [
        each for each in json.loads(leaky.out)["files"] if any(f["check"] == "identifiers" for f in each["findings"])
    ]
    assert len(leaks) == 5
    assert run("scan", naive, naive, "--policy", released).code == 2


def test_the_report_has_every_section_and_a_picture(released, run, tmp_path):
    ran = run("report", released.parent / "release", "--policy", released, "-o", tmp_path / "report.html", "--json")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ran.code == 0
    for title in ("Verification", "Risk by known rows", "Attack by known rows", "Utility", "Not promised"):
        assert f"{title}</h2>" in page
    assert "Every check is satisfied" in page
    assert "<svg" in page
    assert "<script" not in page
    told = json.loads(ran.out)
    assert told["attack"]["below_k"] == 0
    assert told["verify"]["holds"]
