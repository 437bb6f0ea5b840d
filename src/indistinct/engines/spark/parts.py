"""Publishing part by part on a cluster: workers finish parts, and write ranges of the classes of all parts.

Rows go to the task of their part, which finishes it; finished parts wait on the disks of workers. Every class then goes
to the task of a range of what classes show, which unites and writes it. The driver sees summaries alone.
"""

import hashlib
import logging
import pickle
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.engines.base import FolderSink, Sink
from indistinct.engines.class_runs import join_types, pack_classes, piece_ends, split_words, unpack_classes
from indistinct.engines.part_rows import BLOCK, Finish, Keep, Parting, finish_several, publish_block
from indistinct.engines.passes import share_files
from indistinct.engines.spark.files import FilePieces
from indistinct.engines.spark.parcels import (
    PARCEL,
    PARCELS,
    PARCELS_OF_SPARK,
    PART,
    join_tables,
    pack_parts,
    part_frame,
    worth_sending,
)
from indistinct.engines.spark.publish import parts_of_output, write_folder
from indistinct.engines.spark.sending import Sender
from indistinct.engines.spark.session import settings_of, shorten_errors
from indistinct.engines.spark.source import SparkTable
from indistinct.engines.spark.worker import (
    FILES,
    FILES_OF_SPARK,
    as_written,
    changed_error,
    file_name,
    read_rows,
    types_of_file,
    writer_at,
)
from indistinct.engines.stored_rows import GROUP
from indistinct.errors import OutputError
from indistinct.machine.arrays import Codes, starts_of
from indistinct.machine.randomness import Secret
from indistinct.recoding.class_rows import ClassRows, class_words, unite_classes
from indistinct.recoding.outputs import MAIN
from indistinct.tables.dictionaries import share_dictionary

