"""Publishing with Spark: workers find the class of every row, Spark brings parts together, workers write files.

Rows go to parts of the output by the place of their class and a random word, so that parts are of one size whatever the
classes are, and no task sees the whole table. Nothing but the schema of a release is made by the driver.
"""

import math
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from indistinct.engines.base import FolderSink, Sink
from indistinct.engines.finding import CellFinder, Finder, finder_of
from indistinct.engines.memory.publish import Run
from indistinct.engines.spark.parcels import PARCELS_OF_SPARK, PART, part_frame, unpack_parcels
from indistinct.engines.spark.sending import Sender
from indistinct.engines.spark.session import settings_of, shorten_errors
from indistinct.engines.spark.source import SparkTable, as_read
from indistinct.engines.spark.types import spark_schema, types_to_send
from indistinct.engines.spark.worker import (
    CELL,
    CONTENT,
    FILES_OF_SPARK,
    KEY,
    WORD_BITS,
    ClassPlaces,
    Dealing,
    Locating,
    PublishedForm,
    Words,
    writer_at,
)
from indistinct.errors import OutputError
from indistinct.frequencies.count import RowIndex
from indistinct.machine.arrays import Codes, starts_of
from indistinct.machine.randomness import Secret
from indistinct.recoding.outputs import Assignment, OutputTable

# Rows of one part of the output at most, and so few that a further task would not pay.
MAX_ROWS, FEW_ROWS = 1_000_000, 50_000


def publish_frame(
    source: SparkTable, assignment: Assignment, sink: Sink, *, secret: Secret, row_index: RowIndex | None
) -> None:
    """Give a sink every table of a release: a folder that workers write, or what the driver collects."""
    job = _Job.of(source, assignment, secret, row_index)
    with settings_of(source.session):
        try:
            arranged = job.arranged()
            for name, table in assignment.layout.tables.items():
                writing = job.writing(table)
                if isinstance(sink, FolderSink):
                    sink.accept_folder(name, partial(_write, job, arranged, writing), schema=writing.schema)
                else:
                    sink.accept(
                        name, [_collect_table(job.run(arranged, writing, "publish", PARCELS_OF_SPARK), writing.schema)]
                    )
        finally:
            job.sender.forget()


def _collect_table(frame: Any, schema: pa.Schema) -> pa.Table:
    """Return a published table in the driver, for a release without output: a small one."""
    with shorten_errors("publish rows"):
        collected = frame.toArrow()
    # Parts ascend with classes; the parcels of one come in their order.
    _, table = unpack_parcels(collected.sort_by(PART).to_batches())
    return schema.empty_table() if table is None else as_read(table, schema)


def _write(job: "_Job", arranged: Any, writing: PublishedForm, path: Path) -> None:
    """Let workers write the files of a table, and put them at a path."""

    def run(folder: Path) -> Any:
        return job.run(arranged, replace(writing, folder=folder), "write", FILES_OF_SPARK)

    write_folder(run, writing.written, path)


def write_folder(run: Callable[[Path], Any], written: pa.Schema, path: Path) -> int:
    """Let workers write files next to a folder, move the successful ones into it, and return the number of rows.

    `run` returns the frame of the workers' reports about the files that they write to a folder, with the columns
    `written`. An abandoned task may continue writing for a while, in a folder that is not read.
    """
    attempts = path.with_name("attempts")
    attempts.mkdir()
    try:
        with shorten_errors("write the release"):
            finished = run(attempts.resolve()).toArrow()
        path.mkdir()
        for name, rows in zip(finished["name"].to_pylist(), finished["rows"].to_pylist(), strict=True):
            _take_file(attempts / name, path / name, rows)
        if not len(finished):  # a folder of no rows has columns all the same
            with writer_at(path, "part-00000.parquet", written) as writer:
                writer.write_table(written.empty_table())
        return sum(finished["rows"].to_pylist())
    finally:
        shutil.rmtree(attempts, ignore_errors=True)


def _take_file(written: Path, target: Path, rows: int) -> None:
    """Move a file that a worker wrote, which the driver must see as the worker left it."""
    try:
        rows_written = pq.read_metadata(written).num_rows
    except (OSError, pa.ArrowException):
        rows_written = None
    if rows_written != rows:
        raise OutputError(
            "the driver does not see what a worker of Spark wrote",
            hint="choose a path that driver and workers share",
        )
    written.rename(target)


