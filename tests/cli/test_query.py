"""`indistinct query`: answers, workloads, bad input."""

import json

import pyarrow.csv
import pytest

from indistinct import cli
from indistinct.samples import generate_patients

ROLES = ["--identifier", "name,cost", "--quasi", "age,sex,zipcode,admitted", "--sensitive", "disease"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("query")
    pyarrow.csv.write_csv(generate_patients(200, seed=1), place / "patients.csv")
    made = [str(place / "patients.csv"), *ROLES, "--model", "k-anonymity:k=5", "--algorithm", "mondrian"]
    assert cli.main(["anonymize", *made, "-o", str(place / "release.csv")]) == 0
    (place / "queries.sql").write_text(
        "SELECT COUNT(*)\n2 | SELECT COUNT(*) WHERE age BETWEEN 20 AND 40\nSELECT AVG(age) WHERE sex = 'female'\n",
        encoding="utf-8",
    )
    return place


@pytest.fixture
def ask(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    capsys.readouterr()

    def run(*words):
        code = cli.main(["query", "release.csv", *words, *ROLES])
        return code, capsys.readouterr()

    return run


def test_an_answer_as_json(ask):
    code, told = ask("SELECT COUNT(*) WHERE age BETWEEN 20 AND 40", "--json")
    assert code == 0
    found = json.loads(told.out)
    assert found["low"] <= found["value"] <= found["high"]
    assert found["exact"] is (found["low"] == found["high"])


def test_a_query_is_read_before_any_table_is(ask):
    code, printed = ask("SELECT MEDIAN(age)", "--original", "nowhere.csv")
    assert (code, "asks for MEDIAN" in printed.err) == (1, True)


def test_a_value_that_no_row_has_is_noted(ask):
    code, printed = ask("SELECT COUNT(*) WHERE sex = 'f'", "--original", "patients.csv")
    assert code == 0
    assert "no published row can have sex = 'f'" in " ".join(printed.out.split())


def test_an_answer_with_groups_on_the_screen(ask):
    code, told = ask("SELECT sex, AVG(age) GROUP BY sex", "--original", "patients.csv")
    assert code == 0
    assert "female" in told.out
    assert "at most" in told.out


def test_a_workload(ask, folder):
    words = ["--workload", "queries.sql", "--original", "patients.csv", "--plot", "errors.svg", "--overwrite"]
    code, told = ask(*words, "--json")
    assert code == 0
    found = json.loads(told.out)
    assert (found["queries"], found["truth_within_bounds"]) == (3, 1.0)
    assert "<svg" in (folder / "errors.svg").read_text(encoding="utf-8")
    code, told = ask(*words)
    assert (code, "95th percentile" in told.out) == (0, True)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["SELECT AVG(name)"], 1, "identifies people"),
        (["SELECT AVG(aeg)"], 1, "did you mean 'age'?"),
        (["SELECT COUNT(*) WHERE age IN (SELECT 1)"], 1, "a subquery"),
        ([], 2, "no query is given"),
        (["SELECT COUNT(*)", "--plot", "x.svg"], 2, "--workload"),
        (["--workload", "queries.sql"], 2, "no original"),
        (["--workload", "nowhere.sql", "--original", "patients.csv"], 1, "there is no workload"),
    ],
)
def test_bad_input(ask, words, code, told):
    found, screen = ask(*words)
    assert found == code
    assert told in screen.err
    assert screen.out == ""
