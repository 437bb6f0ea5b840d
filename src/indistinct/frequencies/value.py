"""Cells: the distinct quasi-identifier vectors of a table with their counts, which are all that a search sees.

`Classes` is what a model judges; a `FrequencySet` is classes plus the vector of each. They merge only by `regroup`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from indistinct.frequencies import _kernels
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.machine.arrays import Codes, Mask, run_entries, starts_of
from indistinct.machine.threads import is_large

Key = tuple[str, ...]
PERSON = ""
"""The person, as the first part of a key: the columns of `Request.person` together. No column has this name."""
POPULATION = "\0population"
"""The people of a population in a class, as the only part of a key. No column has this name."""
CLASS = "\0class"
"""The equivalence class of a row, as the first part of a set of columns counted with it. No column has this name."""


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """How often each sensitive value occurs in each class, as compressed sparse rows.

    Class `i` has the entries `indptr[i]:indptr[i + 1]`; `codes` ascend inside a class and every count is positive.
    `reference[code]` counts the whole original table, which is what t-closeness compares with; `texts[code]` is the
    value as text, None for missing. Where the key is a person and something else, `pairs` has the codes of person and
    value for every code.
    """

    indptr: Codes
    codes: Codes
    counts: Codes
    reference: Codes
    taxonomy: Taxonomy | None = None
    texts: tuple[str | None, ...] = ()
    pairs: tuple[Codes, Codes] | None = None

    def owners(self) -> Codes:
        """Return the class of each entry."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def regroup(self, class_ids: Codes, size: int) -> "Histogram":
        """Return the histogram of merged classes: class `i` goes to `class_ids[i]`, or nowhere if that is negative."""
        indptr, codes, counts = _kernels.regroup_entries(
            self.indptr, self.codes, self.counts, class_ids, size, len(self.reference)
        )
        return replace(self, indptr=indptr, codes=codes, counts=counts)

    def take(self, classes: Codes | Mask) -> "Histogram":
        """Return the histogram of some of the classes, in the order given."""
        starts = self.indptr[classes]
        sizes = self.indptr[1:][classes] - starts
        entries = run_entries(starts, sizes)
        return replace(self, indptr=starts_of(sizes), codes=self.codes[entries], counts=self.counts[entries])


@dataclass(frozen=True, slots=True, eq=False)
class ClassLabels:
    """The published labels of each class: `codes` is classes × columns, equal where labels are equal.

    >>> ClassLabels(("age", "sex"), np.array([[0, 0], [0, 1]])).take(np.array([1])).codes.tolist()
    [[0, 1]]
    """

    names: Key
    codes: Codes

    def take(self, classes: Codes | Mask) -> "ClassLabels":
        """Return the labels of some of the classes, in the order given."""
        return ClassLabels(self.names, self.codes[classes])


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Groups of rows that a release cannot distinguish.

    Their sizes, and a histogram for each key that a model needs.

    A key is a tuple of column names: `("disease",)` for a sensitive column, several names for vectors of values. People
    have their own key, because they do not add up: a person with rows in two classes is one person in their union.
    Sizes are rows. A population has its own key too: its histogram counts the people of the population who belong to
    each class, and a class may then have no rows of the table. `labels` has the published labels of each class where
    they are known, for models that group classes by some columns; merged classes have none.
    """

    sizes: Codes
    histograms: Mapping[Key, Histogram] = field(default_factory=lambda: MappingProxyType({}))
    labels: ClassLabels | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def rows(self) -> int:
        """Return the number of rows in all classes."""
        return int(self.sizes.sum())

    @property
    def unit(self) -> str:
        """Return "people" or "rows": what `members` are, in messages."""
        return "people" if (PERSON,) in self.histograms else "rows"

    @property
    def members(self) -> Codes:
        """Return the people of each class where people are counted, otherwise its rows."""
        persons = self.histograms.get((PERSON,))
        return self.sizes if persons is None else np.diff(persons.indptr)

    @property
    def population(self) -> Codes | None:
        """Return the people (or rows) of the population in each class; None if no population was counted."""
        others = self.histograms.get((POPULATION,))
        if others is None:
            return None
        # People have one code each, because they do not add up; rows all share one code.
        return np.diff(others.indptr) if len(others.reference) != 1 else _entry_sums(others)

    def members_of(self, classes: Codes | Mask) -> int:
        """Return the number of people, or of rows, in all classes of a mask together, each person once."""
        persons = self.histograms.get((PERSON,))
        if persons is None:
            return int(self.sizes[classes].sum())
        present = np.zeros(len(persons.reference), dtype=bool)
        present[persons.codes[np.repeat(classes, np.diff(persons.indptr))]] = True
        return int(present.sum())

    def regroup(self, class_ids: Codes, size: int) -> "Classes":
        """Return the merged classes: class `i` becomes part of `class_ids[i]`, or is left out if that is negative."""
        return Classes(
            _sums(class_ids, self.sizes, size),
            {key: histogram.regroup(class_ids, size) for key, histogram in self.histograms.items()},
        )

    def take(self, classes: Codes | Mask) -> "Classes":
        """Return some of the classes, in the order given."""
        return Classes(
            self.sizes[classes],
            {key: histogram.take(classes) for key, histogram in self.histograms.items()},
            None if self.labels is None else self.labels.take(classes),
        )


def _entry_sums(histogram: Histogram) -> Codes:
    """Return the sum of the counts of each class."""
    running = np.concatenate([[0], np.cumsum(histogram.counts)])
    return np.asarray(running[histogram.indptr[1:]] - running[histogram.indptr[:-1]], dtype=np.int64)


def _sums(class_ids: Codes, counts: Codes, size: int) -> Codes:
    """Return the sum of the counts of each class; negative classes are ignored."""
    if not is_large(len(class_ids)):
        kept = class_ids >= 0
        return np.bincount(class_ids[kept], weights=counts[kept], minlength=size).astype(np.int64)
    sums = np.zeros(size, dtype=np.int64)
    _kernels.add_up(class_ids, counts, sums)
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """The vectors of all histogram columns together, for algorithms that split the rows of a cell.

    `histogram` counts them in each cell; `codes[key][joint]` is the code of one key in a joint code.
    """

    histogram: Histogram
    codes: Mapping[Key, Codes]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FrequencySet:
    """Distinct quasi-identifier vectors in canonical order, with what a model needs about their rows.

    `vectors` (cells × columns, codes) ascends lexicographically, so that a cell's index is its rank in canonical order.
    With `of_classes`, each cell represents a class, whose rows may have further values.
    """

    names: Key
    vectors: Codes
    classes: Classes
    joint: Joint | None = None
    of_classes: bool = False

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

    @property
    def members(self) -> int:
        """Return the number of people in the table where people are counted, otherwise of rows."""
        return self.classes.members_of(np.ones(len(self), dtype=bool))
