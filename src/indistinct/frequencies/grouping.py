"""Grouping rows by their codes: cells as 64-bit words, sorted once.

Each column gets a bit field of a word. Where the row number still fits behind the fields, one sort of plain
integers gives the cells, their counts and the rows of each.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from indistinct.domain import Codes
from indistinct.frequencies import _kernels

WORD = 64
# Below this many rows starting a thread costs more than it saves.
PARALLEL_FROM = 1 << 18


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
    row_bits = max(len(words) - 1, 0).bit_length()
    if bits + row_bits <= WORD:
        _kernels.add_rows(words, 0, np.uint64(row_bits))
        return group_words(words, row_bits)[0]
    order = np.argsort(words)
    return Grouping(order, run_starts(words[order]))


def group_words(words: Codes, row_bits: int) -> tuple[Grouping, Codes]:
    """Group rows by words that carry the row number in their last bits; return the word of each group as well."""
    rows = len(words)
    words = sort_words(words)
    order = np.empty(rows, dtype=np.uint32 if row_bits <= 32 else np.int64)
    starts, cells = np.empty(rows + 1, dtype=np.int64), np.empty(max(rows, 1), dtype=np.uint64)
    groups = _kernels.split_words(words, np.uint64(row_bits), order, starts, cells)
    starts[groups] = rows
    return Grouping(order, starts[: groups + 1].copy()), cells[:groups].copy()


def sort_words(words: Codes) -> Codes:
    """Return words in ascending order: each half by a thread of its own, then merged."""
    if len(words) < PARALLEL_FROM or (os.cpu_count() or 1) < 2:
        words.sort()
        return words
    left, right = words[: len(words) // 2], words[len(words) // 2 :]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(np.ndarray.sort, (left, right)))
    merged = np.empty_like(words)
    _kernels.merge_sorted(left, right, merged)
    return merged


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
