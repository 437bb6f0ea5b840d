"""What the engine duckdb opens: files, relations, tables of its databases, and what is in memory already."""

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.engines.base import (
    DatabaseTable,
    PublishedFile,
    as_written,
    is_database,
    is_readable_by_duckdb,
    is_relation,
    place_of,
)
from indistinct.engines.duckdb.source import BATCH, SOURCE, DuckTable, quote_name
from indistinct.engines.sampling import draw_of, drawn_rows
from indistinct.errors import InputError, MissingExtraError, ParameterError, did_you_mean
from indistinct.machine.memory import is_memory, out_of_memory
from indistinct.machine.spill import create_nameless, directory_of_process
from indistinct.machine.threads import workers
from indistinct.tables.dictionaries import is_text
from indistinct.tables.files import head_of_parquet
from indistinct.tables.frames import flat, is_frame
from indistinct.tables.opening import check_file, delimited_reading, open_table
from indistinct.tables.row_groups import write_blocks
from indistinct.tables.several import (
    PARQUET,
    HivePartitions,
    Stamp,
    check_alike,
    files_of,
    find_partitions,
    is_delimited,
    require_unchanged,
)
from indistinct.tables.streamed import InBlocks, delimited_blocks, typed_blocks
from indistinct.tables.value import Reading, choose, is_table

LONGEST_LINE = 1 << 27
# The column of a file's path, and the table of what folders name, while both are joined.
FILE, PARTITIONS = "indistinct_file", "indistinct_partitions"


def open_duck(source: Any, reading: Reading, *, memory: int) -> DuckTable | None:
    """Return a table that DuckDB can read, None for what it cannot."""
    if isinstance(source, DuckTable):
        return source
    duckdb = _import_duckdb()
    if is_relation(source):
        return _apply_declarations(_from_relation(None, source, reading), duckdb, memory)
    if is_database(source):
        given = source if isinstance(source, DatabaseTable) else DatabaseTable(source, "")
        check_file(Path(given.database))
        # One of its own: what DuckDB knows of a file, and its lock on it, last as long as the database they belong to.
        connection, stamp = _start_database(duckdb, memory), Stamp.of(Path(given.database))
        table = _from_relation(connection, relation_of(connection, given), reading)
        return _apply_declarations(replace(table, files=(stamp.path,), stamps=(stamp,)), duckdb, memory)
    if isinstance(source, DatabaseTable):
        return None
    files = files_of(place_of(source))
    if files is not None:
        partitions = find_partitions(place_of(source), files)
        is_published = isinstance(source, PublishedFile)
        return _from_files(files, reading, duckdb, memory, published=is_published, partitions=partitions)
    if not is_table(source) and not is_frame(source):
        return None
    data = open_table(source, reading=None if is_table(source) else reading).data
    connection = _connect(duckdb, memory)
    return DuckTable(connection, connection.from_arrow(data), data.schema, data.num_rows, reading=reading)


