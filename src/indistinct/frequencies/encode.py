"""Convert columns to codes, and group rows by codes: the first steps of every engine that works in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.figures import plural
from indistinct.frequencies import _kernels
from indistinct.machine.arrays import Codes, empty_large, narrowest, repeat_values, run_starts
from indistinct.machine.ordering import distinct_with_places, order_numbers, places_of, sort_words, text_order
from indistinct.machine.threads import LARGE_ROWS, blocks, is_large, spread
from indistinct.tables.domain import Domain, days_of, plain_column

# A table of this many entries stays in the second-level cache, so that looking codes up is faster than sorting the
# column; with more rows, so is a table with as many entries as rows.
MAX_LOOKUP_ENTRIES = 1 << 20


@dataclass(frozen=True, eq=False)
class Encoded:
    """A column as codes into its domain: the code of a cell of chunk `i` is `lookups[i][cell - base]`.

    The cells stay in Arrow's buffers, chunk by chunk, until codes are needed. Without lookups the cells are codes.
    `order` has the rows in the order of their codes, and where each code begins, where that is known.
    """

    domain: Domain
    chunks: tuple[Codes, ...]
    lookups: tuple[Codes, ...] = ()
    base: int = 0
    order: tuple[Codes, Codes] | None = None

    @classmethod
    def plain(cls, domain: Domain, codes: Codes) -> "Encoded":
        """Return a column whose cells are codes."""
        return cls(domain, (codes,))

    @cached_property
    def codes(self) -> Codes:
        """The code of every cell, in the narrowest unsigned type."""
        if not self.lookups:
            return self.chunks[0].astype(narrowest(len(self.domain)), copy=False)
        pairs = zip(self.lookups, self.chunks, strict=True)
        parts = [lookup[chunk - self.base if self.base else chunk] for lookup, chunk in pairs]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @property
    def ends(self) -> Codes:
        """Return the row after the last of each chunk."""
        return np.cumsum([len(chunk) for chunk in self.chunks])


def encode_column(
    name: str, column: pa.ChunkedArray, *, order: Sequence[str] | None = None, required: bool = True
) -> Encoded:
    """Return a column as codes into its domain, in canonical or declared order.

    A column without any value is an error where values are `required`; elsewhere missing is its only value. Timestamps
    that are all at midnight become dates.
    """
    column = days_of(plain_column(name, column))
    if column.null_count == len(column):
        if required:
            raise InputError(
                f"column {name!r} holds no value: every cell is missing",
                hint="drop the column, or give it the role insensitive",
            )
        nothing = Domain(name, pa.array([], pa.string()), missing=bool(len(column)))
        return Encoded.plain(nothing, np.zeros(len(column), dtype=np.uint8))
    distinct = _distinct_values(name, column)
    if not len(distinct.values):  # a dictionary does not show that every cell is missing
        return encode_column(name, pa.chunked_array([pa.nulls(len(column), pa.string())]), required=required)
    if distinct.order is not None and order is None:
        return Encoded(Domain(name, distinct.values), distinct.chunks, order=distinct.order)
    values, ranks = distinct.values, np.arange(len(distinct.values))
    if not distinct.ascending or order is not None:
        arranged = _arrangement(name, values, order)
        ranks[arranged] = np.arange(len(arranged))
        values = values.take(pa.array(arranged))
    domain = Domain(name, values, missing=distinct.missing, declared=order is not None)
    # Entries for cells that do not occur point to code 0; they are only read where 0 means missing.
    codes = np.append(ranks + distinct.missing, 0).astype(narrowest(len(domain)))
    lookups = tuple(codes[indices] for indices in distinct.places) or (codes,)
    return Encoded(domain, distinct.chunks, lookups, distinct.base)


@dataclass(frozen=True, slots=True, eq=False)
class DistinctValues:
    """The occurring values; `places[i][cell - base]` is the index among them of a cell of chunk `i`, -1 for missing.

    With `ascending` the values are in canonical order. `order` has the rows in the order of their values and where each
    value begins, where they were sorted and none is missing; cells are then places among the values themselves.
    """

    values: pa.Array
    missing: bool
    chunks: tuple[Codes, ...]
    places: tuple[Codes, ...]
    base: int = 0
    ascending: bool = False
    order: tuple[Codes, Codes] | None = None


def _distinct_values(name: str, column: pa.ChunkedArray) -> DistinctValues:
    """Return the distinct values of a column, in the way that is fastest for its type."""
    kind = column.type
    if isinstance(kind, pa.DictionaryType):
        return from_dictionary(column)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _from_numbers(name, column)
    if pa.types.is_temporal(kind):
        distinct = _from_numbers(name, column.cast(pa.int32() if kind.bit_width == 32 else pa.int64()))
        return replace(distinct, values=distinct.values.cast(kind))
    encoded = column.dictionary_encode()  # every chunk has the same dictionary, and all of its values occur
    values = encoded.chunk(0).dictionary
    chunks = tuple(_fill_missing(chunk.indices, len(values)) for chunk in encoded.chunks)
    positions = np.append(np.arange(len(values)), -1)
    return DistinctValues(values, column.null_count > 0, chunks, (positions,) * len(chunks))


def from_dictionary(column: pa.ChunkedArray) -> DistinctValues:
    """Return the occurring values of a dictionary column.

    Every chunk may have its own dictionary, and dictionaries may have unused, repeated or missing entries.
    """
    shared = {_address(chunk.dictionary): chunk.dictionary for chunk in column.chunks}
    encoded = pa.chunked_array(list(shared.values()), column.type.value_type).dictionary_encode()
    every = encoded.chunk(0).dictionary if encoded.num_chunks else pa.array([], column.type.value_type)
    # Arrow omits chunks without cells, so that `places` is split by the sizes of the dictionaries.
    codes = np.concatenate(
        [np.zeros(0, dtype=np.int32), *(_fill_missing(chunk.indices, -1) for chunk in encoded.chunks)]
    )
    cuts = np.split(codes, np.cumsum([len(values) for values in shared.values()]))
    known = {address: np.append(positions, -1) for address, positions in zip(shared, cuts, strict=False)}
    own = [known[_address(chunk.dictionary)] for chunk in column.chunks]
    chunks = [_fill_missing(chunk.indices, len(chunk.dictionary)) for chunk in column.chunks]
    used = np.zeros(len(every) + 1, dtype=bool)
    for positions, here in zip(own, _find_used(chunks, 0, [len(positions) for positions in own]), strict=True):
        used[positions[here]] = True
    present = np.flatnonzero(used[:-1])
    dense = np.full(len(every) + 1, -1, dtype=np.int64)
    dense[present] = np.arange(len(present))
    values = every if len(present) == len(every) else every.take(pa.array(present))
    return DistinctValues(values, bool(used[-1]), tuple(chunks), tuple(dense[positions] for positions in own))


def _address(values: pa.Array) -> tuple[int, ...]:
    """Return the addresses of an array's buffers: arrays with the same addresses have the same content."""
    return (values.offset, len(values), *(0 if buffer is None else buffer.address for buffer in values.buffers()))


