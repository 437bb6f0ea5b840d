"""A file appears at its path only whole.

A kill at any moment leaves the old file or none, and a file that is in the way is never touched unless that
was asked for.
"""

from pathlib import Path

import pyarrow as pa

from indistinct.release.writing.formats import producer_for
from indistinct.release.writing.staging import Produce, check_target, publish, stage, staging


def write_table(table: pa.Table, path: str | Path, *, overwrite: bool = False) -> str:
    """Write a published table in the format that the suffix names; return the SHA-256 of the file."""
    return write_atomically(path, producer_for([table], Path(path)), overwrite=overwrite)


def write_atomically(path: str | Path, produce: Produce, *, overwrite: bool = False, private: bool = False) -> str:
    """Let `produce` fill a temporary file, then put it at `path`; return the SHA-256 of the file.

    A `private` file can be read by its owner alone. Raises `OutputError` if something is there already and `overwrite`
    is not set, or if the directory does not take the file.
    """
    target = Path(path)
    check_target(target, overwrite=overwrite)
    with staging() as staged:
        staged.append(stage(target, produce, private=private))
        publish(staged, overwrite=overwrite)
        return staged[0].digest
