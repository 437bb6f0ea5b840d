"""Grouping rows by their codes: cells as 64-bit words, sorted once.

Each column gets a bit field of a word. Where the row number still fits behind the fields, one sort of plain
integers gives the cells, their counts and the rows of each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from indistinct.machine.arrays import Codes, empty_large, repeat_values, run_starts
from indistinct.machine.ordering import distinct_with_places, order_numbers, sort_words
from indistinct.machine.parallel import LARGE, blocks, spread

WORD = 64


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Rows sorted by vector: group `i` owns `order[starts[i]:starts[i + 1]]`, groups ascend lexicographically."""

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
    if bits + row_bits <= WORD:
        return group_words(number_words(words, row_bits), row_bits)[0]
    return Grouping(*order_numbers(words))


def number_words(words: Codes, row_bits: int) -> Codes:
    """Append the row number to every word, in place."""
    words <<= np.uint64(row_bits)
    words |= np.arange(len(words), dtype=np.uint64)
    return words


def group_words(words: Codes, row_bits: int) -> tuple[Grouping, Codes]:
    """Group rows by words that carry the row number in their last bits; return the word of each group as well."""
    rows, bits = len(words), np.uint64(row_bits)
    words = sort_words(words)
    order = empty_large(rows, np.uint32 if row_bits <= 32 else np.int64)

    def split(part: slice) -> Codes:
        np.bitwise_and(words[part], (np.uint64(1) << bits) - np.uint64(1), out=order[part], casting="unsafe")
        words[part] >>= bits
        return run_starts(words[part])[:-1] + part.start

    # Parts that begin with a group know nothing of each other.
    firsts = [int(np.searchsorted(words, words[block.start] >> bits << bits)) for block in blocks(rows) if rows]
    starts = np.concatenate([*spread(split, [slice(*ends) for ends in pairwise([*firsts, rows])]), [rows]])
    return Grouping(order, starts), words[starts[:-1]]


def pack(columns: Sequence[Codes], sizes: Sequence[int]) -> tuple[Codes, int]:
    """Return one word a row that ascends as the vectors do, and the number of bits used.

    Fields that do not fit any more are made room for by replacing the word so far with its dense rank.
    """
    rows = len(columns[0]) if columns else 0
    words, bits = np.zeros(rows, dtype=np.uint64), 0
    for codes, size in zip(columns, sizes, strict=True):
        width = max(size - 1, 0).bit_length()
        if bits + width > WORD:
            found, ranks = distinct_with_places(words)
            words, bits = ranks.astype(np.uint64), max(len(found) - 1, 0).bit_length()
        words <<= np.uint64(width)
        words |= codes.astype(np.uint64)
        bits += width
    return words, bits


def one_of_each(codes: Codes, size: int) -> Codes:
    """Return a row of every code below `size`, all of which occur; mostly they do so among the first rows."""
    rows = np.full(size, -1, dtype=np.int64)
    for start in range(0, len(codes), LARGE):
        block = codes[start : start + LARGE]
        rows[block] = np.arange(start, start + len(block))
        if rows.min(initial=0) >= 0:
            break
    return rows


def distinct_codes(codes: Codes) -> tuple[Codes, Codes]:
    """Return the distinct ones of numbers from 0, ascending, and the place of each number among them.

    Numbers that are not much larger than they are many are looked up in a table, others are sorted once.

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
