"""Where a release goes: to files, or into tables of a database; checked before any algorithm runs.

Each kind of place checks whether it is free, writes a release whole or not at all, and reads it again.
"""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Unpack

import pyarrow as pa

from indistinct.engines import make_engine
from indistinct.engines.base import DatabaseTable, Sink, further_table, require_table, without_password
from indistinct.engines.postgres.source import open_database
from indistinct.engines.postgres.tables import check_release, staged_release
from indistinct.errors import OutputError, ParameterError
from indistinct.recoding.outputs import MAIN
from indistinct.release.certificate import (
    SMALLEST,
    Certificate,
    certificate_path,
    check_smallest,
    table_path,
    text_for_others,
)
from indistinct.release.verification.check import Check
from indistinct.release.writing.delimited import Writing
from indistinct.release.writing.files import WriteOptions, require_another_file, write_release
from indistinct.release.writing.formats import FORMATS
from indistinct.release.writing.partitioned import check_partitioned_place, restore_columns
from indistinct.release.writing.staging import check_target, publish_before, stage, staging
from indistinct.tables import addresses
from indistinct.tables.addresses import without_credentials
from indistinct.tables.opening import open_table
from indistinct.tables.value import Reading

LOG = logging.getLogger("indistinct.write")
Place = str | Path | DatabaseTable
"""Where a release goes: a file, or a table of a database."""


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Files: the first table at a path or an address, its certificate and further tables next to it."""

    path: str | Path

    def __post_init__(self) -> None:
        _check_name(Path(self.path))

    @property
    def name(self) -> str:
        """Return the place in words, without a password."""
        return without_credentials(self.path)

    @property
    def certificate(self) -> str:
        """Return the path of the certificate, for messages."""
        return without_credentials(certificate_path(self.path))

    def further(self, name: str) -> "FilePlace":
        """Return the place of another table of the release."""
        return FilePlace(table_path(self.path, name))

    def check_free(self, private: Sequence[Path], *, sources: Iterable[Path], overwrite: bool) -> None:
        """Raise before any work if a release and some private files cannot be written, or would replace a source."""
        path = Path(self.path)
        check_format(path)
        check_targets([path, certificate_path(self.path), *private], sources=sources, overwrite=overwrite)

    def require_other(self, source: Path | None) -> None:
        """Raise if a release would replace the file that it was made from."""
        require_another_file(self.path, source)

    def write(self, fill: Callable[[Sink], None], check: Check, **order: Unpack[WriteOptions]) -> Certificate:
        """Let `fill` write the tables of a release, and judge them as written; see `write_release`."""
        return write_release(self.path, fill, check.certify_files, **order)

    def read(self, name: str) -> pa.Table:
        """Read a table of the release from here."""
        return open_table(table_path(self.path, name), published=True).data


@dataclass(frozen=True, slots=True)
class DatabasePlace:
    """Tables of a database: the certificate is the comment of the first one."""

    table: DatabaseTable

    @property
    def name(self) -> str:
        """Return the place in words, without a password.

        >>> DatabasePlace(DatabaseTable("postgresql://ann:secret@host/db", "clinic.release")).name
        'clinic.release in postgresql://ann@host/db'
        """
        return f"{self.table.table} in {without_password(self.table.database)}"

    @property
    def certificate(self) -> str:
        """Name the place of the certificate: the comment of the table."""
        return f"the comment of {self.table.table}"

    def further(self, name: str) -> "DatabasePlace":
        """Return the place of another table of the release."""
        return DatabasePlace(further_table(self.table, name))

    def check_free(self, private: Sequence[Path], *, sources: Iterable[Path], overwrite: bool) -> None:
        """Raise before any work if a release and some private files cannot be written, or would replace a source."""
        check_release(self.table, overwrite=overwrite)
        check_targets(private, sources=sources, overwrite=overwrite)

    def require_other(self, source: Path | None) -> None:
        """Do nothing: no table of a database is a file."""

    def write(self, fill: Callable[[Sink], None], check: Check, **order: Unpack[WriteOptions]) -> Certificate:
        """Let `fill` write the tables of a release, and judge them as written: whole, or nothing.

        A further table of `clinic.release` that holds `sensitive` values is `clinic.release_sensitive`.
        """
        if not order.get("writing", Writing()).plain:
            raise ParameterError(
                "how text looks goes with a text file, and not with a table of a database", hint="leave it out"
            )
        check_partitioned_place(order.get("partition_by", ()), self.table)
        private, record = order.get("private", {}), order.get("record")
        overwrite = order.get("overwrite", False)
        for each in private:
            check_target(each, overwrite=overwrite)
            require_another_file(each, None if record is None else record.ledger.path)
        tables = order.get("tables", (MAIN,))
        with staging() as files, staged_release(self.table, tables=tables, overwrite=overwrite) as staged:
            fill(staged)
            certificate = check.certify_sources(make_engine("postgres"), staged.sources())
            LOG.info("writing %d tables and a certificate", len(staged.names))
            files += [stage(file, produce, private=True) for file, produce in private.items()]
            text = text_for_others(certificate, smallest=check_smallest(order.get("smallest_count", SMALLEST)))
            digest = hashlib.sha256(text.encode()).hexdigest()
            with nullcontext() if record is None else record.remember(certificate, digest=digest):
                publish_before(files, partial(staged.commit, text), overwrite=overwrite)
        return certificate

    def read(self, name: str) -> pa.Table:
        """Read a table of the release from here."""
        with open_database(further_table(self.table, name), Reading()) as source:
            return source.table()


def place_at(output: Place) -> FilePlace | DatabasePlace:
    """Return the place of a release that a path, an address or a table of a database names."""
    return DatabasePlace(output) if isinstance(output, DatabaseTable) else FilePlace(output)


@dataclass(frozen=True, slots=True, eq=False)
class WrittenTables(Mapping[str, pa.Table]):
    """The tables of a release that was written: each is read when it is used.

    `schemas` are those of tables in partitions, whose columns are restored in their order.
    """

    place: FilePlace | DatabasePlace
    names: tuple[str, ...]
    schemas: Mapping[str, pa.Schema] = field(default_factory=dict)

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self.names:
            raise KeyError(name)
        return restore_columns(self.place.read(name), self.schemas.get(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a release goes: a file or a table of a database; without an `output` it stays in memory.

    `save_recoding` is a private file for its recoding. Counts below `smallest_count` are hidden from others. `writing`
    is how text files look, and `partition_by` names the columns by which a folder of partitions is made.
    """

    output: Place | None = None
    overwrite: bool = False
    save_recoding: str | Path | None = None
    smallest_count: int = SMALLEST
    writing: Writing = Writing()  # noqa: RUF009 (a frozen value)
    partition_by: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Raise unless the parts of a destination belong together."""
        check_smallest(self.smallest_count)
        if self.output is None and self.save_recoding is not None:
            raise ParameterError(
                "`save_recoding` goes with `output`", hint="release.write_recoding(path) keeps it alone"
            )
        require_table(self.output)
        check_partitioned_place(self.partition_by, self.output)

    @property
    def place(self) -> FilePlace | DatabasePlace | None:
        """Return the place that is written to, if there is one."""
        return None if self.output is None else place_at(self.output)

    def check_free(self, sources: Iterable[Path]) -> None:
        """Raise before any work if a release cannot be written here, or would replace one of its sources."""
        recoding = [] if self.save_recoding is None else [Path(self.save_recoding)]
        if self.place is not None:
            self.place.check_free(recoding, sources=sources, overwrite=self.overwrite)


IN_MEMORY = Destination()


def check_targets(targets: Iterable[Path], *, sources: Iterable[Path], overwrite: bool) -> None:
    """Raise `OutputError` if a target is a source, occurs twice, or cannot be written."""
    wanted, read = list(targets), list(sources)
    for destination in wanted:
        _check_name(destination)
    for index, destination in enumerate(wanted):
        if any(_same(destination, source) for source in read):
            raise OutputError(
                f"{without_credentials(destination)} is also read: the output would replace the input",
                hint="write the output to another path; `overwrite` never replaces an input",
            )
        if any(_same(destination, other) for other in wanted[:index]):
            raise OutputError(f"{without_credentials(destination)} is named for two outputs", hint="choose two paths")
        check_target(destination, overwrite=overwrite)


def _check_name(destination: Path) -> None:
    """Raise `OutputError` for a path that no file can have."""
    if "\0" in str(destination):
        raise OutputError("the path of an output has a NUL character, which no file can have", hint="check the path")


def check_format(destination: Path) -> None:
    """Raise `OutputError` if the suffix names no format that a table can be written in."""
    address = addresses.address_of(destination)
    suffix = destination.suffix if address is None else Path(addresses.name_of(address)).suffix
    if suffix.lower() not in FORMATS:
        raise OutputError(
            f"{without_credentials(destination)}: the suffix {suffix!r} does not say in which format to write"
            if suffix
            else f"{without_credentials(destination)}: there is no suffix to say in which format to write",
            hint=f"end the name in one of {', '.join(FORMATS)}",
        )


def _same(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, also through links."""
    try:
        return one.samefile(other)
    except OSError:
        return one.resolve() == other.resolve()
