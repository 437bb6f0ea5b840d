"""A written file as its readers meet it: text as text, and nothing guessed.

It shares no code with the writers, so that what they got wrong is seen here.
"""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from indistinct.errors import OutputError
from indistinct.tables.value import Table

TEXT = pa.dictionary(pa.int32(), pa.string())
# Bytes that are parsed at a time.
BLOCK = 1 << 23


def is_text_file(path: Path) -> bool:
    """Return whether the suffix names a file without types."""
    return path.suffix.lower() in (".csv", ".tsv")


def read_as_written(file: Path, path: Path, columns: Sequence[str]) -> Table:
    """Return some columns of a staged file that will lie at `path`; an empty field is missing, and `""` is not."""
    try:
        match path.suffix.lower():
            case ".csv" | ".tsv" as suffix:
                data = _delimited(file, columns, "," if suffix == ".csv" else "\t")
            case ".parquet" | ".pq":
                data = _parquet(file, columns)
            case _:
                with pa.memory_map(str(file)) as mapped:
                    data = pa.ipc.open_file(mapped).read_all().select(list(columns))
        return Table(data, path.name)
    except (pa.ArrowException, OSError, KeyError):
        raise OutputError(
            f"{path} could not be read back as it was written", hint="nothing was published; try another format or disk"
        ) from None


def _delimited(file: Path, columns: Sequence[str], mark: str) -> pa.Table:
    from pyarrow import csv

    convert = csv.ConvertOptions(
        include_columns=list(columns),
        column_types=dict.fromkeys(columns, TEXT),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    blocks = csv.ReadOptions(block_size=BLOCK)
    try:
        return csv.read_csv(
            file, read_options=blocks, parse_options=csv.ParseOptions(delimiter=mark), convert_options=convert
        )
    except pa.ArrowInvalid:  # a line break inside a cell, where blocks were cut: slower, one block after the other
        parse = csv.ParseOptions(delimiter=mark, newlines_in_values=True)
        return csv.read_csv(file, read_options=blocks, parse_options=parse, convert_options=convert)


def _parquet(file: Path, columns: Sequence[str]) -> pa.Table:
    import pyarrow.parquet as pq

    names = list(columns)
    with pq.ParquetFile(file) as opened:
        texts = [field.name for field in opened.schema_arrow if field.name in names and pa.types.is_string(field.type)]
    with pq.ParquetFile(file, read_dictionary=texts) as opened:
        return opened.read(columns=names).select(names)
