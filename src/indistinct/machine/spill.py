"""Rows on disk during a run: in files without a name, or in a private directory.

The system removes a file without a name when its process ends, however it ends: unencrypted rows are only in such
files. A database needs names and encrypts its files: its directory is removed at the end of a run or, after a kill, by
the next run, because its lock is then free.
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
# Where the system lists a process's open files, so that a library can open them by path.
OPEN_FILES = "/proc/{}/fd/{}"


def spill_folder() -> Path:
    """Return the folder for temporary rows: `INDISTINCT_SPILL`, or the system's temporary directory."""
    folder = Path(os.environ.get(VARIABLE) or tempfile.gettempdir())
    try:
        mode = folder.stat().st_mode
    except OSError:
        mode = 0
    if not stat.S_ISDIR(mode) or not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(
            f"rows must be stored on disk for a while, and {folder} is not a directory that can be written to",
            hint=HINT,
        )
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise OutputError(
            f"rows must be stored on disk for a while, and other users may replace files in {folder}",
            hint=f"take the right to write from others (chmod o-w), or {HINT}",
        )
    return folder.resolve()


def nameless_file(*, buffered: bool = False) -> IO[bytes]:
    """Return a private file that disappears when it is closed or its process ends."""
    with disk_errors():
        return tempfile.TemporaryFile(dir=spill_folder(), buffering=-1 if buffered else 0)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class NamelessFile:
    """A file without a name that can be opened at `path`, a link to this process's open file.

    It disappears when it is closed, when the last reference to it is gone, and when its process ends, however it ends.
    """

    path: Path
    file: IO[bytes]

    def close(self) -> None:
        """Close the file, which frees the disk space."""
        _close_nameless(self.path, self.file)


def create_nameless(name: str) -> NamelessFile:
    """Create a file without a name; `name` is the last part of its path, whose suffix gives readers the format.

    Where the system does not list open files, it is an ordinary file in a private directory.
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
    """Convert errors of writing rows to disk to `OutputError`."""
    try:
        yield
    except OSError as error:
        raise spill_error(full=error.errno in FULL) from None


def spill_error(*, full: bool) -> OutputError:
    """Return the error of a disk that cannot take temporary rows."""
    folder = os.environ.get(VARIABLE) or tempfile.gettempdir()
    why = "there is not enough room for them" if full else "they cannot be written"
    hint = f"{HINT}; with more memory (--memory) fewer rows go there" if full else HINT
    return OutputError(f"rows must be stored on disk for a while, and in {folder} {why}", hint=hint)


@contextmanager
def private_directory(parent: Path | None = None) -> Iterator[Path]:
    """Yield a new private directory; at the end it is removed, together with those that killed runs left."""
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
    """Create and lock a directory; every attempt is appended to `made`, and the last one is locked.

    Another run may remove a directory before it is locked, as left by a killed run; then a new one is created.
    """

    def choose() -> Path:
        made.append(folder / f"{PREFIX}{secrets.token_hex(8)}")
        made[-1].mkdir(mode=0o700)
        return made[-1] / LOCK

    while True:
        with suppress(FileNotFoundError):
            return create_locked(choose)[1]


def _remove(path: Path) -> None:
    """Remove a directory, its lock last, so that the next run finishes an interrupted removal."""
    with suppress(OSError):
        for each in path.iterdir():
            if each.name != LOCK:
                shutil.rmtree(each, ignore_errors=True) if each.is_dir() and not each.is_symlink() else each.unlink()
        (path / LOCK).unlink(missing_ok=True)
        path.rmdir()


@cache
def directory_of_process() -> Path:
    """Return a private directory that exists as long as this process."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(private_directory())


@cache
def remove_leftovers() -> None:
    """Remove what killed runs left in the folder for temporary rows, once per process: every command begins with it."""
    with suppress(IndistinctError):  # the step that needs the folder reports what is wrong
        remove_abandoned(spill_folder())


def remove_abandoned(folder: Path) -> None:
    """Remove what killed runs of this user left in a folder."""
    with suppress(OSError):
        for path in folder.glob(f"{PREFIX}*"):
            with suppress(OSError):
                if path.is_symlink() or not path.is_dir() or path.stat().st_uid != os.getuid():
                    continue
                with hold_unlocked(path / LOCK) as unlocked:
                    if unlocked:
                        _remove(path)
                if not (path / LOCK).exists():
                    path.rmdir()  # it is being created, or a run was killed while creating it: it is empty
