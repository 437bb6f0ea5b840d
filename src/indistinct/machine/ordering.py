"""Sorting large arrays: orders, distinct values, and each cell's index among them.

NumPy sorts plain integers ten times as fast as it computes their order or hashes them. So a cell becomes a word with
its row number in the last bits, and the words are sorted; where values have too many bits, rows that agree in the first
bits are ordered by the next ones.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.machine import _ordering_kernels
from indistinct.machine.arrays import ENTRIES_PER_BLOCK, Codes, Mask, empty_large, repeat_values, run_starts
from indistinct.machine.threads import blocks, is_large, spread, workers

BITS = 64
SIGN = np.uint64(1 << 63)


def distinct(values: Codes) -> Codes:
    """Return the distinct values of an array, ascending.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values)
    return ordered[run_starts(ordered)[:-1]]


def distinct_with_places(values: Codes) -> tuple[Codes, Codes]:
    """Return the distinct values of an array, ascending, and each cell's index among them.

    >>> [part.tolist() for part in distinct_with_places(np.array([3, 1, 3]))]
    [[1, 3], [1, 0, 1]]
    """
    order, starts = order_numbers(values)
    return values[order[starts[:-1]]], places_of(order, starts, np.int64)


def places_of(order: Codes, starts: Codes, kind: type[np.integer] = np.int32) -> Codes:
    """Return the run of each row, where rows in an order are cut into runs."""
    positions = empty_large(len(order), kind)
    positions[order] = repeat_values(np.arange(len(starts) - 1, dtype=kind), np.diff(starts))
    return positions


def order_numbers(values: Codes) -> tuple[Codes, Codes]:
    """Return (rows of finite numbers in ascending order, where each value begins); the order is stable.

    The last start is the end.

    >>> [part.tolist() for part in order_numbers(np.array([3, 1, 3]))]
    [[1, 0, 2], [0, 1, 3]]
    """
    if not is_large(len(values)):
        order: Codes = np.argsort(values, kind="stable")
        return order, run_starts(values[order])
    words, bits = _as_words(values)
    row_bits = (len(words) - 1).bit_length()
    low = max(bits - (BITS - row_bits), 0)
    order, fresh = _by_word(words >> np.uint64(low) if low else words, row_bits)
    # Often the first bits distinguish all values, and only equal cells remain tied.
    if low and 4 * np.count_nonzero(fresh) < 3 * len(fresh):
        low = 0 if len(distinct(words)) == np.count_nonzero(fresh) else low

    def next_bits(rows: Codes, capacity: int) -> Codes | None:
        nonlocal low
        if not low:
            return None
        taken = min(capacity, low)
        low -= taken
        return words[rows] >> np.uint64(low) & np.uint64((1 << taken) - 1)

    _refine(order, fresh, next_bits)
    return order, _ends(fresh)


