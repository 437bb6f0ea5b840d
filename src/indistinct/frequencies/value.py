"""Cells: the distinct quasi-identifier vectors of a table with their counts, which is all that a search sees.

`Classes` is what a model judges; a `FrequencySet` is classes plus the vector that they share. They merge only by
`regroup`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from indistinct.arrays import Codes, starts_of
from indistinct.frequencies import _kernels
from indistinct.hierarchy.value import Taxonomy

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """How often each sensitive value occurs in each class, as compressed sparse rows.

    Class `i` owns entries `indptr[i]:indptr[i + 1]`; `codes` ascend inside a class and every count is positive.
    `reference[code]` counts the whole original table, which is what t-closeness compares with; `texts[code]` is the
    value as text, None for missing.
    """

    indptr: Codes
    codes: Codes
    counts: Codes
    reference: Codes
    taxonomy: Taxonomy | None = None
    texts: tuple[str | None, ...] = ()

    def owners(self) -> Codes:
        """Return the class of every entry."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def regroup(self, class_ids: Codes, size: int) -> "Histogram":
        """Return the histogram of merged classes: class `i` goes to `class_ids[i]`, or nowhere if that is negative."""
        indptr, codes, counts = _kernels.regroup_entries(
            self.indptr, self.codes, self.counts, class_ids, size, len(self.reference)
        )
        return Histogram(indptr, codes, counts, self.reference, self.taxonomy, self.texts)

    def take(self, classes: Codes) -> "Histogram":
        """Return the histogram of some of the classes, in the order given."""
        starts = self.indptr[classes]
        sizes = self.indptr[1:][classes] - starts
        indptr = starts_of(sizes)
        entries = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], sizes)
        return Histogram(indptr, self.codes[entries], self.counts[entries], self.reference, self.taxonomy, self.texts)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Which person has which value: pairs inside each class, and the person and the value of every pair."""

    histogram: Histogram
    persons: Codes
    values: Codes


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Who stands in each class, and with which values of each key. Counts are rows.

    People are not additive: somebody with rows in two classes is one person in their union.
    """

    persons: Histogram
    pairs: Mapping[Key, Pairs] = field(default_factory=lambda: MappingProxyType({}))

    def sizes(self) -> Codes:
        """Return the number of people in each class."""
        return np.diff(self.persons.indptr)

    def _changed(self, change: Callable[[Histogram], Histogram]) -> "People":
        pairs = {key: Pairs(change(each.histogram), each.persons, each.values) for key, each in self.pairs.items()}
        return People(change(self.persons), pairs)

    def regroup(self, class_ids: Codes, size: int) -> "People":
        """Return the people of merged classes, each once."""
        return self._changed(lambda histogram: histogram.regroup(class_ids, size))

    def take(self, classes: Codes) -> "People":
        """Return the people of some of the classes, in the order given."""
        return self._changed(lambda histogram: histogram.take(classes))


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Groups of rows that a release cannot tell apart: their sizes, and a histogram for each key a model asked for.

    A key is a tuple of column names: `("disease",)` for a sensitive column, several names for vectors of values.
    `people` says who stands in each class, where that was counted.
    """

    sizes: Codes
    histograms: Mapping[Key, Histogram] = field(default_factory=lambda: MappingProxyType({}))
    people: People | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def rows(self) -> int:
        """Return the number of rows in all classes."""
        return int(self.sizes.sum())

    def regroup(self, class_ids: Codes, size: int) -> "Classes":
        """Return the merged classes: class `i` goes to `class_ids[i]`, or nowhere if that is negative."""
        kept = class_ids >= 0
        return Classes(
            np.bincount(class_ids[kept], weights=self.sizes[kept], minlength=size).astype(np.int64),
            {key: histogram.regroup(class_ids, size) for key, histogram in self.histograms.items()},
            None if self.people is None else self.people.regroup(class_ids, size),
        )

    def take(self, classes: Codes) -> "Classes":
        """Return some of the classes, in the order given."""
        return Classes(
            self.sizes[classes],
            {key: histogram.take(classes) for key, histogram in self.histograms.items()},
            None if self.people is None else self.people.take(classes),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """The vectors of all histogram columns together, for algorithms that split the rows of a cell.

    `histogram` counts them inside each cell; `codes[key][joint]` is a joint code's part for one key.
    """

    histogram: Histogram
    codes: Mapping[Key, Codes]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FrequencySet:
    """Distinct quasi-identifier vectors in canonical order, with what a model needs to know of their rows.

    `vectors` is m × d of codes, ascending lexicographically, so a cell's place is its rank in canonical order.
    """

    names: Key
    vectors: Codes
    classes: Classes
    joint: Joint | None = None

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
