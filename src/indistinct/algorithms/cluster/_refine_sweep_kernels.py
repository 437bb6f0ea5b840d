"""Numba sweeps of local search.

Moves, swaps, dissolved and split classes, each applied at once if it lowers the cost.

Candidate classes are those of the units nearby in an order of all units. Classes keep at least `smallest` rows. Where a
model looks at more than sizes, sweeps are *guarded*: no class changes twice in a sweep, and `log` records each change
(transaction, unit, class it came from), so that changes that the model refuses can be undone.

Units, charges and state are those of `_refine_kernels.py`. After every change the summaries of the affected classes are
recomputed, so that between two candidates `state` agrees with the labels;
`tests/laws/test_refine.py::test_what_is_known_of_classes_stays_true` checks that in plain Python.
"""

from collections import namedtuple

import numpy as np

from indistinct.algorithms.cluster._refine_kernels import (
    NONE,
    SET,
    bounds_without,
    charge_between,
    charge_swapped,
    charge_with,
    inner,
    jit,
    move,
    relabel,
    summarize_class,
)
from indistinct.algorithms.partition._cut_order_kernels import sort_keys

# Classes with more units are not searched for swap partners.
MANY = 64

Sweep = namedtuple(
    "Sweep",
    [
        "order",
        "place",
        "window",
        "smallest",
        "least",
        "guarded",
        "turn",
        "seen",
        "locked",
        "rest",
        "log",
        "tally",
        "lists",
        "costs",
        "bounds",
        "masks",
    ],
)
"""One sweep: the order and each unit's position in it, the search distance, the smallest class and gain, the turn."""

MARK, TRANSACTIONS, LINES, MOVES, SWAPS, DISSOLVED, SPLITS, REDIVIDED = range(8)
FIRST = np.int64(0)


@inner
def improve(units, charges, state, sweep, start, stop):
    """Try to move or swap every unit in a range of the order, or to dissolve its class."""
    low, high, distinct = sweep.bounds[0], sweep.bounds[1], sweep.bounds[2]
    for p in range(start, stop):
        u = sweep.order[p]
        c = state.class_id[u]
        if _closed(sweep, c) or sweep.rest[u] > sweep.turn or state.members[c] < 2 or state.total[c] <= 0:
            continue
        bounds_without(units, charges, state, c, u, low[0], high[0], distinct[0])
        left, charge = state.size[c] - units.counts[u], charge_between(charges, low[0], high[0], distinct[0])
        if left >= sweep.smallest:
            gain = state.size[c] * state.total[c] - left * charge
            if _try_move(units, charges, state, sweep, u, gain):
                continue
        # A swap is tried only for a unit that widens its class.
        if charge < state.total[c] and _try_swap(units, charges, state, sweep, u, low, high, distinct):
            continue
        if state.head[c] == u:
            _try_dissolve(units, charges, state, sweep, c)


@inner
def _closed(sweep, c):
    """Return whether a class must not change any more in this round."""
    return sweep.guarded and sweep.locked[c] == sweep.turn


@inner
def _note(sweep, u, source, number):
    """Add one moved unit to the log; number 0 begins a transaction."""
    if number == 0:
        sweep.tally[TRANSACTIONS] += 1
    if sweep.guarded:
        line = sweep.tally[LINES]
        sweep.log[line, 0], sweep.log[line, 1], sweep.log[line, 2] = sweep.tally[TRANSACTIONS], u, source
        sweep.tally[LINES] += 1


@inner
def _candidate(state, sweep, p, step):
    """Return the class at position `p + step` of the order, or -1 if it is locked or was seen since the last mark."""
    q = p + step
    if q < 0 or q >= len(sweep.order):
        return NONE
    c = state.class_id[sweep.order[q]]
    if sweep.seen[c] == sweep.tally[MARK] or _closed(sweep, c):
        return NONE
    sweep.seen[c] = sweep.tally[MARK]
    return c


@inner
def _nearest(units, charges, state, sweep, u, limit):
    """Return the class that a unit joins at the least cost below `limit`, and that cost."""
    best, rows, p = NONE, units.counts[u], sweep.place[u]
    sweep.tally[MARK] += 1
    sweep.seen[state.class_id[u]] = sweep.tally[MARK]
    # Invariant: `best` is the cheapest class seen so far, and `limit` its cost.
    for reach in range(1, sweep.window + 1):
        for side in range(2):
            c = _candidate(state, sweep, p, reach if side else -reach)
            if c == NONE or state.total[c] * rows >= limit:
                continue
            before, size = state.size[c] * state.total[c], state.size[c] + rows
            charge = charge_with(units, charges, state, c, u, (limit + before) / size)
            if charge * size - before < limit:
                best, limit = c, charge * size - before
    return best, limit


