"""Numba kernels of top-down specialization: the children of parts, their rows, and the rows that stay behind.

A part is a run of pieces: `cells` and `counts` (int64), and `starts` where each part begins. `codes` and `ranks` give a
column's value of every cell and its position in the order of leaves, `ancestors` is values × levels (int32). Children
are numbered across all parts; part p has the children `bounds[p]:bounds[p + 1]` (int64). The reference moves rows one
by one down literal hierarchies; `tests/oracle/test_top_down.py` compares both.
"""

import numpy as np

from indistinct.machine.compiled import jit

NO_INDEX = -1


@jit
def tally(pieces, codes, ranks, ancestors, groups):
    """Find the children of each part in a column, numbered across all parts by first occurrence.

    `pieces` are cells, counts and starts of parts, `codes` the column's value of every cell. Write the child of each
    piece; return each part's first child, and for each child its node and its rows.
    """
    cells, counts, starts = pieces
    children, seen = 0, np.full(len(ancestors), NO_INDEX, dtype=np.int64)
    bounds = np.zeros(len(starts), dtype=np.int64)
    values, sizes = np.empty(len(cells), dtype=np.int64), np.zeros(len(cells), dtype=np.int64)
    for part in range(len(starts) - 1):
        low = high = codes[cells[starts[part]]]
        for piece in range(starts[part], starts[part + 1]):
            code = codes[cells[piece]]
            if ranks[code] < ranks[low]:
                low = code
            if ranks[code] > ranks[high]:
                high = code
        level = 0
        # The lowest and the highest leaf have the same common ancestor as all leaves between them.
        while ancestors[low, level] != ancestors[high, level]:
            level += 1
        level = max(level - 1, 0)
        for piece in range(starts[part], starts[part + 1]):
            node = ancestors[codes[cells[piece]], level]
            child = seen[node]
            if child < bounds[part]:
                child = children
                seen[node] = children
                values[children] = node
                children += 1
            groups[piece] = child
            sizes[child] += counts[piece]
        bounds[part + 1] = children
    return bounds, values[:children], sizes[:children]


@jit
def score(starts, counts, groups, taken, children):
    """Return how many rows of each part stay in its children, and in how many of its children."""
    rows = np.zeros(len(starts) - 1, dtype=np.int64)
    branches = np.zeros(len(starts) - 1, dtype=np.int64)
    alive = np.zeros(children, dtype=np.bool_)
    for part in range(len(rows)):
        for piece in range(starts[part], starts[part + 1]):
            if counts[piece] > taken[piece]:
                rows[part] += counts[piece] - taken[piece]
                if not alive[groups[piece]]:
                    alive[groups[piece]] = True
                    branches[part] += 1
    return rows, branches


@jit
def unspecialize(bounds, values, sizes, k, taken):
    """Remove rows from the children of each part until the remainder has `k` rows or none.

    Write how many rows leave.

    A row is taken from the largest child that can spare one (ties: the one that comes first); if none can, the
    smallest child (ties: by value) is dissolved.
    """
    for part in range(len(bounds) - 1):
        start, stop = bounds[part], bounds[part + 1]
        rest = np.int64(0)
        for child in range(start, stop):
            taken[child] = sizes[child] if sizes[child] < k else 0
            rest += taken[child]
        # Invariant: `rest` rows were removed so far; each iteration removes one more, or a whole child.
        while 0 < rest < k:
            largest, smallest = NO_INDEX, NO_INDEX
            for child in range(start, stop):
                left = sizes[child] - taken[child]
                if left > k and (largest < 0 or left > sizes[largest] - taken[largest]):
                    largest = child
                if left > 0 and (
                    smallest < 0
                    or left < sizes[smallest] - taken[smallest]
                    or (left == sizes[smallest] - taken[smallest] and values[child] < values[smallest])
                ):
                    smallest = child
            if largest >= 0:
                taken[largest] += 1
                rest += 1
            elif smallest >= 0:
                rest += sizes[smallest] - taken[smallest]
                taken[smallest] = sizes[smallest]
            else:
                break


@jit
def take_first(counts, groups, wanted, taken):
    """Write for each piece how many of its rows are among the first `wanted[group]` rows of its group."""
    missing = wanted.copy()
    for piece in range(len(counts)):
        taken[piece] = min(counts[piece], missing[groups[piece]])
        missing[groups[piece]] -= taken[piece]
