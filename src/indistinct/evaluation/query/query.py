"""Ask a release: what it answers to a query, and how far the answers to a workload are off.

A release, a file or any table is opened for the columns that are asked about, with the known facts about its original.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Algorithm
from indistinct.errors import InputError, ParameterError
from indistinct.evaluation.query.answer import Answer, answer
from indistinct.evaluation.query.workload import WorkloadErrors, errors_of
from indistinct.frequencies.count import Request, drop_absent_values
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.slices import Slice
from indistinct.frequencies.structure import Buckets
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.arrays import Codes
from indistinct.machine.memory import needs_memory
from indistinct.metrics.queries.parse import parse_query
from indistinct.metrics.queries.published_rows import PublishedRows
from indistinct.metrics.queries.value import Query, check_columns, comparisons_in
from indistinct.metrics.queries.workload import Workload
from indistinct.recoding.columns import INTERVALS, NumericForms, QuasiColumn, columns_of
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.label_spans import behind_a_zero
from indistinct.recoding.outputs import ENDS
from indistinct.release.opening import OpenedTables
from indistinct.release.published import Beside, Knowledge, Published, describe_release
from indistinct.release.sources import closes_sources, open_source
from indistinct.release.verification.evidence import published_schema
from indistinct.schema import Schema
from indistinct.tables.domain import Domain, Kind
from indistinct.tables.opening import open_table
from indistinct.view.shown_columns import labels_of_domain, plain_labels, quasi_labels
from indistinct.view.value import ShownColumn, View, view_of_classes


@with_checked_arguments
@closes_sources
@needs_memory("answering a query")
def query(release: Any, asked: Query | str, schema: Schema | None = None, **known: Unpack[Knowledge]) -> Answer:
    """Answer a query from a release: an estimate, bounds of the true value, and whether the answer is exact.

    Parameters
    ----------
    release
        A `Release`, a `Published`, a `BucketTable`, or a published table: a path or a frame.
    asked
        SQL such as ``"SELECT AVG(age) WHERE sex = 'Male' GROUP BY region"``, or a `Query`. One of COUNT, SUM, AVG, MIN
        and MAX; conditions with =, <>, <, <=, >, >=, BETWEEN, IN and IS NULL, joined by AND, OR and NOT.
    schema
        Roles of the columns of the original; not needed for a `Release` or a `Published`.
    **known
        Further facts, as `published` takes them. For a published table, ``original`` or ``recoding`` give the values
        that its labels cover; its ``hierarchies`` alone give wider bounds.

    Returns
    -------
    Answer
        Estimate as ``value``, bounds as ``low`` and ``high``, and ``exact``; of a query with GROUP BY one answer for
        each group.

    Raises
    ------
    InputError
        If the query cannot be read, or a table cannot.
    SchemaError
        If the query names a column that the release does not have.
    ParameterError
        If the roles are not known.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 41, 42], "disease": ["flu", "cold", "flu", "flu"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> release = ind.anonymize(table, schema, model="k-anonymity:k=2", algorithm="mondrian")
    >>> answer = ind.query(release, "SELECT COUNT(*) WHERE age <= 30")
    >>> answer.value, answer.exact
    (2, True)
    """
    wanted = parse_query(asked) if isinstance(asked, str) else asked
    return answer(rows_of_published(describe_release(release, schema, **known), (wanted,)), wanted)


@with_checked_arguments
@closes_sources
@needs_memory("answering a workload")
def workload_error(
    release: Any,
    original: Any = None,
    workload: Workload | str | Path | None = None,
    schema: Schema | None = None,
    *,
    sanity: float = 1.0,
    **known: Unpack[Beside],
) -> WorkloadErrors:
    """Compare the answers of a release and its original over the queries of a workload.

    Parameters
    ----------
    release
        As for `query`: a `Release`, a `Published`, or a published table.
    original
        Table before publishing.
    workload
        The queries, or the path of a file with them.
    schema
        Roles of the columns of the original; not needed for a `Release`.
    sanity
        The relative error is divided by the true answer, or by this where the true answer is smaller.
    **known
        Further facts, as for `query`.

    Returns
    -------
    WorkloadErrors
        The error of each query, and their mean.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 41, 42, 44]})
    >>> release = ind.anonymize(table, ind.Schema(quasi=["age"]), model=ind.KAnonymity(k=3))
    >>> workload_error(release, table, ind.Workload.of(["SELECT COUNT(*) WHERE age < 30"])).relative
    0.0
    """
    if isinstance(sanity, bool) or not isinstance(sanity, int | float) or not 0 < sanity < math.inf:
        raise ParameterError(f"`sanity` must be a number above 0; got {sanity!r}", hint="1 is usual for counts")
    if workload is None:
        raise ParameterError("no workload is given", hint="pass workload=…, a Workload or the path of one")
    asked = Workload.read(workload) if isinstance(workload, str | Path) else workload
    published = describe_release(release, schema, original=original, **known)
    whole = published.require_original("workload_error")
    rows = rows_of_published(published, asked.queries)
    truth = rows_of_original(whole, published.schema, asked.queries, orders=published.used_hierarchies)
    return errors_of(rows, truth, asked, sanity=float(sanity))


UNKNOWN_SUPPRESSION = "how many rows were suppressed is unknown: bounds hold for the published rows"


@dataclass(frozen=True, slots=True, eq=False)
class QueryContext:
    """Knowledge beyond the published tables: values before publishing, hierarchies, suppressed rows.

    `columns` are those with known original values, and `limits` the ends of others. `forms` are those of
    numbers. `recoded` are the columns of a recoding: one that was found on another table may publish values that
    the original does not have. `searched` is the algorithm whose search on this original the certificate names.
    """

    columns: Mapping[str, QuasiColumn] = field(default_factory=dict)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    suppressed: int | None = None
    forms: NumericForms = INTERVALS
    trusted_means: bool = True
    searched: Algorithm | None = None
    recoded: Mapping[str, QuasiColumn] = field(default_factory=dict)


def rows_of_published(published: Published, queries: Sequence[Query]) -> PublishedRows:
    """Return the rows of a release with the queried columns, and the known facts about its original."""
    about = _background_of(published)
    if published.raw is not None:
        about = _with_original(about, published, queries)
    return published_rows(published.tables, published.schema, queries, about=about)


def _background_of(published: Published) -> QueryContext:
    """Return what certificate, recoding and release reveal about the original."""
    certificate, hierarchies = published.certificate, published.hierarchies
    algorithm, suppressed = certificate.get("algorithm"), certificate.get("suppressed_rows")
    algorithm = algorithm if isinstance(algorithm, str) else None
    suppressed = suppressed if isinstance(suppressed, int) else None
    columns: dict[str, QuasiColumn] = {}
    recoded: dict[str, QuasiColumn] = {}
    if published.recoding is not None:
        recoded = _columns(published.recoding.recoded_domains, hierarchies)
        columns = _columns(_domains(published, published.recoding), hierarchies)
        for part in published.recoding.of_slices:
            columns |= _columns(part.recoded_domains, {**hierarchies, **part.hierarchies})
    trusted = not certificate or _are_of_classes(algorithm or "", suppressed)
    searched = published.certified_algorithm
    forms = INTERVALS if searched is None else searched.numeric_forms
    about = QueryContext(columns, hierarchies, {}, suppressed, forms, trusted_means=trusted)
    return replace(about, searched=searched, recoded=recoded)


def _domains(published: Published, recoding: Recoding) -> Sequence[Domain]:
    """Return the domains of the release's original, or else those of its recoding."""
    made = published.release
    if made is None or not made.assignment.domains:
        return recoding.recoded_domains
    return drop_absent_values(made.assignment.domains, made.assignment.frequencies)[0]


