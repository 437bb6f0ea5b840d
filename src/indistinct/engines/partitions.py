"""Publishing rows that come in batches and may not fit in memory.

They go to partitions of classes on disk, which are shuffled in memory one at a time.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from indistinct.engines.base import Sink
from indistinct.engines.finding import CellFinder, Finder, finder_of
from indistinct.engines.memory._kernels import scatter_rows
from indistinct.engines.memory.publish import FIRST_SLICE, MIXING, Run, Stock, content_words, publish_classes
from indistinct.engines.stored_rows import CELL, GROUP, Partitions, Words, take_rows
from indistinct.frequencies.count import RowIndex
from indistinct.machine.arrays import Codes, row_numbers, starts_of
from indistinct.machine.randomness import Secret, mix_words, random_words
from indistinct.recoding.outputs import Assignment, OutputTable

# Bytes of the code of a text.
BYTES_PER_CODE = 4

Located = Iterator[tuple[pa.Table, Codes, Codes | None]]
"""Rows, the class of each and, where what is published differs from cell to cell, its cell."""


class Rows(Protocol):
    """A source whose rows come in batches."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns, in order."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Return some columns of all rows, batch by batch."""


def publish_rows(
    source: Rows, assignment: Assignment, sink: Sink, *, secret: Secret, row_index: RowIndex | None, memory: int
) -> None:
    """Give a sink every table of a release; partitions take about `memory` bytes at a time."""
    classes = Run.of(assignment, secret)
    tables, positions = assignment.layout.tables, classes.places
    wide = max(_published_width(table, rows=int(classes.starts[-1])) for table in tables.values())
    # Columns that are permuted apart, and counts of equal rows, need a class as a whole.
    whole = any(len(table.slices) > 1 or table.count is not None for table in tables.values())
    words = None if whole else _words(assignment, secret, stream=FIRST_SLICE)
    with closing(Partitions(classes.starts, memory, words, beside=wide)) as partitions:
        for rows, class_ids, cells in _locate_rows(source, assignment, row_index, secret=secret, memory=memory):
            partitions.add(rows, positions[class_ids], cells)
        for name, table in tables.items():
            sink.accept(name, _tables(source.columns, assignment, partitions, classes, table, secret))


def _published_width(table: OutputTable, *, rows: int) -> float:
    """Estimate the bytes a row takes of published values that replace its own.

    Text is there as codes, and once for every class: where classes are small, that is most of a partition.
    """
    width = 0.0
    for output in table.outputs:
        if output.values is None or output.codes is None:
            continue
        one = output.values.nbytes / max(len(output.values), 1)
        by_code = not output.by_cell and pa.types.is_string(output.values.type)
        width += BYTES_PER_CODE + one * len(output.codes) / max(rows, 1) if by_code else one
    return width


def _words(assignment: Assignment, secret: Secret, *, stream: int) -> Words:
    """Return the function that deals rows of a large group to parts: at random, or by seed and content."""

    def words(table: pa.Table) -> Codes:
        contents = content_words(table, _read_from(assignment), secret)
        if contents is None:
            return random_words(len(table), None, stream=stream)
        return mix_words(contents, stream) >> np.uint64(32)

    return words


def _tables(
    columns: Sequence[str],
    assignment: Assignment,
    partitions: Partitions,
    classes: Run,
    table: OutputTable,
    secret: Secret,
) -> Iterator[pa.Table]:
    """Yield one table of a release, partition after partition."""
    names = _read_from(assignment)
    for first, last, rows in partitions.read():
        run = classes.part(first, last)
        if last - first == 1:  # perhaps a part of the class
            run = replace(run, sizes=np.array([len(rows)]), starts=np.array([0, len(rows)]))
        order = _by_group(rows, run.starts, first)
        cells = rows[CELL].to_numpy() if CELL in rows.column_names else np.zeros(0, dtype=np.int32)
        kept = _without_marks(rows)
        stock = Stock(kept, order, cells, content_words(kept, names, secret))
        made = publish_classes(columns, assignment, stock, order, run, table, secret=secret)
        yield of_one_schema(made)


def _by_group(rows: pa.Table, starts: Codes, first: int) -> Codes:
    """Sort the row numbers by group; `first` is the smallest group."""
    order = np.empty(len(rows), dtype=np.uint32)
    groups = rows[GROUP].to_numpy() - np.int32(first)
    scatter_rows(row_numbers(len(rows)), groups, np.ones(len(rows), dtype=np.int32), starts[:-1].copy(), order)
    return order


def _without_marks(rows: pa.Table) -> pa.Table:
    return rows.select([name for name in rows.column_names if name not in (GROUP, CELL)])


def of_one_schema(table: pa.Table) -> pa.Table:
    """Return a batch with codes of one width, whatever its dictionaries need."""
    kinds = [
        pa.dictionary(pa.int32(), pa.string()) if isinstance(each.type, pa.DictionaryType) else each.type
        for each in table.schema
    ]
    return table.cast(pa.schema([pa.field(name, kind) for name, kind in zip(table.column_names, kinds, strict=True)]))


def _read_from(assignment: Assignment) -> tuple[str, ...]:
    """Return the original columns that published ones are made of."""
    tables = assignment.layout.tables.values()
    return tuple(dict.fromkeys(output.of for table in tables for output in table.outputs))


def _locate_rows(
    source: Rows, assignment: Assignment, row_index: RowIndex | None, *, secret: Secret, memory: int
) -> Located:
    """Yield the rows that are published, with their class and cell."""
    joint, tables = assignment.frequencies.joint, assignment.layout.tables.values()
    own = finder_of(row_index, assignment.frequencies)
    finder: Finder
    if own is not None:
        finder, entries = own.finder, own.entries
    else:
        finder, entries = CellFinder.of(assignment.domains, assignment.frequencies.vectors), None
    if joint is None:
        counts, owners = assignment.frequencies.counts, np.arange(len(assignment.frequencies), dtype=np.int32)
    else:
        counts, owners = joint.histogram.counts, joint.histogram.owners().astype(np.int32)
    names = {output.of for table in tables for output in table.outputs if output.values is None}
    kept = tuple(name for name in _read_from(assignment) if secret.seed is not None or name in names)
    wanted = tuple(dict.fromkeys([*(domain.column for domain in finder.domains), *kept]))
    batches = _group_rows(source.batches(wanted), finder, entries, kept)
    by_cell = any(output.by_cell for table in tables for output in table.outputs)
    of_group = owners if by_cell else None
    if not assignment.split:
        if len(assignment.class_ids) != len(counts):
            raise AssertionError("a recoding that splits no group has one piece for each, in their order")
        yield from _published_only(batches, assignment.class_ids, of_group)
        return
    with closing(Partitions(starts_of(counts), memory, _words(assignment, secret, stream=MIXING))) as partitions:
        for table, groups in batches:
            partitions.add(table, groups, None if of_group is None else of_group[groups])
        yield from _dealt(partitions, assignment, secret)


def _group_rows(
    batches: Iterable[pa.Table], finder: Finder, entries: Codes | None, kept: Sequence[str]
) -> Iterator[tuple[pa.Table, Codes]]:
    """Yield the columns that travel with rows, and the group of every row."""
    for batch in batches:
        group_ids = finder.find(batch)
        yield batch.select(list(kept)), group_ids if entries is None else entries[group_ids]


def _published_only(batches: Iterable[tuple[pa.Table, Codes]], class_of: Codes, cell_of: Codes | None) -> Located:
    for table, groups in batches:
        yield _chosen(table, class_of[groups], None if cell_of is None else cell_of[groups])


def _chosen(table: pa.Table, classes: Codes, cells: Codes | None) -> tuple[pa.Table, Codes, Codes | None]:
    """Return the rows that have a class."""
    chosen = np.flatnonzero(classes >= 0)
    if len(chosen) == len(classes):
        return table, classes, cells
    return take_rows(table, chosen), classes[chosen], None if cells is None else cells[chosen]


def _dealt(partitions: Partitions, assignment: Assignment, secret: Secret) -> Located:
    """Yield rows with their classes: the rows of a group are dealt to its classes at random."""
    ends, before = starts_of(assignment.counts), 0
    for first, last, rows in partitions.read():
        starts = partitions.starts[first : last + 1] - partitions.starts[first]
        if last - first == 1:  # perhaps a part of the group
            starts = np.array([0, len(rows)])
        order, kept = _by_group(rows, starts, first), _without_marks(rows)
        secret.arrange(order, starts, content_words(kept, _read_from(assignment), secret), stream=MIXING)
        classes = np.empty(len(order), dtype=np.int32)
        classes[order] = _classes_between(assignment.class_ids, ends, before, before + len(rows))
        before += len(rows)
        yield _chosen(kept, classes, rows[CELL].to_numpy() if CELL in rows.column_names else None)


def _classes_between(class_ids: Codes, ends: Codes, begin: int, end: int) -> Codes:
    """Return the classes of the rows from one place to another, where piece `i` has those up to `ends[i + 1]`."""
    first, last = int(np.searchsorted(ends, begin, side="right")) - 1, int(np.searchsorted(ends, end))
    bounds = np.clip(ends[first : last + 1], begin, end)
    return np.repeat(class_ids[first:last], np.diff(bounds))
