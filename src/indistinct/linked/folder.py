"""The folder of a release: one file per table and a certificate, written completely or not at all, and read again."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.errors import InputError, OutputError
from indistinct.linked.certificate import FILE_NAME, read_linked_certificate
from indistinct.linked.declared import LinkedPolicy, LinkedTable
from indistinct.release.writing.formats import FORMATS, is_text_file, producer_for, read_as_written
from indistinct.release.writing.staging import Staged, check_target, digest_of, stage
from indistinct.tables import open_table
from indistinct.tables.addresses import read_ordinary
from indistinct.tables.opening import columns_in
from indistinct.tables.several import PARQUET

DEFAULT_SUFFIX = ".csv"
BLOCK_BYTES, BLOCK_ROWS = 1 << 24, 1 << 20
"""Upper limits of bytes of text, and rows of Parquet, that are read at a time."""


def file_of(table: LinkedTable) -> str:
    """Return the file name of a table: its own name, in the format of its input if that can be written.

    >>> from indistinct.schema import Schema
    >>> file_of(LinkedTable("labs", Schema(person=["id"]), Path("export.parquet")))
    'labs.parquet'
    """
    suffix = DEFAULT_SUFFIX if table.path is None else table.path.suffix.lower()
    return table.name + (suffix if suffix in FORMATS else DEFAULT_SUFFIX)


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedTables(Mapping[str, pa.Table]):
    """Tables of a release in files, each read whole when it is asked for, or block by block.

    `files` has the file of each table, its final path, and the types that were written if they are known. Tables in
    `types` are read with these types.
    """

    files: Mapping[str, tuple[Path, Path, pa.Schema | None]]
    known: dict[str, pa.Table] = field(default_factory=dict)
    types: Mapping[str, pa.Schema] = field(default_factory=dict)

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self.known:
            data = read_released(*self.files[name])
            self.known[name] = _in_types(data, self.types[name]) if name in self.types else data
        return self.known[name]

    def __contains__(self, name: object) -> bool:
        return name in self.files

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def blocks(self, name: str) -> Iterator[pa.Table]:
        """Yield a table in blocks, at least one, without keeping the whole table."""
        if name in self.known:
            yield self.known[name]
        else:
            yield from released_blocks(*self.files[name])


def _in_types(data: pa.Table, types: pa.Schema) -> pa.Table:
    """Return a table in other types; a column that does not fit is unchanged."""
    for index, each in enumerate(types):
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            column = data.column(index)
            plain = column.cast(column.type.value_type) if isinstance(column.type, pa.DictionaryType) else column
            if column.type != each.type:
                is_coded = isinstance(each.type, pa.DictionaryType)
                data = data.set_column(
                    index, each.name, plain.dictionary_encode() if is_coded else plain.cast(each.type)
                )
    return data


def blocks_of(tables: Mapping[str, pa.Table], name: str) -> Iterator[pa.Table]:
    """Yield a table of a release in blocks, at least one."""
    if isinstance(tables, ReleasedTables):
        yield from tables.blocks(name)
    else:
        yield tables[name]


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseFolder:
    """A release in a folder: its certificate as JSON, None without one, and the path of each table."""

    folder: Path
    certificate: Mapping[str, Any] | None
    files: Mapping[str, Path]

    def digests_match(self) -> str | None:
        """Return the file that differs from the certified one, None if all are equal."""
        if self.certificate is None:
            return FILE_NAME
        for name, entry in self.certificate["tables"].items():
            path = self.folder / Path(entry["file"]).name
            if not path.is_file() or digest_of(path) != entry["digest"]:
                return str(name)
        return None

    def read(self) -> "ReleasedTables":
        """Return every table as it was written."""
        return ReleasedTables({name: (path, path, None) for name, path in self.files.items()})


def open_folder(folder: Path, policy: LinkedPolicy) -> ReleaseFolder:
    """Open a release in a folder, made by any tool: its files are named after the tables of the policy."""
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", hint="name the folder of the release, with one file a table")
    seal = folder / FILE_NAME
    certificate = None
    if seal.is_file():
        certificate = read_linked_certificate(read_ordinary(seal).decode("utf-8", "replace"))
    files = {}
    for table in policy.tables:
        unexpected = [
            path for path in sorted(folder.iterdir()) if path.stem == table.name and path.suffix.lower() in FORMATS
        ]
        if len(unexpected) != 1:
            raise InputError(
                f"{folder} has {'no file' if not unexpected else 'several files'} for table {table.name!r}",
                hint=f"a release has one file a table, such as {file_of(table)}",
            )
        files[table.name] = unexpected[0]
    return ReleaseFolder(folder, certificate, files)


def read_released(file: Path, target: Path, schema: pa.Schema | None = None) -> pa.Table:
    """Return a released table as written; text files without types, so that no value is converted.

    A staged file has a name that does not say its format: `target` does, and `schema` has the types that were written.
    """
    if is_text_file(target):
        columns = list(columns_in(file)) if schema is None else schema.names
        return read_as_written(file, target, columns, pa.schema([(name, pa.string()) for name in columns])).data
    if target.suffix.lower() in PARQUET:
        import pyarrow.parquet as pq

        schema = pq.read_schema(file)
    if schema is None:
        return open_table(file, published=True).data
    return read_as_written(file, target, schema.names, schema).data


def is_streamed(target: Path) -> bool:
    """Return whether a file of this name is written and read in blocks."""
    return is_text_file(target) or target.suffix.lower() in PARQUET


def released_blocks(file: Path, target: Path, schema: pa.Schema | None = None) -> Iterator[pa.Table]:
    """Yield a released table in blocks, at least one, with the same content as `read_released`."""
    if not is_streamed(target):
        yield read_released(file, target, schema)
        return
    some = False
    try:
        for block in _text_blocks(file, target) if is_text_file(target) else _parquet_blocks(file):
            some = True
            yield block
    except (pa.ArrowException, OSError, UnicodeError):
        raise OutputError(
            f"{target} could not be read back as it was written",
            hint="nothing was published; try another format or disk",
        ) from None
    if not some:
        yield read_released(file, target, schema)


def _text_blocks(file: Path, target: Path) -> Iterator[pa.Table]:
    """Yield the rows of a delimited file as text, in blocks."""
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter="\t" if target.suffix.lower() == ".tsv" else ",", newlines_in_values=True)
    with csv.open_csv(file, parse_options=parse) as opened:
        names = opened.schema.names
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=len(names) == 1,
    )
    read = csv.ReadOptions(block_size=BLOCK_BYTES)
    with csv.open_csv(file, read_options=read, parse_options=parse, convert_options=convert) as opened:
        for batch in opened:
            if batch.num_rows:
                yield pa.Table.from_batches([batch])


def _parquet_blocks(file: Path) -> Iterator[pa.Table]:
    """Yield the rows of a Parquet file in blocks."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as opened:
        texts = [each.name for each in opened.schema_arrow if pa.types.is_string(each.type)]
    with pq.ParquetFile(file, read_dictionary=texts, pre_buffer=False) as opened:
        for batch in opened.iter_batches(BLOCK_ROWS):
            yield pa.Table.from_batches([batch])


