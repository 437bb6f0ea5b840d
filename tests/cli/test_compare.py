"""`indistinct compare`: the table, the document, the folder, and commands that run as they are printed."""

import json
import shlex
from pathlib import Path

import pytest

import indistinct as ind

POLICY = """
[input]
path = "patients.csv"
[columns]
name = "identifier"
age = { role = "quasi", hierarchy = { intervals = [5, 20] } }
sex = "quasi"
zipcode = { role = "quasi", hierarchy = { mask = "right" } }
admitted = "identifier"
disease = "sensitive"
cost = "identifier"
[privacy]
models = ["k-anonymity:k=5"]
[algorithm]
use = "optimal"
"""


@pytest.fixture
def policy(patients: Path) -> Path:
    path = patients.with_name("policy.toml")
    path.write_text(POLICY, encoding="utf-8")
    return path


def test_a_command_runs_as_it_is_printed(policy: Path, run, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run(
        *("compare", "policy.toml", "--algorithms", "mondrian,datafly", "--algorithms", "optimal:metric=loss"),
        *("--models", "k-anonymity:k=3,k-anonymity:k=5 & distinct-l-diversity:sensitive=disease,l=2"),
        *("--suppression", "0,0.05", "--metrics", "loss", "--json", "--workers", 1),
    )
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert (document["done"], len(document["points"])) == (12, 12)
    assert document["metrics"] == {"loss": "min"}
    chosen = document["points"][7]
    assert (chosen["algorithm"], chosen["suppression"]) == ("datafly", 0.05)
    program, *words = shlex.split(chosen["command"])
    made = run(*words, "--json")
    assert (program, made.code) == ("indistinct", 0), made.err
    assert "--instead overrides the policy" in made.err
    released = json.loads(made.out)
    assert released["metrics"]["loss"] == chosen["metrics"]["loss"]
    assert released["certificate"]["algorithm"] == "datafly"
    assert {v["model"].partition(":")[0] for v in released["certificate"]["verdicts"]} >= {"distinct-l-diversity"}


def test_flags_of_a_table_are_in_its_commands(patients: Path, run, monkeypatch) -> None:
    monkeypatch.chdir(patients.parent)
    roles = ["--identifier", "name,cost,admitted", "--quasi", "age,zipcode", "--insensitive", "sex,disease"]
    given = [*roles, "--hierarchy", "zipcode=mask:right", "--text", "zipcode"]
    ran = run("compare", "patients.csv", *given, "--algorithms", "datafly", "--models", "k-anonymity:k=4", "--json")
    assert ran.code == 0, ran.err
    (point,) = json.loads(ran.out)["points"]
    made = run(*shlex.split(point["command"])[1:], "--json")
    assert made.code == 0, made.err
    assert json.loads(made.out)["metrics"]["gcp"] == point["metrics"]["gcp"]


def test_the_policy_is_one_point_and_the_folder_keeps_it(policy: Path, run, tmp_path: Path) -> None:
    folder = tmp_path / "compared"
    ran = run("compare", policy, "-o", folder, "--workers", 1)
    assert ran.code == 0, ran.err
    assert "1 of 1 points have a release" in ran.out
    assert str(folder / "comparison.html") in ran.out
    document = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
    assert document["points"][0]["algorithm"] == "optimal"
    again = run("compare", policy, "-o", folder, "--workers", 1, "--json")
    assert json.loads(again.out)["points"][0]["kept"]


def test_reasons_stand_where_figures_would_and_decide_the_exit(policy: Path, run) -> None:
    ran = run("compare", policy, "--models", "k-anonymity:k=5,k-anonymity:k=9000", "--workers", 1)
    assert ran.code == 0
    assert "infeasible: k = 9000" in ran.out
    assert run("compare", policy, "--models", "k-anonymity:k=9000", "--workers", 1).code == 3
    assert run("compare", policy, "--models", "t-closeness:sensitive=nothing,t=0.2", "--workers", 1).code == 1


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--algorithms", "mondrien"], "mondrian"),
        (["--algorithms", "mondrian,relaxed=true"], "mondrian:relaxed=true"),
        (["--models", "k-anonymity"], "k-anonymity:k="),
        (["--suppression", "a"], "a share from 0 to 1, such as 0.05, or a number"),
        (["--suppression", "0,2"], "from 0 to 1"),
        (["--metrics", "gcp,gcp"], "once"),
        (["--quasi", "age"], "sets what --quasi would set"),
    ],
)
def test_bad_input_is_usage(policy: Path, run, flags: list[str], words: str) -> None:
    ran = run("compare", policy, *flags)
    assert ran.code == 2
    assert words in ran.err


def test_a_folder_in_the_way_is_refused_before_the_search(policy: Path, run, tmp_path: Path) -> None:
    ran = run("compare", policy, "-o", tmp_path)
    assert ran.code == 1
    assert "something else than a comparison" in ran.err


def test_a_policy_is_varied_only_where_that_is_said(policy: Path, run, tmp_path: Path, patients: Path) -> None:
    ran = run("anonymize", policy, "--algorithm", "mondrian", "-o", tmp_path / "out.csv")
    assert ran.code == 2
    assert "sets what --algorithm would set" in ran.err
    ran = run("anonymize", patients, "--instead", "--quasi", "age", "-o", tmp_path / "out.csv")
    assert ran.code == 2
    made = run("anonymize", policy, "--instead", "--suppression", "0.1", "-o", tmp_path / "out.csv", "--json")
    assert made.code == 0, made.err
    assert json.loads(made.out)["certificate"]["algorithm"].startswith("optimal")
    assert ind.open(tmp_path / "out.csv").rows >= 270
