"""The files of a release: staged, read back and verified, and only then given their names, together or not at all."""

import json
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.base import Sink
from indistinct.errors import OutputError, ParameterError
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import MAIN
from indistinct.recoding.storage import files_of_recoding, second_file
from indistinct.release.certificate import (
    SMALLEST,
    Certificate,
    certificate_path,
    check_smallest,
    table_path,
    text_for_others,
)
from indistinct.release.history.ledger import Record
from indistinct.release.writing.delimited import Writing, count_cells, count_texts, formula_warnings
from indistinct.release.writing.delivery import delivered
from indistinct.release.writing.formats import is_text_file, producer_for, read_batches
from indistinct.release.writing.labelled import PROGRAMS, find_losses
from indistinct.release.writing.partitioned import check_partitioned_place, write_partitions
from indistinct.release.writing.staging import (
    Produce,
    Staged,
    check_target,
    digest_of,
    filled,
    publish,
    stage,
    stage_folder,
    staging,
    tidy,
)
from indistinct.tables.addresses import address_of, origin_of, read_ordinary, without_credentials
from indistinct.tables.dictionaries import is_text

LOG = logging.getLogger("indistinct.write")
# Formats that are written, and read again to be judged, batch by batch. Others have one dictionary or one width for a
# whole column, which is not known before the last batch, or are sheets, which are read at once.
IN_BATCHES = (".csv", ".tsv", ".parquet", ".pq")
# Formats in which a text ends at a NUL, or that are then no text.
NO_NUL = (".csv", ".tsv", *PROGRAMS)
# Names of what may be a folder of files as well.
FOLDERS = (".parquet", ".pq")


@dataclass(slots=True)
class StagedTables:
    """A sink that stages every table next to its place, in folders of partitions where `partition_by` names columns."""

    path: Path
    files: list[Staged]
    names: dict[str, Staged] = field(default_factory=dict)
    tables: dict[str, pa.Table] = field(default_factory=dict)
    schemas: dict[str, pa.Schema] = field(default_factory=dict)
    writing: Writing = Writing()  # noqa: RUF009 (a frozen value)
    partition_by: tuple[str, ...] = ()
    risky: dict[str, tuple[int, int]] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a spreadsheet would make of the cells of text files, and what a file does not keep of a table."""
        return (*formula_warnings(self.risky, self.writing), *self.lost)

    def accept(self, name: str, batches: Iterable[pa.Table]) -> None:
        """Write one table to a temporary file; what comes in a list is in memory anyhow, and is kept."""
        target = table_path(self.path, name)
        if isinstance(batches, list):
            self.tables[name] = pa.concat_tables(batches)
        elif target.suffix.lower() not in IN_BATCHES:
            raise OutputError(
                f"{target} cannot be written batch by batch", hint="write Parquet or CSV, or use the engine memory"
            )
        seen = self._seen(name, batches)
        if self.partition_by:
            columns, writing = self.partition_by, self.writing
            self.names[name] = stage_folder(target, lambda folder: write_partitions(seen, folder, columns, writing))
        else:
            self.names[name] = stage(target, producer_for(seen, target, self.writing))
        self.files.append(self.names[name])

    def accept_folder(self, name: str, write: Produce, *, schema: pa.Schema) -> None:
        """Let an engine write one table as a folder of Parquet files."""
        target = table_path(self.path, name)
        if target.suffix.lower() not in FOLDERS:
            raise OutputError(
                f"{target} would be written by many workers, who write Parquet alone",
                hint="end the name in .parquet, or leave out the output and write the release afterwards",
            )
        self.names[name], self.schemas[name] = stage_folder(target, partial(self._fill_folder, write)), schema
        self.files.append(self.names[name])

    def _fill_folder(self, write: Produce, folder: Path) -> None:
        """Let an engine write the files of a folder; partitions are made of them afterwards."""
        if not self.partition_by:
            write(folder)
            tidy(folder)
            return
        rows = folder.with_name("rows")
        write(rows)
        tidy(rows)
        write_partitions(read_batches(sorted(rows.iterdir())), folder, self.partition_by, self.writing)
        shutil.rmtree(rows)

    def _seen(self, name: str, batches: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Pass on batches; collect their schema, formulas and what the format cannot store."""
        for batch in batches:
            self.schemas.setdefault(name, batch.schema)
            suffix = self.path.suffix.lower()
            if suffix in NO_NUL:
                _require_no_nul(batch, suffix)
            if suffix in PROGRAMS:
                self.lost += find_losses(batch, self.writing, PROGRAMS[suffix])
            if is_text_file(self.path):
                for column in batch.column_names:
                    counts = count_cells(batch[column], self.writing)
                    before = self.risky.get(column, (0, 0))
                    self.risky[column] = (before[0] + counts[0], before[1] + counts[1])
            yield batch


def _require_no_nul(table: pa.Table, suffix: str) -> None:
    """Raise `OutputError` for a text with a NUL, at which readers of some formats stop."""
    for name in table.column_names:
        if is_text(table[name].type) and count_texts(table[name], lambda texts: pc.match_substring(texts, "\0")):
            raise OutputError(
                f"column {name!r} has a text with a NUL character, at which readers of a {suffix} file stop",
                hint="take it out of the text, clear the column (clear), or write Parquet",
            )


