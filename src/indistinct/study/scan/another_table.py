"""Whether the table that is given as the original can be that of the published file."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.figures import plural
from indistinct.study.scan.base import Check, Finding, Severity, Subject
from indistinct.study.scan.compared import in_type, plain
from indistinct.tables import Table

# Where a smaller share of a column's values is in the original, it holds hardly any of them.
HARDLY = 0.1
NAME = "another-original"


def _another(subject: Subject) -> Iterator[Finding]:
    original = subject.original
    if original is None:
        raise AssertionError("the check needs the original")
    # Quasi-identifiers are published as labels, which are no values of the original.
    quasi = () if subject.schema is None else subject.schema.quasi
    shared = [name for name in original.columns if subject.columns.count(name) == 1]
    compared = [name for name in shared if name not in quasi]
    counts = [_found(subject.table[name], original, name) for name in compared]
    several = [(found, values) for found, values in counts if values]
    if not several and not subject.known.isdisjoint(subject.columns):
        return  # nothing is published as it was
    if all(found < HARDLY * values for found, values in several):
        lost = sum(values - found for found, values in several) or len(subject.columns)
        seen = (
            f"hardly any value of {plural(len(several), 'column')} is in it, unless all are generalized"
            if several
            else "it has none of the published columns"
        )
        yield Finding(
            NAME,
            Severity.NOTE,
            "the original",
            lost,
            f"this does not look like the original of this file: {seen}",
            "give the table that the file was made from; what was compared with this one tells little",
        )


def _found(column: pa.ChunkedArray, original: Table, name: str) -> tuple[int, int]:
    """Return how many distinct values of a published column the original has, and how many there are."""
    before = plain(original.data[name])
    shown = in_type(column, before.type)
    if shown is None:
        return 0, len(pc.drop_null(plain(column).unique()))
    values = pc.drop_null(shown.unique())
    return int(pc.sum(pc.is_in(values, value_set=before.unique())).as_py() or 0), len(values)


CHECKS = (Check(NAME, "whether the original is that of this file", _another, needs=("table", "original")),)
