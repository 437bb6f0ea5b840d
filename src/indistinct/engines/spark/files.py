"""Parquet files that workers read themselves with Arrow: no row goes through Java, and texts are codes from the start.

The values must be those that Spark would read. Where that is not certain, `find_pieces` returns None and Spark reads.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from indistinct.engines.spark.estimating import join_words, words_of
from indistinct.engines.spark.parcels import PART, join_tables, pack_parts, pack_table, unpack_parcels
from indistinct.errors import InputError
from indistinct.tables.several import HivePartitions, constant_column

NUMBER = "rows"
# Rows that are read together.
BATCH = 1 << 18
# Types that Spark widens as it reads them, and Arrow casts without loss.
WIDENED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}
TEXTS = (pa.string(), pa.large_string())
SAME = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    *(pa.bool_(), pa.date32()),
)
# Old versions of Spark wrote days and moments of another calendar, and set these keys of a file.
OTHER_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
VERSION = b"org.apache.spark.version"
CALENDAR = "spark.sql.parquet.datetimeRebaseModeInRead"


@dataclass(frozen=True, slots=True)
class FilePiece:
    """What one task reads: a row group of a file, or `rows` of it from `first` on.

    `constants` are the values of the columns that the folders of the file name.
    """

    path: str
    row_group: int
    rows: int
    first: int = 0
    constants: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FilePieces:
    """Some columns of files, in the types of a table."""

    pieces: tuple[FilePiece, ...]
    schema: pa.Schema

    def read(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of pieces, given batches of their numbers; texts have dictionaries."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self.read_piece(self.pieces[number])

    def count(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield, as parcels, the distinct combinations of values of each piece, and how many rows have each."""
        counted = self._count_rows(numbers)
        if counted is not None:
            yield from pack_table(counted, part=0)

    def count_by_part(self, numbers: Iterable[pa.RecordBatch], parts: int) -> Iterator[pa.RecordBatch]:
        """Yield the same as parcels of parts, so that equal combinations of all pieces come together in one."""
        counted = self._count_rows(numbers)
        if counted is not None:
            words = join_words([words_of(column, index) for index, column in enumerate(counted.columns[:-1])])
            yield from pack_parts(counted, (words % np.uint64(parts)).astype(np.int32))

    def _count_rows(self, numbers: Iterable[pa.RecordBatch]) -> pa.Table | None:
        tables = [unite_groups([_with_ones(pa.Table.from_batches([batch]))]) for batch in self.read(numbers)]
        return unite_groups(tables) if tables else None

    def read_piece(self, piece: FilePiece) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a piece; texts have dictionaries."""
        stored = [each for each in self.schema if each.name not in piece.constants]
        if not stored:
            rows = pa.record_batch([pa.nulls(piece.rows)], names=[NUMBER])
            yield self._batch(rows, piece.constants)
            return
        names, texts = [each.name for each in stored], [each.name for each in stored if each.type in TEXTS]
        try:
            with pq.ParquetFile(piece.path, read_dictionary=texts) as file:
                batches = file.iter_batches(BATCH, row_groups=[piece.row_group], columns=names, use_threads=False)
                for batch in rows_between(batches, piece.first, piece.first + piece.rows):
                    yield self._batch(batch, piece.constants)
        except FileNotFoundError:
            raise InputError(
                f"a worker of Spark does not see the file {Path(piece.path).name!r}",
                hint="put it on a path that driver and workers share, or read it with the session and pass the frame",
            ) from None
        except (OSError, IndexError, KeyError, pa.ArrowException):  # what they say may hold a value
            raise InputError(
                f"a worker of Spark could not read the file {Path(piece.path).name!r}",
                hint="check that it is whole and that no program writes to it, and run it again",
            ) from None

    def _batch(self, batch: pa.RecordBatch, constants: Mapping[str, Any]) -> pa.RecordBatch:
        """Return rows of a file in the types of the table, with the columns that its folders name."""
        columns = [
            constant_column(constants[each.name], each.type, len(batch))
            if each.name in constants
            else _as_spark_reads(batch[each.name], each.type)
            for each in self.schema
        ]
        return pa.record_batch(columns, names=[f"c{index}" for index in range(len(columns))])


def rows_between(batches: Iterable[pa.RecordBatch], first: int, last: int) -> Iterator[pa.RecordBatch]:
    """Yield rows `first` to `last`, without `last`; batches after them are not read."""
    before = 0
    for batch in batches:
        begin, end = max(first - before, 0), min(last - before, len(batch))
        if begin < end:
            yield batch.slice(begin, end - begin)
        before += len(batch)
        if before >= last:
            return


def split_pieces(pieces: Sequence[FilePiece], tasks: int) -> tuple[FilePiece, ...]:
    """Return pieces for some tasks at least: large row groups are read in several, where there are few of them.

    To reach its rows a task decodes those before them, which takes a tenth of the time that counting them does.
    """
    times = -(-tasks // max(len(pieces), 1))
    file_pieces = []
    for piece in pieces:
        ends = np.linspace(0, piece.rows, max(min(times, piece.rows // BATCH), 1) + 1).astype(int).tolist()
        file_pieces += [replace(piece, first=start, rows=end - start) for start, end in pairwise(ends)]
    return tuple(file_pieces)


def find_pieces(
    paths: Sequence[Path], wanted: pa.Schema, session: Any, partitions: HivePartitions | None = None
) -> tuple[FilePiece, ...] | None:
    """Split files into pieces that workers read in the types of Spark; None where Spark must read them itself."""
    named = () if partitions is None else partitions.schema.names
    stored = pa.schema([each for each in wanted if each.name not in named])
    moments = any(pa.types.is_temporal(field.type) for field in wanted)
    if moments and session.conf.get(CALENDAR) == "LEGACY":
        return None
    pieces = []
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                if not _reads_as_spark(file, stored):
                    return None
                sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
        except (OSError, pa.ArrowException):  # encrypted, or of a kind that Arrow does not know
            return None
        constants = {} if partitions is None else partitions.of_file(path)
        absolute = str(path.absolute())
        pieces += [FilePiece(absolute, number, rows, constants=constants) for number, rows in enumerate(sizes) if rows]
    return split_pieces(pieces, int(session.sparkContext.defaultParallelism))


def _reads_as_spark(file: pq.ParquetFile, wanted: pa.Schema) -> bool:
    """Return whether workers read a Parquet file with the same values as Spark."""
    metadata = file.metadata.metadata or {}
    if any(key in metadata for key in OTHER_CALENDAR) or metadata.get(VERSION, b"4").startswith((b"1.", b"2.")):
        return False
    stored = file.schema_arrow
    kinds = {field.name: field.type for field in stored}
    physical = {file.schema.column(number).physical_type for number in range(len(file.schema))}
    return (
        len(kinds) == len(stored.names) == len(file.schema)  # each name once, and no column inside another
        and "INT96" not in physical
        and all(field.name in kinds and _same_values(kinds[field.name], field.type) for field in wanted)
    )


def _same_values(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether Arrow's reading of a column holds the values that Spark's has."""
    if isinstance(kind, pa.DictionaryType):
        kind = kind.value_type
    if wanted in TEXTS:
        return kind in TEXTS
    if kind == wanted and (kind in SAME or pa.types.is_decimal128(kind)):
        return True
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(wanted):
        return (kind.tz is None) == (wanted.tz is None) and kind.unit in ("ms", "us")
    return WIDENED.get(kind) == wanted


def _as_spark_reads(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a column in the type that the table says, text with its dictionary; zeros of both signs are one value."""
    if kind in TEXTS:
        return column if isinstance(column.type, pa.DictionaryType) else column.dictionary_encode()
    column = column if column.type == kind else column.cast(kind)
    return pc.add(column, pa.scalar(0, kind)) if pa.types.is_floating(kind) else column


def _with_ones(table: pa.Table) -> pa.Table:
    """Append a count of 1 to each row."""
    return table.append_column(NUMBER, pa.repeat(pa.scalar(1, pa.int64()), len(table)))


def unite_parcels(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the combinations of values that came together, each once; parts of parcels add up to how many there are."""
    _, rows = unpack_parcels(batches)
    if rows is not None:
        united = unite_groups([rows])
        for index, batch in enumerate(pack_table(united, part=0)):
            yield batch.set_column(0, PART, pa.array([0 if index else len(united)], pa.int32()))


def unite_groups(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the combinations of values of several tables, each once; the last column adds up how many rows have it."""
    together = join_tables(tables)
    *names, number = together.column_names
    united = together.group_by(names, use_threads=False).aggregate([(number, "sum")])
    return united.select([*names, f"{number}_sum"]).rename_columns([*names, number])
