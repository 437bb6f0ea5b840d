"""A population at the command line and in a policy."""

import csv
import json
import random

import pytest

ROLES = ["--identifier", "id", "--quasi", "age,zip", "--sensitive", "s"]
TREES = ["--hierarchy", "age=intervals:5,10,20", "--hierarchy", "zip=mask:right"]
MODEL = ["--model", "delta-presence:low=0.05,high=0.3"]


@pytest.fixture
def files(tmp_path):
    """Write a table of sixty people, and the four hundred from whom they were drawn."""
    dice = random.Random(1)  # noqa: S311
    zips = ["53710", "53711", "53712", "53715", "53799"]
    people = [[place, dice.randint(20, 60), dice.choice(zips), dice.choice("abcde")] for place in range(400)]
    for name, rows in (("table.csv", dice.sample(people, 60)), ("people.csv", people)):
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["id", "age", "zip", "s"], *rows])
    return tmp_path


def test_a_policy_names_the_population(run, files):
    policy = files / "policy.toml"
    policy.write_text(
        '[input]\npath = "table.csv"\npopulation = "people.csv"\n[columns]\nid = "identifier"\n'
        'age = { role = "quasi", hierarchy = { intervals = [5, 10, 20] } }\n'
        'zip = { role = "quasi", hierarchy = { mask = "right" } }\ns = "sensitive"\n'
        '[privacy]\nmodels = ["delta-presence:low=0.05,high=0.3"]\n[algorithm]\nuse = "optimal"\n'
        '[output]\npath = "out.csv"\n',
        encoding="utf-8",
    )
    ran = run("anonymize", policy, "--save-recoding", files / "recoding.json", "--json")
    assert ran.code == 0
    told = json.loads(ran.out)
    assert told["certificate"]["population_size"] == 400
    assert told["models"][0]["larger_is_stronger"] == ["low"]
    assert run("verify", files / "out.csv", "--policy", policy).code == 0
    assert "Compared with a population of 400" in run("verify", files / "out.csv", "--policy", policy).out
    explored = json.loads(run("explore", policy, "--json").out)
    assert any(node["satisfied"] for node in explored["nodes"])
    again = ["apply", files / "recoding.json", files / "table.csv", "-o", files / "again.csv"]
    assert run(*again).code == 2
    assert run(*again, "--population", files / "people.csv").code == 0
    # The table itself as its population: everybody is present, which no release can hide.
    assert run("anonymize", policy, "--population", files / "table.csv", "-o", files / "other.csv").code == 3


def test_flags_name_the_population(run, files):
    given = ["anonymize", files / "table.csv", *ROLES, *TREES, *MODEL, "--algorithm", "optimal", "-o"]
    alone = run(*given, files / "out.csv")
    assert alone.code == 2
    assert "none is given" in alone.err
    assert "--population" in alone.err
    assert run(*given, files / "out.csv", "--population", files / "people.csv").code == 0
    verified = ["verify", files / "out.csv", *ROLES, *TREES, *MODEL]
    assert run(*verified).code == 2
    assert run(*verified, "--population", files / "people.csv").code == 0
    stronger = [*verified[:-1], "delta-presence:low=0.05,high=0.1", "--population", files / "people.csv"]
    assert run(*stronger).code == 4


def test_bad_populations_are_named(run, files):
    given = ["anonymize", files / "table.csv", *ROLES, *TREES, "--model", "k-map:k=3", "-o", files / "out.csv"]
    lines = (files / "people.csv").read_text(encoding="utf-8").splitlines()
    (files / "few.csv").write_text("\n".join(lines[:20]) + "\n", encoding="utf-8")
    (files / "narrow.csv").write_text("id,age\n1,30\n2,31\n", encoding="utf-8")
    few = run(*given, "--population", files / "few.csv")
    assert few.code == 1
    assert "the population is smaller than the sample" in few.err
    narrow = run(*given, "--population", files / "narrow.csv")
    assert narrow.code == 1
    assert "the population has no column 'zip'" in narrow.err
    assert run(*given, "--population", files / "nowhere.csv").code == 1
    assert not (files / "out.csv").exists()


def test_a_register_need_not_tell_people_apart(run, files):
    lines = (files / "people.csv").read_text(encoding="utf-8").splitlines()
    register = files / "register.csv"
    register.write_text("\n".join(line.split(",", 1)[1] for line in lines) + "\n", encoding="utf-8")
    roles = ["--person", "id", "--quasi", "age,zip", "--sensitive", "s", "--text", "id,zip", *TREES]
    asked = ["--population", register, "--model", "k-map:k=20", "--algorithm", "optimal", "-o", files / "out.csv"]
    made = run("anonymize", files / "table.csv", *roles, *asked)
    assert made.code == 0, made.err
    found = run("assess", files / "table.csv", *roles, "--population", register, "--json")
    assert found.code == 0, found.err
    assert json.loads(found.out)["population_uniques"]["population_size"] == 400
    (files / "narrow.csv").write_text("id,age\n1,30\n2,31\n", encoding="utf-8")
    narrow = run("assess", files / "table.csv", *roles, "--population", files / "narrow.csv")
    assert narrow.code == 1
    assert "the population has no column 'zip'" in narrow.err
