"""Random words, and orders that are drawn from them."""

import os
from itertools import pairwise

import numpy as np

from indistinct.arrays import Codes
from indistinct.parallel import blocks, spread
from indistinct.randomness import _kernels


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

    if seed is not None:
        shuffle(starts)
        return
    cuts = np.unique(np.searchsorted(starts, [*(block.start for block in blocks(int(starts[-1]))), starts[-1]]))
    spread(shuffle, [starts[first : last + 1] for first, last in pairwise(cuts.tolist())])  # each draws its own words


def _spares(starts: Codes) -> int:
    """Return how many words more than one a row are wanted: far more than are ever rejected."""
    return 64 + int((np.diff(starts).astype(np.float64) ** 2).sum() / (1 << 32))
