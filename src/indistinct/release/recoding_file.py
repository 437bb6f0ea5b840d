"""The private files of a recoding: they appear together and whole, and an old second file goes with its first."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from indistinct.recoding.kinds import Recoding
from indistinct.recoding.storage import second_file, stored
from indistinct.release.staging import check_target, publish, stage, staging


@contextmanager
def recoding_kept(recoding: Recoding, path: str | Path, *, overwrite: bool = False) -> Iterator[None]:
    """Write a recoding, readable by its owner alone, and give it its name once the block has ended without an error.

    The recoding is complete on disk before the block begins, so that a disk that refuses it stops the block.
    """
    files = stored(recoding, path)
    for target in files:
        check_target(target, overwrite=overwrite)
    old = second_file(path) if overwrite else None
    with staging() as staged:
        for target, produce in files.items():
            staged.append(stage(target, produce, private=True))
        yield
        publish(staged, overwrite=overwrite)
    if old is not None and old not in files:
        with suppress(OSError):  # the new recoding is whole, whatever lies beside it
            old.unlink()
