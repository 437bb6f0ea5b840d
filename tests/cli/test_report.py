"""`indistinct report`, and the report that a policy asks for: figures of other commands, exit codes, bad input."""

import json
import re

import pyarrow.csv
import pytest

from indistinct import cli
from indistinct.samples import generate_patients

POLICY = """
[input]
path = "patients.csv"

[columns]
name = "identifier"
cost = "identifier"
age = { role = "quasi", hierarchy = { intervals = [10, 50] }, reason = "neighbours know it" }
sex = "quasi"
zipcode = { role = "quasi", hierarchy = { mask = "right" } }
admitted = { role = "quasi", hierarchy = { dates = ["month", "year"] } }
disease = "sensitive"

[privacy]
models = ["k-anonymity:k=5"]
suppression = 0.1

[algorithm]
use = "optimal"

[output]
path = "release.csv"
"""
ABOUT = """
[about]
purpose = "Planning of beds"
recipient = "The health office"
operator = "A. Steward"
reviewer = "B. Reviewer"
reassess = 2027-06-30
assumed = ["a neighbour"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    pyarrow.csv.write_csv(generate_patients(250, seed=1), place / "patients.csv")
    (place / "policy.toml").write_text(POLICY, encoding="utf-8")
    (place / "stated.toml").write_text(POLICY + 'report = "own.html"\n' + ABOUT, encoding="utf-8")
    (place / "queries.sql").write_text("SELECT COUNT(*)\nSELECT COUNT(*) WHERE age < 40\n", encoding="utf-8")
    assert cli.main(["anonymize", str(place / "policy.toml")]) == 0
    return place


@pytest.fixture
def run(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    capsys.readouterr()

    def call(*words):
        code = cli.main(list(words))
        return code, capsys.readouterr()

    return call


def figures_of(path):
    """Return the figures of a page: the path of each in a document, and its value."""
    html = path.read_text(encoding="utf-8")
    pairs = re.findall(r'<data value="([^"]*)" data-of="([^"]*)">', html)
    return [(json.loads(of.replace("&quot;", '"')), json.loads(value.replace("&quot;", '"'))) for value, of in pairs]


def at(document, path):
    for key in path:
        document = document[key]
    return document


def test_figures_equal_those_of_the_other_commands(run, folder):
    beside = ["--policy", "policy.toml", "--original", "patients.csv"]
    more = ["--workload", "queries.sql", "--seconds", "60", "--seed", "1"]
    code, told = run("report", "release.csv", *beside, *more, "-o", "report.html", "--json")
    assert code == 0, told.err
    assert json.loads(told.out)["sections"][:2] == ["Verdict", "Privacy guarantee"]
    commands = {
        "certificate": ["verify", "release.csv", *beside],
        "assess": ["assess", "release.csv", *beside],
        "measure": ["measure", "release.csv", *beside],
        "distributions": ["distributions", "release.csv", *beside],
        "attack": ["attack", "all", "release.csv", *beside, "--seed", "1"],
        "query": ["query", "release.csv", "--workload", "queries.sql", *beside],
    }
    documents = {}
    for name, words in commands.items():
        code, told = run(*words, "--json")
        assert code == 0, (name, told.err)
        documents[name] = json.loads(told.out)
    documents["certificate"] = documents["certificate"]["certificate"]
    documents["membership"] = {
        kind.replace("_", "-"): each for kind, each in documents["measure"]["membership"].items()
    }
    compared = dict.fromkeys(documents, 0)
    for path, value in figures_of(folder / "report.html"):
        if path[0] in documents:
            assert at(documents, path) == value, path
            compared[path[0]] += 1
    assert min(compared.values()) >= 5, compared


def test_a_policy_can_ask_for_the_report(run, folder):
    code, told = run("anonymize", "stated.toml", "-o", "second.csv", "--json")
    assert code == 0, told.err
    found = json.loads(told.out)
    assert found["report_path"] == "own.html"
    html = (folder / "own.html").read_text(encoding="utf-8")
    for stated in ("Planning of beds", "The health office", "A. Steward", "B. Reviewer", "2027-06-30", "a neighbour"):
        assert stated in html
    assert "neighbours know it" in html
    assert "Not stated" not in html
    assert found["certificate"]["output_digest"] in html
    code, told = run("anonymize", "stated.toml", "-o", "third.csv")
    assert code == 1, "the report is there already"
    assert "own.html" in told.err
    assert not (folder / "third.csv").exists(), "nothing is published before that is told"


def test_a_policy_without_a_purpose_is_told_what_is_missing(run, folder):
    for edition in ("internal", "external"):
        page = f"bare-{edition}.html"
        code, _ = run("report", "release.csv", "--policy", "policy.toml", "-o", page, "--edition", edition)
        assert code == 0
        html = (folder / page).read_text(encoding="utf-8")
        assert "Not stated: purpose (what the release is for); recipient" in html
        assert ("The table [about] of a policy holds them" in html) == (edition == "internal")


def test_a_promise_that_does_not_hold_is_said(run, folder):
    words = ["--policy", "policy.toml", "--model", "k-anonymity:k=200", "-o", "broken.html"]
    code, told = run("report", "release.csv", *words)
    assert code == 4
    assert "is NOT satisfied" in told.err
    assert "The privacy guarantee is NOT satisfied." in (folder / "broken.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["-o", "r.html", "--edition", "public"], 2, "`edition` must be one of internal, external; got 'public'"),
        (["-o", "r.txt"], 2, "must end in .html"),
        (["-o", "r.html", "--seconds", "0"], 2, "`seconds` of attacks must be above 0"),
        (["-o", "nowhere/r.html"], 1, "nowhere"),
        (["-o", "r.html", "--original", "absent.csv"], 1, "absent.csv"),
    ],
)
def test_bad_input(run, words, code, message):
    found, told = run("report", "release.csv", "--policy", "policy.toml", *words)
    assert found == code, told.err
    assert message in told.err
    assert "Traceback" not in told.err


def test_a_certificate_of_another_file_is_refused(run, folder):
    (folder / "foreign.csv").write_bytes((folder / "release.csv").read_bytes().replace(b"male", b"mule"))
    beside = (folder / "release.csv.certificate.json").read_bytes()
    (folder / "foreign.csv.certificate.json").write_bytes(beside)
    code, told = run("report", "foreign.csv", "--policy", "policy.toml", "-o", "foreign.html")
    assert code == 1
    assert "is that of another file" in told.err
    assert not (folder / "foreign.html").exists()


def test_a_missing_extra_is_told_before_any_work(run, folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    code, told = run("report", "release.csv", "--policy", "policy.toml", "-o", "absent.html")
    assert code == 1
    assert 'pip install "indistinct[report]"' in told.err
    code, told = run("anonymize", "stated.toml", "-o", "fourth.csv", "--overwrite")
    assert code == 1
    assert 'pip install "indistinct[report]"' in told.err
    assert not (folder / "fourth.csv").exists()
