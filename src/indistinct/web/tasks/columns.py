"""Figures of columns: a picture of each from its counts, and how many people are unique under the roles as decided.

What is counted once of a column is kept as long as the table is, so that a change of a role need not look at it again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.drawing.columns import Bars, bars_of_numbers, bars_of_values, draw_bars
from indistinct.frequencies.encode import Grouping, group_rows
from indistinct.inspection.inspect import encode
from indistinct.job.policy import Policy
from indistinct.machine.arrays import Codes
from indistinct.recoding.transformations import check_transformations, transformed_columns
from indistinct.release.pseudonyms.making import read_key
from indistinct.tables import Table
from indistinct.tables.domain import Kind, kind_of
from indistinct.web.tasks.looking import without_folder
from indistinct.web.tasks.tables import table_of
from indistinct.web.worker import Desk


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CountedColumn:
    """The distinct values of a column, the rows of each, and each row's place among them; missing comes last."""

    values: pa.Array
    codes: Codes
    counts: Codes

    @property
    def size(self) -> int:
        """Return how many codes there are, with that of missing."""
        return len(self.values) + 1


def warm(desk: Desk, policy: Policy) -> None:
    """Open the table of a policy and count every column, so that what follows need not wait."""
    table = table_of(desk, policy)
    for name in table.columns:
        count_column(desk, table, name)


def count_column(desk: Desk, table: Table, name: str) -> CountedColumn:
    """Return a column with its counts."""
    columns: dict[str, CountedColumn] = desk.keep(("columns", id(table)), lambda: _Columns(table)).columns
    if name not in columns:
        values, codes = encode(table.data[name])
        columns[name] = CountedColumn(values, codes, np.bincount(codes, minlength=len(values))[: len(values)])
    return columns[name]


class _Columns:
    """Counted columns of a table, which stays where it is as long as they do."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.columns: dict[str, CountedColumn] = {}


def pictures(desk: Desk, policy: Policy, names: Sequence[str]) -> dict[str, str]:
    """Return a picture of each column as SVG, empty if all values differ."""
    table = table_of(desk, policy)
    made: dict[str, str] = desk.keep(("pictures", id(table)), dict)
    for name in names:
        if name not in made:
            bars = bars_of(count_column(desk, table, name), kind_of(table.data[name].type))
            made[name] = draw_bars(name, bars) if bars is not None else ""
    return {name: made[name] for name in names}


def bars_of(column: CountedColumn, kind: Kind) -> Bars | None:
    """Return the bars of a column: a histogram of many numbers or dates, else the most frequent values."""
    if not len(column.values) or (int(column.counts.max()) == 1 and kind is Kind.TEXT):
        return None
    if kind is Kind.TEXT:
        return bars_of_values(column.values.cast(pa.string()).to_pylist(), column.counts)
    dates = kind is Kind.DATE
    plain = column.values.cast(pa.timestamp("s"), safe=False).cast(pa.int64()) if dates else column.values
    numbers = plain.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    there = np.isfinite(numbers)
    if not there.any():
        return None
    return bars_of_numbers(numbers[there], column.counts[there], dates=dates)


@dataclass(frozen=True, slots=True)
class UniquenessCounts:
    """How members, people or rows, are unique on the quasi-identifiers together, before generalization.

    `alone` are those with values that no other has, `few` those in a class smaller than `k`.
    """

    unit: str
    members: int
    classes: int
    smallest: int
    alone: int
    few: int
    k: int


def standing_out(desk: Desk, policy: Policy, *, k: int) -> UniquenessCounts:
    """Return how many people, or rows, are unique or in small classes under the roles of a policy."""
    table = table_of(desk, policy)
    key = ("standing", id(table), tuple(policy.schema.quasi), tuple(policy.schema.person), k)

    def count() -> UniquenessCounts:
        quasi = [count_column(desk, table, name) for name in policy.schema.quasi]
        people = _people(desk, table, policy.schema.person)
        if people is not None and not len(people):
            return replace(standing_of_rows(_group_columns(quasi, table.rows).counts, k=k), unit="people")
        if people is None:
            return standing_of_rows(_group_columns(quasi, table.rows).counts, k=k)
        return standing_of_people(_group_columns(quasi, table.rows).group_ids(), people, k=k)

    counts: UniquenessCounts = desk.keep(key, count, most=50)
    return counts


def _people(desk: Desk, table: Table, names: Sequence[str]) -> Codes | None:
    """Return the person of each row, None where rows are counted or each person has one row."""
    if not names:
        return None

    def find() -> Codes:
        people = _group_columns([count_column(desk, table, name) for name in names], table.rows)
        return people.group_ids() if len(people) < table.rows else np.zeros(0, dtype=np.int32)

    people: Codes = desk.keep(("people", id(table), tuple(names)), find)
    return people


def _group_columns(columns: Sequence[CountedColumn], rows: int) -> Grouping:
    """Return the rows by their vectors of values."""
    if not columns:
        return group_rows([np.zeros(rows, dtype=np.int32)], [1])
    return group_rows([each.codes for each in columns], [each.size for each in columns])


def standing_of_rows(sizes: Codes, *, k: int) -> UniquenessCounts:
    """Count unique rows and rows in small classes, by the sizes of the classes.

    >>> standing_of_rows(np.array([2, 1, 1]), k=2).alone
    2
    """
    alone, few = int((sizes == 1).sum()), int(sizes[sizes < k].sum())
    return UniquenessCounts("rows", int(sizes.sum()), len(sizes), int(sizes.min()), alone, few, k)


def standing_of_people(classes: Codes, people: Codes, *, k: int) -> UniquenessCounts:
    """Count unique people and people in small classes, by the class and the person of each row.

    A person in several classes counts once, in the smallest.

    >>> standing_of_people(np.array([0, 0, 1, 2]), np.array([0, 0, 1, 1]), k=2).alone
    2
    """
    pairs = group_rows([classes, people], [int(classes.max()) + 1, int(people.max()) + 1]).first
    own, owners = classes[pairs], people[pairs]
    sizes = np.bincount(own)
    smallest = np.full(int(people.max()) + 1, len(people) + 1, dtype=np.int64)
    np.minimum.at(smallest, owners, sizes[own])
    alone, few = int((smallest == 1).sum()), int((smallest < k).sum())
    return UniquenessCounts("people", len(smallest), len(sizes), int(sizes.min()), alone, few, k)


def check_transformed(desk: Desk, policy: Policy, name: str) -> dict[str, int]:
    """Return how many values a transformed column has before and after; raise if it cannot be transformed so."""
    table = table_of(desk, policy)
    given = check_transformations({name: policy.transformations[name]}, policy.schema, policy.hierarchies)
    column = count_column(desk, table, name)
    values = pa.chunked_array([column.values])
    changed = transformed_columns(given, {name: table.data[name].type}, lambda _name: values)
    after = changed.table(pa.table({name: values}))[name]
    return {"before": len(column.values), "after": pc.count_distinct(after).as_py()}


def check_key(_desk: Desk, path: Path) -> None:
    """Raise unless a file holds a key for pseudonyms that can be used."""
    with without_folder(path):
        read_key(path)
