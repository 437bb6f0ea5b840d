"""A table that DuckDB reads where it lies: files, a relation, a table of a database, or an Arrow table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.engines.duckdb.coded import coded_groups
from indistinct.engines.duckdb.failures import own_words
from indistinct.engines.groups import Groups
from indistinct.engines.transformed import alone_in_groups, once_in_groups
from indistinct.errors import InputError
from indistinct.machine.stages import report_rows
from indistinct.recoding.transformations import Transformed
from indistinct.tables.dictionaries import is_text
from indistinct.tables.domain import Kind, kind_of
from indistinct.tables.files import head_of_parquet
from indistinct.tables.frames import flat
from indistinct.tables.several import Stamp
from indistinct.tables.value import Reading, SourceDetails

# Rows that are looked at together.
BATCH = 1 << 17
SOURCE = "source"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DuckTable(SourceDetails):
    """A table that is read whenever it is needed; `relation` is DuckDB's, `arrow` what its columns are in Arrow.

    `parquet` are Parquet files that hold it, whose rows come faster without DuckDB. `files` are those that it came from
    and `stamps` what they were then; `left_out` says what of a text file is nobody's row, `samples` are texts of its
    columns of text. `spool` is what keeps a file of converted cells alive, `learned` is for the engine alone. Where
    columns are transformed, `arrow` has the types that they become and `stored` those that they have. `notes` are what
    else a reader must know.
    """

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
    learned: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<DuckTable of {self.rows} rows: {', '.join(self.columns)}>"

    @property
    def path(self) -> Path | None:
        """Return where the table lies, if that is one file."""
        return self.files[0] if len(self.files) == 1 else None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the column names in order."""
        return tuple(self.arrow.names)

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Return how the values of each column are compared."""
        return {column.name: kind_of(column.type) for column in self.arrow}

    def query(self, sql: str) -> Any:
        """Return the result of a query in which the table is called `source`."""
        return self.relation.query(SOURCE, sql)

    @own_words
    def groups(self, columns: Sequence[str]) -> Groups:
        """Return the distinct combinations of some columns, and how many rows have each."""
        if self.parquet and columns:
            found = coded_groups(self.batches(columns), columns, self.connection, self.arrow)
            if found is not None:
                return found
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
        return Groups(whole, np.concatenate(counts))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Return some columns of all rows, batch by batch."""
        wanted, done = self._wanted(columns), 0
        for batch in parquet_batches(self.parquet, wanted) if self.parquet else self._queried(wanted):
            yield self._published(batch)
            done += batch.num_rows
            report_rows(done, of=self.rows)

    def transformed(self, transformed: Transformed) -> "DuckTable":
        """Return the same table with columns that are transformed wherever they are read."""
        types = transformed.schema(self.arrow)
        return replace(self, arrow=types, stored=self.arrow, transformation=transformed, learned={})

    def _wanted(self, columns: Sequence[str]) -> pa.Schema:
        """Return the types in which some columns are stored."""
        return pa.schema([(self.stored or self.arrow).field(name) for name in columns])

    def _published(self, table: pa.Table) -> pa.Table:
        """Return some rows, or groups, with their columns transformed."""
        return table if self.transformation is None else self.transformation.table(table)

    def _queried(self, wanted: pa.Schema) -> Iterator[pa.Table]:
        names = ", ".join(map(quote_name, wanted.names))
        for batch in self.query(f"SELECT {names} FROM {SOURCE}").to_arrow_reader(BATCH):  # noqa: S608
            yield _as_read(pa.Table.from_batches([batch]), wanted)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Give all rows to whoever speaks Arrow's interface, as what needs a table in memory does."""
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


def parquet_batches(files: Sequence[Path], wanted: pa.Schema) -> Iterator[pa.Table]:
    """Yield some columns of Parquet files; text comes as codes where a file has it so."""
    import pyarrow.parquet as pq

    columns = wanted.names
    for path in files:
        coded = head_of_parquet(path, columns).coded
        with pq.ParquetFile(path, read_dictionary=coded, pre_buffer=False) as file:
            for batch in file.iter_batches(BATCH, columns=columns):
                table = pa.Table.from_batches([batch]).select(columns).replace_schema_metadata()
                yield _as_read(flat(table), wanted, coded=True)


def _as_read(table: pa.Table, wanted: pa.Schema, *, coded: bool = False) -> pa.Table:
    """Return what DuckDB gives in the types that the source has; text may stay `coded`."""
    plain = [
        pa.field(each.name, each.type.value_type if isinstance(each.type, pa.DictionaryType) else each.type)
        for each in wanted
    ]
    for place, each in enumerate(plain):
        column = table.column(place)
        if column.type != each.type and not (coded and is_text(column.type)):
            try:
                table = table.set_column(place, each, column.cast(each.type))
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
