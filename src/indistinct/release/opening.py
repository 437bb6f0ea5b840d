"""A published release opened from anywhere: classes, buckets, or a file with its certificate."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.algorithms.base import Algorithm
from indistinct.engines import lives_elsewhere, open_source
from indistinct.engines.base import DatabaseTable, Engine, PublishedFile, Source, Transformable, further_table
from indistinct.errors import InputError, SchemaError
from indistinct.frequencies.count import Counted, Request
from indistinct.frequencies.slices import Links
from indistinct.frequencies.structure import CLASSES, Buckets, Form, Structure, structure_of
from indistinct.recoding.outputs import MAIN, SENSITIVE
from indistinct.recoding.transformations import Transformed
from indistinct.release.certificate import WHOLE, certificate_path, misfit_of, table_path
from indistinct.release.verification.evidence import published_schema
from indistinct.release.writing.delimited import MARK
from indistinct.release.writing.guard import columns_with_marks, is_guarded, remove_guard
from indistinct.release.writing.staging import digest_of
from indistinct.schema import Schema
from indistinct.tables.addresses import (
    address_of,
    fetch_files,
    is_elsewhere,
    origin_of,
    read_ordinary,
    without_credentials,
)
from indistinct.tables.domain import Kind
from indistinct.tables.opening import columns_in, open_table
from indistinct.tables.several import LABELLED, PARQUET, SHEETS, files_of, find_partitions, is_delimited, kind_of_file
from indistinct.tables.value import Reading, Table, is_table
from indistinct.view.bucket_evidence import BucketEvidence, count_buckets


@dataclass(frozen=True, slots=True, eq=False)
class BucketTable:
    """A release in buckets: its table, its slices, its form, and the table of sensitive values where that is apart.

    Where a table is expected, a path or a frame will do. `form` is `sliced`, `tables` or `multiset`; `generalized`
    names attributes whose values were recoded before, so that those of the original cannot be found in them.
    """

    table: Any
    slices: tuple[tuple[str, ...], ...]
    form: Form = "sliced"
    sensitive: Any = None
    generalized: tuple[str, ...] = ()

    @property
    def buckets(self) -> Buckets:
        """How the release shows its buckets."""
        return Buckets(self.form, tuple(map(tuple, self.slices)), tuple(self.generalized))


@dataclass(frozen=True, slots=True, eq=False)
class OpenedTables:
    """The opened tables of a release, their structure, and where the first one lies.

    `sources` are read without the apostrophes that guard texts from spreadsheets; `stored` are the tables as the files
    have them, empty where there is no difference to look for. `only_certified`: it is the certificate alone that says
    that the release is in buckets.
    """

    engine: Engine
    sources: Mapping[str, Source]
    structure: Structure = CLASSES
    path: Path | None = None
    stored: Mapping[str, Source] = field(default_factory=dict)
    only_certified: bool = False

    @property
    def distrusted(self) -> bool:
        """Whether the certificate says that the release is in buckets, and it was opened as classes all the same."""
        return self.structure.whole_rows and not certified_structure(certificate_of(self)).whole_rows

    def in_buckets(
        self, schema: Schema, *, reference: Counted | None = None, light: bool | None = None
    ) -> BucketEvidence:
        """Count a release in buckets, with what was counted on its original where that is known."""
        buckets = self.structure.buckets
        if buckets is None:
            raise AssertionError("only a release in buckets is counted by them")

        def count(name: str, request: Request) -> Counted:
            return self.engine.count(self.sources[name], request)

        rows = self.sources[MAIN].rows
        return count_buckets(count, buckets, schema, rows=rows, reference=reference, light=light)

    def links(self, schema: Schema) -> Links | None:
        """Return the links between people and sensitive values across slices; None for a release in classes."""
        return None if self.structure.buckets is None else self.in_buckets(schema).links

    @property
    def main(self) -> Source:
        """The published table; of a release in several tables, the first."""
        return self.sources[MAIN]

    @property
    def text(self) -> bool:
        """Whether the release is a text file, which has no types."""
        return any(map(is_delimited, self.sources[MAIN].files))

    @property
    def untyped(self) -> bool:
        """Whether the release is a file that cannot distinguish empty text from missing."""
        files = self.sources[MAIN].files
        return self.text or any(path.suffix.lower() in (*LABELLED, *SHEETS) for path in files)

    def without_guard(self, original: tuple[Engine, Source] | None = None) -> "OpenedTables":
        """Return the tables of a text file without the apostrophes that guard texts from spreadsheets.

        A column keeps them where the `original`, given with its engine, has all of these texts too.
        """
        if not self.text:
            return self
        stored = self.stored or self.sources
        sources = {name: remove_guards(self.engine, each, original) for name, each in stored.items()}
        return replace(self, sources=sources, stored=stored)

    @property
    def apart(self) -> Path | None:
        """Path of the table of sensitive values, if it is a file of its own."""
        return self.sources[SENSITIVE].path if SENSITIVE in self.sources else None


def remove_guards(engine: Engine, source: Source, original: tuple[Engine, Source] | None = None) -> Source:
    """Return a source without the apostrophes of its guarded columns, but for those that an original has so."""
    guarded = []
    for name in columns_with_marks(source):
        texts = _distinct(engine, source, name)
        if is_guarded(texts) and not _has_texts(original, name, texts):
            guarded.append(name)
    if not guarded:
        return source
    if is_table(source):
        data = source.data
        for name in guarded:
            data = data.set_column(data.column_names.index(name), name, remove_guard(data[name]))
        return replace(source, data=data)
    if not isinstance(source, Transformable):
        raise AssertionError("text files are read by engines that can transform columns")
    changes = dict.fromkeys(guarded, lambda column: remove_guard(column.cast(pa.string())))
    return source.transformed(Transformed(changes, dict.fromkeys(guarded, pa.string()), {}))


def _distinct(engine: Engine, source: Source, name: str) -> pa.Array:
    return engine.count(source, Request((name,), published=True)).known[name].values


def _has_texts(original: tuple[Engine, Source] | None, name: str, texts: pa.Array) -> bool:
    """Return whether all texts that begin with an apostrophe are texts of a column of the original."""
    if original is None or original[1].kinds.get(name) is not Kind.TEXT:
        return False
    marked = texts.filter(pc.starts_with(texts, MARK))
    return bool(pc.all(pc.is_in(marked, value_set=_distinct(*original, name))).as_py())


def open_published(
    published: Any, schema: Schema, *, engine: str = "auto", memory: str | int | None = None
) -> OpenedTables:
    """Open a release; in a text file the quasi-identifiers are text, which is their finest reading."""
    if not isinstance(published, BucketTable):
        given, reading = _as_text(published, schema)
        where, source = open_source(given, reading, engine=engine, memory=memory)
        folder = Path(published) if isinstance(published, str | Path) and Path(published).is_dir() else None
        return OpenedTables(where, {MAIN: source}, path=folder or source.path)
    where, main = open_source(published.table, engine=engine, memory=memory)
    sources = {MAIN: main}
    if published.sensitive is not None:
        sources[SENSITIVE] = open_source(published.sensitive, engine=where.name, memory=memory)[1]
    return OpenedTables(where, sources, published.buckets, main.path)


def open_release(
    release: Any,
    schema: Schema,
    algorithm: Algorithm | None,
    reading: Reading | None,
    where: Mapping[str, Any],
    *,
    by_certificate: bool,
) -> OpenedTables:
    """Open the tables of a release; a file is in buckets where its algorithm or its certificate says so."""
    path = Path(release) if isinstance(release, str) else release
    if isinstance(path, DatabaseTable):
        tables = read_release(path, schema, algorithm=algorithm, by_certificate=by_certificate)
        opened = open_published(tables, schema)
    elif isinstance(path, Path) and (where.get("table") or address_of(path) is not None or path.is_file()):
        tables = read_release(
            path, schema, algorithm=algorithm, reading=reading, where=where, by_certificate=by_certificate
        )
        opened = open_published(tables, schema).without_guard()
    else:
        return open_published(release, schema, engine=where["engine"], memory=where["memory"]).without_guard()
    named = algorithm is not None and algorithm.traits.buckets
    return replace(opened, only_certified=opened.structure.buckets is not None and not named)


def _as_text(published: Any, schema: Schema) -> tuple[Any, Reading | None]:
    """Return a release and how it is read, if it is a text file."""
    is_path = isinstance(published, str | Path | list | tuple) and not lives_elsewhere(published)
    files = files_of(published) if is_path else None
    if files and kind_of_file(files[0]) in PARQUET and Path(files[0]).is_file():
        partitions = find_partitions(published, files)
        names = () if partitions is None else partitions.schema.names
        quasi = tuple(name for name in published_schema(schema, names).quasi if name in names)
        return published, Reading(text=quasi) if quasi else None
    if not files or not all(is_delimited(path) and path.is_file() for path in files):
        return published, None
    present = columns_in(files[0])
    text = [name for name in published_schema(schema, present).quasi if name in present]
    return PublishedFile(published), Reading(text=tuple(text))


def read_certificate(path: Path) -> dict[str, Any] | None:
    """Return the certificate next to a release, None if there is none."""
    location = certificate_path(Path(origin) if (origin := origin_of(path)) and is_elsewhere(origin) else path)
    try:
        (beside,) = fetch_files(location) or (location,)
        certificate = json.loads(read_ordinary(beside))
    except (FileNotFoundError, InputError):  # the second: at an address there is none
        return None
    except (OSError, ValueError, RecursionError):
        certificate = None
    return _checked(certificate, without_credentials(location))


def _checked(certificate: Any, name: str) -> dict[str, Any]:
    """Return a certificate that may have been changed; raise `InputError` where a field cannot be one's."""
    misfit = misfit_of(certificate)
    if misfit is not None:
        what = "" if misfit == WHOLE else f": its field {misfit!r} is missing, or of another type"
        raise InputError(
            f"the certificate {name} cannot be read{what}",
            hint="give it as it was written, or move it away",
        )
    document: dict[str, Any] = certificate
    return document


