"""Cells: the distinct quasi-identifier vectors of a table with their counts, which is all that a search sees.

`Classes` is what a model judges; a `FrequencySet` is classes plus the vector that they share. They merge only by
`regroup`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from indistinct.domain import Codes
from indistinct.hierarchy.value import Taxonomy

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """How often each sensitive value occurs in each class, as compressed sparse rows.

    Class `i` owns entries `indptr[i]:indptr[i + 1]`; `codes` ascend inside a class and every count is positive.
    `reference[code]` counts the whole original table, which is what t-closeness compares with.
    """

    indptr: Codes
    codes: Codes
    counts: Codes
    reference: Codes
    taxonomy: Taxonomy | None = None

    def owners(self) -> Codes:
        """Return the class of every entry."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def regroup(self, labels: Codes, size: int) -> "Histogram":
        """Return the histogram of merged classes: class `i` goes to `labels[i]`, or nowhere if that is negative."""
        targets = labels[self.owners()].astype(np.int64)
        kept = targets >= 0
        width = len(self.reference)
        keys = targets[kept] * width + self.codes[kept]
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], self.counts[kept][order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1)) if len(keys) else np.zeros(0, dtype=np.int64)
        merged = np.add.reduceat(counts, starts) if len(starts) else counts[:0]
        owners = keys[starts] // width if len(starts) else keys[:0]
        indptr = np.zeros(size + 1, dtype=np.int64)
        np.cumsum(np.bincount(owners, minlength=size), out=indptr[1:])
        codes = (keys[starts] % width).astype(np.int32) if len(starts) else self.codes[:0]
        return Histogram(indptr, codes, merged, self.reference, self.taxonomy)


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Groups of rows that a release cannot tell apart: their sizes, and a histogram for each key a model asked for.

    A key is a tuple of column names: `("disease",)` for a sensitive column, several names for vectors of values.
    """

    sizes: Codes
    histograms: Mapping[Key, Histogram] = field(default_factory=lambda: MappingProxyType({}))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def rows(self) -> int:
        """Return the number of rows in all classes."""
        return int(self.sizes.sum())

    def regroup(self, labels: Codes, size: int) -> "Classes":
        """Return the merged classes: class `i` goes to `labels[i]`, or nowhere if that is negative."""
        kept = labels >= 0
        sizes = np.bincount(labels[kept], weights=self.sizes[kept], minlength=size).astype(np.int64)
        return Classes(sizes, {key: h.regroup(labels, size) for key, h in self.histograms.items()})


@dataclass(frozen=True, slots=True, eq=False)
class FrequencySet:
    """Distinct quasi-identifier vectors in canonical order, with what a model needs to know of their rows.

    `vectors` is m × d of codes, ascending lexicographically, so a cell's place is its rank in canonical order.
    """

    names: Key
    vectors: Codes
    classes: Classes

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def counts(self) -> Codes:
        """Return the number of rows of each cell."""
        return self.classes.sizes

    @property
    def rows(self) -> int:
        """Return the number of rows of the table."""
        return self.classes.rows
