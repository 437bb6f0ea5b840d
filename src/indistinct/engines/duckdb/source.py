"""A table that DuckDB reads where it lies: Parquet files, a relation, or an Arrow table."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.domain import Kind, kind_of
from indistinct.engines.groups import Groups
from indistinct.engines.spill import directory_of_process
from indistinct.errors import InputError, MissingExtraError, ParameterError
from indistinct.parallel import workers
from indistinct.tables.dictionaries import is_text
from indistinct.tables.files import repeating
from indistinct.tables.value import Reading, Table, check_names

# Rows that are looked at together.
BATCH = 1 << 17
SOURCE = "source"
PARQUET = (".parquet", ".pq")
LONGEST_LINE = 1 << 27


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DuckTable:
    """A table that is read whenever it is needed; `relation` is DuckDB's, `arrow` what its columns are in Arrow.

    `files` are Parquet files, whose rows come faster without DuckDB; `learned` is for the engine alone.
    """

    connection: Any
    relation: Any
    arrow: pa.Schema
    rows: int
    files: tuple[Path, ...] = ()
    reading: Reading = field(default_factory=Reading)
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

    def groups(self, columns: Sequence[str]) -> Groups:
        """Return the distinct combinations of some columns, and how many rows have each."""
        number = next(name for name in ("count", "rows", "\0rows") if name not in columns)
        names = ", ".join(map(quoted, columns))
        found = self.query(f"SELECT {names}, count(*) AS {quoted(number)} FROM {SOURCE} GROUP BY ALL")  # noqa: S608
        wanted = pa.schema([self.arrow.field(name) for name in columns])
        tables, counts = [], [np.zeros(0, dtype=np.int64)]
        for batch in found.to_arrow_reader(BATCH):
            table = pa.Table.from_batches([batch])
            tables.append(_in_codes(_as_read(table.select(list(columns)), wanted)))
            counts.append(table[number].to_numpy())
        whole = pa.concat_tables(tables) if tables else _as_read(wanted.empty_table(), wanted)
        return Groups(whole, np.concatenate(counts))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Return some columns of all rows, batch by batch."""
        wanted = pa.schema([self.arrow.field(name) for name in columns])
        if self.files:
            yield from _from_files(self.files, columns)
            return
        names = ", ".join(map(quoted, columns))
        for batch in self.query(f"SELECT {names} FROM {SOURCE}").to_arrow_reader(BATCH):  # noqa: S608
            yield _as_read(pa.Table.from_batches([batch]), wanted)

    def alone(self, column: str) -> int:
        """Return how many rows have a value in a column that no other row has."""
        name = quoted(column)
        once = f"SELECT 1 FROM {SOURCE} WHERE {name} IS NOT NULL GROUP BY {name} HAVING count(*) = 1"  # noqa: S608
        return int(self.query(f"SELECT count(*) FROM ({once})").fetchall()[0][0])  # noqa: S608


def quoted(name: str) -> str:
    """Return a column's name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def open_duck(source: Any, reading: Reading, *, memory: int) -> DuckTable | None:
    """Return a table that DuckDB can read, None for what it cannot."""
    if isinstance(source, DuckTable):
        return source
    duckdb = _imported()
    if reading != Reading(text=reading.text):
        raise ParameterError(
            "the engine duckdb reads tables by their own types, and some are declared here",
            hint="use the engine memory, or save the table as Parquet in the right types first",
        )
    if isinstance(source, Table | pa.Table):
        data = Table(source).data if isinstance(source, pa.Table) else source.data
        connection = _connected(duckdb, memory)
        return _with_text(DuckTable(connection, connection.from_arrow(data), data.schema, data.num_rows), reading)
    if is_relation(source):
        schema = source.limit(0).to_arrow_table().schema
        check_names(schema.names)
        rows = int(source.query(SOURCE, f"SELECT count(*) FROM {SOURCE}").fetchall()[0][0])  # noqa: S608
        return _with_text(DuckTable(None, source, schema, rows, reading=reading), reading)
    return _with_text(_parquet((Path(source),), reading, duckdb, memory), reading) if is_parquet(source) else None


def _with_text(table: DuckTable, reading: Reading) -> DuckTable:
    """Return a table; what is declared as text must be text already."""
    for name in reading.text:
        if name in table.columns and table.kinds[name] is not Kind.TEXT:
            raise ParameterError(
                f"column {name!r} is declared as text, and the engine duckdb reads it as {table.kinds[name]}",
                hint="use the engine memory, or save the column as text",
            )
    return table


def is_relation(source: Any) -> bool:
    """Return whether a source is a relation of DuckDB."""
    duckdb = sys.modules.get("duckdb")  # who has a relation has imported it
    return duckdb is not None and isinstance(source, duckdb.DuckDBPyRelation)


def is_parquet(source: Any) -> bool:
    """Return whether a source is a Parquet file."""
    return isinstance(source, str | Path) and Path(source).suffix.lower() in PARQUET and Path(source).is_file()


def parquet_bytes(source: str | Path) -> int:
    """Return how many bytes the columns of a Parquet file take before compression, at least four a cell."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(source) as file:
            told = file.metadata
            groups = (told.row_group(number).total_byte_size for number in range(told.num_row_groups))
            return max(sum(groups), 4 * told.num_rows * told.num_columns)
    except (pa.ArrowException, OSError):
        return 0  # whoever reads it says what is wrong


