"""A release: the published tables and what was verified on them."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.algorithms.explanation import Explanation
from indistinct.engines.base import Sink, require_table
from indistinct.errors import MissingExtraError
from indistinct.hierarchy import Hierarchy
from indistinct.markup import Document, piece
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import MAIN, Assignment, Buckets
from indistinct.recoding.storage import files_of_recoding, second_file
from indistinct.release.certificate import SMALLEST, Certificate, counted_grid, verdict_grid
from indistinct.release.history.ledger import Record, reserved
from indistinct.release.verification.check import Check
from indistinct.release.writing.delimited import Writing
from indistinct.release.writing.files import require_another_file
from indistinct.release.writing.formats import publishable
from indistinct.release.writing.places import Place, place_at
from indistinct.release.writing.staging import check_target, publish, stage, staging
from indistinct.schema import Schema
from indistinct.tables.value import Labels


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release:
    """What is published, how it was done, and what was verified.

    Only the tables and the certificate are for others. `recoding` and `check` hold original values. `counters` say what
    the search did, and `origin` which file was read. `explanation` says why an algorithm was chosen, where none was
    named. `record` is what a ledger is to remember once the release is written. `declared` are the hierarchies that it
    was made with, and `labels` what a statistics program says of its columns.
    """

    certificate: Certificate
    recoding: Recoding
    check: Check
    counters: Mapping[str, float]
    tables: Mapping[str, pa.Table]
    origin: Path | None = None
    explanation: Explanation | None = None
    record: Record | None = None
    declared: Mapping[str, Hierarchy] = field(default_factory=dict)
    labels: Mapping[str, Labels] = field(default_factory=dict)

    def __repr__(self) -> str:
        shown = self.certificate
        return f"<Release of {shown.rows} rows in {shown.classes} {'classes' if shown.form is None else 'buckets'}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what was promised and counted, and no row."""
        told = Document("certificate", self.certificate.to_json())
        return piece(repr(self).strip("<>"), verdict_grid(told), counted_grid(told), notes=self.certificate.warnings)

    @property
    def table(self) -> pa.Table:
        """The published table."""
        return self.tables[MAIN]

    @property
    def others(self) -> Mapping[str, pa.Table]:
        """Further tables, by what they hold: anatomy publishes its sensitive values apart."""
        return {name: table for name, table in self.tables.items() if name != MAIN}

    @property
    def hierarchies(self) -> Mapping[str, Hierarchy]:
        """The hierarchies that published labels and sensitive values come from: given ones, and the recoding's own."""
        return {**self.declared, **self.recoding.hierarchies}

    @property
    def assignment(self) -> Assignment:
        """Where the recoding sent each cell."""
        if self.check.assignment is None:
            raise AssertionError("a release knows what was meant to be published")
        return self.check.assignment

    @property
    def schema(self) -> Schema:
        """The roles of the published columns."""
        return self.assignment.layout.schema

    @property
    def buckets(self) -> Buckets | None:
        """How the release shows its buckets, if it has any."""
        return self.assignment.layout.buckets

    def classes(self) -> pa.Table:
        """Return the equivalence classes: what each shows, and its number of rows."""
        names = list(self.schema.quasi)
        counted = _without_dictionaries(self.table.select(names)).group_by(names).aggregate([([], "count_all")])
        return counted.rename_columns([*names, "rows"]).sort_by([(name, "ascending") for name in names])

    def to_pandas(self) -> Any:
        """Return the published table as a pandas frame with a plain index; categories and whole numbers stay such."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise MissingExtraError("pandas", extra="pandas", purpose="a pandas frame") from None
        return _to_pandas(self._plain())

    def to_polars(self) -> Any:
        """Return the published table as a polars frame."""
        try:
            import polars
        except ImportError:
            raise MissingExtraError("polars", extra="polars", purpose="a polars frame") from None
        return polars.from_arrow(self._plain())

    def _plain(self) -> pa.Table:
        """Return the table with text for what is coded, but categories for columns that were such."""
        kept = [name for name, each in self.labels.items() if each.category is not None]
        return _without_dictionaries(publishable(self.table, self.labels) if kept else self.table, kept=kept)

    def write(
        self,
        path: Place,
        *,
        overwrite: bool = False,
        smallest_count: int = SMALLEST,
        writing: Writing | None = None,
    ) -> Certificate:
        """Write every table and, with it, the certificate: all whole, or nothing. Return the final certificate.

        The files are verified as they were written. A further table of `release.csv` is `release.sensitive.csv`. The
        file that was read is never replaced. The certificate beside it has no counts below `smallest_count` that
        readers cannot count themselves. A `DatabaseTable` is a place as well. `writing` is how text files look: their
        delimiter, decimal mark, encoding.
        """
        require_table(path)
        place = place_at(path)
        place.require_other(self.origin)

        def fill(sink: Sink) -> None:
            for name, table in self.tables.items():
                sink.accept(name, [table])

        with reserved(None if self.record is None else self.record.ledger.path):
            return place.write(
                fill,
                self.check,
                tables=tuple(self.tables),
                overwrite=overwrite,
                record=self.record,
                smallest_count=smallest_count,
                writing=replace(writing or Writing(), labels=self.labels),
            )

    def write_recoding(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the recoding as JSON, readable by its owner alone: it holds original values.

        The arrays of a large one go to a second file: that of `recoding.json` is `recoding.json.arrow`.
        """
        require_another_file(path, self.origin)
        _write_recoding(self.recoding, path, overwrite=overwrite)


def _write_recoding(recoding: Recoding, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a recoding, readable by its owner alone."""
    files = files_of_recoding(recoding, path)
    for target in files:
        check_target(target, overwrite=overwrite)
    old = second_file(path) if overwrite else None
    with staging() as staged:
        staged += [stage(target, produce, private=True) for target, produce in files.items()]
        publish(staged, overwrite=overwrite)
    if old is not None and old not in files:
        with suppress(OSError):  # the new recoding is whole, whatever lies beside it
            old.unlink()


def _without_dictionaries(table: pa.Table, *, kept: Collection[str] = ()) -> pa.Table:
    plain = [
        pa.field(field.name, field.type.value_type if coded and field.name not in kept else field.type)
        for field in table.schema
        for coded in [isinstance(field.type, pa.DictionaryType)]
    ]
    return table.cast(pa.schema(plain))


def _to_pandas(table: pa.Table) -> Any:
    """Return a frame in which whole numbers stay whole where some are missing."""
    import pandas

    make: Any = pandas.array
    frame: Any = table.to_pandas()
    for place, column in enumerate(table.columns):
        if pa.types.is_integer(column.type) and column.null_count:
            whole = make(column.to_pylist(), dtype=str(column.type).replace("i", "I").replace("u", "U"))
            frame.isetitem(place, whole)
    return frame
