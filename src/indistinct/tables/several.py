"""Several files that are one table: a list of paths, a folder, or a pattern, read in a fixed order."""

import glob
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.errors import InputError
from indistinct.tables.addresses import without_credentials
from indistinct.tables.fetched import fetch_files
from indistinct.tables.hive import HIDDEN, files_below
from indistinct.tables.input_files import looks_like_an_address, no_file
from indistinct.tables.lakes import is_folder, kind_of_lake, refuse_loose_files, whole_folder

DELIMITED = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
LABELLED = (".sav", ".zsav", ".dta", ".sas7bdat", ".xpt")


def files_of(source: Any) -> tuple[Path, ...] | None:
    """Return the files that a path, a folder, a pattern or a list of paths names; None for other sources.

    Standard input (`-`) and addresses such as s3://bucket/a.csv give private copies. Files are sorted by name and must
    be of one kind. A folder is read without files whose names begin with a dot or an underscore, and with the folders
    in it if all of them are partitions such as `year=2024`. Raises `InputError` for files of a Delta, Iceberg or Hudi
    table.
    """
    if isinstance(source, list | tuple):
        if not source or not all(isinstance(each, str | Path) for each in source):
            return None
        return _of_one_kind([path for each in source for path in fetch_files(each) or (Path(each),)], "the list")
    if not isinstance(source, str | Path):
        return None
    text, path = str(source), Path(source)
    copies = fetch_files(source)
    if copies is not None:
        return _of_one_kind(copies, without_credentials(source))
    if (lake := kind_of_lake(path)) is not None:
        raise whole_folder(path, lake)
    if is_folder(path):
        inside = [each for each in path.iterdir() if not each.name.startswith(HIDDEN)]
        folders = [each.name for each in inside if each.is_dir()]
        partitioned = files_below(path) if folders else None
        if partitioned is not None:
            return _of_one_kind(partitioned, f"the folder {path}")
        if folders:
            raise InputError(
                f"the folder {path} has folders in it, such as {min(folders)!r}",
                hint=f"say which files are the table, as in {path}/*.parquet; {path}/**/*.parquet is all below",
            )
        return _of_one_kind(inside, f"the folder {path}")
    if glob.has_magic(text) and not path.exists():
        found = list(map(Path, glob.glob(text, recursive=True)))  # noqa: PTH207 (it may be absolute)
        if not found and looks_like_an_address(text):
            raise no_file(text)
        return _of_one_kind(found, f"the pattern {text}")
    refuse_loose_files([path])
    return (path,)


def kind_of_file(path: Path) -> str:
    """Return the suffix that determines how a file is read, without that of a compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-1] if suffixes else ""
    return suffixes[-2] if kind == ".gz" and len(suffixes) > 1 and suffixes[-2] in DELIMITED else kind


def is_delimited(path: Path) -> bool:
    """Return whether a file is delimited text, which stores no types."""
    return kind_of_file(path) in DELIMITED


def _of_one_kind(files: Sequence[Path], named: str) -> tuple[Path, ...]:
    ordered = sorted(files)
    refuse_loose_files(ordered)
    if not ordered:
        raise InputError(f"{named} has no file", hint="check the path; a relative one starts at the working directory")
    twice = [path.name for path, other in pairwise(ordered) if path == other]
    if twice:
        raise InputError(f"{named} has the file {twice[0]!r} twice", hint="name every file once")
    kinds = {kind_of_file(path): path.name for path in reversed(ordered)}
    if len(kinds) > 1:
        shown = ", ".join(f"{kind or 'no suffix'} ({name})" for kind, name in sorted(kinds.items()))
        raise InputError(
            f"{named} has files of several kinds: {shown}",
            hint="the files of a table have one suffix: choose them by a pattern such as folder/*.csv",
        )
    return tuple(ordered)


def check_alike(first: Path, schema: pa.Schema, other: Path, found: pa.Schema) -> None:
    """Raise `InputError`, which names the column, unless two files have the same columns of the same types."""
    for name in schema.names:
        if name not in found.names:
            raise InputError(
                f"{other} has no column {name!r}, which {first} has",
                hint="the files of a table have the same columns: leave the file out, or write it again",
                column=name,
            )
        one, two = (_value_type(each.field(name).type) for each in (schema, found))
        if one != two:
            raise InputError(
                f"column {name!r} has the type {two} in {other}, and {one} in {first}",
                hint="the files of a table have the same types: write one of them again",
                column=name,
            )
    extra = [name for name in found.names if name not in schema.names]
    if extra:
        raise InputError(
            f"{other} has the column {extra[0]!r}, which {first} has not",
            hint="the files of a table have the same columns: leave the file out, or write it again",
            column=extra[0],
        )


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if isinstance(kind, pa.DictionaryType) else kind


def together(files: Sequence[Path], tables: Sequence[pa.Table]) -> pa.Table:
    """Return the tables of several files as one; raise `InputError` where their columns differ."""
    for path, table in zip(files[1:], tables[1:], strict=True):
        check_alike(files[0], tables[0].schema, path, table.schema)
    kinds = []
    for name in tables[0].column_names:
        mine = {table.schema.field(name).type for table in tables}
        kinds.append(pa.field(name, mine.pop() if len(mine) == 1 else _value_type(tables[0].schema.field(name).type)))
    schema = pa.schema(kinds)
    return pa.concat_tables([table.select(schema.names).cast(schema) for table in tables])


@dataclass(frozen=True, slots=True)
class Stamp:
    """The state of a file when it was opened: its size and modification time."""

    path: Path
    size: int
    written: int

    @classmethod
    def of(cls, path: Path) -> "Stamp":
        """Return the stamp of a file; that of a deleted file matches no other."""
        try:
            status = path.stat()
        except OSError:
            return cls(path, -1, -1)
        return cls(path, status.st_size, status.st_mtime_ns)


@contextmanager
def require_unchanged(stamps: Sequence[Stamp]) -> Iterator[None]:
    """Raise `InputError` after the block if files have changed, even if the block fails."""
    try:
        yield
    except Exception:
        _check_stamps(stamps)
        raise
    _check_stamps(stamps)


def _check_stamps(stamps: Sequence[Stamp]) -> None:
    for stamp in stamps:
        if Stamp.of(stamp.path) != stamp:
            raise InputError(
                f"{stamp.path} has changed while it was read, so nothing is published",
                hint="run it again on a copy, or when no program writes to the file",
            ) from None