def _find_used(chunks: Sequence[Codes], base: int, sizes: Sequence[int]) -> list[Codes]:
    """Return for each chunk which values from `base` on occur in it, by index."""
    used = [np.zeros(size, dtype=bool) for size in sizes]
    if not is_large(sum(map(len, chunks))):
        for chunk, here in zip(chunks, used, strict=True):
            here[chunk - base if base else chunk] = True
        return used
    spread(_kernels.mark_used, chunks, [base] * len(chunks), used)
    return used


def _fill_missing(indices: pa.Array, fill: int) -> Codes:
    return (indices.fill_null(fill) if indices.null_count else indices).to_numpy(zero_copy_only=False)


def _from_numbers(name: str, column: pa.ChunkedArray) -> DistinctValues:
    """Find the distinct numbers of a column: by lookup in a small range, else by sorting."""
    whole = pa.types.is_integer(column.type)
    bounds = pc.min_max(column).as_py()
    if bounds["min"] is None:
        return DistinctValues(pa.array([], column.type), True, (), ())
    if whole and bounds["max"] - bounds["min"] < max(MAX_LOOKUP_ENTRIES, len(column)) and bounds["max"] < 1 << 62:
        return _by_lookup(column, bounds["min"], bounds["max"])
    numbers = column.drop_null().to_numpy()
    if not whole:
        check_finite(name, numbers)
        numbers = numbers + numbers.dtype.type(0)  # -0.0 and 0.0 are one value
    order, starts = order_numbers(numbers)
    distinct, ranks = pa.array(numbers[order[starts[:-1]]], column.type), places_of(order, starts)
    if not column.null_count:
        return DistinctValues(distinct, False, (ranks,), (), ascending=True, order=(order, starts))
    cells = np.full(len(column), len(distinct), dtype=ranks.dtype)
    cells[column.is_valid().to_numpy()] = ranks
    return DistinctValues(distinct, True, (cells,), (np.append(np.arange(len(distinct)), -1),), ascending=True)


