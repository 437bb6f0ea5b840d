"""Passes over the rows of a table on a cluster: workers look at the rows of their tasks, answers are added up.

Each task asks its own rows what `engines/passes.py` asks all rows of a source. No row comes to the driver, and no cell.
"""

import logging
import pickle
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial, reduce
from itertools import chain, groupby
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from indistinct.engines import part_rows
from indistinct.engines.base import Sink, as_written
from indistinct.engines.class_batches import Look
from indistinct.engines.part_rows import Keep, Parting
from indistinct.engines.passes import KeyPasses, PartedRows, Room, nothing_known, rows_of_parts
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
    KeyRanges,
    KeyTree,
    KnownValues,
    SampledRows,
    Scale,
    Segmented,
    Segments,
    Survey,
    Within,
    key_matrix,
    values_of,
)
from indistinct.frequencies.value import Key
from indistinct.machine.arrays import Codes
from indistinct.machine.randomness import Secret
from indistinct.tables.domain import Domain
from indistinct.tables.several import files_of, find_partitions, require_unchanged

LOG = logging.getLogger("indistinct.passes")
# Answers that the driver adds up itself; where there may be more, workers add up some of them first.
MOST_ANSWERS = 32

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
        kinds = PartedRows((), self.columns, tuple(self.keys)).schema
        for table in read_rows(batches, self.pieces, self.read):
            keys = key_matrix(table, self.columns, range(len(self.columns)))
            parts = self.tree.parts_of(keys)
            chosen = np.flatnonzero(parts >= 0)
            codes = [domain.encode(table[key[0]]) for key, domain in self.keys.items()]
            arrays = [*(keys[chosen, index] for index in range(len(self.columns))), *(each[chosen] for each in codes)]
            rows = [pa.array(each).cast(kind.type) for each, kind in zip(arrays, kinds, strict=True)]
            yield from pack_parts(pa.table(rows, schema=kinds), parts[chosen])

    def finish_parts(self, batches: Iterable[pa.RecordBatch], _partition: int) -> Iterator[pa.RecordBatch]:
        """Yield what is made of each part, given the parcels of one after those of another."""
        parcels = (pair for batch in batches for pair in zip(batch[PART].to_pylist(), batch[PARCEL], strict=True))
        for part, own in groupby(parcels, key=lambda pair: pair[0]):
            rows = PartOfTask((content for _, content in own), len(self.columns), tuple(self.keys))
            yield pack_answer(self.finish(rows, part), part)


@dataclass(frozen=True, slots=True, eq=False)
class PartOfTask:
    """The rows of one part, as keys and codes, that came to a task in parcels; they are read once."""

    parcels: Iterable[Any]
    columns: int
    keys: tuple[Key, ...]

    def read(self, _part: int) -> Iterator[tuple[Codes, dict[Key, Codes]]]:
        """Yield the rows, some at a time."""
        for content in self.parcels:
            for batch in pa.ipc.open_stream(content.as_buffer()):
                arrays = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
                keys = np.stack([each.astype(np.uint64) for each in arrays[: self.columns]], axis=1)
                yield keys, dict(zip(self.keys, arrays[self.columns :], strict=True))

    def all(self, part: int) -> tuple[Codes, dict[Key, Codes]]:
        """Return the rows together."""
        pieces = list(self.read(part))
        codes = {key: np.concatenate([own[key] for _, own in pieces]) for key in self.keys}
        return np.concatenate([keys for keys, _ in pieces]), codes


def pack_answer(answer: Any, number: int) -> pa.RecordBatch:
    """Return an answer as a cell of a frame, beside a number; most of what is counted is zero, and packs well."""
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
    """Return what the rows of all tasks tell, added up; `columns` are those that the question looks at.

    Where it is said that so many tasks merge answers, the driver gets no more than one of each.
    """
    began, sender = time.perf_counter(), Sender(source.session)
    asking = Asking(source.schema_of(columns), source.pieces_of(columns), question, merge)
    parallel = int(source.session.sparkContext.defaultParallelism)
    with settings_of(source.session), shorten_errors("look at the rows of the table"):
        try:
            frame, tasks = source.rows_of_tasks(columns)
            answers = sender.run(frame, asking, "answer", PARCELS_OF_SPARK)
            if merged_by is not None or tasks is None or tasks > MOST_ANSWERS:
                answers = sender.run(answers.repartition(merged_by or parallel), asking, "add_up", PARCELS_OF_SPARK)
            collected = [answer for _, answer in unpack_answers(answers.toArrow().to_batches())]
        finally:
            sender.forget()
    LOG.info("a pass over rows: %s; %.3f s", what, time.perf_counter() - began)
    return merge(collected)


@dataclass(frozen=True, slots=True, eq=False)
class SparkTablePasses:
    """A table on a cluster that is passed over again and again."""

    by_others: ClassVar[bool] = True
    """Whether other processes finish parts."""

    source: SparkTable
    room: Room

    def values(self, columns: Sequence[str], *, named: Collection[str]) -> dict[str, KnownValues]:
        """Return what is known of columns after one pass; those that are `named` must be known by all their values."""
        nothing = nothing_known(self.source.arrow, columns, self.room, named=named)
        found: dict[str, KnownValues] = ask_rows(
            self.source, columns, partial(_ask_values, nothing), _merge_values, what="values"
        )
        return found

    def ask(self, columns: Sequence[str], question: Question, merge: Merge, *, what: str) -> Any:
        """Return what the rows of all tasks tell; one worker merges their answers, each of which may be large."""
        return ask_rows(self.source, columns, question, merge, what=what, merged_by=1)

    def over_keys(self, columns: tuple[KeyColumn, ...], keys: Mapping[Key, Domain]) -> "SparkKeyPasses":
        """Return passes that see columns as keys, and codes of what a model looks at."""
        return SparkKeyPasses(self.source, columns, keys)

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

    def rows_of_parts(self, tree: KeyTree, columns: tuple[KeyColumn, ...], parts: int) -> Codes:
        """Return how many rows each part has."""
        question = partial(_count_parts, tree, columns, parts)
        names = tuple(column.name for column in columns)
        found: Codes = ask_rows(self.source, names, question, partial(np.sum, axis=0), what="rows of parts")
        return found


