"""What every engine offers: it opens sources, counts them, and publishes what an assignment says. It knows no recoding.

A *source* is a table where it lives: in memory, in files, in a database, on a cluster. What a source is names its
engine: none is loaded for that. A *sink* takes the tables of a release, batch by batch.
"""

import logging
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa

from indistinct.errors import InputError, OutOfMemoryError, ParameterError
from indistinct.frequencies.count import Counted, Request, RowIndex
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.randomness import Secret
from indistinct.recoding.outputs import MAIN, Assignment
from indistinct.recoding.transformations import Transformation, Transformed, check_transformations, transformed_columns
from indistinct.schema import Schema
from indistinct.tables.domain import Kind
from indistinct.tables.several import PARQUET, files_of, is_delimited, kind_of_file
from indistinct.tables.value import ColumnLabels, Reading, home_of_opened, is_table

LOG = logging.getLogger("indistinct.count")
BY_PART = "by-part"
"""The kind of recodings whose cuts lie on disk, which need an engine that goes by parts."""
MEANINGS = {
    "by-column": "each column on its own: levels, cuts, subtrees",
    "by-region": "regions of vectors",
    "by-cell": "listed vectors",
    "by-row": "rows with equal values that part",
    "by-bucket": "buckets in which links are broken",
    BY_PART: "parts of a table whose classes do not fit in memory",
}
"""The kinds of recodings, by the names under which they are stored, in a few words."""
EVERY_RECODING = frozenset(MEANINGS) - {BY_PART}
"""What an engine declares that publishes recodings of every kind that a search finds in cells."""
COARSER = (
    "round these columns, give a coarser level of their hierarchy in the table, or leave them out; or allow more "
    "`memory`"
)


def as_written(schema: pa.Schema, written: pa.Schema) -> pa.Schema:
    """Return the types to read a written file with: zones and nanoseconds as they were written, other types as found.

    Moments are in the zone and to the digit that they had, which no text and no Parquet file tells.
    """
    kinds = {
        each.name: each.type
        for each in written
        if pa.types.is_timestamp(each.type) and (each.type.tz is not None or each.type.unit == "ns")
    }
    return pa.schema([pa.field(each.name, kinds.get(each.name, each.type)) for each in schema])


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """A table of a database by its name, or what a query gives there: a source, or where a release goes.

    `database` is where that lies, a path or an address; it is never shown, because an address may hold a password.

        >>> DatabaseTable("postgresql://ann:secret@host/clinic", "visits")
        DatabaseTable(table='visits', query=None)
    """

    database: Any = field(repr=False)
    table: str | None = None
    query: str | None = field(default=None, repr=True)

    def __post_init__(self) -> None:
        if (self.table is None) == (self.query is None):
            raise ParameterError(
                "a database is given with a table or with a query, not both",
                hint='for example ind.open("postgresql://host/clinic", table="clinic.visits")',
            )


def require_table(source: Any) -> None:
    """Raise if an address comes without a table."""
    if is_address(source):
        raise ParameterError(
            "the address of a database says nothing of a table",
            hint='name one: ind.open(address, table="clinic.visits"), or --table clinic.visits; or give a query',
        )


def further_table(target: DatabaseTable, name: str) -> DatabaseTable:
    """Return the database table for a further table of a release: the name of the main one with a suffix.

    >>> further_table(DatabaseTable("postgresql://host/db", 'clinic."Release"'), "sensitive").table
    'clinic."Release_sensitive"'
    """
    table = target.table or ""
    if table.endswith('"'):
        return DatabaseTable(target.database, f'{table_name(table[:-1], name)}"') if name != MAIN else target
    return DatabaseTable(target.database, table_name(table, name))


def table_name(table: str, name: str) -> str:
    """Return the name of a table of a release: the first has the release's, others begin with it.

    >>> table_name("release", "sensitive")
    'release_sensitive'
    """
    return table if name == MAIN else f"{table}_{name}"


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """Files of a release: every line is a row, whatever it looks like."""

    place: Any


def place_of(source: Any) -> Any:
    """Return the path of a published file, and any other source unchanged."""
    return source.place if isinstance(source, PublishedFile) else source


