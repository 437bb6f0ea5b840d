"""The files that a release can be: text, Parquet, Arrow, workbooks, SPSS, Stata, SAS: how each is written and read.

Each holds the published values only. A staged file is read as its readers meet it: text as text, and nothing guessed.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import OutputError
from indistinct.machine.threads import spread
from indistinct.release.writing.delimited import Writing, write_delimited
from indistinct.release.writing.guard import remove_guard
from indistinct.release.writing.labelled import PROGRAMS, write_labelled
from indistinct.release.writing.workbook import write_workbook
from indistinct.tables.addresses import without_credentials
from indistinct.tables.dictionaries import compact, is_text, share_dictionaries
from indistinct.tables.fields import LONGEST_LINE, read_fields
from indistinct.tables.labelled import read_labelled
from indistinct.tables.row_groups import read_row_groups
from indistinct.tables.several import LABELLED, files_of, find_partitions, together
from indistinct.tables.sheets import read_sheet
from indistinct.tables.value import ColumnLabels, Reading, Table

# Rows of a Parquet file that are written together at most, and how often a value must occur there for codes to pay; a
# few values are always written as codes.
ROW_GROUP, REPEATED, FEW = 1 << 20, 4, 1 << 12
# Bytes of a table that are written together, about, and rows at least.
GROUP_BYTES, FEWEST_ROWS = 1 << 24, 1 << 12

Write = Callable[[Iterator[pa.Table], Path, Writing], None]


def producer_for(
    batches: Iterable[pa.Table],
    path: Path,
    writing: Writing = Writing(),  # noqa: B008 (a frozen value)
) -> Callable[[Path], None]:
    """Return a function that writes batches to a file, in the format of the suffix of `path`."""
    write = FORMATS.get(path.suffix.lower())
    if write is None:
        raise OutputError(
            f"{without_credentials(path)}: the suffix does not say in which format to write",
            hint=f"end the name in one of {', '.join(FORMATS)}",
        )
    return partial(_fill, write, batches, writing)


def _fill(write: Write, batches: Iterable[pa.Table], writing: Writing, path: Path) -> None:
    """Write batches to a file; raise `OutputError` for types that the format does not have."""
    try:
        write(map(partial(publishable, labels=writing.labels), batches), path, writing)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise OutputError(
            "the table holds a column of a type that this format cannot write",
            hint="turn the column into numbers, dates or text, or choose another format",
        ) from None


def publishable(table: pa.Table, labels: Mapping[str, ColumnLabels] = MappingProxyType({})) -> pa.Table:
    """Return a table that holds the published values and no trace of others; categories with an order keep it."""
    columns = spread(_publishable_column, table.columns, rows=len(table))
    for index, name in enumerate(table.column_names):
        order = labels[name].category if name in labels else None
        if order and isinstance(columns[index].type, pa.DictionaryType):
            columns[index] = pa.chunked_array([_in_order(columns[index].combine_chunks(), order)])
    return pa.table(columns, names=table.column_names)


def _in_order(array: pa.DictionaryArray, order: tuple[str, ...]) -> pa.DictionaryArray:
    """Return categories in their order; unordered where one is published that was none."""
    values = array.dictionary.to_pylist()
    if not set(values) <= set(order):
        return array
    kept = [text for text in order if text in set(values)]
    indices = pa.array([kept.index(text) for text in values], pa.int32())
    return pa.DictionaryArray.from_arrays(indices.take(array.indices), pa.array(kept, pa.string()), ordered=True)


def _publishable_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column whose dictionary has only occurring texts, sorted; other dictionaries are decoded."""
    if not isinstance(column.type, pa.DictionaryType):
        return column
    if not is_text(column.type):
        return column.cast(column.type.value_type)
    return pa.chunked_array([compact(column, ascending=True)])


def write_parquet(batches: Iterator[pa.Table], path: Path, writing: Writing) -> None:
    """Write a Parquet file without an Arrow schema: every reader then sees text, not categories.

    Where columns were categories or durations, or have a time zone, a schema says so, and nothing else.
    """
    import pyarrow.parquet as pq

    first = next(batches)
    # Statistics of dictionary columns cost more than the rest of the file.
    measured = [field.name for field in first.schema if not isinstance(field.type, pa.DictionaryType)]
    rows = _rows_together(first)
    plain = [name for name in first.column_names if _hardly_repeats(first[name], rows)]
    coded = [name for name in first.column_names if name not in plain]
    kinds = [pa.string() if field.name in plain else field.type for field in first.schema]
    schema = pa.schema([pa.field(name, kind) for name, kind in zip(first.column_names, kinds, strict=True)])
    options = {"compression": "zstd", "compression_level": 1, "store_schema": False}
    options |= {"write_statistics": measured or False, "use_dictionary": coded or False}
    described = _schema_told(first.schema, writing.labels)
    with pq.ParquetWriter(path, schema, **options) as writer:
        if described is not None:
            writer.add_key_value_metadata({"ARROW:schema": b64encode(described.serialize()).decode("ascii")})
        typed = (table.cast(schema) for table in chain([first], batches))
        for group in _row_groups(typed, rows, writing.labels):
            writer.write_table(group)


