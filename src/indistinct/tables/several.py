"""Several files that are one table: a list of paths, a folder, or a pattern, read in a fixed order.

**Hive partitions** are folders such as `year=2024` whose names contain columns of the files in them. Every engine uses
these rules. Partition folders are those below the given folder, below the first part of a pattern with a wildcard, or
below the common folder of a list of files. A column whose values are all whole numbers without leading zeros has
numbers, one whose values are all dates as in 2024-01-31 has dates, and any other has text. A folder
`year=__HIVE_DEFAULT_PARTITION__` contains rows without a value.
"""

import datetime
import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa

from indistinct.errors import InputError
from indistinct.tables.addresses import fetch_files, looks_like_an_address, no_file, origin_of, without_credentials
from indistinct.tables.dictionaries import is_text
from indistinct.tables.files import columns_in_file
from indistinct.tables.lakes import is_folder, kind_of_lake, refuse_loose_files, whole_folder
from indistinct.tables.value import choose

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
        paths = list(map(Path, glob.glob(text, recursive=True)))  # noqa: PTH207 (it may be absolute)
        if not paths and looks_like_an_address(text):
            raise no_file(text)
        return _of_one_kind(paths, f"the pattern {text}")
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
    """Return files of one kind, sorted; raise for none, a repeated one, or several kinds."""
    ordered = sorted(files)
    refuse_loose_files(ordered)
    if not ordered:
        raise InputError(f"{named} has no file", hint="check the path; a relative one starts at the working directory")
    twice = [path.name for path, other in pairwise(ordered) if path == other]
    if twice:
        raise InputError(f"{named} has the file {twice[0]!r} twice", hint="name every file once")
    kinds = {kind_of_file(path): path.name for path in reversed(ordered)}
    if len(kinds) > 1:
        suffixes = ", ".join(f"{kind or 'no suffix'} ({name})" for kind, name in sorted(kinds.items()))
        raise InputError(
            f"{named} has files of several kinds: {suffixes}",
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
    """Raise if a file was changed after its stamp was taken."""
    for stamp in stamps:
        if Stamp.of(stamp.path) != stamp:
            raise InputError(
                f"{stamp.path} has changed while it was read, so nothing is published",
                hint="run it again on a copy, or when no program writes to the file",
            ) from None


# Files and folders whose names begin with one of these are ignored.
HIDDEN = (".", "_")
MISSING = "__HIVE_DEFAULT_PARTITION__"
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class HivePartitions:
    """The columns in the folder names of files, and their values for each file."""

    schema: pa.Schema
    values: Mapping[Path, tuple[Any, ...]]

    def file_columns(self, columns: Sequence[str] | None) -> Sequence[str] | None:
        """Return which of the wanted columns are in the files themselves; None means all of theirs."""
        return [name for name in columns or () if name not in self.schema.names] or None

    def of_file(self, path: Path) -> dict[str, Any]:
        """Return the value of each partition column for the rows of a file."""
        return dict(zip(self.schema.names, self.values[path], strict=True))

    def distinct(self) -> pa.Table:
        """Return each combination of values once, as a table."""
        columns = zip(*dict.fromkeys(self.values.values()), strict=True)
        arrays = [pa.array(values, field.type) for values, field in zip(columns, self.schema, strict=True)]
        return pa.table(arrays, schema=self.schema)

    def by_values(self) -> dict[tuple[Any, ...], list[Path]]:
        """Return the files of each combination of values."""
        files: dict[tuple[Any, ...], list[Path]] = {}
        for path, values in self.values.items():
            files.setdefault(values, []).append(path)
        return files

    def add(self, path: Path, table: pa.Table, columns: Sequence[str] | None) -> pa.Table:
        """Return the rows of a file with the wanted partition columns added."""
        for field, value in zip(self.schema, self.values[path], strict=True):
            table = table.append_column(field.name, constant_column(value, field.type, len(table)))
        return table.select(choose(table.column_names, columns))


def constant_column(value: Any, kind: pa.DataType, rows: int) -> pa.Array:
    """Return a column with a single value, text as a dictionary."""
    column = pa.nulls(rows, kind) if value is None else pa.repeat(pa.scalar(value, kind), rows)
    return column.dictionary_encode() if pa.types.is_string(kind) else column


def find_partitions(source: Any, files: Sequence[Path], written: pa.Schema | None = None) -> HivePartitions | None:
    """Return the partitions of the files of a source; None where there are none.

    A folder is ignored if the files themselves have its column. Columns have the types of `written`, the table that was
    written, where it is given.
    """
    root = root_of(source)
    pairs_of_files = {path: _pairs_of(path, root) for path in files}
    if not any(pairs_of_files.values()):
        return None
    names = [name for name, _ in pairs_of_files[files[0]]]
    for path, pairs in pairs_of_files.items():
        if [name for name, _ in pairs] != names:
            raise InputError(
                f"{path.name} lies in folders that name other columns than those of {files[0].name}",
                hint="all files of a partitioned table lie in folders of the same names, as year=2024/month=5: "
                "name the files of one such set",
            )
    if len(set(names)) < len(names):
        raise InputError("two folders of one path name the same column", hint="rename one of the folders")
    columns = columns_in_file(files[0])
    kept = [position for position, name in enumerate(names) if name not in columns]
    if not kept:
        return None
    texts = {path: [pairs_of_files[path][position][1] for position in kept] for path in files}
    typed = [
        _typed([texts[path][index] for path in files], None if written is None else written.field(names[position]).type)
        for index, position in enumerate(kept)
    ]
    schema = pa.schema([(names[position], kind) for position, (kind, _) in zip(kept, typed, strict=True)])
    return HivePartitions(schema, {path: tuple(cells[i] for _, cells in typed) for i, path in enumerate(files)})


def partition_folder(name: str, text: str | None) -> str:
    """Return the name of the folder for the rows with one value of a column.

    Letters, digits, `-`, `.`, `_` and `~` are kept; other characters are escaped, and so is the start of a name that
    would be hidden.

    >>> partition_folder("zip code", "0213*"), partition_folder("_a", "../x"), partition_folder("a", None)
    ('zip%20code=0213%2A', '%5Fa=..%2Fx', 'a=__HIVE_DEFAULT_PARTITION__')
    """
    column = quote(name, safe="")
    if column.startswith(HIDDEN):
        column = f"%{ord(column[0]):02X}{column[1:]}"
    if text is None:
        return f"{column}={MISSING}"
    value = quote(text, safe="")
    return f"{column}={value.replace('_', '%5F') if text == MISSING else value}"


def keeps_values(values: Sequence[Any], *, text: bool) -> bool:
    """Return whether values in folder names are read back unchanged; `text` says that the column is text.

    >>> keeps_values(["12", "7"], text=True), keeps_values([10**18], text=False)
    (True, False)
    """
    _, read = _typed([None if value is None else str(value) for value in values])
    return [str(value) if text and value is not None else value for value in read] == list(values)


def is_partition(name: str) -> bool:
    """Return whether a folder's name contains a column and its value.

    >>> is_partition("year=2024"), is_partition("2024")
    (True, False)
    """
    return name.partition("=")[0] != "" and "=" in name


def files_below(folder: Path) -> list[Path] | None:
    """Return the files in the partitions of a folder; None unless it has partitions and nothing else."""
    inside = [each for each in folder.iterdir() if not each.name.startswith(HIDDEN)]
    folders = [each for each in inside if each.is_dir()]
    if not folders:
        return inside
    if len(folders) < len(inside) or not all(is_partition(each.name) for each in folders):
        return None
    files = [files_below(each) for each in folders]
    return None if any(each is None for each in files) else [path for each in files for path in each or ()]


def folder_texts(source: Any, path: Path) -> str:
    """Return the unescaped names of a file and of its folders, below the folder or pattern of a source.

    It is empty where a single file is named: the folders around it are not part of the table.
    """
    root = root_of(source)
    parts = () if root is None else path.absolute().relative_to(root).parts
    return "\n".join(unquote(part.removesuffix(f"={MISSING}")) for part in parts)


def root_of(source: Any) -> Path | None:
    """Return the folder below which folders are partitions; None for a single file."""
    if isinstance(source, list | tuple):
        if len(source) < 2:
            return None
        return Path(os.path.commonpath([Path(each).absolute().parent for each in source]))
    path = Path(source).absolute()
    if path.is_dir():
        return path
    if glob.has_magic(str(path)) and not path.exists():
        literal = next(index for index, part in enumerate(path.parts) if glob.has_magic(part))
        return Path(*path.parts[:literal])
    return None


def _pairs_of(path: Path, root: Path | None) -> list[tuple[str, str | None]]:
    """Return the columns and texts in the folder names of a file, from the outermost on."""
    origin = origin_of(path)
    if origin is not None:
        folders = urlsplit(origin).path.split("/")[:-1]
    elif root is None:
        return []
    else:
        folders = list(path.absolute().relative_to(root).parts[:-1])
    pairs = (folder.partition("=") for folder in folders if is_partition(folder))
    return [(unquote(name), None if text == MISSING else unquote(text)) for name, _, text in pairs]


def _typed(texts: Sequence[str | None], kind: pa.DataType | None = None) -> tuple[pa.DataType, list[Any]]:
    """Return (type, values) of a column; the type is `kind` where that is given."""
    if kind is not None:
        plain = pa.string() if isinstance(kind, pa.DictionaryType) or is_text(kind) else kind
        return plain, pa.array(texts, pa.string()).cast(plain).to_pylist()
    known = [text for text in texts if text is not None]
    if known and all(map(WHOLE.fullmatch, known)):
        return pa.int64(), [None if text is None else int(text) for text in texts]
    days = [_day_of(text) for text in known]
    if known and None not in days:
        return pa.date32(), [None if text is None else _day_of(text) for text in texts]
    return pa.string(), list(texts)


def _day_of(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text) if DAY.fullmatch(text) else None
    except ValueError:
        return None
