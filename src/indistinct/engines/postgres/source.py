"""A table of a PostgreSQL database, or what a query gives there, read in one snapshot wherever it lies."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from indistinct.engines.base import DatabaseTable
from indistinct.engines.groups import ValueGroups, alone_in_groups, once_in_groups
from indistinct.engines.postgres.columns import PostgresColumn, as_read, columns_of, quote_name
from indistinct.engines.postgres.session import DatabaseSession, connect
from indistinct.engines.sampling import draw_of, drawn_rows
from indistinct.errors import InputError, OutOfMemoryError, ParameterError
from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes
from indistinct.recoding.transformations import Transformed
from indistinct.tables.dictionaries import assemble, share_dictionaries
from indistinct.tables.domain import Kind, kind_of
from indistinct.tables.value import Reading, SourceDetails

RESOLVED = """
SELECT pg_class.oid::int8 AS oid, nspname::text AS schema, relname::text AS name,
    has_table_privilege(pg_class.oid, 'SELECT') OR has_any_column_privilege(pg_class.oid, 'SELECT') AS readable
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
WHERE pg_class.oid = to_regclass($1)
"""


# The fewest bytes that a cell takes.
MIN_BYTES_PER_CELL = 4


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PostgresTable(SourceDetails):
    """A table that is read whenever it is needed, always in the state that it had when it was opened.

    `relation` is the text after FROM, `name` that of the table if it is one. The session holds the snapshot: `close`
    it, or use the source in a `with` block, so that the server can forget old rows. `drawn` are the rows of a sample,
    which this process holds, and `held` rows that were counted and are published next.
    """

    home: ClassVar[str] = "postgres"

    session: DatabaseSession
    relation: str
    fields: tuple[PostgresColumn, ...]
    rows: int
    reading: Reading = field(default_factory=Reading)
    name: str | None = None
    transformation: Transformed | None = None
    drawn: tuple[pa.Table, ...] | None = None
    held: list[pa.Table] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<PostgresTable of {self.rows} rows: {', '.join(self.columns)}>"

    def __enter__(self) -> "PostgresTable":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the session, which is that of the table of a sample: the table cannot be read any more."""
        if self.drawn is None:
            self.session.close()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the column names in order."""
        return tuple(column.name for column in self.fields)

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Return the kind of each column's values: numbers, dates or texts."""
        changed = {} if self.transformation is None else self.transformation.types
        return {
            each.name: kind_of(changed[each.name]) if each.name in changed else each.compared for each in self.fields
        }

    @property
    def arrow(self) -> pa.Schema:
        """Return the Arrow types of the columns as published; a type that has none is null."""
        stored = pa.schema([(column.name, column.arrow or pa.null()) for column in self.fields])
        return stored if self.transformation is None else self.transformation.schema(stored)

    def transformed(self, transformed: Transformed) -> "PostgresTable":
        """Return the same table with columns that are transformed wherever they are read."""
        return replace(self, transformation=transformed, held=[])

    def _published(self, table: pa.Table) -> pa.Table:
        """Return some rows, or groups, with their columns transformed."""
        return table if self.transformation is None else self.transformation.table(table)

    def hold(self, columns: Sequence[str], most: int) -> None:
        """Read some columns of all rows, to be grouped here and read again, unless they take more than `most` bytes."""
        tables, size = list[pa.Table](), 0
        if (
            self.drawn is not None
            or MIN_BYTES_PER_CELL * self.rows * len(columns) > most
            or not set(columns) <= set(self.columns)
        ):
            return
        for table in self.batches(columns):
            tables.append(table)
            size += table.nbytes
            if size > most:
                return
        self.held[:] = tables

    def _select_held(self, columns: Sequence[str]) -> list[pa.Table] | None:
        """Return the rows that are held, None if some columns are not among theirs."""
        if self.drawn is not None:
            return [self._published(each.select(list(columns))) for each in self.drawn]
        return [each.select(list(columns)) for each in self.held if set(columns) <= set(each.column_names)] or None

    def groups(self, columns: Sequence[str]) -> ValueGroups:
        """Return the distinct combinations of some columns, and how many rows have each: one GROUP BY."""
        wanted, local = self._wanted(columns), self._select_held(columns)
        if local is not None and columns:
            return _group_here(pa.concat_tables(local))
        number = next(name for name in ("count", "rows", "\1rows") if name not in columns)
        names, indices = ", ".join(map(quote_name, columns)), ", ".join(str(index + 1) for index in range(len(columns)))
        sql = f"SELECT {names}, count(*) AS {quote_name(number)} FROM {self._cells(wanted)} GROUP BY {indices}"  # noqa: S608
        tables, counts = [], [np.zeros(0, dtype=np.int64)]
        for batch in self.session.batches(sql):
            tables.append(self._published(as_read(batch.select(list(range(len(columns)))), wanted)))
            counts.append(batch.column(len(columns)).to_numpy())
        return ValueGroups(
            pa.concat_tables(tables) if tables else self._published(_empty(wanted)), np.concatenate(counts)
        )

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Return some columns of all rows, batch by batch, as COPY gives them."""
        wanted, some = self._wanted(columns), False
        local = self._select_held(columns)
        if local is not None:
            yield from local
            return
        sql = ", ".join(f"{column.sql} AS {quote_name(column.name)}" for column in wanted)
        for batch in self.session.batches(f"SELECT {sql} FROM {self.relation}"):  # noqa: S608
            some = True
            yield self._published(as_read(batch, wanted))
        if not some:
            yield self._published(_empty(wanted))

    def alone(self, column: str) -> int:
        """Return how many rows have a value in a column that no other row has."""
        if self.drawn is not None or (self.transformation is not None and column in self.transformation.changes):
            return alone_in_groups(self.groups, column)
        name, cells = quote_name(column), self._cells(self._wanted([column]))
        once = f"SELECT 1 FROM {cells} WHERE {name} IS NOT NULL GROUP BY {name} HAVING count(*) = 1"  # noqa: S608
        return int(self.session.query(f"SELECT count(*) AS n FROM ({once}) AS once")["n"][0].as_py())  # noqa: S608

    def once(self, columns: Sequence[str]) -> int:
        """Return how many rows have a combination of values that no other row has; missing is a value."""
        if self.drawn is not None or (
            self.transformation is not None and set(columns) & set(self.transformation.changes)
        ):
            return once_in_groups(self.groups, columns)
        names, cells = ", ".join(map(quote_name, columns)), self._cells(self._wanted(columns))
        once = f"SELECT 1 FROM {cells} GROUP BY {names} HAVING count(*) = 1"  # noqa: S608
        return int(self.session.query(f"SELECT count(*) AS n FROM ({once}) AS once")["n"][0].as_py())  # noqa: S608

    def draw(self, share: float, *, person: Sequence[str], most: int) -> "PostgresTable":
        """Draw a sample into this process, of at most `most` bytes.

        The database need not give rows in the same order twice, and keeps no copy: it would know who was drawn.
        """
        draw = draw_of(share, self.rows, lambda: self.batches(person), person=person)
        known = [column for column in self.fields if column.arrow is not None]
        drawn, size = [_empty(known)], 0
        for rows in drawn_rows(self.batches([column.name for column in known]), draw):
            drawn.append(rows)
            size += rows.nbytes
            if size > most:
                raise OutOfMemoryError(
                    f"a sample of {share:g} takes more than {most // 10**6:,} MB, which `memory` has for it",
                    hint="allow more `memory`, draw fewer, or save the table as Parquet for the engine duckdb",
                )
        return replace(self, rows=sum(map(len, drawn)), drawn=tuple(drawn), name=None, held=[])

    def table(self) -> pa.Table:
        """Return the whole table in memory."""
        return share_dictionaries(pa.concat_tables(self.batches(self.columns)))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the whole table through Arrow's interface, for callers that need a frame in memory."""
        return self.table().__arrow_c_stream__(requested_schema)

    @property
    def comment(self) -> str | None:
        """Return the comment of the table, which is the certificate of one that was published."""
        if self.name is None:
            return None
        sql = "SELECT obj_description(to_regclass($1), 'pg_class') AS comment"
        text: str | None = self.session.query(sql, (self.name,))["comment"][0].as_py()
        return text

    def _wanted(self, columns: Sequence[str]) -> tuple[PostgresColumn, ...]:
        """Return the requested columns; raise for one that cannot be read."""
        known = {column.name: column for column in self.fields}
        return tuple(known[name].require() for name in columns)

    def _cells(self, wanted: Sequence[PostgresColumn]) -> str:
        """Return the subquery that selects some columns in the form in which they are compared."""
        read = ", ".join(f"{column.sql} AS {quote_name(column.name)}" for column in wanted)
        return f"(SELECT {read} FROM {self.relation}) AS cells"  # noqa: S608