def open_written(file: Path, name: Path, schema: pa.Schema, *, memory: int) -> DuckTable:
    """Open a staged file as a reader would: texts as texts, no type is guessed. `name` is the path it will get."""
    duckdb = _import_duckdb()
    if name.suffix.lower() in PARQUET:
        files = files_of(file) or (file,)
        partitions = find_partitions(file, files, schema) if file.is_dir() else None
        table = _parquet(files, Reading(), duckdb, memory, partitions=partitions)
        return replace(table, arrow=as_written(table.arrow, schema), by_class=partitions is None)
    mark = "\t" if name.suffix.lower() == ".tsv" else ","
    connection = _connect(duckdb, memory)
    relation = connection.read_csv(
        _without_pattern(file),
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
    arrow = as_written(pa.schema([(each, pa.string()) for each in schema.names]), schema)
    return DuckTable(connection, relation, arrow, _rows_of(relation))


def _from_relation(connection: Any, relation: Any, reading: Reading) -> DuckTable:
    """Open a relation of DuckDB as a source."""
    given = relation.limit(0).to_arrow_table()
    schema = flat(given.select(choose(given.column_names, reading.columns or None))).schema
    return DuckTable(connection, relation, schema, _rows_of(relation), reading=reading)


def _rows_of(relation: Any) -> int:
    return int(relation.query(SOURCE, f"SELECT count(*) FROM {SOURCE}").fetchall()[0][0])  # noqa: S608


def _from_files(
    files: tuple[Path, ...],
    reading: Reading,
    duckdb: Any,
    memory: int,
    *,
    published: bool,
    partitions: HivePartitions | None,
) -> DuckTable | None:
    """Open files as a table of DuckDB; None if DuckDB cannot read one of them, so that the caller uses memory."""
    for path in files:
        check_file(path)
    if not all(map(is_readable_by_duckdb, files)):
        return None
    stamps = tuple(map(Stamp.of, files))
    if not is_delimited(files[0]):
        opened = _parquet(files, reading, duckdb, memory, partitions=partitions)
        table = _apply_declarations(opened, duckdb, memory)
        return replace(table, files=files, stamps=stamps)
    with require_unchanged(stamps):
        blocks = delimited_blocks(files, delimited_reading(files[0], reading), published=published)
        table = _spool_cells(blocks, duckdb, memory)
    table = replace(table, reading=reading, files=files, stamps=stamps)
    return replace(table, left_out=blocks.left_out, samples=blocks.samples(), notes=blocks.notes)


def _apply_declarations(table: DuckTable, duckdb: Any, memory: int) -> DuckTable:
    """Return a table that already has types with declarations applied: unchanged, or converted into a new file."""
    reading = table.reading
    choose(table.columns, reading.named_columns)
    if reading.of_cells == Reading(text=reading.text) and all(
        is_text(table.arrow.field(name).type) for name in reading.text if name in table.columns
    ):
        return table
    with require_unchanged(table.stamps):
        blocks = typed_blocks(partial(table.batches, table.columns), table.arrow, reading)
        made = _spool_cells(blocks, duckdb, memory)
    return replace(made, reading=reading, files=table.files, stamps=table.stamps)


def _parquet(
    files: tuple[Path, ...], reading: Reading, duckdb: Any, memory: int, *, partitions: HivePartitions | None = None
) -> DuckTable:
    """Open Parquet files as one table of DuckDB, with the values of partition folders as columns."""
    schemas, rows, columns = list[pa.Schema](), 0, reading.columns or None
    for path in files:
        head = head_of_parquet(path, columns if partitions is None else partitions.file_columns(columns))
        schemas.append(flat(head.schema.empty_table()).schema)
        rows += head.rows
        check_alike(files[0], schemas[0], path, schemas[-1])
    connection = _connect(duckdb, memory)
    if partitions is None:
        paths = list(map(_without_pattern, files))
        relation = connection.read_parquet(paths, union_by_name=len(files) > 1, hive_partitioning=False)
        return DuckTable(connection, relation, schemas[0], rows, files, reading)
    whole = pa.schema([*schemas[0], *partitions.schema])
    schema = pa.schema([whole.field(name) for name in choose(whole.names, columns)])
    # DuckDB joins the values of folders to the rows; its own reading of them has other types.
    return DuckTable(connection, _join_partitions(connection, files, partitions), schema, rows, reading=reading)


def _without_pattern(path: Path) -> str:
    """Escape `*`, `?` and `[` in a path, which DuckDB would read as a pattern."""
    text = str(path)
    if os.sep != "\\" and "\\" in text and glob.has_magic(text):
        raise InputError(
            f"the engine duckdb cannot read {path}: a path with a backslash and one of * ? [ is a pattern for DuckDB",
            hint="rename the file or its folder, or use the engine memory",
        )
    return re.sub(r"([*?[])", r"[\1]", text)


def _join_partitions(connection: Any, files: Sequence[Path], partitions: HivePartitions) -> Any:
    """Return the rows of files with the columns that their folders name."""
    paths = pa.array(list(map(str, files)))
    cells = zip(*partitions.values.values(), strict=True)
    columns = [pa.array(values, field.type) for values, field in zip(cells, partitions.schema, strict=True)]
    connection.register(PARTITIONS, pa.table([paths, *columns], names=[FILE, *partitions.schema.names]))
    rows = f"read_parquet($1, union_by_name = true, hive_partitioning = false, filename = '{FILE}')"
    joined = f"SELECT * EXCLUDE ({FILE}) FROM {rows} JOIN {PARTITIONS} USING ({FILE})"  # noqa: S608
    return connection.sql(joined, params=[list(map(_without_pattern, files))])


def draw_duck(table: DuckTable, share: float, *, person: Sequence[str], memory: int) -> DuckTable:
    """Return a sample of a table in a Parquet file without a name; people who were not drawn are not in it."""
    spool = create_nameless("sample.parquet")
    try:
        with require_unchanged(table.stamps):
            draw = draw_of(share, table.rows, partial(table.batches, person), person=person)
            rows = (_plain(batch) for batch in drawn_rows(table.batches(table.columns), draw))
            write_blocks(rows, _plain(table.arrow.empty_table()).schema, spool.path)
        made = _parquet((spool.path,), Reading(), _import_duckdb(), memory)
    except BaseException:
        spool.close()
        raise
    return replace(
        made,
        spool=spool,
        reading=table.reading,
        files=table.files,
        stamps=table.stamps,
        left_out=table.left_out,
        samples=table.samples,
        notes=table.notes,
    )


def _plain(rows: pa.Table) -> pa.Table:
    """Return rows with plain text, because a file would keep every value of a dictionary."""
    plain = pa.schema([(each.name, getattr(each.type, "value_type", each.type)) for each in rows.schema])
    return rows.cast(plain)


def _spool_cells(blocks: InBlocks, duckdb: Any, memory: int) -> DuckTable:
    """Convert the cells of a text file into a temporary Parquet file, and return a table that reads it."""
    spool = create_nameless("rows.parquet")
    try:
        write_blocks(blocks.blocks(), blocks.schema, spool.path)
        table = _parquet((spool.path,), blocks.reading, duckdb, memory)
        _check_doubtful(blocks, table)
        blocks.check_forms()
    except BaseException:
        spool.close()
        raise
    return replace(table, spool=spool)


def _check_doubtful(found: InBlocks, table: DuckTable) -> None:
    """Raise `InputError` if a date format fits many of a column's distinct texts, but not all of them."""
    for name, plan in found.doubtful.items():
        result = table.query(f"SELECT DISTINCT {quote_name(name)} FROM {SOURCE} WHERE {quote_name(name)} IS NOT NULL")  # noqa: S608
        distinct = (batch.column(0).cast(pa.string()) for batch in result.to_arrow_reader(BATCH))
        blocks = (plan.evidence.encode(batch[name]) for batch in table.batches([name]))
        with found.located_misfits():
            plan.check_doubt(distinct, blocks)


def _connect(duckdb: Any, memory: int) -> Any:
    """Return a connection to the database that all sources share, and with it the memory that they may take."""
    return _shared_database(duckdb, memory).cursor()


@cache
def _shared_database(duckdb: Any, memory: int) -> Any:
    return _start_database(duckdb, memory)


def _start_database(duckdb: Any, memory: int) -> Any:
    """Start DuckDB with limits of memory and threads, encrypted temporary files, and no automatic extensions."""
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


def _import_duckdb() -> Any:
    """Import DuckDB; raise `MissingExtraError` if it is not installed."""
    try:
        import duckdb
    except ImportError as error:
        if is_memory(error):
            raise out_of_memory("loading DuckDB") from None
        raise MissingExtraError("duckdb", extra="duckdb", purpose="the engine duckdb") from None
    return duckdb


ALIAS = "file"
NAME = r'"(?:[^"]|"")+"|[^".]+'


def relation_of(connection: Any, source: DatabaseTable) -> Any:
    """Return a table or a view of a database; without a name, the only one that there is."""
    import duckdb

    if source.query is not None:
        raise ParameterError(
            "a query is for PostgreSQL; of a DuckDB file a table is named",
            hint="give the relation itself: duckdb.connect(path).sql(query)",
        )
    path = Path(source.database)
    text = str(path).replace("'", "''")
    try:
        connection.execute(f"ATTACH '{text}' AS {ALIAS} (READ_ONLY)")
    except duckdb.Error:
        raise InputError(
            f"the database {path} cannot be opened for reading",
            hint="check that it is a DuckDB file of this version, and that no other program or connection writes to it",
        ) from None
    known = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = $1 AND NOT internal UNION ALL "
        "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = $1 AND NOT internal ORDER BY ALL",
        [ALIAS],
    ).fetchall()
    schema, table = _find_table(source.table or "", known, path)
    return connection.sql(f"SELECT * FROM {ALIAS}.{quote_name(schema)}.{quote_name(table)}")  # noqa: S608


def _find_table(text: str, known: list[tuple[str, str]], path: Path) -> tuple[str, str]:
    """Return schema and name of the requested table of a database file."""
    names = [table if schema == "main" else f"{schema}.{table}" for schema, table in known]
    listed = f"it has {', '.join(names)}" if names else "it has none"
    if not text:
        if len(known) != 1:
            raise ParameterError(
                f"the database {path} has {len(known)} tables: name one", hint=f'table="…", or --table; {listed}'
            )
        return known[0]
    if not re.fullmatch(rf"(?:{NAME})(?:\.(?:{NAME}))?", text):
        raise ParameterError(f"{text!r} is not the name of a table", hint="write it as clinic.visits")
    parts = [part[1:-1].replace('""', '"') if part.startswith('"') else part for part in re.findall(NAME, text)]
    schema, table = parts if len(parts) == 2 else ("main", parts[0])
    for one, other in known:
        if (one.casefold(), other.casefold()) == (schema.casefold(), table.casefold()):
            return one, other
    raise InputError(f"the database {path} has no table {text!r}", hint=did_you_mean(text, names) or listed)
