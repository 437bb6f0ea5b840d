"""Numba kernels of merging: the nearest class, the union of two classes, and the loop for models of class sizes.

Classes are stored in slots, at most 512 to a block. The path from the root to a class's node is encoded in bytes, one
*plane* for each level of each column (more where a node has many children), so that all classes of a block are compared
with one class in a few vector instructions per plane. A class whose node is above a plane's level has the byte `ABSENT`
there, and a query `ASKED`; these never match. For each block and plane a mask tells which bytes occur; a byte that does
not occur gives a lower bound for the whole block.

`tests/references/kaca.py` compares every pair of classes; `tests/oracle/test_kaca.py` checks that both agree.
"""

from typing import NamedTuple

import numpy as np

from indistinct.machine.arrays import Codes
from indistinct.machine.compiled import inner, jit

BLOCK = 512
ABSENT = 255
ASKED = 254
NO_INDEX = -1
FAR = np.int64(1) << np.int64(62)


class Forest(NamedTuple):
    """The trees of all columns in one numbering: node `n` of column `j` is `offsets[j] + n`.

    By node: `parent` and `level` (int32), its `cost` a row, a random word (`words`, uint64) for hashing, and `digits`
    (nodes × planes of a column, uint8). By plane: whether a column begins there (`starts`, bool), and what it costs to
    differ (`weights`, uint16 or int64).
    """

    offsets: Codes
    parent: Codes
    level: Codes
    cost: Codes
    words: Codes
    digits: Codes
    starts: Codes
    weights: Codes


class State(NamedTuple):
    """Classes in slots, their rows as linked pieces, a hash table of tuples, and the queue of waiting classes.

    `planes` is blocks × planes × lanes (uint8), `masks` blocks × planes × 4 (uint64): a bit for each of 256 bytes. By
    slot: `nodes` (× columns, int32), and as int64: `sizes` in rows, `climbed`, the cost of its nodes, `first`, its
    smallest canonical rank, `owner`, the identity of its class or -1, and the `head` and `tail` of its pieces. By
    identity: `slot_of`. By piece: `following`, `cells` and `counts`. `marks` counts identities, pieces, entries taken
    from and added to the queue, and merges.
    """

    planes: Codes
    masks: Codes
    nodes: Codes
    sizes: Codes
    climbed: Codes
    first: Codes
    owner: Codes
    slot_of: Codes
    table: Codes
    head: Codes
    tail: Codes
    following: Codes
    cells: Codes
    counts: Codes
    queue: Codes
    marks: Codes


IDENTITIES, PIECES, TAKEN, PUT, MERGES = range(5)


@jit
def settle(forest, state, ranks):
    """Initialize a state: slot s holds the class with canonical rank `ranks[s]`."""
    for slot in range(len(ranks)):
        state.owner[slot] = ranks[slot]
        state.slot_of[ranks[slot]] = slot
        state.first[slot] = ranks[slot]
        state.head[slot] = slot
        state.tail[slot] = slot
        _write(forest, state, slot)
    state.marks[IDENTITIES] = len(ranks)
    state.marks[PIECES] = len(ranks)


@jit
def gather(forest, state, k, stub, until):
    """Merge waiting classes in order of arrival until each has `k` rows or `until` of them were handled."""
    # Invariant: queue entries before TAKEN have `k` rows, no longer exist, or wait again further back.
    while state.marks[TAKEN] < min(state.marks[PUT], until):
        waiting = state.queue[state.marks[TAKEN]]
        state.marks[TAKEN] += 1
        slot = state.slot_of[waiting]
        if state.owner[slot] != waiting or state.sizes[slot] >= k:
            continue
        target, _ = join_nearest(forest, state, slot, k, stub)
        if target >= 0 and state.sizes[target] < k:
            state.queue[state.marks[PUT]] = state.owner[target]
            state.marks[PUT] += 1


@jit
def join_nearest(forest, state, slot, k, stub):
    """Merge a class with its nearest other class, or with some of its rows.

    Return (slot of the union, partner or -1).
    """
    query = np.empty(state.planes.shape[1], dtype=np.uint8)
    block, lane = divmod(slot, state.planes.shape[2])
    for plane in range(len(query)):
        byte = state.planes[block, plane, lane]
        query[plane] = ASKED if byte == ABSENT else byte
    identity = state.owner[slot]
    _erase(state, slot)
    partner = _nearest(forest, state, slot, query, k, stub)
    if partner < 0:
        state.owner[slot] = identity
        return NO_INDEX, NO_INDEX
    size, other = state.sizes[slot], state.sizes[partner]
    wanted = k - size if stub and size + other >= 2 * k else other
    state.marks[MERGES] += 1
    identity = state.owner[partner]
    return _unite(forest, state, slot, partner, wanted), identity


