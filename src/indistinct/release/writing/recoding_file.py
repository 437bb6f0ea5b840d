"""The private files of a recoding: they appear together and whole, and an old second file goes with its first."""

from contextlib import suppress
from pathlib import Path

from indistinct.recoding.kinds import Recoding
from indistinct.recoding.storage import files_of_recoding, second_file
from indistinct.release.writing.staging import check_target, publish, stage, staging


def write_recoding(recoding: Recoding, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a recoding, readable by its owner alone."""
    files = files_of_recoding(recoding, path)
    for target in files:
        check_target(target, overwrite=overwrite)
    old = second_file(path) if overwrite else None
    with staging() as staged:
        staged += [stage(target, produce, private=True) for target, produce in files.items()]
        publish(staged, overwrite=overwrite)
    if old is not None and old not in files:
        with suppress(OSError):  # the new recoding is whole, whatever lies beside it
            old.unlink()
