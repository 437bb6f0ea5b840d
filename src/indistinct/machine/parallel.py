"""What this machine can do at once: the one place that knows about threads.

`INDISTINCT_THREADS` sets their number; without it there is one for each core that this process may use.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

from indistinct.errors import ParameterError

Result = TypeVar("Result")
Other = TypeVar("Other")

# Below this many rows NumPy alone is done before a kernel is compiled, or read from its cache, and a thread started.
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
    """Return whether so many rows are worth a compiled kernel and several threads."""
    return rows >= LARGE


def spread(
    function: Callable[..., Result], *arguments: Iterable[Any], rows: int | None = None, weight: int = 1
) -> list[Result]:
    """Return what a function returns for each of some arguments, as `map` would, on as many threads as there are.

    Where the number of `rows` is known and small, one thread is done before a second is started; `weight` says how
    many times as long a row takes as one that a kernel reads.

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
    """Return what two functions return that run at the same time."""
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(other)
        return one(), second.result()


def blocks(rows: int, *, most: int | None = None, least: int | None = None) -> list[slice]:
    """Return rows as even runs, one for each thread; one run where they are not large, or fewer than `least`.

    >>> blocks(10, most=2, least=1)
    [slice(0, 5, None), slice(5, 10, None)]
    """
    count = min(workers() if most is None else most, max(rows, 1)) if rows >= (least or LARGE) else 1
    bounds = [rows * part // count for part in range(count + 1)]
    return [slice(start, stop) for start, stop in pairwise(bounds)]
