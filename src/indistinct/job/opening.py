"""The beginning of a job: a table is opened, and its columns are masked as declared."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack, overload

from indistinct.engines import lives_elsewhere, open_source
from indistinct.engines.base import transform_source
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arguments import with_checked_arguments
from indistinct.recoding.transformations import Transformation
from indistinct.schema import Schema
from indistinct.tables.opening import open_table
from indistinct.tables.value import Declarations, Reading, Table, declare


@overload
def open(  # noqa: A001
    source: str | Path | Sequence[str | Path],
    *,
    reading: Reading | None = None,
    **declared: Unpack[Declarations],
) -> Table: ...
@overload
def open(  # noqa: A001
    source: Any,
    *,
    table: str | None = None,
    query: str | None = None,
    engine: str | None = None,
    memory: str | int | None = None,
    **options: Any,
) -> Any: ...
@with_checked_arguments
def open(  # noqa: A001
    source: Any,
    *,
    table: str | None = None,
    query: str | None = None,
    engine: str | None = None,
    memory: str | int | None = None,
    **options: Any,
) -> Any:
    """Open a table: read it into memory as declared, or refer to it where it is.

    Pass the result to `anonymize`, `inspect` and other functions. A path given to them is opened in the same way:
    `open` declares delimiters, types or NA strings. Types and notations that are not declared are inferred from the
    values; what cannot be inferred stays text. A database is read in one snapshot until the source is closed.

    Parameters
    ----------
    source
        Path, several paths or a pattern (CSV, Parquet, Arrow, Excel, SPSS, Stata, SAS, Delta, Iceberg), address of a
        database, frame, relation of DuckDB, or Spark frame.
    table
        Name of a table of a database.
    query
        SQL query of a database, whose result is the table.
    engine
        ``"auto"``, ``"memory"``, ``"duckdb"``, ``"postgres"`` or ``"spark"``. A file whose engine is not memory is not
        read at once.
    memory
        Memory that the table may take, such as ``"1GB"``; a file that is larger is left where it is.
    **options
        How the source is read; None declares nothing.

        * ``delimiter``, ``encoding``: of a text file;
        * ``decimal``, ``thousands``: marks in numbers;
        * ``dates``: a format such as ``"%d.%m.%Y"`` for all columns of text that fit, or ``{column: format}``;
        * ``missing``: NA strings for all columns, or ``{column: texts}``;
        * ``text``: columns that are text whatever their values look like;
        * ``types``: ``{column: type}`` with number, plain-number, integer, date, datetime or text, such as
          ``{"zip": "text"}``;
        * ``header``: True for a first line of names that looks like data;
        * ``columns``: the columns to read, if not all;
        * ``skip_rows``, ``comment``, ``trim``, ``nameless``: where names and fields begin, such as ``skip_rows=2``;
        * ``sheet``: of a workbook; ``codes``: keep the codes of a statistics file in place of its labels;
        * ``version``: of a Delta table, or the ID of an Iceberg snapshot; the newest by default;
        * ``reading``: how another table was read.

    Returns
    -------
    Table or Source
        A `Table` in memory, or a source that is read whenever it is needed.

    Raises
    ------
    InputError
        If the source does not exist or cannot be read as declared.
    OutOfMemoryError
        If the file would take more memory than ten times its size and 2 GB.
    ParameterError
        If an option is not possible.
    MissingExtraError
        If the file's format needs an optional package.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> opened = ind.open(pa.table({"age": ["21", "-99"], "zipcode": ["0210", "4021"]}), missing="-99", text="zipcode")
    >>> opened.data.column_names, opened.data["age"].null_count
    (['age', 'zipcode'], 1)
    """
    named = table is not None or query is not None
    if not named and engine in (None, "memory") and memory is None and not lives_elsewhere(source):
        return open_table(source, **options)
    reading = declare(options.pop("reading", None), **options)
    return open_source(source, reading, engine=engine or "auto", memory=memory, table=table, query=query)[1]


@with_checked_arguments
def transform(
    table: Any,
    schema: Schema,
    transformations: Mapping[str, Transformation],
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Any:
    """Return a table with its columns masked as in a release, so that both can be compared.

    `anonymize`, `apply` and `verify` do this themselves, and take the table before masking.

    Parameters
    ----------
    table
        Path, frame, or what `open` returned.
    schema
        Role of every column.
    transformations
        Masking by column.
    hierarchies
        Hierarchies to which a `Transformation` refers, by column.

    Returns
    -------
    Table
        The masked table.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22], "cost": [120, 180]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["cost"])
    >>> transform(table, schema, {"cost": ind.Transformation(round=100)}).in_memory["cost"].to_pylist()
    [100, 200]
    """
    return transform_source(open_source(table)[1], schema, hierarchies or {}, transformations)[0]
