"""The engine for tables that fit in memory: Arrow columns, NumPy and Numba."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from indistinct.engines.base import EVERY_RECODING, DatabaseTable, PublishedFile, Sink, log_counted
from indistinct.engines.memory.count import count_for_publishing
from indistinct.engines.memory.publish import publish_table
from indistinct.engines.memory.sampling import draw_table
from indistinct.frequencies.count import Counted, Request, RowIndex
from indistinct.machine.memory import needs_memory
from indistinct.machine.randomness import Secret
from indistinct.machine.stages import enter
from indistinct.recoding.outputs import Assignment
from indistinct.tables.opening import open_table
from indistinct.tables.value import Reading, Table, is_table

__all__ = ["Memory"]


@dataclass(frozen=True, slots=True)
class Memory:
    """Counts and publishes in this process; `memory` bounds what a file may take that is read, in bytes."""

    supports: ClassVar[frozenset[str]] = EVERY_RECODING
    writes_by_workers: ClassVar[bool] = False

    memory: int | None = None
    name: str = "memory"

    def cells_beyond_memory(self, source: Any, request: Request) -> None:
        """Return None: a table that is in memory leaves room for its cells, or counting says that it does not."""

    def open(self, source: Any, reading: Reading) -> Table | None:
        """Return the table at a path or in a frame."""
        if isinstance(source, DatabaseTable):
            return None
        if isinstance(source, PublishedFile):
            return open_table(source.place, reading=reading, published=True, memory=self.memory)
        return open_table(source, reading=None if is_table(source) else reading, memory=self.memory)

    @needs_memory("drawing a sample")
    def draw(self, source: Table, share: float, *, person: Sequence[str]) -> Table:
        """Return a table of the rows that were drawn."""
        return draw_table(source, share, person=person)

    @needs_memory("counting cells")
    def count(self, source: Table, request: Request) -> Counted:
        """Return the cells of a table, with the rows behind them."""
        began = time.perf_counter()
        enter("counting")
        counted = count_for_publishing(source, request)
        return log_counted(counted, rows=source.rows, began=began)

    def written(self, file: Path, *, name: Path, schema: pa.Schema) -> Table | None:
        """Return None: what memory wrote is read back into memory."""
        return None

    @needs_memory("publishing rows")
    def publish(
        self, source: Table, assignment: Assignment, sink: Sink, *, secret: Secret, row_index: RowIndex | None = None
    ) -> None:
        """Give a sink the published tables."""
        publish_table(source, assignment, sink, secret=secret, row_index=row_index)
