"""Files that are read whole, such as recodings, policies and hierarchies.

They must be ordinary files of limited size.

Devices may be endless and pipes may never deliver, so they are not opened.
"""

import errno
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from indistinct.errors import InputError

# Upper limit of bytes: larger than any recoding, hierarchy or policy.
MAX_FILE_BYTES = 1 << 30


# A text that looks like the address of a database but is none.
SECRETS = re.compile(r":[^/]*@|://|:/[^/].*@|password", re.IGNORECASE)


def looks_like_an_address(text: str) -> bool:
    """Return whether a text that is no existing path may have been meant as the address of a database."""
    return SECRETS.search(text) is not None


def no_file(path: str | Path) -> InputError:
    """Return the error of a path that does not exist.

    A text that looks like the address of a database is not shown, because it may contain a password.

    >>> print(no_file("postgres:ann:secret@host/clinic").message)
    there is no file of that name, which looks like an address
    """
    if looks_like_an_address(str(path)):
        return InputError(
            "there is no file of that name, which looks like an address",
            hint="an address of PostgreSQL begins with postgresql://; name the table too",
        )
    return InputError(f"there is no file {path}", hint="check the path; a relative one starts at the working directory")


# The folders in which this process may read files named by users; None allows all.
_fence: tuple[Path, ...] | None = None
# Private copies that this process made of files that it may read.
_own: set[Path] = set()


def admit_copy(path: Path) -> None:
    """Allow this process to read a private copy that it made, wherever it is."""
    _own.add(path)


@contextmanager
def fence_reading(*folders: Path) -> Iterator[None]:
    """Restrict this process to files in some folders; links are resolved first.

    >>> with fence_reading(Path("/nowhere")):
    ...     check_ordinary(Path(__file__))
    Traceback (most recent call last):
    PermissionError: [Errno 13] it lies outside the folders that may be read here
    """
    global _fence  # noqa: PLW0603 (what a process may read is one thing for all its threads)
    before, _fence = _fence, tuple(folder.resolve() for folder in folders)
    try:
        yield
    finally:
        _fence = before


def check_ordinary(path: Path) -> None:
    """Raise `OSError`, with the reason as `strerror`, unless a path is an ordinary file."""
    if "\0" in str(path):
        raise FileNotFoundError(errno.ENOENT, "its path has a NUL character, which no file can have")
    if _fence is not None and path not in _own:
        place = path.resolve()
        if not any(place.is_relative_to(folder) for folder in _fence):
            raise PermissionError(errno.EACCES, "it lies outside the folders that may be read here")
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        return
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    raise OSError(errno.EINVAL, f"it is {kinds.get(stat.S_IFMT(mode), 'a device')}, not a file")


def read_ordinary(path: Path, *, most: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of an ordinary file; raise `OSError`, with the reason as `strerror`, for any other.

    >>> read_ordinary(Path("."))
    Traceback (most recent call last):
    OSError: [Errno 22] it is a directory, not a file
    """
    check_ordinary(path)
    if path.stat().st_size > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MB")
    return path.read_bytes()
