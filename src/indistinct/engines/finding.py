"""Which cell a row belongs to, for rows that come in batches: codes of its values, then a search among the cells."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from indistinct.engines import _finding_kernels
from indistinct.errors import InputError, UnseenValueError
from indistinct.frequencies.count import RowIndex
from indistinct.frequencies.value import FrequencySet
from indistinct.machine.arrays import Codes, run_starts
from indistinct.machine.threads import is_large
from indistinct.tables.domain import Domain

# The last bit stays free, so that words of any chunk of columns compare as signed numbers do.
BITS = 63
# Number of batches that make a table for which loading a kernel pays.
MIN_BATCHES_FOR_KERNEL = 2


@dataclass(frozen=True, slots=True, eq=False)
class CellFinder:
    """Finds vectors among distinct vectors that ascend lexicographically.

    Columns are taken in chunks that fit a word together with the rank of all columns before them: `steps` has for each
    chunk its columns, the bits of each, and the words that occur, ascending. `slots` leads from words to their places,
    made for each chunk when the first large batch asks.
    """

    domains: tuple[Domain, ...]
    steps: tuple[tuple[slice, tuple[int, ...], Codes], ...]
    slots: dict[int, Codes] = field(default_factory=dict)

    @classmethod
    def of(cls, domains: Sequence[Domain], vectors: Codes) -> "CellFinder":
        """Build a finder for the given vectors of codes in these domains."""
        widths = [max(len(domain) - 1, 0).bit_length() for domain in domains]
        steps, ranks, first = [], np.zeros(len(vectors), dtype=np.int64), 0
        while first < len(widths):
            free_bits, last = BITS - max(int(ranks.max(initial=0)), 1).bit_length(), first
            while last < len(widths) and (last == first or sum(widths[first : last + 1]) <= free_bits):
                last += 1
            words = _pack_codes(ranks, [vectors[:, index] for index in range(first, last)], widths[first:last])
            starts = run_starts(words)
            steps.append((slice(first, last), tuple(widths[first:last]), words[starts[:-1]]))
            ranks = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            first = last
        return cls(tuple(domains), tuple(steps))

    def find(self, batch: pa.Table) -> Codes:
        """Return the place of every row's vector; raise `UnseenValueError` for one that is not there."""
        return self.find_codes([domain.encode(batch[domain.column]) for domain in self.domains])

    def find_codes(self, codes: Sequence[Codes]) -> Codes:
        """Return the place of vectors, given their codes column by column."""
        ranks: Codes = np.zeros(len(codes[0]), dtype=np.int64)
        for number, (columns, widths, known) in enumerate(self.steps):
            words = _pack_codes(ranks, codes[columns], widths)
            find = self._by_slots if is_large(MIN_BATCHES_FOR_KERNEL * len(words)) else _by_search
            ranks, strange = find(words, known, number)
            if strange:
                raise UnseenValueError(
                    f"rows have a combination of values that was not counted before ({strange:,})",
                    hint="the table has changed since: run it again on a table that is not being written to",
                )
        return ranks

    def _by_slots(self, words: Codes, known: Codes, number: int) -> tuple[Codes, int]:
        """Find words with a hash table, which is built on the first call."""
        bits = max(len(known) * 3 // 2, 2).bit_length()
        if number not in self.slots:
            self.slots[number] = np.full(1 << bits, -1, dtype=np.int32)
            _finding_kernels.enter_words(known, self.slots[number], bits)
        indices = np.empty(len(words), dtype=np.int32)
        return indices, int(_finding_kernels.find_words(words, known, self.slots[number], bits, indices))


@dataclass(frozen=True, slots=True, eq=False)
class CoarseFinder:
    """Finds the cell of a row whose values were united: `lookups[j][code]` is the code of the united value."""

    cells: CellFinder
    lookups: tuple[Codes, ...]

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Return the domains of the columns that it looks at."""
        return self.cells.domains

    def find(self, batch: pa.Table) -> Codes:
        """Return the cell of every row; raise `UnseenValueError` for one that belongs to none."""
        pairs = zip(self.domains, self.lookups, strict=True)
        return self.cells.find_codes([lookup[domain.encode(batch[domain.column])] for domain, lookup in pairs])


def _by_search(words: Codes, known: Codes, _: int) -> tuple[Codes, int]:
    """Return the place of every word among those that are known, and how many are not among them."""
    positions = np.searchsorted(known, words)
    strange = (positions == len(known)) | (known[np.minimum(positions, len(known) - 1)] != words)
    return positions, int(np.count_nonzero(strange))


def _pack_codes(ranks: Codes, columns: Sequence[Codes], widths: Sequence[int]) -> Codes:
    """Pack the codes of several columns into words."""
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
class FoundRows:
    """How rows that come in batches find their cell and joint vector.

    `finder` finds the group of a row, and `entries[group]` is the index of its cell and joint vector in the histogram
    of joint vectors, or among the cells where there are none. `vectors` are those of the cells that were counted.
    """

    vectors: Codes
    finder: Finder
    entries: Codes


def finder_of(row_index: RowIndex | None, cells: FrequencySet) -> FoundRows | None:
    """Return the finder that was kept for some cells, None if there is none; raise if it cannot be rebuilt."""
    if isinstance(row_index, FoundRows) and row_index.vectors is cells.vectors:
        return row_index
    if cells.joint is not None:
        raise InputError("rows cannot be found again by their sensitive values", hint="search a new recoding")
    return None
