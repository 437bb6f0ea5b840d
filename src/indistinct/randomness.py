"""Where chance comes from: the operating system, or for tests a seed that the certificate confesses."""

import os

import numpy as np

from indistinct.domain import Codes


def random_words(size: int, seed: int | None, *, stream: int) -> Codes:
    """Return words of 32 random bits: from the operating system, or from one stream of a seed."""
    if seed is None:
        return np.frombuffer(os.urandom(4 * size), dtype=np.uint32)
    return np.random.default_rng([seed, stream]).integers(0, 1 << 32, size, dtype=np.uint32)


def random_order(size: int, seed: int | None, *, stream: int) -> Codes:
    """Return the numbers below `size` in a random order; ties of 64 bits do not happen."""
    return np.argsort(random_words(2 * size, seed, stream=stream).view(np.uint64))
