"""What a job begins with: a table is opened, and its columns are transformed as it is declared."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack, overload

from indistinct.engines import lives_elsewhere, open_source
from indistinct.engines.base import transform_source
from indistinct.hierarchy import Hierarchy
from indistinct.machine.arguments import with_checked_arguments
from indistinct.recoding.transformations import Transformation
from indistinct.schema import Schema
from indistinct.tables import Reading, Table, open_table
from indistinct.tables.reading import Declarations, declare


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
    """Return the table at a path or in a frame, read as it is declared; what is not declared is found or stays text.

    `delimiter` and `encoding` of a text file; `decimal` and `thousands` marks; `dates`, a format such as "%d.%m.%Y" for
    all columns of text that fit, or {column: format}; `missing`, texts for all columns or {column: texts}; `text`,
    columns that are text whatever they spell; `types`, {column: number, plain-number, integer, date, datetime, text};
    `header=True` for a first line of names that looks like data; `skip_rows`, `comment`, `trim` and `nameless` say
    where names and fields begin; `columns` are those that are read, if not all; `reading` is how another table was
    read. What would take more memory than ten times its file and 2 GB is refused. The folder of a Delta or Iceberg
    table is read by its `version` or snapshot ID, and by its newest one without.

    What lives elsewhere stays there and is read whenever it is needed: a relation, a table of a database, of which
    `table` is the name, or what a `query` gives there, and a file whose `engine` is not memory, or which is too large
    for `memory`, such as "1GB". A database is read in one snapshot until the source is closed or forgotten.
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
    """Return a table with its columns transformed as in a release, so that both can be compared.

    `anonymize`, `apply` and `verify` do so themselves, and want the table as it is.
    """
    return transform_source(open_source(table)[1], schema, hierarchies or {}, transformations)[0]
