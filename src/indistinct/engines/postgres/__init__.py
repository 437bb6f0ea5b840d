"""The engine for tables of a PostgreSQL database, over ADBC: cells are counted there, rows come and go by COPY."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from indistinct.engines import groups
from indistinct.engines.base import EVERY_RECODING, Sink, Source, home_of, log_counted, require_table
from indistinct.engines.groups import Fetch, ValueGroups
from indistinct.engines.memory.count import count_for_publishing
from indistinct.engines.memory.publish import publish_table
from indistinct.engines.memory.sampling import draw_table
from indistinct.engines.partitions import publish_rows
from indistinct.engines.postgres.source import PostgresTable, open_database
from indistinct.frequencies.count import Counted, Request, RowIndex
from indistinct.frequencies.value import PERSON
from indistinct.machine.memory import needs_memory
from indistinct.machine.randomness import Secret
from indistinct.machine.stages import enter
from indistinct.recoding.outputs import Assignment
from indistinct.tables.opening import open_table
from indistinct.tables.value import Reading, Table, is_table

__all__ = ["Postgres"]

# Memory shares of a shuffle partition, of rows kept from counting to publishing, and of a sample, which is stored
# nowhere else.
FOR_PARTITION, FOR_ROWS, FOR_SAMPLE = 0.1, 0.1, 0.4


@dataclass(frozen=True, slots=True)
class Postgres:
    """Counts in the database, and publishes rows that it never has all at once; `memory` bounds those, in bytes.

    A table that is in memory already, such as a release that was not written, is counted there.
    """

    supports: ClassVar[frozenset[str]] = EVERY_RECODING
    writes_by_workers: ClassVar[bool] = False

    memory: int = 1 << 30
    name: str = "postgres"

    def open(self, source: Any, reading: Reading) -> Source | None:
        """Return a table of a database, or one in memory; None for anything else."""
        require_table(source)
        if isinstance(source, PostgresTable):
            return source
        if is_table(source) or isinstance(source, pa.Table):
            return open_table(source, reading=None if is_table(source) else reading)
        return open_database(source, reading) if home_of(source) == "postgres" else None

    def cells_beyond_memory(self, source: Any, request: Request) -> None:
        """Return None: there are no passes over the rows of a database."""

    def written(self, file: Path, *, name: Path, schema: pa.Schema) -> Source | None:
        """Return None: PostgreSQL does not read files, so that the caller reads the file itself."""
        return None

    @needs_memory("drawing a sample")
    def draw(self, source: PostgresTable | Table, share: float, *, person: Sequence[str]) -> Source:
        """Return a sample that this process holds."""
        if not isinstance(source, PostgresTable):
            return draw_table(source, share, person=person)
        return source.draw(share, person=person, most=int(FOR_SAMPLE * self.memory))

    @needs_memory("counting cells")
    def count(self, source: PostgresTable | Table, request: Request) -> Counted:
        """Return the cells of a table: one GROUP BY in the database, or of its rows where these can be held.

        Rows that are published afterwards and fit are read once, in codes: the database need not group them as well.
        """
        if not isinstance(source, PostgresTable):
            return count_for_publishing(source, request)
        began = time.perf_counter()
        enter("counting")
        if request.to_publish:
            source.hold(_columns_of(request), int(FOR_ROWS * self.memory))
        counted = groups.count_source(source, request, what="table", population=_population(request.population))
        return log_counted(counted, rows=source.rows, began=began)

    @needs_memory("publishing rows")
    def publish(
        self,
        source: PostgresTable | Table,
        assignment: Assignment,
        sink: Sink,
        *,
        secret: Secret,
        row_index: RowIndex | None = None,
    ) -> None:
        """Give a sink the published tables, in batches."""
        if not isinstance(source, PostgresTable):
            publish_table(source, assignment, sink, secret=secret, row_index=row_index)
            return
        publish_rows(
            source, assignment, sink, secret=secret, row_index=row_index, memory=int(FOR_PARTITION * self.memory)
        )
        source.held.clear()


def _columns_of(request: Request) -> tuple[str, ...]:
    """Return the columns that counting and publishing read together."""
    keyed = [name for key in request.keys for name in key if name != PERSON]
    return tuple(dict.fromkeys([*request.quasi, *keyed, *request.person, *request.to_publish]))


def _population(source: object) -> Fetch | None:
    """Return the function that fetches groups of a population, from a database or from a table in memory."""
    if isinstance(source, PostgresTable):
        return source.groups
    if not is_table(source):
        return None
    data = source.data

    def rows(columns: Sequence[str]) -> ValueGroups:
        there = [name for name in columns if name in data.column_names]
        return ValueGroups(data.select(there), np.ones(data.num_rows, dtype=np.int64))

    return rows
