"""Releases in a PostgreSQL database: new tables, filled, read back and renamed in one transaction.

Until the commit no other session sees them, and a kill at any moment leaves the old tables or the new ones. The
certificate is the comment of the first table: it is created and removed with the table, and every user who may see the
table may read it.
"""

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain

import pyarrow as pa

from indistinct.engines.base import DatabaseTable, table_name
from indistinct.engines.postgres.columns import quote_name
from indistinct.engines.postgres.session import DatabaseSession, connect
from indistinct.engines.postgres.source import PostgresTable, open_relation, with_zones
from indistinct.errors import OutputError, ParameterError
from indistinct.recoding.outputs import MAIN

# What a table is made of for columns of an Arrow type; an unsigned number needs the next larger type.
WIDENED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.float16(): pa.float32()}
TYPES = {
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.time64("us"): "time",
    pa.string(): "text",
}
LONGEST_NAME = 63
EXISTING = (
    "SELECT obj_description(pg_class.oid, 'pg_class') AS comment FROM pg_catalog.pg_class WHERE oid = to_regclass($1)"
)
# One publisher at a time for each table; the lock ends with the transaction.
TURN = "SELECT pg_try_advisory_xact_lock(hashtextextended('indistinct: ' || $1, 0)) AS mine"
COMMENT = "SELECT format('COMMENT ON TABLE %s IS %L', $1::text, $2::text) AS statement"
PART = "a further table of the release "


@dataclass(slots=True, eq=False)
class StagedRelease:
    """A sink whose tables are in the database under random names; `commit` gives them their final names."""

    session: DatabaseSession
    schema: str
    table: str
    overwrite: bool
    names: dict[str, str] = field(default_factory=dict)
    schemas: dict[str, pa.Schema] = field(default_factory=dict)

    def accept(self, name: str, batches: Iterable[pa.Table]) -> None:
        """Write one table, in the order of its rows."""
        batches = iter(batches)
        first = next(batches)
        kinds = pa.schema([pa.field(each.name, _type_to_send(each.name, each.type)) for each in first.schema])
        staged = self.names[name] = f"indistinct_{secrets.token_hex(8)}"
        self.schemas[name] = first.schema
        columns = ", ".join(f"{quote_name(each.name)} {sql_type(each.type)}" for each in kinds)
        self.session.run(f"CREATE TABLE {self._place(staged)} ({columns})")
        rows = (batch for table in chain([first], batches) for batch in table.cast(kinds).to_batches())
        self.session.ingest(self.schema, staged, pa.RecordBatchReader.from_batches(kinds, rows))

    def sources(self) -> Mapping[str, PostgresTable]:
        """Return the tables as they were written, to be counted inside the transaction."""
        return {
            name: with_zones(open_relation(self.session, self._place(staged)), self.schemas[name])
            for name, staged in self.names.items()
        }

    def commit(self, certificate: str) -> None:
        """Give every table its name and the first one its certificate; what was there before goes, all at once."""
        if self.overwrite:
            for name in self._outdated():
                self.session.run(f"DROP TABLE {self._place(name)}")
        for name, staged in self.names.items():
            final = table_name(self.table, name)
            self.session.run(f"ALTER TABLE {self._place(staged)} RENAME TO {quote_name(final)}")
            self._comment(final, certificate if name == MAIN else f"{PART}{self.table}")
        self.session.commit()

    def _outdated(self) -> list[str]:
        """Return the tables that the new ones replace, and further ones of the old release that the new lacks."""
        wanted = [table_name(self.table, name) for name in self.names]
        comment = existing(self.session, self._place(self.table))
        for name in further_tables(comment):
            further = table_name(self.table, name)
            if further not in wanted and existing(self.session, self._place(further)) == f"{PART}{self.table}":
                wanted.append(further)
        return [name for name in wanted if existing(self.session, self._place(name)) is not None]

    def _comment(self, table: str, text: str) -> None:
        """Let the server itself quote the text, which a statement of this kind takes no parameter for."""
        result = self.session.query(COMMENT, (self._place(table), text))
        self.session.run(result["statement"][0].as_py())

    def _place(self, table: str) -> str:
        """Return the qualified name of a table in the staging schema."""
        return f"{quote_name(self.schema)}.{quote_name(table)}"


