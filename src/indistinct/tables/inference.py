"""A column's type, decided from the whole column before any engine counts it.

Only values in canonical form are converted: `02138` is a zip code and `NA` may be Namibia, so whatever would be written
differently afterwards stays text. A single other value turns a column of numbers into text; no value becomes missing.
"""

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.tables.dictionaries import assemble
from indistinct.tables.notation import moments

# Written in digits: a number, or a code such as 02138.
DIGITS = r"^[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?$"
# A number as people write it: spaces around it, thousands separators, a decimal comma, a currency or percent sign.
SPELLED_NUMBER = r"^\s*[+-]?[$€£]?\s?(?:[0-9]+|[0-9]{1,3}(?:[,' ][0-9]{3})+)(?:[.,][0-9]+)?\s*%?\s*$"
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
# The narrowest type first. Arrow lets decimals of more than 38 digits overflow silently, so patterns count digits.
KINDS: tuple[tuple[str, pa.DataType], ...] = (
    (r"^(?:0|-?[1-9][0-9]{0,18})$", pa.int64()),
    (r"^(?:0|-?[1-9][0-9]{0,37})$", pa.decimal128(38, 0)),
    (r"^-?(?:(?:0|[1-9][0-9]{0,37})(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$", pa.float64()),
    (r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", pa.date32()),
    (r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?$", pa.timestamp("us")),
)
MOMENTS: tuple[tuple[str, pa.DataType], ...] = KINDS[3:]
# A number with thousands separators or three decimals; and a number with neither, which decides between these.
GROUPED, SMALL = r"^-?[1-9][0-9]{0,2}\.[0-9]{3}$", r"^(?:0|-?[1-9][0-9]{0,2})$"
FEW_VALUES = 1 << 16
# With more distinct values, columns are not checked for codes.
COMPARED = 1 << 20


def settle(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a dictionary-encoded column with one common dictionary if its values repeat, otherwise unchanged."""
    return pa.chunked_array([assemble(column)]) if _has_repeats(column) else column


def spellings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return every value of a dictionary-encoded text column at least once."""
    return pa.chunked_array([chunk.dictionary for chunk in column.chunks], pa.string())


def has_several_spellings(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    """Return whether a text column read as a type writes one number in several ways, as codes may."""
    texts = spellings(column)
    if not pa.types.is_floating(kind) or len(texts) > COMPARED:
        return False
    distinct = pc.drop_null(texts.unique())
    try:
        return bool(pc.count_distinct(distinct.cast(kind)).as_py() < len(distinct))
    except pa.ArrowInvalid:  # a declared type, with NA strings in the column
        return False


NOT_FINITE = r"^[+-]?(?i:nan|inf|infinity)$"


def mixture_of(values: pa.Array) -> tuple[str, list[str]] | None:
    """Return ("numbers" or "dates", texts that are not), if most texts are numbers or dates; None if all are.

    A code such as 02138 counts as a number; 1,234 and 5% are numbers but not written plainly, and so are NaN and
    infinities next to numbers.

    >>> mixture_of(pa.array(["31", "NaN"])), mixture_of(pa.array(["Ann", "Nan"]))
    (('numbers', ['NaN']), None)
    >>> mixture_of(pa.array(["31", "4.5", "02138", "unknown"]))
    ('numbers', ['unknown'])
    """
    digits, dates = pc.match_substring_regex(values, DIGITS), are_dates(values)
    alike = pc.or_(digits, pc.match_substring_regex(values, SPELLED_NUMBER))
    if pc.any(digits).as_py():
        alike = pc.or_(alike, pc.match_substring_regex(values, NOT_FINITE))
    for kind, near, plain in (("numbers", alike, digits), ("dates", dates, dates)):
        strangers = values.filter(pc.invert(plain))
        if len(strangers) and 2 * pc.sum(near).as_py() > len(values):
            return kind, list(strangers.to_pylist())
    return None


def are_dates(texts: pa.Array) -> pa.Array:
    """Return which texts begin with a date in ISO 8601; 0000-00-00 is none.

    >>> are_dates(pa.array(["2024-01-31", "2024-01-31 10:00", "0000-00-00", "2024-02-30", "-99"])).to_pylist()
    [True, True, False, False, False]
    """
    days = pc.utf8_slice_codeunits(texts, 0, 10)
    return pc.and_(pc.match_substring_regex(texts, DATE), pc.is_valid(moments(days, "%Y-%m-%d")))


def maybe_grouped(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    """Return whether a text column read as decimals looks like 850, 1.200, 12.000.

    With points as thousands separators.
    """
    texts = spellings(column)
    if not pa.types.is_floating(kind) or not len(texts) or not re.match(f"{GROUPED}|{SMALL}", texts[0].as_py()):
        return False
    grouped, small = (pc.match_substring_regex(texts, pattern) for pattern in (GROUPED, SMALL))
    return bool(pc.all(pc.or_(grouped, small)).as_py() and pc.any(grouped).as_py() and pc.any(small).as_py())


def convert_values(values: pa.ChunkedArray, kinds: Sequence[tuple[str, pa.DataType]]) -> list[pa.Array] | None:
    """Return the values in the narrowest type whose canonical form they all have, None for text."""
    if not len(values):
        return None
    first = values[0].as_py()
    for pattern, kind in kinds:
        # The first value selects the patterns that are checked for all values.
        if re.match(pattern, first) and pc.all(pc.match_substring_regex(values, pattern)).as_py():
            converted = _cast(values, kind)
            if converted is not None:
                return converted
    return None


def _cast(values: pa.ChunkedArray, kind: pa.DataType) -> list[pa.Array] | None:
    """Cast texts to a type; None if one does not fit, or a number is not finite."""
    try:
        converted = [chunk.cast(kind) for chunk in values.chunks]
    except pa.ArrowInvalid:
        return None
    if pa.types.is_floating(kind) and not all(pc.all(pc.is_finite(chunk)).as_py() for chunk in converted):
        return None
    return converted


def _has_repeats(column: pa.ChunkedArray) -> bool:
    """Return whether a common dictionary is smaller than the texts, judged from a sample of the dictionaries."""
    sizes = [len(chunk.dictionary) for chunk in column.chunks]
    if sum(sizes) <= FEW_VALUES:
        return True
    if len(sizes) == 1:
        return 2 * sizes[0] < len(column)
    step = max(1, len(sizes) // 16)
    sample = [chunk.dictionary.slice(0, FEW_VALUES // 8) for chunk in column.chunks[::step]]
    return bool(2 * pc.count_distinct(pa.chunked_array(sample)).as_py() < sum(map(len, sample)))