@dataclass(slots=True, eq=False)
class _Job:
    """One release: the source, what is published of it, and what was sent to workers."""

    source: SparkTable
    assignment: Assignment
    secret: Secret
    run_of: Run
    locating: Locating
    dealing: Dealing | None
    sender: Sender

    @classmethod
    def of(cls, source: SparkTable, assignment: Assignment, secret: Secret, row_index: RowIndex | None) -> "_Job":
        """Prepare publishing: the finder of classes, and the settings that are sent to workers."""
        finder, entries, counts, owners = _finder(assignment, row_index)
        if not assignment.split and len(assignment.class_ids) != len(counts):
            raise AssertionError("a recoding that splits no group has one piece for each, in their order")
        tables = assignment.layout.tables.values()
        outputs = [output for table in tables for output in table.outputs]
        kept = tuple(dict.fromkeys(output.of for output in outputs if output.values is None))
        contents = tuple(dict.fromkeys(output.of for output in outputs)) if secret.seed is not None else ()
        run = Run.of(assignment, secret)
        whole = any(table.needs_whole_classes for table in tables)
        parts = parts_of_output(int(run.starts[-1]), int(source.session.sparkContext.defaultParallelism))
        positions = ClassPlaces(run.places, run.starts, parts, whole)
        words = Words(secrets.token_bytes(32), secret, contents)
        known = tuple(dict.fromkeys([*(domain.column for domain in finder.domains), *kept, *contents]))
        read = source.schema_of(known)
        class_ids = None if assignment.split else assignment.class_ids
        cells = owners if any(output.by_cell for output in outputs) else None
        locating = Locating(read, kept, finder, entries, cells, class_ids, positions, words, source.pieces_of(known))
        dealing = None
        if assignment.split:
            ends = starts_of(assignment.counts)[1:]
            dealing = Dealing(starts_of(counts), ends, assignment.class_ids, positions, words)
        return cls(source, assignment, secret, run, locating, dealing, Sender(source.session))

    def arranged(self) -> Any:
        """Return the frame of all rows that are published, as parcels: a partition has those of a part."""
        from pyspark.sql import functions

        frame, _ = self.source.rows_of_tasks(self.locating.read.names)
        if self.dealing is None:
            located = self.run(frame, self.locating, "classes", PARCELS_OF_SPARK)
        else:
            groups = self.run(frame, self.locating, "groups", spark_schema(self._carried_with_groups()))
            parts = max(self.locating.places.parts, 1)
            group = functions.shiftright(groups[KEY], WORD_BITS)
            together = groups.repartition(parts, group).sortWithinPartitions(KEY)
            located = self.run(together, self.dealing, "deal", PARCELS_OF_SPARK)
        return part_frame(located, self.locating.places.parts)

    def writing(self, table: OutputTable) -> PublishedForm:
        """Return the settings with which workers write one table of the release."""
        read, ordered = self.source.schema_of(self.locating.kept), self.assignment.layout.in_source_order
        whole = self.locating.places.whole
        return PublishedForm(self.source.columns, read, table, self.run_of.shown, self.secret, ordered, whole)

    def run(self, frame: Any, holder: Locating | Dealing | PublishedForm, method: str, schema: Any) -> Any:
        """Map a frame by a method of `holder`, which is sent to the workers."""
        return self.sender.run(frame, holder, method, schema)

    def _carried_with_groups(self) -> pa.Schema:
        """Return the columns that travel with rows to where they are dealt out."""
        kinds = {KEY: pa.int64(), CELL: pa.int32(), CONTENT: pa.int64()}
        cells, contents = self.locating.owners is not None, self.secret.seed is not None
        names = [KEY, *([CELL] if cells else []), *([CONTENT] if contents else [])]
        kept = types_to_send(self.source.schema_of(self.locating.kept))
        columns = [pa.field(f"k{index}", each.type) for index, each in enumerate(kept)]
        return pa.schema([*((name, kinds[name]) for name in names), *columns])


def parts_of_output(rows: int, parallel: int) -> int:
    """Return into how many parts rows go: enough that each is small, and that no task waits for work."""
    return max(math.ceil(rows / MAX_ROWS), min(parallel, math.ceil(rows / FEW_ROWS)), 1)


def _finder(assignment: Assignment, row_index: RowIndex | None) -> tuple[Finder, Codes | None, Codes, Codes]:
    """Return the finder of groups, the entry of each found group, the rows of each group, and its cell."""
    counted, joint = assignment.frequencies, assignment.frequencies.joint
    own = finder_of(row_index, counted)
    if own is not None and joint is not None:
        return own.finder, own.entries, joint.histogram.counts, joint.histogram.owners().astype(np.int32)
    owners = np.arange(len(counted), dtype=np.int32)
    if own is not None:  # a search by passes counted classes, and rows find theirs by cuts
        return own.finder, own.entries, counted.counts, owners
    return CellFinder.of(assignment.domains, counted.vectors), None, counted.counts, owners
