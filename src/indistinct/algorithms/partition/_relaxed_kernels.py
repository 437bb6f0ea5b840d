"""Numba kernels of relaxed partitioning, for models that look at class sizes alone.

A part is a run of the buffers `cells` and `weights` (int64); a cell may be divided, and is then in two parts with some
of its rows each. `ranks` is cells × columns (uint32), `shape` the arrays of `Layout`, `keys` (uint64) and `spare`
(int64) are scratch as long as the buffers, `pieces` three arrays (int64) for cell, rows and class. `halve_by_rounds` in
`relaxed.py` does the same in plain NumPy; `tests/laws/test_partition.py` compares both.
"""

import numpy as np

from indistinct.algorithms.partition._strict_kernels import widest, widths_of
from indistinct.machine.compiled import jit


@jit
def half_value(ranks, cells, weights, start, stop, axis, half, keys):
    """Return the value at which the first `half` rows of a part end, and the rows with smaller values."""
    count = stop - start
    for i in range(count):
        keys[i] = (np.uint64(ranks[cells[start + i], axis]) << np.uint64(32)) | np.uint64(i)
    keys[:count].sort()
    # Invariant: keys ascend by value; `below` rows have smaller values than the current one, `same` rows so far have
    # it.
    below, same = np.int64(0), np.int64(0)
    for i in range(count):
        value = keys[i] >> np.uint64(32)
        if i and value != keys[i - 1] >> np.uint64(32):
            below += same
            same = 0
        same += weights[start + np.int64(keys[i] & np.uint64(0xFFFFFFFF))]
        if below + same >= half:
            return np.int64(value), below
    return np.int64(0), below


@jit
def halve(ranks, cells, weights, start, stop, axis, value, take, spare_cells, spare_weights):
    """Write the right half at `start` and the left half after it; return where each ends.

    Rows below `value` go left, and as many of those equal to it, in canonical order, as make `take` rows.
    """
    left, right = 0, start
    # Invariant: `cells[start:right]` is the right half so far, `spare_cells[:left]` the left one; `right` <= i.
    for i in range(start, stop):
        cell, weight = cells[i], weights[i]
        rank = ranks[cell, axis]
        goes = weight if rank < value else (min(weight, take) if rank == value else np.int64(0))
        if rank == value:
            take -= goes
        if goes > 0:
            spare_cells[left], spare_weights[left] = cell, goes
            left += 1
        if goes < weight:
            cells[right], weights[right] = cell, weight - goes
            right += 1
    for i in range(left):
        cells[right + i], weights[right + i] = spare_cells[i], spare_weights[i]
    return right, right + left


@jit
def partition_relaxed(ranks, cells, weights, count, k, shape, spare, keys, pieces):
    """Halve parts while both halves have `k` rows; write (cell, rows, class) pieces, return (pieces, classes).

    The current part is always at the end of the buffers, so that a divided cell has room after it.
    """
    fields, lines, trees, span = shape
    spare_cells, spare_weights = spare
    piece_cells, piece_counts, piece_labels = pieces
    columns = ranks.shape[1]
    low, high = np.empty((1, columns), dtype=np.int64), np.empty((1, columns), dtype=np.int64)
    width, meets = np.empty(columns, dtype=np.float64), np.empty(columns, dtype=np.int64)
    stack = [(0, count)]
    written, classes = 0, 0
    # Invariant: parts on the stack are adjacent; after the top one the buffers are free.
    while len(stack):
        start, stop = stack.pop()
        total = np.int64(0)
        for i in range(start, stop):
            total += weights[i]
        if total < 2 * k:
            for i in range(start, stop):
                piece_cells[written], piece_counts[written], piece_labels[written] = cells[i], weights[i], classes
                written += 1
            classes += 1
            continue
        for j in range(columns):
            low[0, j], high[0, j] = ranks[cells[start], j], ranks[cells[start], j]
        for i in range(start + 1, stop):
            for j in range(columns):
                value = np.int64(ranks[cells[i], j])
                low[0, j] = min(low[0, j], value)
                high[0, j] = max(high[0, j], value)
        widths_of(low, high, 0, fields, lines, trees, span, width, meets)
        axis = max(widest(width), 0)
        half = (total + 1) >> 1
        value, below = half_value(ranks, cells, weights, start, stop, axis, half, keys)
        middle, end = halve(ranks, cells, weights, start, stop, axis, value, half - below, spare_cells, spare_weights)
        stack.append((start, middle))
        stack.append((middle, end))
    return written, classes
