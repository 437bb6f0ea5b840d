"""Event tables that are read in blocks, as often as needed: who each row is about, and what the whole table tells.

Parquet and delimited text are never held whole, where DuckDB is installed; tables of other formats, and frames, are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any
from weakref import finalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.base import is_read_in_place
from indistinct.engines.duckdb.opening import open_duck
from indistinct.machine.arrays import Codes
from indistinct.machine.spill import disk_errors, nameless_file
from indistinct.schema import Schema
from indistinct.tables import open_table
from indistinct.tables.addresses import named_as_given
from indistinct.tables.domain import Kind, kind_of, plain_column
from indistinct.tables.inference import are_dates
from indistinct.tables.several import Stamp
from indistinct.tables.snapshots import settle_snapshot
from indistinct.tables.value import Reading

BLOCK_ROWS = 1 << 20
"""Upper limit of the rows of a block."""
STREAM_MEMORY = 1 << 30
"""Bytes that DuckDB may take at most while it reads a table."""
PAIRS_TOGETHER = 1 << 22
"""Number of pairs of value and person that are collected before they are reduced to distinct ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """A table that is read in blocks: its types, its number of rows, and a function that yields some of its columns."""

    schema: pa.Schema
    rows: int
    read: Callable[[Sequence[str]], Iterator[pa.Table]]
    stamps: tuple[Stamp, ...] = ()


def open_stream(source: Any, reading: Reading, *, memory: int = STREAM_MEMORY) -> Stream:
    """Return a table at a path or in a frame as a stream."""
    snapshot, how = settle_snapshot(source, reading)
    if find_spec("duckdb") is not None and is_read_in_place(snapshot):
        with named_as_given():
            table = open_duck(snapshot, how, memory=memory)
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
            dates = _dates_in(block[name])
            if dates is None:
                continue
            if dates:
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
        """Add the key columns and persons of a block of rows."""
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
        """Remove repeated pairs of value and person, and check whether a value has several persons."""
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


@dataclass(slots=True)
class BlockValues:
    """The distinct values of a column that comes in blocks, missing included."""

    name: str
    parts: list[pa.Array] = field(default_factory=list)
    waiting: int = 0

    def add(self, column: pa.ChunkedArray) -> None:
        """Add some rows."""
        plain = plain_column(self.name, column)
        if isinstance(plain.type, pa.DictionaryType):
            plain = plain.cast(plain.type.value_type)
        self.parts.append(pc.unique(plain))
        self.waiting += len(self.parts[-1])
        if self.waiting > PAIRS_TOGETHER:
            self.parts = [pc.unique(pa.chunked_array(self.parts))]
            self.waiting = 0

    @property
    def column(self) -> pa.ChunkedArray:
        """Return each value once, or a few times."""
        return pa.chunked_array(self.parts)


class RowFile:
    """Rows in a file without a name, in blocks of one schema; it is gone when nothing refers to it any more."""

    def __init__(self) -> None:
        self.file = nameless_file()
        finalize(self, self.file.close)
        self.blocks: list[tuple[int, int]] = []
        self.schema: pa.Schema | None = None
        self.rows = 0

    def add(self, table: pa.Table) -> None:
        """Write some rows; texts lose their dictionaries."""
        plain = pa.schema([(each.name, getattr(each.type, "value_type", each.type)) for each in table.schema])
        self.schema = self.schema or plain
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(sink, self.schema, options=options) as writer:
            writer.write_table(table.cast(self.schema))
        content = memoryview(sink.getvalue())
        self.blocks.append((self.file.tell(), len(content)))
        self.rows += table.num_rows
        with disk_errors():
            while content:
                content = content[self.file.write(content) :]

    def stream(self) -> Stream:
        """Return all rows, once they are written, as a stream."""
        if self.schema is None:
            raise AssertionError("rows are read after some were added")
        return Stream(self.schema, self.rows, self._read)

    def _read(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield some columns of the stored rows."""
        if self.schema is None:
            raise AssertionError("rows are read after some were added")
        options = pa.ipc.IpcReadOptions(included_fields=sorted(self.schema.get_field_index(name) for name in names))
        for begin, size in self.blocks:
            self.file.seek(begin)
            with pa.ipc.open_stream(self.file.read(size), options=options) as reader:
                yield reader.read_all()


def plain_names(schema: Schema) -> tuple[str, ...]:
    """Return the unmodified columns."""
    return (*schema.sensitive, *schema.insensitive)
