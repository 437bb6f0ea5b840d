"""Publishing part by part: rows go to their part, a part is finished by itself, and finished parts are merged.

What is in memory at once is a part and what merging needs, however many rows, cells or classes a table has.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from indistinct.engines.base import Sink
from indistinct.engines.class_runs import ClassRuns
from indistinct.engines.memory.publish import FIRST_SLICE, content_words, gather_columns, taken
from indistinct.engines.partitions import Rows, of_one_schema
from indistinct.engines.stored_rows import GROUP, Partitions
from indistinct.frequencies.passes import KeyColumn, KeyTree, key_matrix
from indistinct.machine.arrays import Codes, row_numbers, starts_of
from indistinct.machine.memory import give_memory_back
from indistinct.machine.randomness import Secret
from indistinct.machine.threads import workers
from indistinct.recoding.class_rows import ClassRows
from indistinct.recoding.outputs import MAIN

LOG = logging.getLogger("indistinct.parts")
# The column with a word for the content of a row, where a secret is fixed; no column of a table begins so.
CONTENT = "\0content"
# Rows that are published together at most, and bytes that a row of them takes about with all that is made of it.
BLOCK, WIDTH = 1 << 18, 1 << 10


class Finished(Protocol):
    """A part that is finished."""

    @property
    def classes(self) -> ClassRows:
        """Return its classes with their rows."""

    @property
    def summary(self) -> Any:
        """Return its summary."""


Finish = Callable[[int, pa.Table], Any]
"""What finishes a part, given its number and its rows."""
Keep = Callable[[Any], None]
"""What takes the summary of every finished part, in their order."""


@dataclass(frozen=True, slots=True, eq=False)
class Parting:
    """How rows find their part: a tree of cuts over keys of some columns, whose leaves have `sizes` rows.

    `read` are the columns that a part needs, and `contents` those that the order under a fixed secret goes by.
    """

    tree: KeyTree
    columns: tuple[KeyColumn, ...]
    sizes: Codes
    read: tuple[str, ...]
    contents: tuple[str, ...]

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the columns that are read of the table."""
        return tuple(dict.fromkeys([*(column.name for column in self.columns), *self.read, *self.contents]))

    def deal(self, batch: pa.Table, secret: Secret) -> tuple[pa.Table, Codes]:
        """Return the columns that a part needs of each row, and the number of the part that the row belongs to."""
        owners = self.tree.parts_of(key_matrix(batch, self.columns, range(len(self.columns))))
        words = content_words(batch, self.contents, secret)
        rows = batch.select(list(self.read))
        return (rows if words is None else rows.append_column(CONTENT, pa.array(words))), owners


def publish_parts(
    source: Rows,
    parting: Parting,
    finish: Finish,
    keep: Keep,
    done: Callable[[], None],
    sink: Sink,
    *,
    secret: Secret,
    memory: int,
) -> None:
    """Finish a release part by part and write its table to `sink`.

    `keep` gets the summary of each part; `done` is called after the last one and before anything is written. Rows that
    wait take at most `memory` bytes.
    """
    with closing(ClassRuns()) as runs:
        with closing(Partitions(starts_of(parting.sizes), memory)) as partitions:
            _deal_rows(source, parting, partitions, secret)
            began = time.perf_counter()
            for part in _finish_parts(partitions, finish):
                keep(part.summary)
                runs.add(part.classes)
                give_memory_back(int(parting.sizes.sum()))
            LOG.info("finished %d parts; %.3f s", len(parting.sizes), time.perf_counter() - began)
        done()
        rows = max(min(BLOCK, memory // WIDTH), 1)
        sink.accept(MAIN, (publish_block(block, secret) for block in runs.merged(rows)))


def _deal_rows(source: Rows, parting: Parting, partitions: Partitions, secret: Secret) -> None:
    """Send every row to its part."""
    began = time.perf_counter()
    for batch in source.batches(parting.wanted):
        rows, owners = parting.deal(batch, secret)
        partitions.add(rows, owners, None)
    LOG.info("a pass over rows: dealt to parts; %.3f s", time.perf_counter() - began)


def _finish_parts(partitions: Partitions, finish: Finish) -> Iterator[Finished]:
    """Yield parts in their order; a thread finishes each, and as many are in memory as there are threads."""
    waiting: deque[Future[list[Finished]]] = deque()
    with ThreadPoolExecutor(workers()) as pool:
        for first, last, rows in partitions.read():
            waiting.append(pool.submit(finish_several, rows, range(first, last), finish))
            del rows
            if len(waiting) == workers():
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def finish_several(rows: pa.Table, parts: Sequence[int], finish: Finish) -> list[Finished]:
    """Finish several parts, given their rows with the number of the part in the column `GROUP`."""
    owners = rows[GROUP].to_numpy()
    own = rows.drop_columns([GROUP])
    if len(parts) == 1:
        return [finish(parts[0], own)]
    chosen = ((part, np.flatnonzero(owners == part)) for part in parts)
    return [finish(part, own.take(pa.array(rows))) for part, rows in chosen if len(rows)]


def publish_block(block: ClassRows, secret: Secret) -> pa.Table:
    """Return published rows: those of a class in a random order, each with what its class shows."""
    order, starts = row_numbers(int(block.sizes.sum())), starts_of(block.sizes)
    contents = block.rows[CONTENT].to_numpy() if CONTENT in block.rows.column_names else None
    secret.arrange(order, starts, contents, stream=FIRST_SLICE)
    every = np.arange(len(block))
    arrays = {name: taken(_one_array(block.shown[name]), every, block.sizes) for name in block.shown.column_names}
    kept = [name for name in block.rows.column_names if name != CONTENT]
    arrays.update(gather_columns(block.rows, kept, order))
    return of_one_schema(pa.table({name: arrays[name] for name in block.columns}))


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
