"""Finish the parts of a search by passes: each is cut in memory, and all are joined to one recoding.

Of every class only its ends are kept, so that in columns with too many values to list the recoding knows just the
values that are an end of some class. Every cut is such an end: the largest value of the class on its left.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from indistinct.algorithms.partition.by_passes import Judge, Top
from indistinct.algorithms.partition.keyed_columns import KeyedColumn, local_layout
from indistinct.algorithms.partition.layout import ranks_of, summarize
from indistinct.algorithms.partition.strict import CutTree, graft_subtrees, partition_strictly
from indistinct.algorithms.within_levels import lift_cuts
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.passes import LAST_KEY, MISSING_KEY, KeySets, KeyTree
from indistinct.frequencies.value import Classes, FrequencySet, Histogram, Key
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes, starts_of
from indistinct.machine.ordering import distinct_with_places
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.recoding.kinds import ByRegion, Cuts
from indistinct.recoding.summary import Style


class PartRows(Protocol):
    """Rows by part, as keys of the quasi-identifiers and codes of the columns that the model looks at."""

    def read(self, part: int) -> Iterator[tuple[Codes, dict[Key, Codes]]]:
        """Yield the rows of a part in batches."""

    def all(self, part: int) -> tuple[Codes, dict[Key, Codes]]:
        """Return the rows of a part."""


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """The extent of classes as rows of `keys`: each class has some rows, the last of them with its largest keys.

    `starts` is where each class begins. A row need not occur in the table, but each of its keys occurs in its class.
    """

    starts: Codes
    keys: Codes

    def owners(self) -> Codes:
        """Return the class of every row."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))


@dataclass(frozen=True, slots=True, eq=False)
class FinishedPart:
    """A part divided into classes: the tree with cuts as keys, the classes, and the extent of each.

    Nodes with one of the `sets` are cut at it.
    """

    axis: Codes
    cut: Codes
    left: Codes
    classes: Classes
    ends: Ends
    sets: KeySets | None = None


def finish_part(
    columns: Sequence[KeyedColumn], keys: Codes, codes: Mapping[Key, Codes], judge: Judge, *, counters: Counter[str]
) -> tuple[FinishedPart, Codes]:
    """Partition the rows of one part and return it with the class of each row.

    `codes` has the values that the model looks at.
    """
    cells = PartCells.of(columns, keys, codes, judge.whole)
    layout, model = local_layout(columns, cells.some), judge.model
    if judge.choice is None:
        partition = partition_strictly(cells.ranks, cells.classes, layout=layout, model=model, counters=counters)
    else:
        quasi = [column.among(own) for column, own in zip(columns, cells.some, strict=True)]
        partition = judge.choice.partition(quasi, layout, cells.ranks, cells.classes, model, counters=counters)
    cuts = partition.cuts
    class_ids = cuts.locate(cells.ranks)
    part = FinishedPart(
        cuts.axis,
        cells.keys_of_cuts(cuts),
        cuts.left,
        cells.classes.regroup(class_ids, cuts.classes),
        ends_of(columns, keys[cells.first], class_ids, cuts.classes, judge),
        sets_of_cuts(cuts),
    )
    return part, class_ids[cells.owners]


def sets_of_cuts(cuts: Cuts) -> KeySets | None:
    """Return the sets at which nodes are cut; their columns know all values, so that ranks are keys."""
    if cuts.members is None:
        return None
    starts, members = cuts.members
    of_node = np.where((cuts.axis >= 0) & (cuts.cut < 0), -1 - cuts.cut.astype(np.int32), np.int32(-1))
    return KeySets(of_node, starts, members.astype(np.uint64))


@dataclass(frozen=True, slots=True, eq=False)
class PartCells:
    """The cells of some rows: ranks among the occurring keys (`some`), each cell's first row, and each row's cell."""

    some: tuple[Codes, ...]
    ranks: Codes
    classes: Classes
    first: Codes
    owners: Codes

    @classmethod
    def of(
        cls,
        columns: Sequence[KeyedColumn],
        keys: Codes,
        codes: Mapping[Key, Codes],
        whole: Classes,
        counts: Codes | None = None,
    ) -> "PartCells":
        """Return the cells of rows; row i counts as `counts[i]` rows if `counts` is given."""
        counts = np.ones(len(keys), dtype=np.int64) if counts is None else counts
        some, ranks = [], []
        for index, column in enumerate(columns):
            every = np.arange(len(column.quasi.domain), dtype=np.uint64)
            own = (every, keys[:, index]) if column.has_domain else distinct_with_places(keys[:, index])
            some.append(own[0])
            ranks.append(own[1].astype(np.uint32))
        grouping = group_rows(ranks, [len(each) for each in some])
        first, owners = grouping.first, grouping.group_ids()
        cells = np.stack([each[first] for each in ranks], axis=1)
        histograms = {
            key: _by_cell(whole.histograms[key], own, counts, owners, len(first)) for key, own in codes.items()
        }
        sizes = np.bincount(owners, weights=counts, minlength=len(first)).astype(np.int64)
        return cls(tuple(some), cells, Classes(sizes, histograms), first, owners)

    def keys_of_cuts(self, cuts: Cuts) -> Codes:
        """Return the key at which every node is cut along its column; 0 where it is cut at a set, and at leaves."""
        keys = np.zeros(len(cuts.axis), dtype=np.uint64)
        for index, values in enumerate(self.some):
            along = (cuts.axis == index) & (cuts.cut >= 0)
            keys[along] = values[cuts.cut[along]]
        return keys


