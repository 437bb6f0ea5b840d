"""The leak scan in a pipeline: SARIF, the action and the hook, tried on a repository with planted leaks."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pandas as pd
import pytest
import yaml

from indistinct.exploration.scan.scan import CHECKS

ROOT = Path(__file__).parents[2]
NAME = "Zebedee Quill"

# The shape that SARIF 2.1.0 requires of what is written here, in our own words: names, types and closed lists.
TEXT = {"type": "string", "minLength": 1}
MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": TEXT}}
LOCATION = {
    "type": "object",
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": {"type": "object", "required": ["uri"], "properties": {"uri": TEXT}},
                "region": {"type": "object", "properties": {"startLine": {"type": "integer", "minimum": 1}}},
            },
        },
        "logicalLocations": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    },
}
RESULT = {
    "type": "object",
    "required": ["message", "ruleId"],
    "properties": {
        "message": MESSAGE,
        "ruleId": TEXT,
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "locations": {"type": "array", "items": LOCATION},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
RUN = {
    "type": "object",
    "required": ["tool"],
    "properties": {
        "tool": {
            "type": "object",
            "required": ["driver"],
            "properties": {"driver": {"type": "object", "required": ["name"], "properties": {"name": TEXT}}},
        },
        "results": {"type": "array", "items": RESULT},
        "invocations": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["executionSuccessful"],
                "properties": {"executionSuccessful": {"type": "boolean"}},
            },
        },
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    },
}
LOG = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {"version": {"const": "2.1.0"}, "runs": {"type": "array", "items": RUN}},
}


@pytest.fixture
def repository(tmp_path):
    """A folder of published tables: one is clean, one has an index, one names authors in its metadata."""
    folder = tmp_path / "releases"
    folder.mkdir()
    rows = pd.DataFrame({"age": ["[20-29]", "[30-39]"] * 6, "ill": ["flu", "cold", "flu"] * 4})
    rows.to_csv(folder / "clean.csv", index=False)
    rows.sample(frac=1, random_state=1).to_csv(folder / "index.csv")
    people = pd.DataFrame({"age": ["[20-29]"] * 12}, index=pd.Index([f"{NAME} {i}" for i in range(12)], name="who"))
    people.to_parquet(folder / "pandas.parquet")
    (folder / "broken.parquet").write_bytes(b"PAR1 no parquet")
    return folder


def test_findings_are_written_as_sarif_without_a_value(run, repository, tmp_path):
    log = tmp_path / "out.sarif"
    files = [repository / name for name in ("clean.csv", "index.csv", "pandas.parquet")]
    ran = run("scan", *files, "--sarif", log)
    assert ran.code == 4
    document = json.loads(log.read_text())
    jsonschema.validate(document, LOG)
    (only,) = document["runs"]
    results = only["results"]
    rules = [rule["id"] for rule in only["tool"]["driver"]["rules"]]
    assert rules == list(CHECKS)
    assert all(rules[each["ruleIndex"]] == each["ruleId"] for each in results)
    leaking = {
        Path(each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]).name
        for each in results
        if each["level"] == "error"
    }
    assert leaking == {"index.csv", "pandas.parquet"}
    assert only["invocations"][0]["executionSuccessful"]
    assert NAME not in log.read_text()
    assert NAME not in ran.out + ran.err


def test_a_file_that_cannot_be_read_is_told_and_others_are_scanned(run, repository, tmp_path):
    log = tmp_path / "out.sarif"
    ran = run("scan", repository / "clean.csv", repository / "broken.parquet", "--sarif", log, "--json")
    assert ran.code == 1
    told = json.loads(ran.out)
    assert [Path(each["file"]).name for each in told["files"]] == ["clean.csv"]
    assert [Path(each).name for each in told["not_scanned"]] == ["broken.parquet"]
    (only,) = json.loads(log.read_text())["runs"]
    assert not only["invocations"][0]["executionSuccessful"]
    assert only["invocations"][0]["toolExecutionNotifications"][0]["level"] == "error"


def test_a_clean_file_has_no_result_and_a_relative_address(run, repository, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = run("scan", "releases/clean.csv", "--sarif", "out.sarif")
    assert ran.code == 0, ran.err
    (only,) = json.loads(Path("out.sarif").read_text())["runs"]
    assert not [each for each in only["results"] if each["level"] == "error"]
    assert only["artifacts"][0]["location"]["uri"] == "releases/clean.csv"


POLICY = """[input]
path = "people.csv"

[columns]
age = "quasi"
ill = { role = "sensitive" }

[privacy]
models = ["k-anonymity:k=2", "distinct-l-diversity:sensitive=ill,l=2"]
"""


def test_tests_of_dbt_are_written_all_or_none(run, tmp_path):
    policy, folder = tmp_path / "policy.toml", tmp_path / "tests"
    policy.write_text(POLICY)
    assert run("dbt", policy, "-o", folder).code == 0
    first, second = sorted((folder / "generic").iterdir())
    first.unlink()
    ran = run("dbt", policy, "-o", folder)
    assert ran.code == 1
    assert f"{second} exists already" in ran.err
    assert not first.exists()


def test_a_file_where_tests_of_dbt_should_go_is_named(run, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    ran = run("dbt", policy, "-o", policy)
    assert ran.code == 1
    assert "cannot make the folder" in ran.err
    assert policy.read_text() == POLICY


def test_a_log_replaces_nothing_that_is_read(run, repository, tmp_path):
    release, original = repository / "clean.csv", tmp_path / "original.csv"
    original.write_bytes(release.read_bytes())
    before = release.read_bytes()
    for place in (release, original):
        ran = run("scan", release, "--original", original, "--sarif", place)
        assert ran.code == 1
        assert "the output would replace the input" in ran.err
        assert place.read_bytes() == before


def test_the_action_scans_a_repository_with_planted_leaks(repository, tmp_path):
    """The step of the action runs as a runner would run it, with its inputs in the environment."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    assert all("shell" in step for step in action["runs"]["steps"] if "run" in step)
    step = next(step for step in action["runs"]["steps"] if step.get("id") == "scan")
    assert not re.search(r"\$\{\{", step["run"]), "inputs reach the shell by the environment alone"
    outputs = tmp_path / "outputs"
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "FILES": "releases/*.csv\nreleases/*.parquet",
        "POLICY": "",
        "FAIL_ON": action["inputs"]["fail-on"]["default"],
        "SARIF": "found.sarif",
        "GITHUB_OUTPUT": str(outputs),
    }
    (repository / "broken.parquet").unlink()
    bash = shutil.which("bash")
    assert bash is not None
    ran = subprocess.run([bash, "-e", "-c", step["run"]], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 4, ran.stderr
    document = json.loads((tmp_path / "found.sarif").read_text())
    jsonschema.validate(document, LOG)
    assert outputs.read_text() == "sarif=found.sarif\n"
    assert NAME not in ran.stdout + ran.stderr


def test_the_hook_takes_the_files_that_a_scan_reads(repository):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"] == "indistinct scan --fail-on suspicion"
    assert hook["language"] == "python"
    (extras,) = (re.fullmatch(r"\.\[(.+)\]", each) for each in hook["additional_dependencies"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras[1].split(",")) <= set(project["optional-dependencies"])
    taken = re.compile(hook["files"])
    for name in ("a.csv", "b/c.Parquet", "d.tsv.gz", "e.xlsx", "f.sav"):
        assert taken.search(name)
    for name in ("a.py", "csv.md", "data.json"):
        assert not taken.search(name)
