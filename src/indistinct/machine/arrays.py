"""Array types, allocation of large arrays, and positions in runs."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

Array = np.ndarray[Any, np.dtype[Any]]
"""An array of any kind, whose entries are moved or compared alike."""
AnyArray = TypeVar("AnyArray", bound=Array)
Codes = np.ndarray[Any, np.dtype[np.integer[Any]]]
"""Whole numbers in place of values: codes of a domain, ranks, class numbers, row numbers."""
Counts = np.ndarray[Any, np.dtype[np.integer[Any]]]
"""Numbers of rows, people or values."""
Mask = np.ndarray[Any, np.dtype[np.bool_]]
"""Which elements are selected."""
Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
"""Measured numbers: shares, losses, positions."""

# Smaller arrays fit the existing heap.
LARGE_BYTES = 1 << 20
# Number of entries computed at a time, so that intermediate results stay in the cache.
ENTRIES_PER_BLOCK = 1 << 14


def empty_large(size: int, kind: Any) -> Array:
    """Return an uninitialized array of `size` cells.

    NumPy's and Arrow's own allocators request huge pages, which can take longer than filling the array.
    """
    needed = size * np.dtype(kind).itemsize
    if needed < LARGE_BYTES:
        return np.empty(size, dtype=kind)
    return np.frombuffer(pa.allocate_buffer(needed, memory_pool=pa.system_memory_pool()), dtype=kind)


def narrowest(size: int) -> type[np.unsignedinteger]:
    """Return the narrowest unsigned type that holds codes below `size`."""
    return next(kind for kind in (np.uint8, np.uint16, np.uint32) if size - 1 <= np.iinfo(kind).max)


def starts_of(sizes: Codes | Mask | Sequence[int]) -> Codes:
    """Return the start of each run of these sizes, and the end as the last entry.

    >>> starts_of(np.array([2, 3])).tolist()
    [0, 2, 5]
    """
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def run_entries(starts: Codes, sizes: Codes) -> Codes:
    """Return the indices of the entries of some runs, one run after another.

    >>> run_entries(np.array([7, 0]), np.array([2, 3])).tolist()
    [7, 8, 0, 1, 2]
    """
    ends = starts_of(sizes)
    return np.arange(ends[-1]) + np.repeat(starts - ends[:-1], sizes)


def row_numbers(rows: int) -> Codes:
    """Return the row numbers from 0 to `rows` - 1."""
    numbers = empty_large(rows, np.uint32 if rows <= 1 << 32 else np.int64)
    for start in range(0, rows, ENTRIES_PER_BLOCK):
        stop = min(start + ENTRIES_PER_BLOCK, rows)
        numbers[start:stop] = np.arange(start, stop)
    return numbers


def repeat_values(values: Array, counts: Codes) -> Array:
    """Return each value repeated as often as its count.

    >>> repeat_values(np.array([7, 8]), np.array([2, 1])).tolist()
    [7, 7, 8]
    """
    starts = starts_of(counts)
    out = empty_large(int(starts[-1]), values.dtype)
    for start in range(0, len(values), ENTRIES_PER_BLOCK):
        stop = min(start + ENTRIES_PER_BLOCK, len(values))
        out[starts[start] : starts[stop]] = np.repeat(values[start:stop], counts[start:stop])
    return out


def run_starts(words: Array) -> Codes:
    """Return the start of each run of equal words, and the end as the last entry."""
    if not len(words):
        return np.zeros(1, dtype=np.int64)
    inner = np.flatnonzero(words[1:] != words[:-1])
    starts = np.empty(len(inner) + 2, dtype=np.int64)
    starts[0], starts[-1] = 0, len(words)
    np.add(inner, 1, out=starts[1:-1])
    return starts
