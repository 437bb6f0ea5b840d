"""Databases at the command line: read from a table, write to a table, verify it there, and never show a password."""

import json

import pytest

from indistinct.samples import generate_patients

SECRET = "sw0rdfish"  # noqa: S105
ROLES = ["--identifier", "name", "--quasi", "age,sex,zipcode,admitted", "--sensitive", "disease,cost"]
K = ["--model", "k-anonymity:k=5"]


@pytest.fixture(scope="module")
def clinic(postgres):
    postgres.run("DROP SCHEMA IF EXISTS desk CASCADE", "CREATE SCHEMA desk")
    postgres.upload(generate_patients(300, seed=1), "desk.visits")
    return postgres


@pytest.fixture
def address(clinic):
    """The server trusts everybody, so that a password is never used, but could be shown."""
    return clinic.url.replace("postgres@", f"postgres:{SECRET}@")


def test_from_table_to_verified_table(run, clinic, address):
    places = ["--table", "desk.visits", "-o", address, "--output-table", "desk.release", "--overwrite"]
    made = run("anonymize", address, *places, *ROLES, *K, "--algorithm", "mondrian", "--json")
    assert made.code == 0, made.err
    told = json.loads(made.out)
    assert told["output"].startswith("desk.release in postgresql://postgres@")
    assert told["certificate_path"] == "the comment of desk.release"
    ((comment,),) = clinic.run("SELECT obj_description('desk.release'::regclass, 'pg_class') AS c")
    assert json.loads(comment)["holds"] is True
    judged = run("verify", address, "--table", "desk.release", *ROLES, *K, "--json")
    assert judged.code == 0, judged.err
    assert json.loads(judged.out)["k"] >= 5
    assert run("verify", address, "--table", "desk.release", *ROLES, "--model", "k-anonymity:k=200").code == 4
    assert SECRET not in made.out + made.err + judged.out + judged.err


def test_a_query_to_a_file_and_its_recoding_back_to_a_table(run, clinic, address, tmp_path):
    query = ["--query", "SELECT * FROM desk.visits WHERE age > 10;"]
    output, kept = tmp_path / "release.csv", tmp_path / "recoding.json"
    made = run("anonymize", address, *query, "-o", output, *ROLES, *K, "--save-recoding", kept)
    assert made.code == 0, made.err
    assert output.read_text().startswith("age,sex,zipcode")
    places = ["--table", "desk.visits", "-o", address, "--output-table", "desk.again", "--overwrite"]
    again = run("apply", kept, address, *places, "--suppression", "0.5")
    assert again.code == 0, again.err
    assert clinic.run("SELECT count(*) > 0 AS some FROM desk.again") == [(True,)]
    assert SECRET not in made.out + made.err + again.out + again.err + kept.read_text()


def test_a_first_policy_and_its_run(run, clinic, address, tmp_path):
    policy = tmp_path / "policy.toml"
    seen = run("inspect", address, "--table", "desk.visits", "-o", policy, "--json")
    assert seen.code == 0, seen.err
    text = policy.read_text()
    assert 'table = "desk.visits"' in text
    assert SECRET not in text + seen.out + seen.err
    done = run("anonymize", policy, "-o", address, "--output-table", "desk.by_policy", "--overwrite")
    assert done.code == 0, done.err
    assert clinic.run("SELECT count(*) AS n FROM desk.by_policy") == [(300,)]
    written = text.partition("[output]")[0] + f'[output]\npath = "{clinic.url}"\ntable = "desk.by_policy"\n'
    policy.write_text(written)
    assert run("anonymize", policy).code == 1  # it exists already
    assert run("anonymize", policy, "--overwrite").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--table", "desk.nowhere"], 1, "has no table desk.nowhere"),
        (["--query", "SELEC 1"], 1, "is not SQL"),
        ([], 2, "with a table or with a query"),
        (["--table", "desk.visits", "--query", "SELECT 1"], 2, "with a table or with a query"),
        (["--table", "desk.visits", "--dates", "%d.%m.%Y"], 2, "by its own types"),
    ],
)
def test_bad_input(run, address, tmp_path, arguments, code, words):
    done = run("anonymize", address, *arguments, "-o", tmp_path / "x.csv", *ROLES, *K)
    assert done.code == code, done.err
    assert words in done.err
    assert SECRET not in done.out + done.err


def test_a_table_without_a_database_and_an_output_without_a_table(run, address, patients, tmp_path):
    done = run("anonymize", patients, "--table", "x", "-o", tmp_path / "x.csv", *ROLES, *K)
    assert done.code == 1
    assert "knows no database of this kind" in done.err
    done = run("anonymize", patients, "--query", "SELECT 1", "-o", tmp_path / "x.csv", *ROLES, *K)
    assert done.code == 2
    assert "goes with the address of a database" in done.err
    done = run("anonymize", patients, "-o", address, *ROLES, *K)
    assert done.code == 2
    assert SECRET not in done.err
    wrong = f"postgresql://ann:{SECRET}@localhost:1/clinic"
    done = run("anonymize", wrong, "--table", "t", "-o", tmp_path / "x.csv", *ROLES, *K, "--show-values", "--verbose")
    assert done.code == 1
    assert "nothing listens there" in done.err
    assert SECRET not in done.out + done.err
