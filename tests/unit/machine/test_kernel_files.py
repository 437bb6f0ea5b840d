"""Kernels are kept where nobody else can write, and only what was kept whole is read."""

import os
import pickle
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


FOREIGN = 4242
"""The number of another user, who need not exist."""

as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file to another user"
)


def give_away(path):
    os.chown(path, FOREIGN, FOREIGN, follow_symlinks=False)


def plant(folder):
    """Put a kernel of another user's making into a folder that belongs to this user, as unpacked archives do."""
    folder.mkdir(mode=0o700, parents=True)
    content = b"foreign code"
    (folder / NAME).write_bytes(kernel_files._digest(NAME, content) + content)
    (folder / NAME).chmod(0o600)
    return folder


@as_root
@needs_owners
def test_a_link_in_the_directory_of_another_user_is_not_followed(tmp_path, monkeypatch):
    """The target belongs to this user and only this user can write it; the link to it does not."""
    planted, shared = plant(tmp_path / "downloads" / "kernels"), tmp_path / "shared"
    shared.mkdir(mode=0o755)
    (shared / "indistinct").symlink_to(planted)
    for path in (shared / "indistinct", shared):
        give_away(path)
    assert choose_folder(monkeypatch, NUMBA_CACHE_DIR=shared) is None
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(shared))
    assert read_kernel(NAME) is None
    own_folder.cache_clear()


@needs_owners
def test_the_folder_itself_is_never_a_link(tmp_path, monkeypatch):
    planted = plant(tmp_path / "downloads" / "kernels")
    (tmp_path / "indistinct").symlink_to(planted)
    assert choose_folder(monkeypatch, NUMBA_CACHE_DIR=tmp_path) is None


@as_root
@needs_owners
@pytest.mark.parametrize("given", ["parent", "grandparent", "link"])
def test_every_directory_on_the_path_belongs_to_the_user(given, tmp_path, monkeypatch):
    """The owner of a directory or a link on the path could replace what follows it."""
    parent = tmp_path / "grandparent" / "parent"
    parent.mkdir(parents=True, mode=0o755)
    (tmp_path / "link").symlink_to(parent)
    give_away({"parent": parent, "grandparent": parent.parent, "link": tmp_path / "link"}[given])
    assert choose_folder(monkeypatch, NUMBA_CACHE_DIR=tmp_path / "link") is None


@needs_owners
@pytest.mark.parametrize(("mode", "is_safe"), [(0o777, False), (0o775, False), (0o1777, True), (0o755, True)])
def test_a_parent_that_others_can_write_is_sticky(mode, is_safe, tmp_path, monkeypatch):
    parent = tmp_path / "parent"
    parent.mkdir()
    parent.chmod(mode)
    assert (choose_folder(monkeypatch, NUMBA_CACHE_DIR=parent / "own") is not None) == is_safe


@needs_owners
def test_links_of_the_user_on_the_path_are_followed(tmp_path, monkeypatch):
    (tmp_path / "disk" / "cache").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "cache").symlink_to(Path("..") / "disk" / "cache")
    assert choose_folder(monkeypatch, NUMBA_CACHE_DIR=tmp_path / "home" / "cache") is not None
    (tmp_path / "disk").chmod(0o777)
    assert choose_folder(monkeypatch, NUMBA_CACHE_DIR=tmp_path / "home" / "cache") is None
    (tmp_path / "round").symlink_to(tmp_path / "round")
    assert choose_folder(monkeypatch, NUMBA_CACHE_DIR=tmp_path / "round") is None


@needs_owners
def test_a_file_that_is_a_link_is_not_read(folder, tmp_path):
    (folder / NAME).symlink_to(plant(tmp_path / "downloads") / NAME)
    assert read_kernel(NAME) is None


@as_root
@needs_owners
def test_a_file_of_another_user_is_not_read(folder):
    keep_kernel(NAME, b"code")
    give_away(folder / NAME)
    assert read_kernel(NAME) is None


def test_a_file_under_the_name_of_another_kernel_is_not_read(folder):
    keep_kernel(NAME, b"code")
    (folder / NAME).rename(folder / "other.kernel")
    assert read_kernel("other.kernel") is None


@as_root
@needs_owners
def test_code_of_another_user_does_not_run(tmp_path):
    """A process whose cache is named in a directory of another user compiles, and loads nothing from there."""
    assert run_child(tmp_path / "sound") == [0, 1]
    planted, shared = (tmp_path / "sound" / "indistinct"), tmp_path / "shared"
    for path in planted.glob("*.kernel"):
        content = pickle.dumps(Runs(tmp_path / "ran"))
        path.write_bytes(kernel_files._digest(path.name, content) + content)
    shared.mkdir(mode=0o755)
    (shared / "indistinct").symlink_to(planted)
    give_away(shared / "indistinct")
    give_away(shared)
    assert run_child(shared) == [0, 1]
    assert not (tmp_path / "ran").exists()


class Runs:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


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
    long_ago = time.time() - kernel_files.OLD_KERNEL_S - 60
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
