"""Groups of classes that share the labels of some columns: their sizes, and which classes to drop if some are small.

Each set of columns has its own groups. Sets are visited in lexicographic order, so that those with the same first
columns share computed prefixes, and threads share the sets. Where people are counted, classes are first sorted by their
people, so that a pass over people reads memory in order.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from indistinct.frequencies._kernels import group_words_by_hash
from indistinct.frequencies.value import PERSON, Classes
from indistinct.machine.arrays import Codes, Counts, Mask
from indistinct.machine.threads import blocks, is_large, spread
from indistinct.models import _subset_kernels as kernels

# Groups are counted in one array if it has at most MAX_ARRAY entries, or MAX_ARRAY_PER_CLASS for each class; else group
# numbers are hashed first.
MAX_ARRAY, MAX_ARRAY_PER_CLASS = 1 << 16, 4
# Numbers of groups stay below this, so that products fit 64 bits.
MAX_GROUP_NUMBER = 1 << 62
# Column sets that a thread takes at a time; the search may stop after each block.
SETS_PER_BLOCK = 64

Columns = tuple[int, ...]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, eq=False)
class SetGroups:
    """The groups of all classes by one set of columns: class `i` is in group `prefix[i] * radix + codes[i]`."""

    prefix: Codes
    codes: Codes
    radix: int
    size: int


@dataclass(frozen=True, eq=False)
class SubsetGroups:
    """The classes of a release with the sets of columns by which they are grouped, as indices into their labels."""

    classes: Classes
    sets: tuple[Columns, ...]

    def smallest(self) -> int:
        """Return the rows, or people, of the smallest group of any set; 0 where there are no rows."""
        alive = self._present()
        sizes = self._spread(lambda groups: int(kernels.smallest_group(self._count(groups, alive))))
        return min((least for least in sizes if least), default=0)

    def below(self, k: int) -> Mask:
        """Return a mask of the classes in a group with fewer than k rows, or people."""
        alive, marked = self._present(), np.zeros(len(self.classes), dtype=bool)

        def mark(groups: SetGroups) -> None:
            table = self._count(groups, alive)
            if 0 < kernels.smallest_group(table) < k:
                kernels.mark_small_groups(groups.prefix, groups.codes, groups.radix, table, k, alive, marked)

        self._spread(mark)
        return self._as_given(marked)

    def small_by_set(self, k: int) -> list[tuple[Columns, Codes]]:
        """Return, for each set of columns, the classes in a group with fewer than k rows, or people."""
        alive = self._present()

        def find(groups: SetGroups) -> Codes:
            marked = np.zeros(len(self.classes), dtype=bool)
            table = self._count(groups, alive)
            kernels.mark_small_groups(groups.prefix, groups.codes, groups.radix, table, k, alive, marked)
            return np.flatnonzero(self._as_given(marked))

        return list(zip(sorted(self.sets), self._spread(find), strict=True))

    def witnesses(self, k: int, asking: Mask) -> Mask:
        """Return a mask of classes that suffice to show whether groups of `asking` classes have k with others.

        In every group of an asking class they have k rows, or people, or all that do not ask.
        """
        chosen, asking = np.zeros(len(self.classes), dtype=bool), asking[self._order]
        for groups in self._groups(sorted(self.sets)):
            keys = (groups.prefix, groups.codes, groups.radix)
            if self._people is None:
                table: Counts = np.empty(groups.size, dtype=np.int64)
                kernels.choose_witnesses(*keys, self._members, asking, k, chosen, table)
            else:
                table = self._count(groups, chosen)
                kernels.choose_people(*keys, *self._people, asking, k, chosen, table)
        return self._as_given(chosen)

    def outside(self, k: int, *, enough: int | None = None, fixed: Mask | None = None) -> Mask:
        """Return a mask of the classes to drop until no group of the others has fewer than k.

        `fixed` classes stay, whatever their groups are. The rest is the largest set of classes that satisfies the
        model: a class of that set is never dropped, in whatever order sets are processed, because its groups have k
        within the set alone. The search may stop as soon as more than `enough` rows, or people, are dropped.
        """
        present, lost = self._present(), [0]
        most = self._members.sum() if enough is None else enough
        alive, stay = present.copy(), np.zeros(len(present), dtype=bool) if fixed is None else fixed[self._order]

        def drop(groups: SetGroups) -> int:
            if lost[0] > most:
                return 0
            table = self._count(groups, alive)
            if not 0 < kernels.smallest_group(table) < k:
                return 0
            keys = (groups.prefix, groups.codes, groups.radix)
            members = int(kernels.drop_small_groups(*keys, table, k, self._members, stay, alive))
            # An overestimate if a person has rows in several classes, or if two threads drop the same class.
            lost[0] += members
            if lost[0] > most and members:
                lost[0] = self.classes.members_of(self._as_given(present & ~alive))
            return members

        while any(self._spread(drop)) and lost[0] <= most:
            continue
        return self._as_given(present & ~alive)

    def _present(self) -> Mask:
        """Return a mask of the classes that have rows, in the order of people."""
        return np.asarray(self.classes.sizes[self._order] > 0)

    def _as_given(self, mask: Mask) -> Mask:
        """Return a mask of classes in their original order."""
        mask_as_given = np.empty_like(mask)
        mask_as_given[self._order] = mask
        return mask_as_given

    def _spread(self, work: Callable[[SetGroups], Result]) -> list[Result]:
        """Return the results of `work` for each set; threads take runs of neighboring sets."""
        ordered = sorted(self.sets)
        runs = [ordered[start : start + SETS_PER_BLOCK] for start in range(0, len(ordered), SETS_PER_BLOCK)]
        if len(runs) < 2 and is_large(len(self.classes) * len(ordered)):
            runs = [ordered[part] for part in blocks(len(ordered), least=2)]
        rows = len(self.classes) * len(ordered)
        several = spread(lambda run: [work(groups) for groups in self._groups(run)], runs, rows=rows)
        return [each for results in several for each in results]

    def _groups(self, sets: Sequence[Columns]) -> Iterator[SetGroups]:
        """Yield the groups of each of some sets, given in ascending order."""
        known: Columns | None = None
        for columns in sets:
            if columns[:-1] != known:
                known = columns[:-1]
                prefix, size = self._prefix(known)
            codes, radix = self._columns[columns[-1]]
            if size * radix <= self._room:
                yield SetGroups(prefix, codes, radix, size * radix)
            else:
                longer, fewer = self._hashed(prefix, codes, radix)
                yield SetGroups(longer, self._zeros, 1, fewer)

    def _prefix(self, columns: Columns) -> tuple[Codes, int]:
        """Return the group of each class by some columns, and the range of the group numbers."""
        size = 1
        prefix: Codes = np.zeros(len(self.classes), dtype=np.int64)
        for column in columns:
            codes, radix = self._columns[column]
            if size * radix >= MAX_GROUP_NUMBER or size * radix > self._room:
                prefix, size = self._hashed(prefix, codes, radix)
            else:
                longer = np.empty_like(prefix)
                kernels.extend_prefix(prefix, codes, radix, longer)
                prefix, size = longer, size * radix
        return prefix, size

    def _hashed(self, prefix: Codes, codes: Codes, radix: int) -> tuple[Codes, int]:
        """Return the group of each class by one more column, numbered without gaps, and the number of groups."""
        longer, ids = np.empty_like(prefix), np.empty(len(prefix), dtype=np.int32)
        kernels.extend_prefix(prefix, codes, radix, longer)
        labels, _ = group_words_by_hash(longer.astype(np.uint64).reshape(-1, 1), self._members, ids)
        return ids.astype(np.int64), len(labels)

    def _count(self, groups: SetGroups, alive: Mask) -> Counts:
        """Return the rows, or people, of each group among the classes that are not dropped."""
        table = np.empty(groups.size, dtype=np.int64)
        keys = (groups.prefix, groups.codes, groups.radix)
        if self._people is None:
            kernels.count_rows(*keys, self._members, alive, table)
        else:
            kernels.count_people(*keys, *self._people, alive, table)
        return table

    @cached_property
    def _columns(self) -> tuple[tuple[Codes, int], ...]:
        """The labels of every column, and the range of their numbers."""
        codes = np.zeros((len(self.classes), 0)) if self.classes.labels is None else self.classes.labels.codes
        sizes = [int(column.max(initial=0)) + 1 for column in codes.T]
        kind = np.uint16 if max(sizes, default=1) <= 1 << 16 else np.int32
        ordered: list[Codes] = [np.ascontiguousarray(column[self._order], dtype=kind) for column in codes.T]
        return tuple(zip(ordered, sizes, strict=True))

    @cached_property
    def _zeros(self) -> Codes:
        kind = self._columns[0][0].dtype if self._columns else np.uint16
        return np.zeros(len(self.classes), dtype=kind)

    @cached_property
    def _room(self) -> int:
        """Return how large an array of counts may be."""
        return max(MAX_ARRAY, MAX_ARRAY_PER_CLASS * len(self.classes))

    @cached_property
    def _members(self) -> Codes:
        """The people of each class, or its rows."""
        return self.classes.members[self._order]

    @cached_property
    def _order(self) -> Codes | slice:
        """The classes ordered by their first person; in their original order where rows are counted."""
        persons = self.classes.histograms.get((PERSON,))
        if persons is None or not len(persons.codes):
            return slice(None)
        first = np.minimum(persons.indptr[:-1], len(persons.codes) - 1)
        return np.argsort(persons.codes[first], kind="stable")

    @cached_property
    def _people(self) -> tuple[Codes, Codes] | None:
        """The people of classes in the order of people, and the class of each entry; None where rows are counted."""
        persons = self.classes.histograms.get((PERSON,))
        if persons is None:
            return None
        order, ranks = np.argsort(persons.codes, kind="stable"), np.empty(len(self.classes), dtype=np.int32)
        ranks[self._order] = np.arange(len(ranks))
        return persons.codes[order].astype(np.int32), ranks[persons.owners()[order]]
