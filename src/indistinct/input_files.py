"""Files that are read whole before a recoding, a policy or a hierarchy is made of them: ordinary and not endless.

A device gives bytes for ever and a pipe may give none, so that neither is opened.
"""

import errno
import stat
from pathlib import Path

# More than any recoding, hierarchy or policy that a program wrote or a person reviewed.
MOST_BYTES = 1 << 30


def check_ordinary(path: Path) -> None:
    """Raise `OSError`, with the reason as its `strerror`, unless a path leads to an ordinary file."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        return
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    raise OSError(errno.EINVAL, f"it is {kinds.get(stat.S_IFMT(mode), 'a device')}, not a file")


def read_ordinary(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """Return what an ordinary file holds; raise `OSError`, with the reason as its `strerror`, for any other.

    >>> read_ordinary(Path("."))
    Traceback (most recent call last):
    OSError: [Errno 22] it is a directory, not a file
    """
    check_ordinary(path)
    if path.stat().st_size > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MB")
    return path.read_bytes()
