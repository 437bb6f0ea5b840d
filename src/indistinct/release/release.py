"""A release: the published tables and what was verified on them, and the one way to it.

An engine publishes what a recoding assigns, and a model judges what was published.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.algorithms.explanation import Explanation
from indistinct.document.blocks import Document
from indistinct.document.result import Result
from indistinct.engines.base import Engine, Sink, Source, require_table
from indistinct.engines.spark.source import frame_of
from indistinct.errors import Feasible, InfeasibleError, InputError, MissingExtraError
from indistinct.figures import count_unit, share_above
from indistinct.frequencies.count import Counted
from indistinct.frequencies.structure import Buckets, Structure, units_of
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.memory import needs_memory
from indistinct.machine.randomness import Secret
from indistinct.machine.stages import enter
from indistinct.models.base import Model
from indistinct.recoding.assign import assign
from indistinct.recoding.intervals import RangeColumn, interval_structs, pandas_intervals, range_column
from indistinct.recoding.kinds import Recoding, digest
from indistinct.recoding.outputs import MAIN, Assignment
from indistinct.recoding.storage import files_of_recoding
from indistinct.recoding.transformations import Transformation
from indistinct.release.certificate import SMALLEST, About, Certificate, Overlap
from indistinct.release.history.ledger import Record, reserve
from indistinct.release.pseudonyms.making import Pseudonym, PseudonymSink, with_pseudonyms
from indistinct.release.verification.check import Check
from indistinct.release.verification.evidence import published_schema
from indistinct.release.verification.population import Population, count_people
from indistinct.release.writing.delimited import Writing
from indistinct.release.writing.files import StagedTables, require_another_file, write_recoding
from indistinct.release.writing.formats import publishable
from indistinct.release.writing.places import IN_MEMORY, Destination, Place, WrittenTables, place_at
from indistinct.schema import Schema
from indistinct.tables.value import ColumnLabels


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release(Result):
    """A verified release: published tables, certificate and recoding. `anonymize`, `apply` and `run` return one.

    Only the tables and the certificate are for others. `recoding` and `check` hold original values, and so does a
    pickle of a release. To share a release, use `write`.

    Attributes
    ----------
    certificate
        What was verified on the published tables.
    recoding
        What is published for each combination of quasi-identifier values; `apply` uses it again.
    check
        How the release was verified, with what it was compared with.
    counters
        Counts of the search, such as the nodes that it visited.
    tables
        Published tables by what they hold; `table` is the main one.
    origin
        File that was read.
    explanation
        Why an algorithm was chosen, where none was named.
    record
        What a ledger records once the release is written.
    declared
        Hierarchies that it was made with.
    labels
        What a statistics file says about its columns.
    sums
        Metrics that were added up while a release was made part by part.

    Examples
    --------
    >>> import indistinct as ind
    >>> table = pa.table({"age": [21, 22, 41, 42], "disease": ["flu", "cold", "flu", "flu"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> ind.anonymize(table, schema, model="k-anonymity:k=2", algorithm="mondrian")
    <Release of 4 rows in 2 classes>
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
    labels: Mapping[str, ColumnLabels] = field(default_factory=dict)
    sums: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def advise(cls, _given: object) -> str:
        """Return the hint for a value that is not a release."""
        return "give what `anonymize` returned, or ind.published(table, schema=…) for a published table"

    def __repr__(self) -> str:
        certificate = self.certificate
        return f"<Release of {certificate.rows} rows in {certificate.classes} {units_of(certificate.form)}>"

    def document(self) -> Document:
        """Return the certificate as a document under a title of the release; no row is in it."""
        return replace(self.certificate.document(), title=repr(self).strip("<>"))

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
            raise InputError(
                "this release was made part by part: where each row came from is not kept",
                hint="ask about the written file: ind.published(path, policy=…), or the command with its path",
            )
        return self.check.assignment

    @property
    def schema(self) -> Schema:
        """The roles of the published columns."""
        made = self.check.assignment
        return published_schema(self.check.schema, self.table.column_names) if made is None else made.layout.schema

    @property
    def buckets(self) -> Buckets | None:
        """How the release shows its buckets, if it has any."""
        return self.structure.buckets

    @property
    def structure(self) -> Structure:
        """Whether the release is in classes or in buckets, and what follows of that."""
        return self.check.structure

    def classes(self) -> pa.Table:
        """Return the equivalence classes: what each shows, and its number of rows."""
        names = list(self.schema.quasi)
        counted = _without_dictionaries(self.table.select(names)).group_by(names).aggregate([([], "count_all")])
        return counted.rename_columns([*names, "rows"]).sort_by([(name, "ascending") for name in names])

    def to_pandas(self, *, intervals: bool = False) -> Any:
        """Return the published table as a pandas frame with a plain index; categories and whole numbers stay such.

        With `intervals` columns of ranges are pandas intervals, closed as their labels say; an open end is infinite.
        """
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise MissingExtraError("pandas", extra="pandas", purpose="a pandas frame") from None
        frame = _to_pandas(self._plain())
        for index, column in self._ranges() if intervals else ():
            frame.isetitem(index, pandas_intervals(column))
        return frame

    def to_polars(self, *, intervals: bool = False) -> Any:
        """Return the published table as a polars frame.

        With `intervals` columns of ranges are structs of `low`, `high` and `high_inside`; an open end is null.
        """
        try:
            import polars
        except ImportError:
            raise MissingExtraError("polars", extra="polars", purpose="a polars frame") from None
        table = self._plain()
        for index, column in self._ranges() if intervals else ():
            table = table.set_column(index, table.column_names[index], interval_structs(column))
        return polars.from_arrow(table)

    def to_spark(self, *, session: Any = None) -> Any:
        """Return the published table as a Spark frame, in a `session` or in the one that is running.

        The table goes through the memory of this process. A release that was written as Parquet is read from there with
        `session.read.parquet` instead.
        """
        return frame_of(_without_dictionaries(self.table), session)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give the published table, and nothing else, to libraries that take Arrow streams: polars, DuckDB, pyarrow."""
        return self._plain().replace_schema_metadata(None).__arrow_c_stream__(requested_schema)

    def _ranges(self) -> list[tuple[int, RangeColumn]]:
        """Return the columns of ranges of numbers and dates, with their places in the table."""
        ranges = {name: range_column(self.table[name], name) for name in self.schema.quasi}
        return [(self.table.column_names.index(name), column) for name, column in ranges.items() if column is not None]

    def _plain(self) -> pa.Table:
        """Return the table with text for what is coded, but categories for columns that were such."""
        kept = [name for name, each in self.labels.items() if each.category is not None]
        return _without_dictionaries(publishable(self.table, self.labels) if kept else self.table, kept=kept)

    @with_checked_arguments
    def write(
        self,
        path: Place,
        *,
        overwrite: bool = False,
        smallest_count: int = SMALLEST,
        writing: Writing | None = None,
        partition_by: Sequence[str] = (),
    ) -> Certificate:
        """Write every table and, with it, the certificate: all whole, or nothing. Return the final certificate.

        The files are verified as they were written. A further table of `release.csv` is `release.sensitive.csv`. The
        file that was read is never replaced. The certificate next to it has no counts below `smallest_count` that
        readers cannot count themselves. A `DatabaseTable` is a place as well. `writing` is how text files look: their
        delimiter, decimal mark, encoding. With `partition_by`, `release.parquet` is a folder with one partition for
        each combination of values of these columns.
        """
        require_table(path)
        self.check.check_partitioning(partition_by)
        target = place_at(path)
        target.require_other(self.origin)

        def fill(sink: Sink) -> None:
            for name, table in self.tables.items():
                sink.accept(name, [table])

        with nullcontext() if self.record is None else reserve(self.record.ledger.path):
            return target.write(
                fill,
                self.check,
                tables=tuple(self.tables),
                overwrite=overwrite,
                record=self.record,
                smallest_count=smallest_count,
                writing=with_columns(writing or Writing(), self.labels, self.check.transformations),
                partition_by=partition_by,
            )

    @with_checked_arguments
    def write_recoding(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the recoding as JSON, readable by its owner alone because it contains original values.

        The arrays of a large one go to a second file: that of `recoding.json` is `recoding.json.arrow`.
        """
        require_another_file(path, self.origin)
        write_recoding(self.recoding, path, overwrite=overwrite)


def _without_dictionaries(table: pa.Table, *, kept: Collection[str] = ()) -> pa.Table:
    """Decode dictionary columns, but for those `kept`."""
    plain = [
        pa.field(field.name, field.type.value_type if coded and field.name not in kept else field.type)
        for field in table.schema
        for coded in [isinstance(field.type, pa.DictionaryType)]
    ]
    return table.cast(pa.schema(plain))


def _to_pandas(table: pa.Table) -> Any:
    """Convert to pandas with nullable integers, so that whole numbers stay whole where some are missing."""
    import pandas

    make: Any = pandas.array
    frame: Any = table.to_pandas()
    for index, column in enumerate(table.columns):
        if pa.types.is_integer(column.type) and column.null_count:
            whole = make(column.to_pylist(), dtype=str(column.type).replace("i", "I").replace("u", "U"))
            frame.isetitem(index, whole)
    return frame


LOG = logging.getLogger("indistinct.publish")


@dataclass(frozen=True, slots=True, eq=False)
class Publication:
    """A table that was counted, a recoding for it, and what its release must satisfy: all that publishing needs.

    `budget` is the number of rows, or people, that may be dropped. `warnings` are what readers must know. `assignment`
    is what the recoding makes of the table, where that is known already, and `overlap` what was found with earlier
    releases; `record` is what a ledger is to remember of it. `population` is whom the model compares with,
    and `sample` the share of rows that was drawn before.
    `pseudonyms` are published in place of the identifiers that they name.
    """

    engine: Engine
    source: Source
    counted: Counted
    recoding: Recoding
    model: Model
    schema: Schema
    budget: int
    secret: Secret = field(default_factory=Secret)
    algorithm: str | None = None
    warnings: tuple[str, ...] = ()
    assignment: Assignment | None = None
    overlap: Overlap | None = None
    record: Record | None = None
    population: Source | None = None
    sample: float | None = None
    pseudonyms: Mapping[str, Pseudonym] = field(default_factory=dict)

    def publish(self, assignment: Assignment, sink: Sink) -> None:
        """Give a sink the published tables, with pseudonyms in place of identifiers that are shown."""
        around = PseudonymSink.around(sink, self.pseudonyms, secret=self.secret)
        self.engine.publish(self.source, assignment, around, secret=self.secret, row_index=self.counted.row_index)


@needs_memory("verifying and writing the release")
def publish(
    job: Publication, destination: Destination = IN_MEMORY, *, counters: Mapping[str, float] | None = None
) -> Release:
    """Return a verified release: in memory, or at a destination.

    A file is verified as it was written, before it gets its name.
    """
    assignment = with_pseudonyms(job.assignment or assign(job.counted.frequencies, job.recoding), job.pseudonyms)
    LOG.info(
        "publishing %d rows in %d classes; %d rows suppressed of %d allowed",
        assignment.rows - assignment.suppressed,
        len(assignment.classes),
        assignment.suppressed,
        job.budget,
    )
    _require_budget(assignment, job.budget)
    enter("publishing")
    seeded = job.secret.seed is not None
    kinds = {name: each.kind for name, each in job.pseudonyms.items()}
    about = About(job.algorithm, digest(job.recoding), seeded=seeded, warnings=job.warnings, overlap=job.overlap)
    about = replace(about, pseudonyms=kinds, sample=job.sample, table_version=job.source.reading.version)
    others = None
    if job.population is not None:
        others = count_people(Population(job.engine, job.population, job.schema, job.recoding))
    reference = replace(job.counted, row_index=None)  # a release keeps nothing of single rows
    check = Check(
        job.engine,
        job.schema,
        job.model,
        assignment.layout.structure,
        reference,
        assignment,
        about=about,
        population=others,
    )
    check = replace(check, transformations=job.recoding.transformations or {})
    keys = tuple(Path(each.key) for each in job.pseudonyms.values() if each.key is not None)
    draft = Draft(
        job.source,
        check,
        tuple(assignment.layout.tables),
        partial(job.publish, assignment),
        recoding=lambda: job.recoding,
        files=partial(files_of_recoding, job.recoding),
        counters=lambda: counters or {},
        record=job.record,
        keys=keys,
    )
    return make_release(draft, destination)


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A release that is not made yet: what fills its tables, and what they must satisfy.

    `recoding`, `counters` and `sums` are called when the tables are filled; `files` gives the private files of the
    recoding, by path. `keys` are files of pseudonyms' keys, which no output may replace.
    """

    source: Source
    check: Check
    tables: tuple[str, ...]
    fill: Callable[[Sink], None]
    recoding: Callable[[], Recoding]
    files: Callable[[str | Path], Mapping[Path, Callable[[Path], None]]]
    counters: Callable[[], Mapping[str, float]]
    sums: Callable[[], Mapping[str, float]] = dict
    record: Record | None = None
    keys: tuple[Path, ...] = ()


def make_release(draft: Draft, destination: Destination) -> Release:
    """Fill the tables of a release, in memory or at a destination, and return it once they are verified."""
    draft.check.check_partitioning(destination.partition_by)
    target, labels = destination.place, labels_of(draft.source, draft.check.schema)
    lies: Mapping[str, pa.Table]
    if target is None:
        kept = _TablesInMemory()
        draft.fill(kept)
        certificate, lies = draft.check.certify_tables(kept.tables), kept.tables
    else:
        for read in (*(draft.source.files or (draft.source.path,)), *draft.keys):
            target.require_other(read)
        tables: dict[str, pa.Table] = {}
        schemas: dict[str, pa.Schema] = {}

        def fill(sink: Sink) -> None:
            draft.fill(sink)
            if isinstance(sink, StagedTables):
                tables.update(sink.tables)
                schemas.update(sink.schemas if destination.partition_by else {})

        certificate = target.write(
            fill,
            draft.check,
            tables=draft.tables,
            private={} if destination.save_recoding is None else draft.files(destination.save_recoding),
            overwrite=destination.overwrite,
            record=draft.record,
            smallest_count=destination.smallest_count,
            writing=with_columns(destination.writing, labels, draft.check.transformations),
            partition_by=destination.partition_by,
        )
        lies = tables or WrittenTables(target, draft.tables, schemas)
    return Release(
        certificate,
        draft.recoding(),
        draft.check,
        draft.counters(),
        lies,
        draft.source.path,
        record=draft.record,
        labels=labels,
        sums=draft.sums(),
    )


def with_columns(
    writing: Writing, labels: Mapping[str, ColumnLabels], transformations: Mapping[str, Transformation]
) -> Writing:
    """Return the writing options with labels and rounding of columns."""
    whole = frozenset(name for name, each in transformations.items() if each.rounds_to_whole)
    return replace(writing, labels=labels, whole=whole)


def labels_of(source: Source, schema: Schema) -> dict[str, ColumnLabels]:
    """Return the warnings about columns of a source; one that is recoded is no category any more."""
    return {
        name: replace(each, category=None) if name in schema.quasi else each for name, each in source.labels.items()
    }


@dataclass(slots=True)
class _TablesInMemory:
    """A sink that keeps tables in memory."""

    tables: dict[str, pa.Table] = field(default_factory=dict)

    def accept(self, name: str, batches: Iterable[pa.Table]) -> None:
        self.tables[name] = pa.concat_tables(batches)


def _require_budget(assignment: Assignment, budget: int) -> None:
    """Raise if an assignment suppresses more than the limit."""
    suppressed, counted = assignment.suppressed_members, assignment.frequencies
    if suppressed > budget:
        share = share_above(suppressed, counted.members)
        raise InfeasibleError(
            f"the recoding would suppress {suppressed:,} of {count_unit(counted.members, counted.classes.unit)}; "
            f"{budget:,} may be suppressed",
            hint=f"`suppression={share}` (--suppression {share}) allows them; or search a new recoding on this table",
            feasible=Feasible(share=share),
        )
