"""A written file as its readers meet it: text as text, and nothing guessed.

It shares no code with the writers, so that what they got wrong is seen here.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.errors import OutputError
from indistinct.tables.fields import LONGEST_LINE, read_fields
from indistinct.tables.row_groups import read_row_groups
from indistinct.tables.value import Table

TEXT = pa.dictionary(pa.int32(), pa.string())
# Bytes that are parsed at a time.
BLOCK = 1 << 23


def is_text_file(path: Path) -> bool:
    """Return whether the suffix names a file without types."""
    return path.suffix.lower() in (".csv", ".tsv")


def read_as_written(file: Path, path: Path, columns: Sequence[str], schema: pa.Schema) -> Table:
    """Return some columns of a staged file that will lie at `path`; an empty field is missing, and `""` is not.

    Moments are read in the zone and to the digit that `schema` gives them, as no text and no Parquet file tells them.
    """
    try:
        match path.suffix.lower():
            case ".csv" | ".tsv" as suffix:
                data = _delimited(file, columns, "," if suffix == ".csv" else "\t")
            case ".parquet" | ".pq":
                data = _parquet(file, columns)
            case _:
                with pa.memory_map(str(file)) as mapped:
                    data = pa.ipc.open_file(mapped).read_all().select(list(columns))
        return Table(_in_zones(data, schema), path.name)
    except (pa.ArrowException, OSError, KeyError):
        raise OutputError(
            f"{path} could not be read back as it was written", hint="nothing was published; try another format or disk"
        ) from None


def _delimited(file: Path, columns: Sequence[str], mark: str) -> pa.Table:
    from pyarrow import csv

    with csv.open_csv(file, parse_options=csv.ParseOptions(delimiter=mark, newlines_in_values=True)) as opened:
        names = opened.schema.names
        alone = len(names) == 1  # an empty field would be a blank line: missing is `""` as well
    quick = _in_one_pass(file, [names.index(name) for name in columns], width=len(names), mark=mark)
    if quick is not None:
        return pa.table(quick, names=list(columns))
    convert = csv.ConvertOptions(
        include_columns=list(columns),
        column_types=dict.fromkeys(columns, TEXT),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=alone,
    )
    blocks = csv.ReadOptions(block_size=BLOCK)
    try:
        return csv.read_csv(
            file, read_options=blocks, parse_options=csv.ParseOptions(delimiter=mark), convert_options=convert
        )
    except pa.ArrowInvalid:  # a line break inside a cell, where blocks were cut: slower, one block after the other
        parse = csv.ParseOptions(delimiter=mark, newlines_in_values=True)
        return csv.read_csv(file, read_options=blocks, parse_options=parse, convert_options=convert)


def _in_one_pass(file: Path, places: list[int], *, width: int, mark: str) -> list[pa.ChunkedArray] | None:
    """Return some columns of a large and plain file, whose header is one line without quotes; else None."""
    with file.open("rb") as opened:
        header = opened.readline(LONGEST_LINE)
    if b'"' in header or b"\r" in header or header.count(mark.encode()) != width - 1:
        return None
    return read_fields(file, places, width=width, delimiter=mark, begin=len(header))


def _parquet(file: Path, columns: Sequence[str]) -> pa.Table:
    import pyarrow.parquet as pq

    names = list(columns)
    with pq.ParquetFile(file) as opened:
        texts = [name for name in names if pa.types.is_string(opened.schema_arrow.field(name).type)]
        texts = [name for name in texts if _in_codes(opened.metadata, name)]
    with pq.ParquetFile(file, read_dictionary=texts, pre_buffer=False) as opened:
        return read_row_groups(opened, names)


def _in_codes(metadata: Any, name: str) -> bool:
    """Return whether every part of a column is stored as codes; to read others as codes would hash every cell twice."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    parts = [group.column(number) for group in groups for number in range(metadata.num_columns)]
    return all(part.has_dictionary_page for part in parts if part.path_in_schema == name)


def _in_zones(table: pa.Table, schema: pa.Schema) -> pa.Table:
    for index, name in enumerate(table.column_names):
        kind = schema.field(name).type
        if pa.types.is_timestamp(kind) and (kind.tz is not None or kind.unit == "ns"):
            column = table.column(index)
            plain = column.cast(column.type.value_type) if isinstance(column.type, pa.DictionaryType) else column
            table = table.set_column(index, name, plain.cast(kind))
    return table
