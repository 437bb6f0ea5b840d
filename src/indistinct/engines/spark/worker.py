"""What workers of Spark do with batches of rows: find the class of each, deal rows that part, and write labels.

What they must know comes by broadcast, the key of a release's randomness among it: no expression and no plan has it.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from indistinct.engines.finding import Finder
from indistinct.engines.memory.publish import FIRST_SLICE, MIXING, Run, Stock, content_words, publish_classes
from indistinct.engines.spark.files import FilePieces
from indistinct.engines.spark.parcels import pack_parts, pack_table, unpack_parcels
from indistinct.engines.spark.types import types_to_send
from indistinct.errors import InputError
from indistinct.frequencies.value import Classes, FrequencySet
from indistinct.machine.arrays import Codes, run_starts
from indistinct.machine.randomness import Secret, mix_words
from indistinct.recoding.outputs import Assignment, Layout, OutputTable
from indistinct.schema import Schema

# Columns that travel with rows; no column of a table is called so, because those are called c0, c1 and so on.
KEY, CELL, CONTENT = "key", "cell", "content"
# What workers tell of the files that they wrote.
FILES = pa.schema([("name", pa.string()), ("rows", pa.int64())])
FILES_OF_SPARK = "name string, rows bigint"
# Rows that are looked at together.
CHUNK = 1 << 18
WORD_BITS = 32
WORDS = 1 << WORD_BITS


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Words:
    """Where the order of rows comes from: a key from the operating system or, for tests, a seed and their content."""

    key: bytes
    secret: Secret
    contents: tuple[str, ...]

    def draw(self, size: int, *, stage: int, partition: int, batch: int) -> Codes:
        """Return random words for the rows of a batch: the same again where a lost task is run again."""
        position = b"".join(number.to_bytes(8, "little") for number in (stage, partition, batch))
        stream = hashlib.shake_256(self.key + position).digest(4 * size)
        return np.frombuffer(stream, dtype=np.uint32).astype(np.int64)

    def of_contents(self, table: pa.Table) -> Codes | None:
        """Return a word for the content of every row; None without a seed."""
        return content_words(table, self.contents, self.secret)


def order_words(contents: Codes, stream: int) -> Codes:
    """Return words that order rows at random for one stream; ties are broken later."""
    return (mix_words(contents, stream) >> np.uint64(64 - WORD_BITS)).astype(np.int64)


def keys_of(positions: Codes, words: Codes) -> Codes:
    """Return sort keys of rows: the index of the class or group, then a random word, in one number."""
    return (positions.astype(np.int64) << WORD_BITS) | words


def places_of(rows: pa.Table) -> Codes:
    """Return the place of every row's class or group."""
    return rows[KEY].to_numpy() >> WORD_BITS


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClassPlaces:
    """Which place each class has among those that are published, and to which part of the output its rows go.

    A class may be larger than a part. Then the word of a row decides, unless classes must stay `whole`.
    """

    places: Codes
    starts: Codes
    parts: int
    whole: bool

    def part(self, positions: Codes, words: Codes) -> Codes:
        """Return the part of every row; parts ascend with places, and inside a class with words."""
        before, rows = self.starts[positions].astype(np.float64), float(self.starts[-1])
        if not self.whole:
            before += words / WORDS * (self.starts[positions + 1] - self.starts[positions])
        return np.minimum(before * (self.parts / rows), self.parts - 1).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Locating:
    """How rows find their group, and from there their class: `class_ids` by group, None where chance deals rows out.

    `owners` are the cells of groups, where published values go by cell. `pieces` are what is read of files; batches
    then hold their numbers, and otherwise rows.
    """

    read: pa.Schema
    kept: tuple[str, ...]
    finder: Finder
    entries: Codes | None
    owners: Codes | None
    class_ids: Codes | None
    places: ClassPlaces
    words: Words
    pieces: FilePieces | None

    def groups(self, batches: Iterable[pa.RecordBatch], partition: int) -> Iterator[pa.RecordBatch]:
        """Yield rows that part, with their group in the place of a class."""
        kinds = types_to_send(self.read)  # types of the source may be none of Spark's
        for number, rows in enumerate(read_rows(batches, self.pieces, self.read)):
            groups, contents = self._group(rows), self.words.of_contents(rows)
            if contents is None:
                words = self.words.draw(len(rows), stage=MIXING, partition=partition, batch=number)
            else:
                words = order_words(contents, MIXING)
            kept = pa.table([rows[name].cast(kinds.field(name).type) for name in self.kept], names=self.kept)
            yield from self._carried(kept, keys_of(groups, words), groups, contents).combine_chunks().to_batches()

    def classes(self, batches: Iterable[pa.RecordBatch], partition: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of published classes with their sort keys, packed by part of the output; others are left out.

        A sort key is the place of a row's class, then a word: random, or made of the row's content.
        """
        if self.class_ids is None:
            raise AssertionError("rows that part are dealt out first")
        for number, read in enumerate(read_rows(batches, self.pieces, self.read)):
            rows, groups = read, self._group(read)
            classes = self.class_ids[groups]
            chosen = np.flatnonzero(classes >= 0)
            if len(chosen) < len(classes):
                rows, groups, classes = read.take(pa.array(chosen)), groups[chosen], classes[chosen]
            contents = self.words.of_contents(rows)
            parts, keys = sort_keys_of(self.places, self.words, classes, contents, partition=partition, batch=number)
            yield from pack_parts(self._carried(rows, keys, groups, contents), parts)

    def _group(self, rows: pa.Table) -> Codes:
        """Return the group of each row."""
        group_ids = self.finder.find(rows)
        return group_ids if self.entries is None else self.entries[group_ids]

    def _carried(self, rows: pa.Table, keys: Codes, groups: Codes, contents: Codes | None) -> pa.Table:
        """Return the columns to send with each row: its key, cell, hash and published values."""
        columns = {KEY: pa.array(keys)}
        if self.owners is not None:
            columns[CELL] = pa.array(self.owners[groups].astype(np.int32))
        if contents is not None:
            columns[CONTENT] = pa.array(contents.view(np.int64))
        return pa.table({**columns, **{f"k{index}": rows[name] for index, name in enumerate(self.kept)}})


def sort_keys_of(
    places: ClassPlaces, words: Words, classes: Codes, contents: Codes | None, *, partition: int, batch: int
) -> tuple[Codes, Codes]:
    """Return the parts of rows and what they are sorted by, given their classes."""
    chosen = places.places[classes]
    if contents is None:
        drawn = words.draw(len(classes), stage=FIRST_SLICE, partition=partition, batch=batch)
    else:
        drawn = order_words(contents, FIRST_SLICE)
    return places.part(chosen, drawn), keys_of(chosen, drawn)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dealing:
    """How rows of a group are dealt out: the first of them, in a random order, go to its first piece, and so on.

    Group `g` has pieces that begin at row `firsts[g]` of all; piece `i` ends before row `ends[i]`.
    """

    firsts: Codes
    ends: Codes
    class_ids: Codes
    places: ClassPlaces
    words: Words

    def deal(self, batches: Iterable[pa.RecordBatch], partition: int) -> Iterator[pa.RecordBatch]:
        """Yield rows as parcels of parts, with their class, given those of whole groups, sorted by group and word."""
        last, count = -1, 0
        for number, table in enumerate(in_chunks(batches)):
            groups = places_of(table)
            starts = run_starts(groups)
            offsets = np.arange(len(groups)) - np.repeat(starts[:-1], np.diff(starts))
            if groups[0] == last:
                offsets[: starts[1]] += count
            last, count = int(groups[-1]), int(offsets[-1]) + 1
            if (offsets >= self.firsts[groups + 1] - self.firsts[groups]).any():
                raise changed_error()
            classes = self.class_ids[np.searchsorted(self.ends, self.firsts[groups] + offsets, side="right")]
            chosen = np.flatnonzero(classes >= 0)
            rows = table.take(pa.array(chosen)).drop_columns([KEY])  # `take` needs a column to know rows
            contents = rows[CONTENT].to_numpy().view(np.uint64) if CONTENT in rows.column_names else None
            parts, keys = sort_keys_of(
                self.places, self.words, classes[chosen], contents, partition=partition, batch=number
            )
            yield from pack_parts(rows.add_column(0, KEY, pa.array(keys)), parts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PublishedForm:
    """What published rows look like: one table of a release, and the classes that it shows."""

    columns: tuple[str, ...]
    read: pa.Schema
    table: OutputTable
    shown: Codes
    secret: Secret
    in_source_order: bool
    whole: bool
    folder: Path | None = None

    @property
    def schema(self) -> pa.Schema:
        """Return the columns of the published table: text is text, whatever codes it would have."""
        nothing, contents = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
        stock = Stock(self.read.empty_table(), nothing, nothing, contents)
        run = Run(nothing, nothing, np.zeros(1, dtype=np.int64), nothing)
        # The order of no rows takes no chance.
        made = publish_classes(self.columns, self._assignment(), stock, nothing, run, self.table, secret=Secret(0))
        kinds = [each.value_type if isinstance(each, pa.DictionaryType) else each for each in made.schema.types]
        return pa.schema(list(zip(made.column_names, kinds, strict=True)))

    def publish(self, batches: Iterable[pa.RecordBatch], _partition: int) -> Iterator[pa.RecordBatch]:
        """Yield published rows as parcels of their part, given parcels of a part in any order."""
        part, rows = unpack_parcels(batches)
        for table in self._tables(rows):
            yield from pack_table(as_written(table, self.written), part=part)

    def write(self, batches: Iterable[pa.RecordBatch], _partition: int) -> Iterator[pa.RecordBatch]:
        """Write published rows as a file of this attempt alone, and yield its name and number of rows.

        A task may run twice, even at the same time: each attempt has its own file, and the driver takes the reported
        ones.
        """
        part, rows = unpack_parcels(batches)
        if rows is None:
            return
        name = file_name(part)
        with writer_at(self.folder, name, self.written) as writer:
            for table in self._tables(rows):
                writer.write_table(as_written(table, self.written))
        yield pa.record_batch([pa.array([name]), pa.array([len(rows)])], schema=FILES)

    @property
    def written(self) -> pa.Schema:
        """Return the types of a file: those that Spark has too, and texts with a dictionary."""
        return types_of_file(self.schema)

    def _tables(self, rows: pa.Table | None) -> Iterator[pa.Table]:
        """Yield published rows, some at a time, given those of a part."""
        if rows is None:
            return
        rows = rows.take(pa.array(np.argsort(rows[KEY].to_numpy())))
        for chunk in in_chunks(rows.to_batches(max_chunksize=CHUNK), whole=self.whole):
            for piece in _neighbours(chunk) if self.whole else [chunk]:
                yield self.published(piece)

    def published(self, rows: pa.Table) -> pa.Table:
        """Publish some rows; their order is randomized again within each class."""
        positions = places_of(rows)
        starts = run_starts(positions).astype(np.int64)
        present = positions[starts[:-1]]
        run = Run(self.shown[present], np.diff(starts), starts, starts[:-1], before=int(positions[0]))
        order = np.arange(len(positions), dtype=np.uint32)
        contents = rows[CONTENT].to_numpy().view(np.uint64) if CONTENT in rows.column_names else None
        kept = under_names(rows.select([f"k{index}" for index in range(len(self.read))]), self.read)
        cells = rows[CELL].to_numpy() if CELL in rows.column_names else np.zeros(0, dtype=np.int32)
        stock = Stock(kept, order, cells, contents)
        return publish_classes(self.columns, self._assignment(), stock, order, run, self.table, secret=self.secret)

    def _assignment(self) -> Assignment:
        """Return an assignment with only the layout, and without any original value."""
        nothing, none = np.zeros((0, 0), dtype=np.int32), np.zeros(0, dtype=np.int64)
        cells = FrequencySet((), nothing, Classes(none))
        layout = Layout({}, Schema(), self.in_source_order)
        return Assignment(cells, (), nothing, none, none, none, Classes(none), layout=layout)


def _neighbours(rows: pa.Table) -> Iterator[pa.Table]:
    """Yield rows in runs of classes without a gap, because a class is numbered by those before it."""
    positions = places_of(rows)
    cuts = [0, *(np.flatnonzero(np.diff(positions) > 1) + 1), len(positions)]
    for first, last in pairwise(cuts):
        yield rows.slice(first, last - first)


def in_chunks(batches: Iterable[pa.RecordBatch], *, whole: bool = False) -> Iterator[pa.Table]:
    """Yield batches joined to tables of at least `CHUNK` rows; with `whole`, of more until classes are complete."""
    kept: list[pa.RecordBatch] = []
    for batch in batches:
        if not len(batch):
            continue
        kept.append(batch)
        if sum(map(len, kept)) < CHUNK:
            continue
        table = pa.Table.from_batches(kept).combine_chunks()
        end = len(table)
        if whole:
            positions = places_of(table)
            end = int(np.searchsorted(positions, positions[-1]))
        kept = table.slice(end).to_batches()
        if end:
            yield table.slice(0, end)
    if kept:
        yield pa.Table.from_batches(kept).combine_chunks()


def read_rows(batches: Iterable[pa.RecordBatch], pieces: FilePieces | None, wanted: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of a task, some at a time, under the names of the source; batches hold rows, or numbers of pieces.

    Of a piece no other columns are read than those that are wanted.
    """
    for table in in_chunks(batches if pieces is None else replace(pieces, schema=wanted).read(batches)):
        yield under_names(table, wanted)


def under_names(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Return columns under the names and in the types that the source has; text may keep its dictionary."""
    columns = [
        column if each.type in (column.type, getattr(column.type, "value_type", None)) else column.cast(each.type)
        for column, each in zip(table.columns, wanted, strict=True)
    ]
    return pa.table(columns, names=wanted.names)


def file_name(part: int) -> str:
    """Return the name of the file that an attempt of a task writes of a part."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return f"part-{part:05}-{0 if context is None else context.taskAttemptId()}.parquet"


def types_of_file(schema: pa.Schema) -> pa.Schema:
    """Return the types in which published columns are written: those of Spark, and texts with a dictionary."""
    kinds = types_to_send(schema)
    coded = [pa.dictionary(pa.int32(), each.type) if each.type == pa.string() else each.type for each in kinds]
    return pa.schema(list(zip(kinds.names, coded, strict=True)))


def as_written(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return published columns in the types of a file."""
    columns = [
        column.combine_chunks().dictionary_encode().cast(each.type)
        if isinstance(each.type, pa.DictionaryType) and not isinstance(column.type, pa.DictionaryType)
        else column.cast(each.type)
        for column, each in zip(table.columns, schema, strict=True)
    ]
    return pa.table(columns, schema=schema)


@contextmanager
def writer_at(folder: Path | None, name: str, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Give a writer of a new Parquet file in a folder, which says nothing but its columns."""
    if folder is None:
        raise AssertionError("who writes files has a folder for them")
    measured = [field.name for field in schema if not isinstance(field.type, pa.DictionaryType)]
    options = {"compression": "zstd", "compression_level": 1, "store_schema": False}
    try:
        with pq.ParquetWriter(folder / name, schema, **options, write_statistics=measured or False) as writer:
            yield writer
    except FileNotFoundError:
        raise InputError(
            "a worker of Spark does not see the folder of the output",
            hint="choose a path that driver and workers share",
        ) from None


def changed_error() -> InputError:
    """Return the error of a table that is not what was counted."""
    return InputError(
        "the table has changed since it was counted", hint="run it again on a frame that gives the same rows each time"
    )
