"""The files that a release can be: text, Parquet, Arrow, SPSS, Stata, SAS; each holds the published values only.

Metadata is dropped. A dictionary is written with exactly the values that occur, in the order of code points:
a value that no row has would betray a suppressed row, and the order of first occurrence the order of the
original.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from indistinct.errors import OutputError
from indistinct.machine.parallel import spread
from indistinct.release.writing.delimited import write_delimited
from indistinct.release.writing.form import Writing
from indistinct.release.writing.labelled import PROGRAMS, write_labelled
from indistinct.tables.addresses import without_credentials
from indistinct.tables.dictionaries import compact, is_text
from indistinct.tables.value import Labels

# Rows of a Parquet file that are written together, and how often a value must occur there for codes to pay; a few
# values are always written as codes.
ROW_GROUP, REPEATED, FEW = 1 << 20, 4, 1 << 12

Write = Callable[[Iterator[pa.Table], Path, Writing], None]


def producer_for(
    batches: Iterable[pa.Table],
    path: Path,
    writing: Writing = Writing(),  # noqa: B008 (a frozen value)
) -> Callable[[Path], None]:
    """Return what fills a file with a table, given in batches, in the format that the suffix of `path` names."""
    write = FORMATS.get(path.suffix.lower())
    if write is None:
        raise OutputError(
            f"{without_credentials(path)}: the suffix does not say in which format to write",
            hint=f"end the name in one of {', '.join(FORMATS)}",
        )
    return partial(_fill, write, batches, writing)


def _fill(write: Write, batches: Iterable[pa.Table], writing: Writing, place: Path) -> None:
    try:
        write(map(partial(publishable, labels=writing.labels), batches), place, writing)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise OutputError(
            "the table holds a column of a type that this format cannot write",
            hint="turn the column into numbers, dates or text, or choose another format",
        ) from None


def publishable(table: pa.Table, labels: Mapping[str, Labels] = MappingProxyType({})) -> pa.Table:
    """Return a table that holds the published values and no trace of others; categories with an order keep it."""
    columns = spread(_publishable_column, table.columns, rows=len(table))
    for index, name in enumerate(table.column_names):
        order = labels[name].category if name in labels else None
        if order and isinstance(columns[index].type, pa.DictionaryType):
            columns[index] = pa.chunked_array([_in_order(columns[index].combine_chunks(), order)])
    return pa.table(columns, names=table.column_names)


def _in_order(array: pa.DictionaryArray, order: tuple[str, ...]) -> pa.DictionaryArray:
    """Return categories in their order; as they are where one is published that was none."""
    values = array.dictionary.to_pylist()
    if not set(values) <= set(order):
        return array
    kept = [text for text in order if text in set(values)]
    places = pa.array([kept.index(text) for text in values], pa.int32())
    return pa.DictionaryArray.from_arrays(places.take(array.indices), pa.array(kept, pa.string()), ordered=True)


def _publishable_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not isinstance(column.type, pa.DictionaryType):
        return column
    if not is_text(column.type):
        return column.cast(column.type.value_type)
    return pa.chunked_array([compact(column, ascending=True)])


def write_parquet(batches: Iterator[pa.Table], place: Path, writing: Writing) -> None:
    """Write a Parquet file without an Arrow schema: every reader then sees text, not categories.

    Where columns were categories or durations, or have a time zone, a schema says so, and nothing else.
    """
    import pyarrow.parquet as pq

    first = next(batches)
    # Statistics of dictionary columns cost more than the rest of the file.
    measured = [field.name for field in first.schema if not isinstance(field.type, pa.DictionaryType)]
    plain = [name for name in first.column_names if _hardly_repeats(first[name])]
    coded = [name for name in first.column_names if name not in plain]
    kinds = [pa.string() if field.name in plain else field.type for field in first.schema]
    schema = pa.schema([pa.field(name, kind) for name, kind in zip(first.column_names, kinds, strict=True)])
    options = {"compression": "zstd", "compression_level": 1, "store_schema": False}
    options |= {"write_statistics": measured or False, "use_dictionary": coded or False}
    told = _schema_told(first.schema, writing.labels)
    with pq.ParquetWriter(place, schema, **options) as writer:
        if told is not None:
            writer.add_key_value_metadata({"ARROW:schema": b64encode(told.serialize()).decode("ascii")})
        for table in chain([first], batches):
            for start in range(0, max(len(table), 1), ROW_GROUP):
                writer.write_table(table.slice(start, ROW_GROUP).cast(schema))


def _schema_told(schema: pa.Schema, labels: Mapping[str, Labels]) -> pa.Schema | None:
    """Return the types of columns which Parquet alone does not tell; None where it tells all."""
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


def _hardly_repeats(column: pa.ChunkedArray) -> bool:
    """Return whether a dictionary is so large that writing it into every row group costs more than it saves."""
    if not isinstance(column.type, pa.DictionaryType) or column.num_chunks != 1:
        return False
    values, groups = len(column.chunk(0).dictionary), -(-len(column) // ROW_GROUP)
    return values > FEW and groups * values * REPEATED > len(column)


def write_arrow(batches: Iterator[pa.Table], place: Path, writing: Writing) -> None:
    """Write an Arrow IPC file, which is also what Feather (version 2) is."""
    first = _cleared(next(batches))
    options = pa.ipc.IpcWriteOptions(compression="lz4", unify_dictionaries=True)
    with (
        pa.OSFile(str(place), "wb") as file,
        pa.ipc.new_file(file, first.schema, options=options) as writer,
    ):
        for table in chain([first], map(_cleared, batches)):
            writer.write_table(table.cast(first.schema))


def _cleared(table: pa.Table) -> pa.Table:
    """Return a table with nothing behind its missing cells, where Arrow may keep what was there before."""
    columns = [c.take(pa.array(np.arange(len(c)))) if c.null_count else c for c in table.columns]
    return pa.table(columns, names=table.column_names)


FORMATS: dict[str, Write] = {
    # RFC 4180, with line feeds; text between tabs is quoted like that between commas.
    ".csv": partial(write_delimited, delimiter=","),
    ".tsv": partial(write_delimited, delimiter="\t"),
    ".parquet": write_parquet,
    ".pq": write_parquet,
    ".arrow": write_arrow,
    ".feather": write_arrow,
    ".ipc": write_arrow,
    **{suffix: partial(write_labelled, suffix=suffix) for suffix in PROGRAMS},
}
