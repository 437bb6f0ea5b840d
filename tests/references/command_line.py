"""Runs of the command line inside the test process, and a small table with a policy for them."""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from indistinct.cli import main
from indistinct.cli.json_schemas import schema_of
from indistinct.release.writing.files import write_table
from indistinct.samples import generate_patients

POLICY = """
[input]
path = "patients.csv"
[columns]
name = "identifier"
age = { role = "quasi", hierarchy = { intervals = [5, 10, 20] } }
sex = "quasi"
zipcode = { role = "quasi", hierarchy = { mask = "right" } }
admitted = "insensitive"
disease = "sensitive"
cost = "sensitive"
[privacy]
models = ["k-anonymity:k=5"]
[algorithm]
use = "mondrian"
[output]
path = "release.csv"
"""
"""Publishes `patients` by Mondrian, k = 5."""
ROLES = [
    "--identifier",
    "name",
    "--quasi",
    "age,sex,zipcode",
    "--sensitive",
    "disease,cost",
    "--insensitive",
    "admitted",
]
"""The roles of that policy as flags."""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def unknown_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the width of the terminal that tests run in: sentences are then not broken."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def call(*argv: object) -> Ran:
        capsys.readouterr()
        code = main([str(part) for part in argv])
        captured = capsys.readouterr()
        if "--json" in argv:
            fit_schema(str(argv[0]), json.loads(captured.out))
        return Ran(code, captured.out, captured.err)

    return call


@functools.cache
def _validator(command: str) -> Draft202012Validator:
    return Draft202012Validator(schema_of(command))


def fit_schema(command: str, document: dict[str, Any]) -> None:
    """Raise unless a document that a command printed fits its schema in `cli/json_schemas.py`."""
    failed = set(document) == {"error"}
    error = best_match(_validator("error" if failed else command).iter_errors(document))
    assert error is None, f"{command} --json: {error.json_path}: {error.message[:300]}"


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    write_table(generate_patients(300, seed=1), path)
    return path
