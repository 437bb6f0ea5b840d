"""Which few columns together single people out: minimal unique column sets of a whole table, before any recoding.

All people are checked, or a sample of them where that would take long; each is compared with all others. The sets that
single out most of a sample are then counted for all people.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np

from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.value import PERSON, Classes, FrequencySet, Histogram, Key
from indistinct.inspection.unique_sets import ColumnSet, MinimalUniques, minimal_uniques
from indistinct.machine.arrays import Codes, Mask

SIZE = 3
"""Largest combination of columns that is checked by default."""
# `MAX_WORK_FOR_ALL` is the product of rows and column sets up to which all people are checked; above it, a sample of
# `SAMPLE_MEMBERS`. If that exceeds `MAX_WORK` or `MAX_SETS`, smaller combinations are checked.
MAX_WORK_FOR_ALL, SAMPLE_MEMBERS, MAX_WORK, MAX_SETS = 100_000_000, 2_000, 2_000_000_000, 20_000
# Vectors that fit a table of counts, which is faster than a sort.
MAX_TABLE_ENTRIES = 1 << 23
MAX_SETS_REPORTED = 20
"""Number of column sets in the result, those that single out most people first."""


@dataclass(frozen=True, slots=True)
class Combinations:
    """Column sets that single people out.

    Of `members` (people or rows, by `unit`), `looked_at` were compared with all. `found` has their figures, and `sets`
    are the sets that single out most, with figures of all members. `asked` is the requested number of columns in a set;
    `found.size` is smaller where there are too many columns.
    """

    unit: str
    members: int
    looked_at: int
    asked: int
    found: MinimalUniques
    sets: tuple[ColumnSet, ...]

    @property
    def sampled(self) -> bool:
        """Whether only a sample was checked."""
        return self.looked_at < self.members

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that were combined."""
        return self.found.names

    def involved(self, column: str) -> float | None:
        """Return for which share of the checked members a column is in a minimal unique set.

        None if it was left out.
        """
        if column not in self.found.by_column:
            return None
        return self.found.by_column[column] / self.looked_at if self.looked_at else 0.0

    def share(self, each: ColumnSet) -> float:
        """Return the share of members that are unique on a column set."""
        return each.unique / self.members if self.members else 0.0

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes: that a sample was checked, or smaller sets than requested."""
        remarks = []
        if self.sampled:
            remarks.append(
                f"a sample of {self.looked_at:,} of {self.members:,} {self.unit} was looked for among all; the sets "
                "shown have the figures of everybody, other shares are those of the sample"
            )
        if self.found.size < min(self.asked, len(self.columns)):
            remarks.append(f"{len(self.columns):,} columns are many: sets of up to {self.found.size} were looked at")
        return tuple(remarks)

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        whole = self.looked_at or 1
        return {
            "unit": self.unit,
            "members": self.members,
            "looked_at": self.looked_at,
            "sampled": self.sampled,
            "size": self.found.size,
            "columns": list(self.columns),
            "by_size": {str(size): count / whole for size, count in self.found.by_size.items()},
            "found": len(self.found.singling_out()),
            "sets": [
                {
                    "columns": list(each.columns),
                    "unique": each.unique,
                    "unique_share": self.share(each),
                    "minimal": each.minimal,
                }
                for each in self.sets
            ],
            "notes": list(self.notes),
        }


def risky_combinations(
    columns: Mapping[str, Codes], *, people: Codes | None = None, rows: int, size: int = SIZE
) -> Combinations:
    """Return the column sets with the most uniques; `columns` are codes, `people` numbers the person of each row.

    >>> codes = {"age": np.array([0, 0, 1]), "sex": np.array([0, 1, 1])}
    >>> found = risky_combinations(codes, rows=3)
    >>> [(each.columns, each.unique, each.minimal) for each in found.sets]
    [(('age',), 1, 1), (('sex',), 1, 1), (('age', 'sex'), 3, 1)]
    """
    names = tuple(columns)
    cells, group_of_row = _frequencies(columns, people, rows)
    chosen = min(size, len(names))
    while chosen > 1 and (_sets(len(names), chosen) > MAX_SETS or len(cells) * _sets(len(names), chosen) > MAX_WORK):
        chosen -= 1
    sought = _sample(rows, people) if len(cells) * _sets(len(names), chosen) > MAX_WORK_FOR_ALL else None
    uniques = _minimal_uniques(cells, group_of_row, sought, size=max(chosen, 1))
    worst = uniques.singling_out()[:MAX_SETS_REPORTED]
    whole = _Whole(columns, people, rows)
    return Combinations(
        "rows" if people is None else "people",
        whole.members,
        uniques.people,
        size,
        uniques,
        worst if sought is None else whole.recount(worst),
    )


def _sets(width: int, size: int) -> int:
    """Return the number of column sets of up to `size` columns."""
    return sum(comb(width, chosen) for chosen in range(1, size + 1))


def _sample(rows: int, people: Codes | None) -> Codes | None:
    """Return a mask of the rows of some people, None where they are not more than these."""
    # A fixed stream, so that a second inspection of the same table gives the same result; nothing here is published.
    generator = np.random.default_rng(1)
    count = rows if people is None else int(people.max()) + 1
    if count <= SAMPLE_MEMBERS:
        return None
    drawn = np.zeros(count, dtype=bool)
    drawn[generator.choice(count, SAMPLE_MEMBERS, replace=False)] = True
    return drawn if people is None else drawn[people]


def _minimal_uniques(
    cells: FrequencySet, group_of_row: Codes | None, sought: Codes | None, *, size: int
) -> MinimalUniques:
    """Return the members that column sets single out.

    A `sought` row is singled out only if its cell has no other row.
    """
    if sought is None or group_of_row is None:
        return minimal_uniques(cells, size=size, sought=sought)
    drawn = np.zeros(len(cells), dtype=bool)
    drawn[group_of_row[sought]] = True
    return replace(minimal_uniques(cells, size=size, sought=drawn), people=int(sought.sum()))


def _frequencies(columns: Mapping[str, Codes], people: Codes | None, rows: int) -> tuple[FrequencySet, Codes | None]:
    """Return the cells that unique sets are counted on, and the cell of every row.

    Where people are counted every row is a cell of its own, and there is no list of cells.
    """
    ones = np.ones(rows, dtype=np.int64)
    if people is None and columns and rows:
        codes = list(columns.values())
        grouping = group_rows(codes, [int(each.max(initial=0)) + 1 for each in codes])
        vectors = np.column_stack([each[grouping.first] for each in codes])
        return FrequencySet(tuple(columns), vectors, Classes(grouping.counts)), grouping.group_ids()
    vectors = np.column_stack(list(columns.values())) if columns else np.zeros((rows, 0), dtype=np.int32)
    histograms: dict[Key, Histogram] = {}
    if people is not None:
        owners = people.astype(np.int32)
        histograms[(PERSON,)] = Histogram(np.arange(rows + 1), owners, ones, np.bincount(owners))
    return FrequencySet(tuple(columns), vectors, Classes(ones, histograms)), None


class _Whole:
    """A whole table, on which a few column sets are counted again."""

    def __init__(self, columns: Mapping[str, Codes], people: Codes | None, rows: int) -> None:
        self.columns, self.people, self.rows = columns, people, rows
        self.members = rows if people is None else int(np.count_nonzero(np.bincount(people)))
        self.known: dict[tuple[str, ...], Mask] = {}

    def recount(self, sets: Sequence[ColumnSet]) -> tuple[ColumnSet, ...]:
        """Return column sets with their figures among all, those that single out most first."""
        fresh = [self._count(each.columns) for each in sets]
        return tuple(sorted((each for each in fresh if each.minimal), key=lambda each: -each.minimal))

    def _count(self, names: tuple[str, ...]) -> ColumnSet:
        """Count the members that are unique on a column set, and on none of its parts."""
        alone = self._unique(names)
        minimal = alone.copy()
        for part in combinations(names, len(names) - 1):
            if part:
                minimal &= ~self._unique(part)
        return ColumnSet(names, self._members(alone), self._members(minimal))

    def _unique(self, names: tuple[str, ...]) -> Mask:
        """Return which rows have values in some columns that occur for one person only."""
        if names not in self.known:
            codes = [self.columns[name] for name in names]
            sizes = [int(each.max(initial=0)) + 1 for each in codes]
            few = self.people is None and prod(sizes) <= MAX_TABLE_ENTRIES
            self.known[names] = _unique_by_counting(codes, sizes) if few else self._unique_by_sorting(codes, sizes)
        return self.known[names]

    def _unique_by_sorting(self, codes: Sequence[Codes], sizes: Sequence[int]) -> Mask:
        """Return which rows have values that occur for one person only, by sorting the rows."""
        grouping = group_rows(codes, sizes)
        owners = np.arange(self.rows) if self.people is None else self.people
        own, starts = owners[grouping.order], grouping.starts[:-1]
        single = np.minimum.reduceat(own, starts) == np.maximum.reduceat(own, starts)
        mask = np.empty(self.rows, dtype=bool)
        mask[grouping.order] = np.repeat(single, grouping.counts)
        return mask

    def _members(self, rows: Mask) -> int:
        """Count the people, or rows, of a mask."""
        if self.people is None:
            return int(rows.sum())
        return int(np.count_nonzero(np.bincount(self.people[rows])))


def _unique_by_counting(codes: Sequence[Codes], sizes: Sequence[int]) -> Mask:
    """Return which rows have a unique vector, by a table of counts where there are not many vectors."""
    cells = np.ravel_multi_index([each.astype(np.int64) for each in codes], sizes)
    return np.asarray(np.bincount(cells, minlength=1)[cells] == 1)
