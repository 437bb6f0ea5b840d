"""Threads: how many may work at once, and work that is spread over them.

`INDISTINCT_THREADS` sets their number; by default there is one for each core that this process may use.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

from indistinct.errors import ParameterError

Result = TypeVar("Result")
Other = TypeVar("Other")

# Below this many rows NumPy finishes before a kernel is compiled or loaded and threads are started.
LARGE_ROWS = 1 << 18


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
    return rows >= LARGE_ROWS


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


def blocks(rows: int, *, least: int | None = None) -> list[slice]:
    """Return ranges of rows of equal size, one for each thread; a single one for few rows.

    >>> blocks(10)
    [slice(0, 10, None)]
    """
    count = min(workers(), max(rows, 1)) if rows >= (least or LARGE_ROWS) else 1
    bounds = [rows * part // count for part in range(count + 1)]
    return [slice(start, stop) for start, stop in pairwise(bounds)]