def open_database(source: DatabaseTable, reading: Reading) -> PostgresTable:
    """Open a table of a database, or the result of a query, in a snapshot of its own."""
    _require_plain(reading)
    session = connect(source.database)
    try:
        if source.query is not None:
            query = source.query.strip().rstrip(";")
            return open_relation(session, f"(\n{query}\n) AS source", reading)
        name = resolve_name(session, source.table or "")
        return replace(open_relation(session, f"{name} AS source", reading), name=name)
    except BaseException:
        session.close()
        raise


def open_relation(session: DatabaseSession, relation: str, reading: Reading | None = None) -> PostgresTable:
    """Return a source for the relation after FROM in an open session."""
    how = reading or Reading()
    columns = columns_of(session, relation, text=how.text)
    rows = session.query(f"SELECT count(*) AS n FROM {relation}")["n"][0].as_py()  # noqa: S608
    return PostgresTable(session, relation, columns, rows, how)


def resolve_name(session: DatabaseSession, name: str) -> str:
    """Return the name of a table, as SQL writes it, with its schema; raise if there is none that may be read."""
    matches = session.query(RESOLVED, (name,)).to_pylist()
    if not matches:
        raise InputError(
            f"{session.address} has no table {name}",
            hint='name it as in SQL, such as clinic.visits or clinic."Visits"',
        )
    if not matches[0]["readable"]:
        raise InputError(
            f"{session.address}: the user may not read {name}", hint=f"ask for GRANT SELECT ON {name} TO the user"
        )
    return f"{quote_name(matches[0]['schema'])}.{quote_name(matches[0]['name'])}"


