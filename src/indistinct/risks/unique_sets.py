"""Column sets that single people out, and the minimal ones among them for each cell of a frequency set.

Somebody is *unique* in a set of columns if nobody else has the same values there. The set is a *minimal unique* of a
cell if the cell's person is unique in it and in no smaller part of it (Elliot, Manning and Ford 2002). Both risk
measures that are built on it, special uniques and minimal unique column sets, walk over the column sets here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod

import numpy as np

from indistinct.arrays import Codes, narrowest
from indistinct.errors import ParameterError
from indistinct.frequencies.value import PERSON, Classes
from indistinct.ordering import distinct_with_places
from indistinct.parallel import is_large, spread, workers
from indistinct.risks import _unique_set_kernels as kernels

Progress = Callable[[float], None]
Columns = tuple[int, ...]

SEVERAL = -1
"""The owner of a cell that several people share."""
# A table of keys that is at most so many times as long as there are cells is faster than sorting the keys.
TABLE, SMALL_TABLE = 16, 1 << 16
# Keys of more values than this are replaced by their ranks first.
LARGEST_KEY = 1 << 62
# What is known of smaller column sets, a bit for each cell, may take so much memory.
KNOWN_BYTES = 2 << 30


@dataclass(frozen=True, slots=True, eq=False)
class UniqueSet:
    """A set of columns: how many people are unique in it, and the cells of which it is a minimal unique."""

    columns: Columns
    people: int
    minimal: Codes


def owners_of(classes: Classes) -> Codes:
    """Return whom each class is about: its only person or row as a number, `SEVERAL` where there are more.

    Without people every class of one row has an owner of its own. Somebody with several rows in a class owns it alone,
    and somebody with rows in several classes may own all of them.

        >>> owners_of(Classes(np.array([1, 3, 1]))).tolist()
        [0, -1, 2]
    """
    people = classes.histograms.get((PERSON,))
    single = classes.members == 1
    owners = np.full(len(classes), SEVERAL, dtype=np.int32)
    owners[single] = np.flatnonzero(single) if people is None else people.codes[people.indptr[:-1][single]]
    return owners


def unique_sets(vectors: Codes, owners: Codes, *, size: int, progress: Progress | None = None) -> Iterator[UniqueSet]:
    """Yield every non-empty set of at most `size` columns, smaller ones first.

    Row i of `vectors` has the codes of cell i, `owners[i]` says whom it is about. `progress` is told which share of the
    column sets has been looked at; what it raises ends the walk.

        >>> cells = np.array([[0, 0], [0, 1], [1, 1]])
        >>> found = unique_sets(cells, np.arange(3), size=2)
        >>> [(one.columns, one.people, one.minimal.tolist()) for one in found]
        [((0,), 1, [2]), ((1,), 1, [0]), ((0, 1), 3, [1])]
    """
    width = vectors.shape[1]
    if size < 1:
        raise ParameterError(f"`size` of column sets must be at least 1; got {size}", hint="4 is usual")
    size = min(size, width)
    _require_memory(len(vectors), width, size)
    walk = _Walk(vectors, owners)
    total, done = sum(comb(width, chosen) for chosen in range(1, size + 1)), 0
    known: dict[Columns, Codes] = {(): np.zeros(-(-len(vectors) // 8), dtype=np.uint8)}
    for chosen in range(1, size + 1):
        larger: dict[Columns, Codes] = {}
        # The last column cannot be followed by another one.
        prefixes = [prefix for prefix in known if not prefix or prefix[-1] < width - 1]
        for start in range(0, len(prefixes), 8 * workers()):
            some = prefixes[start : start + 8 * workers()]
            extended = spread(lambda prefix, known=known: walk.extend(prefix, known), some, rows=len(vectors))
            for found, bits in (pair for pairs in extended for pair in pairs):
                if chosen < size:
                    larger[found.columns] = bits
                yield walk.in_given_order(found)
                done += 1
            if progress is not None:
                progress(done / total)
        known = larger


def _require_memory(cells: int, width: int, size: int) -> None:
    needed = max((comb(width, chosen) + comb(width, chosen - 1) for chosen in range(1, size)), default=0)
    if needed * cells / 8 > KNOWN_BYTES:
        raise ParameterError(
            f"column sets of up to {size} of {width} columns over {cells:,} cells take "
            f"{needed * cells / 8 / (1 << 30):.1f} GB",
            hint="give a smaller `size`, or leave columns out",
        )


class _Walk:
    """The cells by column. Columns with many values come first: the sooner cells are unique, the fewer are left."""

    def __init__(self, vectors: Codes, owners: Codes) -> None:
        sizes = [int(column.max(initial=0)) + 1 for column in vectors.T]
        self.order = sorted(range(len(sizes)), key=lambda j: (-sizes[j], j))
        self.sizes = [sizes[j] for j in self.order]
        self.codes = [vectors[:, j].astype(narrowest(sizes[j])) for j in self.order]
        self.owners = owners
        people = owners[owners != SEVERAL]
        self.people = int(people.max(initial=-1)) + 1
        # Only somebody with several cells can be counted twice.
        self.repeat = len(people) != np.count_nonzero(np.bincount(people, minlength=self.people))

    def in_given_order(self, found: UniqueSet) -> UniqueSet:
        """Return a column set with the columns as the caller numbers them."""
        return UniqueSet(tuple(sorted(self.order[j] for j in found.columns)), found.people, found.minimal)

    def extend(self, prefix: Columns, known: dict[Columns, Codes]) -> list[tuple[UniqueSet, Codes]]:
        """Return the column sets of a prefix and one later column, and the bits of the cells unique in each.

        Cells that are unique in the prefix are unique in all of them, and tell nobody else apart.
        """
        bits = known[prefix]
        unique = np.unpackbits(bits, count=len(self.owners), bitorder="little").view(bool)
        cells = np.flatnonzero(~unique)
        if not (self.owners[cells] != SEVERAL).any():
            cells = cells[:0]
        keys, space = self._keys(prefix, cells)
        sets = []
        for column in range(prefix[-1] + 1 if prefix else 0, len(self.codes)):
            fresh = self._alone(cells, keys, column, space)
            columns = (*prefix, column)
            parts = [known[part] for part in combinations(columns, len(prefix)) if part and part != prefix]
            sets.append((UniqueSet(columns, self._count(bits, fresh), _outside(fresh, parts)), _with(bits, fresh)))
        return sets

    def _keys(self, prefix: Columns, cells: Codes) -> tuple[Codes, int]:
        """Return a number for the codes of each cell in some columns, and how many such numbers there may be."""
        space = prod(self.sizes[j] for j in prefix)
        keys = np.zeros(len(cells), dtype=np.int64)
        if space * max(self.sizes, default=1) <= LARGEST_KEY:
            for j in prefix:
                keys *= self.sizes[j]
                keys += self.codes[j][cells]
            return keys, space
        space = 1
        for j in prefix:
            keys = keys * self.sizes[j] + self.codes[j][cells]
            distinct, keys = distinct_with_places(keys)
            space = len(distinct)
        return keys, space

    def _alone(self, cells: Codes, keys: Codes, column: int, space: int) -> Codes:
        """Return the cells whose owner shares its key and its code in a further column with nobody."""
        radix, space = self.sizes[column], space * self.sizes[column]
        if not len(cells):
            return cells
        if space <= max(TABLE * len(cells), SMALL_TABLE) and is_large(len(self.owners)):
            table, alone = np.empty(space, dtype=np.int32), np.empty(len(cells), dtype=np.int64)
            return alone[: kernels.find_alone(cells, keys, self.codes[column], radix, self.owners, table, alone)].copy()
        return alone_in_table(cells, keys * radix + self.codes[column][cells], space, self.owners)

    def _count(self, bits: Codes, fresh: Codes) -> int:
        if not self.repeat:
            return int(np.bitwise_count(bits).sum()) + len(fresh)
        unique = np.unpackbits(_with(bits, fresh), count=len(self.owners), bitorder="little").view(bool)
        present = np.zeros(self.people, dtype=bool)
        present[self.owners[unique]] = True
        return int(present.sum())


def alone_in_table(cells: Codes, keys: Codes, space: int, owners: Codes) -> Codes:
    """Return the cells whose owner shares its key with nobody; keys are below `space`."""
    if space > max(TABLE * len(cells), SMALL_TABLE):
        distinct, keys = distinct_with_places(keys)
        space = len(distinct)
    own = owners[cells]
    first = np.empty(space, dtype=owners.dtype)
    first[keys] = own  # the last one of every key stays
    shared = np.zeros(space, dtype=bool)
    shared[keys[(own != first[keys]) | (own == SEVERAL)]] = True
    return cells[~shared[keys]]


def _outside(cells: Codes, sets: Sequence[Codes]) -> Codes:
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
