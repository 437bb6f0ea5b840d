"""Answers that a change of design must not change: the JSON of every command, and the bytes of seeded releases.

Each case is one seeded job on invented people. What its release looks like and what every command says about it lies in
`answers/`. Sentences are not compared here, only figures, names and verdicts. After a change that is meant to change an
answer, write the files anew with `INDISTINCT_FREEZE=write` and read the difference before committing it.
"""

import hashlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from references.command_line import Ran

ANSWERS = Path(__file__).parent / "answers"
WRITE = os.environ.get("INDISTINCT_FREEZE") == "write"
RELATIVE_TOLERANCE = 1e-9
WORDS = {
    *("seconds", "time", "created", "version", "sentence", "sentences", "note", "notes", "warnings", "reason", "hint"),
    *("words", "remedy", "recoding_digest"),
}
"""Keys whose values are sentences, or differ from run to run (a digest of a recoding is keyed)."""

PATIENTS = """
name = "identifier"
age = { role = "quasi", hierarchy = { intervals = [5, 10, 20] } }
sex = "quasi"
zipcode = { role = "quasi", hierarchy = { mask = "right" } }
admitted = "insensitive"
disease = "sensitive"
cost = "sensitive"
"""
VISITS = """
person = "person"
age = "quasi"
sex = "quasi"
zipcode = { role = "quasi", hierarchy = { mask = "right" } }
diagnosis = "sensitive"
"""


@dataclass(frozen=True)
class Case:
    """One job: the sample that is generated, its roles, and what is asked of the release."""

    sample: str
    columns: str
    models: tuple[str, ...]
    algorithm: str
    engine: str = "memory"
    suppression: float = 0.0
    population: bool = False


CASES = {
    "mondrian": Case("patients", PATIENTS, ("k-anonymity:k=5",), "mondrian"),
    "mondrian-duckdb": Case("patients", PATIENTS, ("k-anonymity:k=5",), "mondrian", engine="duckdb"),
    "auto-l-diverse": Case(
        "patients", PATIENTS, ("k-anonymity:k=4", "distinct-l-diversity:sensitive=disease,l=3"), "auto"
    ),
    "relaxed": Case("patients", PATIENTS, ("k-anonymity:k=6",), "mondrian:relaxed=true"),
    "regions-of-means": Case("patients", PATIENTS, ("k-anonymity:k=5",), "mondrian:extent=region,numeric=mean"),
    "optimal": Case(
        "patients", PATIENTS, ("k-anonymity:k=5", "t-closeness:sensitive=disease,t=0.5"), "optimal", suppression=0.1
    ),
    "kaca": Case("patients", PATIENTS, ("k-anonymity:k=5",), "kaca"),
    "cells": Case("patients", PATIENTS, ("k-anonymity:k=3",), "cell-suppression", suppression=0.05),
    "anatomy": Case("patients", PATIENTS, (), "anatomy:l=3"),
    "multiset": Case("patients", PATIENTS, (), "multiset:l=2"),
    "slicing": Case("patients", PATIENTS, (), "slicing:l=2"),
    "slicing-duckdb": Case("patients", PATIENTS, (), "slicing:l=2", engine="duckdb"),
    "people": Case("visits", VISITS, ("k-anonymity:k=4",), "mondrian", suppression=0.05),
    "population": Case("patients", PATIENTS, ("k-map:k=5",), "mondrian", population=True),
}
ABOUT_A_RELEASE = {
    "verify": ["verify", "{release}", "--policy", "policy.toml", "--original", "{original}"],
    "assess": ["assess", "{release}", "--policy", "policy.toml", "--original", "{original}"],
    "profile": ["assess", "{release}", "--policy", "policy.toml", "--original", "{original}", "--profile", "public"],
    "attack": ["attack", "all", "{release}", "--policy", "policy.toml"],
    "measure": ["measure", "{release}", "--policy", "policy.toml"],
    "distributions": ["distributions", "{release}", "--policy", "policy.toml"],
    "count": [
        "query",
        "{release}",
        "SELECT COUNT(*) WHERE age BETWEEN 30 AND 49 AND sex = 'female'",
        "--policy",
        "policy.toml",
    ],
    "mean": ["query", "{release}", "SELECT AVG(age) WHERE sex = 'male'", "--policy", "policy.toml"],
    "codebook": ["codebook", "{release}", "--policy", "policy.toml"],
    "scan": ["scan", "{release}", "--policy", "policy.toml", "--original", "{original}"],
}
ABOUT_AN_ORIGINAL = {
    "inspect": ["inspect", "patients.csv"],
    "assess": ["assess", "patients.csv", "--policy", "policy.toml"],
    "explore": ["explore", "policy.toml", "--metric", "loss"],
    "compare": ["compare", "policy.toml", "--algorithms", "mondrian,datafly,anatomy:l=2"],
}


