"""A sample of a table on a cluster: workers draw their own rows, and what was drawn stays on their disks for the run.

A frame that is read again may give its rows in another order, so that who was drawn must be written down. The copy has
no lineage: should a worker with a part of it be lost, the run fails, where drawing anew would publish other rows than
were counted.

Each row gets a random word, and those with the smallest are the sample. Workers keep a few rows more than are wanted,
because they cannot know how many the others drew; the driver then says which word is the last.
"""

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.engines.sampling import Draw, PeopleDraw, PeopleSeen, PeopleWords
from indistinct.engines.spark.files import FilePieces
from indistinct.engines.spark.passes import TaskRows, ask_rows
from indistinct.engines.spark.sending import Sender
from indistinct.engines.spark.session import settings_of, shorten_errors
from indistinct.engines.spark.source import SparkTable
from indistinct.engines.spark.types import spark_schema, types_to_send
from indistinct.engines.spark.worker import read_rows
from indistinct.machine.arrays import Codes
from indistinct.machine.randomness import count_drawn

# The column with the word of a row; no column of a table begins so. Spark's whole numbers have 63 bits and a sign.
WORD, BITS = "\0word", 63
# Words are divided into this number of ranges; the driver reads one of them.
RANGE_BITS = 16
# By how many standard deviations more rows are kept than are wanted, and how many more in any case.
SPREADS, MORE = 10, 50


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DrawnTable(SparkTable):
    """A sample, as a frame whose rows workers hold."""

    held: Any = None

    def close(self) -> None:
        """Let workers forget the rows."""
        forget_frame(self.held)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Drawing:
    """How workers draw rows: those of drawn people, or those whose random number is below `below`."""

    read: pa.Schema
    pieces: FilePieces | None
    sent: pa.Schema
    draw: Draw | None = None
    below: int = 0

    def draw_rows(self, batches: Iterable[pa.RecordBatch], _partition: int) -> Iterator[pa.RecordBatch]:
        """Yield the drawn rows, each with its random number."""
        for table in read_rows(batches, self.pieces, self.read):
            if self.draw is not None:
                kept = np.flatnonzero(self.draw.select(table))
                numbers = np.zeros(len(kept), dtype=np.int64)
            else:
                every = np.frombuffer(os.urandom(8 * len(table)), dtype=np.uint64) >> np.uint64(64 - BITS)
                kept = np.flatnonzero(every < np.uint64(self.below))
                numbers = every[kept].astype(np.int64)
            rows = table.take(pa.array(kept))
            columns = [rows[each.name].cast(kind.type) for each, kind in zip(self.read, self.sent, strict=False)]
            yield from pa.table([*columns, pa.array(numbers)], schema=self.sent).to_batches()


def draw_frame(source: SparkTable, share: float, *, person: Sequence[str]) -> DrawnTable:
    """Return a sample of a table: a share of its rows, or of its people with all of their rows."""
    if person:
        people = PeopleWords.keyed(person)
        seen = ask_rows(source, tuple(person), partial(_see_people, people), PeopleSeen.merged, what="people")
        drawn = _hold_drawn(source, PeopleDraw.of(share, people, seen), 0)
        return _sample_of(source, drawn, drawn)
    wanted = count_drawn(share, source.rows)
    while True:
        kept = min(wanted + SPREADS * math.isqrt(wanted) + MORE, source.rows)
        drawn = _hold_drawn(source, None, (kept << BITS) // source.rows if kept < source.rows else 1 << BITS)
        last = _last_word(source, drawn, wanted)
        if last is not None:
            # Spark's plan does not show which person has which word.
            return _sample_of(source, drawn, drawn.where(drawn[WORD] <= last))
        forget_frame(drawn)  # it happens once in more runs than there will be


def _hold_drawn(source: SparkTable, draw: Draw | None, below: int) -> Any:
    """Draw rows on the workers, which keep them on their disks; return their frame, each with its random number."""
    from pyspark import StorageLevel

    read = source.arrow
    short = pa.schema([(f"c{index}", each.type) for index, each in enumerate(types_to_send(read))])
    sent = short.append(pa.field(WORD, pa.int64()))
    drawing = Drawing(read, source.pieces_of(source.columns), sent, draw, below)
    sender = Sender(source.session)
    with settings_of(source.session), shorten_errors("draw a sample of the table"):
        try:
            frame, _ = source.rows_of_tasks(source.columns)
            drawn = sender.run(frame, drawing, "draw_rows", spark_schema(sent))
            return drawn.localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY)
        finally:
            sender.forget()


def _last_word(source: SparkTable, held: Any, wanted: int) -> int | None:
    """Return the word of the last row that is wanted, None where fewer were drawn; -1 is before all."""
    if not wanted:
        return -1
    words = SparkTable(held.select(held[WORD].alias("c0")), pa.schema([(WORD, pa.int64())]), source.rows)
    counts: Codes = ask_rows(words, (WORD,), _count_ranges, _add_counts, what="words")
    upto = np.cumsum(counts)
    if upto[-1] < wanted:
        return None
    index = int(np.searchsorted(upto, wanted))
    inside: Codes = ask_rows(words, (WORD,), partial(_words_in_range, index), np.concatenate, what="words of a range")
    before = int(upto[index]) - len(inside)
    return int(np.sort(inside)[wanted - before - 1])


def _sample_of(source: SparkTable, held: Any, drawn: Any) -> DrawnTable:
    """Return the drawn rows as a table that holds the frame."""
    frame = drawn.select([drawn[f"c{index}"] for index in range(len(source.columns))])
    with settings_of(source.session), shorten_errors("count the rows of a sample"):
        rows = int(frame.count())
    known = {each.name: getattr(source, each.name) for each in fields(source)}
    return DrawnTable(**{**known, "frame": frame, "rows": rows, "pieces": None, "estimates": {}}, held=held)


def forget_frame(held: Any) -> None:
    """Let workers forget the rows of a frame without lineage; its own methods know no such thing."""
    held._jdf.queryExecution().logical().rdd().unpersist(True)


def _see_people(people: PeopleWords, rows: TaskRows) -> PeopleSeen:
    return people.survey(rows.batches(people.person))


def _count_ranges(rows: TaskRows) -> Codes:
    """Count the words in each range."""
    counts = np.zeros(1 << RANGE_BITS, dtype=np.int64)
    for batch in rows.batches((WORD,)):
        counts += np.bincount(_ranges_of(batch[WORD].to_numpy()), minlength=len(counts))
    return counts


def _add_counts(several: Sequence[Codes]) -> Codes:
    return np.asarray(np.sum(several, axis=0, dtype=np.int64))


def _words_in_range(index: int, rows: TaskRows) -> Codes:
    """Return the words of one range."""
    words = np.concatenate([np.zeros(0, dtype=np.int64), *(batch[WORD].to_numpy() for batch in rows.batches((WORD,)))])
    return words[_ranges_of(words) == index]


def _ranges_of(words: Codes) -> Codes:
    return words >> (BITS - RANGE_BITS)