@inner
def _try_move(units, charges, state, sweep, u, gain):
    """Move a unit to another class if joining it costs less than leaving gains."""
    if gain <= sweep.least:
        return False
    source = state.class_id[u]
    target, _ = _nearest(units, charges, state, sweep, u, gain - sweep.least)
    if target == NONE:
        return False
    move(units, charges, state, u, target)
    sweep.locked[source] = sweep.locked[target] = sweep.turn
    _note(sweep, u, source, FIRST)
    sweep.tally[MOVES] += 1
    return True


@inner
def _try_swap(units, charges, state, sweep, u, low, high, distinct):
    """Swap a unit with the unit of a nearby class that lowers the cost of both classes most."""
    a, p, best, partner = state.class_id[u], sweep.place[u], sweep.least, NONE
    sweep.tally[MARK] += 1
    sweep.seen[a] = sweep.tally[MARK]
    for reach in range(1, sweep.window + 1):
        for side in range(2):
            b = _candidate(state, sweep, p, reach if side else -reach)
            if b == NONE or state.members[b] > MANY:
                continue
            v = state.head[b]
            while v != NONE:
                gain = _swap_gain(units, charges, state, sweep, u, v, best, low, high, distinct)
                if gain > best:
                    best, partner = gain, v
                v = state.after[v]
    if partner == NONE:
        return False
    b = state.class_id[partner]
    relabel(state, u, b)
    relabel(state, partner, a)
    summarize_class(units, charges, state, a)
    summarize_class(units, charges, state, b)
    sweep.locked[a] = sweep.locked[b] = sweep.turn
    _note(sweep, u, a, FIRST)
    _note(sweep, partner, b, FIRST + 1)
    sweep.tally[SWAPS] += 1
    return True


@inner
def _swap_gain(units, charges, state, sweep, u, v, least, low, high, distinct):
    """Return the gain of swapping two units; 0 if it is not above `least` or makes a class too small."""
    a, b = state.class_id[u], state.class_id[v]
    size_a = state.size[a] - units.counts[u] + units.counts[v]
    size_b = state.size[b] - units.counts[v] + units.counts[u]
    if size_a < sweep.smallest or size_b < sweep.smallest:
        return 0.0
    budget = state.size[a] * state.total[a] + state.size[b] * state.total[b] - least
    cost = size_a * charge_swapped(units, charges, state, a, low[0], high[0], distinct[0], u, v, budget / size_a)
    if cost >= budget:
        return 0.0
    bounds_without(units, charges, state, b, v, low[1], high[1], distinct[1])
    limit = (budget - cost) / size_b
    cost += size_b * charge_swapped(units, charges, state, b, low[1], high[1], distinct[1], v, u, limit)
    return budget + least - cost if cost < budget else 0.0


@inner
def _try_dissolve(units, charges, state, sweep, a):
    """Move every unit of a class to other classes if that costs less than the class; otherwise undo it."""
    count, left = state.members[a], state.size[a] * state.total[a]
    moved, first = sweep.lists[0], sweep.tally[LINES]
    u = state.head[a]
    for i in range(count):
        moved[i] = u
        u = state.after[u]
    done = FIRST
    # Invariant: `left` is the cost of the class minus the cost that its first `done` units add where they went.
    while done < count:
        target, cost = _nearest(units, charges, state, sweep, moved[done], left - sweep.least)
        if target == NONE:
            break
        left -= cost
        relabel(state, moved[done], target)
        summarize_class(units, charges, state, target)
        _note(sweep, moved[done], a, done)
        done += 1
    if done < count:
        sweep.tally[LINES] = first
        sweep.tally[TRANSACTIONS] -= done > 0
        for i in range(done):
            target = state.class_id[moved[i]]
            relabel(state, moved[i], a)
            summarize_class(units, charges, state, target)
        return
    summarize_class(units, charges, state, a)
    sweep.locked[a] = sweep.turn
    for i in range(count):
        sweep.locked[state.class_id[moved[i]]] = sweep.turn
    sweep.tally[DISSOLVED] += 1


