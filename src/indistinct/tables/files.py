"""Parquet and Arrow files as Arrow tables, with dictionary-encoded text where the file has it."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from indistinct.errors import InputError
from indistinct.tables.dictionaries import check_text, is_text
from indistinct.tables.frames import check_readable, index_columns
from indistinct.tables.interval_types import check_period
from indistinct.tables.row_groups import read_row_groups
from indistinct.tables.value import ColumnLabels, check_names, choose

# Encodings that store texts as differences; Arrow cannot read these as dictionaries.
DIFFERENCES = {"DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"}
# Bytes of a text cell as a code, and in addition to its letters as text.
BYTES_PER_CODE, BYTES_PER_OFFSET = 1, 4


def read_parquet(path: Path, columns: Sequence[str] | None) -> pa.Table:
    """Return a Parquet file as a table; text columns with repeated values are dictionary-encoded."""
    import pyarrow.parquet as pq

    head = head_of_parquet(path, columns)
    try:
        with pq.ParquetFile(path, read_dictionary=head.coded, pre_buffer=False) as file:
            return read_row_groups(file, head.schema.names)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError):
        raise _broken(path, "Parquet") from None


class ParquetHead(NamedTuple):
    """What the footer of a Parquet file contains: the columns to read, which are dictionary-encoded, and the rows.

    `size` is the number of bytes of the columns in memory.
    """

    schema: pa.Schema
    coded: list[str]
    rows: int
    size: int


def head_of_parquet(path: Path, columns: Sequence[str] | None = None) -> ParquetHead:
    """Return the head of a Parquet file; raise `InputError` for a column that cannot be read."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
            index = index_columns(schema)
            names = [name for name in schema.names if name not in index]
            check_names(names)
            chosen = choose(names, columns)
            for name in chosen:
                check_period(schema.field(name))
                check_readable(name, schema.field(name).type)
            signed = is_signed(metadata, _last_bytes(path))
            if signed:
                _check_encryption(path, file, chosen)
            coded = [] if signed else repeating(metadata, schema)
            read = pa.schema([schema.field(name) for name in chosen], metadata=schema.metadata)
            size = 0 if signed else size_of_parquet(read, metadata, coded=coded)
            return ParquetHead(read, coded, metadata.num_rows, size)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError):
        raise _broken(path, "Parquet") from None


def size_of_parquet(schema: pa.Schema, metadata: Any, *, coded: Sequence[str]) -> int:
    """Return the approximate bytes of some columns of a Parquet file in memory; `coded` ones are dictionary-encoded."""
    stored = _stored_bytes(metadata)
    return sum(_bytes_of(each, metadata, stored=stored, coded=each.name in coded) for each in schema)


def _stored_bytes(metadata: Any) -> dict[str, int]:
    """Return the uncompressed bytes of each column of a Parquet file."""
    sizes: dict[str, int] = {}
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for chunk in map(group.column, range(group.num_columns)):
            sizes[chunk.path_in_schema] = sizes.get(chunk.path_in_schema, 0) + int(chunk.total_uncompressed_size)
    return sizes


def _bytes_of(field: pa.Field, metadata: Any, *, stored: Mapping[str, int], coded: bool) -> int:
    """Return the approximate bytes of a column of a Parquet file in memory: as codes, texts or numbers."""
    kind, rows = field.type.value_type if isinstance(field.type, pa.DictionaryType) else field.type, metadata.num_rows
    if pa.types.is_primitive(kind) or pa.types.is_decimal(kind):
        return int(rows * kind.bit_width / 8)
    return int(rows * (BYTES_PER_CODE if coded else BYTES_PER_OFFSET)) + stored.get(field.name, 0)


def _last_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-8, os.SEEK_END)
        return file.read()


