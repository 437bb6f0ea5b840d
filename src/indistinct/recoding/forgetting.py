"""A recoding without the values of the table that it was found on.

It keeps the values that its published labels name, ends of ranges among them, and publishes the same for every row.
Values between two kept ones are new to it: `extend_recoding` covers them as it covers those of any other table.
"""

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import HierarchyError, ParameterError
from indistinct.hierarchy.explicit import table_of_values
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes
from indistinct.recoding.codebook import codebook_of
from indistinct.recoding.extend import extend_recoding
from indistinct.recoding.kinds import ByColumn, ByRegion, RecodedColumn, Recoding, is_tree
from indistinct.recoding.outputs import written_members
from indistinct.tables.domain import Domain, Kind, read_as


@dataclass(frozen=True, slots=True, eq=False)
class _KeptValues:
    """A column with the values that are kept.

    `moved[rank]` is the new rank of an old value, or of its representative.
    """

    column: RecodedColumn
    moved: Codes


def forget_values(recoding: Recoding) -> Recoding:
    """Return a recoding that publishes the same and knows no value that its labels do not name.

    It has a new nonce: the old one would let guesses about the table be tested against the digest in a certificate.
    Raises `ParameterError` where the recoding works by values that no label names, as a list of cells does.
    """
    nonce = secrets.token_hex(16)
    recoding = extend_recoding(recoding, {each.domain.column: _declared(each) for each in recoding.columns}).recoding
    match recoding:
        case ByRegion() if recoding.cuts.members is None:
            cuts, cut = recoding.cuts, recoding.cuts.cut.copy()
            columns = []
            for axis, column in enumerate(recoding.columns):
                here = cuts.axis == axis
                kept = _forget_in_column(column, borders=cuts.cut[here] + 1)
                cut[here] = kept.moved[cuts.cut[here]]
                columns.append(kept.column)
            return replace(recoding, columns=tuple(columns), cuts=replace(cuts, cut=cut), nonce=nonce)
        case ByColumn():
            columns, groups = [], []
            for column, codes in zip(recoding.columns, recoding.groups, strict=True):
                by_rank = codes[np.argsort(column.ranks)]
                kept = _forget_in_column(column, borders=np.flatnonzero(np.diff(by_rank)) + 1)
                own = np.zeros(len(kept.column.domain), dtype=codes.dtype)
                own[kept.moved] = by_rank
                columns.append(kept.column)
                groups.append(own[kept.column.ranks])
            return replace(recoding, columns=tuple(columns), groups=tuple(groups), nonce=nonce)
        case _:
            raise _cannot_forget("it lists combinations of values")


def _declared(column: RecodedColumn) -> Domain:
    """Return the values of a column that its hierarchy declares one by one; its own where it does not."""
    table = table_of_values(column.hierarchy) if is_tree(column.summary) else None
    if table is None:
        return column.domain
    leaves = read_as(pa.array([row[0] for row in table.rows], pa.string()), column.domain.values.type)
    return replace(column.domain, values=leaves.drop_null().unique())


def _cannot_forget(reason: str) -> ParameterError:
    return ParameterError(
        f"the recoding cannot be kept without the values of the table: {reason}",
        hint="use mondrian:extent=region, or a full-domain algorithm such as optimal",
    )


def _forget_in_column(column: RecodedColumn, *, borders: Codes) -> _KeptValues:
    """Return a column with the values that its labels name; `borders` are ranks before which something is cut."""
    name, published = column.domain.column, column.summary.published
    if [output for output, _ in published.outputs] != [name]:
        raise _cannot_forget(f"column {name!r} is published as several columns")
    if column.summary.members is not None:
        _require_listed(column)
        return _KeptValues(column, np.arange(len(column.domain)))
    if is_tree(column.summary):
        return _keep_nodes(column, borders)
    wide = bool((column.summary.low < column.summary.high).any())
    if wide and not pa.types.is_string(published.outputs[0][1].type):
        raise _cannot_forget(f"column {name!r} is published as means")
    return _keep_ends(column, borders)


def _require_listed(column: RecodedColumn) -> None:
    """Raise unless the labels of a column of sets list every value."""
    labels = column.summary.published.outputs[0][1].cast(pa.string()).to_pylist()
    listed = {text for label in labels if label is not None for text in written_members(label) or (label,)}
    if not listed >= {text for text in column.domain.texts() if text is not None}:
        raise _cannot_forget(f"labels of column {column.domain.column!r} cover sets that they do not list")


def _keep_ends(column: RecodedColumn, borders: Codes) -> _KeptValues:
    """Return a column of ranges with the values at their ends.

    The first of several regions has no lower end: a value right below the first cut represents all of it.
    """
    domain, summary = column.domain, column.summary
    first, known = int(domain.missing), summary.low <= summary.high
    regions = summary.regions and summary.published.ranged
    ends = (
        (borders, summary.low[known], summary.high[known] + 1) if regions else (summary.low[known], summary.high[known])
    )
    ranks = np.unique(np.concatenate(ends))
    ranks = ranks[(ranks >= first + regions) & (ranks < len(domain))]
    values = domain.values.take(pa.array(ranks - first, pa.int64()))
    if regions:
        values = pa.concat_arrays([_value_below(values), values])
    moved = np.searchsorted(ranks, np.arange(len(domain)), side="right") - 1 + first + regions
    moved[:first] = 0
    return _with_domain(column, replace(domain, values=values), np.arange(first + len(values)), moved)


