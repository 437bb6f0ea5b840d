"""Specializing parts of a table round by round: every part is split into the children of its node in one column."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from indistinct.algorithms.cluster import _top_down_kernels as _kernels
from indistinct.algorithms.cluster.tree_space import ClusterSpace
from indistinct.arrays import Codes


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Parts of a table: part `i` owns pieces `starts[i]:starts[i + 1]`, in canonical order of their cells.

    Piece `i` is `counts[i]` rows of cell `cells[i]`, and `joint[i]` their sensitive values where the model looks at
    these. `tried` has the columns that a part was already specialized by.
    """

    cells: Codes
    joint: Codes | None
    counts: Codes
    starts: Codes
    tried: Codes

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def class_ids(self) -> Codes:
        """Return the part of every piece."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.starts))

    def where(self, chosen: Codes) -> "Parts":
        """Return some of the parts."""
        pieces = chosen[self.class_ids]
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[chosen])]).astype(np.int64)
        joint = None if self.joint is None else self.joint[pieces]
        return Parts(self.cells[pieces], joint, self.counts[pieces], starts, self.tried[chosen])

    def grouped(self, pieces: Codes, counts: Codes, *, class_ids: Codes, tried: Codes) -> "Parts":
        """Return other parts of some pieces, with so many of their rows; every label has pieces."""
        order = np.argsort(class_ids, kind="stable")
        chosen = pieces[order]
        starts = np.searchsorted(class_ids[order], np.arange(len(tried) + 1))
        joint = None if self.joint is None else self.joint[chosen]
        return Parts(self.cells[chosen], joint, counts[order], starts, tried)


@dataclass(frozen=True, slots=True, eq=False)
class Children:
    """The children of every part in one column: piece `i` lies in child `groups[i]`.

    Part `p` owns children `bounds[p]:bounds[p + 1]`, in order of their first cells; `values` are their nodes on the
    level below the part's own node. A part that has no children there is its own only child.
    """

    groups: Codes
    bounds: Codes
    values: Codes
    sizes: Codes

    @property
    def owners(self) -> Codes:
        """Return the part of every child."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))


Leave = Callable[[Parts, Children], Codes]
"""How rows fall back from children into the remainder of their part: so many rows of each piece."""


def specialize(space: ClusterSpace, parts: Parts, leave: Leave, *, least: int, again: bool) -> Parts:
    """Specialize parts as long as rows can go down; with `again` also what is left over, by the other columns.

    A part is one class or at least two of `least` rows each, so nothing is tried on one with fewer rows than that.
    """
    finished = []
    while len(parts):
        rows = np.add.reduceat(parts.counts, parts.starts[:-1])
        hopeful = (rows >= 2 * least) & (np.diff(parts.starts) > 1)
        finished.append(parts.where(~hopeful))
        parts = parts.where(hopeful)
        if not len(parts):
            break
        best, class_ids = _best(space, parts, leave), parts.class_ids
        settled = best.column < 0
        finished.append(parts.where(settled))
        left = np.flatnonzero(~settled[class_ids] & (best.taken > 0))
        remainder = _renumbered(parts, left, best.taken[left], class_ids[left], tried=best.column)
        down = np.flatnonzero(~settled[class_ids] & (best.taken < parts.counts))
        children = _renumbered(parts, down, (parts.counts - best.taken)[down], best.groups[down], tried=None)
        if again:
            parts = _joined([children, remainder])
        else:
            finished.append(remainder)
            parts = children
    return _joined(finished)


@dataclass(frozen=True, slots=True, eq=False)
class _Best:
    """The best column of every part, negative where there is none; for each piece its child and the rows that stay."""

    column: Codes
    groups: Codes
    taken: Codes


def _best(space: ClusterSpace, parts: Parts, leave: Leave) -> _Best:
    """Score the columns: most rows specialized, then fewest children, then the first."""
    best = _Best(np.full(len(parts), -1), np.zeros(len(parts.cells), np.int64), np.zeros(len(parts.cells), np.int64))
    rows, branches = np.zeros(len(parts), dtype=np.int64), np.zeros(len(parts), dtype=np.int64)
    class_ids, groups_before = parts.class_ids, 0
    for column in range(len(space.columns)):
        children = children_of(space, parts, column)
        taken = leave(parts, children)
        kept, count = _kernels.score(parts.starts, parts.counts, children.groups, taken, len(children.values))
        open_ = (np.diff(children.bounds) > 1) & ~parts.tried[:, column] & (kept > 0)
        won = open_ & ((kept > rows) | ((kept == rows) & (count < branches)))
        rows[won], branches[won], best.column[won] = kept[won], count[won], column
        mine = won[class_ids]
        best.groups[mine], best.taken[mine] = groups_before + children.groups[mine], taken[mine]
        groups_before += len(children.values)
    return best


def children_of(space: ClusterSpace, parts: Parts, column: int) -> Children:
    """Return the children of each part below the lowest node that covers it."""
    quasi, taxonomy = space.columns[column], space.taxonomies[column]
    groups = np.empty(len(parts.cells), dtype=np.int64)
    pieces = (parts.cells, parts.counts, parts.starts)
    codes = space.problem.frequencies.vectors[:, column]
    bounds, found, sizes = _kernels.tally(pieces, codes, quasi.ranks, taxonomy.ancestors, groups)
    return Children(groups, bounds, found, sizes)


def from_the_front(counts: Codes, groups: Codes, wanted: Codes) -> Codes:
    """Return how many rows of each piece make up the first `wanted[group]` rows of its group."""
    taken = np.empty(len(counts), dtype=np.int64)
    _kernels.take_first(counts, groups, wanted, taken)
    return taken


def _renumbered(parts: Parts, pieces: Codes, counts: Codes, class_ids: Codes, *, tried: Codes | None = None) -> Parts:
    """Return parts of some pieces under labels with gaps; `tried` is the column that each old part has now tried."""
    distinct, dense = np.unique(class_ids, return_inverse=True)
    marks = np.zeros((len(distinct), parts.tried.shape[1]), dtype=bool)
    if tried is not None:
        marks = parts.tried[distinct]
        marks[np.arange(len(distinct)), tried[distinct]] = True
    return parts.grouped(pieces, counts, class_ids=dense, tried=marks)


def _joined(several: list[Parts]) -> Parts:
    """Return all parts of several lists as one list."""
    cells, counts = (np.concatenate([getattr(p, name) for p in several]) for name in ("cells", "counts"))
    joint = [p.joint for p in several if p.joint is not None]
    sizes = np.concatenate([np.diff(p.starts) for p in several])
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Parts(
        cells, np.concatenate(joint) if joint else None, counts, starts, np.concatenate([p.tried for p in several])
    )