def write_job(case: Case, folder: Path, run: Callable[..., Ran]) -> None:
    """Write the sample, its population and the policy into `folder`."""
    assert run("generate", case.sample, "--rows", 300, "--seed", 7, "-o", folder / f"{case.sample}.csv").code == 0
    models = ", ".join(f'"{model}"' for model in case.models)
    people = ""
    if case.population:
        assert run("generate", case.sample, "--rows", 2000, "--seed", 7, "-o", folder / "everybody.csv").code == 0
        people = 'population = "everybody.csv"'
    (folder / "policy.toml").write_text(
        f'[input]\npath = "{case.sample}.csv"\n{people}\n[columns]\n{case.columns}'
        f"[privacy]\nmodels = [{models}]\nsuppression = {case.suppression}\n"
        f'[algorithm]\nuse = "{case.algorithm}"\n[output]\npath = "release.csv"\n'
    )


def figures(value: Any) -> Any:
    """Return a JSON value without sentences and without what differs from run to run."""
    if isinstance(value, dict):
        return {key: figures(part) for key, part in value.items() if key not in WORDS}
    if isinstance(value, list):
        return [figures(part) for part in value]
    return value


def differences(expected: Any, actual: Any, path: str = "") -> list[str]:
    """List where two JSON values differ, numbers beyond the tolerance only."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        keys = [*expected, *(key for key in actual if key not in expected)]
        missing = object()
        return [
            line
            for key in keys
            for line in differences(expected.get(key, missing), actual.get(key, missing), f"{path}.{key}")
        ]
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [
            line
            for index, (one, other) in enumerate(zip(expected, actual, strict=True))
            for line in differences(one, other, f"{path}[{index}]")
        ]
    if isinstance(expected, float) and isinstance(actual, float):
        same = math.isclose(expected, actual, rel_tol=RELATIVE_TOLERANCE, abs_tol=RELATIVE_TOLERANCE)
        return [] if same else [f"{path}: {expected} is now {actual}"]
    return [] if expected == actual and type(expected) is type(actual) else [f"{path}: {expected} is now {actual}"]


def check(name: str, answers: dict[str, Any]) -> None:
    """Compare answers with those in the file of their case, or write that file."""
    file = ANSWERS / f"{name}.json"
    lines = (f"{json.dumps(verb)}: {json.dumps(part, sort_keys=True)}" for verb, part in sorted(answers.items()))
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if WRITE:
        file.write_text(text, encoding="utf-8")
    assert not differences(json.loads(file.read_text(encoding="utf-8")), json.loads(text))


def answer(ran: Ran) -> dict[str, Any]:
    """Return the exit code and the figures of a command's JSON."""
    return {"exit": ran.code, "json": figures(json.loads(ran.out)) if ran.out else None}


@pytest.mark.parametrize("name", CASES)
def test_a_release_and_what_is_said_of_it(name, run, tmp_path, monkeypatch):
    case = CASES[name]
    monkeypatch.chdir(tmp_path)
    write_job(case, tmp_path, run)
    made = run("anonymize", "policy.toml", "--seed", 5, "--engine", case.engine, "--json")
    answers = {"anonymize": answer(made)}
    for file in sorted(tmp_path.glob("release*.csv")):
        answers[f"digest of {file.name}"] = {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    fill = {"release": "release.csv", "original": f"{case.sample}.csv"}
    for verb, arguments in ABOUT_A_RELEASE.items():
        answers[verb] = answer(run(*(part.format(**fill) for part in arguments), "--json"))
    check(name, answers)


def test_what_is_said_of_an_original(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_job(CASES["optimal"], tmp_path, run)
    check("original", {verb: answer(run(*arguments, "--json")) for verb, arguments in ABOUT_AN_ORIGINAL.items()})
