"""Kernels run where compiled code can be kept nowhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import indistinct

CHILD = """
import numpy as np
from indistinct.frequencies import _kernels
from indistinct.algorithms.partition import _strict_kernels
sums = np.zeros(2, dtype=np.int64)
_kernels.add_up(np.array([0, 1, 0]), np.array([2, 1, 3]), sums)
assert sums.tolist() == [5, 1]
print(_kernels.add_up.stats.cache_path)
"""


@pytest.fixture
def run(tmp_path):
    """Return what runs a child on a copy of the package; a file stands where each blocked folder would be made.

    A file is in the way of everybody, also of those whom permissions do not bind.
    """
    package = tmp_path / "site" / "indistinct"
    shutil.copytree(Path(indistinct.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "home").write_text("no directory")

    def start(blocked, **variables):
        for folder in blocked(package):
            (folder / "__pycache__").write_text("no directory")
        given = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        home = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home" / "cache")}
        child = subprocess.run(
            [sys.executable, "-c", CHILD],
            env={**given, **home, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert child.returncode == 0, child.stderr
        return child.stdout

    return start


def every_folder(package):
    return [package, *(folder for folder in package.rglob("*") if folder.is_dir())]


def test_no_folder_can_be_written(run):
    assert run(every_folder).strip() == "None"


def test_only_the_folders_of_kernels_cannot_be_written(run):
    assert run(lambda package: every_folder(package)[1:]).strip() == "None"


def test_a_folder_for_compiled_code_can_be_named(run, tmp_path):
    assert run(every_folder, NUMBA_CACHE_DIR=str(tmp_path / "kept")).startswith(str(tmp_path / "kept"))
    assert list((tmp_path / "kept").rglob("*.nbc"))
