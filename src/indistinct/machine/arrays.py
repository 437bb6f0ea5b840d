"""The arrays that everything is counted in: their type, and memory for large ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

Codes = np.ndarray[Any, np.dtype[Any]]
"""Numbers in place of values: codes of a domain, ranks, counts, class numbers, rows."""

# Smaller arrays fit the heap that is there already.
LARGE_BYTES = 1 << 20
# Entries that are made together: what NumPy needs for them stays in the cache, and nothing large is allocated twice.
BLOCK = 1 << 14


def empty_large(size: int, kind: Any) -> Codes:
    """Return an array of `size` cells to be filled.

    NumPy's and Arrow's own allocators ask for huge pages, which can take longer to get than the array to fill.
    """
    needed = size * np.dtype(kind).itemsize
    if needed < LARGE_BYTES:
        return np.empty(size, dtype=kind)
    return np.frombuffer(pa.allocate_buffer(needed, memory_pool=pa.system_memory_pool()), dtype=kind)


def narrowest(size: int) -> type[np.unsignedinteger]:
    """Return the narrowest unsigned type that holds codes below `size`."""
    return next(kind for kind in (np.uint8, np.uint16, np.uint32) if size - 1 <= np.iinfo(kind).max)


def starts_of(sizes: Codes | Sequence[int]) -> Codes:
    """Return where runs of some sizes begin, and the end as the last entry.

    >>> starts_of(np.array([2, 3])).tolist()
    [0, 2, 5]
    """
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def run_entries(starts: Codes, sizes: Codes) -> Codes:
    """Return the numbers of the entries of some runs, one run after the other.

    >>> run_entries(np.array([7, 0]), np.array([2, 3])).tolist()
    [7, 8, 0, 1, 2]
    """
    ends = starts_of(sizes)
    return np.arange(ends[-1]) + np.repeat(starts - ends[:-1], sizes)


def row_numbers(rows: int) -> Codes:
    """Return the numbers below `rows`, in ascending order."""
    numbers = empty_large(rows, np.uint32 if rows <= 1 << 32 else np.int64)
    for start in range(0, rows, BLOCK):
        stop = min(start + BLOCK, rows)
        numbers[start:stop] = np.arange(start, stop)
    return numbers


def repeat_values(values: Codes, counts: Codes) -> Codes:
    """Return each value as often as its count says.

    >>> repeat_values(np.array([7, 8]), np.array([2, 1])).tolist()
    [7, 7, 8]
    """
    starts = starts_of(counts)
    out = empty_large(int(starts[-1]), values.dtype)
    for start in range(0, len(values), BLOCK):
        stop = min(start + BLOCK, len(values))
        out[starts[start] : starts[stop]] = np.repeat(values[start:stop], counts[start:stop])
    return out


def run_starts(words: Codes) -> Codes:
    """Return where each run of equal words begins, and the end as the last entry."""
    if not len(words):
        return np.zeros(1, dtype=np.int64)
    inner = np.flatnonzero(words[1:] != words[:-1])
    starts = np.empty(len(inner) + 2, dtype=np.int64)
    starts[0], starts[-1] = 0, len(words)
    np.add(inner, 1, out=starts[1:-1])
    return starts
