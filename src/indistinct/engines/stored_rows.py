"""Rows that wait on disk for being published, in partitions; one at a time is in memory.

They lie in a file without a name: whatever becomes of the run, nothing is left of them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import IO

import numpy as np
import pyarrow as pa

from indistinct.machine.arrays import Codes, narrowest, starts_of
from indistinct.machine.spill import disk_errors, nameless_file

# Columns that travel with rows; no column of a table begins so.
GROUP, CELL = "\0group", "\0cell"
# A dictionary of more values is written out: it would be repeated in every piece of every partition.
FEW_VALUES = 1000
MAX_PARTITIONS = 4096
# Rows are collected until each partition gets about this number at a time, as far as memory allows.
ROWS_OF_A_PIECE = 4096

Words = Callable[[pa.Table], Codes]
"""What gives every row of a table 32 bits, by which the rows of one large group are dealt to several partitions."""


def take_rows(table: pa.Table, positions: Codes) -> pa.Table:
    """Return some rows of a table; Arrow's own `take` forgets their number where the table has no columns."""
    return table.take(pa.array(positions)) if table.num_columns else table.slice(0, len(positions))


@dataclass(frozen=True, slots=True, eq=False)
class PartitionBounds:
    """Where partitions begin and end: run `i` has the groups from `ends[i]` to before `ends[i + 1]`.

    It is one partition, or where it is one large group `parts[i]` of them; the first has the number `firsts[i]`.
    """

    ends: Codes
    parts: Codes
    firsts: Codes

    @classmethod
    def of(cls, starts: Codes, limit: int, *, divisible: bool) -> "PartitionBounds":
        """Return cuts after about `limit` rows; a larger group is divided where that is possible."""
        rows, sizes = int(starts[-1]), np.diff(starts)
        wanted = min(-(-rows // limit), MAX_PARTITIONS)
        limit = max(limit, -(-rows // MAX_PARTITIONS))
        middle = np.searchsorted(starts, np.linspace(0, rows, wanted + 1)[1:-1])
        large = np.flatnonzero(sizes > limit) if divisible else np.zeros(0, dtype=np.int64)
        ends = np.unique(np.concatenate([[0], middle, large, large + 1, [len(sizes)]])).astype(np.int64)
        parts = np.ones(len(ends) - 1, dtype=np.int64)
        parts[np.searchsorted(ends, large)] = -(-sizes[large] // limit)
        return cls(ends, parts, starts_of(parts))

    def __len__(self) -> int:
        return int(self.firsts[-1])


@dataclass(slots=True)
class Partitions:
    """Rows by runs of groups, on disk or, where one partition holds them all, in memory.

    Group `i` has rows `starts[i]:starts[i + 1]` of all. Cuts that are not given are decided by the first batch, which
    tells how many bytes a row takes, with those `beside` it that come when it is published, so that a partition takes
    about `memory`.
    A group that is larger is dealt out by `words`, if they are given: each row goes to the part of the group in which
    its word lies, so that parts follow each other as words do. With random words, rows in a random order inside every
    part are in a random order altogether.
    """

    starts: Codes
    memory: int
    words: Words | None = None
    beside: float = 0.0
    cuts: PartitionBounds | None = None
    kinds: pa.Schema | None = None
    waiting: list[pa.Table] = field(default_factory=list)
    numbers: list[Codes] = field(default_factory=list)
    run_of_group: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.uint16))
    file: IO[bytes] | None = None
    pieces: list[list[tuple[int, int]]] = field(default_factory=list)

    def add(self, table: pa.Table, groups: Codes, cells: Codes | None) -> None:
        """Take rows, given the group of each and, where it must travel with them, the cell."""
        with_group = table.append_column(GROUP, pa.array(groups, pa.int32()))
        whole = with_group if cells is None else with_group.append_column(CELL, pa.array(cells, pa.int32()))
        if self.kinds is None:
            self.kinds = pa.schema([pa.field(name, _travelling(whole[name])) for name in whole.column_names])
        if not len(whole):
            return
        cuts = self.cuts if self.cuts is not None and self.pieces else self._begin(whole)
        columns = [_cast(whole[each.name], each.type) for each in self.kinds]
        self.waiting.append(pa.table(columns, schema=self.kinds))
        if len(cuts) == 1:
            return
        runs = self.run_of_group[groups]
        numbers = cuts.firsts[runs].astype(narrowest(len(cuts)))
        dealt = np.flatnonzero(cuts.parts[runs] > 1)
        if len(dealt) and self.words is not None:
            words = self.words(table if len(dealt) == len(table) else take_rows(table, dealt)).astype(np.uint64)
            numbers[dealt] += (words * cuts.parts[runs[dealt]].astype(np.uint64) >> np.uint64(32)).astype(numbers.dtype)
        self.numbers.append(numbers)
        rows, size = sum(map(len, self.waiting)), sum(each.nbytes for each in self.waiting)
        if rows >= ROWS_OF_A_PIECE * len(cuts) or size >= self.memory // 2:
            self._write()

    def _begin(self, table: pa.Table) -> PartitionBounds:
        """Divide groups into partitions by the width of the first rows."""
        if self.cuts is None:
            size = max(table.nbytes / len(table) + self.beside, 16.0)
            limit = max(int(self.memory / size), 1)
            self.cuts = PartitionBounds.of(self.starts, limit, divisible=self.words is not None)
        self.run_of_group = np.repeat(
            np.arange(len(self.cuts.ends) - 1, dtype=narrowest(len(self.cuts.ends))), np.diff(self.cuts.ends)
        )
        self.pieces = [[] for _ in range(len(self.cuts))]
        return self.cuts

    def _write(self) -> None:
        """Write the waiting rows by partition, and note the position of each piece."""
        if not self.waiting:
            return
        table, numbers = pa.concat_tables(self.waiting), np.concatenate(self.numbers)
        self.waiting, self.numbers = [], []
        order = np.argsort(numbers, kind="stable")  # narrow numbers: radix sort
        table = table.take(pa.array(order))
        ends = starts_of(np.bincount(numbers, minlength=len(self.pieces)))
        file = self.file = self.file or nameless_file()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        begin, buffer = file.tell(), pa.BufferOutputStream()
        for number in np.flatnonzero(np.diff(ends)).tolist():
            at = buffer.tell()
            with pa.ipc.new_stream(buffer, table.schema, options=options) as writer:
                writer.write_table(table.slice(ends[number], ends[number + 1] - ends[number]))
            self.pieces[number].append((begin + at, buffer.tell() - at))
        content = memoryview(buffer.getvalue())
        with disk_errors():
            while content:
                content = content[file.write(content) :]

    def read(self) -> Iterator[tuple[int, int, pa.Table]]:
        """Yield every partition: its groups, from the first to behind the last, and its rows.

        Parts of a divided group come one after the other, each with this group.
        """
        if self.kinds is None:
            raise AssertionError("rows are read after some were added")
        if not self.pieces:  # every batch was empty
            ends = [0, len(self.starts) - 1] if self.cuts is None else self.cuts.ends.tolist()
            yield from ((first, last, self.kinds.empty_table()) for first, last in pairwise(ends))
            return
        if self.cuts is None:
            raise AssertionError("rows have partitions")
        if len(self.cuts) == 1:
            yield 0, len(self.starts) - 1, pa.concat_tables(self.waiting)
            return
        self._write()
        for run, first in enumerate(self.cuts.firsts[:-1].tolist()):
            for number in range(first, int(self.cuts.firsts[run + 1])):
                yield int(self.cuts.ends[run]), int(self.cuts.ends[run + 1]), self._partition(self.pieces[number])

    def _partition(self, pieces: Sequence[tuple[int, int]]) -> pa.Table:
        """Read the pieces of a partition."""
        if self.file is None or self.kinds is None:
            raise AssertionError("partitions are read after they were written")
        tables = [self.kinds.empty_table()] if not pieces else []
        for begin, size in pieces:
            self.file.seek(begin)
            tables.append(pa.ipc.open_stream(self.file.read(size)).read_all())
        return pa.concat_tables(tables)

    def close(self) -> None:
        """Close the file, which frees the disk space."""
        if self.file is not None:
            self.file.close()


def _travelling(column: pa.ChunkedArray) -> pa.DataType:
    """Return the type in which a column is stored in partitions: codes if its dictionary is small."""
    if not isinstance(column.type, pa.DictionaryType):
        return column.type
    few = all(len(chunk.dictionary) <= FEW_VALUES for chunk in column.chunks)
    return pa.dictionary(pa.int32(), column.type.value_type) if few else column.type.value_type


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast a column to its stored type; dictionaries with nulls are rebuilt first, because Arrow cannot unify them."""
    if not isinstance(column.type, pa.DictionaryType):
        return column if column.type == kind else column.cast(kind)
    if any(chunk.dictionary.null_count for chunk in column.chunks):
        column = column.cast(column.type.value_type)
        return column.dictionary_encode() if isinstance(kind, pa.DictionaryType) else column
    return column.cast(kind)