class Source(Protocol):
    """A table where it lives, original or published; what it says of itself is as `SourceDetails` has it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns, in order."""

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Return the kind of each column's values: numbers, dates or texts."""

    @property
    def rows(self) -> int:
        """Return the number of rows."""

    @property
    def reading(self) -> Reading:
        """Return the options the source was read with, so that another source can be read alike."""

    @property
    def arrow(self) -> pa.Schema:
        """Return the Arrow types of the columns."""

    @property
    def in_memory(self) -> pa.Table | None:
        """Return the whole table if this process has it in memory, else None."""

    @property
    def path(self) -> Path | None:
        """Return the path of the source if it is a single file, else None."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Return the files that it was read from."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return notes on rows of a text file that belong to no person."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes about the source for the reader, such as a guessed encoding."""

    @property
    def respelled(self) -> tuple[str, ...]:
        """Return the columns in which a text file writes one number in several ways."""

    @property
    def grouped(self) -> tuple[str, ...]:
        """Return the columns of numbers with three decimals that may be groups of thousands."""

    @property
    def labels(self) -> Mapping[str, ColumnLabels]:
        """Return the labels of columns, in addition to their values."""

    @property
    def samples(self) -> Mapping[str, pa.Array] | None:
        """Return sample texts of text columns, None if none were taken."""

    @property
    def comment(self) -> str | None:
        """Return the comment of a table of a database."""


def close_source(source: Any, *, given: Any) -> None:
    """End the session that a source is read in, unless it was given open: then it is its owner's to close."""
    if source is not given and hasattr(source, "close"):
        source.close()


@dataclass(frozen=True, slots=True, eq=False)
class BeyondMemory:
    """The cells of a table are more than may be held: about how many, and the bytes that they need of those allowed.

    `widest` are the columns with most values, and `passes` go over the rows (`engines/passes.py`), by which some
    searches do without cells.
    """

    cells: int
    needed: int
    allowed: int
    widest: Mapping[str, int]
    passes: Any

    @property
    def fits(self) -> int:
        """Return how many cells fit."""
        cells: int = self.passes.room.cells
        return cells if self.needed <= self.allowed else self.cells * self.allowed // self.needed

    def error(self, problem: str = "", *, hint: str | None = None) -> OutOfMemoryError:
        """Return the error of a caller that needs all cells; `problem` says why there is no way around them."""
        most = ", ".join(f"{name!r} (about {count:,})" for name, count in self.widest.items())
        return OutOfMemoryError(
            f"the table has about {self.cells:,} different combinations of values, which would take about "
            f"{self.needed // 10**6:,} MB; {self.allowed // 10**6:,} MB of `memory` are for them; the columns with "
            f"most values are {most}{problem}",
            hint=hint or COARSER,
            cells=self.cells,
            needed=self.needed,
        )


def log_counted(counted: Counted, *, rows: int, began: float) -> Counted:
    """Log what an engine has counted since the moment `began`, and return it."""
    cells, seconds = counted.frequencies, time.perf_counter() - began
    LOG.info("counted %d rows: %d cells of %d columns; %.3f s", rows, len(cells), len(cells.names), seconds)
    for domain in counted.known.values():
        LOG.debug("column %s: %d distinct values", domain.column, len(domain))
    return counted


class Sink(Protocol):
    """Where the tables of a release go."""

    def accept(self, name: str, batches: Iterable[pa.Table]) -> None:
        """Take one table, in batches that share a schema; `MAIN` is the name of the first."""


@runtime_checkable
class FolderSink(Sink, Protocol):
    """Where tables go that an engine writes by itself, many hands at a time: each is a folder of files."""

    def accept_folder(self, name: str, write: Callable[[Path], None], *, schema: pa.Schema) -> None:
        """Let `write` create a folder with the files of one table, whose columns are those of `schema`."""