def whole_part(columns: Sequence[KeyedColumn], ends: Sequence[Ends], classes: Classes, judge: Judge) -> FinishedPart:
    """Return a part that is one class, from the ends of batches of its rows."""
    keys = np.concatenate([each.keys for each in ends])
    own = ends_of(columns, keys, np.zeros(len(keys), dtype=np.int32), 1, judge)
    leaf = np.array([-1], dtype=np.int16)
    return FinishedPart(leaf, np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.int32), classes, own)


@dataclass(frozen=True, slots=True, eq=False)
class FinishLeaves:
    """Cut the leaves in a file of rows, in this process or in a worker; those marked in `whole` are one class."""

    numbered: KeyTree
    files: Sequence[Sequence[int]]
    whole: Sequence[bool]
    columns: Sequence[KeyedColumn]
    judge: Judge

    def __call__(self, rows: PartRows, file: int) -> tuple[list[FinishedPart], Counter[str]]:
        """Return the finished leaves of a file from left to right, and the counters of the search."""
        if self.whole[file]:
            return [_one_class(rows, file, self.columns, self.judge)], Counter()
        keys, codes = rows.all(file)
        owners, counters, finished = self.numbered.parts_of(keys), Counter[str](), []
        for leaf in self.files[file]:
            chosen = np.flatnonzero(owners == leaf)
            own = {key: each[chosen] for key, each in codes.items()}
            part, _ = finish_part(self.columns, keys[chosen], own, self.judge, counters=counters)
            finished.append(part)
        return finished, counters


def _one_class(rows: PartRows, file: int, columns: Sequence[KeyedColumn], judge: Judge) -> FinishedPart:
    """Return a part that is one class although it may not fit in memory, from batches of its rows."""
    ends, size = [], 0
    counts = {key: np.zeros(len(whole.reference), dtype=np.int64) for key, whole in judge.whole.histograms.items()}
    for keys, codes in rows.read(file):
        ends.append(ends_of(columns, keys, np.zeros(len(keys), dtype=np.int32), 1, judge))
        size += len(keys)
        for key, own in codes.items():
            counts[key] += np.bincount(own, minlength=len(counts[key]))
    histograms = {}
    for key, own in counts.items():
        codes_of = np.flatnonzero(own)
        indptr = np.array([0, len(codes_of)])
        histograms[key] = replace(
            judge.whole.histograms[key], indptr=indptr, codes=codes_of.astype(np.int32), counts=own[codes_of]
        )
    return whole_part(columns, ends, Classes(np.array([size]), histograms), judge)


def _by_cell(whole: Histogram, codes: Codes, counts: Codes, cells: Codes, size: int) -> Histogram:
    """Return the histogram of values by cell, given the value, weight and cell of every row."""
    one = np.arange(len(codes) + 1, dtype=np.int64)
    rows = replace(whole, indptr=one, codes=codes.astype(np.int32), counts=counts)
    return rows.regroup(cells, size)


def ends_of(columns: Sequence[KeyedColumn], keys: Codes, class_ids: Codes, classes: int, judge: Judge) -> Ends:
    """Return the extent of classes.

    The smallest and largest keys of each, whether some are missing, all keys of a set.
    """
    set_trees = judge.choice is not None and judge.choice.mondrian.trees == "set"
    order = np.argsort(class_ids, kind="stable")
    starts = np.searchsorted(class_ids[order], np.arange(classes))
    lists = []
    for index, column in enumerate(columns):
        own = keys[order, index]
        in_sets = column.in_sets or (set_trees and column.quasi.tree)
        lists.append(_members(own, class_ids[order], classes) if in_sets else _reach(column, own, starts))
    sizes = np.maximum.reduce([np.diff(indptr) for indptr, _ in lists])
    bounds = starts_of(sizes)
    owners = np.repeat(np.arange(classes), sizes)
    within = np.arange(bounds[-1]) - bounds[:-1][owners]
    ends = np.empty((len(owners), len(columns)), dtype=np.uint64)
    for index, (indptr, members) in enumerate(lists):
        last = np.diff(indptr)[owners] - 1
        ends[:, index] = members[indptr[owners] + np.minimum(within, last)]
    return Ends(bounds, ends)


