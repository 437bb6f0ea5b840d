"""Which column tells people apart, judged by what its values determine and not by its name: models then count people.

Somebody's rows agree on what does not change from visit to visit, such as sex and date of birth, and these are
independent of each other. What a postcode or a diagnosis determines is coarser versions of itself: towns, regions and
chapters lie inside each other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes
from indistinct.machine.ordering import distinct

# A person has a few rows, and enough people have more than one.
FEWEST_PEOPLE, FEWEST_REPEATED, REPEATED_ROWS, MOST_ROWS = 20, 10, 0.05, 50
# Share of people with several rows whose value is always the same; of one value beyond which that says nothing; and the
# difference of shares that does not count.
CONSTANT, NEARLY_ALL, NEARLY_PURE = 0.95, 0.8, 0.005
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
    # A date of birth that few people share determines nearly as much as a person, but only nearly.
    purest = max((passing[name][1] for name in chosen), default=1.0)
    chosen = [name for name in chosen if passing[name][1] >= purest - NEARLY_PURE]
    # Whose rows lie inside another's are visits or cases of that person.
    return min(chosen, key=lambda name: passing[name][0], default=None)


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

    def determined(self, column: CodedColumn) -> tuple[Codes, float]:
        """Return a value that a column has in each group, -1 where it has none, and how often it is the only one.

        That is a share of the groups that can tell; of a column that is nearly always the same it is 0.
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
    """Return whether columns that are the same in all rows of a value are many and independent, as a person's are."""
    chosen: list[Codes] = []
    for values in sorted(stable, key=lambda each: -len(distinct(each))):
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
