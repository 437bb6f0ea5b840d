"""Publishing rows that come in batches and may not fit in memory.

They go to partitions of classes on disk, each of which is put into a random order in memory, one at a time.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from indistinct.arrays import Codes, repeated, starts_of
from indistinct.engines.base import Sink
from indistinct.engines.finding import CellFinder, Finder, Learned
from indistinct.engines.memory.publish import MIXING, Run, Stock, content_words, published
from indistinct.engines.spill import private_directory
from indistinct.errors import InputError
from indistinct.randomness import Secret
from indistinct.recoding.outputs import Assignment, OutputTable

# Columns that travel with rows; no column of a table begins so.
CLASS, CELL = "\0class", "\0cell"
# A dictionary of more values is written out: it would be repeated in every piece of every partition.
FEW_VALUES = 1000
# Files that are open at the same time at most.
MOST_PARTITIONS = 200


class Rows(Protocol):
    """A source whose rows come in batches."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns, in order."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Return some columns of all rows, batch by batch."""


def publish_rows(
    source: Rows, assignment: Assignment, sink: Sink, *, secret: Secret, learned: Learned | None, memory: int
) -> None:
    """Give a sink every table of a release; partitions take about `memory` bytes at a time."""
    classes = Run.of(assignment, secret)
    with ExitStack() as stack:
        folder = _Folder(stack)
        located = _located(source, assignment, learned, folder, secret=secret, memory=memory)
        partitions, places = Partitions(classes.starts, folder, memory), classes.places
        for batch in located:
            partitions.add(places[batch[CLASS].to_numpy()], batch)
        for name, table in assignment.layout.tables.items():
            sink.accept(name, _tables(source.columns, assignment, partitions, classes, table, secret))


def _tables(
    columns: Sequence[str],
    assignment: Assignment,
    partitions: "Partitions",
    classes: Run,
    table: OutputTable,
    secret: Secret,
) -> Iterator[pa.Table]:
    """Yield one table of a release, partition after partition."""
    places = classes.places
    for (first, last), rows in partitions.read():
        run = classes.part(first, last)
        order = np.argsort(places[rows[CLASS].to_numpy()], kind="stable").astype(np.uint32)
        kept = rows.drop_columns([CLASS, CELL])
        names = _read_from(assignment)
        contents = content_words(kept, names, secret)
        stock = Stock(kept, order, rows[CELL].to_numpy(), contents)
        made = published(columns, assignment, stock, order, run, table, secret=secret)
        yield _of_one_schema(made)


def _of_one_schema(table: pa.Table) -> pa.Table:
    """Return a batch with codes of one width, whatever its dictionaries need."""
    kinds = [
        pa.dictionary(pa.int32(), pa.string()) if isinstance(each.type, pa.DictionaryType) else each.type
        for each in table.schema
    ]
    return table.cast(pa.schema([pa.field(name, kind) for name, kind in zip(table.column_names, kinds, strict=True)]))


def _read_from(assignment: Assignment) -> tuple[str, ...]:
    """Return the original columns from which published ones come."""
    tables = assignment.layout.tables.values()
    return tuple(dict.fromkeys(output.of for table in tables for output in table.outputs))


def _located(
    source: Rows,
    assignment: Assignment,
    learned: Learned | None,
    folder: "_Folder",
    *,
    secret: Secret,
    memory: int,
) -> Iterator[pa.Table]:
    """Yield the rows that are published, with their class and cell."""
    joint = assignment.frequencies.joint
    own = learned if learned is not None and learned.vectors is assignment.frequencies.vectors else None
    if joint is not None and own is None:
        raise InputError("rows cannot be found again by their sensitive values", hint="search a new recoding")
    finder: Finder
    if own is not None:
        finder, entries = own.finder, own.entries
    else:
        finder, entries = CellFinder.of(assignment.domains, assignment.frequencies.vectors), None
    if joint is None:
        counts, owners = assignment.frequencies.counts, np.arange(len(assignment.frequencies), dtype=np.int32)
    else:
        counts, owners = joint.histogram.counts, joint.histogram.owners().astype(np.int32)
    shown = {o.of for t in assignment.layout.tables.values() for o in t.outputs if o.values is None}
    kept = _read_from(assignment) if secret.seed is not None else tuple(n for n in _read_from(assignment) if n in shown)
    wanted = tuple(dict.fromkeys([*(domain.column for domain in finder.domains), *kept]))
    batches = _grouped(source.batches(wanted), finder, entries, kept)
    if not assignment.split:
        if len(assignment.class_ids) != len(counts):
            raise AssertionError("a recoding that splits no group has one piece for each, in their order")
        yield from _published_only(batches, assignment.class_ids, owners)
        return
    yield from _dealt(batches, assignment, counts, owners, folder, secret=secret, memory=memory)


def _grouped(
    batches: Iterable[pa.Table], finder: Finder, entries: Codes | None, kept: Sequence[str]
) -> Iterator[tuple[Codes, pa.Table]]:
    """Yield the group of every row, and the columns that travel with it."""
    for batch in batches:
        found = finder.find(batch)
        yield found if entries is None else entries[found], batch.select(list(kept))


def _published_only(batches: Iterable[tuple[Codes, pa.Table]], of_group: Codes, owners: Codes) -> Iterator[pa.Table]:
    for groups, table in batches:
        classes = of_group[groups]
        chosen = np.flatnonzero(classes >= 0)
        rows = table if len(chosen) == len(classes) else table.take(pa.array(chosen))
        yield _with(rows, classes[chosen], owners[groups[chosen]])


def _with(table: pa.Table, classes: Codes, cells: Codes) -> pa.Table:
    columns = {name: table[name] for name in table.column_names}
    return pa.table({**columns, CLASS: pa.array(classes, pa.int32()), CELL: pa.array(cells, pa.int32())})


def _dealt(
    batches: Iterable[tuple[Codes, pa.Table]],
    assignment: Assignment,
    counts: Codes,
    owners: Codes,
    folder: "_Folder",
    *,
    secret: Secret,
    memory: int,
) -> Iterator[pa.Table]:
    """Yield rows of which chance decides to which of the classes of its group each one goes."""
    starts = starts_of(counts)
    partitions = Partitions(starts, folder, memory)
    for groups, table in batches:
        partitions.add(groups, _with(table, groups.astype(np.int32), owners[groups]))
    of_row = repeated(assignment.class_ids.astype(np.int32), assignment.counts)
    for (first, last), rows in partitions.read():
        groups = rows[CLASS].to_numpy()
        order = np.argsort(groups, kind="stable").astype(np.uint32)
        contents = content_words(rows.drop_columns([CLASS, CELL]), _read_from(assignment), secret)
        secret.arrange(order, starts[first : last + 1] - starts[first], contents, stream=MIXING)
        classes = np.empty(len(order), dtype=np.int32)
        classes[order] = of_row[starts[first] : starts[last]]
        chosen = np.flatnonzero(classes >= 0)
        table = rows.drop_columns([CLASS, CELL]).take(pa.array(chosen))
        yield _with(table, classes[chosen], rows[CELL].to_numpy()[chosen])


@dataclass(slots=True)
class _Folder:
    """A private directory that is made when it is first needed."""

    stack: ExitStack
    made: Path | None = None
    files: int = 0

    def fresh(self) -> Path:
        """Return a path for a new file."""
        if self.made is None:
            self.made = self.stack.enter_context(private_directory())
        self.files += 1
        return self.made / f"{self.files}.rows"


@dataclass(slots=True)
class Partitions:
    """Rows by runs of groups, on disk or, where one run holds them all, in memory.

    Group `i` has rows `starts[i]:starts[i + 1]` of all; the cuts between partitions are decided by the first batch,
    which tells how many bytes a row takes.
    """

    starts: Codes
    folder: _Folder
    memory: int
    cuts: Codes | None = None
    kept: list[pa.Table] = field(default_factory=list)
    kinds: pa.Schema | None = None
    writers: list[pa.ipc.RecordBatchStreamWriter] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)

    def add(self, groups: Codes, table: pa.Table) -> None:
        """Take rows, given the group of each."""
        if self.cuts is None:
            self._begin(table)
        if self.cuts is None or self.kinds is None:
            return
        table = table.cast(self.kinds)
        if len(self.cuts) == 2:
            self.kept.append(table)
            return
        if not self.writers:
            self.paths = [self.folder.fresh() for _ in range(len(self.cuts) - 1)]
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self.writers = [pa.ipc.new_stream(str(path), self.kinds, options=options) for path in self.paths]
        partition = np.searchsorted(self.cuts, groups, side="right") - 1
        order = np.argsort(partition, kind="stable")
        table = table.take(pa.array(order))
        ends = np.searchsorted(partition[order], np.arange(len(self.cuts)))
        for number, writer in enumerate(self.writers):
            if ends[number] < ends[number + 1]:
                writer.write_table(table.slice(ends[number], ends[number + 1] - ends[number]))

    def _begin(self, table: pa.Table) -> None:
        self.kinds = pa.schema([pa.field(name, _travelling(table[name])) for name in table.column_names])
        if not len(table):
            return
        rows = int(self.starts[-1])
        size = max(table.nbytes / len(table), 16.0)
        wanted = min(max(int(np.ceil(rows * size / self.memory)), 1), MOST_PARTITIONS)
        middle = np.searchsorted(self.starts, np.linspace(0, rows, wanted + 1)[1:-1])
        self.cuts = np.unique(np.concatenate([[0], middle, [len(self.starts) - 1]]))

    def read(self) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        """Yield the groups of each partition, from the first to behind the last, and its rows."""
        if self.kinds is None:
            raise AssertionError("rows are read after some were added")
        if self.cuts is None:  # every batch was empty
            yield (0, len(self.starts) - 1), self.kinds.empty_table()
            return
        for writer in self.writers:
            writer.close()
        self.writers = []
        for number in range(len(self.cuts) - 1):
            ends = (int(self.cuts[number]), int(self.cuts[number + 1]))
            if not self.paths:
                yield ends, pa.concat_tables(self.kept) if self.kept else self.kinds.empty_table()
                continue
            with pa.OSFile(str(self.paths[number])) as file:
                yield ends, pa.ipc.open_stream(file).read_all()


def _travelling(column: pa.ChunkedArray) -> pa.DataType:
    """Return the type in which a column goes to partitions: codes where its dictionary is small."""
    if not isinstance(column.type, pa.DictionaryType):
        return column.type
    few = all(len(chunk.dictionary) <= FEW_VALUES for chunk in column.chunks)
    return pa.dictionary(pa.int32(), column.type.value_type) if few else column.type.value_type