def text_order(texts: pa.Array) -> Codes:
    """Return the rows of texts, none missing, in the order of code points; ties are in any order."""
    if not is_large(len(texts)) or len(texts) >= 1 << 27 or not pa.types.is_string(texts.type):
        return np.asarray(pc.sort_indices(texts).to_numpy())
    _, offsets, data = texts.buffers()
    begins = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    if data is None or begins[-1] == begins[0]:
        return np.arange(len(texts))
    pool = np.frombuffer(data, dtype=np.uint8)
    lengths = np.diff(begins)
    at, longest = _ordering_kernels.common_prefix(begins, pool), int(lengths.max())
    row_bits = (len(texts) - 1).bit_length()

    def next_bytes(rows: Codes, capacity: int) -> Codes | None:
        nonlocal at
        if at > longest:
            return None
        if at == longest:  # a text comes before those that continue with the character 0
            at += 1
            return lengths[rows].astype(np.uint64)
        count = min(capacity // 8, longest - at)
        words = empty_large(len(rows), np.uint64)
        _ordering_kernels.bytes_of_texts(begins, pool, rows, at, count, words)
        at += count
        return words

    first = next_bytes(np.arange(len(texts), dtype=np.uint32), BITS - row_bits)
    if first is None:
        return np.arange(len(texts))
    order, fresh = _by_word(first, row_bits)
    _refine(order, fresh, next_bytes)
    return order


def _as_words(values: Codes) -> tuple[Codes, int]:
    """Return numbers as words in the same order, counted from 0, and their number of bits."""
    if values.dtype.kind == "f":
        bits = (values.astype(np.float64, copy=False) + 0.0).view(np.uint64)  # -0.0 and 0.0 are one value
        words = np.where(bits & SIGN, ~bits, bits | SIGN)
    elif values.dtype.kind == "u":
        words = values.astype(np.uint64)
    else:
        words = values.astype(np.int64).view(np.uint64) ^ SIGN
    words -= words.min()  # the words may be overwritten
    return words, int(words.max()).bit_length()


def _by_word(words: Codes, row_bits: int) -> tuple[Codes, Mask]:
    """Return rows in the order of words with room for a row number, and which of them differ from the previous one.

    The words are overwritten.
    """
    for start in range(0, len(words), ENTRIES_PER_BLOCK):
        block = words[start : start + ENTRIES_PER_BLOCK]
        block <<= np.uint64(row_bits)
        block |= np.arange(start, start + len(block), dtype=np.uint64)
    words = sort_words(words)
    order = empty_large(len(words), np.uint32 if row_bits <= 32 else np.int64)
    np.bitwise_and(words, np.uint64((1 << row_bits) - 1), out=order, casting="unsafe")
    words >>= np.uint64(row_bits)
    return order, _differ(words)


def _refine(order: Codes, fresh: Mask, key: Callable[[Codes, int], Codes | None]) -> None:
    """Order tied rows by the next bits of a key, in place, until no ties are left or the key is exhausted.

    `fresh` marks the first row of each run of tied rows. `key(rows, room)` returns the next bits of the rows' keys, at
    most `room`, and None at the end.
    """
    tied = np.flatnonzero(_mark_ties(fresh))
    while len(tied):
        runs = np.cumsum(fresh[tied], dtype=np.uint64)
        index_bits, run_bits = (len(tied) - 1).bit_length(), int(runs[-1]).bit_length()
        rows = order[tied]
        part = key(rows, BITS - index_bits - run_bits)
        if part is None:
            return
        width = np.uint64(int(part.max()).bit_length())
        inner, inner_fresh = _by_word(runs << width | part, index_bits)
        order[tied] = rows[inner]
        fresh[tied] = inner_fresh
        tied = tied[_mark_ties(inner_fresh)]


def _differ(words: Codes) -> Mask:
    """Mark the words that differ from the one before."""
    fresh = np.ones(len(words), dtype=bool)
    np.not_equal(words[1:], words[:-1], out=fresh[1:])
    return fresh


def _mark_ties(fresh: Mask) -> Mask:
    """Return which rows are tied with the row before or after them."""
    tied = ~fresh
    tied[:-1] |= ~fresh[1:]
    return tied


def _ends(fresh: Mask) -> Codes:
    """Return the start of each run, and the end."""
    return np.append(np.flatnonzero(fresh), len(fresh))


def sort_words(words: Codes) -> Codes:
    """Return words in ascending order; the array that is given is used for sorting, and changed.

    Every thread sorts a run in place, then neighboring runs are merged.
    """
    runs = blocks(len(words))
    spread(np.ndarray.sort, [words[run] for run in runs])
    bounds = [*(run.start for run in runs), len(words)]
    while len(bounds) > 2:
        merged = np.empty_like(words)
        spread(_ordering_kernels.merge_sorted, *zip(*_merges(words, merged, bounds), strict=True))
        words, bounds = merged, [*bounds[:-1:2], bounds[-1]]
    return words


def _merges(words: Codes, merged: Codes, bounds: Sequence[int]) -> Iterator[tuple[Codes, Codes, Codes]]:
    """Yield the merges of every two neighboring runs, cut into parts that can be merged at the same time."""
    threads = workers()
    for start, middle, stop in zip(bounds[:-1:2], bounds[1::2], [*bounds[2::2], bounds[-1]], strict=False):
        left, right, out = words[start:middle], words[middle:stop], merged[start:stop]
        ends = [len(out) * part // threads for part in range(threads + 1)]
        cuts = [(_from_left(left, right, end), end) for end in ends]
        for (low, first), (high, last) in pairwise(cuts):
            yield left[low:high], right[first - low : last - high], out[first:last]


def _from_left(left: Codes, right: Codes, count: int) -> int:
    """Return how many of the first `count` words of two merged runs come from the left one."""
    low, high = max(count - len(right), 0), min(count, len(left))
    while low < high:
        middle = (low + high) // 2
        if left[middle] < right[count - middle - 1]:
            low = middle + 1
        else:
            high = middle
    return low
