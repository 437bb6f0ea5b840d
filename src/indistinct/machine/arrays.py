"""Array types, allocation of large arrays, and work on several threads.

`INDISTINCT_THREADS` sets the number of threads; by default there is one for each core that this process may use.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from indistinct.errors import ParameterError

Codes = np.ndarray[Any, np.dtype[Any]]
"""Numbers in place of values: codes of a domain, ranks, class numbers, row numbers."""
Counts = np.ndarray[Any, np.dtype[np.integer[Any]]]
"""Numbers of rows, people or values."""
Mask = np.ndarray[Any, np.dtype[np.bool_]]
"""Which elements are selected."""
Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
"""Measured numbers: shares, losses, positions."""

# Smaller arrays fit the existing heap.
LARGE_BYTES = 1 << 20
# Number of entries computed at a time, so that intermediate results stay in the cache.
BLOCK = 1 << 14


def empty_large(size: int, kind: Any) -> Codes:
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


def starts_of(sizes: Codes | Sequence[int]) -> Codes:
    """Return where runs of these sizes begin, and the end as the last entry.

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
    for start in range(0, rows, BLOCK):
        stop = min(start + BLOCK, rows)
        numbers[start:stop] = np.arange(start, stop)
    return numbers


def repeat_values(values: Codes, counts: Codes) -> Codes:
    """Return each value repeated as often as its count.

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


Result = TypeVar("Result")
Other = TypeVar("Other")

# Below this many rows NumPy finishes before a kernel is compiled or loaded and threads are started.
LARGE = 1 << 18


def workers() -> int:
    """Return how many threads may work at once."""
    asked = os.environ.get("INDISTINCT_THREADS")
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not asked.isdecimal() or not int(asked):
        raise ParameterError(
            f"INDISTINCT_THREADS must be a whole number from 1; got {asked!r}", hint="leave it unset to use every core"
        )
    return int(asked)


def is_large(rows: int) -> bool:
    """Return whether this number of rows is worth a compiled kernel and several threads."""
    return rows >= LARGE


def spread(
    function: Callable[..., Result], *arguments: Iterable[Any], rows: int | None = None, weight: int = 1
) -> list[Result]:
    """Return the results of a function for each of some arguments, as `map` does, computed on several threads.

    With a small number of `rows` a single thread is used; `weight` is the cost of a row relative to a row that a kernel
    reads.

    >>> spread(pow, [2, 3], [3, 2])
    [8, 9]
    """
    parts = list(zip(*arguments, strict=True))
    threads = min(workers() if rows is None or is_large(rows * weight) else 1, len(parts))
    if threads < 2:
        return [function(*part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda part: function(*part), parts))


def both(one: Callable[[], Result], other: Callable[[], Other]) -> tuple[Result, Other]:
    """Call two functions at the same time and return both results."""
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(other)
        return one(), second.result()


def blocks(rows: int, *, most: int | None = None, least: int | None = None) -> list[slice]:
    """Return ranges of rows of equal size, one for each thread; a single one for few rows.

    >>> blocks(10, most=2, least=1)
    [slice(0, 5, None), slice(5, 10, None)]
    """
    count = min(workers() if most is None else most, max(rows, 1)) if rows >= (least or LARGE) else 1
    bounds = [rows * part // count for part in range(count + 1)]
    return [slice(start, stop) for start, stop in pairwise(bounds)]