@contextmanager
def staged_release(target: DatabaseTable, *, tables: Sequence[str], overwrite: bool) -> Iterator[StagedRelease]:
    """Give a sink for the tables of a release; what is not committed in the block never happened."""
    session = connect(target.database, read_only=False)
    try:
        schema, table = _check_target(session, target, tables, overwrite=overwrite)
        if not session.query(TURN, (f"{schema}.{table}",))["mine"][0].as_py():
            raise OutputError(
                f"another session is publishing to {target.table} at this moment", hint="try again when it is done"
            )
        _check_target(
            session, target, tables, overwrite=overwrite
        )  # perhaps it was finished just before the lock was free
        yield StagedRelease(session, schema, table, overwrite)
    finally:
        session.close()


def check_release(table: DatabaseTable, *, tables: Sequence[str] = (MAIN,), overwrite: bool) -> None:
    """Raise `OutputError` if a release cannot be written into a table, or must not overwrite it."""
    session = connect(table.database, read_only=False)
    try:
        _check_target(session, table, tables, overwrite=overwrite)
    finally:
        session.close()


def _check_target(
    session: DatabaseSession, table: DatabaseTable, tables: Sequence[str], *, overwrite: bool
) -> tuple[str, str]:
    """Return schema and name of a table that may be made."""
    if table.table is None:
        raise ParameterError("a release goes to a table, not to a query", hint='output_table="clinic.release"')
    parts = session.query("SELECT parse_ident($1) AS parts", (table.table,))["parts"][0].as_py()
    if len(parts) > 2:
        raise OutputError(f"{table.table} has too many parts", hint="name a schema and a table, such as clinic.release")
    named = parts[0] if len(parts) == 2 else None
    schemas = session.query(
        "SELECT nspname::text AS schema, has_schema_privilege(oid, 'CREATE') AS may FROM pg_catalog.pg_namespace "
        "WHERE nspname = coalesce($1, current_schema())",
        (named,),
    ).to_pylist()
    if not schemas:
        raise OutputError(f"{session.address} has no schema {named}", hint="create the schema first")
    schema = schemas[0]["schema"]
    if not schemas[0]["may"]:
        raise OutputError(
            f"{session.address}: the user may not create tables in the schema {schema}",
            hint=f"ask for GRANT CREATE ON SCHEMA {schema} TO the user",
        )
    for name in (table_name(parts[-1], each) for each in tables):
        if len(name.encode()) > LONGEST_NAME:
            raise OutputError(f"the name {name} is longer than {LONGEST_NAME} bytes", hint="choose a shorter one")
        if not overwrite and existing(session, f"{quote_name(schema)}.{quote_name(name)}") is not None:
            raise OutputError(
                f"the table {schema}.{name} exists already",
                hint="choose another name, or allow it with `overwrite=True` (--overwrite)",
            )
    return schema, parts[-1]


def existing(session: DatabaseSession, location: str) -> str | None:
    """Return the comment of a table, None if there is no such table."""
    comments = session.query(EXISTING, (location,))["comment"].to_pylist()
    return (comments[0] or "") if comments else None


def further_tables(comment: str | None) -> tuple[str, ...]:
    """Return the further tables of a release that the comment of its first one names: those of anatomy."""
    try:
        certificate = json.loads(comment or "")
        return ("sensitive",) if isinstance(certificate, dict) and certificate.get("form") == "tables" else ()
    except (ValueError, RecursionError):
        return ()


def sql_type(kind: pa.DataType) -> str:
    """Return the type of the database that holds values of an Arrow type.

    >>> sql_type(pa.decimal128(10, 2))
    'numeric(10,2)'
    """
    if isinstance(kind, pa.DictionaryType):
        return sql_type(kind.value_type)
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamptz"
    return TYPES[kind]


def _type_to_send(name: str, kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type in which a column is sent; raise `OutputError` if the database has none for it."""
    if len(name.encode()) > LONGEST_NAME:
        raise OutputError(f"the column {name!r} has a name of more than {LONGEST_NAME} bytes", hint="rename it")
    if isinstance(kind, pa.DictionaryType):
        value = _type_to_send(name, kind.value_type)
        return pa.dictionary(pa.int32(), value) if value == pa.string() else value
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_decimal(kind):
        return kind if kind.bit_width >= 128 else pa.decimal128(kind.precision, kind.scale)
    if kind == pa.uint64():
        return pa.decimal128(20, 0)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_date(kind):
        return pa.date32()
    if pa.types.is_time(kind):
        return pa.time64("us")
    widened = WIDENED.get(kind, kind)
    if widened not in TYPES:
        raise OutputError(
            f"column {name!r} has the type {kind}, for which PostgreSQL has no plain one",
            hint="turn it into text, a number or a date first, or write a file",
        )
    return widened
