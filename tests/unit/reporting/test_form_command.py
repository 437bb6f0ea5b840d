"""`indistinct report --for`: what it takes as the original, what it refuses, and that it agrees with `verify`."""

import json
from pathlib import Path

import docx
import pyarrow as pa
import pyarrow.csv as csv
from typer.testing import CliRunner, Result

from indistinct.cli import app
from indistinct.errors import ParameterError

POLICY = """
[input]
path = "visits.csv"
[columns]
patient = { role = "person", pseudonym = "random" }
sex = "quasi"
cost = "sensitive"
[privacy]
models = ["k-anonymity:k=3"]
knows = "classes"
[algorithm]
use = "datafly"
[output]
path = "release.csv"
"""


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def publish(folder: Path) -> tuple[str, str]:
    """Publish visits of people who came once, twice and three times; return release and policy."""
    visits = [(person, sex) for sex in "fm" for person in range(4) for _ in range(person % 3 + 1)]
    table = {
        "patient": [f"{sex}{person}" for person, sex in visits],
        "sex": [sex for _, sex in visits],
        "cost": list(range(len(visits))),
    }
    csv.write_csv(pa.table(table), folder / "visits.csv")
    (folder / "policy.toml").write_text(POLICY)
    result = run("anonymize", str(folder / "policy.toml"))
    assert result.exit_code == 0, result.output
    return str(folder / "release.csv"), str(folder / "policy.toml")


def test_a_form_says_of_pseudonyms_what_verify_says(tmp_path: Path) -> None:
    release, policy = publish(tmp_path)
    assert run("verify", release, "--policy", policy).exit_code == 0
    form = str(tmp_path / "form.docx")
    result = run("report", release, "--policy", policy, "--for", "hipaa", "-o", form, "--seconds", "0.2", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["documents"]["certificate"]["holds"]
    assert told["documents"]["attack"]["outcomes"], "the policy's input is the original"
    cells = [cell.text for table in docx.Document(form).tables for row in table.rows for cell in row.cells]
    assert "satisfied" in cells
    assert "NOT satisfied" not in cells


def test_a_form_of_a_release_that_does_not_hold_exits_with_4(tmp_path: Path) -> None:
    release, policy = publish(tmp_path)
    Path(policy).write_text(POLICY.replace("k=3", "k=5"))
    form = str(tmp_path / "form.html")
    result = run("report", release, "--policy", policy, "--for", "gdpr", "-o", form, "--seconds", "0.2")
    assert result.exit_code == 4
    assert "NOT satisfied" in Path(form).read_text()


def test_a_form_needs_the_original(tmp_path: Path) -> None:
    csv.write_csv(pa.table({"age": [1, 1]}), tmp_path / "release.csv")
    result = run("report", str(tmp_path / "release.csv"), "--quasi", "age", "--for", "ico", "-o", "x.html")
    assert isinstance(result.exception, ParameterError)
    assert "original" in str(result.exception)
