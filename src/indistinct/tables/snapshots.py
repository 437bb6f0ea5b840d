"""Delta and Iceberg tables read by snapshot: the rows of one version, copied to a private file.

Every engine reads the copy, so that versions are never mixed while a release is made.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.errors import IndistinctError, InputError, MissingExtraError, ParameterError
from indistinct.tables.addresses import admit_copy, check_ordinary, keep_copy
from indistinct.tables.lakes import DELTA, ICEBERG, METADATA, METADATA_FILES, hudi, kind_of_lake
from indistinct.tables.row_groups import write_blocks
from indistinct.tables.value import Reading, is_table

# Metadata files of Iceberg are numbered: v3.metadata.json, or 00003-<uuid>.metadata.json.
NUMBERED = re.compile(r"v?(\d+)[-.]")
SCHEME = re.compile(r"file:(?://(?=/))?")
# Characters that are replaced in the name of the copy.
PLAIN = re.compile(r"[^A-Za-z0-9_-]+")
# Number of versions that a hint lists.
MAX_VERSIONS_NAMED = 5

# The folders of tables, by the copies of this process.
_FOLDERS: dict[Path, Path] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One version of a table; the version is None for a table without any.

    `identity` distinguishes the table from another one that was in the same folder.
    """

    version: int | None
    identity: str
    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]


def settle_snapshot(source: Any, reading: Reading) -> tuple[Any, Reading]:
    """Return a copy of one version of a Delta or Iceberg table, and the reading with that version.

    Any other source is returned unchanged. The version is the declared one, or the newest.
    """
    kind = kind_of_lake(source) if isinstance(source, str | Path) else None
    if kind is None:
        if reading.version is not None and not is_table(source) and not _is_copy(source):
            raise ParameterError(
                "a version is one of a Delta or Iceberg table, and this is none",
                hint="leave out `version`, or name the folder of the table",
            )
        return source, reading
    folder = Path(source)
    if kind not in OPENERS:
        raise hudi(folder)
    with _translate_errors(folder, kind):
        snapshot = OPENERS[kind](folder, reading.version)
        origin = str(folder) if snapshot.version is None else f"{folder} (version {snapshot.version})"
        blocks = (_as_declared(batch, snapshot.schema) for batch in snapshot.batches)
        copy = keep_copy(
            origin,
            snapshot.identity,
            name=f"{PLAIN.sub('_', folder.resolve().name) or 'table'}.parquet",
            write=lambda path: write_blocks(blocks, snapshot.schema, path),
        )
    admit_copy(copy)
    _FOLDERS[copy] = folder
    return copy, replace(reading, version=snapshot.version)


def _is_copy(source: Any) -> bool:
    sources = source if isinstance(source, list | tuple) else [source]
    return all(isinstance(each, Path) and each in _FOLDERS for each in sources)


def only_path(files: Sequence[Path]) -> Path | None:
    """Return the location of a table: its single file, or the folder of the table that the file was copied from."""
    return _FOLDERS.get(files[0], files[0]) if len(files) == 1 else None


