"""Columns read as they were declared: marks for missing, notations of numbers and dates, types; engines see values."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.tables.dictionaries import TEXT, compact, is_text
from indistinct.tables.domain import Kind, kind_of, plain_column
from indistinct.tables.inference import as_text, infer_type, spellings
from indistinct.tables.misfits import FutureError, MisfitError, no_column
from indistinct.tables.notation import CLOCK, is_future, moments, plain_numbers, without_signs
from indistinct.tables.value import Reading

ISO = {
    "date": ("%Y-%m-%d",),
    "datetime": ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"),
}
ISO_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
# A format for all columns that fits this share of a column's distinct values is meant for it.
MEANT = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """A column as it was read, and the date format for all columns that it fits, if it does."""

    column: pa.ChunkedArray
    form: str | None = None


def read_column(name: str, column: pa.ChunkedArray, reading: Reading) -> Read:
    """Return a column of a text file as it was declared or, if it was not, with the type that all of its values have.

    The marks for every column are missing already. Raises `MisfitError` where cells are not as declared.
    """
    own = reading.missing_in.get(name, ())
    if own:
        column = without_texts(column, own)
    kind = reading.types.get(name)
    if name in reading.text or kind == "text":
        return Read(as_text(column))
    if name in reading.dates_in:
        read = _as_moments(name, column, (reading.dates_in[name],), declared="the date format")
    elif kind is not None:
        read = _as_declared(name, column, kind, reading)
    else:
        read = _infer_column(name, column, reading)
    return Read(without_values(read.column, marks_of(name, reading)), read.form)


def read_frame(table: pa.Table, reading: Reading) -> pa.Table:
    """Return a table that has types already, with what was declared: marks for missing, and types of text columns.

    Marks are compared with numbers by size and with anything else by its text.
    """
    columns, used = [], set()
    for name in table.column_names:
        column, own = table[name], framed_marks(name, reading)
        if is_text(column.type):
            column = without_texts(column, own) if own else column
            read = _read_framed(name, column, reading)
            used.add(read.form)
            column = read.column
        else:
            check_type(name, column.type, reading)
        columns.append(without_values(column, marks_of(name, reading, framed=True)))
    unused = [form for form in reading.dates if form not in used]
    if unused and not any(kind_of(column.type) is Kind.DATE for column in columns):
        texts = {name: table[name] for name in table.column_names if is_text(table[name].type)}
        raise no_column(unused[0], {name: column.unique().cast(pa.string()) for name, column in texts.items()})
    return pa.table(columns, names=table.column_names)


def without_values(column: pa.ChunkedArray, marks: Sequence[str]) -> pa.ChunkedArray:
    """Return a column of numbers or dates in which those that a mark spells are missing."""
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
    elif kind_of(column.type) is Kind.TEXT:  # true, false and hours of a day
        marked = pc.is_in(column.cast(pa.string()), value_set=pa.array(marks, pa.string()))
    else:
        days = [mark for mark in marks if re.fullmatch(ISO_DAY, mark)]
        if not days:
            return column
        plain = plain_column("", column)
        wanted = pc.drop_null(moments(pa.array(days, pa.string()), ISO["date"][0]))
        marked = pc.is_in(plain, value_set=wanted.cast(plain.type))
    if not pc.any(marked).as_py():
        return column
    return pc.if_else(marked, pa.scalar(None, column.type), column)


def framed_marks(name: str, reading: Reading) -> tuple[str, ...]:
    """Return the texts that were declared to stand for missing in a column that has a type: none does by itself."""
    every = () if reading.missing == Reading().missing else reading.missing
    return (*every, *reading.missing_in.get(name, ()))


def marks_of(name: str, reading: Reading, *, framed: bool = False) -> list[str]:
    """Return the marks for missing in a column that was read, also in the notation of computers."""
    return _spell_marks(framed_marks(name, reading) if framed else reading.marks(name), reading)


def _spell_marks(marks: Sequence[str], reading: Reading) -> list[str]:
    """Return marks for missing as they are and, where they are numbers in a declared notation, as computers write."""
    if not (reading.decimal or reading.thousands):
        return list(marks)
    plain = plain_numbers(pa.array(marks, pa.string()), reading.decimal, reading.thousands).to_pylist()
    return [*marks, *(mark for mark in plain if mark is not None)]


def _infer_column(name: str, column: pa.ChunkedArray, reading: Reading) -> Read:
    read = infer_type(column, decimal=reading.decimal, thousands=reading.thousands)
    if is_text(read.type) and "" not in reading.missing:
        # Nothing at all is no number and no date, whatever the marks for missing are.
        rest = infer_type(without_texts(column, ("",)), decimal=reading.decimal, thousands=reading.thousands)
        read = read if is_text(rest.type) else rest
    if not is_text(read.type):
        return Read(read, _form_of(column, reading) if kind_of(read.type) is Kind.DATE else None)
    texts = pc.drop_null(spellings(column).unique())
    fits = {form: _share(moments(texts, form)) for form in reading.dates} if len(texts) else {}
    best = max(fits, key=lambda form: fits[form], default=None)
    if best is None or fits[best] < MEANT:
        return Read(read)
    return _as_moments(name, column, (best,), declared="the date format")


def _form_of(column: pa.ChunkedArray, reading: Reading) -> str | None:
    """Return the declared format that dates in the notation of ISO 8601 fit as well."""
    first = spellings(column)[:1].combine_chunks()
    return next((form for form in reading.dates if moments(first, form).null_count == 0), None)


def _read_framed(name: str, column: pa.ChunkedArray, reading: Reading) -> Read:
    """Return a text column of a frame, which stays text unless it was declared or has a declared mark."""
    kind = reading.types.get(name)
    if name in reading.text or kind == "text":
        return Read(column)
    encoded = pa.chunked_array([compact(column)])
    if name in reading.dates_in:
        return _as_moments(name, encoded, (reading.dates_in[name],), declared="the date format")
    if kind is not None:
        return _as_declared(name, encoded, kind, reading)
    if not (reading.decimal or reading.thousands or reading.dates):
        return Read(column)
    read = _infer_column(name, encoded, reading)
    number = kind_of(read.column.type) is Kind.NUMBER
    marks = [mark for mark in (reading.decimal, reading.thousands) if mark]
    shown = any(pc.any(pc.match_substring(spellings(encoded), mark)).as_py() for mark in marks)
    return read if read.form or (number and shown) else Read(column)


def _as_declared(name: str, column: pa.ChunkedArray, kind: str, reading: Reading) -> Read:
    if kind in ISO:
        clock = kind == "datetime"
        own = tuple(form for form in reading.dates if any(f"%{part}" in form for part in CLOCK) == clock)
        return _as_moments(name, column, (*own, *ISO[kind]), declared=f"the type {kind}")
    column = _drop_signs(without_texts(column, ("",)))
    whole = "^-?[0-9]+$"

    # What the file says decides, and never what its cells happen to look like: next month's may look otherwise.
    marks = (None, None) if kind == "plain-number" else (reading.decimal, reading.thousands)

    def numbers(texts: pa.Array) -> pa.Array:
        plain = pc.replace_substring_regex(plain_numbers(texts, *marks), r"^\+", "")
        if kind == "integer":
            plain = pc.if_else(pc.match_substring_regex(plain, whole), plain, pa.scalar(None, pa.string()))
        return plain

    plain = _map_values(name, column, numbers, declared=f"the type {kind}")
    integers = pc.all(pc.match_substring_regex(plain, "^-?[0-9]{1,18}$")).as_py()
    return Read(plain.cast(pa.int64() if integers else pa.float64()))


def _drop_signs(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of amounts without the currency or per cent sign that they share."""
    texts = spellings(column).combine_chunks()
    plain = without_signs(texts)
    if plain.equals(texts):
        return column
    sizes = np.cumsum([0, *(len(chunk.dictionary) for chunk in column.chunks)])
    parts = [
        pa.DictionaryArray.from_arrays(chunk.indices, plain.slice(start, len(chunk.dictionary)))
        for chunk, start in zip(column.chunks, sizes.tolist(), strict=False)
    ]
    return pa.chunked_array(parts, column.type)


