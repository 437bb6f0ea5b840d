"""The files of a release, opened as the algorithm that made it publishes tables: in classes or in buckets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.algorithms.base import Algorithm
from indistinct.engines import lives_elsewhere, open_source
from indistinct.engines.base import DatabaseTable, PublishedFile, Source
from indistinct.errors import InputError, SchemaError
from indistinct.recoding.outputs import SENSITIVE, Buckets
from indistinct.release.columns import published_schema
from indistinct.release.opened import BucketTable, buckets_told, read_certificate, told_by
from indistinct.release.writing.database import further_table
from indistinct.release.writing.files import table_path
from indistinct.schema import Schema
from indistinct.tables import Table, open_table
from indistinct.tables.addresses import address_of
from indistinct.tables.domain import Kind
from indistinct.tables.opening import columns_in
from indistinct.tables.value import Reading


def read_release(
    path: Path | DatabaseTable,
    schema: Schema,
    *,
    algorithm: Algorithm | None = None,
    reading: Reading | None = None,
    where: Mapping[str, Any] | None = None,
    by_certificate: bool = False,
) -> Source | BucketTable:
    """Return what lies at a place: a table in classes, or a release in buckets.

    A file is in buckets where the algorithm makes such, or, with `by_certificate`, where its certificate says so: a
    verifier never trusts it with that. The certificate also tells the columns that a search found. What was promised is
    never taken from it. Quasi-identifiers of classes in a text file are text, which is their finest reading. `where`
    are the engine, its memory and the table of a database, as `open_source` takes them.
    """
    how, options = reading or Reading(), where or {}
    if isinstance(path, DatabaseTable):
        return _in_database(path, schema, algorithm, by_certificate=by_certificate)
    present = columns_in(path, how)
    buckets = _buckets(schema, algorithm, read_certificate(path), by_certificate=by_certificate)
    if buckets is None:
        return _open(path, how, present, also=published_schema(schema, present).quasi, where=options)
    apart = None
    if buckets.form == "tables":
        second = table_path(path, SENSITIVE)
        if address_of(second) is None and not second.exists():
            raise InputError(
                f"there is no file {second}, the second table of an anatomy release",
                hint="keep both tables beside each other, under the names that they were written with",
            )
        apart = _open(second, how, columns_in(second, how), where=options)
    return BucketTable(
        _open(path, how, present, where=options), buckets.slices, buckets.form, apart, buckets.generalized
    )


def _buckets(
    schema: Schema, algorithm: Algorithm | None, certificate: Mapping[str, Any] | None, *, by_certificate: bool
) -> Buckets | None:
    """Return how a release shows its buckets, as its algorithm and its certificate say; None for classes."""
    written = buckets_told(certificate)
    if algorithm is None or not algorithm.traits.buckets:
        return written if by_certificate else None
    return algorithm.buckets(schema, written)


def _in_database(
    place: DatabaseTable, schema: Schema, algorithm: Algorithm | None, *, by_certificate: bool
) -> Source | BucketTable:
    main = open_source(place)[1]
    buckets = _buckets(schema, algorithm, told_by(main), by_certificate=by_certificate)
    if buckets is None:
        return main
    apart = open_source(further_table(place, SENSITIVE))[1] if buckets.form == "tables" else None
    return BucketTable(main, buckets.slices, buckets.form, apart, buckets.generalized)


def require_original(buckets: Buckets, columns: Sequence[str]) -> None:
    """Raise unless a table has every column of the release in buckets that it is compared with."""
    missing = [name for names in buckets.slices for name in names if name not in columns]
    if missing:
        raise SchemaError(
            f"the original has no column {', '.join(map(repr, missing))}, which the release has",
            hint="give the table that the release was made from",
        )


def read_alike(path: Path, original: Table) -> Table:
    """Return another table about people, read as an original was, as far as both have the same columns."""
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
    """Return what a reading says of the columns that are there; some are text as well."""
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