def _by_lookup(column: pa.ChunkedArray, low: int, high: int) -> DistinctValues:
    """Find the distinct small whole numbers with a table from the smallest to the largest.

    Missing comes after the largest.
    """
    chunks = tuple(_fill_missing(chunk.cast(pa.int64()), high + 1) for chunk in column.chunks)
    used = np.logical_or.reduce(_find_used(chunks, low, [high - low + 2] * len(chunks)))
    positions = np.where(used, np.cumsum(used) - 1, -1)
    positions[-1] = -1
    values = pa.array(np.flatnonzero(used[:-1]) + low, pa.int64()).cast(column.type)
    return DistinctValues(values, bool(used[-1]), chunks, (positions,) * len(chunks), low, ascending=True)


def check_finite(name: str, numbers: Codes) -> None:
    """Raise `InputError` if a number is NaN or infinite."""
    nans, infinities = int(np.isnan(numbers).sum()), int(np.isinf(numbers).sum())
    if nans or infinities:
        raise not_finite(name, nans, infinities)


def not_finite(name: str, nans: int, infinities: int) -> InputError:
    """Return the error of a column with NaN or infinite numbers."""
    kinds = ((nans, plural(nans, "NaN", "NaN")), (infinities, plural(infinities, "infinite value")))
    return InputError(
        f"column {name!r} holds {' and '.join(words for count, words in kinds if count)}, which cannot be ordered",
        hint="replace them by null (pandas: df.replace([np.inf, -np.inf], pd.NA)), or remove these rows",
    )


def _arrangement(name: str, values: pa.Array, order: Sequence[str] | None) -> Codes:
    """Return the indices of the values in canonical or declared order."""
    if order is None:
        return text_order(values) if pa.types.is_string(values.type) else np.asarray(pc.sort_indices(values))
    index = {text: rank for rank, text in enumerate(order)}
    texts = values.cast(pa.string()).to_pylist()
    strangers = [text for text in texts if text not in index]
    if strangers:
        raise InputError(
            f"column {name!r} holds {len(strangers)} distinct values that its declared order does not name",
            hint="add them to the order, from first to last",
            values=strangers,
            column=name,
        )
    return np.argsort([index[text] for text in texts])


