"""Find the person ID of a table by what its values determine, not by its name, so that models count people.

A person's rows agree on what does not change from visit to visit, such as sex and date of birth, and these attributes
are independent of each other. What a postcode or a diagnosis determines are coarser versions of itself: towns, regions
and chapters are nested in each other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes
from indistinct.machine.ordering import distinct

# Limits for a person ID: fewest people, fewest people with several rows (number and share), most rows of a person.
FEWEST_PEOPLE, FEWEST_REPEATED, REPEATED_ROWS, MOST_ROWS = 20, 10, 0.05, 50
# CONSTANT: share of people with several rows whose value is always the same. NEARLY_ALL: share of rows with a single
# value above which the column says nothing. NEARLY_PURE: difference of shares that is ignored.
CONSTANT, NEARLY_ALL, NEARLY_PURE = 0.95, 0.8, 0.005
# Share of the values of one column, among those that several people share, for which the other column differs.
INDEPENDENT = 0.2
# Share of people that the determined columns must distinguish; or this number of independent columns.
TOLD_APART, SEVERAL = 0.3, 3


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """A column as codes from 0 on; `missing` is the code of missing, or one that no row has."""

    codes: Codes
    missing: int


def likely_person(
    columns: Mapping[str, CodedColumn], candidates: Sequence[str], *, named: Collection[str] = ()
) -> str | None:
    """Return the column that identifies people with several rows, None if there is none.

    Only `candidates` are considered. One that is `named` like a person ID needs to determine just one other column.
    """
    passing: dict[str, tuple[int, float]] = {}
    for name in candidates:
        groups = _Groups.of(columns[name])
        if groups is None:
            continue
        judged = [groups.determined(column) for other, column in columns.items() if other != name]
        stable = [values for values, share in judged if share >= CONSTANT]
        if (name in named and stable) or _tells_people(stable, groups.size):
            passing[name] = groups.size, float(np.mean([share for _, share in judged if share >= CONSTANT]))
    chosen = [name for name in passing if name in named] or list(passing)
    # A date of birth that few people share determines nearly as much as a person ID, but not quite.
    purest = max((passing[name][1] for name in chosen), default=1.0)
    chosen = [name for name in chosen if passing[name][1] >= purest - NEARLY_PURE]
    # A column nested in another one identifies visits or cases of that person.
    return min(chosen, key=lambda name: passing[name][0], default=None)


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """The rows of a column, sorted by its values, without missing ones."""

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

    def determined(self, column: CodedColumn) -> tuple[Codes, float]:
        """Return a column's value in each group (-1 for none), and how often it is the only value of the group.

        That is a share of the groups with several known values; it is 0 for a column that is nearly constant.
        """
        codes = column.codes[self.order].astype(np.int64)
        absent = codes == column.missing
        low = np.minimum.reduceat(np.where(absent, np.iinfo(np.int64).max, codes), self.starts)
        high = np.maximum.reduceat(np.where(absent, -1, codes), self.starts)
        judged = np.add.reduceat((~absent).astype(np.int64), self.starts) > 1
        present = codes[~absent]
        if judged.sum() < FEWEST_REPEATED or np.bincount(present).max() > NEARLY_ALL * len(present):
            return high, 0.0
        return high, float((low == high)[judged].mean())


def _tells_people(stable: Sequence[Codes], people: int) -> bool:
    """Return whether the columns that are constant in each group are many and independent, as a person's are."""
    chosen: list[Codes] = []
    for values in sorted(stable, key=lambda each: -len(distinct(each))):
        if all(_independent(values, other) and _independent(other, values) for other in chosen):
            chosen.append(values)
    if len(chosen) < 2:
        return _any_pair(stable, people)
    return len(chosen) >= SEVERAL or _told_apart(chosen) >= TOLD_APART * people


def _any_pair(stable: Sequence[Codes], people: int) -> bool:
    """Return whether two columns are independent, apart from the one with the most values, which may be another ID."""
    return any(
        _independent(one, two) and _independent(two, one) and _told_apart([one, two]) >= TOLD_APART * people
        for one, two in combinations(stable, 2)
    )


def _told_apart(columns: Sequence[Codes]) -> int:
    shifted = [column + 1 for column in columns]
    return len(group_rows(shifted, [int(column.max()) + 1 for column in shifted]).counts)


def _independent(one: Codes, two: Codes) -> bool:
    """Return whether groups with the same value of one column often differ in the other."""
    known = (one >= 0) & (two >= 0)
    order = np.argsort(one[known], kind="stable")
    first, second = one[known][order], two[known][order]
    if not len(first):
        return False
    starts = np.flatnonzero(np.r_[True, first[1:] != first[:-1]])
    shared = np.diff(np.r_[starts, len(first)]) > 1
    differs = np.minimum.reduceat(second, starts) != np.maximum.reduceat(second, starts)
    return bool(shared.any() and differs[shared].mean() >= INDEPENDENT)
