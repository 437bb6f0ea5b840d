"""The engine for clusters: Spark groups rows, and its workers publish them, each a part of the classes."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from indistinct.engines import groups
from indistinct.engines.base import BY_PART, EVERY_RECODING, BeyondMemory, Sink, log_counted
from indistinct.engines.passes import Room
from indistinct.engines.spark.passes import SparkTablePasses, estimate_distinct, open_folder
from indistinct.engines.spark.publish import MAX_ROWS, publish_frame
from indistinct.engines.spark.sampling import draw_frame
from indistinct.engines.spark.session import driver_bytes, most_bytes, session_for
from indistinct.engines.spark.source import (
    SparkTable,
    bytes_of_groups,
    open_spark,
)
from indistinct.frequencies.count import Counted, Request, RowIndex
from indistinct.machine.memory import needs_memory
from indistinct.machine.randomness import Secret
from indistinct.machine.stages import enter
from indistinct.recoding.outputs import Assignment
from indistinct.tables.several import require_unchanged
from indistinct.tables.value import Reading

__all__ = ["Spark"]

# NUMBERS: distinct values up to which all numbers of a column are known; beyond, keys are used. VALUE, LABEL: bytes of
# the driver's memory for each known text, and for each published value of a class.
NUMBERS, VALUE, LABEL = 1 << 16, 256, 310


@dataclass(frozen=True, slots=True)
class Spark:
    """Counts and publishes on the cluster of a running session, or of a local one that it starts.

    `memory` bounds what the driver of a local one takes, in bytes; a running session has its own limits. `room` says
    how much is held at once of a table whose cells do not fit; without it that follows from the driver's memory.
    """

    supports: ClassVar[frozenset[str]] = EVERY_RECODING | {BY_PART}
    writes_by_workers: ClassVar[bool] = True

    memory: int | None = None
    name: str = "spark"
    room: Room | None = None

    def open(self, source: Any, reading: Reading) -> SparkTable | None:
        """Return a source of a frame or of Parquet files, None for anything else."""
        return open_spark(source, reading, memory=self.memory)

    @needs_memory("counting cells")
    def cells_beyond_memory(self, source: SparkTable, request: Request) -> BeyondMemory | None:
        """Return how many combinations there are if the driver could not take them; small tables are not looked at.

        Published classes were counted before.
        """
        wanted = [*request.quasi, *(name for key in request.keys for name in key), *request.person]
        columns = tuple(name for name in dict.fromkeys(wanted) if name in source.columns)
        most = source.most_groups(columns) if self.room is None else self.room.cells
        if request.published or not request.quasi or source.rows <= most:
            return None
        enter("counting")
        known = source.estimates
        if columns not in known:
            known[columns] = estimate_distinct(source, columns)
        cells, values = known[columns]
        if cells <= most:
            return None
        widest = dict(sorted(values.items(), key=lambda each: -each[1])[:3])
        passes = self.passes(source, len(request.quasi))
        return BeyondMemory(cells, bytes_of_groups(cells, columns), most_bytes(source.session), widest, passes)

    def passes(self, source: SparkTable, columns: int) -> SparkTablePasses:
        """Return passes over the rows of a table with this number of quasi-identifiers."""
        return SparkTablePasses(source, self.room or _room(source, columns))

    def written(self, file: Path, *, name: Path, schema: pa.Schema) -> SparkTable | None:
        """Open a staged release in Spark; None for a single file, which the caller reads."""
        return open_folder(file, session_for(self.memory), schema) if file.is_dir() else None

    @needs_memory("drawing a sample")
    def draw(self, source: SparkTable, share: float, *, person: Sequence[str]) -> SparkTable:
        """Return a sample that workers hold until it is closed."""
        return draw_frame(source, share, person=person)

    @needs_memory("counting cells")
    def count(self, source: SparkTable, request: Request) -> Counted:
        """Return the cells of a table: its groups, collected once."""
        began = time.perf_counter()
        if not request.published:
            enter("counting")
        with require_unchanged(source.stamps):
            counted = groups.count_source(source, request, what="frame")
        return log_counted(counted, rows=source.rows, began=began)

    @needs_memory("publishing rows")
    def publish(
        self,
        source: SparkTable,
        assignment: Assignment,
        sink: Sink,
        *,
        secret: Secret,
        row_index: RowIndex | None = None,
    ) -> None:
        """Give a sink the published tables; one that takes folders lets workers write them."""
        with require_unchanged(source.stamps):
            publish_frame(source, assignment, sink, secret=secret, row_index=row_index)


def _room(source: SparkTable, columns: int) -> Room:
    """Return memory limits: rows of a part for a worker, values and classes for the driver."""
    whole = driver_bytes(source.session)
    return Room(MAX_ROWS, NUMBERS, whole // VALUE, whole // (LABEL * columns))
