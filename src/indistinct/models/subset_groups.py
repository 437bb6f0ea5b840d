"""Groups of classes that share the labels of some columns: how large they are, and which classes go if some are small.

Each set of columns has groups of its own. Sets are walked in lexicographic order, so that those with the same first
columns share what was computed of these, and threads share the sets.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from indistinct.frequencies._kernels import group_words_by_hash
from indistinct.frequencies.value import PERSON, Classes
from indistinct.machine.arrays import Codes, blocks, is_large, spread
from indistinct.models import _subset_kernels as kernels

# Groups are counted in one array while it has at most so many entries, or so many times as many as there are classes;
# else their words are hashed first.
PLAIN, PER_CLASS = 1 << 16, 4
# Numbers of groups stay below this, so that products fit 64 bits.
MOST = 1 << 62
# Sets of a block: threads take blocks, and the search may stop after each.
BLOCK = 64

Columns = tuple[int, ...]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of all classes by one set of columns: class `i` is in group `prefix[i] * radix + codes[i]`."""

    prefix: Codes
    codes: Codes
    radix: int
    size: int


@dataclass(frozen=True, eq=False)
class SubsetGroups:
    """The classes of a release with the sets of columns by which they are grouped, as places in their labels."""

    classes: Classes
    sets: tuple[Columns, ...]

    def smallest(self) -> int:
        """Return the rows, or people, of the smallest group of any set; 0 where there are no rows."""
        alive = self.classes.sizes > 0
        found = self._spread(lambda groups: int(kernels.smallest_group(self._count(groups, alive))))
        return min((least for least in found if least), default=0)

    def below(self, k: int) -> Codes:
        """Return a mask of the classes that stand in a group with fewer than k rows, or people."""
        alive, marked = self.classes.sizes > 0, np.zeros(len(self.classes), dtype=bool)

        def mark(groups: Groups) -> None:
            table = self._count(groups, alive)
            if 0 < kernels.smallest_group(table) < k:
                kernels.mark_small_groups(groups.prefix, groups.codes, groups.radix, table, k, alive, marked)

        self._spread(mark)
        return marked

    def small_by_set(self, k: int) -> list[tuple[Columns, Codes]]:
        """Return, for each set of columns, the classes that stand in a group with fewer than k rows, or people."""
        alive = self.classes.sizes > 0

        def find(groups: Groups) -> Codes:
            marked = np.zeros(len(self.classes), dtype=bool)
            table = self._count(groups, alive)
            kernels.mark_small_groups(groups.prefix, groups.codes, groups.radix, table, k, alive, marked)
            return np.flatnonzero(marked)

        return list(zip(sorted(self.sets), self._spread(find), strict=True))

    def witnesses(self, k: int, asking: Codes) -> Codes:
        """Return a mask of classes which alone show whether groups of asking classes have k with others.

        In every group of an asking class they have k rows, or all that do not ask. People are not told by rows, so
        that everybody is a witness where people are counted.
        """
        if self._people is not None:
            return ~asking
        chosen = np.zeros(len(self.classes), dtype=bool)
        for groups in self._groups(sorted(self.sets)):
            table = np.empty(groups.size, dtype=np.int64)
            place = (groups.prefix, groups.codes, groups.radix)
            kernels.choose_witnesses(*place, self.classes.sizes, asking, k, chosen, table)
        return chosen

    def outside(self, k: int, *, enough: int | None = None, fixed: Codes | None = None) -> Codes:
        """Return a mask of the classes that are dropped until no group of the others has fewer than k.

        Classes that are `fixed` stay, whatever their groups are.

        What is left is the largest set of classes that keeps the promise. A class of that set is never dropped, in
        whatever order sets are looked at: its groups have k within that set alone. The search may stop as soon as more
        than `enough` rows, or people, are dropped.
        """
        sizes, lost = self.classes.sizes, [0]
        most = sizes.sum() if enough is None else enough
        alive, stay = sizes > 0, np.zeros(len(sizes), dtype=bool) if fixed is None else fixed

        def drop(groups: Groups) -> int:
            if lost[0] > most:
                return 0
            table = self._count(groups, alive)
            if not 0 < kernels.smallest_group(table) < k:
                return 0
            place = (groups.prefix, groups.codes, groups.radix)
            rows = int(kernels.drop_small_groups(*place, table, k, sizes, stay, alive))
            if self._people is None:
                lost[0] += rows
            elif rows and enough is not None:
                lost[0] = self.classes.members_of((sizes > 0) & ~alive)
            return rows

        while any(self._spread(drop)) and lost[0] <= most:
            continue
        return (sizes > 0) & ~alive

    def _spread(self, work: Callable[[Groups], Result]) -> list[Result]:
        """Return what some work returns for each set; threads take runs of neighbouring sets."""
        ordered = sorted(self.sets)
        runs = [ordered[start : start + BLOCK] for start in range(0, len(ordered), BLOCK)]
        if len(runs) < 2 and is_large(len(self.classes) * len(ordered)):
            runs = [ordered[part] for part in blocks(len(ordered), least=2)]
        rows = len(self.classes) * len(ordered)
        several = spread(lambda run: [work(groups) for groups in self._groups(run)], runs, rows=rows)
        return [each for results in several for each in results]

    def _groups(self, sets: Sequence[Columns]) -> Iterator[Groups]:
        """Yield the groups of each of some sets, which ascend."""
        known: Columns | None = None
        for columns in sets:
            if columns[:-1] != known:
                known = columns[:-1]
                prefix, size = self._prefix(known)
            codes, radix = self._columns[columns[-1]]
            if size * radix <= self._room:
                yield Groups(prefix, codes, radix, size * radix)
            else:
                longer, fewer = self._hashed(prefix, codes, radix)
                yield Groups(longer, self._zeros, 1, fewer)

    def _prefix(self, columns: Columns) -> tuple[Codes, int]:
        """Return the group of each class by some columns, and how many numbers such groups have."""
        prefix, size = np.zeros(len(self.classes), dtype=np.int64), 1
        for column in columns:
            codes, radix = self._columns[column]
            if size * radix >= MOST or size * radix > self._room:
                prefix, size = self._hashed(prefix, codes, radix)
            else:
                longer = np.empty_like(prefix)
                kernels.extend_prefix(prefix, codes, radix, longer)
                prefix, size = longer, size * radix
        return prefix, size

    def _hashed(self, prefix: Codes, codes: Codes, radix: int) -> tuple[Codes, int]:
        """Return the group of each class by one column more, numbered without gaps, and how many there are."""
        longer, ids = np.empty_like(prefix), np.empty(len(prefix), dtype=np.int32)
        kernels.extend_prefix(prefix, codes, radix, longer)
        found, _ = group_words_by_hash(longer.astype(np.uint64).reshape(-1, 1), self.classes.sizes, ids)
        return ids.astype(np.int64), len(found)

    def _count(self, groups: Groups, alive: Codes) -> Codes:
        """Return the rows, or people, of each group among the classes that are left."""
        table = np.empty(groups.size, dtype=np.int64)
        place = (groups.prefix, groups.codes, groups.radix)
        if self._people is None:
            kernels.count_rows(*place, self.classes.sizes, alive, table)
        else:
            kernels.count_people(*place, *self._people, alive, table, np.empty(groups.size, dtype=np.int32))
        return table

    @cached_property
    def _columns(self) -> tuple[tuple[Codes, int], ...]:
        """The labels of every column one after the other, and how many numbers they have."""
        codes = np.zeros((len(self.classes), 0)) if self.classes.labels is None else self.classes.labels.codes
        sizes = [int(column.max(initial=0)) + 1 for column in codes.T]
        kind = np.uint16 if max(sizes, default=1) <= 1 << 16 else np.int32
        return tuple((np.ascontiguousarray(column, dtype=kind), n) for column, n in zip(codes.T, sizes, strict=True))

    @cached_property
    def _zeros(self) -> Codes:
        kind = self._columns[0][0].dtype if self._columns else np.uint16
        return np.zeros(len(self.classes), dtype=kind)

    @cached_property
    def _room(self) -> int:
        return max(PLAIN, PER_CLASS * len(self.classes))

    @cached_property
    def _people(self) -> tuple[Codes, Codes] | None:
        """The people of classes in the order of people, and the class of each entry; None where rows are counted."""
        persons = self.classes.histograms.get((PERSON,))
        if persons is None:
            return None
        order = np.argsort(persons.codes, kind="stable")
        return persons.codes[order].astype(np.int32), persons.owners()[order].astype(np.int64)
