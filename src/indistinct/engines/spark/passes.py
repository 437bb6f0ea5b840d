"""Passes over the rows of a table on a cluster: workers look at the rows of their tasks, answers are added up.

Each task asks its own rows what `engines/passes.py` asks all rows of a source. No row comes to the driver, and no cell.
"""

import logging
import pickle
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from indistinct.engines import part_rows
from indistinct.engines.base import Sink, as_written
from indistinct.engines.class_batches import Look
from indistinct.engines.part_rows import Keep, Parting
from indistinct.engines.passes import (
    CodedRows,
    KeyPasses,
    KeyPassesHere,
    Pass,
    TablePasses,
    table_of_codes,
    types_of_codes,
)
from indistinct.engines.spark.estimating import Smallest, merge_smallest, smallest_words
from indistinct.engines.spark.files import FilePieces
from indistinct.engines.spark.parcels import PARCEL, PARCELS, PARCELS_OF_SPARK, PART, pack_parts, part_frame
from indistinct.engines.spark.parts import publish_parts
from indistinct.engines.spark.sending import Sender
from indistinct.engines.spark.session import settings_of, shorten_errors
from indistinct.engines.spark.source import SparkTable, read_files
from indistinct.engines.spark.worker import read_rows
from indistinct.frequencies.passes import (
    KeyColumn,
    KeyTree,
    key_matrix,
)
from indistinct.frequencies.value import Key
from indistinct.machine.arrays import Codes
from indistinct.machine.randomness import Secret
from indistinct.tables.domain import Domain
from indistinct.tables.several import files_of, find_partitions, require_unchanged

LOG = logging.getLogger("indistinct.passes")
# Answers that the driver adds up itself; where there may be more, workers add up some of them first.
MAX_ANSWERS = 32

