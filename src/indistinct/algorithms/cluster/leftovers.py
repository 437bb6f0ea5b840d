"""Merge the cells left over by a roll-up, which satisfy the model at no lift, with the nearest classes."""

from dataclasses import dataclass, replace

import numpy as np

from indistinct.algorithms.cluster.tree_space import ClusterSpace
from indistinct.frequencies.pieces import Pieces
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Codes

# Number of nearest classes that the model judges in one call.
CLASSES_JUDGED_TOGETHER = 32


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """The classes so far: cells, their labels (-1 for leftovers), and each class's tuple and rows."""

    class_ids: Codes
    tuples: Codes
    classes: Classes


def attach(space: ClusterSpace, class_ids: Codes, *, stub: bool, together: bool) -> Pieces:
    """Return the classes after every leftover cell was assigned.

    With `stub` the rows of a cell may be in two classes.

    Each leftover cell joins the nearest class that then satisfies the model. With `together`, or where there is no such
    class, the leftovers join as one cluster, and further classes are merged until the model holds.
    """
    if stub and space.problem.model.traits.sizes_only and (class_ids < 0).any():
        return _attach_stub(space, _classes_of(space, class_ids))
    if not together:
        for cell in np.flatnonzero(class_ids < 0).tolist():
            class_ids = _attach_one(space, _classes_of(space, class_ids), cell)
    while (class_ids < 0).any():
        class_ids = _attach_all(space, _classes_of(space, class_ids))
    return Pieces(np.arange(len(class_ids)), None, space.problem.frequencies.counts, class_ids)


def _classes_of(space: ClusterSpace, class_ids: Codes) -> Settled:
    """Number the classes of cells from 0 without gaps (leftovers stay -1); return them with their tuples and rows."""
    distinct, dense = np.unique(class_ids, return_inverse=True)
    missing = int(distinct[0] < 0)
    dense = dense.astype(np.int64) - missing
    kept, count = np.flatnonzero(dense >= 0), len(distinct) - missing
    tuples = space.tuples_of(kept, class_ids=dense[kept].astype(np.int32), classes=count)
    return Settled(dense, tuples, space.problem.frequencies.classes.regroup(dense.astype(np.int32), count))


def _distances(space: ClusterSpace, settled: Settled, cells: Codes, given: Codes) -> Codes:
    """Return, for each class, the cost of merging the cluster of `cells` with `given` rows of that class."""
    own, rows = space.tuple_of(cells), int(space.problem.frequencies.counts[cells].sum())
    climbed = space.climbed(space.meet(settled.tuples, own[None, :]))
    return np.asarray(rows * (climbed - space.climbed(own)) + given * (climbed - space.climbed(settled.tuples)))


def _attach_one(space: ClusterSpace, settled: Settled, cell: int) -> Codes:
    """Assign a cell to the nearest class that satisfies the model with it; leave it where there is none."""
    nearest = np.argsort(_distances(space, settled, np.array([cell]), settled.classes.sizes), kind="stable")
    cells, model = space.problem.frequencies.classes, space.problem.model
    for start in range(0, len(nearest), CLASSES_JUDGED_TOGETHER):
        asked = nearest[start : start + CLASSES_JUDGED_TOGETHER]
        joined = _join_pairs(settled.classes.take(asked), cells.take(np.full(len(asked), cell)))
        space.problem.counters["checks"] += len(asked)
        good = np.flatnonzero(~model.violations(joined))
        if len(good):
            class_ids = settled.class_ids.copy()
            class_ids[cell] = asked[good[0]]
            return class_ids
    return settled.class_ids


def _join_pairs(first: Classes, second: Classes) -> Classes:
    """Return the unions of `first[i]` and `second[i]` as classes."""
    count = len(first)
    pairs = np.tile(np.arange(count, dtype=np.int32), 2)
    histograms = {}
    for key, one in first.histograms.items():
        other = second.histograms[key]
        both = replace(
            one,
            indptr=np.concatenate([one.indptr, one.indptr[-1] + other.indptr[1:]]),
            codes=np.concatenate([one.codes, other.codes]),
            counts=np.concatenate([one.counts, other.counts]),
        )
        histograms[key] = both.regroup(pairs, count)
    return Classes(first.sizes + second.sizes, histograms)


def _attach_all(space: ClusterSpace, settled: Settled) -> Codes:
    """Merge all leftovers with the nearest class; they remain leftovers if the model does not hold yet."""
    cells = np.flatnonzero(settled.class_ids < 0)
    nearest = int(np.argmin(_distances(space, settled, cells, settled.classes.sizes)))
    joined = np.concatenate([cells, np.flatnonzero(settled.class_ids == nearest)])
    one = space.problem.frequencies.classes.take(joined).regroup(np.zeros(len(joined), dtype=np.int32), 1)
    space.problem.counters["checks"] += 1
    class_ids = settled.class_ids.copy()
    class_ids[joined] = -1 if space.problem.model.violations(one)[0] else nearest
    return class_ids


def _attach_stub(space: ClusterSpace, settled: Settled) -> Pieces:
    """Give the leftovers the rows that they need from the nearest class that can spare them, or a whole class."""
    cells, counts = np.flatnonzero(settled.class_ids < 0), space.problem.frequencies.counts
    own, smallest = int(counts[cells].sum()), space.problem.model.smallest
    lacking = np.where(own + settled.classes.sizes >= 2 * smallest, smallest - own, settled.classes.sizes)
    nearest = int(np.argmin(_distances(space, settled, cells, lacking)))
    donors = np.flatnonzero(settled.class_ids == nearest)
    before = np.cumsum(counts[donors]) - counts[donors]
    taken = np.clip(int(lacking[nearest]) - before, 0, counts[donors])
    fresh = int(settled.class_ids.max()) + 1
    staying = counts.copy()
    staying[donors] -= taken
    class_ids = np.where(settled.class_ids < 0, fresh, settled.class_ids)
    cells = np.concatenate([np.arange(len(class_ids)), donors])
    owners = np.concatenate([class_ids, np.full(len(donors), fresh)])
    rows = np.concatenate([staying, taken])
    return Pieces(cells, None, rows, owners).take(rows > 0)
