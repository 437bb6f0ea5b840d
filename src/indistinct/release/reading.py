"""The files of a release, opened as the algorithm that made it publishes tables: in classes or in buckets."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from indistinct.algorithms.base import Algorithm
from indistinct.errors import InputError, SchemaError
from indistinct.recoding.outputs import SENSITIVE, Buckets
from indistinct.release.columns import published_schema
from indistinct.release.files import table_path
from indistinct.release.published import BucketTable, buckets_told, read_certificate
from indistinct.schema import Schema
from indistinct.tables import Table, open_table
from indistinct.tables.opening import columns_in
from indistinct.tables.value import Reading


def read_release(
    path: Path, schema: Schema, *, algorithm: Algorithm, reading: Reading | None = None
) -> Table | BucketTable:
    """Return what lies at a path: a table in classes, or a release in buckets if the algorithm makes such.

    What was promised comes from the algorithm alone. The certificate beside the file tells the columns that a search
    found. Quasi-identifiers of classes in a text file are text, which is their finest reading.
    """
    how = reading or Reading()
    present = columns_in(path, how) if path.is_file() else ()
    if not algorithm.traits.buckets:
        return _open(path, how, present, also=published_schema(schema, present).quasi)
    buckets = algorithm.buckets(schema, buckets_told(read_certificate(path)))
    if buckets is None:
        raise AssertionError(f"{algorithm.name} does not say how it publishes buckets")
    apart = None
    if buckets.form == "tables":
        second = table_path(path, SENSITIVE)
        if not second.exists():
            raise InputError(
                f"there is no file {second}, the second table of an anatomy release",
                hint="keep both tables beside each other, under the names that they were written with",
            )
        apart = _open(second, how, columns_in(second, how))
    return BucketTable(_open(path, how, present), buckets.slices, buckets.form, apart, buckets.generalized)


def require_original(buckets: Buckets, columns: Sequence[str]) -> None:
    """Raise unless a table has every column of the release in buckets that it is compared with."""
    missing = [name for names in buckets.slices for name in names if name not in columns]
    if missing:
        raise SchemaError(
            f"the original has no column {', '.join(map(repr, missing))}, which the release has",
            hint="give the table that the release was made from",
        )


def _open(path: Path, reading: Reading, present: Sequence[str], *, also: Sequence[str] = ()) -> Table:
    """Return a published table, which may lack some of the columns that are read as text."""
    text = tuple(name for name in dict.fromkeys((*reading.text, *also)) if name in present)
    typed = set(present) - set(text)
    own = replace(
        reading,
        text=text,
        dates_in={name: form for name, form in reading.dates_in.items() if name in typed},
        missing_in={name: marks for name, marks in reading.missing_in.items() if name in present},
        types={name: kind for name, kind in reading.types.items() if name in typed},
    )
    return open_table(path, reading=own, published=True)