def rows_of_original(table: Any, schema: Schema, queries: Sequence[Query], *, orders: Any = None) -> PublishedRows:
    """Return the rows of a table that was not recoded: every answer is exact."""
    source = open_table(table)
    names = _columns_asked_about(queries, [name for name in schema.published if name in source.columns], schema)
    hierarchies = orders or {}
    read = {name: plain_labels(name, source.data[name], hierarchy=hierarchies.get(name)) for name in names}
    return PublishedRows(_in_classes(read, source.rows))


def published_rows(
    published: OpenedTables, schema: Schema, queries: Sequence[Query], *, about: QueryContext
) -> PublishedRows:
    """Return the rows of opened tables, in classes or in buckets."""
    notes = (UNKNOWN_SUPPRESSION,) if about.suppressed is None else ()
    known = {name: _limits(column.domain) for name, column in about.columns.items()}
    limits = {**about.limits, **{name: ends for name, ends in known.items() if ends is not None}}
    buckets = published.structure.buckets
    if buckets is not None:
        in_view = _in_buckets(published, buckets, schema, queries, about=about)
        return PublishedRows(in_view, about.suppressed, about.trusted_means, notes, limits)
    table = open_table(published.main, published=True).data
    roles = published_schema(schema, table.column_names)
    present = [
        name
        for name in schema.published
        if name in table.column_names or any(name + first in roles.quasi for first, _ in ENDS)
    ]
    names = _columns_asked_about(queries, present, schema)
    read = {}
    for name in names:
        if name in schema.quasi:
            read[name] = _quasi(table, name, schema, about, _constants(queries, name))
        else:
            read[name] = plain_labels(name, table[name], hierarchy=about.hierarchies.get(name))
    view, attained = _in_classes(read, table.num_rows), _attained(names, schema, about)
    return PublishedRows(view, about.suppressed, about.trusted_means, notes, limits, attained)


