"""A table of a release that is a folder of Parquet files, as an engine of many workers writes it."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

PART = re.compile(r"part-\d+\.parquet")


def digest_of_folder(folder: Path, digest_of: Callable[[Path], str]) -> str:
    """Return a digest of the names and contents of all files in a folder, whatever else became of it."""
    told = hashlib.sha256()
    for path in sorted(folder.iterdir(), key=lambda each: each.name):
        told.update(f"{path.name}\0{digest_of(path)}\n".encode())
    return told.hexdigest()


def is_table_folder(folder: Path) -> bool:
    """Return whether a folder holds the parts of a table and nothing else, so that a new release may replace it."""
    return not folder.is_symlink() and all(PART.fullmatch(each.name) and each.is_file() for each in folder.iterdir())


def tidy(folder: Path) -> None:
    """Leave the parts of a table alone in a folder, and number them: what a writer adds is not for readers."""
    parts = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(("part-", "part_")) and path.suffix == ".parquet":
            parts.append(path)
        else:  # sums and marks of success
            path.unlink()
    for number, path in enumerate(parts):
        path.rename(folder / f"part-{number:05}.parquet")


def open_to_readers(folder: Path, mode: int) -> None:
    """Give a folder and its files the mode of new ones; who may read a folder may enter it."""
    for path in folder.iterdir():
        path.chmod(mode)
    folder.chmod(mode | (mode & 0o444) >> 2)
