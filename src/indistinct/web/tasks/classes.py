"""Before and after, row by row: which class each original row went to, and what the class shows.

Who went where is found once by the recoding that was kept, and remembered; a page of rows is then some lookups. Where
links are broken inside buckets, the published rows themselves are shown, bucket by bucket.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.engines import open_source
from indistinct.engines.memory.count import rows_of
from indistinct.errors import InputError
from indistinct.frequencies.encode import encode_column, group_rows
from indistinct.frequencies.structure import CLASSES, Buckets, Structure
from indistinct.frequencies.value import PERSON, Key
from indistinct.job.opening import transform
from indistinct.job.policy import Policy
from indistinct.machine.arrays import Codes, starts_of
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import SENSITIVE, Assignment
from indistinct.recoding.storage import read_recoding
from indistinct.release.certificate import table_path
from indistinct.release.fit import fit
from indistinct.release.opening import certified_structure, read_certificate
from indistinct.release.promise import promise_of
from indistinct.reporting.columns import MISSING
from indistinct.schema import BUCKET, COUNT
from indistinct.tables import Table, open_table
from indistinct.web.tasks.tables import table_of
from indistinct.web.worker import Desk

ROWS = 20
"""Number of rows on a page."""
ORDERS = ("release", "smallest", "suppressed")
"""All published classes, the smallest first, or only the suppressed rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Sorted:
    """Rows class after class: class `c` has `sizes[c]` rows of `order`, and behind them are those left out.

    `before` has the columns that are shown on the left. `labels` gives, for some classes, the cells on the right, one
    list a class, under `headings`. `people` are those of each class, where people are counted.
    """

    before: pa.Table
    order: Codes
    sizes: Codes
    headings: tuple[str, ...]
    labels: Callable[[Sequence[int]], list[list[str]]]
    people: Codes | None = None
    structure: Structure = CLASSES

    @property
    def published(self) -> int:
        """Return how many rows are published."""
        return int(self.sizes.sum())


def class_page(
    desk: Desk, policy: Policy, files: dict[str, Any], *, by: str = "release", first: int = 0, rows: int = ROWS
) -> dict[str, Any]:
    """Return some rows before and after, as texts.

    `first` is the place of the first row, in the order that `by` names.
    """
    sorted_table = sorted_rows(desk, policy, files)
    if by == "suppressed":
        begin, of = sorted_table.published, len(sorted_table.order) - sorted_table.published
        positions: Codes = np.arange(begin + first, begin + min(first + rows, of))
        classes: Codes = np.full(len(positions), -1)
    else:
        of = sorted_table.published
        classes, positions = _place_rows(
            sorted_table.sizes, np.arange(first, min(first + rows, of)), smallest=by == "smallest"
        )
    part = (
        sorted_table.before.take(pa.array(sorted_table.order[positions]))
        if len(positions)
        else sorted_table.before.slice(0, 0)
    )
    cells = [[as_text(value) for value in part[name].to_pylist()] for name in sorted_table.before.column_names]
    class_ids = [int(each) for each in dict.fromkeys(classes.tolist()) if each >= 0]
    labels = dict(zip(class_ids, sorted_table.labels(class_ids), strict=True))
    nothing = [""] * len(sorted_table.headings)
    return {
        "before": list(sorted_table.before.column_names),
        "after": list(sorted_table.headings),
        "unit": sorted_table.structure.unit,
        "units": sorted_table.structure.units,
        "whole_rows": sorted_table.structure.whole_rows,
        "people": sorted_table.people is not None,
        "rows": [
            {
                "class": int(each) + 1,
                "size": int(sorted_table.sizes[each]) if each >= 0 else 0,
                "people": int(sorted_table.people[each]) if each >= 0 and sorted_table.people is not None else None,
                "before": [column[index] for column in cells],
                "after": labels.get(int(each), nothing),
            }
            for index, each in enumerate(classes.tolist())
        ],
        "first": first,
        "of": of,
        "classes": len(sorted_table.sizes),
        "smallest": int((sorted_table.sizes if sorted_table.people is None else sorted_table.people).min())
        if len(sorted_table.sizes)
        else 0,
        "suppressed": len(sorted_table.order) - sorted_table.published,
    }


def _place_rows(sizes: Codes, wanted: Codes, *, smallest: bool) -> tuple[Codes, Codes]:
    """Return, for each wanted position in the listing of classes, its class and the index of its row in the table."""
    ranked = np.argsort(sizes, kind="stable") if smallest else np.arange(len(sizes))
    starts, begins = starts_of(sizes[ranked]), starts_of(sizes)
    at = np.searchsorted(starts, wanted, side="right") - 1
    classes = ranked[at]
    return classes, begins[classes] + wanted - starts[at]


