"""The columns of a PostgreSQL table: how each is read in SQL, and which Arrow type its values have in an engine.

What PostgreSQL calls equal must not be coarser than what counts as one value here: text is compared by its bytes
(`COLLATE "C"`), and types with an equality of their own (citext, char(n), json) become text first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.postgres.session import DatabaseSession
from indistinct.errors import InputError, ParameterError
from indistinct.tables.domain import Kind, kind_of
from indistinct.tables.value import check_names

# Types that are not converted, by their names in the catalogue.
PLAIN: dict[str, pa.DataType] = {
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "time": pa.time64("us"),
}
# Types that are read as text, because equal values have equal texts: strings, enumerations, addresses and others.
AS_TEXT = ("uuid", "json", "jsonb", "xml", "timetz", "interval", "char", "macaddr", "macaddr8")
TEXT_CATEGORIES = ("S", "E", "I")
INTEGERS = ("int2", "int4", "int8")
# Digits that a decimal of 128 bits holds, and one of 256.
DIGITS, MAX_DIGITS = 38, 76
# The driver adds the days between its epoch and ours to infinity, which then becomes the other end of the range.
EARLIEST_DAY, EARLIEST_MICROSECOND = -2_000_000_000, -(2**62)


@dataclass(frozen=True, slots=True)
class PostgresColumn:
    """A column: its name, its type in the database, the SQL that reads it, and its Arrow type; None if it has none."""

    name: str
    kind: str
    sql: str
    arrow: pa.DataType | None

    @property
    def compared(self) -> Kind:
        """Return whether the values are compared as numbers, dates or texts."""
        return Kind.TEXT if self.arrow is None else kind_of(self.arrow)

    def require(self) -> "PostgresColumn":
        """Return the column if its values can be read; raise `InputError` if its type has no place here."""
        if self.arrow is None:
            raise InputError(
                f"column {self.name!r} has the type {self.kind}, which cannot be counted or published",
                hint="convert it to text, a number or a date in a query, or give it the role identifier",
                column=self.name,
            )
        return self


def quote_name(name: str) -> str:
    """Return a name as SQL writes it.

    >>> quote_name('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def columns_of(session: DatabaseSession, relation: str, *, text: Sequence[str] = ()) -> tuple[PostgresColumn, ...]:
    """Return the columns of the relation after FROM; those in `text` are read as text."""
    schema = session.query(f"SELECT * FROM {relation} LIMIT 0").schema  # noqa: S608
    check_names(schema.names)
    zone = session.query("SELECT current_setting('TimeZone') AS zone")["zone"][0].as_py()
    columns = []
    for field, (kind, category) in zip(schema, _kinds(session, relation, schema.names), strict=True):
        modifier = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1"))
        column = _column(field.name, kind, category, modifier, zone)
        columns.append(_as_text(column) if field.name in text else column)
    return _with_digits(session, relation, columns)


def as_read(batch: pa.RecordBatch, columns: Sequence[PostgresColumn]) -> pa.Table:
    """Return rows as the driver gives them in the types that engines know."""
    arrays = []
    for column, array in zip(columns, batch.columns, strict=True):
        cells = array.storage if isinstance(array, pa.ExtensionArray) else array
        arrays.append(_in_codes(cells) if column.arrow == pa.string() else _convert_cells(column, cells))
    return pa.table(arrays, names=[column.name for column in columns])


def _in_codes(cells: pa.Array) -> pa.Array:
    """Return text as codes, which take less memory than as many texts."""
    return cells.cast(pa.string()).dictionary_encode()


def _convert_cells(column: PostgresColumn, cells: pa.Array) -> pa.Array:
    """Return cells in the Arrow type of their column; raise `InputError` for what it cannot hold."""
    if pa.types.is_decimal(column.arrow):
        try:
            return cells.cast(column.arrow)
        except pa.ArrowInvalid:
            raise _unbounded_error(column, "NaN or infinity") from None
    days = pa.types.is_date(column.arrow)
    if (days or pa.types.is_timestamp(column.arrow)) and len(cells) > cells.null_count:
        first = pc.min(cells.view(pa.int32() if days else pa.int64())).as_py()
        if first < (EARLIEST_DAY if days else EARLIEST_MICROSECOND):
            raise _unbounded_error(column, "infinity")
    return cells.cast(column.arrow)


def _unbounded_error(column: PostgresColumn, what: str) -> InputError:
    """Return the error of a value that cannot be published, such as infinity."""
    return InputError(
        f"column {column.name!r} of the type {column.kind} holds {what}, which cannot be published",
        hint="turn it into NULL or another value in a query",
        column=column.name,
    )


def _kinds(session: DatabaseSession, relation: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return name and category of each column's type, of that below where it is a domain.

    A row without a match has missing values of the right types, so that no row of the table is looked at.
    """
    typed = ", ".join(f"pg_typeof(source.{quote_name(name)})::oid" for name in names)
    rows = session.query(
        f"""
        WITH RECURSIVE typed AS (
            SELECT ARRAY[{typed}] AS oids FROM (SELECT 1) AS one LEFT JOIN (SELECT * FROM {relation} LIMIT 0) AS source
            ON true
        ), kinds(place, oid) AS (
            SELECT each.place, each.oid FROM typed, unnest(typed.oids) WITH ORDINALITY AS each(oid, place)
            UNION ALL
            SELECT kinds.place, pg_type.typbasetype FROM kinds JOIN pg_catalog.pg_type USING (oid) WHERE typtype = 'd'
        )
        SELECT typname::text AS name, typcategory::text AS category FROM kinds JOIN pg_catalog.pg_type USING (oid)
        WHERE typtype <> 'd' ORDER BY place
        """  # noqa: S608
    )
    return list(zip(rows["name"].to_pylist(), rows["category"].to_pylist(), strict=True))


def _column(name: str, kind: str, category: str, modifier: int, zone: str) -> PostgresColumn:
    """Describe how a column of a PostgreSQL type is read."""
    if kind in PLAIN:
        return PostgresColumn(name, kind, quote_name(name), PLAIN[kind])
    if kind == "oid":
        return PostgresColumn(name, kind, f"{quote_name(name)}::int8", pa.int64())
    if kind == "timestamptz":
        return PostgresColumn(name, kind, quote_name(name), pa.timestamp("us", zone))
    if kind == "numeric":
        return PostgresColumn(name, kind, quote_name(name), _declared_decimal(modifier))
    if category in TEXT_CATEGORIES or kind in AS_TEXT:
        return _text(name, kind)
    return PostgresColumn(name, kind, quote_name(name), None)


def _text(name: str, kind: str) -> PostgresColumn:
    return PostgresColumn(name, kind, f'({quote_name(name)}::text COLLATE "C")', pa.string())


def _as_text(column: PostgresColumn) -> PostgresColumn:
    """Return a column that is declared to be text."""
    if column.compared is Kind.TEXT:
        return column
    if column.kind not in INTEGERS:
        raise ParameterError(
            f"column {column.name!r} is declared as text, and has the type {column.kind}",
            hint="convert it to text in a query, in the form that should be published",
        )
    return _text(column.name, column.kind)


def _declared_decimal(modifier: int) -> pa.DataType | None:
    """Return the decimals that a modifier of the type numeric declares, None if it declares none or too many digits.

    >>> _declared_decimal(((10 << 16) | 2) + 4)
    Decimal128Type(decimal128(10, 2))
    """
    if modifier < 4:
        return None
    digits, scale = (modifier - 4) >> 16 & 0xFFFF, (((modifier - 4) & 0x7FF) ^ 0x400) - 0x400
    return _decimal(max(digits - min(scale, 0), scale), max(scale, 0))


def _decimal(digits: int, scale: int) -> pa.DataType | None:
    """Return the decimal type for a number of digits, None if Arrow has none."""
    if digits > MAX_DIGITS:
        return None
    return pa.decimal128(digits, scale) if digits <= DIGITS else pa.decimal256(digits, scale)


def _with_digits(
    session: DatabaseSession, relation: str, columns: Sequence[PostgresColumn]
) -> tuple[PostgresColumn, ...]:
    """Return the columns; decimals that declare no digits get those that their values need, found in one pass.

    What is neither finite nor missing has no scale: it is left out here, and refused where it is read.
    """
    open_ended = [column for column in columns if column.kind == "numeric" and column.arrow is None]
    if not open_ended:
        return tuple(columns)
    digits = "max(length(trunc(abs({0}))::text)) FILTER (WHERE scale({0}) >= 0) AS d{1}"
    wanted = ", ".join(
        f"max(scale({column.sql})) AS s{index}, {digits.format(column.sql, index)}"
        for index, column in enumerate(open_ended)
    )
    digits_by_name = session.query(f"SELECT {wanted} FROM {relation}").to_pylist()[0]  # noqa: S608
    kinds = {}
    for index, column in enumerate(open_ended):
        scale = digits_by_name[f"s{index}"] or 0
        needed = (digits_by_name[f"d{index}"] or 1) + scale
        # As wide as can be: next month's values may have more digits.
        kinds[column.name] = _decimal(DIGITS if needed <= DIGITS else max(needed, MAX_DIGITS), scale)
    return tuple(replace(c, arrow=kinds[c.name]) if c.name in kinds else c for c in columns)
