"""Kernels are kept where nobody else can write, and only what was kept whole is read."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from indistinct.machine import kernel_files
from indistinct.machine.kernel_files import keep_kernel, lock_path, own_folder, read_kernel

NAME = "frequencies.add_up-00.kernel"
needs_owners = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no owner and mode of a file")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of a user who names one."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "named"))
    own_folder.cache_clear()
    yield own_folder()
    own_folder.cache_clear()


def choose_folder(monkeypatch, **variables):
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))
    own_folder.cache_clear()
    try:
        return own_folder()
    finally:
        own_folder.cache_clear()


def test_what_is_kept_is_read(folder):
    assert read_kernel(NAME) is None
    keep_kernel(NAME, b"code")
    assert read_kernel(NAME) == b"code"
    assert [path.name for path in folder.iterdir()] == [NAME]
    assert lock_path(NAME).parent == folder


@needs_owners
def test_nobody_else_can_read_or_write_what_is_kept(folder):
    keep_kernel(NAME, b"code")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / NAME).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "harm", [lambda data: data[:-1], lambda data: data[:7], lambda data: b"", lambda data: data[:40] + b"x"]
)
def test_a_file_that_is_not_whole_is_not_read(folder, harm):
    keep_kernel(NAME, b"code of a kernel")
    path = folder / NAME
    path.write_bytes(harm(path.read_bytes()))
    assert read_kernel(NAME) is None


@needs_owners
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_not_read(folder, mode):
    keep_kernel(NAME, b"code")
    (folder / NAME).chmod(mode)
    assert read_kernel(NAME) is None


@needs_owners
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_can_write_is_not_used(tmp_path, monkeypatch, mode):
    (tmp_path / "indistinct").mkdir()
    (tmp_path / "indistinct").chmod(mode)
    assert choose_folder(monkeypatch, NUMBA_CACHE_DIR=tmp_path) is None


@needs_owners
def test_the_folder_and_the_file_of_somebody_else_are_not_used(folder, monkeypatch):
    keep_kernel(NAME, b"code")
    ours = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: ours + 1)
    assert read_kernel(NAME) is None
    own_folder.cache_clear()
    assert own_folder() is None


def test_without_a_name_the_folder_is_the_users_own(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    cache = tmp_path / "cache"
    assert choose_folder(monkeypatch, XDG_CACHE_HOME=cache) == cache / "indistinct" / "kernels"
    assert choose_folder(monkeypatch, HOME=tmp_path) == tmp_path / ".cache" / "indistinct" / "kernels"
    # A relative one would be another in every working directory.
    assert choose_folder(monkeypatch, HOME=tmp_path, XDG_CACHE_HOME="here").is_relative_to(tmp_path)


def test_a_user_without_a_home_keeps_kernels_beside_the_package(tmp_path, monkeypatch):
    (tmp_path / "home").write_text("no directory")
    monkeypatch.setattr(kernel_files, "__file__", str(tmp_path / "package" / "kernel_files.py"))
    found = choose_folder(monkeypatch, HOME=tmp_path / "home")
    assert found == tmp_path / "package" / "__pycache__" / "kernels"


def test_nothing_is_kept_where_no_folder_is_safe(monkeypatch):
    monkeypatch.setattr(kernel_files, "own_folder", lambda: None)
    keep_kernel(NAME, b"code")
    assert read_kernel(NAME) is None
    assert lock_path(NAME) is None


def test_a_shipped_kernel_comes_before_the_users_own(folder, tmp_path, monkeypatch):
    keep_kernel(NAME, b"shipped")
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (folder / NAME).rename(shipped / NAME)
    monkeypatch.setattr(kernel_files, "SHIPPED", shipped)
    keep_kernel(NAME, b"own")
    assert read_kernel(NAME) == b"shipped"


def test_old_kernels_go_when_a_new_one_comes(folder):
    for name in ("old", "young"):
        keep_kernel(f"{name}.kernel", b"code")
    long_ago = time.time() - kernel_files.OLD - 60
    os.utime(folder / "old.kernel", (long_ago, long_ago))
    keep_kernel(NAME, b"code")
    assert sorted(path.name for path in folder.iterdir()) == sorted([NAME, "young.kernel"])


CHILD = """
import sys, numpy as np
from indistinct.frequencies import _kernels
_kernels.add_up(np.array([0, 1, 0]), np.array([2, 1, 3]), np.zeros(2, dtype=np.int64))
print(*(sum(counter.values()) for counter in (_kernels.add_up.stats.cache_hits, _kernels.add_up.stats.cache_misses)))
"""


def run_child(folder: Path, **variables: str) -> list[int]:
    """Return how many kernels a process loaded, and how many it compiled."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), **variables}
    ran = subprocess.run([sys.executable, "-c", CHILD], env=environment, capture_output=True, text=True, check=True)
    return [int(word) for word in ran.stdout.split()]


def test_a_kernel_for_every_processor_serves_each_and_one_for_this_serves_no_other(tmp_path):
    assert run_child(tmp_path / "all", NUMBA_CPU_NAME="generic") == [0, 1]
    assert run_child(tmp_path / "all") == [1, 0]
    assert run_child(tmp_path / "this") == [0, 1]
    assert run_child(tmp_path / "this") == [1, 0]
    assert run_child(tmp_path / "this", NUMBA_CPU_NAME="generic") == [0, 1]
