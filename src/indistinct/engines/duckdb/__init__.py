"""The engine for tables larger than memory: DuckDB groups rows and spills to disk, rows are published in partitions."""

import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.engines.base import Sink
from indistinct.engines.duckdb.count import count_source
from indistinct.engines.duckdb.databases import is_database
from indistinct.engines.duckdb.opening import bytes_in_memory, can_open, is_relation, open_duck, open_written
from indistinct.engines.duckdb.source import DuckTable
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


@dataclass(frozen=True, slots=True)
class DuckDB:
    """Counts with DuckDB, and publishes rows that it never has all at once; `memory` bounds what is held, in bytes."""

    memory: int = 1 << 30
    name: str = "duckdb"

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
    def count(self, source: DuckTable, request: Request) -> Counted:
        """Return the cells of a table: one GROUP BY, which spills to disk where it must."""
        began = time.perf_counter()
        enter("counting")
        with unchanged(source.stamps):
            counted, learned = count_source(source, request)
        cells, seconds = counted.frequencies, time.perf_counter() - began
        LOG.info("counted %d rows: %d cells of %d columns; %.3f s", source.rows, len(cells), len(cells.names), seconds)
        source.learned["rows"] = learned
        return counted

    @needs_memory("publishing rows")
    def publish(self, source: DuckTable, assignment: Assignment, sink: Sink, *, secret: Secret) -> None:
        """Give a sink the published tables, in batches."""
        learned = source.learned.get("rows")
        memory = int(FOR_PARTITION * self.memory)
        with unchanged(source.stamps):
            publish_rows(source, assignment, sink, secret=secret, learned=learned, memory=memory)
