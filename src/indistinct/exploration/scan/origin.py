"""Whether published cells can come from the given original, by any recoding."""

import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines import open_source
from indistinct.errors import InputError
from indistinct.exploration.scan.base import Finding, ScanCheck, ScannedFile, Severity, note
from indistinct.exploration.scan.compared import distinct_values, in_type, used_values
from indistinct.figures import plural
from indistinct.frequencies.count import Request
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.recoding.label_spans import parse_value, place_on_line
from indistinct.recoding.outputs import written_multiset
from indistinct.tables.domain import Kind
from indistinct.tables.value import Table
from indistinct.view.read_back import cover_of

# Below this share of a column's values, the original has hardly any of them.
MIN_SHARE_IN_ORIGINAL = 0.1


def _find_another_original(subject: ScannedFile) -> Iterator[Finding]:
    """Report an original whose values differ too much from the published ones."""
    original = subject.compared
    if original is None:
        raise AssertionError("the check needs the original")
    # Quasi-identifiers are published as labels, which are not values of the original.
    quasi = () if subject.schema is None else subject.schema.quasi
    shared = [name for name in original.columns if subject.columns.count(name) == 1]
    compared = [name for name in shared if name not in quasi]
    counts = [_count_shared(subject.table[name], original, name) for name in compared]
    several = [(finding, values) for finding, values in counts if values]
    if not several and not subject.expected_columns.isdisjoint(subject.columns):
        return  # no column is unmodified
    if all(finding < MIN_SHARE_IN_ORIGINAL * values for finding, values in several):
        lost = sum(values - finding for finding, values in several) or len(subject.columns)
        seen = (
            f"hardly any value of {plural(len(several), 'column')} is in it, unless all are generalized"
            if several
            else "it has none of the published columns"
        )
        yield note(
            "the original",
            lost,
            f"this does not look like the original of this file: {seen}",
            "give the table that the file was made from; what was compared with this one tells little",
        )


def _count_shared(column: pa.ChunkedArray, original: Table, name: str) -> tuple[int, int]:
    """Return (distinct values of a published column that the original has, all its distinct values)."""
    before = distinct_values(original.data[name])
    published = pc.drop_null(distinct_values(column))
    cells = in_type(pa.chunked_array([published]), before.type)
    if cells is None:
        return 0, len(published)
    values = cells.unique()
    return int(pc.sum(pc.is_in(values, value_set=before)).as_py() or 0), len(values)


def _find_outside_labels(subject: ScannedFile) -> Iterator[Finding]:
    """Yield findings about published values that are no label of the original's quasi-identifiers."""
    if subject.schema is None or subject.original is None or not subject.table.num_rows:
        return
    engine, whole = open_source(subject.original)
    quasi = [name for name in subject.schema.quasi if name in whole.columns]
    if not quasi:
        return
    hierarchies = {name: each for name, each in subject.hierarchies.items() if name in quasi}
    counted = engine.count(whole, Request(tuple(quasi), (), hierarchies))
    for column in columns_of(counted.domains, hierarchies):
        if column.name not in subject.columns:
            continue
        try:
            cover_of(_distinct_values(subject.table, column.name), [column], schema=subject.schema)
        except InputError as error:
            strangers = [
                value for value in error.values if not _is_multiset(value, column) and not _is_between(value, column)
            ]
            if error.details.get("column") != column.name or not strangers:
                continue
            yield Finding(
                Severity.SUSPICION if column.taxonomy is None else Severity.LEAK,
                f"column {column.name!r}",
                len(strangers),
                f"column {column.name!r} shows {plural(len(strangers), 'value')} that no recoding of the original "
                "gives: neither its values, nor ranges or sets of them, nor labels of its hierarchy",
                "find out where they come from: rows of another table, another hierarchy, or a tool that made them up",
            )


def _is_multiset(text: Any, column: QuasiColumn) -> bool:
    """Return whether a text is a multiset of the column's values, as in a release in buckets."""
    written = written_multiset(text) if isinstance(text, str) else None
    return written is not None and {value for value, _ in written} <= set(column.domain.texts())


def _is_between(text: Any, column: QuasiColumn) -> bool:
    """Return whether a text is a number or a date within the column's range, such as the mean of a class."""
    domain = column.domain
    value = parse_value(text, domain.kind) if isinstance(text, str) else None
    if value is None or not len(domain.values):
        return False
    known = column.positions[int(domain.missing) :]
    low, high = float(known.min()), float(known.max())
    # The mean of times is published as a day.
    first = math.floor(low) if domain.kind is Kind.DATE else low
    return bool(first <= place_on_line(value) <= high)


def _distinct_values(table: pa.Table, name: str) -> pa.Table:
    """Return the distinct cells of a column alone: text as text, without metadata."""
    return pa.table({name: used_values(table[name]).unique()})


CHECKS = (
    ScanCheck(
        "another-original", "whether the original is that of this file", _find_another_original, ("table", "original")
    ),
    ScanCheck(
        "labels-outside-hierarchy",
        "values that no recoding of the original gives",
        _find_outside_labels,
        ("table", "original", "schema"),
    ),
)