def _check_encryption(path: Path, file: Any, names: Sequence[str]) -> None:
    """Raise `InputError` for encrypted columns in a file where others are not encrypted."""
    hidden = []
    for name in names:
        try:
            next(file.iter_batches(1, columns=[name]), None)
        except OSError:
            hidden.append(name)
    if hidden:
        raise InputError(
            f"{path} has encrypted columns: {', '.join(map(repr, hidden))}",
            hint="decrypt the file first, or name the columns to read without them: --columns a,b,c, columns=[…] in "
            "Python, or `columns` under [input]",
        )


def columns_in_file(path: Path) -> list[str]:
    """Return the names of the columns of a Parquet or Arrow file."""
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file:
            is_parquet = file.read(4) in (b"PAR1", b"PARE")
        if is_parquet:
            return list(pq.read_schema(path).names)
        with pa.OSFile(str(path)) as opened:
            return list(_arrow_table(opened).column_names)
    except (pa.ArrowException, OSError):
        raise InputError(
            f"{path} lies in a folder such as year=2024, which names a column, and is no Parquet or Arrow file",
            hint="save the table as Parquet, or name the files of one such folder alone",
        ) from None


def categories_in(path: Path) -> dict[str, ColumnLabels]:
    """Return the columns that a Parquet file declares as categories; it does not store whether they are ordered."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        fields = list(file.schema_arrow)
    return {each.name: ColumnLabels(category=()) for each in fields if isinstance(each.type, pa.DictionaryType)}


def read_arrow(path: Path, columns: Sequence[str] | None) -> pa.Table:
    """Return an Arrow IPC file or stream, which includes Feather version 2."""
    try:
        with pa.OSFile(str(path)) as file:
            table = _arrow_table(file)
        table.validate()
        for name in table.column_names:
            check_text(name, table[name])
        table.validate(full=True)  # codes beyond the dictionary would read outside its memory
    except MemoryError:
        raise
    except (pa.ArrowException, OSError):
        raise _broken(path, "Arrow IPC") from None
    return table.select(choose(table.column_names, columns))


def _arrow_table(file: Any) -> pa.Table:
    """Read an Arrow file, or an Arrow stream."""
    try:
        return pa.ipc.open_file(file).read_all()
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file).read_all()


def repeating(metadata: Any, schema: pa.Schema) -> list[str]:
    """Return the text columns that the file stores dictionary-encoded.

    A plain string takes at least four bytes for its length, so a column with fewer bytes per cell is stored as codes;
    reading another column as a dictionary would hash every value.
    """
    return [
        name
        for name, chunks in _chunks_of_texts(metadata, schema).items()
        if sum(chunk.total_uncompressed_size for chunk in chunks) < 4 * metadata.num_rows
    ]


def readable_as_codes(metadata: Any, schema: pa.Schema) -> list[str]:
    """Return the text columns that Arrow can read dictionary-encoded: those not stored as differences of texts."""
    return list(_chunks_of_texts(metadata, schema))


def _chunks_of_texts(metadata: Any, schema: pa.Schema) -> dict[str, list[Any]]:
    """Return the metadata of each text column that Arrow can read dictionary-encoded, for every row group."""
    columns = {metadata.schema.column(number).path: number for number in range(metadata.num_columns)}
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = {
        field.name: [group.column(columns[field.name]) for group in groups]
        for field in schema
        if is_text(field.type) and field.name in columns
    }
    return {name: each for name, each in chunks.items() if not any(DIFFERENCES & set(c.encodings) for c in each)}


def is_signed(metadata: Any, ending: bytes) -> bool:
    """Return whether the footer of a Parquet file is signed, as in a file with encrypted columns.

    `ending` are the last eight bytes of the file, which contain the length of its footer. Metadata of encrypted columns
    cannot be read; Arrow crashes the process when it tries.
    """
    return int.from_bytes(ending[:4], "little") > int(metadata.serialized_size)


def _broken(path: Path, kind: str) -> InputError:
    return InputError(
        f"{path} cannot be read as a {kind} file", hint="check that the file is complete and its suffix is right"
    )