BITS_PER_WORD = 64


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Rows sorted by vector: group `i` has the rows `order[starts[i]:starts[i + 1]]`.

    Groups ascend lexicographically.
    """

    order: Codes
    starts: Codes

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def counts(self) -> Codes:
        """Return the number of rows of each group."""
        return np.diff(self.starts)

    @property
    def first(self) -> Codes:
        """Return one row of each group."""
        return self.order[self.starts[:-1]]

    def group_ids(self) -> Codes:
        """Return the group of every row."""
        ids: Codes = np.empty(len(self.order), dtype=np.int32)
        ids[self.order] = repeat_values(np.arange(len(self), dtype=np.int32), self.counts)
        return ids


def group_rows(columns: Sequence[Codes], sizes: Sequence[int]) -> Grouping:
    """Group rows by their vector of codes; `sizes` are the cardinalities of the columns."""
    words, bits = pack(columns, sizes)
    row_bits = max(len(words) - 1, 0).bit_length()
    if bits + row_bits <= BITS_PER_WORD:
        return group_words(number_words(words, row_bits), row_bits)[0]
    return Grouping(*order_numbers(words))


def number_words(words: Codes, row_bits: int) -> Codes:
    """Append the row number to every word, in place."""
    words <<= np.uint64(row_bits)
    words |= np.arange(len(words), dtype=np.uint64)
    return words


def group_words(words: Codes, row_bits: int) -> tuple[Grouping, Codes]:
    """Group rows by words whose last bits are the row number; return the word of each group as well."""
    rows, bits = len(words), np.uint64(row_bits)
    words = sort_words(words)
    order = empty_large(rows, np.uint32 if row_bits <= 32 else np.int64)

    def split(part: slice) -> Codes:
        np.bitwise_and(words[part], (np.uint64(1) << bits) - np.uint64(1), out=order[part], casting="unsafe")
        words[part] >>= bits
        return run_starts(words[part])[:-1] + part.start

    # Parts begin with a group, so that threads can number them independently.
    firsts = [int(np.searchsorted(words, words[block.start] >> bits << bits)) for block in blocks(rows) if rows]
    starts = np.concatenate([*spread(split, [slice(*ends) for ends in pairwise([*firsts, rows])]), [rows]])
    return Grouping(order, starts), words[starts[:-1]]


def pack(columns: Sequence[Codes], sizes: Sequence[int]) -> tuple[Codes, int]:
    """Return one word per row that orders rows as their vectors do, and the number of bits used.

    Where the next field does not fit, the word so far is replaced by its dense rank.
    """
    rows = len(columns[0]) if columns else 0
    words, bits = np.zeros(rows, dtype=np.uint64), 0
    for codes, size in zip(columns, sizes, strict=True):
        width = max(size - 1, 0).bit_length()
        if bits + width > BITS_PER_WORD:
            products, ranks = distinct_with_places(words)
            words, bits = ranks.astype(np.uint64), max(len(products) - 1, 0).bit_length()
        words <<= np.uint64(width)
        words |= codes.astype(np.uint64)
        bits += width
    return words, bits


def one_of_each(codes: Codes, size: int) -> Codes:
    """Return one row of every code below `size`; all codes occur, mostly among the first rows."""
    rows = np.full(size, -1, dtype=np.int64)
    for start in range(0, len(codes), LARGE_ROWS):
        block = codes[start : start + LARGE_ROWS]
        rows[block] = np.arange(start, start + len(block))
        if rows.min(initial=0) >= 0:
            break
    return rows


def distinct_codes(codes: Codes) -> tuple[Codes, Codes]:
    """Return the distinct values of non-negative integers, ascending, and each number's index among them.

    If the largest number is not much larger than their count they are looked up in a table, otherwise sorted once.

    >>> [part.tolist() for part in distinct_codes(np.array([4, 0, 4, 2]))]
    [[0, 2, 4], [2, 0, 2, 1]]
    """
    size = int(codes.max(initial=-1)) + 1
    if size > max(1 << 12, 4 * len(codes)):
        grouping = group_rows([codes], [size])
        return codes[grouping.first], grouping.group_ids().astype(np.int64)
    present = np.zeros(size, dtype=bool)
    present[codes] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[codes]
