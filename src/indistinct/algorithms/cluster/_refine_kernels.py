"""Numba kernels that summarize classes: their cost, and their cost with one member more or less.

Members are *units*: cells, or the rows of a cell that are in one class. A class is a linked list of its units with, for
each column, the lowest and highest rank among them; its cost per row is the sum of its columns' charges.

Arrays have room for as many classes as units. With u units and d columns, `ranks` is u × d (int32), `counts` u (int64).
In a state, `class_id`, `head`, `after`, `before`, `size` and `members` are u (int64), `low`, `high` and `distinct` u ×
d (int32), `charge` u × d and `total` u (float64), `once` and `twice` u × d (uint64), `free` u + 1 and `known` one more
than `table` (int64). `tests/unit/algorithms/test_refine.py` compares the charges with those of the metric, and
`tests/laws/test_refine.py` the lists and sizes with plain Python.
"""

from collections import namedtuple

import numpy as np

from indistinct.algorithms.partition._by_loss_kernels import bits_of, highest_bit, lowest_bit
from indistinct.machine import compiled

# Nothing here allocates, so arrays need no reference counting, which takes most of the compile time.
jit = compiled.jit(error_model="numpy", _nrt=False)
inner = compiled.inner(error_model="numpy", _nrt=False)
# Passing a named tuple passes all of its arrays, which takes longer than the innermost functions themselves.
PAIRS, TREE, LINE, SET = 0, 1, 2, 3
# A literal would have its own type, and functions that take it would be compiled twice.
NONE = np.int64(-1)
# Up to this number of members, values are counted by comparing them pairwise.
FEW = 32

Units = namedtuple("Units", ["ranks", "counts"])
"""The members: ranks (u × d) and numbers of rows."""

Charges = namedtuple("Charges", ["kind", "narrow", "floor", "offset", "stride", "table", "nodes"])
"""What columns charge. Ranks below `floor` (missing values of ranges) cost nothing.

`narrow` columns have few values.
"""

State = namedtuple(
    "State",
    [
        "class_id",
        "head",
        "after",
        "before",
        "size",
        "members",
        "low",
        "high",
        "distinct",
        "charge",
        "total",
        "once",
        "twice",
        "free",
        "known",
    ],
)
"""The classes; `once` and `twice` have a bit for every value of a narrow column that one or two units have."""


@inner
def charge_of(charges, j, low, high, distinct):
    """Return the loss of a column for each row of a class."""
    kind, offset, stride = charges.kind[j], charges.offset[j], charges.stride[j]
    if kind == SET:
        return charges.table[offset + distinct]
    if low > high:
        return 0.0
    if kind == PAIRS:
        return charges.table[offset + low * stride + high]
    if kind == LINE:
        return charges.table[offset + high] - charges.table[offset + low]
    level = 0
    # Invariant: below `level` the two ranks have different ancestors.
    while charges.nodes[offset + low * stride + level] != charges.nodes[offset + high * stride + level]:
        level += 1
    return charges.table[offset + low * stride + level]


@inner
def has_bit(word, rank):
    """Return whether the bit of a rank is set in a word."""
    return (word >> np.uint64(rank)) & np.uint64(1) != 0


@inner
def holds_value(ranks, head, after, j, rank, but):
    """Return whether a unit of a class other than `but` has this rank in column j.

    `head` is the first unit of the class.
    """
    u = head
    while u != NONE:
        if u != but and ranks[u, j] == rank:
            return True
        u = after[u]
    return False


@inner
def charge_with(units, charges, state, c, u, limit):
    """Return the cost per row of a class if a unit joined; infinity once it reaches `limit`."""
    total = 0.0
    for j in range(len(charges.kind)):
        rank = units.ranks[u, j]
        if charges.kind[j] == SET:
            if charges.narrow[j]:
                known = has_bit(state.once[c, j], rank)
            else:
                known = holds_value(units.ranks, state.head[c], state.after, j, rank, NONE)
            total += charges.table[charges.offset[j] + state.distinct[c, j] + (not known)]
        elif rank < charges.floor[j] or state.low[c, j] <= rank <= state.high[c, j]:
            total += state.charge[c, j]
        else:
            total += charge_of(charges, j, min(state.low[c, j], rank), max(state.high[c, j], rank), 0)
        if total >= limit:
            return np.inf
    return total


@inner
def bounds_without(units, charges, state, c, u, low, high, distinct):
    """Write the ranks that a class would cover without one of its units, and its number of distinct values."""
    for j in range(len(charges.kind)):
        rank = units.ranks[u, j]
        low[j], high[j], distinct[j] = state.low[c, j], state.high[c, j], state.distinct[c, j]
        if charges.kind[j] == SET:
            if charges.narrow[j]:
                known = has_bit(state.twice[c, j], rank)
            else:
                known = holds_value(units.ranks, state.head[c], state.after, j, rank, u)
            distinct[j] -= not known
        elif rank >= charges.floor[j] and (rank == low[j] or rank == high[j]):
            if charges.narrow[j]:
                gone = np.uint64(1) << np.uint64(rank)
                if state.twice[c, j] & gone == 0:
                    low[j], high[j] = _ends(state.once[c, j] & ~gone, charges.floor[j])
            else:
                low[j], high[j] = _reach(units, charges, state, c, j, u)


@inner
def _ends(held, floor):
    """Return the lowest and highest value of a narrow column, values below the floor left out."""
    held = (held >> np.uint64(floor)) << np.uint64(floor)
    if held == 0:
        return 1 << 30, -1
    return lowest_bit(held), highest_bit(held)


