"""Checks of what a release contains: its columns, metadata, dictionaries, order and certificate, and nothing else.

Each check receives a case and a function that publishes it, and raises `AssertionError` where a release leaks.
"""

from collections import Counter
from dataclasses import replace
from itertools import groupby
from typing import Any

import pyarrow as pa

from indistinct.models import KAnonymity
from indistinct.release.release import Release
from indistinct.testing.checks.case import Case, Publish, expect, project_rows, publish_case, turn_rows


def check_columns(case: Case, *, publish: Publish = publish_case) -> None:
    """A release has exactly the schema's columns less the identifiers, in the table's order, none invented."""
    release = publish(case)
    outputs = {column.column: [name for name, _ in column.outputs] for column in release.assignment.columns}
    wanted = [
        output
        for name in case.table.column_names
        if name not in case.schema.identifiers
        for output in outputs.get(name, [name])
    ]
    expect(release.table.column_names == wanted, f"published {release.table.column_names}, wanted {wanted}")
    for name, output in outputs.items():
        numeric = case.algorithm.numeric_forms.of(name)
        allowed = _allowed_outputs(name, numeric)
        expect(set(output) <= allowed, f"{name} is published as {output}, which {numeric} does not declare")
    named = (*release.schema.quasi, *release.schema.sensitive, *release.schema.insensitive)
    expect(sorted(named) == sorted(wanted), "the release's schema does not name its columns")


def check_metadata(case: Case, *, publish: Publish = publish_case) -> None:
    """A release carries no metadata, neither on the table nor on a column."""
    release = publish(case)
    expect(not release.table.schema.metadata, "the published table carries metadata")
    for field in release.table.schema:
        expect(not field.metadata, f"the published column {field.name!r} carries metadata")
    for index in range(release.table.num_columns):
        expect(release.table.column(index).num_chunks <= 1, "chunks of the original table can be seen")


def check_dictionaries(case: Case, *, publish: Publish = publish_case) -> None:
    """A published dictionary has exactly the values that occur, sorted, and none of removed rows."""
    for column in publish(_with_dictionaries(case)).table.columns:
        if not isinstance(column.type, pa.DictionaryType):
            continue
        for chunk in column.chunks:
            listed = chunk.dictionary.to_pylist()
            used = sorted({value for value in chunk.to_pylist() if value is not None})
            expect(listed == used, "a published dictionary tells more than the values that occur")


def check_order(case: Case, *, publish: Publish = publish_case) -> None:
    """Rows come class by class, and the order of classes does not depend on that of the original rows."""
    release, again = publish(case), publish(turn_rows(case))
    runs = _runs(release)
    expect(len(runs) == len(set(runs)), "the rows of a class are not together")
    expect(runs == _runs(again), "the order of classes depends on the order of the original rows")


def check_shuffling(case: Case, *, publish: Publish = publish_case) -> None:
    """In a class of all rows, each release shuffles the rows again: their order reveals nothing."""
    first, second = (
        publish(replace(case, model=KAnonymity(case.table.num_rows))).table[case.key].to_pylist() for _ in range(2)
    )
    # Of thirty rows every one of these happens by chance once in 10^32 runs.
    expect(first != case.table[case.key].to_pylist(), "the rows of a class are in their original order")
    expect(first != sorted(first), "the rows of a class are in a column's order")
    expect(first != second, "the rows of a class are in the same order in every release")


def check_seed(case: Case, *, publish: Publish = publish_case) -> None:
    """A fixed seed repeats a release and is named in the certificate; without one the certificate has none."""
    first, second = publish(case, seed=7), publish(replace(case), seed=7)
    expect(first.table.equals(second.table), "a fixed seed does not repeat the release")
    for release in (first, second):
        expect(release.certificate.seeded, "the certificate hides that a fixed seed was used")
        expect(
            any("seed" in warning for warning in release.certificate.warnings),
            "the certificate does not warn of the fixed seed",
        )
    free = publish(case)
    expect(not free.certificate.seeded, "the certificate speaks of a seed that was not used")
    expect(not any("seed" in warning for warning in free.certificate.warnings), "a needless warning of a seed")


def check_certificate(case: Case, *, publish: Publish = publish_case) -> None:
    """The certificate agrees with a plain count of the published rows and holds no data value."""
    release = publish(case)
    certificate, rows = release.certificate, release.table.to_pylist()
    sizes = Counter(project_rows(rows, release.schema.quasi))
    expect(certificate.holds, "the certificate says that the promise is broken")
    expect(certificate.rows == len(rows), "the certificate miscounts rows")
    expect(certificate.classes == len(sizes), "the certificate miscounts classes")
    expect(certificate.smallest_class == min(sizes.values()), "the certificate misstates the smallest class")
    expect(certificate.original_rows == case.table.num_rows, "the certificate misstates the original rows")
    expect(certificate.suppressed_rows == case.table.num_rows - len(rows), "the certificate hides suppressed rows")
    text = certificate.to_text().replace(case.model.spec(), "")
    for value in _telling_values(case):
        expect(value not in text, "the certificate holds a data value")


def check_rows_match_recoding(case: Case, *, publish: Publish = publish_case) -> None:
    """The classes that metrics see are those that can be counted on the published rows."""
    release = publish(case)
    published_rows = Counter(project_rows(release.table.to_pylist(), release.schema.quasi))
    sizes = sorted(release.assignment.classes.sizes.tolist())
    expect(sizes == sorted(published_rows.values()), "the recoding's classes are not those of the published rows")


def _runs(release: Release) -> list[tuple[Any, ...]]:
    """Return the published quasi-identifier values from the first row to the last, equal neighbors once."""
    vectors = project_rows(release.table.to_pylist(), release.schema.quasi)
    return [vector for vector, _ in groupby(vectors)]


def _allowed_outputs(name: str, numeric: str) -> set[str]:
    """Return the columns that a numeric form may publish."""
    match numeric:
        case "bounds":
            return {name, f"{name}_min", f"{name}_max", f"{name}_missing"}
        case "interval+mean":
            return {name, f"{name}_mean"}
        case "mean":
            return {name, f"{name}_missing"}
        case _:
            return {name}


def _with_dictionaries(case: Case) -> Case:
    """Return the case with every text column as a dictionary with further values, in an unusual order."""
    columns: dict[str, Any] = {}
    for name in case.table.column_names:
        column = case.table[name].combine_chunks()
        if pa.types.is_string(column.type):
            column = pa.concat_arrays([pa.array(["zz never seen", "zz nor this"]), column])
            column = column.dictionary_encode().slice(2)
        columns[name] = column
    return replace(case, table=pa.table(columns))


def _telling_values(case: Case) -> set[str]:
    """Return the original texts that hardly occur by chance."""
    values = {value for row in case.rows for value in row.values() if isinstance(value, str)}
    return {value for value in values if len(value) > 3}


def published_rows(release: Release) -> list[tuple[Any, ...]]:
    """Return the published rows as tuples."""
    return [tuple(row.values()) for row in release.table.to_pylist()]
