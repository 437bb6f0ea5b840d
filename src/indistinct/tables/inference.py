"""A text column's type, decided on the whole column: one late value can turn numbers into text, never into nothing.

Canonical spellings only. `02138` is a zip code and `NA` may be Namibia, so whatever would come back in another spelling
stays text.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.tables.dictionaries import TEXT, assemble

INTEGER = r"^(?:0|-?[1-9][0-9]*)$"
DECIMAL = r"^-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
TIMESTAMP = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?$"
KINDS = (
    (INTEGER, (pa.int64(), pa.decimal128(38, 0))),
    (DECIMAL, (pa.float64(),)),
    (DATE, (pa.date32(),)),
    (TIMESTAMP, (pa.timestamp("us"),)),
)
FEW = 1 << 16


def typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a dictionary-encoded text column with the type that all of its values have.

    Integers become int64 (decimal128 up to 38 digits), other numbers float64, ISO dates date32, ISO timestamps without
    a zone timestamp[us]. Text stays dictionary-encoded where values repeat and becomes plain strings where they do not.
    """
    repeats = _repeats(column)
    if repeats:
        column = pa.chunked_array([assemble(column)])
    kind = kind_of_all(spellings(column))
    if kind is None:
        return column if repeats else column.cast(pa.string())
    chunks = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array([pa.chunked_array(chunks, kind).combine_chunks()])


def spellings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return every value of a dictionary-encoded column at least once."""
    return pa.chunked_array([chunk.dictionary for chunk in column.chunks], TEXT.value_type)


def kind_of_all(values: pa.ChunkedArray) -> pa.DataType | None:
    """Return the narrowest type that every value spells canonically, None for text or no value."""
    if not len(values):
        return None
    first = values.slice(0, 1)[0].as_py()
    for place, (pattern, kinds) in enumerate(KINDS):
        # A decimal column may begin with an integer; otherwise the first value decides which pattern is worth a scan.
        if re.match(pattern, first) or (place == 0 and re.match(DECIMAL, first)):
            found = _fitting(values, pattern, kinds)
            if found is not None:
                return found
    return None


def _fitting(values: pa.ChunkedArray, pattern: str, kinds: tuple[pa.DataType, ...]) -> pa.DataType | None:
    if not pc.all(pc.match_substring_regex(values, pattern)).as_py():
        return None
    for kind in kinds:
        try:
            converted = values.cast(kind)
        except pa.ArrowInvalid:
            continue
        if not pa.types.is_floating(kind) or pc.all(pc.is_finite(converted)).as_py():
            return kind
    return None


def _repeats(column: pa.ChunkedArray) -> bool:
    """Return whether a common dictionary pays, from an even sample of the dictionaries of the chunks."""
    sizes = [len(chunk.dictionary) for chunk in column.chunks]
    if sum(sizes) <= FEW:
        return True
    if len(sizes) == 1:
        return 2 * sizes[0] < len(column)
    step = max(1, len(sizes) // 16)
    sample = [chunk.dictionary.slice(0, FEW // 8) for chunk in column.chunks[::step]]
    return bool(2 * pc.count_distinct(pa.chunked_array(sample)).as_py() < sum(map(len, sample)))