def certificate_of(published: OpenedTables) -> dict[str, Any] | None:
    """Return the certificate that came with a release: next to its file, or as the comment of its table."""
    if published.path is not None:
        return read_certificate(published.path)
    return certificate_in_comment(published.sources[MAIN])


def certificate_in_comment(source: Source) -> dict[str, Any] | None:
    """Return the certificate that is the comment of a table of a database, None if there is none."""
    try:
        certificate = json.loads(source.comment or "")
    except (ValueError, RecursionError):
        return None  # a comment from elsewhere
    return (
        _checked(certificate, "of the table") if isinstance(certificate, dict) and "verdicts" in certificate else None
    )


def belongs_to(certificate: Mapping[str, Any] | None, path: Path, *, apart: Path | None = None) -> bool:
    """Return whether a certificate has the digests of the files next to it; without a certificate this is true."""
    if certificate is None:
        return True
    others = certificate.get("other_digests")
    second = others.get(SENSITIVE) if isinstance(others, dict) else None
    return certificate.get("output_digest") == digest_of(path) and (apart is None or second == digest_of(apart))


def certified_structure(certificate: Mapping[str, Any] | None) -> Structure:
    """Return the structure of a release that its certificate states; without one, that of classes."""
    fields = certificate or {}
    columns = fields.get("columns")
    slices = map(_names, columns) if isinstance(columns, list) else ()
    return structure_of(fields.get("form"), slices, _names(fields.get("generalized")))


