"""Cells with the people of a population in addition to their rows, so that classes of cells count both.

A population is a histogram with its own key, `POPULATION`: it merges by `regroup` like every other histogram, and
people with rows in two cells are counted once in their union.
"""

from dataclasses import dataclass, replace

import numpy as np

from indistinct.errors import InputError
from indistinct.frequencies.encode import pack
from indistinct.frequencies.value import PERSON, POPULATION, Classes, FrequencySet, Histogram
from indistinct.machine.arrays import Codes


def people_of_cells(population: FrequencySet) -> Histogram:
    """Return the people of each cell of a population as a histogram; its rows where people were not counted."""
    persons = population.classes.histograms.get((PERSON,))
    if persons is not None:
        # One more code than people, because a histogram with a single code counts rows.
        return replace(persons, reference=np.append(persons.reference, 0), texts=(), taxonomy=None)
    cells = len(population)
    return Histogram(
        np.arange(cells + 1, dtype=np.int64),
        np.zeros(cells, dtype=np.int32),
        population.counts.astype(np.int64),
        np.array([population.rows], dtype=np.int64),
    )


def with_population(frequencies: FrequencySet, population: FrequencySet, *, absent: bool = False) -> FrequencySet:
    """Return the cells with, for each, the people of a population who have its values.

    Both are counted in the same domains. With `absent` there is also a cell without rows for every combination of
    values that only the population has: a recoding of every combination puts these people into a class, too.

    >>> cells = FrequencySet(("age",), np.array([[1], [3]]), Classes(np.array([1, 2])))
    >>> register = FrequencySet(("age",), np.array([[0], [1], [3]]), Classes(np.array([7, 4, 2])))
    >>> with_population(cells, register).classes.population.tolist()
    [4, 2]
    >>> with_population(cells, register, absent=True).counts.tolist()
    [0, 1, 2]
    """
    both = np.concatenate([frequencies.vectors, population.vectors])
    words, _ = pack(list(both.T), (both.max(axis=0, initial=0) + 1).tolist())
    mine, theirs = words[: len(frequencies)], words[len(frequencies) :]
    people = people_of_cells(population)
    if not absent:
        positions = np.minimum(np.searchsorted(mine, theirs), max(len(mine) - 1, 0))
        ids = np.where(mine[positions] == theirs, positions, -1).astype(np.int32)
        histograms = {**frequencies.classes.histograms, (POPULATION,): people.regroup(ids, len(mine))}
        return replace(frequencies, classes=replace(frequencies.classes, histograms=histograms))
    distinct, first = np.unique(words, return_index=True)
    ids, others = (np.searchsorted(distinct, part).astype(np.int32) for part in (mine, theirs))
    classes = frequencies.classes.regroup(ids, len(distinct))
    histograms = {**classes.histograms, (POPULATION,): people.regroup(others, len(distinct))}
    return replace(
        frequencies, vectors=np.asfortranarray(both[first]), classes=Classes(classes.sizes, histograms), joint=None
    )


@dataclass(frozen=True, slots=True, eq=False)
class PopulationByClass:
    """The people of a population who match each published class; the last entry counts those who match no class.

    `size` is the number of people, or rows, of the population, and `several` the number of combinations of their values
    that match more than one class.
    """

    histogram: Histogram
    size: int
    several: int = 0

    @property
    def counts(self) -> Codes:
        """The people of the population who match each published class."""
        return self._all[:-1]

    @property
    def outside(self) -> int:
        """The people of the population who match no class."""
        return int(self._all[-1])

    @property
    def _all(self) -> Codes:
        """Return the number of people of the population in each class."""
        sizes = np.zeros(len(self.histogram.indptr) - 1, dtype=np.int64)
        counts = Classes(sizes, {(POPULATION,): self.histogram}).population
        if counts is None:
            raise AssertionError("a population was counted")
        return counts


def require_population(members: Codes, population: Codes) -> None:
    """Raise `InputError` unless a population has at least as many people in every class, or cell, as the table."""
    fewer = int((population < members).sum())
    if fewer:
        raise InputError(
            f"the population is smaller than the sample: of {int((members > 0).sum()):,} combinations of values "
            f"{fewer:,} have fewer people in the population than in the table",
            hint="the population must contain everybody in the table, and be read and written in the same way",
        )
