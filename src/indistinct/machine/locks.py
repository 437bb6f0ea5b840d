"""Advisory locks: which temporary files belong to a running process, and which run is renaming files.

The system releases a lock when its process ends, however it ends. Where there are no locks, no process is assumed dead.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

UNFOLLOWED = getattr(os, "O_NOFOLLOW", 0)


def create_locked(choose: Callable[[], Path]) -> tuple[Path, int | None]:
    """Create a file that only its owner can read; return its path and the descriptor that locks it, if locks exist.

    If another run removes the file before it is locked, `choose` gives another name.
    """
    while True:
        path = choose()
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        try:
            _lock(descriptor, wait=False)
            if _is_at(path, descriptor):
                return path, descriptor
        except BlockingIOError:
            pass
        except OSError:
            os.close(descriptor)
            return path, None
        os.close(descriptor)


def remove_unlocked(path: Path) -> None:
    """Remove a file unless a running process has locked it; never follow a link, never fail."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | UNFOLLOWED)
        try:
            _lock(descriptor, wait=False)
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                path.unlink()
        finally:
            os.close(descriptor)


@contextmanager
def hold_unlocked(path: Path) -> Iterator[bool]:
    """Yield whether an existing lock file is not locked by a running process; it stays locked during the block."""
    try:
        descriptor = os.open(path, os.O_RDWR | UNFOLLOWED)
    except OSError:
        yield False
        return
    try:
        yield _is_lockable(descriptor)
    finally:
        os.close(descriptor)


def _is_lockable(descriptor: int) -> bool:
    """Return whether a file can be locked."""
    try:
        _lock(descriptor, wait=False)
    except OSError:
        return False
    return True


@contextmanager
def turn(path: Path) -> Iterator[bool]:
    """Wait until no other process holds the lock file at a path; yield whether locks exist at all."""
    descriptor = _lock_file(path)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            # The file is removed while it is locked: a waiting process sees that the name is gone and creates it again.
            path.unlink(missing_ok=True)
            os.close(descriptor)


def _lock_file(path: Path) -> int | None:
    """Open and lock a file, waiting for other processes; None where files cannot be locked."""
    while True:
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR | UNFOLLOWED, 0o600)
        except OSError:
            return None
        try:
            _lock(descriptor, wait=True)
            if _is_at(path, descriptor):
                return descriptor
        except OSError:
            os.close(descriptor)
            path.unlink(missing_ok=True)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock(descriptor: int, *, wait: bool) -> None:
    """Lock a file; raise `OSError` if it is locked or cannot be."""
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:  # for example on Windows
        raise OSError(errno.ENOTSUP, "there are no locks") from None
    flock(descriptor, LOCK_EX if wait else LOCK_EX | LOCK_NB)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
