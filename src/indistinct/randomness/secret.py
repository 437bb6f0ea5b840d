"""What decides the order of published rows: chance from the operating system or, for tests, a seed.

With a seed the order depends on nothing but the seed and the content of rows, so that every engine gives the same.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.arrays import Codes
from indistinct.errors import ParameterError
from indistinct.randomness.shuffling import random_order, shuffle_runs


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """Chance for one release; `seed` is None for a real one."""

    seed: int | None = None

    def __post_init__(self) -> None:
        if self.seed is not None and (isinstance(self.seed, bool) or self.seed < 0):
            raise ParameterError(
                f"`seed` must be a whole number from 0; got {self.seed!r}", hint="leave it out for a release"
            )

    def number(self, size: int, *, stream: int) -> Codes:
        """Return the numbers below `size` in a random order."""
        return random_order(size, self.seed, stream=stream)

    def arrange(self, rows: Codes, starts: Codes, contents: Codes | None, *, stream: int) -> None:
        """Put the rows of each run `starts[i]:starts[i + 1]` into a random order, in place.

        With a seed, rows go by `contents`, a word for the content of each.
        """
        if contents is None:
            shuffle_runs(rows, starts, self.seed, stream=stream)
            return
        runs = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        rows[:] = rows[np.lexsort((mixed(contents[rows], stream), runs))]

    def word(self, column: str, text: str | None) -> int:
        """Return a word for one value of a column; the words of a row's values are added up, modulo 2⁶⁴."""
        spelled = f"{self.seed}\0{column}\0{'' if text is None else '=' + text}"
        return int.from_bytes(hashlib.blake2b(spelled.encode(), digest_size=8).digest(), "little")

    def contents(self, columns: Mapping[str, tuple[Sequence[str | None], Codes]]) -> Codes | None:
        """Return a word for the content of every row, given each column's texts and codes; None without a seed."""
        if self.seed is None:
            return None
        words = [
            np.array([self.word(name, text) for text in texts], dtype=np.uint64)[codes]
            for name, (texts, codes) in columns.items()
        ]
        return np.asarray(np.sum(words, axis=0, dtype=np.uint64))


def mixed(words: Codes, stream: int) -> Codes:
    """Return words in an order that differs from stream to stream (the finalizer of SplitMix64, Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        words = words + np.uint64(stream + 1) * np.uint64(0x9E3779B97F4A7C15)
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return words ^ (words >> np.uint64(31))
