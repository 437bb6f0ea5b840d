"""Views of opened releases, whose published values cover those of the original, in classes and in buckets alike."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.figures import plural
from indistinct.frequencies.encode import Encoded, encode_column
from indistinct.frequencies.slices import Slice
from indistinct.hierarchy.explicit import declared_order
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.recoding.outputs import MAIN
from indistinct.release.opening import OpenedTables
from indistinct.release.verification.evidence import require_columns, require_rows
from indistinct.schema import Schema
from indistinct.tables.domain import Domain
from indistinct.tables.opening import open_table
from indistinct.view.bucket_evidence import BucketEvidence
from indistinct.view.cover import cover_of_each
from indistinct.view.meanings import covered_by
from indistinct.view.read_back import cover_of_rows, read_classes
from indistinct.view.value import ShownColumn, View, view_of_classes


def encoded_original(
    table: pa.Table, schema: Schema, *, hierarchies: Mapping[str, Hierarchy] | None = None
) -> dict[str, Encoded]:
    """Return every column that a release shows, in codes; insensitive ones that cannot be compared are left out."""
    require_columns(schema.published, table.column_names)
    require_rows(table.num_rows)
    encoded = {}
    for name in schema.published:
        hierarchy = (hierarchies or {}).get(name)
        order = declared_order(hierarchy)
        if name in schema.insensitive and not _comparable(table[name].type):
            continue
        encoded[name] = _encode_values(table[name], name, order=order, required=name in schema.quasi)
    return encoded


def view_of(
    published: OpenedTables,
    schema: Schema,
    *,
    domains: Mapping[str, Domain],
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> View:
    """Read a release over the values of its original, given by `domains`.

    `hierarchies` are those that published labels come from. Raises `InputError` for values that the original cannot
    have, and for means, which do not say what they cover.
    """
    require_rows(published.sources[MAIN].rows)
    known = {name: each for name, each in (hierarchies or {}).items() if name in domains}
    if published.structure.buckets is None:
        return _of_classes(published, schema, domains, known)
    return _of_buckets(published.in_buckets(schema, light=False), schema, domains, known)


def _of_classes(
    published: OpenedTables, schema: Schema, domains: Mapping[str, Domain], hierarchies: Mapping[str, Hierarchy]
) -> View:
    """Read a release in classes as a view."""
    table = open_table(published.sources[MAIN], published=True).data
    quasi = _columns([domains[name] for name in schema.quasi if name in domains], hierarchies)
    classes = read_classes(table, quasi, schema=schema)
    codes, columns = dict[str, Codes](), dict[str, ShownColumn]()
    for index, column in enumerate(quasi):
        codes[column.name] = classes.values[classes.class_ids, index].astype(np.int64)
        columns[column.name] = ShownColumn(column.domain, covered_by(column, classes.meanings[index]))
    others = [name for name in domains if name not in schema.quasi]
    require_columns(others, table.column_names, table="release")
    for name in others:
        own = _encode_values(table[name], name, required=False)
        codes[name] = own.codes.astype(np.int64)
        columns[name] = ShownColumn(domains[name], cover_of_each(_codes_in_original(own.domain, domains[name])))
    ones = np.ones(table.num_rows, dtype=np.int64)
    return view_of_classes({name: columns[name] for name in domains}, codes, ones)


def _of_buckets(
    evidence: BucketEvidence, schema: Schema, domains: Mapping[str, Domain], hierarchies: Mapping[str, Hierarchy]
) -> View:
    """Read a release in buckets as a view."""
    columns = dict[str, ShownColumn]()
    for name in (name for each in evidence.slices for name in each.names if name in domains):
        own = evidence.known[name]
        if name in evidence.structure.generalized:
            labels = pa.table({name: own.decode(np.arange(len(own)))})
            (cover,) = cover_of_rows(labels, _columns([domains[name]], hierarchies), schema=schema)
        else:
            cover = cover_of_each(_codes_in_original(own, domains[name]))
        columns[name] = ShownColumn(domains[name], cover)
    slices = tuple(
        Slice(
            each.units.astype(np.int64),
            {name: codes.astype(np.int64) for name, codes in each.codes.items() if name in domains},
            each.counts,
        )
        for each in evidence.row_slices()
    )
    absent = [name for name in domains if name not in columns]
    require_columns(absent, list(columns), table="release")
    filled = tuple(each for each in slices if each.names)
    return View({name: columns[name] for name in domains}, filled, evidence.sizes)


def _columns(domains: Sequence[Domain], hierarchies: Mapping[str, Hierarchy]) -> tuple[QuasiColumn, ...]:
    names = [domain.column for domain in domains]
    return columns_of(domains, {name: each for name, each in hierarchies.items() if name in names})


def _codes_in_original(own: Domain, original: Domain) -> Codes:
    """Return the original's code of every published value; raise where it has no such value."""
    codes = own.translate(original, empty=True)
    strangers = int((codes < 0).sum())
    if strangers:
        raise InputError(
            f"column {own.column!r} of the release shows {plural(strangers, 'distinct value')} that the original "
            "does not "
            "have",
            hint="give the table that the release was made from, with the roles and hierarchies that it had",
            column=own.column,
        )
    return codes


def _encode_values(
    column: pa.ChunkedArray, name: str, *, order: Sequence[str] | None = None, required: bool = True
) -> Encoded:
    """Encode a column; unless it is `required`, NaN and infinities count as missing."""
    if pa.types.is_floating(column.type) and not required:  # numbers that are none count as missing
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
    return encode_column(name, column, order=order, required=required)


def _comparable(kind: pa.DataType) -> bool:
    """Return whether values of an Arrow type can be compared: neither nested nor binary nor durations."""
    kind = kind.value_type if isinstance(kind, pa.DictionaryType) else kind
    return not (
        pa.types.is_nested(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_duration(kind)
    )
