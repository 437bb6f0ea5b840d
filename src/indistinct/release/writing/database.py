"""A release in a database: written, read back, verified and committed in one transaction, with its certificate."""

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa

from indistinct.engines.base import DatabaseTable, Sink
from indistinct.engines.postgres import Postgres
from indistinct.engines.postgres.address import without_password
from indistinct.engines.postgres.source import open_database
from indistinct.engines.postgres.tables import staged_release, table_name
from indistinct.errors import ParameterError
from indistinct.recoding.outputs import MAIN
from indistinct.release.certificate import Certificate
from indistinct.release.history.ledger import Record
from indistinct.release.verification.check import Check
from indistinct.release.writing.files import certificate_path, require_another_file, table_path, write_release
from indistinct.release.writing.form import Writing
from indistinct.release.writing.small_counts import SMALLEST, check_smallest, text_for_others
from indistinct.release.writing.staging import Produce, check_target, publish_before, stage, staging
from indistinct.tables import addresses
from indistinct.tables.value import Reading

LOG = logging.getLogger("indistinct.write")

Place = str | Path | DatabaseTable
"""Where a release goes: a file, or a table of a database."""


def write_to(
    place: Place,
    fill: Callable[[Sink], None],
    check: Check,
    *,
    tables: Sequence[str] = (MAIN,),
    private: Mapping[Path, Produce] = MappingProxyType({}),
    overwrite: bool = False,
    record: Record | None = None,
    smallest_count: int = SMALLEST,
    writing: Writing = Writing(),  # noqa: B008 (a frozen value)
) -> Certificate:
    """Let `fill` write the tables of a release to a file or a database, and judge them as written: whole, or nothing.

    See `write_release` for files. In a database the certificate is the comment of the table, and a further table of
    `clinic.release` that holds `sensitive` values is `clinic.release_sensitive`.
    """
    if not isinstance(place, DatabaseTable):
        return write_release(
            place,
            fill,
            check.certify_files,
            tables=tables,
            private=private,
            overwrite=overwrite,
            record=record,
            smallest_count=smallest_count,
            writing=writing,
        )
    if not writing.plain:
        raise ParameterError(
            "how text looks goes with a text file, and not with a table of a database", hint="leave it out"
        )
    for each in private:
        check_target(each, overwrite=overwrite)
        require_another_file(each, None if record is None else record.ledger.path)
    with staging() as files, staged_release(place, tables=tables, overwrite=overwrite) as staged:
        fill(staged)
        certificate = check.certify_sources(Postgres(), staged.sources())
        LOG.info("writing %d tables and a certificate", len(staged.names))
        files += [stage(file, produce, private=True) for file, produce in private.items()]
        text = text_for_others(certificate, smallest=check_smallest(smallest_count))
        digest = hashlib.sha256(text.encode()).hexdigest()
        with nullcontext() if record is None else record.kept(certificate, digest=digest):
            publish_before(files, partial(staged.commit, text), overwrite=overwrite)
    return certificate


@dataclass(frozen=True, slots=True, eq=False)
class DatabaseTables(Mapping[str, pa.Table]):
    """The tables of a release that lie in a database: each is read when somebody asks for it."""

    place: DatabaseTable
    names: tuple[str, ...]

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self.names:
            raise KeyError(name)
        with open_database(further_table(self.place, name), Reading()) as source:
            return source.table()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def further_table(place: DatabaseTable, name: str) -> DatabaseTable:
    """Return where a table of a release lies in a database.

    >>> further_table(DatabaseTable("postgresql://host/db", 'clinic."Release"'), "sensitive").table
    'clinic."Release_sensitive"'
    """
    table = place.table or ""
    if table.endswith('"'):
        return DatabaseTable(place.database, f'{table_name(table[:-1], name)}"') if name != MAIN else place
    return DatabaseTable(place.database, table_name(table, name))


def name_of(place: Place) -> str:
    """Return a place in words, without a password.

    >>> name_of(DatabaseTable("postgresql://ann:secret@host/db", "clinic.release"))
    'clinic.release in postgresql://ann@host/db'
    """
    return (
        f"{place.table} in {without_password(place.database)}"
        if isinstance(place, DatabaseTable)
        else addresses.without_credentials(place)
    )


def names_of_release(place: Place, others: Sequence[str]) -> tuple[str, tuple[str, ...], str]:
    """Return where a release lies, where its further tables do, and where its certificate does, in words."""
    if isinstance(place, DatabaseTable):
        further = tuple(name_of(further_table(place, name)) for name in others)
        return name_of(place), further, f"the comment of {place.table}"
    further = tuple(addresses.without_credentials(table_path(place, name)) for name in others)
    return addresses.without_credentials(place), further, addresses.without_credentials(certificate_path(place))