def _rows_together(first: pa.Table) -> int:
    """Return how many rows a group has: a power of two, by what rows of the first batch take."""
    fitting = GROUP_BYTES * max(len(first), 1) // max(first.nbytes, 1)
    return min(max(1 << max(fitting.bit_length() - 1, 0), FEWEST_ROWS), ROW_GROUP)


def _row_groups(batches: Iterator[pa.Table], rows: int, labels: Mapping[str, ColumnLabels]) -> Iterator[pa.Table]:
    """Yield a table in groups of a number of rows, the last one smaller; one without rows if there are none.

    Batches may have any size. As groups they would tell in which parts the table was made.
    """
    parts, rows_held, some = list[pa.Table](), 0, False
    for batch in batches:
        start = 0
        while rows_held + len(batch) - start >= rows:
            parts.append(batch.slice(start, rows - rows_held))
            yield _as_one(parts, labels)
            start, parts, rows_held, some = start + rows - rows_held, [], 0, True
        if start < len(batch) or not (parts or some):
            parts.append(batch.slice(start))
            rows_held += len(batch) - start
    if parts and (rows_held or not some):
        yield _as_one(parts, labels)


def _as_one(parts: Sequence[pa.Table], labels: Mapping[str, ColumnLabels]) -> pa.Table:
    """Return parts of a table as one, with one dictionary for each column of text."""
    return parts[0] if len(parts) == 1 else publishable(pa.concat_tables(parts), labels).cast(parts[0].schema)


def _schema_told(schema: pa.Schema, labels: Mapping[str, ColumnLabels]) -> pa.Schema | None:
    """Return the Arrow schema if Parquet types alone would lose something, else None."""
    fields, special = [], False
    for each in schema:
        kind = each.type
        if isinstance(kind, pa.DictionaryType):
            category = each.name in labels and labels[each.name].category is not None
            kind = pa.dictionary(pa.int32(), pa.string(), ordered=kind.ordered) if category else pa.string()
            special |= category
        special |= pa.types.is_duration(kind) or (pa.types.is_timestamp(kind) and kind.tz not in (None, "UTC"))
        fields.append(pa.field(each.name, kind))
    return pa.schema(fields) if special else None


def _hardly_repeats(column: pa.ChunkedArray, rows: int) -> bool:
    """Return whether a dictionary is so large that writing it into every group of rows costs more than it saves."""
    if not isinstance(column.type, pa.DictionaryType) or column.num_chunks != 1:
        return False
    values, groups = len(column.chunk(0).dictionary), -(-len(column) // rows)
    return values > FEW and groups * values * REPEATED > len(column)


def write_arrow(batches: Iterator[pa.Table], path: Path, writing: Writing) -> None:
    """Write an Arrow IPC file, which is also what Feather (version 2) is."""
    first = _cleared(next(batches))
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, first.schema, options=options) as writer,
    ):
        for table in chain([first], map(_cleared, batches)):
            writer.write_table(table.cast(first.schema))


def _cleared(table: pa.Table) -> pa.Table:
    """Return a table with nothing behind its missing cells, where Arrow may keep what was there before."""
    columns = [c.take(pa.array(np.arange(len(c)))) if c.null_count else c for c in table.columns]
    return share_dictionaries(pa.table(columns, names=table.column_names))


