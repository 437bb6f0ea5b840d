"""A file appears at its path only whole.

A kill at any moment leaves the old file or none, and a file that is in the way is never touched unless that
was asked for.
"""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from indistinct.release.formats import producer_for
from indistinct.release.staging import Produce, check_target, publish, stage, staging


def write_table(table: pa.Table, path: str | Path, *, overwrite: bool = False) -> str:
    """Write a published table in the format that the suffix names; return the SHA-256 of the file."""
    return write_atomically(path, producer_for([table], Path(path)), overwrite=overwrite)


def write_atomically(path: str | Path, produce: Produce, *, overwrite: bool = False, private: bool = False) -> str:
    """Let `produce` fill a temporary file, then put it at `path`; return the SHA-256 of the file.

    A `private` file can be read by its owner alone. Raises `OutputError` if something is there already and `overwrite`
    is not set, or if the directory does not take the file.
    """
    return write_together([(path, produce)], overwrite=overwrite, private=private)[0]


def write_together(
    parts: Sequence[tuple[str | Path, Produce]], *, overwrite: bool = False, private: bool = False
) -> tuple[str, ...]:
    """Write several files that belong together; return their SHA-256 in order.

    Every file is complete on disk before the first one gets its name. If a name cannot be given, the names
    given before are taken back and replaced files restored; only a kill between two renames leaves some
    without the rest.
    """
    for path, _ in parts:
        check_target(Path(path), overwrite=overwrite)
    with staging() as staged:
        for path, produce in parts:
            staged.append(stage(Path(path), produce, private=private))
        publish(staged, overwrite=overwrite)
        return tuple(each.digest for each in staged)
