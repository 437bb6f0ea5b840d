"""Folders of Delta, Iceberg and Hudi tables, whose files are never read one by one.

A log in such a folder lists the files, and the rows in them, of each version of the table. Deleted rows and files of
earlier versions remain in the folder until they are cleaned up.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from indistinct.errors import InputError

DELTA, ICEBERG, HUDI = "Delta", "Iceberg", "Hudi"
# The entry that marks the folder of a table, by kind; an Iceberg table has metadata files.
MARKERS = {".hoodie": HUDI, "_delta_log": DELTA}
METADATA = "metadata"
METADATA_FILES = (".metadata.json", ".metadata.json.gz")
# File types that may contain rows of such tables; text files in the folder do not.
ROW_FILES = (".parquet", ".pq")
REASON = "deleted rows and files of earlier versions lie in it"


def kind_of_lake(folder: str | Path) -> str | None:
    """Return the kind of table in a folder: Delta, Iceberg or Hudi; None for other folders.

    >>> kind_of_lake("/") is None
    True
    """
    path = Path(folder)
    try:
        return find_kind(lambda name: os.path.lexists(path / name), lambda name: _names_in(path / name))
    except ValueError:  # a NUL byte in the path
        return None


def _names_in(folder: Path) -> Iterable[str]:
    return [each.name for each in folder.iterdir()]


def find_kind(has: Callable[[str], bool], names_in: Callable[[str], Iterable[str]]) -> str | None:
    """Return the kind of table in a folder, from functions that look up entries and list subfolders.

    A metadata folder that cannot be listed may be one of Iceberg.
    """
    kind = next((kind for name, kind in MARKERS.items() if has(name)), None)
    if kind is not None or not has(METADATA):
        return kind
    try:
        return ICEBERG if any(name.endswith(METADATA_FILES) for name in names_in(METADATA)) else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return ICEBERG


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder; False for a path that cannot be followed."""
    try:
        return path.is_dir()
    except (OSError, ValueError):  # the name is too long or contains a NUL byte
        return False


def may_hold_rows(path: str | Path) -> bool:
    """Return whether a file may contain rows of such a table, by its name."""
    return str(path).lower().endswith(ROW_FILES)


def lake_around(path: str | Path) -> tuple[Path, str] | None:
    """Return the folder and the kind of the table that contains a path; links are followed."""
    return _lake_around(Path(path), {})


def _lake_around(path: Path, known: dict[Path, str | None]) -> tuple[Path, str] | None:
    """Return the same; `known` caches the kinds of folders."""
    try:
        paths = dict.fromkeys((path.absolute(), path.resolve()))
    except (OSError, RuntimeError, ValueError):  # a path that cannot be followed cannot be read either
        return None
    for index in paths:
        for folder in (index, *index.parents):
            if folder not in known:
                known[folder] = kind_of_lake(folder)
            if (kind := known[folder]) is not None:
                return folder, kind
    return None


def refuse_loose_files(files: Iterable[Path]) -> None:
    """Raise `InputError` for Parquet files and folders that belong to a Delta, Iceberg or Hudi table."""
    known: dict[Path, str | None] = {}
    for path in files:
        lake = _lake_around(path, known) if may_hold_rows(path) or is_folder(path) else None
        if lake is not None:
            raise loose_file(path, *lake)


def loose_file(path: str | Path, folder: str | Path, kind: str) -> InputError:
    """Return the error of a table's file, or of its folder in a list.

    Partition paths are hidden, they contain values.
    """
    if kind == HUDI:
        return hudi(folder)
    if Path(path).absolute() == Path(folder):
        return InputError(
            f"{path} is the folder of a {kind} table, which is not one of several files",
            hint="name the folder alone, and not in a list",
        )
    return InputError(
        f"files of the {kind} table {folder} are not read one by one: {REASON}",
        hint=f"name the folder of the table, of which one version is read: {folder}",
    )


def whole_folder(folder: str | Path, kind: str) -> InputError:
    """Return the error of a table's folder where files are expected, as for a release."""
    if kind == HUDI:
        return hudi(folder)
    return InputError(
        f"{folder} is the folder of a {kind} table, and a published table is a file: {REASON}",
        hint="publish one version as a file: `indistinct anonymize` reads the folder and writes such a file",
    )


def at_address(folder: str, kind: str) -> InputError:
    """Return the error of a table at an address."""
    if kind == HUDI:
        return hudi(folder)
    return InputError(
        f"{folder} is the folder of a {kind} table at an address, whose files are not read one by one: {REASON}",
        hint="copy the folder to this machine, and name the copy",
    )


def hudi(folder: str | Path) -> InputError:
    """Return the error of a Hudi table, whose log no supported reader applies."""
    return InputError(
        f"{folder} is the folder of a Hudi table, which cannot be read: {REASON}, and its log is not applied here",
        hint="write its newest snapshot as Parquet outside of the folder, with the program that made the table",
    )
