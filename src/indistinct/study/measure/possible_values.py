"""Which values of the original each published value stands for, in classes and in buckets alike.

A release in classes is one slice whose entries are its rows. A release in buckets has several slices, and inside a
bucket nothing links their entries. An original is such a value too: every cell stands for itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.frequencies.encode import Encoded, encode_column, group_rows
from indistinct.hierarchy import Hierarchy
from indistinct.hierarchy.builders import declared_order
from indistinct.machine.arrays import Codes
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.recoding.cover import Cover, cover_of_each
from indistinct.recoding.outputs import MAIN
from indistinct.recoding.read_back import cover_of_rows, read_classes
from indistinct.recoding.read_back_texts import covered_by
from indistinct.release.opening import OpenedTables
from indistinct.release.verification.bucket_evidence import BucketEvidence
from indistinct.release.verification.evidence import require_columns, require_rows
from indistinct.schema import Schema
from indistinct.tables import open_table
from indistinct.tables.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class PossibleSlice:
    """Attributes that stay together: entry `i` stands for `counts[i]` rows of bucket `buckets[i]`.

    `values[name][i]` is the place of its published value among those that the column shows.
    """

    names: tuple[str, ...]
    buckets: Codes
    values: Mapping[str, Codes]
    counts: Codes


@dataclass(frozen=True, slots=True, eq=False)
class PossibleValues:
    """A table as its reader sees it: `covers[name]` has the original's codes that each published value stands for.

    `sizes` are the rows of each bucket; a table in classes is one bucket with one slice.
    """

    covers: Mapping[str, Cover]
    slices: tuple[PossibleSlice, ...]
    sizes: Codes

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return int(self.sizes.sum())

    @property
    def names(self) -> tuple[str, ...]:
        """Return every attribute."""
        return tuple(self.covers)

    def home(self, name: str) -> PossibleSlice:
        """Return the slice that holds an attribute."""
        return next(each for each in self.slices if name in each.names)


def encoded_original(
    table: pa.Table, schema: Schema, *, hierarchies: Mapping[str, Hierarchy] | None = None
) -> dict[str, Encoded]:
    """Return every column that a release shows, in codes; insensitive ones that cannot be compared are left out."""
    require_columns(schema.published, table.column_names)
    require_rows(table.num_rows)
    found = {}
    for name in schema.published:
        hierarchy = (hierarchies or {}).get(name)
        order = declared_order(hierarchy)
        if name in schema.insensitive and not _comparable(table[name].type):
            continue
        found[name] = _encode_values(table[name], name, order=order, required=name in schema.quasi)
    return found


def as_it_is(columns: Mapping[str, Encoded]) -> PossibleValues:
    """Return a table that shows everything: each value stands for itself."""
    rows = len(next(iter(columns.values())).codes) if columns else 0
    whole = PossibleSlice(
        tuple(columns),
        np.zeros(rows, dtype=np.int64),
        {name: column.codes.astype(np.int64) for name, column in columns.items()},
        np.ones(rows, dtype=np.int64),
    )
    covers = {name: cover_of_each(np.arange(len(column.domain))) for name, column in columns.items()}
    return PossibleValues(covers, (whole,), np.array([rows]))


def joined_entries(values: PossibleValues) -> PossibleValues:
    """Return the same table with equal entries of a bucket joined: those of a large table are counted once."""
    return replace(values, slices=tuple(_join_entries(each, values) for each in values.slices))


def _join_entries(each: PossibleSlice, values: PossibleValues) -> PossibleSlice:
    codes = [each.buckets, *(each.values[name] for name in each.names)]
    grouping = group_rows(codes, [len(values.sizes), *(len(values.covers[name]) for name in each.names)])
    if 2 * len(grouping) > len(each.counts):
        return each
    first = grouping.first
    counts = np.add.reduceat(each.counts[grouping.order], grouping.starts[:-1])
    return PossibleSlice(
        each.names, each.buckets[first], {name: own[first] for name, own in each.values.items()}, counts
    )


def possible_values(
    published: OpenedTables,
    schema: Schema,
    *,
    domains: Mapping[str, Domain],
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> PossibleValues:
    """Return what a release shows of its original, whose columns have these `domains`.

    `hierarchies` are those that published labels come from. Raises `InputError` for values that the original cannot
    have, and for means, which do not say what they cover.
    """
    require_rows(published.sources[MAIN].rows)
    known = {name: each for name, each in (hierarchies or {}).items() if name in domains}
    if published.buckets is None:
        return _of_classes(published, schema, domains, known)
    return _of_buckets(published.in_buckets(schema, light=False), schema, domains, known)


def _of_classes(
    published: OpenedTables, schema: Schema, domains: Mapping[str, Domain], hierarchies: Mapping[str, Hierarchy]
) -> PossibleValues:
    table = open_table(published.sources[MAIN], published=True).data
    quasi = _columns([domains[name] for name in schema.quasi], hierarchies)
    classes = read_classes(table, quasi, schema=schema)
    values, covers = dict[str, Codes](), dict[str, Cover]()
    for index, column in enumerate(quasi):
        values[column.name] = classes.values[classes.class_ids, index].astype(np.int64)
        covers[column.name] = covered_by(column, classes.meanings[index])
    others = [name for name in domains if name not in schema.quasi]
    require_columns(others, table.column_names, table="release")
    for name in others:
        own = _encode_values(table[name], name, required=False)
        values[name] = own.codes.astype(np.int64)
        covers[name] = cover_of_each(_codes_in_original(own.domain, domains[name]))
    rows = table.num_rows
    whole = PossibleSlice(tuple(values), np.zeros(rows, dtype=np.int64), values, np.ones(rows, dtype=np.int64))
    return PossibleValues({name: covers[name] for name in domains}, (whole,), np.array([rows]))


def _of_buckets(
    evidence: BucketEvidence, schema: Schema, domains: Mapping[str, Domain], hierarchies: Mapping[str, Hierarchy]
) -> PossibleValues:
    covers = dict[str, Cover]()
    for name in (name for each in evidence.slices for name in each.names if name in domains):
        own = evidence.known[name]
        if name in evidence.buckets.generalized:
            labels = pa.table({name: own.decode(np.arange(len(own)))})
            covers[name] = cover_of_rows(labels, _columns([domains[name]], hierarchies), schema=schema)[0]
        else:
            covers[name] = cover_of_each(_codes_in_original(own, domains[name]))
    slices = tuple(
        PossibleSlice(
            names := tuple(name for name in each.names if name in domains),
            each.buckets.astype(np.int64),
            {name: each.codes[name].astype(np.int64) for name in names},
            each.counts,
        )
        for each in evidence.slices
    )
    absent = [name for name in domains if name not in covers]
    require_columns(absent, list(covers), table="release")
    shown = tuple(each for each in slices if each.names)
    return PossibleValues({name: covers[name] for name in domains}, shown, evidence.sizes)


def _columns(domains: Sequence[Domain], hierarchies: Mapping[str, Hierarchy]) -> tuple[QuasiColumn, ...]:
    names = [domain.column for domain in domains]
    return columns_of(domains, {name: each for name, each in hierarchies.items() if name in names})


def _codes_in_original(own: Domain, original: Domain) -> Codes:
    """Return the original's code of every published value; raise where it has no such value."""
    codes = own.translate(original, empty=True)
    strangers = int((codes < 0).sum())
    if strangers:
        raise InputError(
            f"column {own.column!r} of the release shows {strangers:,} distinct value(s) that the original does not "
            "have",
            hint="give the table that the release was made from, with the roles and hierarchies that it had",
            column=own.column,
        )
    return codes


def _encode_values(
    column: pa.ChunkedArray, name: str, *, order: Sequence[str] | None = None, required: bool = True
) -> Encoded:
    if pa.types.is_floating(column.type) and not required:  # numbers that are none count as missing
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
    return encode_column(name, column, order=order, required=required)


def _comparable(kind: pa.DataType) -> bool:
    kind = kind.value_type if isinstance(kind, pa.DictionaryType) else kind
    return not (
        pa.types.is_nested(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_duration(kind)
    )