LOG = logging.getLogger("indistinct.parts")
TOLD, SUMMARIES = "told", "summaries"
MADE = pa.schema([*PARCELS, (TOLD, pa.binary()), (SUMMARIES, pa.binary())])
MADE_OF_SPARK = f"{PARCELS_OF_SPARK}, {TOLD} binary, {SUMMARIES} binary"
# Bytes of classes that travel together, about.
PIECE = 1 << 23
# Words of a part that the driver gets to know, from which it chooses where ranges end.
WORDS_SAMPLED_PER_PART = 64


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What a task reports of a part in addition to its summary.

    Its rows and columns, and sample words of its classes.

    The first part of a task has `read` too: how many rows came for all of them.
    """

    published: int
    shown: pa.Schema
    columns: tuple[str, ...]
    words: tuple[tuple[str, int], ...]
    read: int = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PartWork:
    """How workers send rows to the task of their part, and finish the parts of a task; `tasks` has that of each."""

    read: pa.Schema
    pieces: FilePieces | None
    parting: Parting
    secret: Secret
    tasks: Codes
    finish: Finish

    def send(self, batches: Iterable[pa.RecordBatch], _partition: int) -> Iterator[pa.RecordBatch]:
        """Yield rows as parcels of tasks, each row with its part."""
        for batch in read_rows(batches, self.pieces, self.read):
            rows, owners = self.parting.deal(batch, self.secret)
            marked = rows.append_column(GROUP, pa.array(owners.astype(np.int32)))
            yield from pack_parts(marked, self.tasks[owners])

    def finish_parts(self, batches: Iterable[pa.RecordBatch], _partition: int) -> Iterator[pa.RecordBatch]:
        """Yield the classes of parts, piece by piece, and at the end of a task the reports about its parts."""
        for task, contents in by_number(batches):
            # Parcels come in any order; where a worker is lost, Spark wants what is made of them once more, bit by bit.
            ordered = sorted(contents, key=_digest_of)
            rows = coded_texts(join_tables([pa.ipc.open_stream(each).read_all() for each in ordered]))
            reports, summaries = [], []
            for made in finish_several(rows, np.flatnonzero(self.tasks == task).tolist(), self.finish):
                own = made.classes
                reports.append(Told(int(own.sizes.sum()), own.shown.schema, own.columns, sample_words(own)))
                summaries.append(made.summary)
                for first, last in pairwise([0, *piece_ends(own, PIECE)] if len(own) else []):
                    yield _pack_made(task, parcel=_pack(own.slice(first, last)))
            reports[0] = replace(reports[0], read=len(rows))
            yield _pack_made(task, told=_pickle(reports), summaries=_pickle(summaries))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RangeWork:
    """How classes go to ranges of words, which end before `splitters`, and how a range is written.

    `types` are those of what classes show, altogether; `written` are those of files.
    """

    types: Mapping[str, pa.DataType]
    columns: tuple[str, ...]
    splitters: Sequence[str]
    secret: Secret
    written: pa.Schema
    folder: Path | None = None

    def split(self, batches: Iterable[pa.RecordBatch], _partition: int) -> Iterator[pa.RecordBatch]:
        """Yield classes as parcels of ranges."""
        for _, contents in by_number(batches):
            for content in contents:
                classes = unpack_classes(content, self.types, self.columns)
                words = class_words(classes.shown).to_pylist()
                ends = [0, *(bisect_left(words, each) for each in self.splitters), len(words)]
                for number, (first, last) in enumerate(pairwise(ends)):
                    if first < last:
                        cells = [pa.array([number], pa.int32()), pa.array([_pack(classes.slice(first, last))])]
                        yield pa.record_batch(cells, schema=PARCELS)

    def write(self, batches: Iterable[pa.RecordBatch], _partition: int) -> Iterator[pa.RecordBatch]:
        """Write every range as a file of this attempt alone, and yield its name and number of rows."""
        for number, contents in by_number(batches):
            name, several = file_name(number), [self._unpack(content) for content in contents]
            united = unite_classes(several)
            del several
            with writer_at(self.folder, name, self.written) as writer:
                for first, last in pairwise([0, *_block_ends(united)]):
                    block = publish_block(united.slice(first, last), self.secret)
                    writer.write_table(as_written(block, self.written))
            yield pa.record_batch([pa.array([name]), pa.array([int(united.sizes.sum())])], schema=FILES)

    def _unpack(self, content: pa.Buffer) -> ClassRows:
        """Unpack classes sent by another task."""
        classes = unpack_classes(content, self.types, self.columns)
        return replace(classes, rows=coded_texts(classes.rows))


def publish_parts(
    source: SparkTable,
    parting: Parting,
    finish: Finish,
    keep: Keep,
    done: Callable[[], None],
    sink: Sink,
    *,
    secret: Secret,
    most: int,
) -> None:
    """Let workers publish a table part by part, each task with `most` rows, and give a sink their files.

    `keep` takes the summary of every part, in their order, and `done` is called before anything is written.
    """
    from pyspark import StorageLevel

    if not isinstance(sink, FolderSink):
        raise OutputError(
            "a release that workers make part by part goes to a folder of Parquet files",
            hint="give an output that ends in .parquet, on a path that driver and workers share",
        )
    began, sender, names = time.perf_counter(), Sender(source.session), parting.wanted
    rows, parallel = int(parting.sizes.sum()), int(source.session.sparkContext.defaultParallelism)
    tasks = _tasks(parting.sizes, min(most, -(-rows // parallel)))
    work = PartWork(source.schema_of(names), source.pieces_of(names), parting, secret, tasks, finish)
    made = None
    with settings_of(source.session):
        try:
            with shorten_errors("finish parts of the table"):
                frame, _ = source.rows_of_tasks(names)
                sent = part_frame(sender.run(frame, work, "send", PARCELS_OF_SPARK), int(tasks[-1]) + 1)
                made = sender.run(sent, work, "finish_parts", MADE_OF_SPARK).persist(StorageLevel.DISK_ONLY)
                parts = _collect_told(made.where(made[TOLD].isNotNull()).select(PART, TOLD).toArrow())
            if sum(each.read for each in parts) != rows:
                raise changed_error()
            LOG.info("finished %d parts on workers; %.3f s", len(parts), time.perf_counter() - began)
            with shorten_errors("tell what parts have"):
                for summary in _summaries(made):
                    keep(summary)
            done()
            ranges, schema = _ranges(source, parts, secret, rows=-(-rows // parts_of_output(rows, parallel)))
            published = sum(each.published for each in parts)
            sink.accept_folder(MAIN, partial(_write, sender, made, ranges, published), schema=schema)
        finally:
            if made is not None:
                made.unpersist(blocking=True)
            sender.forget()


def _write(sender: Sender, made: Any, ranges: RangeWork, published: int, path: Path) -> None:
    """Let workers write the ranges of finished parts, which have `published` rows together."""
    began, classes = time.perf_counter(), made.where(made[PARCEL].isNotNull()).select(PART, PARCEL)
    split = sender.run(classes, ranges, "split", PARCELS_OF_SPARK)
    arranged = part_frame(split, len(ranges.splitters) + 1)

    def run(folder: Path) -> Any:
        return sender.run(arranged, replace(ranges, folder=folder), "write", FILES_OF_SPARK)

    if write_folder(run, ranges.written, path) != published:
        raise OutputError("workers wrote other rows than parts have", hint="nothing was published; run it again")
    LOG.info("wrote %d ranges of classes on workers; %.3f s", len(ranges.splitters) + 1, time.perf_counter() - began)


def _ranges(source: SparkTable, parts: Sequence[Told], secret: Secret, *, rows: int) -> tuple[RangeWork, pa.Schema]:
    """Divide classes into ranges of about `rows` rows; return also the schema of the release."""
    types = reduce(join_types, (each.shown for each in parts), dict[str, pa.DataType]())
    columns = parts[0].columns
    schema = pa.schema([(name, types[name] if name in types else source.arrow.field(name).type) for name in columns])
    splitters = split_words((word for each in parts for word in each.words), rows)
    return RangeWork(types, columns, splitters, secret, types_of_file(schema)), schema


def _collect_told(collected: pa.Table) -> list[Told]:
    """Return the reports about all parts, in their order."""
    ordered = collected.sort_by(PART)[TOLD].to_pylist()
    return [each for content in ordered for each in pickle.loads(content)]  # noqa: S301 (made by our own workers)


def _summaries(made: Any) -> Iterator[Any]:
    """Yield the summaries of parts in their order; those of one task at a time, because they may have cuts."""
    rows = made.where(made[SUMMARIES].isNotNull()).select(PART, SUMMARIES).toLocalIterator(prefetchPartitions=True)
    if not hasattr(made, "repartitionById"):  # before Spark 4.1 partitions are not in the order of tasks
        rows = iter(sorted(rows, key=itemgetter(0)))
    for _, content in rows:
        yield from pickle.loads(content)  # noqa: S301 (made by our own workers)


def _tasks(sizes: Codes, most: int) -> Codes:
    """Return the task that finishes each part; adjacent parts share one with at most this number of rows."""
    shared = share_files(sizes.tolist(), most)
    return np.repeat(np.arange(len(shared)), [len(own) for own in shared])


def sample_words(classes: ClassRows) -> tuple[tuple[str, int], ...]:
    """Sample words of classes at even distances, each with the number of rows up to the next one."""
    if not len(classes):  # no row of a part is published
        return ()
    starts = starts_of(classes.sizes)
    wanted = np.linspace(0, starts[-1], WORDS_SAMPLED_PER_PART, endpoint=False)
    firsts = np.unique(np.minimum(np.searchsorted(starts, wanted), len(classes) - 1))
    words = class_words(classes.shown.take(pa.array(firsts))).to_pylist()
    return tuple(zip(words, np.diff(np.append(starts[firsts], starts[-1])).tolist(), strict=True))


def by_number(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Iterator[pa.Buffer]]]:
    """Yield numbers of parcels that follow each other, and what these hold."""
    parcels = (pair for batch in batches for pair in zip(batch[PART].to_pylist(), batch[PARCEL], strict=True))
    for number, own in groupby(parcels, key=itemgetter(0)):
        yield number, (content.as_buffer() for _, content in own)


def coded_texts(table: pa.Table) -> pa.Table:
    """Encode all texts of a table with one type of dictionary."""
    coded = pa.dictionary(pa.int32(), pa.string())
    columns = [
        share_dictionary(column.dictionary_encode().cast(coded))
        if pa.types.is_string(column.type) or isinstance(column.type, pa.DictionaryType)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names) if columns else table


def _digest_of(content: pa.Buffer) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def _pack(classes: ClassRows) -> bytes:
    """Pack classes to send them to another task."""
    rows = classes.rows
    sent = pa.table([worth_sending(column) for column in rows.columns], names=rows.column_names)
    return pack_classes(replace(classes, rows=sent))


def _block_ends(classes: ClassRows) -> list[int]:
    """Return behind which classes blocks end that are published together."""
    starts = starts_of(classes.sizes)
    ends = np.searchsorted(starts, np.arange(BLOCK, starts[-1], BLOCK))
    return [*np.unique(ends[(ends > 0) & (ends < len(classes))]).tolist(), len(classes)]


def _pack_made(
    task: int, *, parcel: bytes | None = None, told: bytes | None = None, summaries: bytes | None = None
) -> pa.RecordBatch:
    cells = [pa.array([task], pa.int32()), *(pa.array([each], pa.binary()) for each in (parcel, told, summaries))]
    return pa.record_batch(cells, schema=MADE)


def _pickle(value: Any) -> bytes:
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