@dataclass(frozen=True, slots=True, eq=False)
class SparkKeyPasses:
    """Passes over the rows of a table on a cluster, with the answers of `KeyPasses`."""

    source: SparkTable
    columns: tuple[KeyColumn, ...]
    keys: Mapping[Key, Domain]

    def survey(self, tree: KeyTree, scale: Scale) -> Survey:
        """Return the rows of each part, how far it reaches, and how its rows fall into buckets."""
        found: Survey = self._ask("survey", (tree, scale), _merge_surveys)
        return found

    def within(self, tree: KeyTree, ranges: KeyRanges) -> Within:
        """Return what lies in one range of each part."""
        found: Within = self._ask("within", (tree, ranges), Within.merged)
        return found

    def segments(self, tree: KeyTree, segments: Segments) -> Segmented:
        """Return the rows, and the values that a model looks at, of segments of each part."""
        found: Segmented = self._ask("segments", (tree, segments), Segmented.merged)
        return found

    def sample(self, limit: int) -> SampledRows:
        """Return the rows whose content hashes to no more than a limit below 2^64."""
        found: SampledRows = self._ask("sample", (limit,), SampledRows.merged)
        return found

    def behind(self, cuts: Sequence[Codes]) -> list[Codes]:
        """Return, by column, the smallest key of all rows behind each of some ascending cuts."""
        found: list[Codes] = self._ask("behind", (list(cuts),), _merge_behind)
        return found

    def _ask(self, method: str, arguments: tuple[Any, ...], merge: Merge) -> Any:
        question = partial(_ask_pass, self.columns, self.keys, method, arguments)
        return ask_rows(self.source, self._names(), question, merge, what=method)

    def _names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*(column.name for column in self.columns), *(key[0] for key in self.keys)]))

    @contextmanager
    def parted(self, tree: KeyTree, parts: int) -> Iterator["SparkParts"]:
        """Give the rows by part: a partition of Spark has those of one."""
        yield SparkParts(self, tree, parts)


@dataclass(frozen=True, slots=True, eq=False)
class SparkParts:
    """Rows by part, each of which a worker finishes."""

    passes: SparkKeyPasses
    tree: KeyTree
    parts: int

    def finish(self, work: Finish) -> Iterator[Any]:
        """Yield what is made of each part, from the first to the last."""
        source, names = self.passes.source, self.passes._names()
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
    """A release that workers have just written, whose rows stand in an order: every task reads a stretch of them."""

    def look_at_stretches(self, columns: Sequence[str], look: Look) -> list[Any]:
        """Return what workers make of stretches of rows; no row comes to the driver."""
        found: list[Any] = ask_rows(self, columns, partial(_look_at_rows, look), _list_all, what="classes")
        return found


def open_folder(folder: Path, session: Any, schema: pa.Schema) -> WrittenTable:
    """Return a folder of a table with the columns of `schema` that was just written, as Spark reads it."""
    place = folder.resolve()
    files = files_of(place) or ()
    table = read_files(session, files, partitions=find_partitions(place, files, schema))
    known = {each.name: getattr(table, each.name) for each in fields(table)}
    return WrittenTable(**{**known, "arrow": as_written(table.arrow, schema)})


def estimate_distinct(source: SparkTable, columns: Sequence[str]) -> tuple[int, dict[str, int]]:
    """Return how many combinations of values some columns have, and how many values each of them, about."""
    known = [Smallest.nothing() for _ in range(len(columns) + 1)]
    whole, *each = ask_rows(source, columns, partial(_ask_distinct, known), merge_smallest, what="distinct values")
    return whole.distinct, {name: own.distinct for name, own in zip(columns, each, strict=True)}


def _ask_pass(
    columns: tuple[KeyColumn, ...], keys: Mapping[Key, Domain], method: str, arguments: tuple[Any, ...], rows: TaskRows
) -> Any:
    """Return what one pass over the rows of a task tells."""
    return getattr(KeyPasses(rows, columns, keys), method)(*arguments)


def _count_parts(tree: KeyTree, columns: tuple[KeyColumn, ...], parts: int, rows: TaskRows) -> Codes:
    return rows_of_parts(rows, tree, columns, parts)


def _ask_values(known: dict[str, KnownValues], rows: TaskRows) -> dict[str, KnownValues]:
    names = tuple(known)
    for batch in rows.batches(names):
        known = values_of(known, batch, names)
    return known


def _ask_distinct(known: list[Smallest], rows: TaskRows) -> list[Smallest]:
    for batch in rows.batches(rows.columns):
        known = smallest_words(known, batch)
    return known


def _look_at_rows(look: Look, rows: TaskRows) -> list[Any]:
    return [look(rows.batches(rows.columns))]


def _list_all(several: Sequence[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(several))


def _merge_values(several: Sequence[dict[str, KnownValues]]) -> dict[str, KnownValues]:
    return {name: reduce(KnownValues.merged, [each[name] for each in several]) for name in several[0]}


def _merge_surveys(several: Sequence[Survey]) -> Survey:
    return reduce(Survey.plus, several)


def _merge_behind(several: Sequence[list[Codes]]) -> list[Codes]:
    return [np.minimum.reduce(own) for own in zip(*several, strict=True)]
