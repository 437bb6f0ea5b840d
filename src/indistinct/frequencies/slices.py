"""Slices of published values: how often each combination of columns that stay together occurs.

Slices may share attributes. Then they are joined on them, one slice after the other, as a tree: what a slice has in
common with all slices before it, one of these has. A release shows rows that agree with every slice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from indistinct.errors import InputError
from indistinct.frequencies.encode import BITS_PER_WORD, group_rows, pack
from indistinct.machine.arrays import Codes, Mask, run_entries

KNOWN = ""
"""The column of a slice that joins several known columns into one code."""


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """Columns whose values stay together: unit `units[i]` has the values `codes[name][i]` in `counts[i]` rows.

    Inside a unit nothing links the entries of one slice to those of another. In a release in buckets the units are the
    buckets. A release in classes is one slice, in which each entry is a unit.
    """

    units: Codes
    codes: Mapping[str, Codes]
    counts: Codes

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns."""
        return tuple(self.codes)

    def without(self, names: Sequence[str]) -> "Slice":
        """Return the slice without some columns."""
        return Slice(self.units, {name: own for name, own in self.codes.items() if name not in names}, self.counts)

    def known_by(self, known: Codes, columns: Sequence[str] = ()) -> "Slice":
        """Return the slice with one code for all known columns, and some of its columns."""
        return Slice(self.units, {KNOWN: known, **{name: self.codes[name] for name in columns}}, self.counts)


@dataclass(frozen=True, slots=True)
class Join:
    """Slice `index` is joined to slice `parent` on the attributes `shared`; the first slice has itself as parent."""

    index: int
    parent: int
    shared: tuple[str, ...]


def join_tree(slices: Sequence[Sequence[str]], root: int = 0) -> tuple[Join, ...] | None:
    """Return an order of slices in which each is joined to one before it, from `root` on; None if there is none.

    A slice shares with all slices before it what it shares with its parent. Slices that share nothing are joined on no
    attribute. It is a spanning tree of the largest weight, which finds such an order if there is one (Maier 1983).

    >>> [(join.index, join.parent, join.shared) for join in join_tree([("a", "b"), ("c", "s"), ("b", "c")]) or ()]
    [(0, 0, ()), (2, 0, ('b',)), (1, 2, ('c',))]
    >>> join_tree([("a", "b"), ("b", "c"), ("c", "a")]) is None
    True
    """
    joins, before = [Join(root, root, ())], set(slices[root])
    left = [index for index in range(len(slices)) if index != root]
    if not share_attributes(slices):
        return (*joins, *(Join(index, root, ()) for index in left))
    while left:
        pairs = [(index, join.index) for index in left for join in joins]
        index, parent = max(pairs, key=lambda pair: len(set(slices[pair[0]]) & set(slices[pair[1]])))
        shared = tuple(name for name in slices[index] if name in before)
        if not set(shared) <= set(slices[parent]):
            return None
        joins.append(Join(index, parent, shared))
        before |= set(slices[index])
        left.remove(index)
    return tuple(joins)


def joins_of(slices: Sequence[Sequence[str]], root: int = 0) -> tuple[Join, ...]:
    """Return the joins of slices that were checked to form a tree."""
    joins = join_tree(slices, root)
    if joins is None:
        raise AssertionError("slices that share attributes were checked to form a tree")
    return joins


def joined_components(slices: Sequence[Sequence[str]], root: int = 0) -> tuple[tuple[Join, ...], ...]:
    """Return the joins of slices that share attributes, directly or by others, in groups that share none.

    >>> [[join.index for join in group] for group in joined_components([("a", "b"), ("s",), ("b", "c")])]
    [[0, 2], [1]]
    """
    groups: dict[int, list[Join]] = {}
    group_of: dict[int, int] = {}
    for join in joins_of(slices, root):
        group_of[join.index] = group_of[join.parent] if join.shared else join.index
        groups.setdefault(group_of[join.index], []).append(join)
    return tuple(map(tuple, groups.values()))


def join_slices(slices: Sequence[Slice], *, most: int) -> tuple[Slice, ...]:
    """Return slices that share no attribute: those that do are put together in every way in which entries agree.

    `counts` of a slice that was put together are 1. Raises `InputError` above `most` entries.
    """
    joined = []
    for group in joined_components([each.names for each in slices]):
        whole = slices[group[0].index]
        for join in group[1:]:
            whole = _join(whole, slices[join.index], join.shared, most=most)
        joined.append(whole)
    return tuple(joined)


def _join(one: Slice, other: Slice, shared: Sequence[str], *, most: int) -> Slice:
    """Join two slices by bucket and shared attributes; raise beyond `most` entries."""
    mine, theirs = together(*([each.units, *(each.codes[n] for n in shared)] for each in (one, other)), rows=0)
    assert theirs is not None  # noqa: S101  (both sides are given)
    order = np.argsort(theirs, kind="stable")
    starts = np.searchsorted(theirs[order], mine)
    lengths = np.searchsorted(theirs[order], mine, side="right") - starts
    if lengths.sum() > most:
        raise InputError(
            f"columns that share {', '.join(map(repr, shared))} can be joined in {int(lengths.sum()):,} ways",
            hint="allow more memory, use smaller buckets, or let columns share attributes with more values",
        )
    first, second = np.repeat(np.arange(len(mine)), lengths), order[run_entries(starts, lengths)]
    codes = {name: own[second] for name, own in other.codes.items() if name not in shared}
    codes = {name: own[first] for name, own in one.codes.items()} | codes
    return Slice(one.units[first], codes, np.ones(len(first), dtype=np.int64))


