"""Which cell a row belongs to, for rows that come in batches: codes of its values, then a search among the cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from indistinct.arrays import Codes, run_starts
from indistinct.domain import Domain
from indistinct.errors import UnseenValueError

# The last bit stays free, so that words of any chunk of columns compare as signed numbers do.
BITS = 63


@dataclass(frozen=True, slots=True, eq=False)
class CellFinder:
    """Finds vectors among distinct vectors that ascend lexicographically.

    Columns are taken in chunks that fit a word together with the rank of all columns before them: `steps` has for each
    chunk its columns, the bits of each, and the words that occur, ascending.
    """

    domains: tuple[Domain, ...]
    steps: tuple[tuple[slice, tuple[int, ...], Codes], ...]

    @classmethod
    def of(cls, domains: Sequence[Domain], vectors: Codes) -> "CellFinder":
        """Return what finds some vectors of codes in these domains."""
        widths = [max(len(domain) - 1, 0).bit_length() for domain in domains]
        steps, ranks, first = [], np.zeros(len(vectors), dtype=np.int64), 0
        while first < len(widths):
            room, last = BITS - max(int(ranks.max(initial=0)), 1).bit_length(), first
            while last < len(widths) and (last == first or sum(widths[first : last + 1]) <= room):
                last += 1
            words = _packed(ranks, [vectors[:, place] for place in range(first, last)], widths[first:last])
            starts = run_starts(words)
            steps.append((slice(first, last), tuple(widths[first:last]), words[starts[:-1]]))
            ranks = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            first = last
        return cls(tuple(domains), tuple(steps))

    def find(self, batch: pa.Table) -> Codes:
        """Return the place of every row's vector; raise `UnseenValueError` for one that is not there."""
        codes = [domain.encode(batch[domain.column]) for domain in self.domains]
        ranks = np.zeros(batch.num_rows, dtype=np.int64)
        for columns, widths, known in self.steps:
            words = _packed(ranks, codes[columns], widths)
            order = np.argsort(words)  # neighbours are found near each other, which is far faster than anywhere
            found = np.empty(len(words), dtype=np.int64)
            found[order] = np.searchsorted(known, words[order])
            strange = (found == len(known)) | (known[np.minimum(found, len(known) - 1)] != words)
            if strange.any():
                raise UnseenValueError(
                    f"{int(strange.sum()):,} row(s) have a combination of values that was not counted before",
                    hint="the table has changed since: run it again on a table that nobody writes to",
                )
            ranks = found
        return ranks


def _packed(ranks: Codes, columns: Sequence[Codes], widths: Sequence[int]) -> Codes:
    words = ranks.astype(np.int64)
    for codes, width in zip(columns, widths, strict=True):
        words <<= width
        words |= codes
    return words


class Finder(Protocol):
    """Finds which of many groups each row of a batch belongs to."""

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Return the domains of the columns that it looks at."""

    def find(self, batch: pa.Table) -> Codes:
        """Return the group of every row; raise `UnseenValueError` for one that belongs to none."""


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What an engine learned while counting, for publishing: how rows of the table find their cell and joint vector.

    `finder` finds the group of a row, and `entries[group]` is where its cell and joint vector stand in the histogram of
    joint vectors, or among the cells where there are none. `vectors` are those of the cells that were counted.
    """

    vectors: Codes
    finder: Finder
    entries: Codes