def as_text(value: Any) -> str:
    """Return a cell as a text; a missing one says so."""
    return MISSING if value is None else str(value)


def sorted_rows(desk: Desk, policy: Policy, files: dict[str, Any]) -> Sorted:
    """Return the rows of a release by class, found once for its recoding."""
    path = Path(files["recoding"])
    stamp = (path.stat().st_mtime_ns, path.stat().st_size)
    rows: Sorted = desk.keep(("classes", path, stamp), lambda: _sort_rows(desk, policy, files), most=1)
    return rows


def _sort_rows(desk: Desk, policy: Policy, files: dict[str, Any]) -> Sorted:
    """Return the published rows sorted by class or bucket."""
    recoding = read_recoding(files["recoding"])
    structure = certified_structure(read_certificate(Path(files["table"])))
    if structure.buckets is not None:
        return _by_bucket(recoding, Path(files["table"]), structure.buckets)
    return by_class(table_of(desk, policy), policy, recoding)


def by_class(table: Table, policy: Policy, recoding: Recoding) -> Sorted:
    """Return the rows of a table sorted by the classes of a recoding."""
    schema, model = promise_of(recoding, None)
    keys: tuple[Key, ...] = ((PERSON,),) if schema.person else ()
    if recoding.splits_by_sensitive:  # its pieces refer to the counts of the search
        extra = (*policy.algorithm.keys, *([(policy.target,)] if policy.target else []))
        keys = tuple(dict.fromkeys([*recoding.counted_keys, *model.table_keys, *extra]))
    source: Table = transform(table, schema, recoding.transformations or {}, hierarchies=policy.hierarchies)
    made = fit(open_source(source)[0], source, recoding, keys=keys)
    assignment = made.assignment
    grouping = rows_of(source, assignment.domains, assignment.frequencies, made.counted.row_index)
    owners = np.repeat(assignment.class_ids, assignment.counts)
    # Rows that are left out come last.
    arranged = np.argsort(np.where(owners < 0, len(assignment.classes), owners), kind="stable")
    outputs = [(name, values, j) for j, column in enumerate(assignment.columns) for name, values in column.outputs]
    people = assignment.classes.members if assignment.classes.unit == "people" else None
    return Sorted(
        source.data.select(list(schema.quasi)),
        grouping.order[arranged],
        assignment.classes.sizes,
        tuple(name for name, _, _ in outputs),
        _labels(assignment, [(values, j) for _, values, j in outputs]),
        people,
    )


def _labels(
    assignment: Assignment, outputs: Sequence[tuple[pa.Array, int]]
) -> Callable[[Sequence[int]], list[list[str]]]:
    """Return a function that gives the published labels of classes."""

    def labels(classes: Sequence[int]) -> list[list[str]]:
        return [[as_text(values[int(assignment.values[each, j])].as_py()) for values, j in outputs] for each in classes]

    return labels


def _by_bucket(recoding: Recoding, path: Path, structure: Buckets) -> Sorted:
    """Return the rows of a release in buckets as published, with the separate sensitive values."""
    table = open_table(path, published=True).data
    names = list(table.column_names)
    if structure.multisets:
        columns = [encode_column(name, table[name], required=False) for name in recoding.names if name in names]
        grouping = group_rows([each.codes for each in columns], [len(each.domain) for each in columns])
        return Sorted(
            table, grouping.order, grouping.counts, (), lambda classes: [[] for _ in classes], structure=structure
        )
    if BUCKET not in names:
        raise InputError("the release has no column with its buckets", hint="search again")
    numbers = table[BUCKET].to_numpy().astype(np.int64) - 1
    sizes = np.bincount(numbers)
    order = np.argsort(numbers, kind="stable")
    before = table.drop_columns([BUCKET])
    if not structure.two_tables:
        return Sorted(before, order, sizes, (), lambda classes: [[] for _ in classes], structure=structure)
    apart = open_table(table_path(path, SENSITIVE), published=True).data
    owners = apart[BUCKET].to_numpy().astype(np.int64) - 1
    arranged = np.argsort(owners, kind="stable")
    starts = starts_of(np.bincount(owners, minlength=len(sizes)))
    values = [name for name in apart.column_names if name not in (BUCKET, COUNT)]

    def labels(classes: Sequence[int]) -> list[list[str]]:
        return [[_count_values(apart.take(pa.array(arranged[starts[c] : starts[c + 1]])), values)] for c in classes]

    return Sorted(before, order, sizes, (" and ".join(values),), labels, structure=structure)


def _count_values(part: pa.Table, names: Sequence[str]) -> str:
    rows = part.to_pylist()
    return ", ".join(f"{' and '.join(as_text(row[name]) for name in names)} × {row[COUNT]}" for row in rows)
