"""Tables without labels, read in blocks as often as needed: the person of each row, and totals of the whole table.

Parquet and delimited text are never in memory as a whole, if DuckDB is installed; other formats and frames are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.duckdb.opening import open_duck
from indistinct.engines.home import is_read_in_place
from indistinct.machine.arrays import Codes
from indistinct.schema import Schema
from indistinct.tables import open_table
from indistinct.tables.domain import Kind, kind_of
from indistinct.tables.fetched import named_as_given
from indistinct.tables.inference import are_dates
from indistinct.tables.several import Stamp
from indistinct.tables.snapshots import settle_snapshot
from indistinct.tables.value import Reading

BLOCK_ROWS = 1 << 20
"""Upper limit of the rows of a block."""
MEMORY_BYTES = 1 << 30
"""Memory of DuckDB, in bytes, when it checks texts that may be dates."""
PAIRS_TOGETHER = 1 << 22
"""Number of pairs of value and person that are collected before they are reduced to distinct ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """A table that is read in blocks: its types, its number of rows, and a function that yields some of its columns."""

    schema: pa.Schema
    rows: int
    read: Callable[[Sequence[str]], Iterator[pa.Table]]
    stamps: tuple[Stamp, ...] = ()


def open_stream(source: Any, reading: Reading) -> Stream:
    """Return a table at a path or in a frame as a stream."""
    place, how = settle_snapshot(source, reading)
    if find_spec("duckdb") is not None and is_read_in_place(place):
        with named_as_given():
            table = open_duck(place, how, memory=MEMORY_BYTES)
        if table is not None:
            return Stream(
                table.arrow, table.rows, lambda names: table.batches(list(names), size=BLOCK_ROWS), table.stamps
            )
    data = open_table(source, reading=reading).data
    return Stream(data.schema, data.num_rows, lambda names: _slices(data.select(list(names))))


def _slices(data: pa.Table) -> Iterator[pa.Table]:
    for start in range(0, data.num_rows, BLOCK_ROWS):
        yield data.slice(start, BLOCK_ROWS)


@dataclass(slots=True)
class DateEvidence:
    """Which columns hold dates, or texts that all are dates in the notation of ISO 8601."""

    possible: dict[str, bool]

    @classmethod
    def of(cls, names: Sequence[str]) -> "DateEvidence":
        """Return the state before any row."""
        return cls(dict.fromkeys(names, False))

    def add(self, block: pa.Table) -> None:
        """Add some rows."""
        for name in list(self.possible):
            found = _dates_in(block[name])
            if found is None:
                continue
            if found:
                self.possible[name] = True
            else:
                del self.possible[name]

    @property
    def columns(self) -> list[str]:
        """Return the columns that hold dates."""
        return [name for name, seen in self.possible.items() if seen]


def _dates_in(column: pa.ChunkedArray) -> bool | None:
    """Return whether a column has dates and nothing else; None if it has no text."""
    if kind_of(column.type) is Kind.DATE:
        return not pa.types.is_time(column.type)
    if kind_of(column.type) is not Kind.TEXT or pa.types.is_boolean(column.type):
        return False
    texts = pc.utf8_trim_whitespace(pc.unique(column).drop_null().cast(pa.string()))
    texts = texts.filter(pc.not_equal(texts, ""))
    return bool(pc.all(are_dates(texts)).as_py()) if len(texts) else None


@dataclass(slots=True)
class KeyEvidence:
    """The distinct values of a column and their persons, while each value belongs to a single person."""

    pairs: list[pa.Table] = field(default_factory=list)
    waiting: int = 0
    has_missing: bool = False
    is_key: bool = True

    def add(self, column: pa.ChunkedArray, person: Codes) -> None:
        """Add some rows."""
        if not self.is_key:
            return
        try:
            texts = column.cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            self.is_key, self.pairs = False, []
            return
        self.has_missing |= texts.null_count > 0
        rows = pa.table({"value": texts, "person": pa.array(person)})
        self.pairs.append(rows.filter(texts.is_valid()).group_by(["value", "person"]).aggregate([]))
        self.waiting += self.pairs[-1].num_rows
        if self.waiting > PAIRS_TOGETHER:
            self._reduce()

    def _reduce(self) -> None:
        if not self.pairs or not self.is_key:
            return
        distinct = pa.concat_tables(self.pairs).group_by(["value", "person"]).aggregate([])
        self.pairs, self.waiting = [distinct], 0
        if len(pc.unique(distinct["value"])) < distinct.num_rows:
            self.is_key, self.pairs = False, []

    def links_to(self, other: "KeyEvidence") -> bool:
        """Return whether both columns are keys that share a value, as the number of a stay is in two tables."""
        for each in (self, other):
            each._reduce()
            if not each.is_key or not each.pairs or each.pairs[0].num_rows + each.has_missing < 2:
                return False
        one, two = self.pairs[0]["value"], other.pairs[0]["value"]
        return bool(pc.any(pc.is_in(one, value_set=two.combine_chunks())).as_py())


@dataclass(slots=True)
class Persons:
    """The number of rows of each original person in a table, and the first and last day since the person's anchor."""

    counts: Codes
    first: Codes
    last: Codes

    @classmethod
    def of(cls, people: int, beyond: int) -> "Persons":
        """Return the state before any row."""
        return cls(np.zeros(people, dtype=np.int64), np.full(people, beyond), np.full(people, -beyond))

    def add(self, person: Codes, days: Codes | None) -> None:
        """Add some rows."""
        self.counts += np.bincount(person, minlength=len(self.counts))
        if days is not None:
            np.minimum.at(self.first, person, days)
            np.maximum.at(self.last, person, days)


def plain_names(schema: Schema) -> tuple[str, ...]:
    """Return the unmodified columns."""
    return (*schema.sensitive, *schema.insensitive)
