"""Parquet and Arrow files as Arrow tables for the engines, text as dictionaries where the file has them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.errors import InputError
from indistinct.schema import where_is
from indistinct.tables.dictionaries import check_text, is_text
from indistinct.tables.row_groups import read_row_groups
from indistinct.tables.value import Labels, check_width


def choose(names: Sequence[str], columns: Sequence[str] | None) -> list[str]:
    """Return the wanted columns, all by default; raise `InputError` for one that is not there."""
    if columns is None:
        return list(names)
    present = set(names)
    for name in columns:
        if name not in present:
            raise InputError(
                f"the table has no column {name!r}",
                hint=where_is(name, names, expected=columns),
            )
    return list(columns)


def read_parquet(path: Path, columns: Sequence[str] | None) -> pa.Table:
    """Return a Parquet file; a text column that repeats its values comes as a dictionary."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            check_width(len(file.schema_arrow.names))
            names = choose(file.schema_arrow.names, columns)
            coded = repeating(file.metadata, file.schema_arrow)
        with pq.ParquetFile(path, read_dictionary=coded, pre_buffer=False) as file:
            return read_row_groups(file, names)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError):
        raise _broken(path, "Parquet") from None


def categories_in(path: Path) -> dict[str, Labels]:
    """Return the columns that a Parquet file declares to be categories; their order is not told there."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        fields = list(file.schema_arrow)
    return {each.name: Labels(category=()) for each in fields if isinstance(each.type, pa.DictionaryType)}


def read_arrow(path: Path, columns: Sequence[str] | None) -> pa.Table:
    """Return an Arrow IPC file or stream, which is also what Feather (version 2) is."""
    try:
        with pa.OSFile(str(path)) as file:
            table = _arrow_table(file)
        table.validate()
        for name in table.column_names:
            check_text(name, table[name])
        table.validate(full=True)  # codes that point beyond a dictionary would be followed there
    except MemoryError:
        raise
    except (pa.ArrowException, OSError):
        raise _broken(path, "Arrow IPC") from None
    return table.select(choose(table.column_names, columns))


def _arrow_table(file: Any) -> pa.Table:
    try:
        return pa.ipc.open_file(file).read_all()
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file).read_all()


def repeating(metadata: Any, schema: pa.Schema) -> list[str]:
    """Return the text columns that the file stores as codes.

    A plain string costs at least four bytes for its length, so a column that takes less is stored as codes;
    reading one that is not as a dictionary would hash every value.
    """
    places = {metadata.schema.column(place).path: place for place in range(metadata.num_columns)}
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return [
        field.name
        for field in schema
        if is_text(field.type)
        and field.name in places
        and sum(group.column(places[field.name]).total_uncompressed_size for group in groups) < 4 * metadata.num_rows
    ]


def _broken(path: Path, kind: str) -> InputError:
    return InputError(
        f"{path} cannot be read as a {kind} file", hint="check that the file is complete and its suffix is right"
    )