@inner
def split_classes(units, charges, state, sweep, start, stop):
    """Split every class in a range that costs less in two parts, along the column where that gains most."""
    for c in range(start, stop):
        count = state.members[c]
        if count < 2 or state.size[c] < 2 * sweep.smallest or _closed(sweep, c) or state.total[c] <= 0:
            continue
        if sweep.rest[state.head[c]] > sweep.turn:
            continue
        members, ranked = sweep.lists[0], sweep.lists[1]
        u = state.head[c]
        for i in range(count):
            members[i] = u
            u = state.after[u]
        best, cut, column = sweep.least, NONE, NONE
        for j in range(len(charges.kind)):
            _rank(units, members, count, j, ranked)
            gain, at = _best_cut(units, charges, state, sweep, c, ranked, count)
            if gain > best:
                best, cut, column = gain, at, np.int64(j)
        if cut != NONE:
            _rank(units, members, count, column, ranked)
            _cut_off(units, charges, state, sweep, c, ranked, cut)


@inner
def _rank(units, members, count, j, ranked):
    """List members by their values of a column; ties keep their order."""
    for i in range(count):
        ranked[i] = np.int64(units.ranks[members[i], j]) * count + i
    sort_keys(ranked, count)
    for i in range(count):
        ranked[i] = members[ranked[i] % count]


@inner
def _cut_off(units, charges, state, sweep, c, side, count):
    """Move the first units of a list to a new class."""
    new = state.free[state.free[0]]
    state.free[0] -= 1
    for i in range(count):
        relabel(state, side[i], new)
        _note(sweep, side[i], c, i)
    summarize_class(units, charges, state, c)
    summarize_class(units, charges, state, new)
    sweep.locked[c] = sweep.locked[new] = sweep.turn
    sweep.tally[SPLITS] += 1


@inner
def _best_cut(units, charges, state, sweep, c, members, count):
    """Return the largest gain of cutting a class in this order of members, and the number of members before the cut."""
    whole, sizes, forward, backward = state.size[c] * state.total[c], sweep.lists[2], sweep.costs[0], sweep.costs[1]
    for costs, last in ((backward, count - 1), (forward, FIRST)):
        _run_costs(units, charges, state, sweep, members, count, last, costs)
    best, cut = 0.0, NONE
    # `forward[i - 1]` is the cost of the first i members, `backward[count - i - 1]` that of the others.
    for i in range(1, count):
        if sizes[i - 1] < sweep.smallest or sizes[count - 1] - sizes[i - 1] < sweep.smallest:
            continue
        gain = whole - forward[i - 1] - backward[count - i - 1]
        if gain > best:
            best, cut = gain, i
    return best, cut


@inner
def _run_costs(units, charges, state, sweep, members, count, first, costs):
    """Write the cost as one class of the first i members of a list, for every i, and their rows.

    The list is read from `first` on, which is its beginning or its end.
    """
    rows, low, high, distinct = 0, sweep.bounds[0, 0], sweep.bounds[1, 0], sweep.bounds[2, 0]
    for j in range(len(charges.kind)):
        low[j], high[j], distinct[j] = 1 << 30, -1, 0
    state.known[-1] += 1
    for i in range(count):
        u = members[abs(first - i)]
        rows += units.counts[u]
        for j in range(len(charges.kind)):
            rank = units.ranks[u, j]
            if charges.kind[j] == SET:
                value = charges.offset[j] + rank
                distinct[j] += state.known[value] != state.known[-1]
                state.known[value] = state.known[-1]
            elif rank >= charges.floor[j]:
                low[j], high[j] = min(low[j], rank), max(high[j], rank)
        sweep.lists[2, i], costs[i] = rows, rows * charge_between(charges, low, high, distinct)


@jit
def undo(units, charges, state, sweep, refused):
    """Undo the refused transactions of the log, and exclude their units from the next sweeps."""
    # The last change first: each unit returns to a class that is as it was when the unit left.
    for line in range(sweep.tally[LINES] - 1, -1, -1):
        if not refused[sweep.log[line, 0]]:
            continue
        u, source = sweep.log[line, 1], sweep.log[line, 2]
        if state.head[source] == NONE:
            _revive(state, source)
        move(units, charges, state, u, source)
        sweep.rest[u] = sweep.turn + 4


@inner
def _revive(state, c):
    """Remove a class number from the stack of unused ones."""
    for i in range(state.free[0], 0, -1):
        if state.free[i] == c:
            state.free[i] = state.free[state.free[0]]
            state.free[0] -= 1
            return
