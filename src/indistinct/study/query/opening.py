"""A release, a file or any table opened for queries: the columns that are asked about, and what is known of them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Algorithm
from indistinct.engines import open_source
from indistinct.errors import InputError, ParameterError
from indistinct.frequencies.count import Request
from indistinct.frequencies.encode import group_rows
from indistinct.hierarchy import Hierarchy
from indistinct.machine.arrays import Codes
from indistinct.metrics.queries.labels import Labels
from indistinct.metrics.queries.slices import PublishedRows, Slice
from indistinct.metrics.queries.value import All, Compare, Condition, Either, Query, check_columns
from indistinct.recoding.assign import domains_of
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.recoding.outputs import MAIN, Buckets
from indistinct.release.opening import OpenedTables
from indistinct.release.published import Published
from indistinct.release.verification.evidence import published_schema
from indistinct.schema import Schema
from indistinct.study.query.reading import behind_a_zero, labels_of_domain, plain_labels, quasi_labels
from indistinct.tables import open_table
from indistinct.tables.domain import Domain, Kind

NOT_TOLD = "nobody knows how many rows were suppressed: bounds hold for the published rows"
_MEANS_ALONE = re.compile(r"[:,]numeric=mean(?:,|$)")


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """What is known besides the published tables: values before publishing, hierarchies, suppressed rows, algorithm.

    `columns` are those of which the original values are known, and `limits` the ends of others. `searched` is the
    algorithm whose search on this original the certificate names.
    """

    columns: Mapping[str, QuasiColumn] = field(default_factory=dict)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    suppressed: int | None = None
    algorithm: str | None = None
    trusted_means: bool = True
    searched: Algorithm | None = None


def rows_of_published(published: Published, queries: Sequence[Query]) -> PublishedRows:
    """Return the rows of a release, as far as queries ask about them, with what is known of its original."""
    about = _of_release(published) if published.release is not None else _of_table(published, queries)
    about = replace(about, searched=published.certified_algorithm)
    return published_rows(published.tables, published.schema, queries, about=about)


def _of_release(published: Published) -> Background:
    release, hierarchies = published.release, dict(published.hierarchies)
    assert release is not None  # noqa: S101  (asked by the caller)
    certificate, recoding = release.certificate, release.recoding
    known = _known(domains_of(recoding) if not release.assignment.domains else release.assignment.domains, hierarchies)
    for part in recoding.of_slices:
        known |= _known(domains_of(part), {**hierarchies, **part.hierarchies})
    trusted = certificate.algorithm is not None and _are_of_classes(certificate.algorithm, certificate.suppressed_rows)
    return Background(known, hierarchies, {}, certificate.suppressed_rows, certificate.algorithm, trusted_means=trusted)


def _of_table(published: Published, queries: Sequence[Query]) -> Background:
    """Return what the original, the recoding and the certificate of a published table tell."""
    certificate, declared = published.certificate, dict(published.hierarchies)
    algorithm, suppressed = certificate.get("algorithm"), certificate.get("suppressed_rows")
    suppressed = suppressed if isinstance(suppressed, int) else None
    about = Background({}, declared, {}, suppressed, algorithm if isinstance(algorithm, str) else None)
    if certificate:
        about = replace(about, trusted_means=_are_of_classes(about.algorithm or "", suppressed))
    recoding = published.recoding
    if recoding is not None:
        about = replace(about, columns=_known(domains_of(recoding), {**declared, **recoding.hierarchies}))
    return about if published.raw is None else _with_original(about, published, queries)


def rows_of_original(table: Any, schema: Schema, queries: Sequence[Query], *, orders: Any = None) -> PublishedRows:
    """Return the rows of a table that nobody recoded: every answer is exact."""
    source = open_table(table)
    names = _asked(queries, [name for name in schema.published if name in source.columns], schema)
    hierarchies = orders or {}
    read = {name: plain_labels(name, source.data[name], hierarchy=hierarchies.get(name)) for name in names}
    return _in_classes(read, source.rows, PublishedRows((), np.zeros(0, dtype=np.int64)))


def published_rows(
    published: OpenedTables, schema: Schema, queries: Sequence[Query], *, about: Background
) -> PublishedRows:
    """Return the rows of opened tables, in classes or in buckets."""
    notes = (NOT_TOLD,) if about.suppressed is None else ()
    known = {name: _limits(column.domain) for name, column in about.columns.items()}
    limits = {**about.limits, **{name: ends for name, ends in known.items() if ends is not None}}
    empty = PublishedRows((), np.zeros(0, dtype=np.int64), about.suppressed, about.trusted_means, notes, limits)
    if published.buckets is not None:
        return _in_buckets(published, published.buckets, schema, queries, about=about, base=empty)
    table = open_table(published.sources[MAIN], published=True).data
    shown = published_schema(schema, table.column_names)
    present = [name for name in schema.published if name in table.column_names or f"{name}_min" in shown.quasi]
    names = _asked(queries, present, schema)
    read = {}
    for name in names:
        if name in schema.quasi:
            read[name] = _quasi(table, name, schema, about, _constants(queries, name))
        else:
            read[name] = plain_labels(name, table[name], hierarchy=about.hierarchies.get(name))
    return _in_classes(read, table.num_rows, replace(empty, attained=_attained(names, schema, about)))


def _attained(names: Sequence[str], schema: Schema, about: Background) -> dict[str, tuple[str, ...]]:
    """Return the columns whose ranges end at values that occur, and what rows show alike among which they do.

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
    table: pa.Table, name: str, schema: Schema, about: Background, constants: Iterable[str]
) -> tuple[Labels, Codes]:
    column = about.columns.get(name)
    number = column is None or column.domain.kind is not Kind.TEXT
    if about.algorithm and number and _MEANS_ALONE.search(about.algorithm) and name in table.column_names:
        raise InputError(
            f"column {name!r} is published as means, which do not say what they cover",
            hint="publish numeric=interval+mean to have both",
            column=name,
        )
    hierarchy = about.hierarchies.get(name)
    return quasi_labels(table, name, schema, known=column, hierarchy=hierarchy, constants=constants)


