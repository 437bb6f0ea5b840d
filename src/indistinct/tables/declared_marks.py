"""Declared NA strings: missing values given as texts, also in columns of numbers and dates."""

import re
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.tables.dictionaries import TEXT, compact, is_text
from indistinct.tables.domain import Kind, kind_of, plain_column
from indistinct.tables.inference import spellings
from indistinct.tables.notation import moments, plain_numbers
from indistinct.tables.value import Reading

ISO_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"


def without_values(column: pa.ChunkedArray, marks: Sequence[str]) -> pa.ChunkedArray:
    """Return a column of numbers or dates in which values written like an NA string are missing."""
    if is_text(column.type) or not any(marks):
        return column
    if kind_of(column.type) is Kind.NUMBER:
        values = []
        for mark in marks:
            with suppress(ValueError):
                values.append(float(mark))
        if not values:
            return column
        marked = pc.is_in(column.cast(pa.float64(), safe=False), value_set=pa.array(values, pa.float64()))
    elif kind_of(column.type) is Kind.TEXT:  # booleans and times of day
        marked = pc.is_in(column.cast(pa.string()), value_set=pa.array(marks, pa.string()))
    else:
        days = [mark for mark in marks if re.fullmatch(ISO_DAY, mark)]
        if not days:
            return column
        plain = plain_column("", column)
        wanted = pc.drop_null(moments(pa.array(days, pa.string()), "%Y-%m-%d"))
        marked = pc.is_in(plain, value_set=wanted.cast(plain.type))
    if not pc.any(marked).as_py():
        return column
    return pc.if_else(marked, pa.scalar(None, column.type), column)


def framed_marks(name: str, reading: Reading) -> tuple[str, ...]:
    """Return the declared NA strings of a column that already has a type; none apply by default."""
    every = () if reading.missing == Reading().missing else reading.missing
    return (*every, *reading.missing_in.get(name, ()))


def marks_of(name: str, reading: Reading, *, framed: bool = False) -> list[str]:
    """Return the NA strings of a column that was read, also in the notation of computers."""
    return _spell_marks(framed_marks(name, reading) if framed else reading.marks(name), reading)


def _spell_marks(marks: Sequence[str], reading: Reading) -> list[str]:
    """Return NA strings as given and, where they are numbers in a declared notation, as computers write them."""
    if not (reading.decimal or reading.thousands):
        return list(marks)
    plain = plain_numbers(pa.array(marks, pa.string()), reading.decimal, reading.thousands).to_pylist()
    return [*marks, *(mark for mark in plain if mark is not None)]


def without_texts(column: pa.ChunkedArray, marks: Sequence[str]) -> pa.ChunkedArray:
    """Return a text column in which the given texts are missing, and absent from its dictionary."""
    encoded = column if isinstance(column.type, pa.DictionaryType) else column.cast(TEXT)
    wanted = pa.array(marks, pa.string())
    if not pc.any(pc.is_in(spellings(encoded), value_set=wanted)).as_py():
        return column
    whole = compact(encoded)
    gone = np.flatnonzero(pc.is_in(whole.dictionary, value_set=wanted).to_numpy(zero_copy_only=False))
    marked = pc.is_in(whole.indices, value_set=pa.array(gone, whole.indices.type))
    indices = pc.if_else(marked, pa.scalar(None, whole.indices.type), whole.indices)
    return pa.chunked_array([compact(pa.chunked_array([pa.DictionaryArray.from_arrays(indices, whole.dictionary)]))])
