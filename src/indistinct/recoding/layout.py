"""The tables that a release shows: which column has which values, and which columns stay together."""

from collections.abc import Sequence

import numpy as np

from indistinct.machine.arrays import Codes, starts_of
from indistinct.machine.ordering import distinct_with_places
from indistinct.recoding.kinds import ByBucket
from indistinct.recoding.labels import multiset_labels
from indistinct.recoding.outputs import (
    MAIN,
    SENSITIVE,
    Assignment,
    Buckets,
    Layout,
    Output,
    OutputTable,
    PublishedColumn,
)
from indistinct.schema import BUCKET, COUNT, Schema


def class_layout(assignment: Assignment, schema: Schema | None) -> Layout:
    """Return one table: what classes show of the quasi-identifiers, and the other columns as they are."""
    outputs = [
        output
        for index, column in enumerate(assignment.columns)
        for output in _of_column(column, assignment.values[:, index], by_cell=False)
    ]
    roles = schema or Schema(quasi=[column.column for column in assignment.columns])
    outputs += [Output(name, name) for name in (*roles.sensitive, *roles.insensitive)]
    names = {column.column: [name for name, _ in column.outputs] for column in assignment.columns}
    quasi = [name for original in roles.quasi for name in names[original]]
    published = Schema(quasi=quasi, sensitive=roles.sensitive, insensitive=roles.insensitive)
    return Layout({MAIN: OutputTable((tuple(outputs),))}, published)


def bucket_layout(
    assignment: Assignment, recoding: ByBucket, generalized: Sequence[tuple[Assignment, Codes]]
) -> Layout:
    """Return the table or tables of a recoding into buckets, by what it publishes of a bucket.

    `generalized` has, for each recoding of a slice, its classes and where each cell stands among its own cells.
    """
    schema = recoding.schema or Schema(quasi=recoding.names)
    buckets = Buckets(
        recoding.form, recoding.slices, tuple(name for part in recoding.generalized for name in part.names)
    )
    if recoding.form == "multiset":
        outputs = _multisets(assignment, recoding)
        slices = tuple((outputs.get(name, Output(name, name)),) for names in recoding.slices for name in names)
        roles = Schema(quasi=recoding.names, sensitive=schema.sensitive)
        return Layout({MAIN: OutputTable(slices)}, roles, buckets=buckets)
    if recoding.form == "tables":
        known, sensitive = (tuple(Output(name, name) for name in names) for names in recoding.slices)
        tables = {MAIN: OutputTable((known,), BUCKET), SENSITIVE: OutputTable((sensitive,), BUCKET, COUNT)}
        roles = Schema(quasi=[BUCKET], insensitive=recoding.names)
        return Layout(tables, roles, in_source_order=False, buckets=buckets)
    sliced = tuple(_columns_of_slice(names, generalized) for names in recoding.slices)
    others = [output.name for outputs in sliced for output in outputs if output.of not in schema.sensitive]
    roles = Schema(quasi=[BUCKET], sensitive=schema.sensitive, insensitive=others)
    return Layout({MAIN: OutputTable(sliced, BUCKET)}, roles, in_source_order=False, buckets=buckets)


def _of_column(column: PublishedColumn, codes: Codes, *, by_cell: bool) -> list[Output]:
    return [Output(name, column.column, values, codes, by_cell) for name, values in column.outputs]


def _columns_of_slice(names: tuple[str, ...], generalized: Sequence[tuple[Assignment, Codes]]) -> tuple[Output, ...]:
    """Return the columns of one slice: values as they are, or those of the classes of the slice's own recoding."""
    outputs: dict[str, list[Output]] = {}
    for classes, cells in generalized:
        for index, column in enumerate(classes.columns):
            codes = classes.values[:, index][classes.class_ids][cells]
            outputs[column.column] = _of_column(column, codes, by_cell=True)
    return tuple(output for name in names for output in outputs.get(name, [Output(name, name)]))


def _multisets(assignment: Assignment, recoding: ByBucket) -> dict[str, Output]:
    """Return every attribute that is not sensitive as the multiset of its bucket."""
    outputs = {}
    every = np.arange(len(assignment.classes))
    for index, domain in enumerate(recoding.domains):
        codes = recoding.vectors[assignment.cells, index]
        words, inverse = distinct_with_places(assignment.class_ids.astype(np.int64) * len(domain) + codes)
        counts = np.bincount(inverse, weights=assignment.counts).astype(np.int64)
        owners, members = np.divmod(words, len(domain))
        indptr = starts_of(np.bincount(owners, minlength=len(every)))
        labels = multiset_labels(domain.texts(), indptr, members, counts)
        outputs[domain.column] = Output(domain.column, domain.column, labels, every)
    return outputs