@inner
def _reach(units, charges, state, c, j, but):
    """Return the lowest and highest rank of a class in column j without unit `but`."""
    low, high = 1 << 30, -1
    v = state.head[c]
    while v != NONE:
        rank = units.ranks[v, j]
        if v != but and rank >= charges.floor[j]:
            low, high = min(low, rank), max(high, rank)
        v = state.after[v]
    return low, high


@inner
def charge_between(charges, low, high, distinct):
    """Return the cost per row of a class with these bounds."""
    total = 0.0
    for j in range(len(charges.kind)):
        total += charge_of(charges, j, low[j], high[j], distinct[j])
    return total


@inner
def charge_swapped(units, charges, state, c, low, high, distinct, out, new, limit):
    """Return the cost per row of a class after unit `out` is replaced by `new`, or infinity once it reaches `limit`.

    `low` and `high` are the bounds of the class without `out`; ranks below `charges.floor` are missing values.
    """
    total = 0.0
    for j in range(len(charges.kind)):
        rank = units.ranks[new, j]
        if charges.kind[j] == SET:
            if charges.narrow[j]:
                same = units.ranks[out, j] == rank
                known = has_bit(state.twice[c, j] if same else state.once[c, j], rank)
            else:
                known = holds_value(units.ranks, state.head[c], state.after, j, rank, out)
            total += charges.table[charges.offset[j] + distinct[j] + (not known)]
        elif rank < charges.floor[j]:
            total += charge_of(charges, j, low[j], high[j], 0)
        else:
            total += charge_of(charges, j, min(low[j], rank), max(high[j], rank), 0)
        if total >= limit:
            return np.inf
    return total


@inner
def summarize_class(units, charges, state, c):
    """Recompute everything that is stored about a class from its units."""
    state.size[c], state.members[c], state.total[c] = 0, 0, 0.0
    columns = len(charges.kind)
    for j in range(columns):
        state.once[c, j] = state.twice[c, j] = np.uint64(0)
    # Invariant: `once` has the values of the units so far, `twice` those that at least two of them have.
    u = state.head[c]
    while u != NONE:
        state.size[c] += units.counts[u]
        state.members[c] += 1
        for j in range(columns):
            if charges.narrow[j]:
                bit = np.uint64(1) << np.uint64(units.ranks[u, j])
                state.twice[c, j] |= state.once[c, j] & bit
                state.once[c, j] |= bit
        u = state.after[u]
    for j in range(columns):
        if charges.narrow[j]:
            state.distinct[c, j] = bits_of(state.once[c, j])
            state.low[c, j], state.high[c, j] = _ends(state.once[c, j], charges.floor[j])
        elif charges.kind[j] == SET:
            state.distinct[c, j] = _count_values(units, charges, state, c, j)
        else:
            state.low[c, j], state.high[c, j] = _reach(units, charges, state, c, j, NONE)
        state.charge[c, j] = charge_of(charges, j, state.low[c, j], state.high[c, j], state.distinct[c, j])
        state.total[c] += state.charge[c, j]


@inner
def _count_values(units, charges, state, c, j):
    """Return the number of distinct values of a column in a class."""
    distinct, few, base = 0, state.members[c] <= FEW, charges.offset[j]
    state.known[-1] += 1
    u = state.head[c]
    while u != NONE:
        rank = units.ranks[u, j]
        if few:
            v = state.head[c]
            while v != u and units.ranks[v, j] != rank:
                v = state.after[v]
            distinct += v == u
        elif state.known[base + rank] != state.known[-1]:
            state.known[base + rank] = state.known[-1]
            distinct += 1
        u = state.after[u]
    return distinct


@inner
def relabel(state, u, target):
    """Move a unit to the list of another class; the caller must summarize both."""
    source, before, after = state.class_id[u], state.before[u], state.after[u]
    if before == NONE:
        state.head[source] = after
    else:
        state.after[before] = after
    if after != NONE:
        state.before[after] = before
    if state.head[source] == NONE:
        state.free[0] += 1
        state.free[state.free[0]] = source
    first = state.head[target]
    state.before[u], state.after[u] = NONE, first
    if first != NONE:
        state.before[first] = u
    state.head[target], state.class_id[u] = u, target


@inner
def move(units, charges, state, u, target):
    """Move a unit to another class and summarize both."""
    source = state.class_id[u]
    relabel(state, u, target)
    summarize_class(units, charges, state, source)
    summarize_class(units, charges, state, target)


@jit
def fill(units, charges, state, class_ids, classes):
    """Put every unit into the class that `class_ids` gives."""
    for c in range(len(state.head)):
        state.head[c] = NONE
    # Units are added at the head, the last one first, so that each list ascends.
    for u in range(len(class_ids) - 1, -1, -1):
        first = state.head[class_ids[u]]
        state.class_id[u], state.before[u], state.after[u] = class_ids[u], NONE, first
        if first != NONE:
            state.before[first] = u
        state.head[class_ids[u]] = u
    state.free[0] = 0
    for c in range(len(state.head) - 1, -1, -1):
        if c < classes:
            summarize_class(units, charges, state, c)
        else:
            state.free[0] += 1
            state.free[state.free[0]] = c


def new_state(units: int, columns: int, charges: int) -> State:
    """Return a state with room for as many classes as units and for `charges` entries in the table of known charges."""
    lists = [np.zeros(units, dtype=np.int64) for _ in range(6)]
    ranks = [np.zeros((units, columns), dtype=np.int32) for _ in range(3)]
    free = np.zeros(units + 1, dtype=np.int64)
    bits = [np.zeros((units, columns), dtype=np.uint64) for _ in range(2)]
    return State(
        *lists, *ranks, np.zeros((units, columns)), np.zeros(units), *bits, free, np.zeros(charges + 1, dtype=np.int64)
    )
