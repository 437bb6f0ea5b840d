"""Rows on disk for a while: in files without a name, or in a directory of their owner's alone.

The system removes a file without a name when its process ends, however it does. A database needs names: its directory
is removed at the end of a run, and after a kill by the next one, because nobody holds its lock any more.
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
from functools import cache
from pathlib import Path
from typing import IO

from indistinct.errors import OutputError
from indistinct.locks import create_locked, is_unlocked

PREFIX = "indistinct-rows-"
LOCK = "lock"
VARIABLE = "INDISTINCT_SPILL"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
HINT = f"set {VARIABLE} to a directory of your own with more room"


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


def nameless_file() -> IO[bytes]:
    """Return a file that nobody else can open, and that is gone when it is closed or its process ends."""
    with disk_errors():
        return tempfile.TemporaryFile(dir=spill_folder(), buffering=0)


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
    return OutputError(f"rows must go to disk for a while, and in {place} {why}", hint=HINT)


@contextmanager
def private_directory(parent: Path | None = None) -> Iterator[Path]:
    """Give a new directory that only its owner can enter; it is removed at the end, with those of killed runs."""
    folder = parent or spill_folder()
    remove_abandoned(folder)
    path, lock = folder / f"{PREFIX}{secrets.token_hex(8)}", None
    try:  # an interrupt may come before the first line of the caller
        with disk_errors():
            lock = _locked_directory(path)
        yield path
    finally:
        _remove(path)
        if lock is not None:
            os.close(lock)


def _locked_directory(path: Path) -> int | None:
    while True:
        path.mkdir(mode=0o700)
        # Another run takes a directory that is empty for one that a killed run left.
        with suppress(FileNotFoundError):
            return create_locked(lambda: path / LOCK)[1]


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


def remove_abandoned(folder: Path) -> None:
    """Remove what killed runs of this user left in a folder."""
    with suppress(OSError):
        for path in folder.glob(f"{PREFIX}*"):
            with suppress(OSError):
                if path.is_symlink() or not path.is_dir() or path.stat().st_uid != os.getuid():
                    continue
                if is_unlocked(path / LOCK):
                    _remove(path)
                elif not (path / LOCK).exists():
                    path.rmdir()  # it is being made at this moment, or a run was killed then: nothing is in it