def _as_moments(name: str, column: pa.ChunkedArray, forms: Sequence[str], *, declared: str) -> Read:
    """Return a column in the first format that all cells fit; raise `MisfitError` for the one that most fit."""
    column = without_texts(column, ("",))
    texts = spellings(column)
    best = max(forms, key=lambda form: _share(moments(texts, form)))
    words = f"{declared} {best!r}" if declared.endswith("format") else declared
    read = _map_values(name, column, lambda each: moments(each, best), declared=words)
    if "%y" in best:
        late = np.flatnonzero(is_future(read).fill_null(False).to_numpy())
        if len(late):
            raise FutureError(name, best, late, cells=len(column) - column.null_count)
    return Read(read, best)


def _map_values(
    name: str, column: pa.ChunkedArray, convert: Callable[[pa.Array], pa.Array], *, declared: str
) -> pa.ChunkedArray:
    """Return a dictionary-encoded column with other values; raise `MisfitError` where one becomes missing."""
    parts = [convert(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
    read = pa.chunked_array(parts, type=None if parts else convert(pa.array([], pa.string())).type)
    if read.null_count > column.null_count:
        lost = pc.and_(pc.is_valid(column), pc.is_null(read)).to_numpy()
        cells = len(column) - column.null_count
        raise MisfitError(name, declared, np.flatnonzero(lost), cells=cells, texts=spellings(column))
    return pa.chunked_array([read.combine_chunks()], read.type)


def without_texts(column: pa.ChunkedArray, marks: Sequence[str]) -> pa.ChunkedArray:
    """Return a text column in which some texts are missing, and in no dictionary either."""
    encoded = column if isinstance(column.type, pa.DictionaryType) else column.cast(TEXT)
    wanted = pa.array(marks, pa.string())
    if not pc.any(pc.is_in(spellings(encoded), value_set=wanted)).as_py():
        return column
    whole = compact(encoded)
    gone = np.flatnonzero(pc.is_in(whole.dictionary, value_set=wanted).to_numpy(zero_copy_only=False))
    marked = pc.is_in(whole.indices, value_set=pa.array(gone, whole.indices.type))
    indices = pc.if_else(marked, pa.scalar(None, whole.indices.type), whole.indices)
    return pa.chunked_array([compact(pa.chunked_array([pa.DictionaryArray.from_arrays(indices, whole.dictionary)]))])


def check_type(name: str, kind: pa.DataType, reading: Reading) -> None:
    """Raise if a column that has a type already was declared to be another; what is text is made so elsewhere."""
    kinds = {Kind.NUMBER: ("number", "plain-number", "integer"), Kind.DATE: ("date", "datetime"), Kind.TEXT: ()}
    asked = "date" if name in reading.dates_in else reading.types.get(name, "text")
    if asked != "text" and asked not in kinds[kind_of(kind)]:
        raise InputError(
            f"column {name!r} was declared to be a {asked}, but it has the type {kind} already",
            hint="leave the declaration out: it is for columns of text",
            column=name,
        )


def _share(read: pa.Array) -> float:
    return 1 - read.null_count / len(read) if len(read) else 1.0
