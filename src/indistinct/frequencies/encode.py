"""From columns to codes: the first step of every engine that works in memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.arrays import Codes, narrowest
from indistinct.domain import Domain, plain_column
from indistinct.errors import InputError
from indistinct.frequencies import _kernels
from indistinct.parallel import is_large, spread

# A table of this many entries stays in the second-level cache, so looking codes up beats sorting the column; of more
# rows, a table of as many entries still does.
LOOKUP_LIMIT = 1 << 20


@dataclass(frozen=True, eq=False)
class Encoded:
    """A column as codes into its domain: the code of a cell of chunk `i` is `lookups[i][cell - base]`.

    The cells stay where Arrow has them, chunk by chunk, until somebody needs the codes.
    """

    domain: Domain
    chunks: tuple[Codes, ...]
    lookups: tuple[Codes, ...]
    base: int = 0

    @classmethod
    def plain(cls, domain: Domain, codes: Codes) -> "Encoded":
        """Return a column whose cells are codes already."""
        return cls(domain, (codes,), (np.arange(len(domain), dtype=narrowest(len(domain))),))

    @cached_property
    def codes(self) -> Codes:
        """The code of every cell, in the narrowest unsigned type."""
        pairs = zip(self.lookups, self.chunks, strict=True)
        parts = [lookup[chunk - self.base if self.base else chunk] for lookup, chunk in pairs]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @property
    def ends(self) -> Codes:
        """Return where each chunk ends."""
        return np.cumsum([len(chunk) for chunk in self.chunks])


def encode_column(
    name: str, column: pa.ChunkedArray, *, order: Sequence[str] | None = None, required: bool = True
) -> Encoded:
    """Return the domain of a column, in canonical or declared order, and the code of every cell.

    A column without any value is an error where values are `required`; elsewhere missing is its only value.
    """
    column = plain_column(name, column)
    if column.null_count == len(column):
        if required:
            raise InputError(
                f"column {name!r} holds no value: every cell is missing",
                hint="drop the column, or give it the role insensitive",
            )
        nothing = Domain(name, pa.array([], pa.string()), missing=bool(len(column)))
        return Encoded.plain(nothing, np.zeros(len(column), dtype=np.uint8))
    if isinstance(column.type, pa.DictionaryType):
        found = from_dictionary(column)
    elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        found = _from_numbers(name, column)
    else:
        found = from_dictionary(column.dictionary_encode())
    if not len(found.values):  # a dictionary may hide that every cell is missing
        return encode_column(name, pa.chunked_array([pa.nulls(len(column), pa.string())]), required=required)
    arranged = _arrangement(name, found.values, order)
    ranks = np.empty(len(arranged), dtype=np.int64)
    ranks[arranged] = np.arange(len(arranged))
    values = found.values.take(pa.array(arranged))
    domain = Domain(name, values, missing=found.missing, declared=order is not None)
    # Places of cells that do not occur point to code 0, which nobody reads unless it stands for missing.
    codes = np.append(ranks + found.missing, 0).astype(narrowest(len(domain)))
    return Encoded(domain, found.chunks, tuple(codes[places] for places in found.places), found.base)


@dataclass(frozen=True, slots=True, eq=False)
class DistinctValues:
    """The values that occur; `places[i][cell - base]` is where a cell of chunk `i` is among them, -1 for missing."""

    values: pa.Array
    missing: bool
    chunks: tuple[Codes, ...]
    places: tuple[Codes, ...]
    base: int = 0


def from_dictionary(column: pa.ChunkedArray) -> DistinctValues:
    """Return the values that occur in a dictionary column.

    Every chunk may have a dictionary of its own, and dictionaries from elsewhere may hold unused, repeated or missing
    entries.
    """
    dictionaries = [chunk.dictionary for chunk in column.chunks]
    every = pc.drop_null(pa.chunked_array(dictionaries, column.type.value_type).unique())
    chunks, own, used = [], [], np.zeros(len(every) + 1, dtype=bool)
    for chunk, dictionary in zip(column.chunks, dictionaries, strict=True):
        places = _filled(pc.index_in(dictionary, value_set=every), -1)
        own.append(np.append(places, -1))
        chunks.append(_filled(chunk.indices, len(dictionary)))
    for places, here in zip(own, _used(chunks, 0, [len(places) for places in own]), strict=True):
        used[places[here]] = True
    present = np.flatnonzero(used[:-1])
    dense = np.full(len(every) + 1, -1, dtype=np.int64)
    dense[present] = np.arange(len(present))
    values = every.take(pa.array(present))
    return DistinctValues(values, bool(used[-1]), tuple(chunks), tuple(dense[places] for places in own))


def _used(chunks: Sequence[Codes], base: int, sizes: Sequence[int]) -> list[Codes]:
    """Return for each chunk which of so many values, counted from `base`, occur in it."""
    used = [np.zeros(size, dtype=bool) for size in sizes]
    if not is_large(sum(map(len, chunks))):
        for chunk, here in zip(chunks, used, strict=True):
            here[chunk - base if base else chunk] = True
        return used
    spread(_kernels.mark_used, chunks, [base] * len(chunks), used)
    return used


def _filled(indices: pa.Array, fill: int) -> Codes:
    return (indices.fill_null(fill) if indices.null_count else indices).to_numpy(zero_copy_only=False)


def _from_numbers(name: str, column: pa.ChunkedArray) -> DistinctValues:
    whole = pa.types.is_integer(column.type)
    bounds = pc.min_max(column).as_py()
    if bounds["min"] is None:
        return DistinctValues(pa.array([], column.type), True, (), ())
    if whole and bounds["max"] - bounds["min"] < max(LOOKUP_LIMIT, len(column)) and bounds["max"] < 1 << 62:
        return _by_lookup(column, bounds["min"], bounds["max"])
    numbers = column.drop_null().to_numpy()
    if not whole:
        _check_finite(name, numbers)
        numbers = numbers + numbers.dtype.type(0)  # -0.0 and 0.0 are one value
    distinct, ranks = np.unique(numbers, return_inverse=True)
    if column.null_count:
        known, ranks = ranks, np.full(len(column), len(distinct))
        ranks[column.is_valid().to_numpy()] = known
    places = np.append(np.arange(len(distinct)), -1)
    return DistinctValues(pa.array(distinct, column.type), column.null_count > 0, (ranks,), (places,))


def _by_lookup(column: pa.ChunkedArray, low: int, high: int) -> DistinctValues:
    """Look small whole numbers up by their distance from the smallest; missing stands behind the largest."""
    chunks = tuple(_filled(chunk.cast(pa.int64()), high + 1) for chunk in column.chunks)
    used = np.logical_or.reduce(_used(chunks, low, [high - low + 2] * len(chunks)))
    places = np.where(used, np.cumsum(used) - 1, -1)
    places[-1] = -1
    values = pa.array(np.flatnonzero(used[:-1]) + low, pa.int64()).cast(column.type)
    return DistinctValues(values, bool(used[-1]), chunks, (places,) * len(chunks), low)


def _check_finite(name: str, numbers: Codes) -> None:
    nans, infinities = int(np.isnan(numbers).sum()), int(np.isinf(numbers).sum())
    if nans or infinities:
        raise InputError(
            f"column {name!r} holds {nans} NaN and {infinities} infinite value(s), which have no place in an order",
            hint="make them missing (null) or drop these rows",
        )


def _arrangement(name: str, values: pa.Array, order: Sequence[str] | None) -> Codes:
    """Return where the values are, in canonical or declared order."""
    if order is None:
        return np.asarray(pc.sort_indices(values).to_numpy())
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
    return np.argsort([place[text] for text in texts])
