"""Numba sweep over pairs of classes: the members of both are divided again, along the column where that costs least.

This reaches in one step what moves and swaps of single members cannot, because each intermediate step costs more.
Units, charges, state and sweep are those of `_refine_kernels.py` and `_refine_sweep_kernels.py`, and so are the tests.
"""

import numpy as np

from indistinct.algorithms.cluster._refine_kernels import NONE, SET, charge_of, inner, jit, relabel, summarize_class
from indistinct.algorithms.cluster._refine_sweep_kernels import (
    FIRST,
    MANY,
    REDIVIDED,
    _candidate,
    _closed,
    _note,
    improve,
    split_classes,
)

SPLIT, IMPROVE, REDIVIDE = range(3)


@jit
def run_sweep(units, charges, state, sweep, kind, start, stop):
    """Run one kind of sweep over a range of the order; one entry point avoids compiling the shared code three times."""
    if kind == SPLIT:
        split_classes(units, charges, state, sweep, start, stop)
    elif kind == IMPROVE:
        improve(units, charges, state, sweep, start, stop)
    else:
        redivide_classes(units, charges, state, sweep, start, stop)


@inner
def redivide_classes(units, charges, state, sweep, start, stop):
    """Redistribute the members of every class in a range and of one near it, where that lowers the cost."""
    columns = len(charges.kind)
    members, costs, masks = sweep.lists[0], sweep.costs[0], sweep.masks
    low, high, distinct = sweep.bounds[0, 0], sweep.bounds[1, 0], sweep.bounds[2, 0]
    for a in range(start, stop):
        if state.members[a] == 0 or state.head[a] == NONE or _closed(sweep, a) or state.members[a] >= MANY:
            continue
        u = state.head[a]
        if sweep.rest[u] > sweep.turn:
            continue
        best, partner, column, cut, p = sweep.least, NONE, NONE, NONE, sweep.place[u]
        sweep.tally[0] += 1
        sweep.seen[a] = sweep.tally[0]
        for reach in range(1, sweep.window + 1):
            for side in range(2):
                b = _candidate(state, sweep, p, reach if side else -reach)
                if b == NONE or state.members[a] + state.members[b] > MANY:
                    continue
                if state.total[a] <= 0 and state.total[b] <= 0:
                    continue
                for j in range(columns):
                    if state.low[a, j] == state.high[a, j] == state.low[b, j] == state.high[b, j]:
                        continue
                    count = _ranked(units, state, a, b, j, members)
                    gain, at = _divided(
                        units,
                        charges,
                        state,
                        a,
                        b,
                        members,
                        count,
                        sweep.smallest,
                        best,
                        costs,
                        low,
                        high,
                        distinct,
                        masks,
                    )
                    if gain > best:
                        best, partner, column, cut = gain, b, j, at
        if partner != NONE:
            count = _ranked(units, state, a, partner, column, members)
            _apply(units, charges, state, sweep, a, partner, members, count, cut)


@inner
def _ranked(units, state, a, b, j, members):
    """List the members of two classes by their values of a column and return how many there are; ties by number."""
    count = FIRST
    for c in (a, b):
        u = state.head[c]
        while u != NONE:
            rank, i = units.ranks[u, j], count
            # Insertion sort: `members[:count]` ascend by value and, among equals, by number.
            while i > 0:
                other = units.ranks[members[i - 1], j]
                if other < rank or (other == rank and members[i - 1] < u):
                    break
                members[i] = members[i - 1]
                i -= 1
            members[i] = u
            count += 1
            u = state.after[u]
    return count


@inner
def _divided(units, charges, state, a, b, members, count, smallest, least, costs, low, high, distinct, masks):
    """Return the best gain of cutting this list and the members before the cut; (0, -1) if not above `least`."""
    columns, whole = len(charges.kind), state.size[a] * state.total[a] + state.size[b] * state.total[b]
    all_rows = state.size[a] + state.size[b]
    best, cut, count_left = least, NONE, 0
    for backward in range(2):
        rows = 0
        for j in range(columns):
            low[j], high[j], distinct[j], masks[j] = 1 << 30, -1, 0, np.uint64(0)
        # `low`, `high`, `distinct` and `masks` describe the members before i, counted from the front or from the back.
        for i in range(count):
            position = count - 1 - i if backward else i
            u = members[position]
            rows += units.counts[u]
            total = 0.0
            for j in range(columns):
                rank = units.ranks[u, j]
                if charges.kind[j] == SET:
                    if charges.narrow[j]:
                        bit = np.uint64(1) << np.uint64(rank)
                        distinct[j] += masks[j] & bit == 0
                        masks[j] |= bit
                    else:
                        q = position + 1 if backward else 0
                        end = count if backward else position
                        while q < end and units.ranks[members[q], j] != rank:
                            q += 1
                        distinct[j] += q == end
                elif rank >= charges.floor[j]:
                    low[j], high[j] = min(low[j], rank), max(high[j], rank)
                total += charge_of(charges, j, low[j], high[j], distinct[j])
            if not backward:
                costs[i] = rows * total
                if costs[i] >= whole - best:  # further members only add cost
                    count_left = i
                    break
                count_left = i + 1
            elif position > 0 and position <= count_left and rows >= smallest and all_rows - rows >= smallest:
                gain = whole - costs[position - 1] - rows * total
                if gain > best:
                    best, cut = gain, position
            if backward and rows * total >= whole - best:
                break
    return (best, cut) if cut != NONE else (0.0, NONE)


@inner
def _apply(units, charges, state, sweep, a, b, members, count, cut):
    """Assign the members before the cut to one class and the rest to the other, each keeping some of its own."""
    mine, theirs = False, False
    for i in range(count):
        mine |= i < cut and state.class_id[members[i]] == a
        theirs |= i >= cut and state.class_id[members[i]] == b
    first, second = (a, b) if mine and theirs else (b, a)
    moved = FIRST
    for i in range(count):
        u, target = members[i], first if i < cut else second
        source = state.class_id[u]
        if source != target:
            relabel(state, u, target)
            _note(sweep, u, source, moved)
            moved += 1
    summarize_class(units, charges, state, a)
    summarize_class(units, charges, state, b)
    sweep.locked[a] = sweep.locked[b] = sweep.turn
    sweep.tally[REDIVIDED] += 1