def _as_declared(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """Return rows in the types of their table: readers return text and partitions in other types."""
    return pa.Table.from_batches([batch]).select(schema.names).cast(schema)


@contextmanager
def _translate_errors(folder: Path, kind: str) -> Iterator[None]:
    """Raise errors with our own message where a table cannot be read: errors of the libraries may contain a value."""
    try:
        yield
    except (IndistinctError, MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001 (each library has its own errors)
        what = "has equality deletes, which are not applied" if "equality deletes" in str(error) else "cannot be read"
        raise InputError(
            f"the {kind} table {folder} {what}",
            hint="check that its folder is whole; else write the version as Parquet, with the program that made it",
        ) from None


def _open_delta(folder: Path, version: int | None) -> Snapshot:
    """Open a version of a Delta table."""
    try:
        import deltalake
    except ImportError:
        raise MissingExtraError("deltalake", extra="lake", purpose="a Delta table") from None
    log = folder / "_delta_log"
    if not any(log.glob("*.json")) and not any(log.glob("*.checkpoint*.parquet")):
        raise InputError(
            f"the log of the Delta table {folder} is empty: it has no version",
            hint="copy the whole folder, with what is in _delta_log",
        )
    table = deltalake.DeltaTable(str(folder.absolute()))
    newest = table.version()
    if version is not None and version != newest:
        if version > newest:
            raise _no_version(folder, DELTA, version, f"its newest version is {newest}")
        try:
            table.load_as_version(version)
        except deltalake.exceptions.DeltaError:
            raise _no_version(folder, DELTA, version, f"it may be cleaned up; the newest is {newest}") from None
    for file in table.file_uris():
        check_ordinary(_path_inside(folder, file, table.table_uri))
    schema = pa.schema(table.schema().to_arrow())
    plain = pa.schema([pa.field(each.name, each.type) for each in schema])
    return Snapshot(table.version(), str(table.metadata().id), plain, _delta_rows(table, plain.names))


def _delta_rows(table: Any, names: list[str]) -> Iterator[pa.RecordBatch]:
    yield from pa.RecordBatchReader.from_stream(table.scan(columns=names))


def _open_iceberg(folder: Path, version: int | None) -> Snapshot:
    """Open a version of an Iceberg table."""
    try:
        from pyiceberg.catalog.noop import NoopCatalog
        from pyiceberg.io.pyarrow import PyArrowFileIO, schema_to_pyarrow
        from pyiceberg.serializers import FromInputFile
        from pyiceberg.table import Table
    except ImportError:
        raise MissingExtraError("pyiceberg", extra="lake", purpose="an Iceberg table") from None

    class FolderFiles(PyArrowFileIO):  # type: ignore[misc, unused-ignore]
        """Files of the table's folder, wherever its metadata says that it lies; never any other file."""

        base = ""

        def new_input(self, location: str) -> Any:
            path = _path_inside(folder, location, self.base)
            check_ordinary(path)
            return super().new_input(str(path))

    files, metadata = FolderFiles(), None
    for path in _newest_metadata(folder, version):
        check_ordinary(path)
        metadata = FromInputFile.table_metadata(PyArrowFileIO().new_input(str(path)))
        if version is None or metadata.snapshot_by_id(version) is not None:
            break
    else:
        known = [] if metadata is None else [str(each.snapshot_id) for each in metadata.snapshots[-MAX_VERSIONS_NAMED:]]
        raise _no_version(folder, ICEBERG, version or 0, f"it has {', '.join(known) or 'none'}")
    files.base = metadata.location
    current = metadata.current_snapshot()
    wanted = version if version is not None or current is None else current.snapshot_id
    scan = Table(("table",), metadata, str(path), files, NoopCatalog("none")).scan(snapshot_id=wanted)
    schema = schema_to_pyarrow(scan.projection(), include_field_ids=False)
    rows = () if wanted is None else _iceberg_rows(scan, metadata, files)
    return Snapshot(wanted, str(metadata.table_uuid), schema, rows)


def _iceberg_rows(scan: Any, metadata: Any, files: Any) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a scan, one file after another, because the library would read all of them at once."""
    from pyiceberg.io.pyarrow import ArrowScan

    reader = ArrowScan(metadata, files, scan.projection(), scan.row_filter)
    for task in scan.plan_files():
        yield from reader.to_record_batches([task])


def _newest_metadata(folder: Path, version: int | None) -> list[Path]:
    """Return the newest metadata file of an Iceberg table; several where a `version` must be looked up.

    Only the table's catalog knows the current one; without it, the one with the highest number is used.
    """
    numbered: dict[int, list[Path]] = {}
    for path in sorted((folder / METADATA).iterdir()):
        number = NUMBERED.match(path.name) if path.name.endswith(METADATA_FILES) else None
        if number is not None:
            numbered.setdefault(int(number[1]), []).append(path)
    newest = numbered[max(numbered)] if numbered else []
    if not newest or (len(newest) > 1 and version is None):
        raise InputError(
            f"the Iceberg table {folder} has {len(newest)} newest metadata files, of which its catalog knows the right "
            "one",
            hint="name the snapshot by its ID: `version`, --version",
        )
    return newest


def _path_inside(folder: Path, location: str, base: str) -> Path:
    """Return the path of a table's file in its folder; `base` is the folder according to the table.

    >>> str(_path_inside(Path("/copy/t"), "file:///lake/t/data/a.parquet", "file:/lake/t"))
    '/copy/t/data/a.parquet'
    """
    plain, root = (SCHEME.sub("", text).rstrip("/") for text in (location, base))
    inside = os.path.relpath(plain, root) if root and plain.startswith(f"{root}/") else os.pardir
    if inside.startswith(os.pardir):
        raise InputError(
            f"the table {folder} has files outside of its folder, which are not read",
            hint="write the version as Parquet, with the program that made the table",
        )
    return folder / inside


def _no_version(folder: Path, kind: str, version: int, known: str) -> InputError:
    return InputError(f"the {kind} table {folder} has no version {version}", hint=known)


OPENERS = {DELTA: _open_delta, ICEBERG: _open_iceberg}
