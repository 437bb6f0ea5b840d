"""Checks that a release is true of each row: other columns are unmodified, published values cover the original.

Each check receives a case and a function that publishes it, and raises `AssertionError` where a release is untrue.
"""

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from indistinct.errors import UnseenValueError
from indistinct.frequencies.encode import encode_column
from indistinct.hierarchy.explicit import declared_order
from indistinct.hierarchy.value import Hierarchy
from indistinct.job.publishing import apply
from indistinct.models import KAnonymity
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import PublishedColumn
from indistinct.release.release import Release
from indistinct.testing.checks.case import Case, Publish, Row, expect, project_rows, publish_case
from indistinct.testing.checks.reading import spell_value, stands_for


def check_other_columns(case: Case, *, publish: Publish = publish_case) -> None:
    """Sensitive and insensitive values are published unmodified, row by row."""
    release = publish(case)
    others = [*case.schema.sensitive, *case.schema.insensitive]
    known = Counter(project_rows(case.rows, others))
    published_rows = Counter(project_rows(release.table.to_pylist(), others))
    expect(not published_rows - known, "a published row has sensitive or insensitive values that no original row has")
    expect(published_rows == known or release.certificate.suppressed_rows, "rows are missing without a warning")
    for name in others:
        expect(_plain(release.table[name].type) == _plain(case.table[name].type), f"the type of {name!r} changed")


def check_values_cover(case: Case, *, publish: Publish = publish_case) -> None:
    """Every published quasi-identifier value is true of the original one."""
    release = publish(case)
    rows, originals = release.table.to_pylist(), case.originals(release)
    for column in release.assignment.columns:
        names = [name for name, _ in column.outputs]
        if _is_mean(case, column):
            _check_means(rows, originals, column)
            continue
        true_of = _between if names[0] == f"{column.column}_min" else _reader(case, column.column, release.recoding)
        for after, before in zip(rows, originals, strict=True):
            values = [after[name] for name in names]
            expect(true_of(values, before[column.column]), f"a published value of {column.column!r} is not true")


def check_unseen_value(case: Case, *, publish: Publish = publish_case) -> None:
    """Given a table with an unknown value, a recoding raises or publishes a true label, never the value itself.

    Only an unmodified column, on level 0 of its hierarchy, may show an unknown value.
    """
    if not case.algorithm.traits.reusable:
        return
    release = publish(case)
    for name in case.schema.quasi:
        strange = _stranger(case.table[name])
        row = case.table.slice(0, 1)
        index = row.column_names.index(name)
        row = row.set_column(index, row.schema.field(name), pa.array([strange], row.schema.field(name).type))
        larger = replace(case, table=pa.concat_tables([case.table, row]))
        try:
            again = apply(release.recoding, larger.table, model=KAnonymity(1), hierarchies=case.hierarchies)
        except UnseenValueError as error:
            expect(error.hint, "the error does not say what to do")
            expect(strange is None or spell_value(strange) not in error.message, "the message tells the value")
            continue
        _check_covered(larger, again, release.recoding, name, strange)


def _check_covered(case: Case, again: Release, recoding: Recoding, name: str, strange: Any) -> None:
    """Raise if an unknown value, in the last row, is published raw where the column is recoded, or untruly."""
    (column,) = [column for column in again.assignment.columns if column.column == name]
    outputs = [output for output, _ in column.outputs]
    raw = recoding.level_of(name) == 0
    texts = {spell_value(value) for output in outputs for value in again.table[output].to_pylist()}
    expect(raw or strange is None or spell_value(strange) not in texts, f"an unknown value of {name!r} was published")
    key = case.rows[-1][case.key]
    rows = [row for row in again.table.to_pylist() if row[case.key] == key]
    if len(rows) < 2 or _is_mean(case, column):
        return
    true_of = _between if outputs[0] == f"{name}_min" else _reader(case, name, recoding)
    covered = any(true_of([row[output] for output in outputs], strange) for row in rows)
    expect(covered, f"what is published for an unknown value of {name!r} is not true")