def _names(value: Any) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, list) and all(isinstance(name, str) for name in value) else ()


def read_release(
    path: Path | DatabaseTable,
    schema: Schema,
    *,
    algorithm: Algorithm | None = None,
    reading: Reading | None = None,
    where: Mapping[str, Any] | None = None,
    by_certificate: bool = False,
) -> Source | BucketTable:
    """Open a release: a table in classes, or the tables of buckets.

    A file is in buckets where the algorithm makes such, or, with `by_certificate`, where its certificate says so: a
    verifier never trusts it with that. The certificate also tells the columns that a search found. The guarantee is
    never taken from it. Quasi-identifiers of classes in a text file are text, which is their finest reading. `where`
    are the engine, its memory and the table of a database, as `open_source` takes them.
    """
    how, options = reading or Reading(), where or {}
    if isinstance(path, DatabaseTable):
        return _in_database(path, schema, algorithm, by_certificate=by_certificate)
    present = columns_in(path, how)
    structure = _structure(schema, algorithm, read_certificate(path), by_certificate=by_certificate)
    if structure.buckets is None:
        return _open(path, how, present, also=published_schema(schema, present).quasi, where=options)
    apart = None
    if structure.two_tables:
        second = table_path(path, SENSITIVE)
        if address_of(second) is None and not second.exists():
            raise InputError(
                f"there is no file {second}, the second table of an anatomy release",
                hint="keep both tables in one folder, under the names that they were written with",
            )
        apart = _open(second, how, columns_in(second, how), where=options)
    return _in_buckets(_open(path, how, present, where=options), structure.buckets, apart)