def _reach(column: KeyedColumn, keys: Codes, starts: Codes) -> tuple[Codes, Codes]:
    """Return the smallest and largest key of each class, and first a missing one, as compressed sparse rows."""
    high = np.maximum.reduceat(keys, starts)
    if not column.floored:
        low = np.minimum.reduceat(keys, starts)
        return np.arange(len(starts) + 1) * 2, np.stack([low, high], axis=1).ravel()
    absent = np.logical_or.reduceat(keys == MISSING_KEY, starts)
    low = np.minimum(np.minimum.reduceat(np.where(keys == MISSING_KEY, LAST_KEY, keys), starts), high)
    first = np.where(absent, np.uint64(MISSING_KEY), low)
    return np.arange(len(starts) + 1) * 3, np.stack([first, low, high], axis=1).ravel()


def _members(keys: Codes, class_ids: Codes, classes: int) -> tuple[Codes, Codes]:
    """Return the distinct keys of each class, as compressed sparse rows."""
    size = int(keys.max(initial=0)) + 1
    words = np.unique(class_ids.astype(np.int64) * size + keys.astype(np.int64))
    owners, members = np.divmod(words, size)
    return starts_of(np.bincount(owners, minlength=classes)), members.astype(np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class Assembled:
    """A recoding, its classes as cells of a frequency set, and what rows need to find their class.

    `some` are the keys of each column that the recoding knows, ascending; `cells` is the cell of each leaf of its tree.
    """

    recoding: ByRegion
    frequencies: FrequencySet
    some: tuple[Codes, ...]
    cells: Codes


def assemble_parts(
    top: Top,
    parts: Sequence[FinishedPart],
    columns: Sequence[KeyedColumn],
    *,
    hierarchies: Mapping[str, Hierarchy],
    style: Style,
    behind: Sequence[Codes],
    box: tuple[Codes, Codes] | None = None,
) -> Assembled:
    """Join the parts, in the order of the leaves of the tree above them, to one recoding.

    `behind` has further keys of each column that the recoding must know: those after cuts, at which regions end. `box`
    has the lowest and highest ranks of all parts together, None where they are the whole table.
    """
    owners = np.concatenate([[0], np.cumsum([len(part.classes) for part in parts])])
    keys = np.concatenate([part.ends.keys for part in parts])
    class_ids = np.concatenate([part.ends.owners() + start for part, start in zip(parts, owners[:-1], strict=True)])
    some = [
        np.arange(len(column.quasi.domain), dtype=np.uint64)
        if column.has_domain
        else np.union1d(keys[:, index], behind[index])
        for index, column in enumerate(columns)
    ]
    ranks = np.empty(keys.shape, dtype=np.int32, order="F")
    for index, values in enumerate(some):
        ranks[:, index] = np.searchsorted(values, keys[:, index])
    del keys
    domains = [column.domain_of(values) for column, values in zip(columns, some, strict=True)]
    quasi = [
        column.quasi if column.has_domain else columns_of([domain], hierarchies)[0]
        for column, domain in zip(columns, domains, strict=True)
    ]
    cuts = _cuts(top, parts, some)
    recoded, values = summarize(
        quasi,
        ranks,
        class_ids=class_ids.astype(np.int32),
        counts=np.ones(len(ranks), dtype=np.int64),
        classes=int(owners[-1]),
        style=style,
        regions=cuts.bounds(tuple(map(len, domains)), box) if style.extent == "region" else None,
    )
    last = ranks[np.flatnonzero(np.append(np.diff(class_ids) != 0, True))]
    vectors = np.stack(
        [_codes_of_last(column, own, last[:, j]) for j, (column, own) in enumerate(zip(columns, quasi, strict=True))],
        axis=1,
    ).astype(np.int32)
    recoding = _lift_recoding(ByRegion(recoded, cuts, values), columns)
    order = np.lexsort(vectors.T[::-1])
    cells = np.empty(len(order), dtype=np.int64)
    cells[order] = np.arange(len(order))
    names = tuple(column.name for column in quasi)
    classes = _join_classes([part.classes for part in parts]).take(order)
    frequencies = FrequencySet(names, vectors[order], classes, of_classes=True)
    return Assembled(recoding, frequencies, tuple(some), cells)


def _codes_of_last(column: KeyedColumn, quasi: QuasiColumn, ranks: Codes) -> Codes:
    """Return the codes in the table of the last value of each rank."""
    if column.within is None or not column.within.least:
        return quasi.by_rank[ranks]
    _, last = column.within.ranks()
    return column.within.original.by_rank[last[ranks]]


def _lift_recoding(recoding: ByRegion, columns: Sequence[KeyedColumn]) -> ByRegion:
    """Return a recoding of coarse values, where columns have levels, as one of the table's values."""
    within = {index: column.within for index, column in enumerate(columns) if column.within is not None}
    recoded = tuple(
        within[index].lift(original) if index in within else original for index, original in enumerate(recoding.columns)
    )
    return replace(recoding, columns=recoded, cuts=lift_cuts(recoding.cuts, within))


def cuts_of(top: Top, parts: Sequence[FinishedPart], columns: Sequence[KeyedColumn]) -> list[Codes]:
    """Return the keys at which columns without a known domain are cut, ascending; none for other columns."""
    axis = np.concatenate([np.array(top.tree.axis), *(part.axis for part in parts)])
    cut = np.concatenate([np.array([int(each) for each in top.tree.cut], np.uint64), *(part.cut for part in parts)])
    nothing = np.zeros(0, dtype=np.uint64)
    return [nothing if column.has_domain else np.unique(cut[axis == index]) for index, column in enumerate(columns)]


def require_rooted(columns: Sequence[KeyedColumn]) -> None:
    """Raise `HierarchyError` for a hierarchy without a single root."""
    ranks_of([column.quasi for column in columns], np.zeros((0, len(columns)), dtype=np.int64))


def _cuts(top: Top, parts: Sequence[FinishedPart], some: Sequence[Codes]) -> Cuts:
    """Return the whole tree over ranks, numbered as the search in memory numbers it."""
    axis, cut = np.array(top.tree.axis, dtype=np.int16), np.array([int(each) for each in top.tree.cut], dtype=np.uint64)
    left, leaves = np.array(top.tree.left, dtype=np.int32), top.leaves()
    left[leaves] = np.arange(len(leaves))
    sets = [keys.astype(np.int32) for keys in top.sets.values()]
    by_set = np.zeros(len(axis), dtype=np.int32)
    by_set[list(top.sets)] = -1 - np.arange(len(sets))
    above = CutTree(axis, _ranks_of_cuts(axis, cut, by_set, some), left, np.arange(1, len(leaves) + 1))
    below = {}
    for leaf, part in enumerate(parts):
        numbers = np.zeros(len(part.axis), dtype=np.int32)
        if part.sets is not None:
            numbers = np.where(part.sets.of_node < 0, 0, -1 - len(sets) - part.sets.of_node).astype(np.int32)
            sets += np.split(part.sets.members.astype(np.int32), part.sets.starts[1:-1])
        cuts = _ranks_of_cuts(part.axis, part.cut, numbers, some)
        stops = np.arange(1, len(part.classes) + 1)
        below[leaf] = CutTree(part.axis.astype(np.int16), cuts, part.left.astype(np.int32), stops)
    tree = graft_subtrees(above, below)
    right = np.where(tree.axis < 0, np.int32(-1), tree.left + np.int32(1))
    members = (starts_of([len(each) for each in sets]), np.concatenate(sets)) if sets else None
    return Cuts(tree.axis, tree.cut, tree.left, right, members)


def _ranks_of_cuts(axis: Codes, cut: Codes, sets: Codes, some: Sequence[Codes]) -> Codes:
    """Return cuts as ranks among the known keys; nodes that are cut at sets keep the numbers of the sets."""
    ranks = sets.copy()
    for index, values in enumerate(some):
        along = (axis == index) & (sets == 0)
        ranks[along] = np.searchsorted(values, cut[along])
        if not np.array_equal(values[ranks[along]], cut[along]):
            raise AssertionError("every cut is an end of some class")
    return ranks


def _join_classes(several: Sequence[Classes]) -> Classes:
    """Return the classes of all parts, one part after another."""
    histograms = {}
    for key, first in several[0].histograms.items():
        own = [classes.histograms[key] for classes in several]
        indptr = starts_of(np.concatenate([np.diff(each.indptr) for each in own]))
        codes, counts = (np.concatenate([getattr(each, name) for each in own]) for name in ("codes", "counts"))
        histograms[key] = replace(first, indptr=indptr, codes=codes, counts=counts)
    return Classes(np.concatenate([classes.sizes for classes in several]), histograms)
