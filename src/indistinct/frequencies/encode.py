"""From columns to codes: the first step of every engine that works in memory."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.domain import Codes, Domain
from indistinct.errors import InputError

# A table of this many entries stays in the second-level cache, so looking codes up beats sorting the column.
LOOKUP_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """A column as codes into its domain, in the narrowest unsigned type."""

    domain: Domain
    codes: Codes


def encode_column(name: str, column: pa.ChunkedArray, *, order: Sequence[str] | None = None) -> Encoded:
    """Return the domain of a column, in canonical or declared order, and the code of every cell."""
    column = _plain(name, column)
    if isinstance(column.type, pa.DictionaryType):
        values, places = _from_dictionary(column)
    elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        values, places = _from_numbers(name, column)
    else:
        values, places = _from_dictionary(column.dictionary_encode())
    if not len(values):
        raise InputError(
            f"column {name!r} holds no value: every cell is missing",
            hint="drop the column, or give it the role insensitive",
        )
    missing = bool(column.null_count)
    ranks = _ranks(name, values, order)
    arranged = values.take(pa.array(np.argsort(ranks)))
    domain = Domain(name, arranged, missing=missing, declared=order is not None)
    lookup = np.concatenate([ranks + missing, [0]]).astype(narrowest(len(domain)))
    return Encoded(domain, lookup[places])


def narrowest(size: int) -> type[np.unsignedinteger]:
    """Return the narrowest unsigned type that holds codes below `size`."""
    return next(kind for kind in (np.uint8, np.uint16, np.uint32) if size - 1 <= np.iinfo(kind).max)


def _plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column in one of the few Arrow types that domains are made of."""
    kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise InputError(
            f"column {name!r} has the type {kind}, which cannot be grouped",
            hint="turn it into text, numbers or dates first, or give it the role insensitive",
        )
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_time(kind):
        kind = pa.string()
    elif pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return column.cast(pa.string())
    elif pa.types.is_timestamp(kind):
        kind = pa.timestamp("us")
    elif pa.types.is_date(kind):
        kind = pa.date32()
    if isinstance(column.type, pa.DictionaryType):
        wanted = pa.dictionary(pa.int32(), kind)
        text = pa.types.is_string(kind)
        return column.cast(wanted) if text or column.type == wanted else column.cast(kind)
    return column.cast(kind, safe=False) if column.type != kind else column


def _from_dictionary(column: pa.ChunkedArray) -> tuple[pa.Array, Codes]:
    """Return the values that occur and each cell's place among them, -1 for missing."""
    column = column.unify_dictionaries()
    if not column.num_chunks:
        return pa.array([], column.type.value_type), np.zeros(0, dtype=np.int32)
    dictionary = column.chunk(0).dictionary
    places = _joined([chunk.indices for chunk in column.chunks], fill=len(dictionary))
    # Dictionaries from elsewhere may hold unused, repeated or missing entries.
    used = np.zeros(len(dictionary) + 1, dtype=bool)
    used[places] = True
    distinct = dictionary.dictionary_encode()
    merged = np.append(_joined([distinct.indices], fill=-1), -1)
    values, dense = _occurring(distinct.dictionary, np.unique(merged[used]))
    lookup = np.where(merged >= 0, dense[merged], -1)
    return values, lookup[places]


def _occurring(values: pa.Array, present: Codes) -> tuple[pa.Array, Codes]:
    present = present[present >= 0]
    dense = np.full(len(values) + 1, -1, dtype=np.int64)
    dense[present] = np.arange(len(present))
    return values.take(pa.array(present, pa.int64())), dense


def _joined(indices: Sequence[pa.Array], *, fill: int) -> Codes:
    parts = [
        (part.fill_null(fill) if part.null_count else part).to_numpy(zero_copy_only=False) for part in indices
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _from_numbers(name: str, column: pa.ChunkedArray) -> tuple[pa.Array, Codes]:
    """Return the numbers that occur, ascending, and each cell's place among them, -1 for missing."""
    absent = column.is_null().to_numpy() if column.null_count else None
    zero = pa.scalar(0, column.type)
    numbers = (column.fill_null(zero) if absent is not None else column).to_numpy()
    if numbers.dtype.kind == "f":
        _check_finite(name, numbers)
        numbers = numbers + numbers.dtype.type(0)  # -0.0 and 0.0 are one value
    present = numbers if absent is None else numbers[~absent]
    if not len(present):
        return pa.array([], column.type), np.zeros(len(numbers), dtype=np.int64)
    if numbers.dtype.kind in "iu" and int(present.max()) - int(present.min()) < LOOKUP_LIMIT:
        distinct, places = _by_lookup(numbers, int(present.min()), int(present.max()), absent)
    else:
        distinct = np.unique(present)
        places = np.searchsorted(distinct, numbers) if absent is not None else _inverse(numbers)
    if absent is not None:
        places[absent] = -1
    return pa.array(distinct, column.type), places


def _by_lookup(
    numbers: Codes, low: int, high: int, absent: Codes | None
) -> tuple[Codes, Codes]:
    offsets = np.subtract(numbers, low, dtype=np.int64, casting="unsafe")
    if absent is not None:
        offsets[absent] = 0
    used = np.zeros(high - low + 1, dtype=bool)
    used[offsets] = True
    if absent is not None:
        used[0] = True
    dense = np.cumsum(used, dtype=np.int32) - 1
    return (np.flatnonzero(used) + low).astype(numbers.dtype), dense[offsets]


def _inverse(numbers: Codes) -> Codes:
    """Return each number's rank among the distinct ones, by one sort."""
    order = np.argsort(numbers)
    arranged = numbers[order]
    ranks = np.empty(len(numbers), dtype=np.int64)
    ranks[order] = np.cumsum(np.concatenate([[0], arranged[1:] != arranged[:-1]]))
    return ranks


def _check_finite(name: str, numbers: Codes) -> None:
    nans, infinities = int(np.isnan(numbers).sum()), int(np.isinf(numbers).sum())
    if nans or infinities:
        raise InputError(
            f"column {name!r} holds {nans} NaN and {infinities} infinite value(s), which have no place in an order",
            hint="make them missing (null) or drop these rows",
        )


def _ranks(name: str, values: pa.Array, order: Sequence[str] | None) -> Codes:
    """Return the canonical or declared rank of every value."""
    if order is None:
        arranged = pc.sort_indices(values).to_numpy()
        ranks = np.empty(len(values), dtype=np.int64)
        ranks[arranged] = np.arange(len(values))
        return ranks
    place = {text: rank for rank, text in enumerate(order)}
    texts = values.cast(pa.string()).to_pylist()
    strangers = [text for text in texts if text not in place]
    if strangers:
        raise InputError(
            f"column {name!r} holds {len(strangers)} distinct value(s) that its declared order does not name",
            hint="add them to the order, from first to last",
            values=strangers,
            column=name,
        )
    declared = np.array([place[text] for text in texts])
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(declared)] = np.arange(len(values))
    return ranks
