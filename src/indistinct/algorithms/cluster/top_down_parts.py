"""Specialize parts of a table round by round: every part is divided into the children of its node in one column."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from indistinct.algorithms.cluster import _top_down_kernels as _kernels
from indistinct.algorithms.cluster.tree_space import ClusterSpace
from indistinct.frequencies.pieces import Pieces, join_pieces
from indistinct.machine.arrays import Codes, Mask, starts_of


@dataclass(frozen=True, slots=True, eq=False)
class ClusterParts:
    """Parts of a table: part `i` owns pieces `starts[i]:starts[i + 1]`, in canonical order of their cells.

    The class of a piece is its part. `tried` (parts × columns) marks the columns by which a part was already
    specialized.
    """

    pieces: Pieces
    starts: Codes
    tried: Codes

    def __len__(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def of(cls, pieces: Pieces, tried: Codes) -> "ClusterParts":
        """Return the parts that the classes of pieces define; `tried` has one row for each part."""
        ordered = pieces.take(np.argsort(pieces.class_ids, kind="stable"))
        return cls(ordered, np.searchsorted(ordered.class_ids, np.arange(len(tried) + 1)), tried)

    def where(self, chosen: Mask) -> "ClusterParts":
        """Return the chosen parts."""
        pieces = self.pieces.take(chosen[self.pieces.class_ids])
        renumbered = replace(pieces, class_ids=(np.cumsum(chosen) - 1)[pieces.class_ids])
        return ClusterParts(renumbered, starts_of(np.diff(self.starts)[chosen]), self.tried[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class Children:
    """The children of every part in one column: piece `i` lies in child `groups[i]`.

    Part `p` owns children `bounds[p]:bounds[p + 1]`, in order of their first cells; `values` are their nodes on the
    level below the part's own node. A part without children there is its own only child.
    """

    groups: Codes
    bounds: Codes
    values: Codes
    sizes: Codes


Leave = Callable[[ClusterParts, Children], Codes]
"""A rule for rows that return from children to the remainder of their part: the number of rows of each piece."""


def specialize(space: ClusterSpace, whole: Pieces, leave: Leave, *, least: int, again: bool) -> ClusterParts:
    """Specialize the whole table until no row can go down; with `again`, also the remainders, by the other columns.

    A part is one class or at least two classes of `least` rows, so parts with fewer than twice `least` rows are not
    tried.
    """
    parts, finished = ClusterParts.of(whole, np.zeros((1, len(space.columns)), dtype=bool)), []
    while len(parts):
        rows = np.add.reduceat(parts.pieces.counts, parts.starts[:-1])
        hopeful = (rows >= 2 * least) & (np.diff(parts.starts) > 1)
        finished.append(parts.where(~hopeful))
        parts = parts.where(hopeful)
        if not len(parts):
            break
        best, pieces = _best(space, parts, leave), parts.pieces
        settled = best.column < 0
        finished.append(parts.where(settled))
        open_ = ~settled[pieces.class_ids]
        staying = replace(pieces, counts=best.taken).take(open_ & (best.taken > 0))
        remainder = _renumber_parts(parts, staying, tried=best.column)
        going = replace(pieces, counts=pieces.counts - best.taken, class_ids=best.groups)
        children = _renumber_parts(parts, going.take(open_ & (best.taken < pieces.counts)))
        if again:
            parts = _join_parts([children, remainder])
        else:
            finished.append(remainder)
            parts = children
    return _join_parts(finished)


def specialize_by_size(space: ClusterSpace, *, k: int, again: bool = False) -> ClusterParts:
    """Return the most specialized parts of at least `k` rows, computed from counts alone."""

    def leave(parts: ClusterParts, children: Children) -> Codes:
        rows = np.zeros(len(children.values), dtype=np.int64)
        _kernels.unspecialize(children.bounds, children.values, children.sizes, k, rows)
        return from_the_front(parts.pieces.counts, children.groups, rows)

    cells = np.arange(len(space.cells), dtype=np.int32)
    whole = Pieces(cells, None, space.problem.frequencies.counts, np.zeros_like(cells))
    return specialize(space, whole, leave, least=k, again=again)


@dataclass(frozen=True, slots=True, eq=False)
class _Best:
    """The best column of every part (-1 if there is none); for each piece its child and its rows that leave it."""

    column: Codes
    groups: Codes
    taken: Codes


def _best(space: ClusterSpace, parts: ClusterParts, leave: Leave) -> _Best:
    """Return each part's best column.

    The best has most specialized rows times the column's weight, then fewest children, then comes first.
    """
    pieces, groups_before = parts.pieces, 0
    best = _Best(np.full(len(parts), -1), np.zeros(len(pieces), np.int64), np.zeros(len(pieces), np.int64))
    scores, branches = np.zeros(len(parts)), np.zeros(len(parts), dtype=np.int64)
    for column in range(len(space.columns)):
        children = children_of(space, parts, column)
        taken = leave(parts, children)
        kept, count = _kernels.score(parts.starts, pieces.counts, children.groups, taken, len(children.values))
        open_ = (np.diff(children.bounds) > 1) & ~parts.tried[:, column] & (kept > 0)
        score = kept * float(space.weights[column])
        won = open_ & ((score > scores) | ((score == scores) & (count < branches)))
        scores[won], branches[won], best.column[won] = score[won], count[won], column
        mine = won[pieces.class_ids]
        best.groups[mine], best.taken[mine] = groups_before + children.groups[mine], taken[mine]
        groups_before += len(children.values)
    return best


def children_of(space: ClusterSpace, parts: ClusterParts, column: int) -> Children:
    """Return the children of each part below the lowest node that covers it."""
    quasi, taxonomy = space.columns[column], space.taxonomies[column]
    groups = np.empty(len(parts.pieces), dtype=np.int64)
    pieces = (parts.pieces.cells, parts.pieces.counts, parts.starts)
    codes = space.problem.frequencies.vectors[:, column]
    bounds, values, sizes = _kernels.tally(pieces, codes, quasi.ranks, taxonomy.ancestors, groups)
    return Children(groups, bounds, values, sizes)


def from_the_front(counts: Codes, groups: Codes, wanted: Codes) -> Codes:
    """Return for each piece how many of its rows are among the first `wanted[group]` rows of its group."""
    taken = np.empty(len(counts), dtype=np.int64)
    _kernels.take_first(counts, groups, wanted, taken)
    return taken


def _renumber_parts(parts: ClusterParts, pieces: Pieces, *, tried: Codes | None = None) -> ClusterParts:
    """Return parts renumbered without gaps; `tried` is the column by which each old part was just specialized."""
    distinct, dense = np.unique(pieces.class_ids, return_inverse=True)
    marks = np.zeros((len(distinct), parts.tried.shape[1]), dtype=bool)
    if tried is not None:
        marks = parts.tried[distinct]
        marks[np.arange(len(distinct)), tried[distinct]] = True
    return ClusterParts.of(replace(pieces, class_ids=dense), marks)


def _join_parts(several: list[ClusterParts]) -> ClusterParts:
    """Return all parts of several lists as one list."""
    sizes = np.concatenate([np.diff(parts.starts) for parts in several])
    tried = np.concatenate([parts.tried for parts in several])
    return ClusterParts(join_pieces(parts.pieces for parts in several), starts_of(sizes), tried)
