"""Labels outside the hierarchy: published values that no recoding of the original could have given."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from indistinct.engines import open_source
from indistinct.errors import InputError
from indistinct.figures import plural
from indistinct.frequencies.count import Request
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.recoding.labels import written_multiset
from indistinct.recoding.read_back import cover_of
from indistinct.study.scan.base import Check, Finding, Severity, Subject


def _outside(subject: Subject) -> Iterator[Finding]:
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
            cover_of(_flat(subject.table.select([column.name])), [column], schema=subject.schema)
        except InputError as error:
            strangers = [value for value in error.values if not _is_multiset(value, column)]
            if error.details.get("column") != column.name or not strangers:
                continue
            yield Finding(
                "labels-outside-hierarchy",
                Severity.SUSPICION if column.taxonomy is None else Severity.LEAK,
                f"column {column.name!r}",
                len(strangers),
                f"column {column.name!r} shows {plural(len(strangers), 'value')} that no recoding of the original "
                "gives: neither its values, nor ranges or sets of them, nor labels of its hierarchy",
                "find out where they come from: rows of another table, another hierarchy, or a tool that made them up",
            )


def _is_multiset(text: Any, column: QuasiColumn) -> bool:
    """Return whether a text is a multiset of the column's values, as a release in buckets shows them."""
    written = written_multiset(text) if isinstance(text, str) else None
    return written is not None and {value for value, _ in written} <= set(column.domain.texts())


def _flat(table: pa.Table) -> pa.Table:
    """Return the cells alone: text as text, without metadata."""
    columns = [
        column.cast(column.type.value_type) if isinstance(column.type, pa.DictionaryType) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


CHECKS = (
    Check(
        "labels-outside-hierarchy",
        "values that no recoding of the original gives",
        _outside,
        ("table", "original", "schema"),
    ),
)