Question = Callable[["TaskRows"], Any]
Merge = Callable[[Sequence[Any]], Any]
Finish = Callable[[Any, int], Any]
"""What is made of a part: the one place where parts are finished, given what reads the rows of one and its number."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskRows:
    """The rows of one task as a source, which is read once; `given` are batches of them, or of numbers of pieces."""

    given: Iterable[pa.RecordBatch]
    read: pa.Schema
    pieces: FilePieces | None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns, in order."""
        return tuple(self.read.names)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Return some columns of all rows, batch by batch."""
        wanted = pa.schema([self.read.field(name) for name in columns])
        read = self.read if self.pieces is None else wanted
        for table in read_rows(self.given, self.pieces, read):
            yield table.select(list(columns))


@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """A question that workers ask the rows of their tasks, and how answers are added up."""

    read: pa.Schema
    pieces: FilePieces | None
    question: Question
    merge: Merge

    def answer(self, batches: Iterable[pa.RecordBatch], partition: int) -> Iterator[pa.RecordBatch]:
        """Yield the answer of a task; one without rows has none."""
        waiting = (batch for batch in batches if len(batch))
        first = next(waiting, None)
        if first is not None:
            yield pack_answer(self.question(TaskRows(chain([first], waiting), self.read, self.pieces)), partition)

    def add_up(self, batches: Iterable[pa.RecordBatch], partition: int) -> Iterator[pa.RecordBatch]:
        """Yield one answer for those of several tasks."""
        answers = [answer for _, answer in unpack_answers(batches)]
        if answers:
            yield pack_answer(self.merge(answers), partition)


@dataclass(frozen=True, slots=True, eq=False)
class PartsOfWorkers:
    """How workers send rows, as keys and codes, to the part that they lie in, and finish a part that came together."""

    read: pa.Schema
    pieces: FilePieces | None
    columns: tuple[KeyColumn, ...]
    keys: Mapping[Key, Domain]
    tree: KeyTree
    finish: Finish

    def send(self, batches: Iterable[pa.RecordBatch], _partition: int) -> Iterator[pa.RecordBatch]:
        """Yield rows as parcels of the parts that are asked for."""
        types = types_of_codes(self.columns, self.keys)
        for table in read_rows(batches, self.pieces, self.read):
            keys = key_matrix(table, self.columns, range(len(self.columns)))
            parts = self.tree.parts_of(keys)
            chosen = np.flatnonzero(parts >= 0)
            codes = [domain.encode(table[key[0]]) for key, domain in self.keys.items()]
            yield from pack_parts(table_of_codes(keys, codes, chosen, types), parts[chosen])

    def finish_parts(self, batches: Iterable[pa.RecordBatch], _partition: int) -> Iterator[pa.RecordBatch]:
        """Yield the result of each part, given parcels sorted by part."""
        parcels = (pair for batch in batches for pair in zip(batch[PART].to_pylist(), batch[PARCEL], strict=True))
        for part, own in groupby(parcels, key=lambda pair: pair[0]):
            rows = PartOfTask(self.columns, tuple(self.keys), (content for _, content in own))
            yield pack_answer(self.finish(rows, part), part)


@dataclass(frozen=True, slots=True, eq=False)
class PartOfTask(CodedRows):
    """The rows of one part that came to a task in parcels; they are read once."""

    parcels: Iterable[Any]

    def read(self, part: int) -> Iterator[tuple[Codes, dict[Key, Codes]]]:
        """Yield the rows, some at a time."""
        return chain.from_iterable(self.read_batches(content.as_buffer()) for content in self.parcels)


def pack_answer(answer: Any, number: int) -> pa.RecordBatch:
    """Return an answer and its number as cells of a frame; most counts are zero and compress well."""
    content = zlib.compress(pickle.dumps(answer, pickle.HIGHEST_PROTOCOL), level=1)
    return pa.record_batch([pa.array([number], pa.int32()), pa.array([content], pa.binary())], schema=PARCELS)


def unpack_answers(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Any]]:
    """Yield answers, with the number of each."""
    for batch in batches:
        for number, content in zip(batch[PART].to_pylist(), batch[PARCEL].to_pylist(), strict=True):
            yield number, pickle.loads(zlib.decompress(content))  # noqa: S301 (made by our own workers)


def ask_rows(
    source: SparkTable,
    columns: Sequence[str],
    question: Question,
    merge: Merge,
    *,
    what: str,
    merged_by: int | None = None,
) -> Any:
    """Return the merged answers of the rows of all tasks; `columns` are those that the question needs.

    With `merged_by`, this number of tasks merges answers, and the driver gets at most one from each.
    """
    began, sender = time.perf_counter(), Sender(source.session)
    asking = Asking(source.schema_of(columns), source.pieces_of(columns), question, merge)
    parallel = int(source.session.sparkContext.defaultParallelism)
    with settings_of(source.session), shorten_errors("look at the rows of the table"):
        try:
            frame, tasks = source.rows_of_tasks(columns)
            answers = sender.run(frame, asking, "answer", PARCELS_OF_SPARK)
            if merged_by is not None or tasks is None or tasks > MAX_ANSWERS:
                answers = sender.run(answers.repartition(merged_by or parallel), asking, "add_up", PARCELS_OF_SPARK)
            collected = [answer for _, answer in unpack_answers(answers.toArrow().to_batches())]
        finally:
            sender.forget()
    LOG.info("a pass over rows: %s; %.3f s", what, time.perf_counter() - began)
    return merge(collected)


@dataclass(frozen=True, slots=True, eq=False)
class SparkTablePasses(TablePasses):
    """A table on a cluster that is passed over again and again."""

    by_others: ClassVar[bool] = True

    def ask(self, columns: Sequence[str], question: Question, merge: Merge, *, what: str, large: bool = False) -> Any:
        """Answer a question about all rows by tasks; one worker merges answers that may be large."""
        return ask_rows(self.source, columns, question, merge, what=what, merged_by=1 if large else None)

    def over_keys(self, columns: tuple[KeyColumn, ...], keys: Mapping[Key, Domain]) -> "SparkKeyPasses":
        """Return passes that see columns as keys, and codes of what a model looks at."""
        return SparkKeyPasses(columns, keys, self.source)

    def publish_parts(
        self,
        parting: Parting,
        finish: part_rows.Finish,
        keep: Keep,
        done: Callable[[], None],
        sink: Sink,
        *,
        secret: Secret,
    ) -> None:
        """Let workers make a release part by part; see `parts.publish_parts`."""
        with require_unchanged(self.source.stamps):
            publish_parts(self.source, parting, finish, keep, done, sink, secret=secret, most=self.room.cells)


@dataclass(frozen=True, slots=True, eq=False)
class SparkKeyPasses(KeyPasses):
    """Passes over the rows of a table on a cluster: each task asks its own rows."""

    source: SparkTable

    def ask(self, one: Pass[Any]) -> Any:
        """Run a pass over all rows by tasks and return its result."""
        question = partial(_ask_pass, self.columns, self.keys, one)
        return ask_rows(self.source, self.names, question, one.merge, what=one.what)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns that are read."""
        return tuple(dict.fromkeys([*(column.name for column in self.columns), *(key[0] for key in self.keys)]))

    @contextmanager
    def parted(self, tree: KeyTree, parts: int) -> Iterator["SparkParts"]:
        """Give the rows by part: a partition of Spark has those of one."""
        yield SparkParts(self, tree, parts)


