"""Which column tells people apart, judged by what its values determine and not by its name: models then count people.

Somebody's rows agree on what does not change from visit to visit, such as sex and date of birth, and these are
independent of each other. What a postcode or a diagnosis determines is coarser versions of itself: towns, regions and
chapters lie inside each other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from indistinct.arrays import Codes
from indistinct.frequencies.grouping import group_rows

# A person has a few rows, and enough people have more than one.
FEWEST_PEOPLE, FEWEST_REPEATED, REPEATED_ROWS, MOST_ROWS = 20, 10, 0.05, 50
# Share of people with several rows whose value is always the same; and of one value beyond which that says nothing.
CONSTANT, NEARLY_ALL = 0.95, 0.8
# Share of the values of one column, among those that people share, for which the other differs.
INDEPENDENT = 0.2
# People that the determined columns tell apart, as a share; or so many independent columns.
TOLD_APART, SEVERAL = 0.3, 3


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """A column as codes from 0 on; `missing` is the code of missing, or one that no row has."""

    codes: Codes
    missing: int


def likely_person(
    columns: Mapping[str, CodedColumn], candidates: Sequence[str], *, named: Collection[str] = ()
) -> str | None:
    """Return the column whose values are people with several rows, None if there is none.

    Only `candidates` are looked at. One that is `named` like a person needs to determine just one other column.
    """
    passing = {}
    for name in candidates:
        groups = _Groups.of(columns[name])
        if groups is None:
            continue
        stable = [
            values
            for other, column in columns.items()
            if other != name and (values := groups.determined(column)) is not None
        ]
        if (name in named and stable) or _tells_people(stable, groups.size):
            passing[name] = groups.size
    chosen = [name for name in passing if name in named] or list(passing)
    # Whose rows lie inside another's are visits or cases of that person.
    return min(chosen, key=lambda name: passing[name], default=None)


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """The rows of a column, sorted by its values; missing ones are left out."""

    order: Codes
    starts: Codes

    @classmethod
    def of(cls, column: CodedColumn) -> "_Groups | None":
        """Return the groups of a column, None if they cannot be people with several rows."""
        order = np.argsort(column.codes, kind="stable")
        order = order[column.codes[order] != column.missing]
        codes = column.codes[order]
        starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]]) if len(codes) else np.zeros(0, dtype=np.int64)
        counts = np.diff(np.r_[starts, len(codes)])
        several = counts > 1
        fits = (
            len(starts) >= FEWEST_PEOPLE
            and several.sum() >= FEWEST_REPEATED
            and counts[several].sum() >= REPEATED_ROWS * len(codes)
            and len(codes) <= MOST_ROWS * len(starts)
        )
        return cls(order, starts) if fits else None

    @property
    def size(self) -> int:
        return len(self.starts)

    def determined(self, column: CodedColumn) -> Codes | None:
        """Return the one value that a column has in each group, -1 where it has none; None if it is not one."""
        codes = column.codes[self.order].astype(np.int64)
        absent = codes == column.missing
        low = np.minimum.reduceat(np.where(absent, np.iinfo(np.int64).max, codes), self.starts)
        high = np.maximum.reduceat(np.where(absent, -1, codes), self.starts)
        judged = np.add.reduceat((~absent).astype(np.int64), self.starts) > 1
        present = codes[~absent]
        if judged.sum() < FEWEST_REPEATED or np.bincount(present).max() > NEARLY_ALL * len(present):
            return None
        return high if (low == high)[judged].mean() >= CONSTANT else None


def _tells_people(stable: Sequence[Codes], people: int) -> bool:
    """Return whether columns that are the same in all rows of a value are many and independent, as a person's are."""
    chosen: list[Codes] = []
    for values in sorted(stable, key=lambda each: -len(np.unique(each))):
        if all(_independent(values, other) and _independent(other, values) for other in chosen):
            chosen.append(values)
    if len(chosen) < 2:
        return _any_pair(stable, people)
    return len(chosen) >= SEVERAL or _told_apart(chosen) >= TOLD_APART * people


def _any_pair(stable: Sequence[Codes], people: int) -> bool:
    """Return whether some two columns are independent: the one with the most values may be another name of a person."""
    return any(
        _independent(one, two) and _independent(two, one) and _told_apart([one, two]) >= TOLD_APART * people
        for one, two in combinations(stable, 2)
    )


def _told_apart(columns: Sequence[Codes]) -> int:
    shifted = [column + 1 for column in columns]
    return len(group_rows(shifted, [int(column.max()) + 1 for column in shifted]).counts)


def _independent(one: Codes, two: Codes) -> bool:
    """Return whether groups that share a value of one column often differ in the other."""
    known = (one >= 0) & (two >= 0)
    order = np.argsort(one[known], kind="stable")
    first, second = one[known][order], two[known][order]
    if not len(first):
        return False
    starts = np.flatnonzero(np.r_[True, first[1:] != first[:-1]])
    shared = np.diff(np.r_[starts, len(first)]) > 1
    differs = np.minimum.reduceat(second, starts) != np.maximum.reduceat(second, starts)
    return bool(shared.any() and differs[shared].mean() >= INDEPENDENT)
