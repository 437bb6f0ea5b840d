"""`indistinct analyze`: the gate, its JSON, and what it refuses."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from indistinct.cli import app
from indistinct.errors import ParameterError

POLICY = """
[input]
path = "people.csv"
[columns]
name = "identifier"
age = "quasi"
sex = "quasi"
cost = "insensitive"
[privacy]
models = ["k-anonymity:k=2"]
[analysis]
formulas = ["cost ~ age"]
"""


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Write people, a release whose ages are reversed, and a policy; return release and policy."""
    ages = [20 + index % 50 for index in range(100)]
    people = [f"n{index},{age},{'fm'[index % 2]},{10 * age + index % 7}" for index, age in enumerate(ages)]
    (tmp_path / "people.csv").write_text("name,age,sex,cost\n" + "\n".join(people) + "\n")
    released = [f"{90 - age},*,{10 * age + index % 7}" for index, age in enumerate(ages)]
    (tmp_path / "release.csv").write_text("age,sex,cost\n" + "\n".join(released) + "\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    return str(tmp_path / "release.csv"), str(tmp_path / "policy.toml")


def test_the_gate_exits_with_4_and_names_what_flips(files: tuple[str, str]) -> None:
    release, policy = files
    asked = ("analyze", release, "--policy", policy, "--json")
    assert run(*asked).exit_code == 0
    result = run(*asked, "--least-overlap", "0.8")
    assert result.exit_code == 4
    (one,) = json.loads(result.stdout)["analyses"]
    (age,) = (each for each in one["terms"] if each["term"] == "age")
    assert {"estimate", "low", "high"} <= set(age["before"]) & set(age["after"])
    assert age["before"]["estimate"] == pytest.approx(-age["after"]["estimate"], rel=0.01)
    assert age["overlap"] == 0
    assert age["flips"] == ["sign"]


def test_the_gate_passes_where_nothing_changes(files: tuple[str, str]) -> None:
    _, policy = files
    original = str(Path(policy).parent / "people.csv")
    same = ("analyze", original, "--quasi", "age,sex", "--identifier", "name", "--insensitive", "cost")
    result = run(*same, "--original", original, "--formula", "cost ~ age", "--least-overlap", "0.99")
    assert result.exit_code == 0, result.output


def test_the_forest_plot_is_written(files: tuple[str, str]) -> None:
    release, policy = files
    chart = Path(policy).parent / "forest.svg"
    assert run("analyze", release, "--policy", policy, "--chart", str(chart)).exit_code == 0
    assert "<svg" in chart.read_text()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--formula", "cost ~ wage"), "wage"),
        (("--formula", "cost ~ name"), "identifier"),
        (("--formula", "cost ~ age", "--rule", "age=median"), "median"),
        (("--mean", "cost by town"), "town"),
    ],
)
def test_what_cannot_be_analyzed_is_said(files: tuple[str, str], flags: tuple[str, ...], message: str) -> None:
    release, policy = files
    error = run("analyze", release, "--policy", policy, *flags).exception
    assert isinstance(error, ParameterError)
    assert message in str(error)


def test_a_suppressed_column_has_no_estimate(files: tuple[str, str]) -> None:
    release, policy = files
    result = run("analyze", release, "--policy", policy, "--formula", "cost ~ C(sex)", "--least-overlap", "0.1")
    assert result.exit_code == 4
    assert "cannot be estimated on the release" in result.output


def test_the_original_must_be_known(files: tuple[str, str]) -> None:
    release, _ = files
    error = run("analyze", release, "--quasi", "age,sex", "--insensitive", "cost", "--formula", "cost ~ age").exception
    assert isinstance(error, ParameterError)
    assert "original" in str(error)