def _in_buckets(table: Source, buckets: Buckets, apart: Source | None) -> BucketTable:
    return BucketTable(table, buckets.slices, buckets.form, apart, buckets.generalized)


def _structure(
    schema: Schema, algorithm: Algorithm | None, certificate: Mapping[str, Any] | None, *, by_certificate: bool
) -> Structure:
    """Return the structure of a release, as its algorithm and its certificate say."""
    written = certified_structure(certificate)
    if algorithm is None or not algorithm.traits.buckets:
        return written if by_certificate else CLASSES
    return algorithm.structure(schema, written)


def _in_database(
    table: DatabaseTable, schema: Schema, algorithm: Algorithm | None, *, by_certificate: bool
) -> Source | BucketTable:
    """Open a release in a database: a table of classes, or the tables of buckets."""
    main = open_source(table)[1]
    structure = _structure(schema, algorithm, certificate_in_comment(main), by_certificate=by_certificate)
    if structure.buckets is None:
        return main
    apart = open_source(further_table(table, SENSITIVE))[1] if structure.two_tables else None
    return _in_buckets(main, structure.buckets, apart)


def require_original(structure: Structure, columns: Sequence[str]) -> None:
    """Raise unless a table has every column of the slices of the release that it is compared with."""
    missing = [name for name in structure.attributes if name not in columns]
    if missing:
        raise SchemaError(
            f"the original has no column {', '.join(map(repr, missing))}, which the release has",
            hint="give the table that the release was made from",
        )


def read_alike(path: Path, original: Table) -> Table:
    """Open another table about people with the reading options of an original, for the columns of both."""
    present = columns_in(path, original.reading) if path.is_file() else ()
    kinds = original.kinds
    shared = {kinds[name] for name in present if name in kinds}
    reading = original.reading
    if Kind.DATE not in shared:  # a notation that fits no column is an error
        reading = replace(reading, dates=())
    if not any(pa.types.is_floating(original.data[name].type) for name in present if name in kinds):
        reading = replace(reading, decimal=None, thousands=None)
    text = [name for name, kind in kinds.items() if kind is Kind.TEXT]
    return open_table(path, reading=_limited(reading, present, also=text))


def _open(
    path: Path, reading: Reading, present: Sequence[str], *, also: Sequence[str] = (), where: Mapping[str, Any]
) -> Source:
    """Return a published table, which may lack some of the columns that are read as text."""
    given = path if where.get("table") or lives_elsewhere(path) else PublishedFile(path)
    return open_source(given, _limited(reading, present, also=also), **where)[1]


def _limited(reading: Reading, present: Sequence[str], *, also: Sequence[str] = ()) -> Reading:
    """Limit reading options to the columns that are present; the columns `also` are read as text."""
    text = tuple(name for name in dict.fromkeys((*reading.text, *also)) if name in present)
    typed = set(present) - set(text)
    return replace(
        reading,
        columns=(),
        text=text,
        dates_in={name: form for name, form in reading.dates_in.items() if name in typed},
        missing_in={name: marks for name, marks in reading.missing_in.items() if name in present},
        types={name: kind for name, kind in reading.types.items() if name in typed},
    )
