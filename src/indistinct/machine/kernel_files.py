"""Files of compiled kernels: those that came with the package, and those that this machine compiled for the user.

A file is one kernel for one signature. Its name has the hash of all that the code depends on: the sources, Python,
Numba, the platform, the processor and the signature. So a file is right wherever its name is asked for, a copy of the
package finds the same files, and no other version does.

A file holds pickled code: whoever can write one can run code as its reader. So two folders are read and no other: the
package's own, which is as safe as its modules, and one that belongs to the user and that nobody else can write.
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
# A kernel of an older version is removed when a new one is kept, some time after it was compiled.
OLD = 90 * 24 * 3600


def read_kernel(name: str) -> bytes | None:
    """Return what is kept under a name; None if nothing is, or not as it was written."""
    found = _read(SHIPPED / name, shipped=True)
    folder = own_folder()
    if found is None and folder is not None:
        found = _read(folder / name, shipped=False)
    return found


def keep_kernel(name: str, content: bytes) -> None:
    """Keep a kernel for the runs to come, whole or not at all; where that cannot be, the next run compiles again."""
    folder = own_folder()
    if folder is None:
        return
    with suppress(OSError):
        descriptor, staged = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            Path(staged).replace(folder / name)
        finally:
            Path(staged).unlink(missing_ok=True)
        _remove_old(folder)


def lock_path(name: str) -> Path | None:
    """Return the lock file of the run that compiles a kernel, for others to wait; None where nothing is kept."""
    folder = own_folder()
    return None if folder is None else folder / f"{name}.lock"


@cache
def own_folder() -> Path | None:
    """Return the folder for kernels that this machine compiles, or None if there is none that is safe.

    It is the first that can be written of `NUMBA_CACHE_DIR`, if that is set, the user's cache folder, and the folder in
    which Python keeps what it compiled of this package.
    """
    return next((folder for folder in _candidates() if _make_private(folder)), None)


def _candidates() -> Iterator[Path]:
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        yield Path(named).absolute() / "indistinct"
        return
    with suppress(RuntimeError):  # nobody's home is known
        yield _user_cache() / "indistinct" / "kernels"
    yield Path(__file__).parent / "__pycache__" / "kernels"


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return named if named.is_absolute() else Path.home() / ".cache"


def _make_private(folder: Path) -> bool:
    """Make a folder unless it is there; return whether this user can write it and nobody else can."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and _belongs_to_user(found) and os.access(folder, os.W_OK | os.X_OK)


def _belongs_to_user(found: os.stat_result) -> bool:
    """Return whether a file or folder is the user's and no one else can write it. Windows guards profiles itself."""
    if platform.system() == "Windows":
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read(path: Path, *, shipped: bool) -> bytes | None:
    try:
        with path.open("rb") as file:
            if not shipped and not _belongs_to_user(os.fstat(file.fileno())):
                return None
            data = file.read()
    except OSError:
        return None
    size = hashlib.sha256().digest_size
    return data[size:] if hashlib.sha256(data[size:]).digest() == data[:size] else None


def _remove_old(folder: Path) -> None:
    for path in folder.glob(f"*{SUFFIX}"):
        if path.stat().st_mtime < time.time() - OLD:
            path.unlink(missing_ok=True)