def share_attributes(slices: Sequence[Sequence[str]]) -> bool:
    """Return whether an attribute is in several slices."""
    return len({name for names in slices for name in names}) < sum(map(len, slices))


def sharing_problem(slices: Sequence[Sequence[str]], sensitive: Sequence[str]) -> str | None:
    """Return why slices may not share attributes as they do; None if they may.

    A sensitive attribute in two slices can be learned for certain although each slice alone is diverse. Slices that
    form a circle have no rows that can be drawn fairly.
    """
    listed = [name for names in slices for name in names]
    repeated = [name for name in sensitive if listed.count(name) > 1]
    if repeated:
        return f"a sensitive attribute is in one column; repeated: {', '.join(map(repr, repeated))}"
    if any(len(set(names)) < len(names) for names in slices):
        return "a column names each of its attributes once"
    if not share_attributes(slices):
        return None
    if any(set(one) <= set(other) for one, other in permutations(slices, 2)):
        return "all attributes of a column are in another column, so that it shows nothing more"
    return None if join_tree(slices) else "columns that share attributes form a tree, and these form a circle"


def align(codes: Codes, own: Codes) -> Codes:
    """Return the order in which `own` codes equal the codes `codes`; equal codes keep their own order.

    >>> align(np.array([2, 1, 2]), np.array([1, 2, 2])).tolist()
    [1, 0, 2]
    """
    positions, order = np.argsort(codes, kind="stable"), np.empty(len(own), dtype=np.int64)
    order[positions] = np.argsort(own, kind="stable")
    return order


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """What links people to sensitive values: the slices of a release and, if available, the original's tuples.

    `sizes` are the rows of each bucket. `tuples` has the distinct vectors of the original's attributes that are not
    sensitive, in the codes of the release (-1 for a value that it does not show), and `weights` how often each occurs;
    None where the original is missing or cannot be compared. With `public`, the release itself shows the tuples.
    """

    slices: tuple[Slice, ...]
    sizes: Codes
    sensitive: tuple[str, ...]
    tuples: Mapping[str, Codes] | None = None
    weights: Codes | None = None
    public: bool = False

    def home(self, name: str) -> int:
        """Return the slice that contains a sensitive attribute."""
        return next(index for index, each in enumerate(self.slices) if name in each.names)

    @property
    def joins(self) -> tuple[Join, ...]:
        """Return how slices are joined on the attributes that they share."""
        return joins_of([each.names for each in self.slices])

    def codes_without_sensitive(self, index: int) -> tuple[Codes, Codes | None]:
        """Return the non-sensitive attributes of a slice as one code, for each entry and for each original tuple."""
        return self.codes_of(index, [name for name in self.slices[index].names if name not in self.sensitive])

    def codes_of(self, index: int, names: Sequence[str]) -> tuple[Codes, Codes | None]:
        """Return some attributes of a slice as one code, for each entry and for each original tuple."""
        each = self.slices[index]
        theirs = None if self.tuples is None else [self.tuples[name] for name in names]
        return together([each.codes[name] for name in names], theirs, rows=len(each.units))


def together(mine: Sequence[Codes], theirs: Sequence[Codes] | None, *, rows: int) -> tuple[Codes, Codes | None]:
    """Return vectors as one dense code each, the same code for equal vectors on both sides.

    A vector of `theirs` with a negative code matches none and gets -1. Without columns all vectors are equal.
    """
    if not mine:
        return np.zeros(rows, dtype=np.int64), None if theirs is None else np.zeros(0, dtype=np.int64)
    others = [np.zeros(0, dtype=np.int64)] * len(mine) if theirs is None else theirs
    columns = [np.concatenate([one, np.maximum(other, 0)]) for one, other in zip(mine, others, strict=True)]
    ids = group_rows(columns, [int(column.max(initial=0)) + 1 for column in columns]).group_ids()
    if theirs is None:
        return ids, None
    lost = np.logical_or.reduce([other < 0 for other in theirs])
    return ids[: len(mine[0])], np.where(lost, -1, ids[len(mine[0]) :])


def find_contained(mine: Sequence[Codes], theirs: Sequence[Codes]) -> Mask:
    """Return which vectors of `mine` are among those of `theirs`, where vectors with negative codes match none."""
    kept = np.logical_and.reduce([other >= 0 for other in theirs])
    others = [other[kept] for other in theirs]
    sizes = [int(max(one.max(initial=0), other.max(initial=0))) + 1 for one, other in zip(mine, others, strict=True)]
    if sum((size - 1).bit_length() for size in sizes) > BITS_PER_WORD:
        codes, others_codes = together(mine, others, rows=0)
        return np.isin(codes, np.zeros(0) if others_codes is None else others_codes)
    words, known = pack(mine, sizes)[0], np.sort(pack(others, sizes)[0])
    if not len(known):
        return np.zeros(len(words), dtype=bool)
    return known[np.searchsorted(known, words).clip(max=len(known) - 1)] == words
