"""A table that DuckDB reads where it lies: Parquet files, a relation, or an Arrow table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.domain import Kind, kind_of
from indistinct.engines.groups import Groups
from indistinct.errors import InputError, MissingExtraError
from indistinct.tables.value import Reading, Table, check_names

# Rows that are looked at together.
BATCH = 1 << 17
SOURCE = "source"


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
        table = found.to_arrow_table()
        wanted = pa.schema([self.arrow.field(name) for name in columns])
        return Groups(_as_read(table.select(list(columns)), wanted), table[number].to_numpy())

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
    if isinstance(source, Table):
        connection = _connected(duckdb, memory)
        return DuckTable(connection, connection.from_arrow(source.data), source.data.schema, source.rows)
    if isinstance(source, pa.Table):
        return open_duck(Table(source), reading, memory=memory)
    if isinstance(source, duckdb.DuckDBPyRelation):
        schema = source.limit(0).to_arrow_table().schema
        check_names(schema.names)
        return DuckTable(None, source, schema, int(source.count("*").fetchall()[0][0]), reading=reading)
    if isinstance(source, str | Path) and Path(source).suffix.lower() in (".parquet", ".pq"):
        return _parquet((Path(source),), reading, duckdb, memory)
    return None


def _parquet(files: tuple[Path, ...], reading: Reading, duckdb: Any, memory: int) -> DuckTable:
    import pyarrow.parquet as pq

    schemas, rows = [], 0
    for path in files:
        with pq.ParquetFile(path) as file:
            schemas.append(file.schema_arrow.remove_metadata())
            rows += file.metadata.num_rows
    check_names(schemas[0].names)
    connection = _connected(duckdb, memory)
    relation = connection.read_parquet([str(path) for path in files])
    return DuckTable(connection, relation, schemas[0], rows, files, reading)


def _from_files(files: Sequence[Path], columns: Sequence[str]) -> Iterator[pa.Table]:
    import pyarrow.parquet as pq

    from indistinct.tables.files import repeating

    for path in files:
        with pq.ParquetFile(path) as file:
            coded = repeating(file.metadata, file.schema_arrow)
        with pq.ParquetFile(path, read_dictionary=coded, pre_buffer=False) as file:
            for batch in file.iter_batches(BATCH, columns=list(columns)):
                yield pa.Table.from_batches([batch]).select(list(columns))


def _connected(duckdb: Any, memory: int) -> Any:
    settings = {"memory_limit": f"{memory}B", "preserve_insertion_order": "false"}
    return duckdb.connect(config={**settings, "enable_external_file_cache": "false"})


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


def _imported() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("the engine duckdb needs DuckDB", hint='pip install "indistinct[duckdb]"') from None
    return duckdb
