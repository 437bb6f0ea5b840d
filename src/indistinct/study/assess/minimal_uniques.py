"""Minimal unique column sets of a frequency set: which few columns single people out, and how many people."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

import numpy as np

from indistinct.errors import ParameterError
from indistinct.frequencies.value import FrequencySet
from indistinct.machine.arrays import Codes
from indistinct.study.assess.unique_sets import SEVERAL, Progress, count_people, owners_of, some_repeat, unique_sets


@dataclass(frozen=True, slots=True)
class ColumnSet:
    """Some columns, and the people whom they single out.

    `unique` people share their values in these columns with nobody. Of `minimal` of them these values are not unique in
    any smaller part of the columns, so that every column is needed.
    """

    columns: tuple[str, ...]
    unique: int
    minimal: int


@dataclass(frozen=True, slots=True)
class MinimalUniques:
    """All sets of up to `size` columns, with the number of people that each singles out.

    `sets` are ordered by size and then by the given order of columns. `people` are all in the table, or its rows.
    `by_size[s]` people are singled out by some s columns and by no fewer; whoever is left needs more than `size`.
    `by_column` has the people of whom a column is part of a minimal unique.
    """

    names: tuple[str, ...]
    people: int
    size: int
    sets: tuple[ColumnSet, ...]
    by_size: Mapping[int, int]
    by_column: Mapping[str, int]

    def singling_out(self) -> tuple[ColumnSet, ...]:
        """Return the sets that are a minimal unique of somebody, those of most people first."""
        return tuple(sorted((found for found in self.sets if found.minimal), key=lambda found: -found.minimal))

    def above(self, share: float) -> tuple[ColumnSet, ...]:
        """Return the sets in which at least a share of all people is unique, and none of whose smaller parts is such.

        At least one person has to be, whatever the share. With a share of 1 these are the minimal keys of the table.
        """
        if not 0 <= share <= 1:
            raise ParameterError(f"the share of people must be from 0 to 1; got {share:g}")
        # A share such as 0.07 of 100 is a little more than 7 in floating point.
        wanted = max(ceil(share * self.people * (1 - 1e-12)), 1)
        chosen: list[ColumnSet] = []
        for found in self.sets:  # smaller ones come first
            parts = set(found.columns)
            if found.unique >= wanted and not any(parts.issuperset(other.columns) for other in chosen):
                chosen.append(found)
        return tuple(chosen)

    def to_json(self) -> Mapping[str, Any]:
        """Return the figures as plain JSON values: the sets that are somebody's minimal unique, most people first."""
        return {
            "people": self.people,
            "size": self.size,
            "by_size": {str(size): count for size, count in self.by_size.items()},
            "sets": [asdict(found) | {"columns": list(found.columns)} for found in self.singling_out()],
        }


def minimal_uniques(
    frequencies: FrequencySet, *, size: int = 4, sought: Codes | None = None, progress: Progress | None = None
) -> MinimalUniques:
    """Return how many people each set of up to `size` columns singles out.

    Rows are counted, or people where the frequency set counts them; vectors need neither an order nor be distinct.
    Where a mask of cells says who is `sought`, only they are counted, singled out among all; it has all of their cells.
    `progress` is told the share of the work that is done; what it raises ends it.

        >>> from indistinct.frequencies.value import Classes
        >>> cells = np.array([[0, 0], [0, 1], [1, 1]])
        >>> found = minimal_uniques(FrequencySet(("age", "sex"), cells, Classes(np.array([1, 1, 4]))))
        >>> [(one.columns, one.unique, one.minimal) for one in found.singling_out()]
        [(('sex',), 1, 1), (('age', 'sex'), 2, 1)]
        >>> found.by_size
        {1: 1, 2: 1}
        >>> found.by_column
        {'age': 1, 'sex': 2}
    """
    names, owners = frequencies.names, owners_of(frequencies.classes)
    members = frequencies.members
    if sought is not None:
        members, owners = frequencies.classes.members_of(sought), _owners_among(sought, owners)
    repeat = some_repeat(owners)
    smallest = np.zeros(int(owners.max(initial=SEVERAL)) + 1, dtype=np.int64)
    involved = np.zeros((len(names), len(smallest)), dtype=bool)
    found: list[tuple[tuple[int, ...], ColumnSet]] = []
    for one in unique_sets(frequencies.vectors, owners, size=size, progress=progress):
        people = owners[one.minimal]
        smallest[people[smallest[people] == 0]] = len(one.columns)  # smaller sets come first
        for column in one.columns:
            involved[column, people] = True
        minimal = count_people(people) if repeat else len(people)
        found.append((one.columns, ColumnSet(tuple(names[j] for j in one.columns), one.people, minimal)))
    size = min(size, len(names))
    found.sort(key=lambda one: (len(one[0]), one[0]))
    counts = np.bincount(smallest, minlength=size + 1)
    return MinimalUniques(
        names,
        members,
        size,
        tuple(one for _, one in found),
        {chosen: int(counts[chosen]) for chosen in range(1, size + 1)},
        {name: int(marked.sum()) for name, marked in zip(names, involved, strict=True)},
    )


def _owners_among(sought: Codes, owners: Codes) -> Codes:
    """Return owners numbered anew where a mask says that they are sought; all others are there to be met."""
    kept = sought & (owners != SEVERAL)
    among = np.full_like(owners, SEVERAL)
    among[kept] = np.unique(owners[kept], return_inverse=True)[1]
    return among
