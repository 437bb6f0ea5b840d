"""Estimates of the number of distinct combinations of values, from hashes of the rows that are merged over tasks.

Only the smallest hashes are kept (Bar-Yossef et al. 2002): the number of hashes below one of them gives their density.
Hashes of the same values are the same in every process.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.machine.arrays import Codes
from indistinct.machine.randomness import mix_words

# Words that are kept; the error of an estimate is about one in the root of them.
KEPT = 1 << 12
ABSENT = np.uint64(0x5851F42D4C957F2D)
RANGE = float(1 << 64)


def words_of(column: pa.ChunkedArray, index: int) -> Codes:
    """Hash each value of a column; `index` is the index of the column, so that equal values of two columns differ."""
    kind = column.type
    if pa.types.is_floating(kind):
        plain = pc.add(column.cast(pa.float64()), 0.0)  # zeros of both signs are one value
        words = pc.fill_null(plain, 0.0).to_numpy().view(np.uint64)
    elif pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        words = pc.fill_null(column.cast(pa.int64()), 0).to_numpy().view(np.uint64)
    else:
        return _words_of_values(column, index)
    words = mix_words(words, index)
    if column.null_count:
        words = np.where(column.is_null().to_numpy(), ABSENT, words)
    return words


def _words_of_values(column: pa.ChunkedArray, index: int) -> Codes:
    """Return words by the text of each value, which is looked at once."""
    coded = column if isinstance(column.type, pa.DictionaryType) else column.dictionary_encode()
    parts = []
    for chunk in coded.chunks:
        texts = chunk.dictionary.cast(pa.string()).to_pylist()
        known = [0 if text is None else _word(text) for text in texts]
        words = mix_words(np.array([*known, 0], dtype=np.uint64), index)
        words[-1] = ABSENT
        parts.append(words[pc.fill_null(chunk.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)])
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint64)


def _word(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def join_words(columns: Sequence[Codes]) -> Codes:
    """Return a word for every row, given those of its values."""
    joined: Codes = np.zeros(len(columns[0]), dtype=np.uint64)
    for index, words in enumerate(columns):
        joined = mix_words(joined ^ words, index)
    return joined


@dataclass(frozen=True, slots=True, eq=False)
class Smallest:
    """The smallest words that were met, each once, ascending."""

    words: Codes

    @classmethod
    def nothing(cls) -> "Smallest":
        """Return the state before the first row."""
        return cls(np.zeros(0, dtype=np.uint64))

    def plus(self, words: Codes) -> "Smallest":
        """Return the state after some more hashes: only the smallest are kept."""
        if len(self.words) == KEPT:
            words = words[words < self.words[-1]]
        return Smallest(np.unique(np.concatenate([self.words, words]))[:KEPT])

    @property
    def distinct(self) -> int:
        """How many words there are, about; exactly where they are few."""
        if len(self.words) < KEPT:
            return len(self.words)
        return int((KEPT - 1) * RANGE / (float(self.words[-1]) + 1))


def smallest_words(known: Sequence[Smallest], batch: pa.Table) -> list[Smallest]:
    """Return the states of whole rows and of each column after one more batch."""
    columns = [words_of(column, index) for index, column in enumerate(batch.columns)]
    return [each.plus(words) for each, words in zip(known, [join_words(columns), *columns], strict=True)]


def merge_smallest(several: Sequence[Sequence[Smallest]]) -> list[Smallest]:
    """Merge the states of several tasks."""
    first, *others = several
    merged = list(first)
    for other in others:
        merged = [mine.plus(theirs.words) for mine, theirs in zip(merged, other, strict=True)]
    return merged