def _attained(names: Sequence[str], schema: Schema, about: QueryContext) -> dict[str, tuple[str, ...]]:
    """Return the columns whose ranges end at occurring values, each with the columns that define its classes.

    That is so where a search on this table published the ranges of its own rows and suppressed none of them. A node of
    a tree may look like a range, so that the column must be known.
    """
    traits = None if about.searched is None else about.searched.traits
    if traits is None or about.suppressed != 0 or not (traits.tight or traits.tight_columns) or not traits.ranges:
        return {}
    quasi = tuple(name for name in names if name in schema.quasi)
    ranged = [name for name in quasi if name in about.columns and about.columns[name].ranged]
    # Rows of one class show the same in every quasi-identifier, so that these rows are some whole classes.
    return {name: quasi if traits.tight else (name,) for name in ranged}


def _quasi(
    table: pa.Table, name: str, schema: Schema, about: QueryContext, constants: Iterable[str]
) -> tuple[ShownColumn, Codes]:
    """Read a published quasi-identifier for queries."""
    column = about.columns.get(name)
    number = column is None or column.domain.kind is not Kind.TEXT
    if number and about.forms.of(name) == "mean" and name in table.column_names:
        raise InputError(
            f"column {name!r} is published as means, which do not say what they cover",
            hint="publish numeric=interval+mean to have both",
            column=name,
        )
    hierarchy, wider = about.hierarchies.get(name), about.recoded.get(name)
    try:
        return quasi_labels(table, name, schema, known=column, hierarchy=hierarchy, constants=constants)
    except InputError:
        if wider is None:
            raise
        return quasi_labels(table, name, schema, known=wider, hierarchy=hierarchy, constants=constants)


def _in_classes(read: Mapping[str, tuple[ShownColumn, Codes]], rows: int) -> View:
    """Return the rows of a release in classes; equal rows are one entry."""
    columns = {name: column for name, (column, _) in read.items()}
    if not read or not rows:
        counts = np.array([rows] if rows else [], dtype=np.int64)
        return view_of_classes(columns, {name: np.zeros(0, dtype=np.int64) for name in read}, counts)
    grouping = group_rows([codes for _, codes in read.values()], [len(column) for column in columns.values()])
    return view_of_classes(columns, {name: codes[grouping.first] for name, (_, codes) in read.items()}, grouping.counts)


def _in_buckets(
    published: OpenedTables,
    buckets: Buckets,
    schema: Schema,
    queries: Sequence[Query],
    *,
    about: QueryContext,
) -> View:
    """Read a release in buckets, with the columns that queries ask about."""
    evidence = published.in_buckets(schema, light=False)
    listed = buckets.attributes
    asked = _columns_asked_about(queries, listed, schema)
    names = [*asked, *(name for name in dict.fromkeys(listed) if listed.count(name) > 1 and name not in asked)]
    columns: dict[str, ShownColumn] = {}
    slices: list[Slice] = []
    for each in evidence.slices:
        own = [name for name in names if name in each.names]
        read = {
            name: _bucket_column(name, evidence.known[name], each.codes[name], buckets, schema, about) for name in own
        }
        if own or not slices:
            columns |= {name: column for name, (column, _) in read.items()}
            codes = {name: codes for name, (_, codes) in read.items()}
            slices.append(Slice(each.units, codes, each.counts.astype(np.int64)))
    kept = [each for each in slices if each.codes] or slices[:1]
    return View(columns, tuple(kept), evidence.sizes)


