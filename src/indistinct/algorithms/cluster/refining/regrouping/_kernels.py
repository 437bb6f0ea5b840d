"""Compiled regrouping: the members of a few classes are gathered greedily into new ones (after Byun et al. 2007).

A group begins with a member and takes the member that makes it cost least, until it has enough rows; the next group
begins with the member that is farthest from the last one. What is left at the end joins the group it costs least in.
"""

from collections import namedtuple

import numba as nb
import numpy as np

from indistinct.algorithms.cluster.refining._kernels import NONE, SET, charge_of

jit = nb.njit(cache=True, nogil=True)

# At most so many members of so many classes are taken apart at once.
POOL, GROUPS = 96, 8

Pool = namedtuple("Pool", ["units", "group", "low", "high", "distinct", "size", "total"])
"""Members and the group of each (-1 for none); bounds, rows and charge of every group."""


def new_pool(columns: int) -> Pool:
    """Return room for regrouping."""
    bounds = [np.zeros((GROUPS, columns), dtype=np.int64) for _ in range(3)]
    units, group = np.zeros(POOL, dtype=np.int64), np.zeros(POOL, dtype=np.int64)
    return Pool(units, group, *bounds, np.zeros(GROUPS, dtype=np.int64), np.zeros(GROUPS))


@jit
def regroup(units, charges, pool, count, first, smallest, most, budget):
    """Gather the first members of a pool into at most so many groups; return what they cost.

    It is infinity as soon as that is not below `budget`.
    """
    left, taken = 0, 0.0
    for i in range(count):
        pool.group[i] = NONE
        left += units.counts[pool.units[i]]
    seed, groups = first, 0
    while left >= smallest and groups < most:
        _open(units, charges, pool, count, groups, seed)
        left -= units.counts[pool.units[seed]]
        while pool.size[groups] < smallest or (groups == most - 1 and left > 0):
            i, _ = _cheapest(units, charges, pool, count, groups)
            _join(units, charges, pool, count, groups, i)
            left -= units.counts[pool.units[i]]
        taken += pool.size[groups] * pool.total[groups]
        if taken >= budget:
            return np.inf
        seed = _farthest(units, charges, pool, count, groups)
        groups += 1
    for i in range(count):
        if pool.group[i] == NONE:
            taken += _join_best(units, charges, pool, count, groups, i)
    return taken


@jit
def _joined(units, charges, pool, count, g, i):
    """Return what a group would cost a row with a member more."""
    total = 0.0
    u = pool.units[i]
    for j in range(len(charges.kind)):
        rank = units.ranks[u, j]
        if charges.kind[j] == SET:
            total += charge_of(charges, j, 0, 0, pool.distinct[g, j] + _is_new(units, pool, count, g, j, rank))
        elif rank < charges.floor[j]:
            total += charge_of(charges, j, pool.low[g, j], pool.high[g, j], 0)
        else:
            total += charge_of(charges, j, min(pool.low[g, j], rank), max(pool.high[g, j], rank), 0)
    return total


@jit
def _is_new(units, pool, count, g, j, rank):
    for i in range(count):
        if pool.group[i] == g and units.ranks[pool.units[i], j] == rank:
            return 0
    return 1


@jit
def _open(units, charges, pool, count, g, i):
    """Begin a group with a member."""
    pool.size[g], pool.total[g] = 0, 0.0
    for j in range(len(charges.kind)):
        pool.low[g, j], pool.high[g, j], pool.distinct[g, j] = 1 << 30, -1, 0
    _join(units, charges, pool, count, g, i)


@jit
def _join(units, charges, pool, count, g, i):
    """Add a member to a group."""
    u, total = pool.units[i], 0.0
    for j in range(len(charges.kind)):
        rank = units.ranks[u, j]
        if charges.kind[j] == SET:
            pool.distinct[g, j] += _is_new(units, pool, count, g, j, rank)
        elif rank >= charges.floor[j]:
            pool.low[g, j], pool.high[g, j] = min(pool.low[g, j], rank), max(pool.high[g, j], rank)
        total += charge_of(charges, j, pool.low[g, j], pool.high[g, j], pool.distinct[g, j])
    pool.group[i] = g
    pool.size[g] += units.counts[u]
    pool.total[g] = total


@jit
def _cheapest(units, charges, pool, count, g):
    """Return the free member that makes a group cost least, and that cost."""
    best, found = np.inf, NONE
    for i in range(count):
        if pool.group[i] == NONE:
            cost = (pool.size[g] + units.counts[pool.units[i]]) * _joined(units, charges, pool, count, g, i)
            if cost < best:
                best, found = cost, i
    return found, best


@jit
def _farthest(units, charges, pool, count, g):
    """Return the free member that would make a group cost a row most."""
    worst, found = -1.0, NONE
    for i in range(count):
        if pool.group[i] == NONE:
            charge = _joined(units, charges, pool, count, g, i)
            if charge > worst:
                worst, found = charge, i
    return found


@jit
def _join_best(units, charges, pool, count, groups, i):
    """Add a member to the group that then costs least more; return how much."""
    best, found, rows = np.inf, 0, units.counts[pool.units[i]]
    for g in range(groups):
        cost = (pool.size[g] + rows) * _joined(units, charges, pool, count, g, i) - pool.size[g] * pool.total[g]
        if cost < best:
            best, found = cost, g
    _join(units, charges, pool, count, found, i)
    return best
