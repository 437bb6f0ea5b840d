"""Random numbers from the operating system, or for tests from a seed, which the certificate records.

With a seed the order of published rows depends only on the seed and the content of the rows, so that every engine gives
the same order.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from indistinct.errors import ParameterError
from indistinct.machine import _randomness_kernels
from indistinct.machine.arrays import Codes, Mask
from indistinct.machine.threads import blocks, spread

# ROWS_DRAWN_TOGETHER: rows drawn at a time. SPARE_WORDS: random words beyond one per row; of many billions one is
# rejected.
ROWS_DRAWN_TOGETHER, SPARE_WORDS = 1 << 20, 64


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """The random numbers of one release; `seed` is None for a real release."""

    seed: int | None = None

    def __post_init__(self) -> None:
        if self.seed is not None and (isinstance(self.seed, bool) or self.seed < 0):
            raise ParameterError(
                f"`seed` must be a whole number from 0; got {self.seed!r}", hint="leave it out for a release"
            )

    def number(self, size: int, *, stream: int) -> Codes:
        """Return the numbers below `size` in random order."""
        return random_order(size, self.seed, stream=stream)

    def arrange(self, rows: Codes, starts: Codes, contents: Codes | None, *, stream: int) -> None:
        """Put the rows of each run `starts[i]:starts[i + 1]` into random order, in place.

        With a seed, rows are ordered by `contents`, a hash of each row.
        """
        if contents is None:
            shuffle_runs(rows, starts, self.seed, stream=stream)
            return
        runs = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        rows[:] = rows[np.lexsort((mix_words(contents[rows], stream), runs))]

    def word(self, column: str, text: str | None) -> int:
        """Hash one value of a column; the hash of a row is the sum over its values, modulo 2⁶⁴."""
        spelled = f"{self.seed}\0{column}\0{'' if text is None else '=' + text}"
        return int.from_bytes(hashlib.blake2b(spelled.encode(), digest_size=8).digest(), "little")

    def contents(self, columns: Mapping[str, tuple[Sequence[str | None], Codes]]) -> Codes | None:
        """Hash each row, given each column's texts and codes.

        None without a seed, because only a fixed order needs it.
        """
        if self.seed is None:
            return None
        words = [
            np.array([self.word(name, text) for text in texts], dtype=np.uint64)[codes]
            for name, (texts, codes) in columns.items()
        ]
        return np.asarray(np.sum(words, axis=0, dtype=np.uint64))


def mix_words(words: Codes, stream: int) -> Codes:
    """Mix words differently for each stream (the finalizer of SplitMix64, Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        words = words + np.uint64(stream + 1) * np.uint64(0x9E3779B97F4A7C15)
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return words ^ (words >> np.uint64(31))


def random_words(size: int, seed: int | None, *, stream: int) -> Codes:
    """Return words of 32 random bits, from the operating system or from one stream of a seed."""
    if seed is None:
        return np.frombuffer(os.urandom(4 * size), dtype=np.uint32)
    return np.random.default_rng([seed, stream]).integers(0, 1 << 32, size, dtype=np.uint32)


def count_drawn(share: float, size: int) -> int:
    """Return the number of rows drawn from `size`: the nearest whole number, one half rounded up.

    >>> count_drawn(0.1, 25)
    3
    """
    return int(Fraction(str(share)) * size + Fraction(1, 2))


def draw_next(size: int, *, left: int, wanted: int) -> Mask:
    """Return which of the next `size` rows are drawn, where `wanted` of `left` rows are.

    All sets are equally likely.

    The operating system draws, because a sample that can be reproduced does not protect the people.
    """
    drawn = np.zeros(size, dtype=bool)
    for first in range(0, size, ROWS_DRAWN_TOGETHER):
        own = drawn[first : first + ROWS_DRAWN_TOGETHER]
        words = np.frombuffer(os.urandom(8 * (len(own) + SPARE_WORDS)), dtype=np.uint64)
        _randomness_kernels.draw(own, words[: len(own)], words[len(own) :], left, wanted)
        left, wanted = left - len(own), wanted - int(own.sum())
    return drawn


def random_order(size: int, seed: int | None, *, stream: int) -> Codes:
    """Return the numbers below `size` in random order."""
    order: Codes = np.arange(size, dtype=np.int32 if size < 1 << 31 else np.int64)
    shuffle_runs(order, np.array([0, size]), seed, stream=stream)
    return order


def shuffle_runs(rows: Codes, starts: Codes, seed: int | None, *, stream: int) -> None:
    """Shuffle the rows of each run `starts[i]:starts[i + 1]` in place; all orders are equally likely."""

    def shuffle(runs: Codes) -> None:
        first, size = int(runs[0]), int(runs[-1] - runs[0])
        words = random_words(size + _count_spares(runs), seed, stream=stream)
        _randomness_kernels.shuffle(rows, runs, words[:size], words[size:], first)

    if seed is not None:
        shuffle(starts)
        return
    cuts = np.unique(np.searchsorted(starts, [*(block.start for block in blocks(int(starts[-1]))), starts[-1]]))
    spread(shuffle, [starts[first : last + 1] for first, last in pairwise(cuts.tolist())])  # each run has its own words


def _count_spares(starts: Codes) -> int:
    """Return the number of spare words: far more than are ever rejected."""
    return 64 + int((np.diff(starts).astype(np.float64) ** 2).sum() / (1 << 32))
