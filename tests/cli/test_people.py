"""People instead of rows at the command line."""

import csv
import json

import pytest

from indistinct.release.writing.files import write_table
from indistinct.samples import generate_visits

ROLES = ["--person", "person", "--quasi", "age,sex,zipcode", "--sensitive", "diagnosis"]
TREES = ["--hierarchy", "zipcode=mask:right", "--hierarchy", "age=intervals:5,10,20"]
MODEL = ["--model", "k-anonymity:k=5"]


@pytest.fixture
def visits(tmp_path):
    path = tmp_path / "visits.csv"
    write_table(generate_visits(1500, seed=2), path)
    return path


@pytest.fixture
def released(run, visits, tmp_path):
    out = tmp_path / "out.csv"
    ran = run(
        "anonymize", visits, *ROLES, *TREES, *MODEL, "--algorithm", "optimal", "--suppression", "0.05", "-o", out,
        "--save-recoding", tmp_path / "recoding.json", "--json",
    )  # fmt: skip
    assert ran.code == 0
    return out, json.loads(ran.out)


def test_classes_have_five_people(visits, released):
    out, told = released
    assert told["k"] >= 5
    assert told["certificate"]["people"]["published"] <= told["certificate"]["people"]["original"]
    with out.open(encoding="utf-8", newline="") as file:
        assert "person" not in next(csv.reader(file))


def test_verify_says_what_it_needs(run, visits, released, tmp_path):
    out, _ = released
    alone = run("verify", out, *ROLES, *MODEL)
    assert alone.code == 1
    assert "people cannot be counted" in alone.err
    assert "--original" in alone.err
    assert run("verify", out, *ROLES, *TREES, *MODEL, "--original", visits).code == 0
    recoding = ["--recoding", tmp_path / "recoding.json"]
    assert run("verify", out, *ROLES, *MODEL, "--original", visits, *recoding).code == 0
    stronger = run("verify", out, *ROLES, "--model", "k-anonymity:k=500", "--original", visits, *recoding)
    assert stronger.code == 4


def test_verify_says_that_it_counted_rows_where_people_were_counted(run, released):
    out, _ = released
    ran = run("verify", out, *ROLES[2:], *MODEL)
    assert ran.code == 0
    assert "rows were counted, but the certificate next to the file counts people" in ran.err


def test_a_policy_gives_the_role(run, visits, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[input]\npath = "visits.csv"\n[columns]\nperson = "person"\nage = "quasi"\nsex = "quasi"\nzipcode = "quasi"\n'
        'diagnosis = "sensitive"\n[privacy]\nmodels = ["k-anonymity:k=5"]\n',
        encoding="utf-8",
    )
    ran = run("anonymize", policy, "-o", tmp_path / "out.csv", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["certificate"]["people"]["suppressed"] == 0


def test_a_person_column_that_is_missing_in_some_rows(run, tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("who,age\nann,1\n,1\nbob,2\ncyd,2\n", encoding="utf-8")
    ran = run("anonymize", path, "--person", "who", "--quasi", "age", *MODEL, "-o", tmp_path / "out.csv")
    assert ran.code == 1
    assert "has no value in 1 row" in ran.err
    assert "ann" not in ran.err


def test_two_roles_that_exclude_each_other(run, visits, tmp_path):
    ran = run("anonymize", visits, *ROLES, "--identifier", "person", *MODEL, "-o", tmp_path / "out.csv")
    assert ran.code == 1
    assert "exactly one role" in ran.err
