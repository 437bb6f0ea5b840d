"""Column sets that single people out, and the minimal ones among them for each cell of a frequency set.

A person is *unique* in a set of columns if no other person has the same values there. The set is a *minimal unique* of
a cell if the cell's person is unique in it and in no smaller part of it (Elliot, Manning and Ford 2002). Both risk
measures that are built on it, special uniques and minimal unique column sets, walk over the column sets here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from math import ceil, comb
from typing import Any

import numpy as np

from indistinct.errors import ParameterError
from indistinct.frequencies.value import PERSON, Classes, FrequencySet
from indistinct.inspection import _unique_set_kernels as kernels
from indistinct.machine.arrays import Array, Codes, narrowest, run_starts, starts_of
from indistinct.machine.stages import Progress as Progress
from indistinct.machine.threads import is_large, spread

Columns = tuple[int, ...]

SEVERAL = -1
"""The owner of a cell that several people share."""
# Memory for the results of smaller column sets, a bit for each cell.
MAX_BYTES_OF_RESULTS = 2 << 30
# Pairs of first columns whose sets are checked before progress is reported.
PAIRS_PER_REPORT = 8
# Number of column sets from which compiled kernels save more time than they take to load.
MIN_SETS_TO_COMPILE = 16


@dataclass(frozen=True, slots=True, eq=False)
class UniqueSet:
    """A set of columns: the number of people unique in it, and the cells whose minimal unique it is."""

    columns: Columns
    people: int
    minimal: Codes


def owners_of(classes: Classes) -> Codes:
    """Return the owner of each class: the number of its only person or row, `SEVERAL` if there are more.

    Where rows are counted, every class of one row has an owner of its own. A person who has all rows of a class owns
    it, and may own several classes.

        >>> owners_of(Classes(np.array([1, 3, 1]))).tolist()
        [0, -1, 2]
    """
    people = classes.histograms.get((PERSON,))
    single = classes.members == 1
    owners = np.full(len(classes), SEVERAL, dtype=np.int32)
    owners[single] = np.flatnonzero(single) if people is None else people.codes[people.indptr[:-1][single]]
    return owners


def some_repeat(owners: Codes) -> bool:
    """Return whether some person owns several cells, and so could be counted twice."""
    owned = owners[owners != SEVERAL]
    return count_people(owned) < len(owned)


def count_people(owners: Codes) -> int:
    """Return how many different people own some cells."""
    return int(np.count_nonzero(np.bincount(owners)))


def unique_sets(vectors: Codes, owners: Codes, *, size: int, progress: Progress | None = None) -> Iterator[UniqueSet]:
    """Yield every non-empty set of at most `size` columns, smaller ones first.

    Row i of `vectors` has the codes of cell i, and `owners[i]` is its owner. `progress` is called with the share of the
    column sets that are done; an exception that it raises ends the walk.

        >>> cells = np.array([[0, 0], [0, 1], [1, 1]])
        >>> found = unique_sets(cells, np.arange(3), size=2)
        >>> [(one.columns, one.people, one.minimal.tolist()) for one in found]
        [((0,), 1, [2]), ((1,), 1, [0]), ((0, 1), 3, [1])]
    """
    width = vectors.shape[1]
    if size < 1:
        raise ParameterError.of("column", "size", f"sets must be at least 1; got {size}", hint="4 is usual")
    size = min(size, width)
    _require_memory(len(vectors), width, size)
    total, done = sum(comb(width, chosen) for chosen in range(1, size + 1)), 0
    walk = _Walk(vectors, owners, compiled=is_large(len(vectors) * total // MIN_SETS_TO_COMPILE))
    known: dict[Columns, Codes] = {(): np.zeros(-(-len(vectors) // 8), dtype=np.uint8)}
    for chosen in range(1, size + 1):
        larger: dict[Columns, Codes] = {}
        heads = list(combinations(range(width), min(chosen - 1, 2)))
        for start in range(0, len(heads), PAIRS_PER_REPORT):
            some = heads[start : start + PAIRS_PER_REPORT]
            extended = spread(partial(walk.extend, known=known, size=chosen), some, rows=None if walk.compiled else 0)
            for unique_set, bits in (pair for pairs in extended for pair in pairs):
                if chosen < size:
                    larger[unique_set.columns] = bits
                yield walk.in_given_order(unique_set)
                done += 1
            if progress is not None:
                progress(done / total)
        known = larger


def _require_memory(cells: int, width: int, size: int) -> None:
    """Raise if the search of unique sets would need too much memory."""
    needed = max((comb(width, chosen) + comb(width, chosen - 1) for chosen in range(1, size)), default=0)
    if needed * cells / 8 > MAX_BYTES_OF_RESULTS:
        raise ParameterError(
            f"column sets of up to {size} of {width} columns over {cells:,} cells take "
            f"{needed * cells / 8 / (1 << 30):.1f} GB",
            hint="give a smaller `size`, or leave columns out",
        )


@dataclass(frozen=True, slots=True, eq=False)
class CellGroups:
    """Cells with the same values in some columns: group `g` owns `cells[starts[g]:starts[g + 1]]`."""

    cells: Codes
    starts: Codes


class _Walk:
    """The cells by column. Columns with many values come first: the sooner cells are unique, the fewer are left."""

    def __init__(self, vectors: Codes, owners: Codes, *, compiled: bool) -> None:
        sizes = [int(column.max(initial=0)) + 1 for column in vectors.T]
        self.order = sorted(range(len(sizes)), key=lambda j: (-sizes[j], j))
        self.sizes = [sizes[j] for j in self.order]
        self.codes = [vectors[:, j].astype(narrowest(sizes[j])) for j in self.order]
        self.owners, self.compiled = owners, compiled
        self.own_several = some_repeat(owners)
        # If most cells have no single owner, leaving out groups of such cells saves time.
        self.repeat = self.own_several or 2 * int((owners == SEVERAL).sum()) > len(owners)
        self.whole = CellGroups(np.arange(len(owners), dtype=np.int32), starts_of([len(owners)]))
        self.divided: dict[int, CellGroups] = {}

    def in_given_order(self, unique_set: UniqueSet) -> UniqueSet:
        """Return a column set with the columns as the caller numbers them."""
        return UniqueSet(
            tuple(sorted(self.order[j] for j in unique_set.columns)), unique_set.people, unique_set.minimal
        )

    def extend(self, head: Columns, *, known: Mapping[Columns, Codes], size: int) -> list[tuple[UniqueSet, Codes]]:
        """Return the column sets of `size` columns that begin with a head, and the bits of the cells unique in each.

        Cells that are unique in some columns are unique in more of them, and do not make other cells unique: groups
        hold only the rest.
        """
        groups = self.whole
        for column in head:
            groups = self._divide(groups, column)
        return list(self._below(head, groups, known=known, size=size))

    def _below(
        self, prefix: Columns, groups: CellGroups, *, known: Mapping[Columns, Codes], size: int
    ) -> Iterator[tuple[UniqueSet, Codes]]:
        """Yield the unique sets that extend a prefix of columns."""
        for column in range(prefix[-1] + 1 if prefix else 0, len(self.codes)):
            columns = (*prefix, column)
            if len(columns) == size:
                yield self._extend_set(columns, groups, known)
            else:
                yield from self._below(columns, self._divide(groups, column), known=known, size=size)

    def _extend_set(
        self, columns: Columns, groups: CellGroups, known: Mapping[Columns, Codes]
    ) -> tuple[UniqueSet, Codes]:
        """Return the unique set of some columns, and its cells as bits."""
        bits, fresh = known[columns[:-1]], self._alone(groups, columns[-1])
        parts = [known[part] for part in combinations(columns, len(columns) - 1) if part and part != columns[:-1]]
        members = _with(bits, fresh)
        return UniqueSet(columns, self._count(members), _drop_known_cells(fresh, parts)), members

    def _divide(self, groups: CellGroups, column: int) -> CellGroups:
        """Divide groups by a column, without cells that are unique; groups of one column are cached."""
        if groups is not self.whole:
            return self._divide_groups(groups, column)
        if column not in self.divided:
            self.divided[column] = self._divide_groups(groups, column)
        return self.divided[column]

    def _divide_groups(self, groups: CellGroups, column: int) -> CellGroups:
        """Divide groups by a column, by kernel if one is compiled."""
        if not len(groups.cells):
            return groups
        if not self.compiled:
            return split(groups, self.codes[column], self.owners)[1]
        size = self.sizes[column]
        kept, starts = np.empty_like(groups.cells), np.zeros(len(groups.cells) // 2 + 1, dtype=np.int64)
        count, filled = kernels.divide(
            groups.cells,
            groups.starts,
            self.codes[column],
            self.owners,
            self.repeat,
            np.full(size, kernels.EMPTY, dtype=np.int32),
            np.empty(size, dtype=np.int32),
            np.zeros(size, dtype=np.int64),
            np.empty(len(kept), dtype=self.codes[column].dtype),
            kept,
            starts,
        )
        return CellGroups(kept[:filled].copy(), starts[: count + 1].copy())

    def _alone(self, groups: CellGroups, column: int) -> Codes:
        """Return the cells that are unique in their group after division by a further column."""
        if not len(groups.cells):
            return groups.cells
        if not self.compiled:
            return split(groups, self.codes[column], self.owners)[0]
        size, alone = self.sizes[column], np.empty_like(groups.cells)
        first, touched = np.full(size, kernels.EMPTY, dtype=np.int32), np.empty(size, dtype=np.int32)
        filled = kernels.find_alone(
            groups.cells, groups.starts, self.codes[column], self.owners, self.repeat, first, touched, alone
        )
        return alone[:filled].copy()

    def _count(self, bits: Array) -> int:
        """Count the people, or rows, of cells given as bits."""
        if not self.own_several:
            return int(np.bitwise_count(bits).sum())
        return count_people(self.owners[np.unpackbits(bits, count=len(self.owners), bitorder="little").view(bool)])


def split(groups: CellGroups, column: Codes, owners: Codes) -> tuple[Codes, CellGroups]:
    """Divide groups by a further column; return the cells that become unique, and the groups with several people.

    >>> alone, groups = split(CellGroups(np.arange(4), np.array([0, 4])), np.array([0, 1, 1, 2]), np.arange(4))
    >>> alone.tolist(), groups.cells.tolist(), groups.starts.tolist()
    ([0, 3], [1, 2], [0, 2])
    """
    numbers = np.repeat(np.arange(len(groups.starts) - 1), np.diff(groups.starts))
    keys = numbers * (int(column.max()) + 1) + column[groups.cells]
    order = np.argsort(keys, kind="stable")
    cells, starts = groups.cells[order], run_starts(keys[order])
    low = np.minimum.reduceat(owners[cells], starts[:-1])
    high = np.maximum.reduceat(owners[cells], starts[:-1])
    sizes, meet = np.diff(starts), low != high
    alone = np.repeat(~meet & (low != SEVERAL), sizes)
    return cells[alone], CellGroups(cells[np.repeat(meet, sizes)], starts_of(sizes[meet]))


def _drop_known_cells(cells: Codes, sets: Sequence[Codes]) -> Codes:
    """Return the cells that have no bit in any of some sets."""
    for bits in sets:
        cells = cells[(bits[cells >> 3] >> (cells & 7).astype(np.uint8)) & 1 == 0]
    return cells


def _with(bits: Codes, cells: Codes) -> Codes:
    """Return bits with those of some further cells set."""
    if not len(cells):
        return bits
    mask = np.zeros(8 * len(bits), dtype=bool)
    mask[cells] = True
    return bits | np.packbits(mask, bitorder="little")


@dataclass(frozen=True, slots=True)
class ColumnSet:
    """Some columns, and the people whom they single out.

    `unique` people share their values in these columns with no other person. For `minimal` of them no smaller part of
    the columns is enough.
    """

    columns: tuple[str, ...]
    unique: int
    minimal: int


@dataclass(frozen=True, slots=True)
class MinimalUniques:
    """All sets of up to `size` columns, with the number of people that each singles out.

    `sets` are ordered by size and then by the given order of columns. `people` are all in the table, or its rows.
    `by_size[s]` people are singled out by some s columns and by no fewer; all others need more than `size` columns.
    `by_column` has the number of people with a minimal unique that includes the column.
    """

    names: tuple[str, ...]
    people: int
    size: int
    sets: tuple[ColumnSet, ...]
    by_size: Mapping[int, int]
    by_column: Mapping[str, int]

    def singling_out(self) -> tuple[ColumnSet, ...]:
        """Return the sets that are a minimal unique of some person, those of most people first."""
        return tuple(
            sorted((column_set for column_set in self.sets if column_set.minimal), key=lambda found: -found.minimal)
        )

    def above(self, share: float) -> tuple[ColumnSet, ...]:
        """Return the minimal sets on which at least a share of all people is unique.

        At least one person has to be, whatever the share. With a share of 1 these are the minimal keys of the table.
        """
        if not 0 <= share <= 1:
            raise ParameterError(f"the share of people must be from 0 to 1; got {share:g}")
        # A share such as 0.07 of 100 is a little more than 7 in floating point.
        wanted = max(ceil(share * self.people * (1 - 1e-12)), 1)
        chosen: list[ColumnSet] = []
        for column_set in self.sets:  # smaller ones come first
            parts = set(column_set.columns)
            if column_set.unique >= wanted and not any(parts.issuperset(other.columns) for other in chosen):
                chosen.append(column_set)
        return tuple(chosen)

    def to_json(self) -> Mapping[str, Any]:
        """Return the figures as plain JSON values: the sets that are minimal uniques, those of most people first."""
        return {
            "people": self.people,
            "size": self.size,
            "by_size": {str(size): count for size, count in self.by_size.items()},
            "sets": [asdict(column_set) | {"columns": list(column_set.columns)} for column_set in self.singling_out()],
        }


def minimal_uniques(
    frequencies: FrequencySet, *, size: int = 4, sought: Codes | None = None, progress: Progress | None = None
) -> MinimalUniques:
    """Return how many people each set of up to `size` columns singles out.

    Rows are counted, or people where the frequency set counts them; vectors need neither an order nor be distinct.
    Where a mask of cells says who is `sought`, only they are counted, singled out among all; it has all of their cells.
    `progress` is called with the share of the work that is done; an exception that it raises ends it.

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
    sets: list[tuple[tuple[int, ...], ColumnSet]] = []
    for one in unique_sets(frequencies.vectors, owners, size=size, progress=progress):
        people = owners[one.minimal]
        smallest[people[smallest[people] == 0]] = len(one.columns)  # smaller sets come first
        for column in one.columns:
            involved[column, people] = True
        minimal = count_people(people) if repeat else len(people)
        sets.append((one.columns, ColumnSet(tuple(names[j] for j in one.columns), one.people, minimal)))
    size = min(size, len(names))
    sets.sort(key=lambda one: (len(one[0]), one[0]))
    counts = np.bincount(smallest, minlength=size + 1)
    return MinimalUniques(
        names,
        members,
        size,
        tuple(one for _, one in sets),
        {chosen: int(counts[chosen]) for chosen in range(1, size + 1)},
        {name: int(marked.sum()) for name, marked in zip(names, involved, strict=True)},
    )


def _owners_among(sought: Codes, owners: Codes) -> Codes:
    """Renumber the owners to search for; all others count only as `SEVERAL`."""
    kept = sought & (owners != SEVERAL)
    among = np.full_like(owners, SEVERAL)
    among[kept] = np.unique(owners[kept], return_inverse=True)[1]
    return among
