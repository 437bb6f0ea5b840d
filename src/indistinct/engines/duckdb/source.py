"""A table that DuckDB reads where it lies: files, a relation, a table of a database, or an Arrow table."""

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.groups import ValueGroups, alone_in_groups, once_in_groups
from indistinct.errors import InputError
from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes
from indistinct.machine.memory import give_memory_back, is_memory
from indistinct.machine.spill import PREFIX, spill_error
from indistinct.machine.stages import report_rows
from indistinct.recoding.transformations import Transformed
from indistinct.tables.dictionaries import is_text
from indistinct.tables.domain import plain_column
from indistinct.tables.files import head_of_parquet
from indistinct.tables.frames import flat
from indistinct.tables.several import Stamp
from indistinct.tables.snapshots import only_path
from indistinct.tables.value import Reading, SourceDetails

# Rows that are looked at together.
BATCH = 1 << 17
SOURCE = "source"


Arguments = ParamSpec("Arguments")


Result = TypeVar("Result")


def own_words(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Mark a function that asks DuckDB: errors of DuckDB in it become ours."""

    @functools.wraps(function)
    def run(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        try:
            return function(*arguments, **options)
        except Exception as error:
            duckdb = sys.modules.get("duckdb")  # it may not be installed; the error is raised where it is needed
            if duckdb is None or not isinstance(error, duckdb.Error):
                raise
            raise _translate_error(error, duckdb.OutOfMemoryException, duckdb.IOException) from None

    return run


def _translate_error(error: Exception, memory: type[Exception], disk: type[Exception]) -> Exception:
    """Convert an error of DuckDB to one of ours."""
    text = str(error).lower()
    if isinstance(error, memory):
        return spill_error(full=True) if "max_temp_directory_size" in text else MemoryError()
    if isinstance(error, disk) and PREFIX in text:
        return spill_error(full="space" in text or "too large" in text)
    if is_memory(error):
        return MemoryError()
    return InputError(
        f"DuckDB could not read the table: {type(error).__name__}",
        hint="check the file, or read it with the engine memory, which says more",
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DuckTable(SourceDetails):
    """A table that is read whenever it is needed; `relation` is DuckDB's, `arrow` what its columns are in Arrow.

    `parquet` are Parquet files that hold it, whose rows come faster without DuckDB. `files` are those that it came from
    and `stamps` what they were then; `left_out` are rows of a text file that belong to no person, `samples` are texts
    of its text columns. `spool` is what keeps a file of converted cells alive, `estimates` are numbers of distinct
    values by columns. Where columns are transformed, `arrow` has the types that they become and `stored` those that
    they have. `notes` are further remarks for users. `by_class` says that rows of a class lie together, as in a release
    that was just written.
    """

    home: ClassVar[str] = "duckdb"

    connection: Any
    relation: Any
    arrow: pa.Schema
    rows: int
    parquet: tuple[Path, ...] = ()
    reading: Reading = field(default_factory=Reading)
    files: tuple[Path, ...] = ()
    stamps: tuple[Stamp, ...] = ()
    left_out: tuple[str, ...] = ()
    samples: Mapping[str, pa.Array] | None = None
    spool: object = None
    stored: pa.Schema | None = None
    transformation: Transformed | None = None
    notes: tuple[str, ...] = ()
    by_class: bool = False
    estimates: dict[tuple[str, ...], tuple[int, dict[str, int]]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<DuckTable of {self.rows} rows: {', '.join(self.columns)}>"

    @property
    def path(self) -> Path | None:
        """Return the path of the table if it is a single file, else None."""
        return only_path(self.files)

    def query(self, sql: str) -> Any:
        """Return the result of a query that refers to the table as `source`."""
        return self.relation.query(SOURCE, sql)

    @own_words
    def groups(self, columns: Sequence[str]) -> ValueGroups:
        """Return the distinct combinations of some columns, and how many rows have each."""
        if self.parquet and columns:
            coded = coded_groups(self.batches(columns), columns, self.connection, self.arrow)
            if coded is None and self.by_class:
                coded = gathered_groups(self.batches(columns, size=FEW_ROWS), columns)
            if coded is not None:
                return coded
        number = next(name for name in ("count", "rows", "\0rows") if name not in columns)
        names = ", ".join(map(quote_name, columns))
        grouped = self.query(f"SELECT {names}, count(*) AS {quote_name(number)} FROM {SOURCE} GROUP BY ALL")  # noqa: S608
        wanted = self._wanted(columns)
        tables, counts = [], [np.zeros(0, dtype=np.int64)]
        for batch in grouped.to_arrow_reader(BATCH):
            table = pa.Table.from_batches([batch])
            tables.append(_in_codes(self._published(_as_read(table.select(list(columns)), wanted))))
            counts.append(table[number].to_numpy())
        whole = pa.concat_tables(tables) if tables else self._published(_as_read(wanted.empty_table(), wanted))
        return ValueGroups(whole, np.concatenate(counts))

    def batches(self, columns: Sequence[str], *, size: int = BATCH) -> Iterator[pa.Table]:
        """Return some columns of all rows, batch by batch; of Parquet files a batch has `size` rows at most."""
        wanted, done = self._wanted(columns), 0
        for batch in parquet_batches(self.parquet, wanted, size=size) if self.parquet else self._queried(wanted):
            yield self._published(batch)
            done += batch.num_rows
            report_rows(done, of=self.rows)

    def transformed(self, transformed: Transformed) -> "DuckTable":
        """Return the same table with columns that are transformed wherever they are read."""
        types = transformed.schema(self.arrow)
        return replace(self, arrow=types, stored=self.arrow, transformation=transformed, estimates={})

    def _wanted(self, columns: Sequence[str]) -> pa.Schema:
        """Return the stored types of some columns."""
        return pa.schema([(self.stored or self.arrow).field(name) for name in columns])

    def _published(self, table: pa.Table) -> pa.Table:
        """Return some rows, or groups, with their columns transformed."""
        return table if self.transformation is None else self.transformation.table(table)

    def _queried(self, wanted: pa.Schema) -> Iterator[pa.Table]:
        """Yield the requested columns in batches."""
        names = ", ".join(map(quote_name, wanted.names))
        for batch in self.query(f"SELECT {names} FROM {SOURCE}").to_arrow_reader(BATCH):  # noqa: S608
            yield _as_read(pa.Table.from_batches([batch]), wanted)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export all rows through Arrow's interface, for libraries that need a table in memory."""
        plain = pa.schema([(each.name, getattr(each.type, "value_type", each.type)) for each in self.arrow])
        rows = (batch for table in self.batches(self.columns) for batch in table.cast(plain).to_batches())
        return pa.RecordBatchReader.from_batches(plain, rows).__arrow_c_stream__(requested_schema)

    @own_words
    def alone(self, column: str) -> int:
        """Return how many rows have a value in a column that no other row has."""
        if self.transformation is not None and column in self.transformation.changes:
            return alone_in_groups(self.groups, column)
        name = quote_name(column)
        once = f"SELECT 1 FROM {SOURCE} WHERE {name} IS NOT NULL GROUP BY {name} HAVING count(*) = 1"  # noqa: S608
        return int(self.query(f"SELECT count(*) FROM ({once})").fetchall()[0][0])  # noqa: S608

    def once(self, columns: Sequence[str]) -> int:
        """Return how many rows have a combination of values that no other row has; missing is a value."""
        if self.transformation is not None and set(columns) & set(self.transformation.changes):
            return once_in_groups(self.groups, columns)
        names = ", ".join(map(quote_name, columns))
        once = f"SELECT 1 FROM {SOURCE} GROUP BY {names} HAVING count(*) = 1"  # noqa: S608
        return int(self.query(f"SELECT count(*) FROM ({once})").fetchall()[0][0])  # noqa: S608


def quote_name(name: str) -> str:
    """Return a column's name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def parquet_batches(files: Sequence[Path], wanted: pa.Schema, *, size: int = BATCH) -> Iterator[pa.Table]:
    """Yield some columns of Parquet files; text comes as codes where a file has it so."""
    import pyarrow.parquet as pq

    columns = wanted.names
    for path in files:
        coded = head_of_parquet(path, columns).coded
        with pq.ParquetFile(path, read_dictionary=coded, pre_buffer=False) as file:
            for batch in file.iter_batches(size, columns=columns):
                table = pa.Table.from_batches([batch]).select(columns).replace_schema_metadata()
                yield _as_read(flat(table), wanted, coded=True)


def _as_read(table: pa.Table, wanted: pa.Schema, *, coded: bool = False) -> pa.Table:
    """Cast a result of DuckDB to the types of the source; text may stay dictionary-encoded (`coded`)."""
    plain = [
        pa.field(each.name, each.type.value_type if isinstance(each.type, pa.DictionaryType) else each.type)
        for each in wanted
    ]
    for index, each in enumerate(plain):
        column = table.column(index)
        if column.type != each.type and not (coded and is_text(column.type)):
            try:
                table = table.set_column(index, each, column.cast(each.type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise InputError(
                    f"column {each.name!r} of type {each.type} cannot be counted by the engine duckdb",
                    hint="give it another type or role, or use the engine memory",
                ) from None
    return table


def _in_codes(table: pa.Table) -> pa.Table:
    """Return a batch with its text as codes, which take less memory than as many texts."""
    columns = [column.dictionary_encode() if is_text(column.type) else column for column in table.columns]
    return pa.table(columns, names=table.column_names)


# Columns that share a word, the bits of each, and so the codes of a column; 0 means missing.
TOGETHER, BITS = 4, 16
MAX_VALUES = (1 << BITS) - 1
# A batch with a larger share of unique values is not dictionary-encoded.
FEW = 0.1
# Groups of batches are collected if they are at most this share of the rows; then a batch has this number of rows.
MAX_SHARE_OF_GROUPS, FEW_ROWS = 0.5, 1 << 14
# Batches after which what they needed is given back.
GIVEN_BACK = 16
NUMBER = "rows"


class TooManyValuesError(Exception):
    """A column has more values than codes are for."""


@dataclass(slots=True)
class ColumnCodes:
    """The values of a column that occurred so far; the code of one is its place, counted from 1."""

    values: pa.Array | None = None

    def encode(self, column: pa.ChunkedArray) -> Codes:
        """Return the code of every cell of a batch."""
        if not isinstance(column.type, pa.DictionaryType):
            column = column.dictionary_encode()
        parts = [self._of_chunk(chunk) for chunk in column.chunks]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def _of_chunk(self, chunk: pa.DictionaryArray) -> Codes:
        """Return the codes of a chunk, and add its new values to the known ones."""
        dictionary = chunk.dictionary
        known = dictionary.slice(0, 0) if self.values is None else self.values
        positions = pc.index_in(dictionary, value_set=known)
        new = dictionary.filter(pc.and_(positions.is_null(), dictionary.is_valid()))
        if len(new):
            known = pa.concat_arrays([known, new.unique()])
            positions = pc.index_in(dictionary, value_set=known)
        self.values = known
        if len(known) > MAX_VALUES or (len(chunk) > MAX_VALUES and len(dictionary) > FEW * len(chunk)):
            raise TooManyValuesError
        codes = np.append(pc.fill_null(positions, -1).to_numpy(zero_copy_only=False) + 1, 0).astype(np.int64)
        return codes[pc.fill_null(chunk.indices, len(dictionary)).to_numpy(zero_copy_only=False)]

    def decode(self, codes: Codes, kind: pa.DataType) -> pa.Array:
        """Return the values of codes, text as a dictionary."""
        values = pa.nulls(0, kind) if self.values is None else self.values
        positions = pa.array(codes - 1, pa.int32(), mask=codes == 0)
        return pa.DictionaryArray.from_arrays(positions, values) if is_text(values.type) else values.take(positions)


@dataclass(slots=True)
class _Words:
    """Batches of rows as words, for DuckDB; what goes wrong on the way is kept, for it comes back in other words."""

    batches: Iterable[pa.Table]
    columns: Sequence[str]
    codes: dict[str, ColumnCodes]
    failure: InputError | TooManyValuesError | None = field(default=None)

    def reader(self) -> pa.RecordBatchReader:
        """Return the packed codes as a reader of Arrow, a column per word."""
        schema = pa.schema([(f"w{word}", pa.int64()) for word in range(-(-len(self.columns) // TOGETHER))])
        return pa.RecordBatchReader.from_batches(schema, self._read(schema))

    def _read(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield batches with the codes of several columns packed into words."""
        try:
            for batch in self.batches:
                words = []
                for first in range(0, len(self.columns), TOGETHER):
                    word = np.zeros(len(batch), dtype=np.int64)
                    for name in self.columns[first : first + TOGETHER]:
                        word <<= BITS
                        word |= self.codes[name].encode(plain_column(name, batch[name]))
                    words.append(pa.array(word))
                yield pa.record_batch(words, schema=schema)
        except (InputError, TooManyValuesError) as error:
            self.failure = error
            raise


def coded_groups(
    batches: Iterable[pa.Table], columns: Sequence[str], connection: Any, kinds: pa.Schema
) -> ValueGroups | None:
    """Return the distinct combinations of some columns and their numbers of rows, None if a column has many values."""
    import duckdb

    codes = {name: ColumnCodes() for name in columns}
    words = _Words(batches, columns, codes)
    reader = words.reader()
    names = ", ".join(reader.schema.names)
    query = f"SELECT {names}, count(*) AS {NUMBER} FROM coded GROUP BY ALL"  # noqa: S608
    try:
        grouped = connection.from_arrow(reader).query("coded", query).to_arrow_table()
    except duckdb.Error:
        if isinstance(words.failure, TooManyValuesError):
            return None
        if words.failure is not None:
            raise words.failure from None
        raise
    arrays = {}
    for index, name in enumerate(columns):
        first = index // TOGETHER * TOGETHER
        shift = BITS * (min(first + TOGETHER, len(columns)) - 1 - index)
        own = (grouped[f"w{index // TOGETHER}"].to_numpy() >> shift) & MAX_VALUES
        arrays[name] = codes[name].decode(own, kinds.field(name).type)
    return ValueGroups(pa.table(arrays), grouped[NUMBER].to_numpy())


def gathered_groups(batches: Iterable[pa.Table], columns: Sequence[str]) -> ValueGroups | None:
    """Return the groups of every batch, one batch after the other; None if they are hardly fewer than the rows.

    Where equal rows lie together, a group is in one batch, or in two that follow each other. DuckDB, which does not
    know that, would keep every text of every group in its own memory, beyond which it cannot go.
    """
    tables, counts, rows, total = [], [], 0, 0
    for batch in batches:
        plain = [_one_chunk(plain_column(name, batch[name])) for name in columns]
        try:
            coded = [each.dictionary_encode(null_encoding="encode") for each in plain]
        except pa.ArrowNotImplementedError:
            return None
        grouping = group_rows([each.indices.to_numpy() for each in coded], [len(each.dictionary) for each in coded])
        rows, total = rows + len(batch), total + len(grouping)
        if total > MAX_SHARE_OF_GROUPS * rows:
            return None
        firsts = pa.array(grouping.first)
        tables.append(_in_codes(pa.table([each.take(firsts) for each in plain], names=list(columns))))
        counts.append(grouping.counts)
        del batch, plain, coded
        if len(tables) % GIVEN_BACK == 0:
            give_memory_back(rows)  # texts of rows are many times those of groups, which lie between them
    give_memory_back(rows)
    return ValueGroups(pa.concat_tables(tables), np.concatenate(counts)) if tables else None


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """Return a column of a batch as one array with plain text, because dictionaries may repeat a value."""
    plain = column.cast(column.type.value_type) if isinstance(column.type, pa.DictionaryType) else column
    return pa.concat_arrays(plain.chunks) if plain.num_chunks != 1 else plain.chunk(0)