@jit
def read_pieces(state, cells, class_ids, counts):
    """Write the pieces of every class, in the order of the slots."""
    written, class_id = 0, 0
    for slot in range(len(state.owner)):
        if state.owner[slot] < 0:
            continue
        piece = state.head[slot]
        while piece >= 0:
            cells[written], class_ids[written], counts[written] = state.cells[piece], class_id, state.counts[piece]
            written += 1
            piece = state.following[piece]
        class_id += 1
    return written


@inner
def _nearest(forest, state, slot, query, k, stub):
    """Return the cheapest class to merge with; ties: fewer levels climbed, then smallest first rank, then oldest."""
    size, climbed = state.sizes[slot], state.climbed[slot]
    width = state.planes.shape[2]
    differs = np.empty(width, dtype=np.uint8)
    sums = np.empty(width, dtype=forest.weights.dtype)
    best, best_cost, best_steps = NO_INDEX, FAR, FAR
    home = slot // width
    # The class's own block comes first, as it holds the likeliest partners: `best` is the best of all blocks before.
    for turn in range(-1, len(state.planes)):
        block = home if turn < 0 else turn
        if turn == home:
            continue
        # A class that is higher up than this costs the asking class alone more than the best so far.
        limit = climbed + best_cost // size
        if best >= 0 and _bound(forest, state.masks[block], query, limit) > limit:
            continue
        if _distances(forest, state.planes[block], query, differs, sums) > limit:
            continue
        for lane in range(width):
            if sums[lane] > limit:
                continue
            other = block * width + lane
            if state.owner[other] < 0:
                continue
            up, rows = np.int64(sums[lane]), state.sizes[other]
            if stub and size + rows >= 2 * k:
                rows = k - size
            cost = size * (up - climbed) + rows * (up - state.climbed[other])
            if cost > best_cost:
                continue
            steps = (size + rows) * _steps(forest, state, slot, other)
            if cost == best_cost:
                this, that = (state.first[other], state.owner[other]), (state.first[best], state.owner[best])
                if steps > best_steps or (steps == best_steps and this >= that):
                    continue
            best, best_cost, best_steps = other, cost, steps
            limit = climbed + best_cost // size
    return best


@jit
def _bound(forest, masks, query, limit):
    """Return a lower bound of the cost of merging with any class of a block; stop when it exceeds `limit`."""
    total, differs = np.int64(0), False
    for plane in range(len(query)):
        if forest.starts[plane]:
            differs = False
        if not differs:
            byte = query[plane]
            differs = not (masks[plane, byte >> 6] >> np.uint64(byte & 63)) & np.uint64(1)
        if differs:
            total += forest.weights[plane]
            if total > limit:
                break
    return total


@jit
def _distances(forest, planes, query, differs, sums):
    """Fill `sums[lane]` with the cost per row of merging with the class in each lane of a block; return the least."""
    width = len(sums)
    # No array is assigned to a slice here or below: Numba would compile the error message for it, which takes seconds.
    for lane in range(width):
        sums[lane] = 0
    # Within a column, a class that differs on one level differs on all lower ones.
    for plane in range(len(query)):
        byte, weight, bytes_ = query[plane], forest.weights[plane], planes[plane]
        if forest.starts[plane]:
            for lane in range(width):
                differs[lane] = bytes_[lane] != byte
        else:
            for lane in range(width):
                differs[lane] |= bytes_[lane] != byte
        if weight:
            for lane in range(width):
                sums[lane] += differs[lane] * weight
    least = sums[0]
    for lane in range(width):
        least = min(least, sums[lane])
    return np.int64(least)


@inner
def _meet(forest, first, second):
    """Return the lowest common ancestor of two nodes."""
    # The lower of the two moves up; both move where they are on the same level.
    while first != second:
        low, high = forest.level[first], forest.level[second]
        if low <= high:
            first = forest.parent[first]
        if high <= low:
            second = forest.parent[second]
    return first


@inner
def _steps(forest, state, slot, other):
    """Return the sum of the levels on which two classes meet."""
    total = np.int64(0)
    for column in range(state.nodes.shape[1]):
        total += forest.level[_meet(forest, state.nodes[slot, column], state.nodes[other, column])]
    return total


