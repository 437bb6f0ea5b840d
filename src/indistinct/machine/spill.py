"""Rows on disk for a while: in files without a name, or in a directory of their owner's alone.

The system removes a file without a name when its process ends, however it does: rows in plain lie in such files alone.
A database needs names, and enciphers: its directory is removed at the end of a run, and after a kill by whatever runs
next, because nobody holds its lock any more.
"""

import atexit
import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO
from weakref import finalize

from indistinct.errors import IndistinctError, OutputError
from indistinct.machine.locks import create_locked, hold_unlocked

PREFIX = "indistinct-rows-"
LOCK = "lock"
VARIABLE = "INDISTINCT_SPILL"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
HINT = f"set {VARIABLE} to a directory of your own with more room"
# Where the system shows what a process has open, so that a library can open that by a path.
OPEN_FILES = "/proc/{}/fd/{}"


def spill_folder() -> Path:
    """Return where rows may lie for a while: `INDISTINCT_SPILL`, or the system's temporary directory."""
    folder = Path(os.environ.get(VARIABLE) or tempfile.gettempdir())
    try:
        mode = folder.stat().st_mode
    except OSError:
        mode = 0
    if not stat.S_ISDIR(mode) or not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(
            f"rows must go to disk for a while, and {folder} is no directory that can be written to", hint=HINT
        )
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise OutputError(
            f"rows must go to disk for a while, and everybody may replace what lies in {folder}",
            hint=f"take the right to write from others (chmod o-w), or {HINT}",
        )
    return folder.resolve()


def nameless_file(*, buffered: bool = False) -> IO[bytes]:
    """Return a file that nobody else can open, and that is gone when it is closed or its process ends."""
    with disk_errors():
        return tempfile.TemporaryFile(dir=spill_folder(), buffering=-1 if buffered else 0)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class NamelessFile:
    """A file without a name that is opened at `path` as others are: a link to what this process holds open.

    It is gone when it is closed, when nobody holds it any more, and when its process ends, however it does.
    """

    path: Path
    file: IO[bytes]

    def close(self) -> None:
        """Give the disk back."""
        _close_nameless(self.path, self.file)


def create_nameless(name: str) -> NamelessFile:
    """Create a file without a name; `name` is the last part of its path, whose suffix tells readers what it holds.

    Where the system does not show what a process has open, it is an ordinary file in a directory of its owner's alone.
    """
    with disk_errors():
        folder = directory_of_process() / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        path, file = folder / name, nameless_file()
        target = Path(OPEN_FILES.format(os.getpid(), file.fileno()))
        if _is_open_at(target, file):
            path.symlink_to(target)
        else:
            file.close()
            file = path.open("xb", buffering=0)
    made = NamelessFile(path, file)
    finalize(made, _close_nameless, path, file)
    return made


def _is_open_at(path: Path, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except OSError:
        return False


def _close_nameless(path: Path, file: IO[bytes]) -> None:
    file.close()
    with suppress(OSError):
        path.unlink(missing_ok=True)
        path.parent.rmdir()


@contextmanager
def disk_errors() -> Iterator[None]:
    """Say in our words that rows cannot be written to disk."""
    try:
        yield
    except OSError as error:
        raise spill_error(full=error.errno in FULL) from None


def spill_error(*, full: bool) -> OutputError:
    """Return the error of a disk on which rows must lie for a while."""
    place = os.environ.get(VARIABLE) or tempfile.gettempdir()
    why = "there is not enough room for them" if full else "they cannot be written"
    hint = f"{HINT}; with more memory (--memory) fewer rows go there" if full else HINT
    return OutputError(f"rows must go to disk for a while, and in {place} {why}", hint=hint)


@contextmanager
def private_directory(parent: Path | None = None) -> Iterator[Path]:
    """Give a new directory that only its owner can enter; it is removed at the end, with those of killed runs."""
    folder, lock = parent or spill_folder(), None
    remove_abandoned(folder)
    made: list[Path] = []
    try:  # an interrupt may come before the first line of the caller
        with disk_errors():
            lock = _create_locked_directory(folder, made)
        yield made[-1]
    finally:
        for path in made:
            _remove(path)
        if lock is not None:
            os.close(lock)


def _create_locked_directory(folder: Path, made: list[Path]) -> int | None:
    """Create a directory and lock it; the last one that is `made` is the one.

    Another run takes one without a lock for one that a killed run left, and removes it: then there is a new one.
    """

    def choose() -> Path:
        made.append(folder / f"{PREFIX}{secrets.token_hex(8)}")
        made[-1].mkdir(mode=0o700)
        return made[-1] / LOCK

    while True:
        with suppress(FileNotFoundError):
            return create_locked(choose)[1]


def _remove(path: Path) -> None:
    """Remove a directory, its lock last: whoever is killed meanwhile leaves one that the next run removes."""
    with suppress(OSError):
        for each in path.iterdir():
            if each.name != LOCK:
                shutil.rmtree(each, ignore_errors=True) if each.is_dir() and not each.is_symlink() else each.unlink()
        (path / LOCK).unlink(missing_ok=True)
        path.rmdir()


@cache
def directory_of_process() -> Path:
    """Return a private directory for as long as this process lives."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(private_directory())


@cache
def remove_leftovers() -> None:
    """Remove what killed runs left where rows may lie, once in a process: every command begins with it."""
    with suppress(IndistinctError):  # whoever needs the folder says what is wrong with it
        remove_abandoned(spill_folder())


def remove_abandoned(folder: Path) -> None:
    """Remove what killed runs of this user left in a folder."""
    with suppress(OSError):
        for path in folder.glob(f"{PREFIX}*"):
            with suppress(OSError):
                if path.is_symlink() or not path.is_dir() or path.stat().st_uid != os.getuid():
                    continue
                with hold_unlocked(path / LOCK) as held:
                    if held:
                        _remove(path)
                if not (path / LOCK).exists():
                    path.rmdir()  # it is being made at this moment, or a run was killed then: nothing is in it
