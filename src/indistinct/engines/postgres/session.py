"""A session of PostgreSQL over ADBC: one transaction, and errors in words that show no value and no password."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NoReturn
from weakref import finalize

import pyarrow as pa

from indistinct.engines.base import without_password
from indistinct.errors import IndistinctError, InputError, MissingExtraError, OutputError

# Seconds to wait for a server, and for a table that another session uses.
PATIENCE, LOCK_PATIENCE = 30, 10
BATCH_BYTES = "16777216"
SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
# Text in UTF-8 whatever the database is in; a search may take its time; text forms that no setting changes; memory for
# groups, which are else sorted on disk.
SETTINGS = {
    "client_encoding": "UTF8",
    "idle_in_transaction_session_timeout": "0",
    "IntervalStyle": "postgres",
    "DateStyle": "ISO, YMD",
    "standard_conforming_strings": "on",
    "work_mem": "256MB",
    "lock_timeout": f"{LOCK_PATIENCE}s",
}
# Why a server cannot be reached, by what its library says. The words themselves may hold parts of an address.
REFUSALS = (
    ("no password supplied", "it asks for a password", "set PGPASSWORD, or use .pgpass or a service file"),
    ("password authentication failed", "it refuses the user or the password", "set PGPASSWORD, or use .pgpass"),
    ("refused", "nothing listens there", "check the host and the port, and that the server runs"),
    ("No such file or directory", "nothing listens there", "check the host and the port, and that the server runs"),
    ("translate host name", "there is no such host", "check the address"),
    ("timeout expired", "it does not answer", "check the host, the port and the network"),
    ("does not exist", "there is no such database or user", "check the end of the address, and the user"),
    ("definition of service", "there is no such service", "check the service file"),
    ("pg_hba.conf", "it admits no connection from here under this name", "ask who runs the server"),
    ("too many", "it has too many sessions", "try again later"),
)
# What a server answers, by the state of SQL or its class: what is wrong, and what to do.
STATES = {
    "42501": ("the user lacks the right to do that", "ask for GRANT SELECT on the source and CREATE on the schema"),
    "42P01": ("there is no such table", "check its name and schema; names are written as in SQL"),
    "3F000": ("there is no such schema", "create the schema first, or check its name"),
    "42P07": (
        "a table of that name exists already",
        "choose another name, or allow it with `overwrite=True` (--overwrite)",
    ),
    "23505": (
        "a table of that name exists already",
        "choose another name, or allow it with `overwrite=True` (--overwrite)",
    ),
    "55P03": ("another session is using the table", "try again later; a table that is read cannot be replaced"),
    "40P01": ("another session is using the table", "try again later"),
    "2BP01": ("other objects depend on the table that would be replaced", "drop the views on it, or choose a new name"),
    "22021": ("a text has a character that the database cannot hold", "remove zero characters from the text"),
    "22P05": ("a text has a character that the encoding of the database lacks", "use a database in UTF-8"),
    "25006": ("a query may only read", "give a query that begins with SELECT"),
    "42703": ("there is no such column", "check the query"),
    "42702": ("a column's name is ambiguous", "check the query"),
    "42601": ("the query is not SQL that PostgreSQL understands", "try it in psql first"),
    "42809": ("that is no table", "name a table or a view"),
    "57014": ("the statement was cancelled", "raise statement_timeout for this user"),
    "53100": ("the disk of the server is full", "make room there"),
    "53400": (
        "it writes more to disk for a while than it may",
        "raise temp_file_limit for this user, or name fewer or coarser quasi-identifiers",
    ),
    "53200": ("the server is out of memory", "lower work_mem, or try again later"),
    "57P": ("the server ended the session", "try again later"),
    "08": ("the connection was lost", "try again later"),
    "22": ("a value cannot be read or converted", "check the query, or the view behind the table"),
    "42": ("the query does not fit the database", "try it in psql first"),
}
# The same while something is read, where that is another matter.
STATES_OF_SOURCE = {
    "22021": ("a text is not UTF-8", "a database in SQL_ASCII may hold any bytes: mend the text there, or in a query"),
    "22P05": ("a text has a character that UTF-8 lacks", "replace it in a query"),
}
# A stream of batches tells no state of SQL, only words.
WORDS = (
    ("invalid byte sequence", "22021"),
    ("has no equivalent in encoding", "22P05"),
    ("statement timeout", "57014"),
    ("terminating connection", "57P01"),
    ("closed the connection", "08006"),
    ("division by zero", "22012"),
    ("No space left on device", "53100"),
    ("temporary file size exceeds", "53400"),
)


@dataclass(slots=True, eq=False, repr=False, weakref_slot=True)
class DatabaseSession:
    """A connection with one open transaction; it is closed at the latest when its last reference is gone."""

    connection: Any
    address: str
    failure: type[IndistinctError]

    def __post_init__(self) -> None:
        finalize(self, _close, self.connection)

    def __repr__(self) -> str:
        return f"<Session of {self.address}>"

    def query(self, sql: str, parameters: Sequence[Any] | None = None) -> pa.Table:
        """Return the whole result of a query."""
        with self._cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetch_arrow_table()

    def run(self, sql: str) -> None:
        """Run a statement that gives nothing."""
        with self._cursor() as cursor:
            cursor.execute(sql)

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        """Yield the result of a query in batches."""
        with self._cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": BATCH_BYTES})
            cursor.execute(sql)
            yield from cursor.fetch_record_batch()

    def ingest(self, schema: str, table: str, rows: pa.RecordBatchReader) -> None:
        """Add rows to a table, in their order."""
        with self._cursor() as cursor:
            cursor.adbc_ingest(table, rows, mode="append", db_schema_name=schema)

    def commit(self) -> None:
        """Make everything true that was done, or nothing of it."""
        with self._translate_errors():
            self.connection.commit()

    def close(self) -> None:
        """End the session; what was not committed never happened."""
        _close(self.connection)

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        with self._translate_errors(), self.connection.cursor() as cursor:
            yield cursor

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Convert errors of the driver to ours."""
        adbc = _import_adbc()
        try:
            yield
        except adbc.Error as error:
            self._fail(error)
        except (OSError, pa.ArrowException) as error:  # what a stream of batches raises
            self._fail(error)

    def _fail(self, error: Exception) -> NoReturn:
        """Raise the error for the SQLSTATE of a driver error; its text may quote cells and is shown on request only."""
        state = getattr(error, "sqlstate", None) or _state_in(str(error)) or ""
        known = {**STATES, **STATES_OF_SOURCE} if self.failure is InputError else STATES
        entries = (known.get(part) for part in (state, state[:3], state[:2]))
        what, hint = next((each for each in entries if each), (f"it failed (SQLSTATE {state or 'unknown'})", None))
        raise self.failure(
            f"{self.address}: {what}",
            hint=hint or "the log of the server says more",
            values=(_words(error),),
            sqlstate=state,
        ) from None


