"""Random words, and orders that are drawn from them."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from indistinct.arrays import Codes
from indistinct.randomness import _kernels

# Below this many rows one thread is done before a second one is started.
PARALLEL_FROM = 1 << 18


def random_words(size: int, seed: int | None, *, stream: int) -> Codes:
    """Return words of 32 random bits: from the operating system, or from one stream of a seed."""
    if seed is None:
        return np.frombuffer(os.urandom(4 * size), dtype=np.uint32)
    return np.random.default_rng([seed, stream]).integers(0, 1 << 32, size, dtype=np.uint32)


def random_order(size: int, seed: int | None, *, stream: int) -> Codes:
    """Return the numbers below `size` in a random order."""
    order = np.arange(size, dtype=np.int32 if size < 1 << 31 else np.int64)
    shuffle_runs(order, np.array([0, size]), seed, stream=stream)
    return order


def shuffle_runs(rows: Codes, starts: Codes, seed: int | None, *, stream: int) -> None:
    """Shuffle the rows of each run `starts[i]:starts[i + 1]` in place, every order being equally likely."""

    def shuffle(runs: Codes) -> None:
        first, size = int(runs[0]), int(runs[-1] - runs[0])
        words = random_words(size + _spares(runs), seed, stream=stream)
        _kernels.shuffle(rows, runs, words[:size], words[size:], first)

    cut = int(np.searchsorted(starts, starts[-1] // 2))
    if seed is not None or starts[-1] < PARALLEL_FROM or not 0 < cut < len(starts) - 1:
        shuffle(starts)
        return
    with ThreadPoolExecutor(2) as pool:  # randomness is drawn by both threads as well
        list(pool.map(shuffle, (starts[: cut + 1], starts[cut:])))


def _spares(starts: Codes) -> int:
    """Return how many words more than one a row are wanted: far more than are ever rejected."""
    return 64 + int((np.diff(starts).astype(np.float64) ** 2).sum() / (1 << 32))
