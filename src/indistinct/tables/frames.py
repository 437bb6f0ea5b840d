"""Frames of other libraries as flat Arrow tables, before any engine sees them.

Arrow's PyCapsule interface carries them without a copy; pandas is asked itself, because through the capsule
it would hand over its index as a column.
"""

import json
from typing import Any

import pyarrow as pa

from indistinct.errors import InputError
from indistinct.tables.dictionaries import TEXT, check_text, is_text
from indistinct.tables.value import Labels, check_names


def is_frame(source: object) -> bool:
    """Return whether `from_frame` knows what to do with an object, without importing anything."""
    return (
        _is(source, "pandas", "DataFrame")
        or _is(source, "polars", "LazyFrame")
        or hasattr(source, "__arrow_c_stream__")
    )


def from_frame(source: Any) -> pa.Table:
    """Return a pandas, polars or Arrow frame, or anything with an Arrow stream, as an Arrow table.

    A pandas index is not a column and is dropped; `reset_index()` makes it one. A lazy frame is collected, a
    record batch reader is consumed.
    """
    if _is(source, "pandas", "DataFrame"):
        return _from_pandas(source)
    if _is(source, "polars", "LazyFrame"):
        source = source.collect()
    if isinstance(source, pa.Table):
        return source
    try:
        return pa.table(source)
    except (pa.ArrowException, TypeError, ValueError):
        raise InputError(
            f"a {type(source).__name__} is not a table of named columns",
            hint="give a frame, not a single column or an array",
        ) from None


def flat(table: pa.Table) -> pa.Table:
    """Return a table of numbers, dates, booleans and text: codes into strings, or plain strings.

    Index columns that pandas announces in the metadata are dropped. Dictionaries of other values are decoded,
    those of text hold exactly the values that occur.
    """
    index = _index_columns(table)
    kept = [name for name in table.column_names if name not in index]
    check_names(kept)
    table = table.select(kept)
    return pa.table([_flat_column(name, table[name]) for name in table.column_names], names=table.column_names)


def _from_pandas(frame: Any) -> pa.Table:
    names = [str(name) for name in frame.columns]
    check_names(names)
    columns = []
    for place, name in enumerate(names):
        try:
            # Column by column, because the error of a whole frame does not say which column failed.
            columns.append(pa.Array.from_pandas(frame.iloc[:, place]))
        except (pa.ArrowException, TypeError, ValueError):
            raise InputError(
                f"column {name!r} mixes types, or holds objects that are not plain values",
                hint=f"make it one type, for example frame[{name!r}] = frame[{name!r}].astype('string')",
                column=name,
            ) from None
    return pa.table(columns, names=names)


def _flat_column(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if is_text(kind):
        check_text(name, column)
        if isinstance(kind, pa.DictionaryType):
            coded = pa.types.is_string(kind.value_type) and pa.types.is_signed_integer(kind.index_type)
            return column if coded else column.cast(TEXT)
        return column if pa.types.is_string(kind) else column.cast(pa.string())
    if isinstance(kind, pa.DictionaryType):
        return _flat_column(name, column.cast(kind.value_type))
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if _is_plain(kind):
        return column
    raise InputError(
        f"column {name!r} has the type {kind}, which is neither number, date nor text",
        hint="turn it into text, or leave it out with columns=[…]",
        column=name,
    )


def _is_plain(kind: pa.DataType) -> bool:
    known = pa.types
    numbers = (known.is_integer, known.is_floating, known.is_decimal, known.is_boolean)
    return any(
        is_one(kind) for is_one in (*numbers, known.is_date, known.is_timestamp, known.is_time, known.is_duration)
    )


def categories_of(table: pa.Table) -> dict[str, Labels]:
    """Return the columns of a frame that are categories of texts, with their order where they have one."""
    found = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        if isinstance(field.type, pa.DictionaryType) and is_text(field.type):
            values = column.chunk(0).dictionary.cast(pa.string()) if column.num_chunks else pa.array([], pa.string())
            order = tuple(text for text in values.to_pylist() if text is not None) if field.type.ordered else ()
            found[field.name] = Labels(category=order)
    return found


def _index_columns(table: pa.Table) -> set[str]:
    described = (table.schema.metadata or {}).get(b"pandas")
    if described is None:
        return set()
    try:
        return {name for name in json.loads(described)["index_columns"] if isinstance(name, str)}
    except (ValueError, KeyError, TypeError, RecursionError):
        return set()


def _is(source: object, package: str, name: str) -> bool:
    kinds = type(source).__mro__
    return any(kind.__name__ == name and kind.__module__.split(".")[0] == package for kind in kinds)