class Engine(Protocol):
    """Where tables live, and what can be done with them there.

    `supports` are the kinds of recodings that it publishes, by the names under which they are stored. Where it
    `writes_by_workers`, a release goes to a path that they share, and to no address.
    """

    supports: ClassVar[frozenset[str]]
    writes_by_workers: ClassVar[bool]

    @property
    def name(self) -> str:
        """Return the engine's name."""

    def open(self, source: Any, reading: Reading) -> Source | None:
        """Return a source that this engine can count and publish, None for one that it cannot."""

    def draw(self, source: Any, share: float, *, person: Sequence[str]) -> Source:
        """Return a copy of a share of the rows of a source, or of its people with all of their rows.

        See `engines/sampling.py`. The caller closes it, like a source that was opened.
        """

    def cells_beyond_memory(self, source: Any, request: Request) -> BeyondMemory | None:
        """Return counts without single cells where there are too many for memory, None where all cells fit."""

    def count(self, source: Any, request: Request) -> Counted:
        """Return the cells of a source: one GROUP BY, the only read that a search needs."""

    def written(self, file: Path, *, name: Path, schema: pa.Schema) -> Source | None:
        """Return a file that was just written and will be called `name`, as its readers meet it.

        `schema` is that of the table that was written. None if this engine reads it into memory as other engines do.
        """

    def publish(
        self, source: Any, assignment: Assignment, sink: Sink, *, secret: Secret, row_index: RowIndex | None = None
    ) -> None:
        """Give a sink the published tables: rows regrouped by class, in an order inside it that `secret` decides.

        `row_index` is what counting the source returned (`Counted.row_index`).
        """


SCHEMES = ("postgresql://", "postgres://")
# Of the text after the question mark only these are shown; it may contain a password.
SHOWN = ("host", "port", "dbname", "user", "service")
# What users, hosts and databases look like. Anything else may be a password that is in the wrong place.
NAME = r"[\w.~-]*"
HOST = rf"(?:{NAME}|\[[\da-fA-F:.]*\])(?::\d*)?"
PLACE = re.compile(rf"(?P<user>{NAME}@)?(?P<hosts>{HOST}(?:,{HOST})*)")
VALUE = re.compile(r"[\w.,:/~-]*")


def is_address(source: Any) -> bool:
    """Return whether a text is the address of a PostgreSQL database.

    >>> is_address("postgresql://host/clinic"), is_address("clinic.csv")
    (True, False)
    """
    return isinstance(source, str) and source.startswith(SCHEMES) and not isinstance(source, Path)


def without_password(address: str) -> str:
    """Return an address that leads to the same database and holds no password, nor options.

    Nothing is shown of a malformed one: its password may be anywhere.

    >>> without_password("postgresql://ann:se%40cret@host:5433/clinic?sslpassword=x&user=bob")
    'postgresql://ann@host:5433/clinic?user=bob'
    >>> without_password("postgresql://ann:secret%40host/clinic")
    'postgresql://'
    """
    try:
        parts = urlsplit(address)
        user, mark, host = parts.netloc.rpartition("@")
        options = [(key, value) for key, value in parse_qsl(parts.query) if key in SHOWN]
    except ValueError:
        return "postgresql://"
    netloc, path = f"{user.partition(':')[0]}{mark}{host}", parts.path
    plain = PLACE.fullmatch(netloc) and VALUE.fullmatch(path) and all(VALUE.fullmatch(value) for _, value in options)
    if not plain or "@" in address.replace(parts.netloc, "", 1):
        return "postgresql://"  # a password with a bare mark in it was cut in the wrong place
    query = "&".join(f"{key}={value}" for key, value in options)
    return f"postgresql://{netloc.removeprefix('@')}{path}" + (f"?{query}" if query else "")


@runtime_checkable
class Transformable(Protocol):
    """A source beyond memory that transforms the columns of its groups and batches as it gives them away."""

    @property
    def arrow(self) -> pa.Schema:
        """Return the Arrow types of the columns."""

    def groups(self, columns: Sequence[str]) -> Any:
        """Return the distinct combinations of some columns, and how many rows have each."""

    def transformed(self, transformed: Transformed) -> Source:
        """Return the same source with columns that are transformed."""


