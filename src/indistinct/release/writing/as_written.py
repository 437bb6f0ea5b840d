"""A written file as its readers meet it: text as text, and nothing guessed.

It shares no code with the writers, so that what they got wrong is seen here.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import OutputError
from indistinct.release.writing.form import Writing
from indistinct.tables.dictionaries import is_text
from indistinct.tables.fields import LONGEST_LINE, read_fields
from indistinct.tables.labelled import read_labelled
from indistinct.tables.row_groups import read_row_groups
from indistinct.tables.several import LABELLED
from indistinct.tables.value import Reading, Table

TEXT = pa.dictionary(pa.int32(), pa.string())
# Bytes that are parsed at a time.
BLOCK = 1 << 23


def is_text_file(path: Path) -> bool:
    """Return whether the suffix names a file without types."""
    return path.suffix.lower() in (".csv", ".tsv")


def read_as_written(
    file: Path,
    path: Path,
    columns: Sequence[str],
    schema: pa.Schema,
    writing: Writing = Writing(),  # noqa: B008 (a frozen value)
) -> Table:
    """Return some columns of a staged file that will lie at `path`; an empty field is missing, and `""` is not.

    A text file is read as `writing` says that it looks. Moments are read in the zone and to the digit that `schema`
    gives them, as no text and no Parquet file tells them.
    """
    try:
        match path.suffix.lower():
            case ".csv" | ".tsv" as suffix:
                mark = writing.delimiter or ("," if suffix == ".csv" else "\t")
                data = _delimited(file if not writing.encodes else _decoded(file, writing), columns, mark)
                data = _without_marks(data, schema, writing)
            case ".parquet" | ".pq":
                data = _parquet(file, columns)
            case suffix if suffix in LABELLED:
                data = _labelled(file, columns, schema, suffix=suffix)
            case _:
                with pa.memory_map(str(file)) as mapped:
                    data = pa.ipc.open_file(mapped).read_all().select(list(columns))
        return Table(_in_zones(data, schema), path.name)
    except (pa.ArrowException, OSError, KeyError, UnicodeError):
        raise OutputError(
            f"{path} could not be read back as it was written", hint="nothing was published; try another format or disk"
        ) from None


def _decoded(file: Path, writing: Writing) -> pa.Buffer:
    """Return a text file in UTF-8, without the mark that tells its encoding."""
    text = file.read_bytes().decode(writing.codec)
    return pa.py_buffer(text.removeprefix("\ufeff").encode())


def _without_marks(data: pa.Table, schema: pa.Schema, writing: Writing) -> pa.Table:
    """Return the cells without what was put into them for spreadsheets, and numbers with a decimal point."""
    for index, name in enumerate(data.column_names):
        kind = schema.field(name).type
        if writing.spreadsheet and is_text(kind):
            texts = data.column(index).cast(pa.string())
            begins = pc.fill_null(pc.starts_with(texts, "'"), False)
            data = data.set_column(index, name, pc.if_else(begins, pc.utf8_slice_codeunits(texts, 1), texts))
        elif writing.decimal == "," and (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            data = data.set_column(index, name, pc.replace_substring(data.column(index).cast(pa.string()), ",", "."))
    return data


def _labelled(file: Path, columns: Sequence[str], schema: pa.Schema, *, suffix: str) -> pa.Table:
    """Return columns of a file of a statistics program in the types that were written, text where it has none."""
    data = read_labelled(file, Reading(), columns, suffix=suffix).data
    for index, name in enumerate(data.column_names):
        kind, found = schema.field(name).type, data.column(index)
        wanted = pa.string() if is_text(kind) else kind
        if found.null_count == len(found) or (found.type != wanted and not is_text(found.type)):
            data = data.set_column(index, name, found.cast(wanted))
    return data


def _delimited(file: Path | pa.Buffer, columns: Sequence[str], mark: str) -> pa.Table:
    from pyarrow import csv

    def source() -> Any:
        return pa.BufferReader(file) if isinstance(file, pa.Buffer) else file

    with csv.open_csv(source(), parse_options=csv.ParseOptions(delimiter=mark, newlines_in_values=True)) as opened:
        names = opened.schema.names
        alone = len(names) == 1  # an empty field would be a blank line: missing is `""` as well
    places = [names.index(name) for name in columns]
    quick = None if isinstance(file, pa.Buffer) else _in_one_pass(file, places, width=len(names), mark=mark)
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
            source(), read_options=blocks, parse_options=csv.ParseOptions(delimiter=mark), convert_options=convert
        )
    except pa.ArrowInvalid:  # a line break inside a cell, where blocks were cut: slower, one block after the other
        parse = csv.ParseOptions(delimiter=mark, newlines_in_values=True)
        return csv.read_csv(source(), read_options=blocks, parse_options=parse, convert_options=convert)


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
