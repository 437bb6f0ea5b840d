"""The engine for tables larger than memory: DuckDB groups rows and spills to disk, rows are published in partitions."""

import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from indistinct.engines.base import EVERY_RECODING, Sink
from indistinct.engines.duckdb.count import count_source, estimated_values
from indistinct.engines.duckdb.databases import is_database
from indistinct.engines.duckdb.failures import own_words
from indistinct.engines.duckdb.opening import bytes_in_memory, can_open, is_relation, open_duck, open_written
from indistinct.engines.duckdb.source import DuckTable
from indistinct.engines.levels import CellsBeyondMemoryError, Levels, Room
from indistinct.engines.partitions import publish_rows
from indistinct.frequencies.count import Counted
from indistinct.frequencies.request import Request
from indistinct.memory import needs_memory
from indistinct.randomness import Secret
from indistinct.recoding.outputs import Assignment
from indistinct.stages import enter
from indistinct.tables import Reading
from indistinct.tables.several import unchanged

__all__ = ["DuckDB"]

LOG = logging.getLogger("indistinct.count")
# Of the memory that a run may take, DuckDB has so much, and a partition of rows that is being shuffled so much.
FOR_DUCKDB, FOR_PARTITION = 0.3, 0.05
# Cells may take so much of it; what a cell takes, what it takes for every column, and what a distinct value takes.
FOR_CELLS, CELL, FIELD, VALUE = 0.55, 32, 10, 64
# A part of a search by levels may take so much of it, and a row there so many bytes, and so many for every column.
FOR_PART, ROW, KEY = 0.25, 100, 25
# Values of the classes of a release may take so much, and each of them so many bytes.
FOR_CLASSES, LABEL = 0.6, 300
# Numbers of a column are all known up to so many, and go by keys beyond.
NUMBERS = 1 << 16


@dataclass(frozen=True, slots=True)
class DuckDB:
    """Counts with DuckDB, and publishes rows that it never has all at once; `memory` bounds what is held, in bytes.

    `room` says how much is held at once of a table whose cells do not fit; without it that follows from `memory`.
    """

    supports: ClassVar[frozenset[str]] = EVERY_RECODING

    memory: int = 1 << 30
    name: str = "duckdb"
    room: Room | None = None

    def open(self, source: Any, reading: Reading) -> DuckTable | None:
        """Return files, a relation, a table of a database or a table in memory as a source, None for anything else."""
        return open_duck(source, reading, memory=int(FOR_DUCKDB * self.memory))

    def owns(self, source: Any) -> bool:
        """Return whether a source lives in DuckDB."""
        return isinstance(source, DuckTable) or is_relation(source) or is_database(source)

    def can_open(self, source: Any) -> bool:
        """Return whether a source is of a kind that this engine reads where it lies."""
        return self.owns(source) or can_open(source)

    def size_of(self, source: Any) -> int:
        """Return how many bytes a source would take in memory, about."""
        return 0 if self.owns(source) else bytes_in_memory(source)

    def written(self, file: Path, *, name: Path, schema: pa.Schema) -> DuckTable:
        """Return a file that was just written, read where it lies."""
        return open_written(file, name, schema, memory=int(FOR_DUCKDB * self.memory))

    @needs_memory("counting cells")
    @own_words
    def count(self, source: DuckTable, request: Request) -> Counted:
        """Return the cells of a table: one GROUP BY, which spills to disk where it must."""
        began = time.perf_counter()
        enter("counting")
        self._require_room(source, request)
        with unchanged(source.stamps):
            counted, learned = count_source(source, request)
        cells, seconds = counted.frequencies, time.perf_counter() - began
        LOG.info("counted %d rows: %d cells of %d columns; %.3f s", source.rows, len(cells), len(cells.names), seconds)
        source.learned["rows"] = learned
        return counted

    def _require_room(self, source: DuckTable, request: Request) -> None:
        """Raise if there are so many cells that they would not fit; tables that are too small for that are not asked.

        Published classes were counted before.
        """
        columns = tuple(name for name in request.quasi if name in source.columns)
        allowed, one = int(FOR_CELLS * self.memory), CELL + FIELD * len(columns)
        possible = source.rows * (one + VALUE * len(columns))
        if request.published or not columns or (possible <= allowed and self.room is None):
            return
        cells, values = estimated_values(source, columns)
        needed = cells * one + VALUE * sum(values.values())
        if needed <= allowed and (self.room is None or cells <= self.room.cells):
            return
        widest = dict(sorted(values.items(), key=lambda each: -each[1])[:3])
        levels = Levels(source, self.room or self._room(len(columns)), source.learned)
        raise CellsBeyondMemoryError(cells, needed, allowed, widest=widest, levels=levels)

    def _room(self, columns: int) -> Room:
        """Return how much is held at once of a table with so many quasi-identifiers."""
        rows = int(FOR_PART * self.memory / (ROW + KEY * columns))
        classes = int(FOR_CLASSES * self.memory / (LABEL * columns))
        return Room(rows, min(rows, NUMBERS), rows, classes)

    @needs_memory("publishing rows")
    @own_words
    def publish(self, source: DuckTable, assignment: Assignment, sink: Sink, *, secret: Secret) -> None:
        """Give a sink the published tables, in batches."""
        learned = source.learned.get("rows")
        memory = int(FOR_PARTITION * self.memory)
        with unchanged(source.stamps):
            publish_rows(source, assignment, sink, secret=secret, learned=learned, memory=memory)
