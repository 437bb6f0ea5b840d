"""Kernels run where compiled code can be kept nowhere; where it is kept, it is right, and whoever waits is told."""

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
    assert list((tmp_path / "kept").rglob("*.kernel"))


MODULE = """
from indistinct.machine.compiled import inner, jit
{imports}

@inner
def double(x):
    return {factor} * x

@jit
def increase(x):
    return double(x) + ONE
"""

CALLER = """
from indistinct.machine import stages
from {name} import increase
told = []
with stages.watch_stages(lambda stage, rows: told.append(stage)):
    stages.enter("searching")
    print(increase(20), sum(increase.stats.cache_misses.values()), told)
"""


@pytest.fixture
def call(tmp_path):
    """Return what runs the kernel of a module in a process of its own."""

    def start(*, factor=2, one=1):
        (tmp_path / "constants.py").write_text(f"ONE = {one}")
        (tmp_path / "kernel.py").write_text(MODULE.format(imports="from constants import ONE", factor=factor))
        paths = os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))
        given = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": paths}
        given["PYTHONDONTWRITEBYTECODE"] = "1"
        program = [sys.executable, "-c", CALLER.format(name="kernel")]
        ran = subprocess.run(program, env=given, capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    return start


def test_a_kernel_is_compiled_once_and_who_waits_is_told(call):
    assert call() == "41 1 ['searching', 'preparing, once', 'searching']"
    assert call() == "41 0 ['searching']"


def test_where_nothing_can_be_kept_every_run_says_so(call, tmp_path):
    (tmp_path / "kept").write_text("no directory")
    for _ in range(2):
        assert call() == "41 1 ['searching', 'preparing, in every run', 'searching']"


def test_a_changed_source_and_a_changed_constant_from_elsewhere_compile_again(call):
    assert call().startswith("41 1")
    assert call(factor=3).startswith("61 1")
    assert call(one=2).startswith("42 1")
    assert call().startswith("41 0"), "the first one is still there"


def test_of_several_processes_one_compiles(tmp_path):
    given = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    program = [sys.executable, "-c", CHILD + "print(sum(_kernels.add_up.stats.cache_misses.values()))"]
    children = [subprocess.Popen(program, env=given, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    compiled = [int(child.communicate()[0].splitlines()[-1]) for child in children]
    assert [child.returncode for child in children] == [0, 0]
    assert sorted(compiled) == [0, 1]
    (kept,) = (tmp_path / "indistinct").iterdir()
    assert kept.suffix == ".kernel"