def connect(address: str, *, read_only: bool = True) -> DatabaseSession:
    """Return a session in a transaction: of one snapshot that is only read, or one that may write."""
    adbc, seen = _import_adbc(), without_password(address)
    failure = InputError if read_only else OutputError
    try:
        connection = adbc.connect(_with_patience(address), autocommit=False)
    except adbc.Error as error:
        text = str(error)
        known = ((what, hint) for words, what, hint in REFUSALS if words in text)
        what, hint = next(known, ("its address or its server is not right", "try the same address with psql"))
        raise failure(f"cannot connect to {seen}: {what}", hint=hint) from None
    session = DatabaseSession(connection, seen, failure)
    try:
        if read_only:
            session.run(SNAPSHOT)
        names = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in SETTINGS.items())
        session.query(f"SELECT {names}")
    except BaseException:
        session.close()
        raise
    return session


def _with_patience(address: str) -> str:
    """Add a connection timeout to an address that does not give one."""
    if "connect_timeout" in address:
        return address
    return f"{address}{'&' if '?' in address else '?'}connect_timeout={PATIENCE}"


def _close(connection: Any) -> None:
    with suppress(Exception):  # a lost connection cannot be closed, and has nothing to lose
        connection.close()


def _state_in(text: str) -> str | None:
    return next((state for words, state in WORDS if words in text), None)


def _words(error: Exception) -> str:
    """Return the sentence of the server, without the statement around it."""
    match = re.search(r"(?:ERROR|FATAL):\s*(.+)", str(error))
    return match[1].strip() if match else type(error).__name__


def _import_adbc() -> Any:
    """Import the driver; raise `MissingExtraError` if it is not installed."""
    try:
        import adbc_driver_postgresql.dbapi as adbc  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError("adbc-driver-postgresql", extra="postgres", purpose="a PostgreSQL database") from None
    return adbc
