"""Examples of pages about databases run."""

from pathlib import Path

import pytest

from indistinct.samples import generate_patients
from references.documentation import name_of, pages_with, run_python_examples, run_shell_examples


@pytest.fixture
def folder(postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, beside the server that the pages take for granted, with the table that they read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGHOST", str(postgres.folder))
    monkeypatch.setenv("PGUSER", "postgres")
    postgres.run("DROP DATABASE IF EXISTS clinic", "CREATE DATABASE clinic")
    postgres.run("CREATE SCHEMA hospital", database="clinic")
    postgres.upload(generate_patients(500, seed=1), "hospital.visits", database="clinic")
    return tmp_path


@pytest.mark.parametrize("page", pages_with("python", databases=True), ids=name_of)
def test_python_examples_run(page: Path, folder: Path) -> None:
    run_python_examples(page, folder)


@pytest.mark.parametrize("page", pages_with("shell", databases=True), ids=name_of)
def test_shell_examples_run(page: Path, folder: Path) -> None:
    run_shell_examples(page, folder)


def test_there_are_such_pages() -> None:
    assert pages_with("python", databases=True)
    assert pages_with("shell", databases=True)
