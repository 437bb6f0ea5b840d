"""Data frames of other libraries as flat Arrow tables.

Arrow's PyCapsule interface passes them without a copy; pandas frames are converted by pandas itself, because the
capsule would include their index as a column.
"""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from indistinct.errors import InputError
from indistinct.tables.dictionaries import TEXT, check_text, is_text
from indistinct.tables.interval_types import check_period, interval_texts, is_interval_type, texts_of_objects
from indistinct.tables.value import ColumnLabels, check_names, choose


def is_frame(source: object) -> bool:
    """Return whether `from_frame` can convert an object, without importing anything."""
    return (
        _is(source, "pandas", "DataFrame")
        or _is(source, "polars", "LazyFrame")
        or hasattr(source, "__arrow_c_stream__")
    )


def from_frame(source: Any, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a pandas, polars or Arrow frame, or any object with an Arrow stream, as an Arrow table.

    A pandas index is not a column and is dropped; `reset_index()` makes it one. A lazy frame is collected, a
    record batch reader is consumed. `columns` selects some.
    """
    if _is(source, "pandas", "DataFrame"):
        return _from_pandas(source, columns)
    if _is(source, "polars", "LazyFrame"):
        source = source.collect()
    try:
        table = source if isinstance(source, pa.Table) else pa.table(source)
    except (pa.ArrowException, TypeError, ValueError):
        raise InputError(
            f"a {type(source).__name__} is not a table of named columns",
            hint="give a frame, not a single column or an array",
        ) from None
    return table if columns is None else table.select(choose(table.column_names, columns))


def flat(table: pa.Table) -> pa.Table:
    """Return a table of numbers, dates, booleans and text, plain or dictionary-encoded.

    Index columns that pandas announces in the metadata are dropped. Dictionaries of other types are decoded; those of
    text have exactly the values that occur.
    """
    index = index_columns(table.schema)
    kept = [name for name in table.column_names if name not in index]
    check_names(kept)
    table = table.select(kept)
    for field in table.schema:
        if not isinstance(field.type, pa.BaseExtensionType):
            check_period(field)
    return pa.table([_flat_column(name, table[name]) for name in table.column_names], names=table.column_names)


def _from_pandas(frame: Any, columns: Sequence[str] | None) -> pa.Table:
    """Convert a pandas frame to Arrow, column by column."""
    names = [str(name) for name in frame.columns]
    check_names(names)
    chosen, read = choose(names, columns), []
    for name in chosen:
        index = names.index(name)
        try:
            # Column by column, because the error of a whole frame does not name the column that failed.
            read.append(_coded_intervals(pa.Array.from_pandas(frame.iloc[:, index])))
        except (pa.ArrowException, TypeError, ValueError):
            texts = texts_of_objects(frame.iloc[:, index].tolist())
            if texts is not None:
                read.append(texts)
                continue
            raise InputError(
                f"column {name!r} mixes types, or holds objects that are not plain values",
                hint=f"make it one type, for example frame[{name!r}] = frame[{name!r}].astype('string')",
                column=name,
            ) from None
    return pa.table(read, names=chosen)


def _coded_intervals(column: Any) -> Any:
    """Return categories that are intervals, as `pandas.cut` makes them, as categories of texts in the same order."""
    kind = column.type
    if not isinstance(kind, pa.DictionaryType) or not is_interval_type(kind.value_type):
        return column
    return pa.DictionaryArray.from_arrays(column.indices, interval_texts(column.dictionary), ordered=kind.ordered)


def _flat_column(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert a column to a supported type: intervals become texts."""
    kind = column.type
    if is_interval_type(kind):
        return pa.chunked_array([interval_texts(chunk) for chunk in column.chunks], pa.string())
    if isinstance(kind, pa.DictionaryType) and is_interval_type(kind.value_type):
        return _flat_column(name, pa.chunked_array([_coded_intervals(chunk) for chunk in column.chunks], TEXT))
    if is_text(kind):
        check_text(name, column)
        if isinstance(kind, pa.DictionaryType):
            coded = pa.types.is_string(kind.value_type) and pa.types.is_signed_integer(kind.index_type)
            return column if coded else column.cast(TEXT)
        return column if pa.types.is_string(kind) else column.cast(pa.string())
    if isinstance(kind, pa.DictionaryType):
        return _flat_column(name, column.cast(kind.value_type))
    if isinstance(kind, pa.BaseExtensionType):
        return _flat_column(name, _storage_of(column))
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return column.cast(pa.decimal128(kind.precision, kind.scale))  # few functions of Arrow accept narrower ones
    check_readable(name, kind)
    return column


def _storage_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the cells of an extension type in their storage type; a UUID as people write it."""
    kind = column.type
    plain = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
    if kind.extension_name == "arrow.bool8":
        return plain.cast(pa.bool_())
    if kind.extension_name != "arrow.uuid":
        return plain
    parts = [None if cell is None else cell.hex() for cell in plain.to_pylist()]
    texts = [text and "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:])) for text in parts]
    return pa.chunked_array([pa.array(texts, pa.string())])


def check_readable(name: str, kind: pa.DataType) -> None:
    """Raise `InputError` with the column's name for a type whose cells are not single numbers, dates or texts."""
    plain = kind.value_type if isinstance(kind, pa.DictionaryType) else kind
    if isinstance(plain, pa.BaseExtensionType):
        plain = pa.string() if plain.extension_name == "arrow.uuid" else plain.storage_type
    if is_text(plain) or pa.types.is_null(plain) or _is_plain(plain):
        return
    raise InputError(
        f"column {name!r} has the type {kind}, which is neither number, date nor text",
        hint="turn it into text, or name the columns to read without it: --columns a,b,c, columns=[…] in Python, or "
        "`columns` under [input]",
        column=name,
    )


def _is_plain(kind: pa.DataType) -> bool:
    """Return whether values of an Arrow type are numbers, truth values, dates or times."""
    known = pa.types
    numbers = (known.is_integer, known.is_floating, known.is_decimal, known.is_boolean)
    return any(
        is_one(kind) for is_one in (*numbers, known.is_date, known.is_timestamp, known.is_time, known.is_duration)
    )


def categories_of(table: pa.Table) -> dict[str, ColumnLabels]:
    """Return the columns of a frame that are categories of texts, with their order if they have one."""
    labels = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        if isinstance(field.type, pa.DictionaryType) and is_text(field.type):
            values = column.chunk(0).dictionary.cast(pa.string()) if column.num_chunks else pa.array([], pa.string())
            order = tuple(text for text in values.to_pylist() if text is not None) if field.type.ordered else ()
            labels[field.name] = ColumnLabels(category=order)
    return labels


def index_columns(schema: pa.Schema) -> set[str]:
    """Return the columns that pandas announces as the index of a frame."""
    described = (schema.metadata or {}).get(b"pandas")
    if described is None:
        return set()
    try:
        return {name for name in json.loads(described)["index_columns"] if isinstance(name, str)}
    except (ValueError, KeyError, TypeError, RecursionError):
        return set()


def _is(source: object, package: str, name: str) -> bool:
    kinds = type(source).__mro__
    return any(kind.__name__ == name and kind.__module__.split(".")[0] == package for kind in kinds)
