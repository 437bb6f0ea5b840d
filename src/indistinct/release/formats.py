"""The files that a release can be: delimited text, Parquet and Arrow; each holds the published values only.

Metadata is dropped. A dictionary is written with exactly the values that occur, in the order of code points:
a value that no row has would betray a suppressed row, and the order of first occurrence the order of the
original.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from indistinct.errors import OutputError
from indistinct.tables.dictionaries import compact, is_text

Write = Callable[[pa.Table, Path], None]


def producer_for(table: pa.Table, path: Path) -> Callable[[Path], None]:
    """Return what fills a file with a table in the format that the suffix of `path` names."""
    write = FORMATS.get(path.suffix.lower())
    if write is None:
        raise OutputError(
            f"{path}: the suffix does not say in which format to write",
            hint=f"end the name in one of {', '.join(FORMATS)}",
        )
    return partial(_fill, write, table)


def _fill(write: Write, table: pa.Table, place: Path) -> None:
    try:
        write(publishable(table), place)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise OutputError(
            "the table holds a column of a type that this format cannot write",
            hint="turn the column into numbers, dates or text, or choose another format",
        ) from None


def publishable(table: pa.Table) -> pa.Table:
    """Return a table that holds the published values and no trace of others."""
    columns = [_publishable_column(column) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def _publishable_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not isinstance(column.type, pa.DictionaryType):
        return column
    if not is_text(column.type):
        return column.cast(column.type.value_type)
    return pa.chunked_array([compact(column, ascending=True)])


def write_parquet(table: pa.Table, place: Path) -> None:
    """Write a Parquet file without an Arrow schema: every reader then sees text, not categories."""
    import pyarrow.parquet as pq

    # Statistics of dictionary columns cost more than the rest of the file.
    measured = [field.name for field in table.schema if not isinstance(field.type, pa.DictionaryType)]
    pq.write_table(
        table,
        place,
        compression="zstd",
        compression_level=1,
        write_statistics=measured or False,
        store_schema=False,
    )


def write_arrow(table: pa.Table, place: Path) -> None:
    """Write an Arrow IPC file, which is also what Feather (version 2) is."""
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    cleared = pa.table([_cleared(column) for column in table.columns], names=table.column_names)
    with (
        pa.OSFile(str(place), "wb") as file,
        pa.ipc.new_file(file, cleared.schema, options=options) as writer,
    ):
        writer.write_table(cleared)


def _cleared(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column with nothing behind its missing cells, where Arrow may keep what was there before."""
    if not column.null_count:
        return column
    return column.take(pa.array(np.arange(len(column))))


def write_csv(table: pa.Table, place: Path) -> None:
    """Write comma-separated text (RFC 4180, UTF-8, line feeds)."""
    from indistinct.release.delimited import write_delimited

    write_delimited(table, place, delimiter=",")


def write_tsv(table: pa.Table, place: Path) -> None:
    """Write tab-separated text, quoted like comma-separated text."""
    from indistinct.release.delimited import write_delimited

    write_delimited(table, place, delimiter="\t")


FORMATS: dict[str, Write] = {
    ".csv": write_csv,
    ".tsv": write_tsv,
    ".parquet": write_parquet,
    ".pq": write_parquet,
    ".arrow": write_arrow,
    ".feather": write_arrow,
    ".ipc": write_arrow,
}
