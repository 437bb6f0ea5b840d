"""Files of compiled kernels: those that came with the package, and those that this machine compiled for the user.

A file is one kernel for one signature. Its name has the hash of everything that the code depends on: the sources,
Python, Numba, the platform, the processor and the signature. So a file with the expected name is always right: a copy
of the package finds the same files, and another version does not.

A file contains pickled code: a user who can write it can run code as the user who reads it. So only two folders are
read: the package's own, which is as safe as its modules, and a folder of the user. No other user but root can write
that folder or replace it: neither it nor any directory or link on the path to it. A file there is opened without
following a link, it belongs to the user, and what is loaded are the bytes whose digest, with the name of the kernel,
was compared.
"""

import hashlib
import os
import platform
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

SHIPPED = Path(__file__).parent / "kernels"
"""Kernels that came with the package, compiled for every processor of its platform."""

SUFFIX = ".kernel"
# Age in seconds after which kernels of older versions are removed when a new one is kept.
OLD_KERNEL_S = 90 * 24 * 3600
# Upper limit of links that are followed on the path to a folder.
MAX_LINKS = 40


def read_kernel(name: str) -> bytes | None:
    """Return the kernel kept under a name; None if there is none, or if its digest does not match."""
    content = _read(SHIPPED / name, shipped=True)
    folder = own_folder()
    if content is None and folder is not None:
        content = _read(folder / name, shipped=False)
    return content


def keep_kernel(name: str, content: bytes) -> None:
    """Keep a kernel for later runs, atomically; where that fails, the next run compiles it again."""
    folder = own_folder()
    if folder is None:
        return
    with suppress(OSError):
        descriptor, staged = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_digest(name, content) + content)
            Path(staged).replace(folder / name)
        finally:
            Path(staged).unlink(missing_ok=True)
        _remove_old(folder)


def lock_path(name: str) -> Path | None:
    """Return the lock file of the run that compiles a kernel; None where kernels cannot be kept."""
    folder = own_folder()
    return None if folder is None else folder / f"{name}.lock"


@cache
def own_folder() -> Path | None:
    """Return the folder for kernels that this machine compiles, or None if there is none that is safe.

    It is the first writable one of `NUMBA_CACHE_DIR`, if that is set, the user's cache folder, and the folder of
    Python's compiled files of this package.
    """
    return next((folder for folder in _candidates() if _make_private(folder)), None)


def _candidates() -> Iterator[Path]:
    """Yield the folders that may store kernels, the best first."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        yield Path(named).absolute() / "indistinct"
        return
    with suppress(RuntimeError):  # the user's home folder is not known
        yield _user_cache() / "indistinct" / "kernels"
    yield Path(__file__).parent / "__pycache__" / "kernels"


def _user_cache() -> Path:
    """Return the cache folder of the user on this system."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return named if named.is_absolute() else Path.home() / ".cache"


def _make_private(folder: Path) -> bool:
    """Create a folder if needed; return whether this user can write it and no other user can."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not _is_safe_path(folder.parent):
            return False
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        status = folder.lstat()
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(status.st_mode) and _belongs_to_user(status) and os.access(folder, os.W_OK | os.X_OK)


def _is_safe_path(folder: Path) -> bool:
    """Return whether no other user except root can replace any directory or link on the path to a directory.

    Each belongs to the user or to root. None is writable by others, unless it is sticky, as /tmp is: there only the
    owner of an entry can replace it. On Windows, profiles are protected by the system.
    """
    if platform.system() == "Windows":
        return True
    here, links = Path(folder.anchor), 0
    ahead = list(reversed(folder.parts[1:]))
    if not _is_guarded(here.lstat()):
        return False
    while ahead:
        part = ahead.pop()
        if part == "..":
            here = here.parent  # never a link: links were replaced by their targets
            continue
        status = (here / part).lstat()
        if not _is_guarded(status):
            return False
        if not stat.S_ISLNK(status.st_mode):
            here = here / part
            continue
        links += 1
        if links > MAX_LINKS:
            return False
        target = (here / part).readlink()
        ahead += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        here = Path(target.anchor) if target.is_absolute() else here
    return True


def _is_guarded(status: os.stat_result) -> bool:
    """Return whether only this user and root can replace the entries of a directory, or a link."""
    if status.st_uid not in (0, os.geteuid()):
        return False
    writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not stat.S_ISLNK(status.st_mode)
    return not writable or bool(status.st_mode & stat.S_ISVTX)


def _belongs_to_user(status: os.stat_result) -> bool:
    """Return whether a file or folder belongs to the user and no other user can write it.

    On Windows, profiles are protected by the system.
    """
    if platform.system() == "Windows":
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read(path: Path, *, shipped: bool) -> bytes | None:
    """Read a file of kernels; None unless it belongs to the user."""
    no_link = 0 if shipped else getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | no_link)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or not (shipped or _belongs_to_user(status)):
                return None
            data = file.read()
    except OSError:
        return None
    size = hashlib.sha256().digest_size
    return data[size:] if _digest(path.name, data[size:]) == data[:size] else None


def _digest(name: str, content: bytes) -> bytes:
    """Return the digest of a kernel with its name, so that a file under another kernel's name is not read."""
    return hashlib.sha256(name.encode() + b"\0" + content).digest()


def _remove_old(folder: Path) -> None:
    for path in folder.glob(f"*{SUFFIX}"):
        if path.stat().st_mtime < time.time() - OLD_KERNEL_S:
            path.unlink(missing_ok=True)