def _reader(case: Case, name: str, recoding: Recoding) -> Callable[[list[Any], Any], bool]:
    """Return the function that compares the first published column of a quasi-identifier with an original.

    A node of the lattice shows the levels of hierarchies, whichever algorithm chose it.
    """
    hierarchy, kind = case.hierarchies.get(name), case.table[name].type
    if hierarchy is None and recoding.node is not None:
        hierarchy = Hierarchy.suppression()
    order = declared_order(hierarchy)
    textual = pa.types.is_string(kind) or pa.types.is_boolean(kind)
    through_tree = hierarchy is not None and (
        recoding.node is not None
        or case.algorithm.traits.hierarchies
        or (order is None and (hierarchy.categorical or textual))
    )
    paths = _paths(hierarchy, case.table[name]) if hierarchy is not None and through_tree else None
    return lambda values, original: stands_for(values[0], original, paths=paths, order=order)


def _between(values: list[Any], original: Any) -> bool:
    """Return whether a value is between two published bounds, or missing where that is allowed."""
    low, high, *may_be_missing = values
    if original is None:
        return bool(may_be_missing and may_be_missing[0])
    return low is not None and bool(low <= original <= high)


def _paths(hierarchy: Hierarchy, column: pa.ChunkedArray) -> dict[Any, tuple[str, ...]]:
    """Return every label that a hierarchy allows for each value of a column."""
    order = declared_order(hierarchy)
    domain = encode_column("column", column, order=order).domain
    taxonomy = hierarchy.bind(domain)
    values = [None, *domain.values.to_pylist()] if domain.missing else domain.values.to_pylist()
    return {
        value: tuple(taxonomy.labels[level][node] or "" for level, node in enumerate(taxonomy.ancestors[code].tolist()))
        for code, value in enumerate(values)
    }


def _is_mean(case: Case, column: PublishedColumn) -> bool:
    return case.algorithm.numeric_forms.of(column.column) == "mean" and column.ranged and _numeric(column)


def _numeric(column: PublishedColumn) -> bool:
    kind = column.outputs[0][1].type
    return pa.types.is_floating(kind) or pa.types.is_date(kind)


def _check_means(rows: list[Row], originals: list[Row], column: PublishedColumn) -> None:
    """A published mean is the mean of the rows that show it."""
    names = [name for name, _ in column.outputs]
    groups: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    means: dict[tuple[Any, ...], Any] = {}
    for after, before in zip(rows, originals, strict=True):
        key = tuple(after[name] for name in names)
        means[key] = after[names[0]]
        if before[column.column] is not None:
            groups[key].append(_place(before[column.column]))
    for key, mean in means.items():
        expected = sum(groups[key]) / len(groups[key]) if groups[key] else None
        agrees = mean is None if expected is None else mean is not None and _near(_place(mean), expected, mean)
        expect(agrees, f"a published mean of {column.column!r} is not that of its rows")


def _near(mean: float, expected: float, shown: Any) -> bool:
    if isinstance(shown, datetime.date):
        return mean == math.floor(expected)
    return math.isclose(mean, expected, rel_tol=1e-9, abs_tol=1e-9)


def _place(value: Any) -> float:
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=datetime.UTC).timestamp() / 86_400
    return float(value.toordinal() - 719_163) if isinstance(value, datetime.date) else float(value)


def _stranger(column: pa.ChunkedArray) -> Any:
    """Return a value of a column's type that the column does not have."""
    known = [value for value in column.to_pylist() if value is not None]
    match known[0]:
        case bool():
            return None
        case str():
            return "never seen before ⚠"
        case datetime.date():
            return max(known) + datetime.timedelta(days=400)
        case int():
            return max(known) + 1 if max(known) < 2**31 else min(known) - 1
        case _:
            return max(known) + type(known[0])(1)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if isinstance(kind, pa.DictionaryType) else kind