class WriteOptions(TypedDict, total=False):
    """What is written with the tables of a release, and how; see `write_release`."""

    tables: Sequence[str]
    private: Mapping[Path, Produce]
    overwrite: bool
    record: Record | None
    smallest_count: int
    writing: Writing
    partition_by: Sequence[str]


Fill = Callable[[Sink], None]
Certify = Callable[[StagedTables], Certificate]


def write_release(
    path: str | Path,
    fill: Fill,
    certify: Certify,
    *,
    tables: Sequence[str] = (MAIN,),
    private: Mapping[Path, Produce] = MappingProxyType({}),
    overwrite: bool = False,
    record: Record | None = None,
    smallest_count: int = SMALLEST,
    writing: Writing = Writing(),  # noqa: B008 (a frozen value)
    partition_by: Sequence[str] = (),
) -> Certificate:
    """Let `fill` write the tables of a release, `certify` judge them as written, and give all files their names.

    The certificate of `release.parquet` is `release.parquet.certificate.json`; a further table that holds `sensitive`
    values is `release.sensitive.parquet`. `private` are further files with what fills them, for their owner alone.
    Where a release is replaced, further tables that only the old one had go too. `record` is for a ledger, which knows
    of the release before any file has its name. The certificate that is written has no counts below `smallest_count`
    that the tables do not show; the one that is returned has all. `writing` is how text files look. With
    `partition_by` the release is a folder of partitions, whose names hold the values of these columns.
    """
    check_partitioned_place(partition_by, path)
    address = address_of(path)
    if address is not None:
        # A ledger knows of the release before it is sent: one that is remembered and was not published does no harm.
        return delivered(
            address,
            lambda place: write_release(
                place,
                fill,
                certify,
                tables=tables,
                private=private,
                record=record,
                smallest_count=smallest_count,
                writing=writing,
            ),
            lambda place: [*(table_path(place, name) for name in tables), certificate_path(place)],
            overwrite=overwrite,
        )
    target, seal = Path(path), certificate_path(path)
    if not writing.plain and not is_text_file(target):
        raise ParameterError(
            f"how text looks goes with a text file; {target.name} is none", hint="end the name in .csv or .tsv"
        )
    for each in (*(table_path(target, name) for name in tables), *private, seal):
        check_target(each, overwrite=overwrite)
        require_another_file(each, None if record is None else record.ledger.path)
    outdated = _outdated(target, tables) if overwrite else []
    with staging() as staged:
        sink = StagedTables(target, staged, writing=writing, partition_by=tuple(partition_by))
        fill(sink)
        certificate = certify(sink)
        LOG.info("writing %d tables and a certificate", len(sink.names))
        staged += [stage(file, produce, private=True) for file, produce in private.items()]
        staged.append(stage(seal, filled(text_for_others(certificate, smallest=check_smallest(smallest_count)))))
        with nullcontext() if record is None else record.remember(certificate, digest=staged[-1].digest):
            publish(staged, overwrite=overwrite, outdated=outdated)
    return certificate


def require_another_file(path: str | Path, source: Path | None) -> None:
    """Raise if a release would replace the file that it was made from, or compared with."""
    target, address = Path(path), address_of(path)
    same = source is not None and target.exists() and source.exists() and target.samefile(source)
    if same or (address is not None and source is not None and address_of(origin_of(source) or "") == address):
        raise OutputError(
            f"{without_credentials(target)} was read: the output would replace the input",
            hint="choose another path for the release",
        )


def _outdated(target: Path, kept: Sequence[str]) -> list[Path]:
    """Return the further tables of the release at a path which a new one does not have.

    Only files that the old certificate names and that are still what it says: no other file is touched.
    """
    try:
        digests = json.loads(read_ordinary(certificate_path(target)))["other_digests"]
        digest_by_path = {table_path(target, name): digest for name, digest in digests.items() if name not in kept}
        return [path for path, digest in digest_by_path.items() if path.exists() and digest_of(path) == digest]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def write_table(table: pa.Table, path: str | Path, *, overwrite: bool = False) -> str:
    """Write a published table in the format that the suffix names; return the SHA-256 of the file."""
    return write_atomically(path, producer_for([table], Path(path)), overwrite=overwrite)


def write_atomically(path: str | Path, produce: Produce, *, overwrite: bool = False, private: bool = False) -> str:
    """Let `produce` fill a temporary file, then move it to `path`; return its SHA-256.

    A `private` file can be read by its owner alone. Raises `OutputError` if something is there already and `overwrite`
    is not set, or if the directory does not take the file.
    """
    target = Path(path)
    check_target(target, overwrite=overwrite)
    with staging() as staged:
        staged.append(stage(target, produce, private=private))
        publish(staged, overwrite=overwrite)
        return staged[0].digest


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
        with suppress(OSError):  # the new recoding is whole, whatever lies next to it
            old.unlink()
