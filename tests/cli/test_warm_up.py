"""Kernels can be compiled ahead of the first run."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from indistinct.algorithms.registry import ALGORITHMS
from indistinct.testing.checks.examples import forms_of


def test_kernels_of_an_algorithm_are_kept(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    ran = run("warm-up", "--algorithm", "datafly", "--json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    assert told["kernels"] > 0
    assert list((tmp_path / "kernels").rglob("*.kernel"))
    assert all(folder.startswith(str(tmp_path / "kernels")) for folder in told["folders"])


def test_a_relative_folder_keeps_what_commands_compile_elsewhere(tmp_path: Path) -> None:
    code = (
        "from indistinct.cli import kernels\n"
        "kernels.FROM_FILE_TO_RELEASE = 'generate patients --rows 20 --seed 1 -o patients.csv'\n"
        "kernels._main([kernels.COMMANDS])"
    )
    given = {**os.environ, "NUMBA_CACHE_DIR": "kept"}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=given, check=True, capture_output=True)
    assert list((tmp_path / "kept").rglob("*.spell_rows-*.kernel"))


def test_an_unknown_algorithm_is_refused(run: Callable) -> None:
    ran = run("warm-up", "--algorithm", "mondrain")
    assert ran.code == 2
    assert "mondrian" in ran.err


def test_every_registered_algorithm_has_forms_to_run() -> None:
    assert all(forms_of(name) for name in ALGORITHMS)
