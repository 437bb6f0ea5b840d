"""The engine for tables larger than memory: DuckDB groups rows and spills to disk, rows are published in partitions."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from indistinct.engines import groups
from indistinct.engines.base import BY_PART, EVERY_RECODING, BeyondMemory, Sink, log_counted
from indistinct.engines.duckdb.opening import draw_duck, open_duck, open_written
from indistinct.engines.duckdb.source import SOURCE, DuckTable, own_words, quote_name
from indistinct.engines.partitions import publish_rows
from indistinct.engines.passes import Room, RowPasses, TablePasses
from indistinct.frequencies.count import Counted, Request, RowIndex
from indistinct.machine.memory import give_memory_back, needs_memory
from indistinct.machine.randomness import Secret
from indistinct.machine.stages import enter
from indistinct.recoding.outputs import Assignment
from indistinct.tables.several import require_unchanged
from indistinct.tables.value import Reading

__all__ = ["DuckDB"]

# Memory shares of DuckDB and of a shuffle partition.
FOR_DUCKDB, FOR_PARTITION = 0.3, 0.05
# Memory share of cells; bytes of a cell, of a cell per column, and of a distinct value.
FOR_CELLS, CELL, FIELD, VALUE = 0.55, 32, 10, 64
# Memory share of a part of a search by passes, and bytes per row and per column there.
FOR_PART, ROW, KEY = 0.09, 100, 25
# Memory of a run with many classes: its peak as a multiple of `memory`, bytes of libraries, bytes of each value of each
# class, measured while the written file is verified, and the share that classes may always take.
AT_PEAK, LIBRARIES, LABEL, FOR_CLASSES = 1.45, 400_000_000, 310, 0.6
# Number of distinct values up to which all numbers of a column are known; beyond it keys are used.
NUMBERS = 1 << 16


@dataclass(frozen=True, slots=True)
class DuckDB:
    """Counts with DuckDB, and publishes rows that it never has all at once; `memory` bounds what is held, in bytes.

    `room` says how much is held at once of a table whose cells do not fit; without it that follows from `memory`.
    """

    supports: ClassVar[frozenset[str]] = EVERY_RECODING | {BY_PART}
    writes_by_workers: ClassVar[bool] = False

    memory: int = 1 << 30
    name: str = "duckdb"
    room: Room | None = None

    @own_words
    def open(self, source: Any, reading: Reading) -> DuckTable | None:
        """Return files, a relation, a table of a database or a table in memory as a source, None for anything else."""
        return open_duck(source, reading, memory=int(FOR_DUCKDB * self.memory))

    @property
    def waiting(self) -> int:
        """Return how many bytes rows may take that wait for being published."""
        return int(FOR_PARTITION * self.memory)

    def written(self, file: Path, *, name: Path, schema: pa.Schema) -> DuckTable:
        """Open a staged file of a release as a source of this engine."""
        return open_written(file, name, schema, memory=int(FOR_DUCKDB * self.memory))

    @needs_memory("drawing a sample")
    @own_words
    def draw(self, source: DuckTable, share: float, *, person: Sequence[str]) -> DuckTable:
        """Return a sample in a file without a name, which is gone when the table is."""
        return draw_duck(source, share, person=person, memory=int(FOR_DUCKDB * self.memory))

    @needs_memory("counting cells")
    @own_words
    def count(self, source: DuckTable, request: Request) -> Counted:
        """Return the cells of a table: one GROUP BY, which spills to disk where it must."""
        began = time.perf_counter()
        enter("counting")
        beyond = self.cells_beyond_memory(source, request)
        if beyond is not None:
            raise beyond.error()
        give_memory_back(source.rows)
        with require_unchanged(source.stamps):
            counted = groups.count_source(source, request, what="file")
        give_memory_back(source.rows)
        return log_counted(counted, rows=source.rows, began=began)

    @needs_memory("counting cells")
    @own_words
    def cells_beyond_memory(self, source: DuckTable, request: Request) -> BeyondMemory | None:
        """Return how many cells there are if they would not fit; tables that are too small for that are not looked at.

        Published classes were counted before.
        """
        columns = tuple(name for name in request.quasi if name in source.columns)
        allowed, one = int(FOR_CELLS * self.memory), CELL + FIELD * len(columns)
        possible = source.rows * (one + VALUE * len(columns))
        if request.published or not columns or (possible <= allowed and self.room is None):
            return None
        enter("counting")
        known = source.estimates
        if columns not in known:  # a search looks before it counts
            known[columns] = estimated_values(source, columns)
        cells, values = known[columns]
        needed = cells * one + VALUE * sum(values.values())
        if needed <= allowed and (self.room is None or cells <= self.room.cells):
            return None
        widest = dict(sorted(values.items(), key=lambda each: -each[1])[:3])
        return BeyondMemory(cells, needed, allowed, widest, self.passes(source, len(columns)))

    def passes(self, source: DuckTable, columns: int) -> TablePasses:
        """Return passes over the rows of a table with this number of quasi-identifiers."""
        return RowPasses(source, self.room or self._room(columns))

    def _room(self, columns: int) -> Room:
        """Return how many rows are held at once of a table with this number of quasi-identifiers."""
        rows = int(FOR_PART * self.memory / (ROW + KEY * columns))
        classes = int(max(AT_PEAK * self.memory - LIBRARIES, FOR_CLASSES * self.memory) / (LABEL * columns))
        return Room(rows, min(rows, NUMBERS), rows, classes, self.waiting)

    @needs_memory("publishing rows")
    @own_words
    def publish(
        self,
        source: DuckTable,
        assignment: Assignment,
        sink: Sink,
        *,
        secret: Secret,
        row_index: RowIndex | None = None,
    ) -> None:
        """Give a sink the published tables, in batches."""
        memory = self.waiting
        give_memory_back(source.rows)
        with require_unchanged(source.stamps):
            publish_rows(source, assignment, sink, secret=secret, row_index=row_index, memory=memory)
        give_memory_back(source.rows)


def estimated_values(source: DuckTable, columns: Sequence[str]) -> tuple[int, dict[str, int]]:
    """Return how many combinations of values some columns have, and how many values each of them, about.

    Where DuckDB has too little memory to say, every row may have its own.
    """
    import duckdb

    names = [quote_name(name) for name in columns]
    asked = [f"hash({', '.join(names)})", *names]
    counts = ", ".join(f"approx_count_distinct({each})" for each in asked)
    try:
        row = source.query(f"SELECT {counts} FROM {SOURCE}").fetchall()[0]  # noqa: S608
    except duckdb.OutOfMemoryException:
        row = (source.rows,) * len(asked)
    cells, *values = (min(int(count), source.rows) for count in row)
    return cells, dict(zip(columns, values, strict=True))
