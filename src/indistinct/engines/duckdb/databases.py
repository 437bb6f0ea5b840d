"""Tables of DuckDB's own database files, which the engine duckdb opens for reading only."""

import re
from pathlib import Path
from typing import Any

from indistinct.engines.base import DatabaseTable
from indistinct.engines.duckdb.source import quote_name
from indistinct.errors import InputError, ParameterError
from indistinct.schema import did_you_mean

SUFFIXES = (".duckdb", ".ddb")
ALIAS = "file"
NAME = r'"(?:[^"]|"")+"|[^".]+'


def is_database(source: Any) -> bool:
    """Return whether a source is a database file, or a table of one."""
    place = source.database if isinstance(source, DatabaseTable) else source
    return isinstance(place, str | Path) and "://" not in str(place) and Path(place).suffix.lower() in SUFFIXES


def relation_of(connection: Any, source: DatabaseTable) -> Any:
    """Return a table or a view of a database; without a name, the only one that there is."""
    import duckdb

    if source.query is not None:
        raise ParameterError(
            "a query is for PostgreSQL; of a DuckDB file a table is named",
            hint="give the relation itself: duckdb.connect(path).sql(query)",
        )
    path = Path(source.database)
    place = str(path).replace("'", "''")
    try:
        connection.execute(f"ATTACH '{place}' AS {ALIAS} (READ_ONLY)")
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
    """Return schema and name of the table that is meant."""
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
