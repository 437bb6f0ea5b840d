"""The engine for clusters: Spark groups rows, and its workers publish them, each a part of the classes."""

import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from indistinct.engines import groups
from indistinct.engines.base import EVERY_RECODING, Sink
from indistinct.engines.finding import Learned
from indistinct.engines.spark.publish import publish_frame
from indistinct.engines.spark.session import session_for
from indistinct.engines.spark.source import SparkTable, is_spark_frame, open_folder, open_spark, parquet_files
from indistinct.frequencies.count import Counted, Request
from indistinct.machine.memory import needs_memory
from indistinct.machine.randomness import Secret
from indistinct.recoding.outputs import Assignment
from indistinct.tables import Reading

__all__ = ["Spark"]

LOG = logging.getLogger("indistinct.count")


@dataclass(frozen=True, slots=True)
class Spark:
    """Counts and publishes on the cluster of a running session, or of a local one that it starts.

    `memory` bounds what the driver of a local one takes, in bytes; a running session has its own limits.
    """

    supports: ClassVar[frozenset[str]] = EVERY_RECODING

    memory: int | None = None
    name: str = "spark"

    def open(self, source: Any, reading: Reading) -> SparkTable | None:
        """Return a source of a frame or of Parquet files, None for anything else."""
        return open_spark(source, reading, memory=self.memory)

    def owns(self, source: Any) -> bool:
        """Return whether a source lives in Spark."""
        return isinstance(source, SparkTable) or is_spark_frame(source)

    def can_open(self, source: Any) -> bool:
        """Return whether a source is of a kind that this engine reads where it lies."""
        return self.owns(source) or bool(parquet_files(source))

    def cells_beyond_memory(self, source: Any, request: Request) -> None:
        """Return None: there are no passes over the rows of a cluster."""

    def size_of(self, source: Any) -> int:
        """Return 0: what lives on a cluster is never read into memory."""
        return 0

    def written(self, file: Path, *, name: Path, schema: pa.Schema) -> SparkTable | None:
        """Return what was just written, read back by Spark; None for a single file, which everybody reads."""
        return open_folder(file, session_for(self.memory), schema) if file.is_dir() else None

    @needs_memory("counting cells")
    def count(self, source: SparkTable, request: Request) -> Counted:
        """Return the cells of a table: its groups, collected once."""
        began = time.perf_counter()
        counted, learned = count_source(source, request)
        cells, seconds = counted.frequencies, time.perf_counter() - began
        LOG.info("counted %d rows: %d cells of %d columns; %.3f s", source.rows, len(cells), len(cells.names), seconds)
        source.learned["rows"] = learned
        return counted

    @needs_memory("publishing rows")
    def publish(self, source: SparkTable, assignment: Assignment, sink: Sink, *, secret: Secret) -> None:
        """Give a sink the published tables; one that takes folders lets workers write them."""
        publish_frame(source, assignment, sink, secret=secret, learned=source.learned.get("rows"))


def count_source(source: SparkTable, request: Request) -> tuple[Counted, Learned | None]:
    """Return what was asked for, and how rows find their cell again."""
    others = request.population
    population = others.groups if isinstance(others, SparkTable) else None
    return groups.count_source(source, request, population=population, what="frame")