def check_folder(folder: Path, policy: LinkedPolicy, *, overwrite: bool) -> None:
    """Raise at once if a release cannot be written to a folder, or would replace an input."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is no folder", hint="name a folder; it is made if it does not exist")
    if not folder.exists() and not folder.parent.is_dir():
        raise OutputError(f"there is no directory {folder.parent}", hint="create it first, or choose another folder")
    inputs = [policy.locate(table.path).resolve() for table in policy.tables if table.path is not None]
    for target in targets_of(folder, policy).values():
        if target.resolve() in inputs:
            raise OutputError(
                f"{target} is also read: the output would replace the input", hint="choose another folder"
            )
        if folder.exists():
            check_target(target, overwrite=overwrite)


def targets_of(folder: Path, policy: LinkedPolicy) -> dict[str, Path]:
    """Return the path of each table and of the certificate."""
    return {**{table.name: folder / file_of(table) for table in policy.tables}, "": folder / FILE_NAME}


def outdated_files(folder: Path, kept: Sequence[Path]) -> list[Path]:
    """Return the unchanged files of an older release in a folder that a new one does not replace."""
    with suppress(OSError, InputError):
        certificate = read_linked_certificate(read_ordinary(folder / FILE_NAME).decode("utf-8", "replace"))
        paths = {folder / Path(entry["file"]).name: entry["digest"] for entry in certificate["tables"].values()}
        return [
            path for path, digest in paths.items() if path not in kept and path.is_file() and digest_of(path) == digest
        ]
    return []


def stage_table(parts: Iterable[pa.Table], target: Path) -> Staged:
    """Write a table that comes in parts to a staged file without its final name."""
    return stage(target, producer_for(parts, target))