def open_written(file: Path, name: Path, schema: pa.Schema, *, memory: int) -> DuckTable:
    """Return a file that was just written and will be called `name`: text as text, and nothing guessed."""
    duckdb = _imported()
    if name.suffix.lower() in PARQUET:
        return _parquet((file,), Reading(), duckdb, memory)
    mark = "\t" if name.suffix.lower() == ".tsv" else ","
    connection = _connected(duckdb, memory)
    relation = connection.read_csv(
        str(file),
        header=True,
        delimiter=mark,
        quotechar='"',
        escapechar='"',
        na_values="",
        allow_quoted_nulls=len(schema.names) == 1,
        dtype=dict.fromkeys(schema.names, "VARCHAR"),
        auto_detect=False,
        columns=dict.fromkeys(schema.names, "VARCHAR"),
        max_line_size=LONGEST_LINE,
    )
    rows = int(relation.query(SOURCE, f"SELECT count(*) FROM {SOURCE}").fetchall()[0][0])  # noqa: S608
    return DuckTable(connection, relation, pa.schema([(each, pa.string()) for each in schema.names]), rows)


def _parquet(files: tuple[Path, ...], reading: Reading, duckdb: Any, memory: int) -> DuckTable:
    import pyarrow.parquet as pq

    schemas, rows = [], 0
    for path in files:
        try:
            with pq.ParquetFile(path) as file:
                schemas.append(file.schema_arrow.remove_metadata())
                rows += file.metadata.num_rows
        except (pa.ArrowException, OSError):
            raise InputError(
                f"{path} cannot be read as a Parquet file",
                hint="check that the file is complete and its suffix is right",
            ) from None
    check_names(schemas[0].names)
    connection = _connected(duckdb, memory)
    relation = connection.read_parquet([str(path) for path in files])
    return DuckTable(connection, relation, schemas[0], rows, files, reading)


def _from_files(files: Sequence[Path], columns: Sequence[str]) -> Iterator[pa.Table]:
    import pyarrow.parquet as pq

    for path in files:
        with pq.ParquetFile(path) as file:
            coded = repeating(file.metadata, file.schema_arrow)
        with pq.ParquetFile(path, read_dictionary=coded, pre_buffer=False) as file:
            for batch in file.iter_batches(BATCH, columns=list(columns)):
                yield pa.Table.from_batches([batch]).select(list(columns))


def _connected(duckdb: Any, memory: int) -> Any:
    """Return a connection to the database that all sources share, and with it the memory that they may take."""
    return _database(duckdb, memory).cursor()


@cache
def _database(duckdb: Any, memory: int) -> Any:
    settings = {
        "memory_limit": f"{memory}B",
        "threads": str(workers()),
        "preserve_insertion_order": "false",
        "enable_external_file_cache": "false",
        "temp_directory": str(directory_of_process()),
        # Its own cipher draws keys from a weak generator: better than plain text, and nothing to rely on.
        "temp_file_encryption": "true",
        "force_mbedtls_unsafe": "true",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    return duckdb.connect(config=settings)


def _as_read(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Return what DuckDB gives in the types that the source has."""
    plain = [
        pa.field(each.name, each.type.value_type if isinstance(each.type, pa.DictionaryType) else each.type)
        for each in wanted
    ]
    for place, each in enumerate(plain):
        column = table.column(place)
        if column.type != each.type:
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


def _imported() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("duckdb", extra="duckdb", purpose="tables larger than memory") from None
    return duckdb