FORMATS: dict[str, Write] = {
    # RFC 4180, with line feeds; text between tabs is quoted like that between commas.
    ".csv": partial(write_delimited, delimiter=","),
    ".tsv": partial(write_delimited, delimiter="\t"),
    ".parquet": write_parquet,
    ".pq": write_parquet,
    ".arrow": write_arrow,
    ".feather": write_arrow,
    ".ipc": write_arrow,
    ".xlsx": write_workbook,
    **{suffix: partial(write_labelled, suffix=suffix) for suffix in PROGRAMS},
}


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
    """Read some columns of a staged file for `path`; an empty field is missing, and `""` is not.

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
                data = _parquet(file, columns, schema)
            case ".xlsx":
                data = _in_types(read_sheet(file, Reading(), columns, published=True).data, schema)
            case suffix if suffix in LABELLED:
                data = _read_labels(file, columns, schema, suffix=suffix)
            case _:
                with pa.memory_map(str(file)) as mapped:
                    data = pa.ipc.open_file(mapped).read_all().select(list(columns))
        return Table(_in_zones(data, schema), path.name)
    except (pa.ArrowException, OSError, KeyError, UnicodeError):
        raise OutputError(
            f"{path} could not be read back as it was written", hint="nothing was published; try another format or disk"
        ) from None


def _decoded(file: Path, writing: Writing) -> pa.Buffer:
    """Return a text file in UTF-8, without the byte order mark."""
    text = file.read_bytes().decode(writing.codec)
    return pa.py_buffer(text.removeprefix("\ufeff").encode())


def _without_marks(data: pa.Table, schema: pa.Schema, writing: Writing) -> pa.Table:
    """Remove the apostrophes added for spreadsheets, and write numbers with a decimal point."""
    for index, name in enumerate(data.column_names):
        kind = schema.field(name).type
        if writing.marks is not None and is_text(kind):
            data = data.set_column(index, name, remove_guard(data.column(index).cast(pa.string())))
        elif writing.decimal == "," and (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            data = data.set_column(index, name, pc.replace_substring(data.column(index).cast(pa.string()), ",", "."))
    return data


def _read_labels(file: Path, columns: Sequence[str], schema: pa.Schema, *, suffix: str) -> pa.Table:
    """Return columns of a file of a statistics program in the types that were written, text where it has none."""
    return _in_types(read_labelled(file, Reading(), columns, suffix=suffix).data, schema)


def _in_types(data: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return columns in the types that were written; text stays where a format has no such type."""
    for index, name in enumerate(data.column_names):
        kind, column = schema.field(name).type, data.column(index)
        wanted = pa.string() if is_text(kind) else kind
        if column.null_count == len(column) or (column.type != wanted and not is_text(column.type)):
            data = data.set_column(index, name, column.cast(wanted))
    return data


def _delimited(file: Path | pa.Buffer, columns: Sequence[str], mark: str) -> pa.Table:
    """Read columns of a delimited file as text."""
    from pyarrow import csv

    def source() -> Any:
        return pa.BufferReader(file) if isinstance(file, pa.Buffer) else file

    with csv.open_csv(source(), parse_options=csv.ParseOptions(delimiter=mark, newlines_in_values=True)) as opened:
        names = opened.schema.names
        alone = len(names) == 1  # an empty field would be a blank line: missing is `""` as well
    indices = [names.index(name) for name in columns]
    quick = None if isinstance(file, pa.Buffer) else _in_one_pass(file, indices, width=len(names), mark=mark)
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


def _in_one_pass(file: Path, indices: list[int], *, width: int, mark: str) -> list[pa.ChunkedArray] | None:
    """Read columns of a large, plain file in one pass; None unless its header is one line without quotes."""
    with file.open("rb") as opened:
        header = opened.readline(LONGEST_LINE)
    if b'"' in header or b"\r" in header or header.count(mark.encode()) != width - 1:
        return None
    return read_fields(file, indices, width=width, delimiter=mark, begin=len(header))


def read_batches(files: Sequence[Path]) -> Iterator[pa.Table]:
    """Yield the rows of Parquet files in their order, one row group after the other; files without rows give none."""
    import pyarrow.parquet as pq

    for file in files:
        with pq.ParquetFile(file) as opened:
            for number in range(opened.num_row_groups):
                yield opened.read_row_group(number)
            if not opened.num_row_groups:
                yield opened.schema_arrow.empty_table()


def _parquet(file: Path, columns: Sequence[str], schema: pa.Schema) -> pa.Table:
    """Return some columns of a Parquet file, or of a folder of partitions, of a table with a schema."""
    if not file.is_dir():
        return _parquet_file(file, columns)
    files = files_of(file) or ()
    partitions = find_partitions(file, files, schema)
    if partitions is None:
        return pa.concat_tables([_parquet_file(each, columns) for each in files])
    inside = [name for name in columns if name not in partitions.schema.names]
    return together(files, [partitions.add(each, _parquet_file(each, inside), columns) for each in files])


def _parquet_file(file: Path, columns: Sequence[str]) -> pa.Table:
    """Read columns of a Parquet file; texts stay dictionary-encoded where the file stores them so."""
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
    """Restore time zones and nanoseconds of moments."""
    for index, name in enumerate(table.column_names):
        kind = schema.field(name).type
        if pa.types.is_timestamp(kind) and (kind.tz is not None or kind.unit == "ns"):
            column = table.column(index)
            plain = column.cast(column.type.value_type) if isinstance(column.type, pa.DictionaryType) else column
            table = table.set_column(index, name, plain.cast(kind))
    return table
