"""A table that Spark reads where it lies: a frame, Parquet files, or an Arrow table."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from indistinct.engines.base import is_spark_frame, place_of
from indistinct.engines.groups import ValueGroups
from indistinct.engines.spark.files import NUMBER, FilePiece, FilePieces, find_pieces, unite_groups, unite_parcels
from indistinct.engines.spark.parcels import PARCELS_OF_SPARK, PART, part_frame, unpack_parcels
from indistinct.engines.spark.session import import_pyspark, most_bytes, session_for, settings_of, shorten_errors
from indistinct.engines.spark.types import arrow_schema, spark_schema, types_to_send
from indistinct.errors import InputError, ParameterError
from indistinct.tables.addresses import without_credentials
from indistinct.tables.domain import Kind
from indistinct.tables.lakes import at_address, find_kind
from indistinct.tables.several import PARQUET, HivePartitions, Stamp, files_of, find_partitions, kind_of_file
from indistinct.tables.snapshots import only_path
from indistinct.tables.value import Reading, SourceDetails, Table, choose, is_table

# What a group takes at least: its number, and as much for each column.
BYTES_OF_VALUE = 8
# Tasks that read files, for every core, and rows that one reads at most, about.
TASKS, ROWS_OF_TASK = 2, 4_000_000
# Groups that a worker unites at a time, about.
GROUPS_OF_PART = 2_000_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SparkTable(SourceDetails):
    """A table that is read whenever it is needed; `arrow` is what its columns are in Arrow.

    The columns of `frame` are called `c0`, `c1` and so on, because Spark takes names for one that differ in case.
    `pieces` are what workers read themselves of files, None where Spark reads. `stamps` say what files were when they
    were opened, and `estimates` are numbers of distinct values by columns.
    """

    home: ClassVar[str] = "spark"

    frame: Any
    arrow: pa.Schema
    rows: int
    pieces: tuple[FilePiece, ...] | None = None
    path: Path | None = None
    reading: Reading = field(default_factory=Reading)
    stamps: tuple[Stamp, ...] = ()
    estimates: dict[tuple[str, ...], tuple[int, dict[str, int]]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<SparkTable of {self.rows} rows: {', '.join(self.columns)}>"

    @property
    def session(self) -> Any:
        """Return the session that the table belongs to."""
        return self.frame.sparkSession

    def select(self, columns: Sequence[str]) -> Any:
        """Return a frame of some columns, under the names that they have there."""
        return self.frame.select([self.frame[f"c{self.arrow.get_field_index(name)}"] for name in columns])

    def schema_of(self, columns: Sequence[str]) -> pa.Schema:
        """Return the Arrow types of some columns."""
        return pa.schema([self.arrow.field(name) for name in columns])

    def pieces_of(self, columns: Sequence[str]) -> FilePieces | None:
        """Return the pieces of files for workers, with the given columns; None where Spark reads them itself."""
        return None if not self.pieces or not columns else FilePieces(self.pieces, self.schema_of(columns))

    def rows_of_tasks(self, columns: Sequence[str]) -> tuple[Any, int | None]:
        """Return a frame that gives tasks their rows, or the numbers of the pieces that they read, and how many tasks.

        For frames their number is unknown. A task of Spark takes some time before its first row: of files there are a
        few for each core, and more only where they would be large.
        """
        if self.pieces_of(columns) is None:
            return self.select(columns), None
        size = len(self.pieces or ())
        few = TASKS * int(self.session.sparkContext.defaultParallelism)
        tasks = min(size, max(few, -(-self.rows // ROWS_OF_TASK)))
        return self.session.range(0, size, 1, tasks), tasks

    def groups(self, columns: Sequence[str]) -> ValueGroups:
        """Return the distinct combinations of some columns, and how many rows have each: the one thing collected."""
        pieces = self.pieces_of(columns)
        if pieces is None:
            return self._groups_of_frame(columns)
        with settings_of(self.session), shorten_errors("count the combinations of values"):
            if self.rows <= self.most_groups(columns):
                parcels = self._of_pieces(pieces.count, columns).toArrow()
            else:
                parcels = self._united_parcels(pieces)
        _, table = unpack_parcels(parcels.to_batches())
        if table is None:
            return ValueGroups(pieces.schema.empty_table(), np.zeros(0, dtype=np.int64))
        united = unite_groups([table])
        counts = united[NUMBER].to_numpy()
        return ValueGroups(united.drop_columns([NUMBER]).rename_columns(pieces.schema.names), counts)

    def _of_pieces(self, count: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]], columns: Any) -> Any:
        """Return a frame of the groups that workers count in each piece."""
        numbers, _ = self.rows_of_tasks(columns)
        return numbers.mapInArrow(count, PARCELS_OF_SPARK)

    def _united_parcels(self, pieces: FilePieces) -> pa.Table:
        """Return groups that workers united, unless there are more than the driver can take."""
        from pyspark.sql import functions

        most, columns = self.most_groups(pieces.schema.names), pieces.schema.names
        parts = max(int(self.session.sparkContext.defaultParallelism), -(-most // GROUPS_OF_PART))
        counted = self._of_pieces(lambda numbers: pieces.count_by_part(numbers, parts), columns)
        kept = part_frame(counted, parts).mapInArrow(unite_parcels, PARCELS_OF_SPARK).persist()
        try:
            parts_used = kept.agg(functions.sum(PART)).collect()[0][0] or 0
            if parts_used > most:
                raise too_many(parts_used, most)
            return kept.toArrow()
        finally:
            kept.unpersist()

    def _groups_of_frame(self, columns: Sequence[str]) -> ValueGroups:
        """Count distinct rows of some columns by Spark."""
        from pyspark.sql import functions

        some = self.select(columns)
        grouped = some.groupBy(*some.columns).agg(functions.count(functions.lit(1)).alias(NUMBER))
        with settings_of(self.session), shorten_errors("count the combinations of values"):
            table = self._collected(grouped, columns)
        counts = table[NUMBER].to_numpy()
        return ValueGroups(as_read(table.drop_columns([NUMBER]), self.schema_of(columns)), counts)

    def _collected(self, grouped: Any, columns: Sequence[str]) -> pa.Table:
        """Return groups, unless there are more than the driver can take.

        For fewer rows than that nothing is counted.
        """
        most = self.most_groups(columns)
        if self.rows <= most:
            return grouped.toArrow()
        kept = grouped.persist()
        try:
            rows = kept.count()
            if rows > most:
                raise too_many(rows, most)
            return kept.toArrow()
        finally:
            kept.unpersist()

    def most_groups(self, columns: Sequence[str]) -> int:
        """Return how many groups of some columns the driver can take."""
        return most_bytes(self.session) // bytes_of_groups(1, columns)

    def table(self) -> pa.Table:
        """Return the whole table in the driver's memory."""
        with settings_of(self.session), shorten_errors("collect the table"):
            return as_read(self.frame.toArrow(), self.arrow)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the whole table through Arrow's interface, for callers that need a frame in memory."""
        return self.table().__arrow_c_stream__(requested_schema)

    def alone(self, column: str) -> int:
        """Return how many rows have a value in a column that no other row has."""
        some = self.select([column])
        values = some[some.columns[0]]
        counted = some.where(values.isNotNull()).groupBy(values).count()
        with shorten_errors("count values that one row alone has"):
            return int(counted.where(counted["count"] == 1).count())

    def once(self, columns: Sequence[str]) -> int:
        """Return how many rows have a combination of values that no other row has; missing is a value."""
        some = self.select(columns)
        counted = some.groupBy(*some.columns).count()
        with shorten_errors("count combinations of values that one row alone has"):
            return int(counted.where(counted["count"] == 1).count())