@inner
def _unite(forest, state, slot, partner, wanted):
    """Merge the class in `slot`, which is erased, with `wanted` rows of its partner; return the slot of the result.

    The result is generalized to the closest common values of both. A class that has these values already is joined too.
    """
    tuple_ = np.empty(state.nodes.shape[1], dtype=np.int32)
    for column in range(len(tuple_)):
        tuple_[column] = _meet(forest, state.nodes[slot, column], state.nodes[partner, column])
    existing = _find(forest, state, tuple_)
    first = min(state.first[slot], state.first[partner])
    if existing == partner:
        state.sizes[partner] += state.sizes[slot]
        state.first[partner] = first
        _append(state, partner, state.head[slot], state.tail[slot])
        return partner
    if wanted == state.sizes[partner]:
        start, stop = state.head[partner], state.tail[partner]
        _erase(state, partner)
    else:
        start, stop = _cut(state, partner, wanted)
    if existing < 0:
        existing = slot
        for column in range(len(tuple_)):
            state.nodes[slot, column] = tuple_[column]
        state.owner[slot] = state.marks[IDENTITIES]
        state.slot_of[state.marks[IDENTITIES]] = slot
        state.marks[IDENTITIES] += 1
        state.sizes[slot] += wanted
        state.first[slot] = first
        _write(forest, state, slot)
    else:
        state.sizes[existing] += state.sizes[slot] + wanted
        state.first[existing] = min(first, state.first[existing])
        _append(state, existing, state.head[slot], state.tail[slot])
    _append(state, existing, start, stop)
    return existing


@inner
def _append(state, slot, start, stop):
    """Append a linked list of cells to that of a slot."""
    state.following[state.tail[slot]] = start
    state.tail[slot] = stop


@inner
def _cut(state, slot, wanted):
    """Remove `wanted` rows from the front of a class; return the first and last of their pieces."""
    start = piece = state.head[slot]
    state.sizes[slot] -= wanted
    # Invariant: the pieces from `start` to before `piece` are taken whole.
    while state.counts[piece] < wanted:
        wanted -= state.counts[piece]
        piece = state.following[piece]
    if state.counts[piece] == wanted:
        state.head[slot] = state.following[piece]
    else:
        rest = state.marks[PIECES]
        state.marks[PIECES] += 1
        state.cells[rest] = state.cells[piece]
        state.counts[rest] = state.counts[piece] - wanted
        state.counts[piece] = wanted
        state.following[rest] = state.following[piece]
        state.head[slot] = rest
        if state.tail[slot] == piece:
            state.tail[slot] = rest
    state.following[piece] = NO_INDEX
    return start, piece


@inner
def _erase(state, slot):
    """Clear a slot, so that it is never the nearest one."""
    state.owner[slot] = NO_INDEX
    block, lane = divmod(slot, state.planes.shape[2])
    for plane in range(state.planes.shape[1]):
        state.planes[block, plane, lane] = ABSENT


@inner
def _write(forest, state, slot):
    """Write the tuple of a class into its planes and masks, sum up its cost, and add it to the hash table."""
    block, lane = divmod(slot, state.planes.shape[2])
    plane, climbed = 0, np.int64(0)
    for column in range(state.nodes.shape[1]):
        node = state.nodes[slot, column]
        climbed += forest.cost[node]
        position, more = 0, True
        while more:
            byte = forest.digits[node, position]
            state.planes[block, plane, lane] = byte
            state.masks[block, plane, byte >> 6] |= np.uint64(1) << np.uint64(byte & 63)
            plane, position = plane + 1, position + 1
            more = plane < len(forest.starts) and not forest.starts[plane]
    state.climbed[slot] = climbed
    probe = _hash(forest, state.nodes[slot]) & (len(state.table) - 1)
    while state.table[probe] >= 0:
        probe = (probe + 1) & (len(state.table) - 1)
    state.table[probe] = slot


@inner
def _find(forest, state, tuple_):
    """Return the slot of the class with a given tuple, or -1; table entries of classes that changed match nothing."""
    probe = _hash(forest, tuple_) & (len(state.table) - 1)
    while state.table[probe] >= 0:
        slot = state.table[probe]
        if state.owner[slot] >= 0:
            same = True
            for column in range(len(tuple_)):
                same &= state.nodes[slot, column] == tuple_[column]
            if same:
                return slot
        probe = (probe + 1) & (len(state.table) - 1)
    return NO_INDEX


@inner
def _hash(forest, tuple_):
    """Return the hash of a tuple of nodes."""
    word = np.uint64(0)
    for column in range(len(tuple_)):
        word ^= forest.words[tuple_[column]]
    return np.int64(word >> np.uint64(1))