def _in_classes(read: Mapping[str, tuple[Labels, Codes]], rows: int, base: PublishedRows) -> PublishedRows:
    """Return rows of which everything belongs together: equal ones are one entry."""
    if not read or not rows:
        counts = np.array([rows] if rows else [], dtype=np.int64)
        values = {name: np.zeros(0, dtype=np.int64) for name in read}
        one = Slice({name: labels for name, (labels, _) in read.items()}, values, counts, np.arange(len(counts)))
        return replace(base, slices=(one,), sizes=counts)
    grouping = group_rows([codes for _, codes in read.values()], [len(labels) for labels, _ in read.values()])
    values = {name: codes[grouping.first] for name, (_, codes) in read.items()}
    labels = {name: each for name, (each, _) in read.items()}
    counts = grouping.counts.astype(np.int64)
    return replace(base, slices=(Slice(labels, values, counts, np.arange(len(counts))),), sizes=counts)


def _in_buckets(
    published: OpenedTables,
    buckets: Buckets,
    schema: Schema,
    queries: Sequence[Query],
    *,
    about: Background,
    base: PublishedRows,
) -> PublishedRows:
    evidence = published.in_buckets(schema, light=False)
    names = _asked(queries, [name for each in buckets.slices for name in each], schema)
    slices: list[Slice] = []
    for each in evidence.slices:
        own = [name for name in names if name in each.names]
        read = {
            name: _bucket_column(name, evidence.known[name], each.codes[name], buckets, schema, about) for name in own
        }
        if own or not slices:
            labels = {name: labels for name, (labels, _) in read.items()}
            values = {name: codes for name, (_, codes) in read.items()}
            slices.append(Slice(labels, values, each.counts.astype(np.int64), each.buckets))
    kept = [each for each in slices if each.values] or slices[:1]
    return replace(base, slices=tuple(kept), sizes=evidence.sizes)


def _bucket_column(
    name: str, domain: Domain, codes: Codes, buckets: Buckets, schema: Schema, about: Background
) -> tuple[Labels, Codes]:
    """Return the values of an attribute in buckets: as they are, or labels where it was recoded before."""
    if name in buckets.generalized:
        table = pa.table({name: pa.array(domain.texts(), pa.string())})
        roles = Schema(quasi=[name])
        labels, places = _quasi(table, name, roles, replace(about, algorithm=None), ())
        return labels, places[codes]
    known = about.columns.get(name)
    if buckets.form == "multiset" and name not in schema.sensitive:
        own = known.domain if known is not None else _typed(domain)
        places = domain.translate(own, empty=True)
        if places.min(initial=0) < 0:
            raise InputError(
                f"column {name!r} shows values that its original does not have",
                hint="give the original of this release",
                column=name,
            )
        return labels_of_domain(own, about.hierarchies.get(name)), places[codes]
    return labels_of_domain(domain, about.hierarchies.get(name)), codes


def _typed(domain: Domain) -> Domain:
    """Return the values of multisets, which are written as text, as numbers or dates if all are such."""
    names = any(map(behind_a_zero, filter(None, domain.texts())))
    for kind in (*(() if names else (pa.int64(), pa.float64())), pa.date32(), pa.timestamp("us")):
        try:
            values = domain.values.cast(kind)
        except pa.ArrowInvalid:
            continue
        return Domain(domain.column, values.unique().sort(), domain.missing)
    return domain


def _with_original(about: Background, published: Published, queries: Sequence[Query]) -> Background:
    """Return what the original tells: its values and how many rows are missing."""
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
    quasi = [domain for domain in domains if domain.column in (*schema.quasi, *_attributes(published.tables))]
    return replace(about, columns=_known(quasi, about.hierarchies), limits=limits)


def _attributes(published: OpenedTables) -> tuple[str, ...]:
    return () if published.buckets is None else tuple(name for each in published.buckets.slices for name in each)


def _known(domains: Iterable[Domain], hierarchies: Mapping[str, Hierarchy]) -> dict[str, QuasiColumn]:
    every = list(domains)
    declared = {name: hierarchy for name, hierarchy in hierarchies.items() if hierarchy is not None}
    return {column.name: column for column in columns_of(every, declared)}


def _limits(domain: Domain) -> tuple[float, float] | None:
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


def _asked(queries: Sequence[Query], present: Sequence[str], schema: Schema) -> list[str]:
    for query in queries:
        if not isinstance(query, Query):
            raise ParameterError(f"a query must be SQL or a Query; got {type(query).__name__}")
        check_columns(query, present, schema=schema)
    return list(dict.fromkeys(name for query in queries for name in query.columns))


def _constants(queries: Sequence[Query], name: str) -> list[str]:
    """Return the texts that queries compare a column with."""
    found: dict[str, None] = {}

    def visit(condition: Condition | None) -> None:
        match condition:
            case Compare(column, _, constants) if column == name:
                found.update((str(each), None) for each in constants)
            case All(parts) | Either(parts):
                for part in parts:
                    visit(part)
            case _:
                pass

    for query in queries:
        visit(query.where)
    return list(found)