def with_zones(table: PostgresTable, schema: pa.Schema) -> PostgresTable:
    """Restore the time zones of a written table: the server stores moments without their zones."""
    kinds = {each.name: each.type for each in schema if pa.types.is_timestamp(each.type) and each.type.tz is not None}
    return replace(
        table,
        fields=tuple(
            replace(c, arrow=pa.timestamp("us", kinds[c.name].tz)) if c.name in kinds else c for c in table.fields
        ),
    )


def _require_plain(reading: Reading) -> None:
    """Raise if reading options are declared that a database does not have."""
    if reading != Reading(text=reading.text):
        raise ParameterError(
            "a table of a database is read by its own types, and some are declared here",
            hint="convert its columns in a query or a view",
        )


def _group_here(rows: pa.Table) -> ValueGroups:
    """Return the distinct rows of a table, and how often each is there."""
    coded = [_one_dictionary(column) for column in rows.columns]
    grouping = group_rows([indices for indices, _ in coded], [size for _, size in coded])
    return ValueGroups(rows.take(pa.array(grouping.first)), grouping.counts)


def _one_dictionary(column: pa.ChunkedArray) -> tuple[Codes, int]:
    """Return each cell's place among the values of a column, missing in the end, and how many places there are."""
    if isinstance(column.type, pa.DictionaryType):
        array = assemble(column)
    else:
        array = pa.concat_arrays(column.chunks).dictionary_encode()
    size = len(array.dictionary)
    return array.indices.fill_null(size).to_numpy(), size + 1


def _empty(wanted: Sequence[PostgresColumn]) -> pa.Table:
    kinds = [pa.dictionary(pa.int32(), pa.string()) if c.arrow == pa.string() else c.arrow for c in wanted]
    return pa.schema([pa.field(c.name, kind) for c, kind in zip(wanted, kinds, strict=True)]).empty_table()