def transformed_source(source: Source, transformations: Mapping[str, Transformation]) -> tuple[Source, Transformed]:
    """Return a source with transformed columns, and what was done to them.

    Raises where a column is not what its transformation is for, or where the source cannot transform.
    """
    if is_table(source):
        data = source.data
        made = transformed_columns(transformations, {each.name: each.type for each in data.schema}, data.column)
        return (replace(source, data=made.table(data)) if transformations else source), made
    if not transformations:
        return source, Transformed({}, {}, {})
    if not isinstance(source, Transformable):
        raise ParameterError(
            f"a {type(source).__name__} transforms no columns yet: {', '.join(map(repr, transformations))}",
            hint="use the engine memory, duckdb or postgres, or transform the columns in the frame itself",
        )
    types = {each.name: each.type for each in source.arrow}
    made = transformed_columns(transformations, types, lambda name: source.groups([name]).table[name])
    return source.transformed(made), made


def transform_source(
    source: Source,
    schema: Schema,
    hierarchies: Mapping[str, Hierarchy],
    transformations: Mapping[str, Transformation] | None,
) -> tuple[Source, Transformed]:
    """Return a source whose columns are masked as declared, and the masking of each column."""
    return transformed_source(source, check_transformations(transformations or {}, schema, hierarchies))


# What a text takes in memory, once its cells are codes and numbers, by the bytes of its file.
TEXT_GROWS, COMPRESSED_GROWS = 2, 10
DATABASES = (".duckdb", ".ddb")
"""The suffixes of DuckDB's database files."""


def home_of(source: Any) -> str | None:
    """Return the name of the engine that a source lives in; None for one that memory reads, such as a file.

    >>> home_of("postgresql://host/clinic"), home_of("clinic.duckdb"), home_of("clinic.csv")
    ('postgres', 'duckdb', None)
    """
    opened = home_of_opened(source)
    if opened is not None:
        return opened
    if is_relation(source) or is_database(source):
        return "duckdb"
    if is_address(source.database if isinstance(source, DatabaseTable) else source):
        return "postgres"
    return "spark" if is_spark_frame(source) else None


def is_relation(source: Any) -> bool:
    """Return whether a source is a relation of DuckDB."""
    duckdb = sys.modules.get("duckdb")  # a caller with a relation has imported it
    return duckdb is not None and isinstance(source, duckdb.DuckDBPyRelation)


def is_database(source: Any) -> bool:
    """Return whether a source is a database file of DuckDB, or a table of one."""
    address = source.database if isinstance(source, DatabaseTable) else source
    return isinstance(address, str | Path) and "://" not in str(address) and Path(address).suffix.lower() in DATABASES


def is_spark_frame(source: Any) -> bool:
    """Return whether a source is a frame of Spark."""
    module = sys.modules.get("pyspark.sql")  # a caller with a frame has imported it
    return module is not None and any(
        each.__name__ == "DataFrame" and each.__module__.startswith("pyspark.sql") for each in type(source).__mro__
    )


def is_read_in_place(source: Any) -> bool:
    """Return whether a source is one or several files that DuckDB reads without copying them."""
    with suppress(InputError):
        files = files_of(place_of(source))
        return files is not None and all(path.is_file() and is_readable_by_duckdb(path) for path in files)
    return False


def bytes_in_memory(source: Any) -> int:
    """Return how many bytes files take in memory, about."""
    return sum(
        _text_bytes(path) if is_delimited(path) else _parquet_bytes(path) for path in files_of(place_of(source)) or ()
    )


def is_readable_by_duckdb(path: Path) -> bool:
    """Return whether DuckDB reads a file of this name."""
    return is_delimited(path) or kind_of_file(path) in PARQUET


def _text_bytes(path: Path) -> int:
    return path.stat().st_size * (COMPRESSED_GROWS if path.suffix.lower() == ".gz" else TEXT_GROWS)


def _parquet_bytes(path: Path) -> int:
    """Return how many bytes the columns of a Parquet file take before compression, at least four a cell."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            footer = file.metadata
            groups = (footer.row_group(number).total_byte_size for number in range(footer.num_row_groups))
            return max(sum(groups), 4 * footer.num_rows * footer.num_columns)
    except (pa.ArrowException, OSError):
        return 0  # reading it says what is wrong