@dataclass(frozen=True, slots=True, eq=False)
class SparkParts:
    """Rows by part; a worker finishes each part."""

    passes: SparkKeyPasses
    tree: KeyTree
    parts: int

    def finish(self, work: Finish) -> Iterator[Any]:
        """Yield the result of each part, from the first to the last."""
        source, names = self.passes.source, self.passes.names
        began, sender = time.perf_counter(), Sender(source.session)
        parting = PartsOfWorkers(
            source.schema_of(names), source.pieces_of(names), self.passes.columns, self.passes.keys, self.tree, work
        )
        with settings_of(source.session), shorten_errors("finish parts of the table"):
            try:
                frame, _ = source.rows_of_tasks(names)
                sent = part_frame(sender.run(frame, parting, "send", PARCELS_OF_SPARK), self.parts)
                made = sender.run(sent, parting, "finish_parts", PARCELS_OF_SPARK).toArrow()
            finally:
                sender.forget()
        LOG.info("a pass over rows: parts finished on workers; %.3f s", time.perf_counter() - began)
        yield from (answer for _, answer in sorted(unpack_answers(made.to_batches()), key=lambda each: each[0]))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WrittenTable(SparkTable):
    """A release that workers have just written, with ordered rows: every task reads a stretch of them."""

    def look_at_stretches(self, columns: Sequence[str], look: Look) -> list[Any]:
        """Run `look` on stretches of rows in workers; no row is sent to the driver."""
        findings: list[Any] = ask_rows(self, columns, partial(_look_at_rows, look), _list_all, what="classes")
        return findings


def open_folder(folder: Path, session: Any, schema: pa.Schema) -> WrittenTable:
    """Return a folder of a table with the columns of `schema` that was just written, as Spark reads it."""
    path = folder.resolve()
    files = files_of(path) or ()
    table = read_files(session, files, partitions=find_partitions(path, files, schema))
    known = {each.name: getattr(table, each.name) for each in fields(table)}
    return WrittenTable(**{**known, "arrow": as_written(table.arrow, schema)})


def estimate_distinct(source: SparkTable, columns: Sequence[str]) -> tuple[int, dict[str, int]]:
    """Return how many combinations of values some columns have, and how many values each of them, about."""
    known = [Smallest.nothing() for _ in range(len(columns) + 1)]
    whole, *each = ask_rows(source, columns, partial(_ask_distinct, known), merge_smallest, what="distinct values")
    return whole.distinct, {name: own.distinct for name, own in zip(columns, each, strict=True)}


def _ask_pass(columns: tuple[KeyColumn, ...], keys: Mapping[Key, Domain], one: Pass[Any], rows: TaskRows) -> Any:
    """Run one pass over the rows of a task."""
    return KeyPassesHere(columns, keys, rows).ask(one)


def _ask_distinct(known: list[Smallest], rows: TaskRows) -> list[Smallest]:
    for batch in rows.batches(rows.columns):
        known = smallest_words(known, batch)
    return known


def _look_at_rows(look: Look, rows: TaskRows) -> list[Any]:
    return [look(rows.batches(rows.columns))]


def _list_all(several: Sequence[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(several))