def _bucket_column(
    name: str, domain: Domain, codes: Codes, buckets: Buckets, schema: Schema, about: QueryContext
) -> tuple[ShownColumn, Codes]:
    """Return the values of an attribute in buckets: unchanged, or labels where it was recoded before."""
    if name in buckets.generalized:
        table = pa.table({name: pa.array(domain.texts(), pa.string())})
        roles = Schema(quasi=[name])
        labels, positions = _quasi(table, name, roles, replace(about, forms=INTERVALS), ())
        return labels, positions[codes]
    known = about.columns.get(name)
    if buckets.multisets and name not in schema.sensitive:
        own = known.domain if known is not None else _read_types(domain)
        positions = domain.translate(own, empty=True)
        if positions.min(initial=0) < 0:
            raise InputError(
                f"column {name!r} shows values that its original does not have",
                hint="give the original of this release",
                column=name,
            )
        return labels_of_domain(own, about.hierarchies.get(name)), positions[codes]
    return labels_of_domain(domain, about.hierarchies.get(name)), codes


def _read_types(domain: Domain) -> Domain:
    """Return the values of multisets, which are written as text, as numbers or dates if all are such."""
    names = any(map(behind_a_zero, filter(None, domain.texts())))
    for kind in (*(() if names else (pa.int64(), pa.float64())), pa.date32(), pa.timestamp("us")):
        try:
            values = domain.values.cast(kind)
        except pa.ArrowInvalid:
            continue
        return Domain(domain.column, values.unique().sort(), domain.missing)
    return domain


def _with_original(about: QueryContext, published: Published, queries: Sequence[Query]) -> QueryContext:
    """Add what the original reveals: its values, and the number of suppressed rows."""
    engine, source = open_source(published.original)
    schema = published.schema
    asked = dict.fromkeys(name for query in queries for name in query.columns if name in source.columns)
    names = [name for name in asked if name in schema.published]
    rows = published.main.rows
    if source.rows < rows:
        raise InputError(
            f"the published table has {rows:,} rows; the original has {source.rows:,}",
            hint="check that this is the original of this release",
        )
    about = replace(about, suppressed=source.rows - rows)
    if not names:
        return about
    domains = engine.count(source, Request(names, hierarchies=about.hierarchies, published=True)).domains
    others = [domain for domain in domains if domain.column not in schema.quasi]
    limits = {domain.column: ends for domain in others if (ends := _limits(domain)) is not None}
    quasi = [domain for domain in domains if domain.column in (*schema.quasi, *published.structure.attributes)]
    return replace(about, columns=_columns(quasi, about.hierarchies), limits=limits)


def _columns(domains: Iterable[Domain], hierarchies: Mapping[str, Hierarchy]) -> dict[str, QuasiColumn]:
    every = list(domains)
    declared = {name: hierarchy for name, hierarchy in hierarchies.items() if hierarchy is not None}
    return {column.name: column for column in columns_of(every, declared)}


def _limits(domain: Domain) -> tuple[float, float] | None:
    """Return the smallest and largest number of a domain, None for names."""
    if domain.kind is Kind.TEXT or domain.declared or not len(domain.values):
        return None
    line = domain.positions()[int(domain.missing) :]
    return float(line[0]), float(line[-1])


def _are_of_classes(algorithm: str, suppressed: int | None) -> bool:
    """Return whether published means are those of the rows that show them.

    Means of single columns are of all rows with a value, also suppressed ones; those of a recoding that was applied
    again are of the first table.
    """
    return algorithm.startswith("mondrian") or (bool(algorithm) and suppressed == 0)


def _columns_asked_about(queries: Sequence[Query], present: Sequence[str], schema: Schema) -> list[str]:
    for query in queries:
        check_columns(query, present, schema=schema)
    return list(dict.fromkeys(name for query in queries for name in query.columns))


def _constants(queries: Sequence[Query], name: str) -> list[str]:
    """Return the texts that queries compare a column with."""
    compared = (each for query in queries for each in comparisons_in(query.where) if each.column == name)
    return list(dict.fromkeys(str(constant) for each in compared for constant in each.constants))