def _value_below(values: pa.Array) -> pa.Array:
    """Return a value right below the first of some, and the zero of their type where there are none."""
    kind = values.type
    if pa.types.is_floating(kind):
        width = np.dtype(kind.to_pandas_dtype()).type
        return pa.array([np.nextafter(width(values[0].as_py()), width(-np.inf)) if len(values) else width(0)], kind)
    if pa.types.is_decimal(kind):
        return pa.array([values[0].as_py() - Decimal(1).scaleb(-kind.scale) if len(values) else Decimal(0)], kind)
    whole = kind if pa.types.is_integer(kind) else pa.int32() if pa.types.is_date32(kind) else pa.int64()
    return pa.array([values[0].cast(whole).as_py() - 1 if len(values) else 0], whole).cast(kind)


def _keep_nodes(column: RecodedColumn, borders: Codes) -> _KeptValues:
    """Return a column of hierarchy labels with one value for each run of values with the same labels."""
    domain, summary = column.domain, column.summary
    starts = np.unique(np.concatenate([[0], borders, summary.low, summary.high + 1]))
    starts = starts[starts < len(domain)].astype(np.int64)
    ends = np.append(starts[1:], len(domain)) - 1
    order = np.argsort(-summary.published.levels, kind="stable")  # the lowest of equal nodes is met last
    nodes = dict(zip(zip(summary.low[order].tolist(), summary.high[order].tolist(), strict=True), order, strict=True))
    if table_of_values(column.hierarchy) is not None and any(
        run not in nodes for run in zip(starts, ends, strict=True)
    ):
        return _KeptValues(column, np.arange(len(domain)))  # every declared value is known
    codes = np.argsort(column.ranks)
    values: list[object] = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        alone = domain.missing and start == end and codes[start] == 0
        values.append(None if alone else _value_in_node(column, nodes.get((start, end))))
    known = pa.array([value for value in values if value is not None], domain.values.type)
    if pc.count_distinct(known).as_py() < len(known):
        raise _cannot_forget(f"labels of column {domain.column!r} do not tell its values apart")
    missing = len(known) < len(values)
    line = pc.sort_indices(known).to_numpy()  # by code: the place among the known ones
    indices = np.array([index for index, value in enumerate(values) if value is not None], dtype=np.int64)[line]
    ranks = np.concatenate([[values.index(None)] if missing else [], indices]).astype(np.int32)
    moved = np.searchsorted(starts, np.arange(len(domain)), side="right") - 1
    return _with_domain(column, replace(domain, values=known.take(pa.array(line)), missing=missing), ranks, moved)


def _value_in_node(column: RecodedColumn, index: int | None) -> object:
    """Return a value that a published node covers, taken from its label or from the declared hierarchy."""
    domain, published = column.domain, column.summary.published
    if index is None:
        raise _cannot_forget(f"column {domain.column!r} is cut between values of one label")
    text, level = published.outputs[0][1][index], int(published.levels[index])
    if text.type == domain.values.type and not level:
        return text.as_py()
    label = text.cast(pa.string()).as_py()
    for candidate in _candidates(column, label, level):
        value = read_as(pa.array([candidate]), domain.values.type) if candidate is not None else pa.nulls(1)
        if not value.null_count and _has_label(
            column.hierarchy, replace(domain, values=value, missing=False), label, level
        ):
            return value[0].as_py()
    raise _cannot_forget(f"labels of column {domain.column!r} name no value")


def _candidates(column: RecodedColumn, label: str, level: int) -> Iterator[Any]:
    """Yield values that may belong to a node: its label, declared leaves, the ends of its range, and zero."""
    yield label
    declared = table_of_values(column.hierarchy)
    for row in () if declared is None else declared.rows:
        if level < len(row) and row[level] == label:
            yield row[0]
    if column.domain.kind is not Kind.TEXT:
        for entry in codebook_of(pa.table({"label": pa.array([label])}), columns=["label"]):
            yield from (entry.low, entry.high)
        years = [int(text) for text in re.findall(r"\d{4}", label)] if column.domain.kind is Kind.DATE else []
        yield from (date(year, month, 1) for year in years for month in range(1, 13) if year)
        yield from (0, date(1970, 1, 1))


def _has_label(hierarchy: Hierarchy | None, domain: Domain, label: str, level: int) -> bool:
    """Return whether a hierarchy gives this label to the only value of a domain on a level."""
    try:
        taxonomy = None if hierarchy is None else hierarchy.bind(domain)
    except HierarchyError:
        return False
    if taxonomy is None or level > taxonomy.height:
        return False
    return taxonomy.labels[level][taxonomy.ancestors[0, level]] == label


def _with_domain(column: RecodedColumn, domain: Domain, ranks: Codes, moved: Codes) -> _KeptValues:
    """Return a column over another domain; what is measured on the old one is measured on the new."""
    summary, published = column.summary, column.summary.published
    empty = summary.low > summary.high
    low, high = (moved[np.where(empty, 0, ends)] for ends in (summary.low, summary.high))
    line, codes = domain.positions(), np.argsort(ranks)
    ends = np.sort(np.stack([line[codes[low]], line[codes[high]]]), axis=0).astype(np.float64)
    published = replace(
        published,
        low=ends[0],
        high=ends[1],
        leaves=np.where(empty, 0, high - low + 1) + summary.absent,
        span=float(line.max() - line.min()),
        size=len(domain),
    )
    low, high = np.where(empty, len(domain), low), np.where(empty, -1, high)
    made = replace(summary, published=published, low=low.astype(np.int32), high=high.astype(np.int32))
    return _KeptValues(replace(column, domain=domain, ranks=ranks.astype(np.int32), summary=made), moved)
