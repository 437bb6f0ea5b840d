"""Verification: a model judges a published table, counted again from its own columns.

It trusts nobody upstream: it knows no algorithm, no recoding and no engine, and works for tables from anywhere.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

import indistinct
from indistinct.arrays import Codes
from indistinct.errors import InputError, SchemaError
from indistinct.frequencies.count import histogram_of, join_columns
from indistinct.frequencies.encode import Encoded, encode_column
from indistinct.frequencies.grouping import Grouping, group_rows
from indistinct.frequencies.value import Classes, Histogram, Key
from indistinct.hierarchy import Hierarchy, Order
from indistinct.models.base import Model
from indistinct.release.certificate import Certificate, Verdict
from indistinct.schema import Schema, did_you_mean


def verify_table(
    table: pa.Table,
    schema: Schema,
    *,
    model: Model,
    original: pa.Table | None = None,
    companions: pa.Table | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Certificate:
    """Return what a published table achieves under a model.

    `original` is the table before the release: t-closeness compares with its distribution, and suppressed rows are
    counted against it; without it the published table stands for the whole. `companions` has columns that are not
    published, row for row, such as the person behind each row for (X,Y)-anonymity.
    """
    for name in schema.quasi:
        _require(table, name)
    grouping = _group(table, schema, rows=bool(model.keys))
    warnings: list[str] = []
    histograms = {
        key: _histogram(grouping, key, table, original, companions, hierarchies or {}, warnings) for key in model.keys
    }
    classes = Classes(grouping.counts, histograms)
    return Certificate(
        version=indistinct.__version__,
        verdicts=tuple(_verdict(part, classes) for part in model.parts()),
        rows=table.num_rows,
        classes=len(classes),
        smallest_class=int(classes.sizes.min()) if len(classes) else 0,
        original_rows=None if original is None else original.num_rows,
        suppressed_rows=None if original is None else original.num_rows - table.num_rows,
        quasi_identifiers=tuple(schema.quasi),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _verdict(model: Model, classes: Classes) -> Verdict:
    broken = model.violations(classes)
    return Verdict(
        model=model.spec(),
        holds=not bool(broken.any()),
        achieved={key: _number(value) for key, value in model.achieved(classes).items()},
        violating_classes=int(broken.sum()),
        violating_rows=int(classes.sizes[broken].sum()),
    )


def _number(value: float) -> float:
    return int(value) if float(value).is_integer() else float(value)


def _group(table: pa.Table, schema: Schema, *, rows: bool) -> Grouping:
    """Group the rows by the published quasi-identifiers; without `rows` only the counts are wanted.

    Published rows mostly stand in runs of equal vectors: finding the runs first leaves far fewer rows to sort.
    """
    if not table.num_rows:
        return Grouping(np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64))
    columns = [_encoded(table, name) for name in schema.quasi]
    changes = np.zeros(table.num_rows - 1, dtype=bool)
    for column in columns:
        changes |= column.codes[1:] != column.codes[:-1]
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1, [table.num_rows]])
    runs = group_rows([c.codes[starts[:-1]] for c in columns], [len(c.domain) for c in columns])
    lengths = np.diff(starts)[runs.order]
    order = _expanded(starts[:-1][runs.order], lengths) if rows else np.zeros(0, dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return Grouping(order, ends[runs.starts])


def _expanded(starts: Codes, lengths: Codes) -> Codes:
    """Return the rows of runs, one run after the other."""
    before = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)


def _encoded(table: pa.Table, name: str, hierarchy: Hierarchy | None = None) -> Encoded:
    """Encode a column; a column without any value is one class of missing values here, not an error."""
    if table[name].null_count == table.num_rows:
        filler = pa.chunked_array([pa.array(["missing"] * table.num_rows, pa.string())])
        return encode_column(name, filler)
    order = hierarchy.values if isinstance(hierarchy, Order) else None
    return encode_column(name, table[name], order=order)


def _histogram(
    grouping: Grouping,
    key: Key,
    table: pa.Table,
    original: pa.Table | None,
    companions: pa.Table | None,
    hierarchies: Mapping[str, Hierarchy],
    warnings: list[str],
) -> Histogram:
    """Count the values of a key in each class, over the original table's domain where that is known."""
    columns: list[tuple[Encoded, Encoded | None]] = []
    for name in key:
        hidden = companions is not None and name in companions.column_names
        if hidden:
            warnings.append(f"the check used column {name!r}, which is not published")
        source = companions if companions is not None and hidden else table
        _require(source, name)
        known = original is not None and len(key) == 1 and name in original.column_names
        if original is not None and known:
            whole = _encoded(original, name, hierarchies.get(name))
            columns.append((Encoded.plain(whole.domain, whole.domain.encode(source[name])), whole))
        else:
            columns.append((_encoded(source, name, hierarchies.get(name)), None))
    inside, whole_column = columns[0] if len(columns) == 1 else (join_columns([c for c, _ in columns]), None)
    taxonomy = hierarchies[key[0]].bind(inside.domain) if len(key) == 1 and key[0] in hierarchies else None
    histogram = histogram_of(grouping, inside, taxonomy=taxonomy)
    if whole_column is None:
        return histogram
    reference = np.bincount(whole_column.codes, minlength=len(whole_column.domain)).astype(np.int64)
    return Histogram(histogram.indptr, histogram.codes, histogram.counts, reference, taxonomy, histogram.texts)


def _require(table: pa.Table, name: str) -> None:
    if name not in table.column_names:
        raise SchemaError(
            f"the table has no column {name!r}, which the check needs",
            hint=did_you_mean(name, table.column_names) or f"the table has: {', '.join(table.column_names)}",
        )
    if pa.types.is_nested(table[name].type):
        raise InputError(f"column {name!r} has the type {table[name].type}, which cannot be grouped")
