"""The order of published rows: by person, then by labels, then by their other values."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.frequencies.encode import encode_column
from indistinct.linked.declared import LinkedTable
from indistinct.machine.arrays import Codes, Floats
from indistinct.tables.domain import kind_of


def published_columns(table: LinkedTable) -> list[str]:
    """Return the columns that a release shows of a table, person first."""
    time = [] if table.time is None else [table.time.column]
    lists = [column.column for column in table.lists]
    return [table.person, *time, *table.schema.quasi, *lists, *table.schema.sensitive, *table.schema.insensitive]


RANKINGS: tuple[Callable[[pa.ChunkedArray], pa.ChunkedArray], ...] = (
    lambda column: column.cast(pa.string()),
    lambda column: column,
    lambda column: column.cast(pa.string()).cast(pa.float64()),
)
"""What a column may be sorted by: its texts, the values of its type, or numbers written as texts."""


class PublishedOrder:
    """Whether rows that come in blocks are sorted by person and then by their published values.

    Each column is sorted by one of `RANKINGS` in the whole table; labels are by their texts.
    """

    def __init__(self, table: LinkedTable) -> None:
        self.table = table
        self.last: pa.Table | None = None
        self.possible: dict[str, list[int]] = {}

    def holds(self, block: pa.Table) -> bool:
        """Return whether the rows are sorted, and follow those that came before."""
        if self.last is not None:
            plain = [block[name].cast(self.last[name].type) for name in block.column_names]
            block = pa.table(plain, names=block.column_names)
            rows = pa.concat_tables([self.last, block])
        else:
            rows = block
            labels = _label_columns(self.table)
            self.possible = {
                name: _rankings_of(block[name], text=name in labels)
                for name in sort_columns(self.table, block.column_names)
            }
        if len(block):
            self.last = rows.slice(len(rows) - 1)
        return self._ascends(rows)

    def _ascends(self, rows: pa.Table) -> bool:
        """Return whether rows are sorted, and drop the rankings that do not fit."""
        tied = np.ones(max(len(rows) - 1, 0), dtype=bool)
        for name, possible in self.possible.items():
            if not possible or not tied.any():
                continue
            steps = {ranking: _steps(rows[name], ranking) for ranking in possible}
            fitting = [ranking for ranking, step in steps.items() if not (tied & (step < 0)).any()]
            if not fitting:
                return False
            self.possible[name] = fitting
            tied &= steps[fitting[0]] == 0
        return True


def _label_columns(table: LinkedTable) -> set[str]:
    time = set() if table.time is None else {table.time.column}
    return {table.person, *table.schema.quasi, *(column.column for column in table.lists)} | time


def _rankings_of(column: pa.ChunkedArray, *, text: bool) -> list[int]:
    """Return the indices of the `RANKINGS` by which a column can be sorted."""
    if sort_ranks(column.slice(0, 1), text=text) is None:
        return []
    return [0] if text else [0, 1, 2]


def _steps(column: pa.ChunkedArray, ranking: int) -> Codes:
    """Return whether each cell is greater (1) or smaller (-1) than the previous one, or equal (0).

    Missing comes first.

    Where the ranking does not fit the cells, all are below.
    """
    try:
        plain = RANKINGS[ranking](column)
        if isinstance(plain.type, pa.DictionaryType):
            plain = plain.cast(plain.type.value_type)
        if pa.types.is_floating(plain.type):
            plain = pc.if_else(pc.is_nan(plain), None, plain)
        before, after = plain.slice(0, max(len(plain) - 1, 0)), plain.slice(1)
        up, down = pc.greater(after, before), pc.less(after, before)
        up = pc.if_else(before.is_null(), after.is_valid(), up)
        down = pc.if_else(after.is_null(), before.is_valid(), down)
        signs = [pc.fill_null(each, False).to_numpy().astype(np.int8) for each in (up, down)]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.full(max(len(column) - 1, 0), -1, dtype=np.int8)
    return signs[0] - signs[1]


def sort_columns(table: LinkedTable, names: Sequence[str]) -> list[str]:
    """Return the columns by which a table's rows are sorted: person, labels, then other values."""
    return [name for name in published_columns(table) if name in names]


def _ranks_of_floats(values: Floats) -> Codes:
    """Return the rank of each number; those that are none are missing, and endless ones are the outermost."""
    missing = np.isnan(values)
    ranks = np.unique(np.where(missing, 0.0, values), return_inverse=True)[1].astype(np.int64) + 1
    ranks[missing] = 0
    return ranks


def sort_ranks(column: pa.ChunkedArray, *, text: bool) -> Codes | None:
    """Return the rank of each cell, missing first; None for a type that has no order."""
    try:
        plain = column.cast(pa.string()) if text else column
        if not len(plain):
            return np.zeros(0, dtype=np.int64)
        if pa.types.is_floating(plain.type):
            return _ranks_of_floats(plain.to_numpy())
        kind_of(plain.type)
        return encode_column("column", plain, required=False).codes.astype(np.int64)
    except (InputError, pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return None