def bytes_of_groups(groups: int, columns: Sequence[str]) -> int:
    """Return how many bytes groups of some columns take at least."""
    return groups * BYTES_OF_VALUE * (len(columns) + 1)


def too_many(groups: int, most: int) -> InputError:
    """Return the error of a table with more combinations of values than the driver can search."""
    return InputError(
        f"there are {groups:,} combinations of values, and the driver can take about {most:,}",
        hint="raise spark.driver.memory and spark.driver.maxResultSize, or coarsen or leave out a quasi-identifier",
    )


def as_read(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Rename and cast a result of Spark to the columns of the source."""
    columns = [
        column if column.type == each.type else column.cast(each.type)
        for column, each in zip(table.columns, wanted, strict=True)
    ]
    return pa.table(columns, schema=wanted)


def open_spark(source: Any, reading: Reading, *, memory: int | None) -> SparkTable | None:
    """Return a table that Spark can read, None for what it cannot."""
    source = place_of(source)  # a Parquet file stores its types, whichever program wrote it
    if isinstance(source, SparkTable):
        return source
    import_pyspark()
    if reading != Reading(text=reading.text, columns=reading.columns, version=reading.version):
        raise ParameterError(
            "the engine spark reads tables by their own types, and some are declared here",
            hint="use the engine memory, or save the table as Parquet in the right types first",
        )
    if is_table(source) or isinstance(source, pa.Table):
        data = source.data if is_table(source) else Table(source).data
        return _with_text(_from_arrow(data, session_for(memory)), reading)
    if is_spark_frame(source):
        return _with_text(_from_frame(source, reading.columns), reading)
    if isinstance(source, str) and "://" in source:  # where Spark reads and this process does not
        return _with_text(_read(session_for(memory), [source], reading.columns), reading)
    files = parquet_files(source)
    if not files:
        return None
    # A copy without a name is a link to what this process holds open: followed to its end, it leads nowhere.
    partitions = find_partitions(place_of(source), files)
    table = read_files(session_for(memory), files, reading.columns, partitions=partitions)
    table = replace(table, path=only_path(files), reading=Reading(version=reading.version))
    return _with_text(table, reading)


def parquet_files(source: Any) -> tuple[Path, ...]:
    """Return the Parquet files of a path, a folder, a pattern or a list; none of anything else."""
    location = place_of(source)
    files = () if isinstance(location, str) and "://" in location else files_of(location) or ()
    return files if all(kind_of_file(path) in PARQUET and path.is_file() for path in files) else ()


def read_files(
    session: Any, files: Sequence[Path], columns: Sequence[str] = (), *, partitions: HivePartitions | None = None
) -> SparkTable:
    """Open Parquet files in the types of Spark; workers read their rows directly where the result is the same."""
    positions = [path.absolute() for path in files]
    stamps = tuple(map(Stamp.of, positions))
    with shorten_errors("read the table as Parquet"):
        frame = _frame_of_files(session, files, partitions)
    short, arrow = _short_frame(frame, columns)
    pieces = find_pieces(files, arrow, session, partitions)
    if pieces is None:
        return replace(_counted(short, arrow), stamps=stamps)
    return SparkTable(short, arrow, sum(piece.rows for piece in pieces), pieces, stamps=stamps)


def _frame_of_files(session: Any, files: Sequence[Path], partitions: HivePartitions | None) -> Any:
    """Return a frame of Parquet files, with the columns that their folders name.

    Spark takes a path literally, with blanks and special characters; in an address it would not decode them.
    """
    if partitions is None:
        return session.read.parquet(*[f"file://{_without_patterns(path)}" for path in files])
    frames = []
    for values, own in partitions.by_values().items():
        frame = session.read.parquet(*[f"file://{_without_patterns(path)}" for path in own])
        constants = zip(partitions.schema, values, strict=True)
        frames.append(frame.withColumns({field.name: _constant(value, field.type) for field, value in constants}))
    return reduce(lambda one, other: one.unionByName(other), frames)


def _without_patterns(path: Path) -> str:
    """Return a path whose pattern characters, such as [ and *, are escaped."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path.absolute()))


def _constant(value: Any, kind: pa.DataType) -> Any:
    from pyspark.sql import functions

    return functions.lit(value).cast(spark_schema(pa.schema([("c", kind)])).fields[0].dataType)


def _read(session: Any, names: Sequence[str], columns: Sequence[str] = ()) -> SparkTable:
    with shorten_errors("read the table as Parquet"):
        frame = session.read.parquet(*names)
        _refuse_lake(session, frame)
    return _from_frame(frame, columns)


def _refuse_lake(session: Any, frame: Any) -> None:
    """Raise `InputError` if files that Spark reads belong to a Delta, Iceberg or Hudi table."""
    java = session.sparkContext._jvm.org.apache.hadoop.fs
    settings = session.sparkContext._jsc.hadoopConfiguration()
    folders = [java.Path(each) for each in sorted({file.rpartition("/")[0] for file in frame.inputFiles()})]
    seen = set()
    while folders:
        folder = folders.pop()
        name = folder.toString()
        if name in seen:
            continue
        seen.add(name)
        system, inside = folder.getFileSystem(settings), partial(java.Path, folder)
        kind = find_kind(partial(_is_there, system, inside), partial(_names_in, system, inside))
        if kind is not None:
            raise at_address(without_credentials(name), kind)
        folders += [] if folder.getParent() is None else [folder.getParent()]


def _is_there(system: Any, inside: Callable[[str], Any], name: str) -> bool:
    return bool(system.exists(inside(name)))


def _names_in(system: Any, inside: Callable[[str], Any], name: str) -> Iterable[str]:
    return [each.getPath().getName() for each in system.listStatus(inside(name))]


def _from_frame(frame: Any, columns: Sequence[str] = ()) -> SparkTable:
    return _counted(*_short_frame(frame, columns))


def _counted(short: Any, arrow: pa.Schema) -> SparkTable:
    """Count the rows of a frame."""
    with shorten_errors("count the rows of the frame"):
        return SparkTable(short, arrow, int(short.count()))


def _short_frame(frame: Any, columns: Sequence[str] = ()) -> tuple[Any, pa.Schema]:
    """Return a frame of some columns under short names, and their types in Arrow."""
    from pyspark.sql import functions

    if type(frame).__module__.startswith("pyspark.sql.connect"):
        raise InputError(
            "a frame of Spark Connect cannot be used: workers get what they need by broadcast, which it does not have",
            hint="run the job where the driver is, with spark-submit or a session of the cluster",
        )
    if columns:
        quoted = [name.replace("`", "``") for name in choose(frame.columns, columns)]
        frame = frame.select(*[f"`{name}`" for name in quoted])
    arrow = arrow_schema(frame.schema)
    chosen = []
    short = frame.toDF(*[f"c{index}" for index in range(len(arrow.names))])
    for index, each in enumerate(frame.schema.fields):
        column = short[f"c{index}"]
        kind = type(each.dataType).__name__
        if kind == "NullType":
            column = column.cast("string")
        elif kind == "StringType" and each.dataType.simpleString() != "string":  # different texts are kept apart
            column = functions.collate(column, "UTF8_BINARY")
        chosen.append(column.alias(f"c{index}"))
    return short.select(chosen), arrow


def _from_arrow(data: pa.Table, session: Any) -> SparkTable:
    """Send a small Arrow table to Spark, such as a release in memory."""
    return SparkTable(_send(data, session), data.schema, data.num_rows)


def frame_of(data: pa.Table, session: Any = None) -> Any:
    """Return an Arrow table as a frame of Spark, in a session or in the one that is running."""
    import_pyspark()
    return _send(data, session_for(None) if session is None else session).toDF(*data.column_names)


def _send(data: pa.Table, session: Any) -> Any:
    """Create a Spark frame from an Arrow table, with columns called `c0`, `c1` and so on."""
    columns = [column.cast(each.type) for column, each in zip(data.columns, types_to_send(data.schema), strict=True)]
    short = pa.table(columns, names=[f"c{index}" for index in range(len(columns))])
    with shorten_errors("take an Arrow table"):
        return session.createDataFrame(short, schema=spark_schema(short.schema))


def _with_text(table: SparkTable, reading: Reading) -> SparkTable:
    """Return a table; what is declared as text must be text already."""
    for name in reading.text:
        if name in table.columns and table.kinds[name] is not Kind.TEXT:
            raise ParameterError(
                f"column {name!r} is declared as text, and the engine spark reads it as {table.kinds[name]}",
                hint="use the engine memory, or save the column as text",
            )
    return table
