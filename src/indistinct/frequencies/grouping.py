"""Grouping rows by their codes: cells as 64-bit words, sorted once.

Each column gets a bit field of a word. Where the row number still fits behind the fields, one sort of plain
integers gives the cells, their counts and the rows of each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.domain import Codes

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


def group_rows(columns: Sequence[Codes], sizes: Sequence[int]) -> Grouping:
    """Group rows by their vector of codes; `sizes` are the cardinalities of the columns."""
    words, bits = pack(columns, sizes)
    rows = len(words)
    row_bits = max(rows - 1, 0).bit_length()
    if bits + row_bits <= WORD:
        words <<= np.uint64(row_bits)
        words |= np.arange(rows, dtype=np.uint64)
        words.sort()
        order = (words & np.uint64((1 << row_bits) - 1)).astype(np.uint32 if row_bits <= 32 else np.int64)
        words >>= np.uint64(row_bits)
    else:
        order = np.argsort(words)
        words = words[order]
    return Grouping(order, run_starts(words))


def pack(columns: Sequence[Codes], sizes: Sequence[int]) -> tuple[Codes, int]:
    """Return one word a row that ascends as the vectors do, and the number of bits used.

    Fields that do not fit any more are made room for by replacing the word so far with its dense rank.
    """
    rows = len(columns[0]) if columns else 0
    words, bits = np.zeros(rows, dtype=np.uint64), 0
    for codes, size in zip(columns, sizes, strict=True):
        width = max(size - 1, 0).bit_length()
        if bits + width > WORD:
            words, bits = _dense(words)
        words <<= np.uint64(width)
        words |= codes.astype(np.uint64)
        bits += width
    return words, bits


def run_starts(words: Codes) -> Codes:
    """Return where each run of equal words begins, and the end as the last entry."""
    if not len(words):
        return np.zeros(1, dtype=np.int64)
    inner = np.flatnonzero(words[1:] != words[:-1])
    starts = np.empty(len(inner) + 2, dtype=np.int64)
    starts[0], starts[-1] = 0, len(words)
    np.add(inner, 1, out=starts[1:-1])
    return starts


def _dense(words: Codes) -> tuple[Codes, int]:
    distinct, ranks = np.unique(words, return_inverse=True)
    return ranks.astype(np.uint64), max(len(distinct) - 1, 0).bit_length()
