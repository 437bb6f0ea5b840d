"""Rows on disk for a while: in a directory of their owner's alone that is gone when its run is, however that ends.

A run that was killed leaves its directory; the next one removes it, because nobody holds its lock any more.
"""

import atexit
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

from indistinct.locks import create_locked, is_unlocked

PREFIX = "indistinct-rows-"
LOCK = "lock"


@contextmanager
def private_directory(parent: Path | None = None) -> Iterator[Path]:
    """Give a new directory that only its owner can enter; it is removed at the end, with those of killed runs."""
    folder = parent or Path(os.environ.get("INDISTINCT_SPILL") or tempfile.gettempdir())
    remove_abandoned(folder)
    path = folder / f"{PREFIX}{secrets.token_hex(8)}"
    path.mkdir(mode=0o700)
    _, lock = create_locked(lambda: path / LOCK)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@cache
def directory_of_process() -> Path:
    """Return a private directory for as long as this process lives."""
    stack = ExitStack()
    path = stack.enter_context(private_directory())
    atexit.register(stack.close)
    return path


def remove_abandoned(folder: Path) -> None:
    """Remove what killed runs of this user left in a folder."""
    with suppress(OSError):
        for path in folder.glob(f"{PREFIX}*"):
            # A directory without a lock is being made, or removed, at this moment.
            own = path.is_dir() and not path.is_symlink() and path.stat().st_uid == os.getuid()
            if own and is_unlocked(path / LOCK):
                shutil.rmtree(path, ignore_errors=True)
