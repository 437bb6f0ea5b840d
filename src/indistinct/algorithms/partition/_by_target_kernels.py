"""Numba kernels that weigh the cuts of parts by targets: how mixed the target values are on the two sides.

All cuts of a column are weighed in one pass over the part: values between two cuts are a segment, and a side contains
what its segments contain. A weight is a whole number of 1 / 2^20 of a row, so that equally good cuts weigh the same in
whatever order sums are computed.

`rows`, `starts`, `fields` and `trees` are those of `_cut_order_kernels.py`; `items` (int64) is the number of each cell
in `rows`. `weights` is parts × (columns · candidates) (int64). `tests/references/mondrian.py` searches by definition;
`tests/oracle/test_by_target.py` compares both.
"""

from collections import namedtuple

import numpy as np

from indistinct.algorithms.partition._by_loss_kernels import choose_cuts
from indistinct.algorithms.partition._cut_order_kernels import inner, jit

WEIGHT_UNITS_PER_ROW = 1 << 20
"""Weights are whole numbers of this fraction of a row."""
MAX_WEIGHT = np.int64(1) << 60

Entries = namedtuple("Entries", ["start", "code", "count", "target"])
"""The values of all targets in each cell, as compressed sparse rows (int64).

Cell `i` has the entries `start[i]:start[i + 1]`: a `code` that belongs to one value of one target, and the `count` of
its rows. `target` has the target of every code.
"""
Moments = namedtuple("Moments", ["known", "total", "scale"])
"""By cell and target, both int64: its `known` rows, and the `total` of their values. `scale` (float64): by target."""

Segments = namedtuple("Segments", ["segments", "sorted_ends", "numbers", "table", "left", "whole", "sides"])
"""A thread's scratch arrays."""


@inner
def write_candidates(orders, work, cuts, s, weight, weights):
    """Write the weight of a cut at its candidates."""
    for p in range(len(orders.ends)):
        if orders.ends[p] == work.sorted_ends[s]:
            weights[p] = weight


@inner
def number_codes(items, start, stop, entries, work):
    """Number the codes that occur in a part and count their rows; return the number of codes."""
    count = np.int64(0)
    for i in range(start, stop):
        for e in range(entries.start[items[i]], entries.start[items[i] + 1]):
            code = entries.code[e]
            if work.numbers[code] == 0:
                count += 1
                work.numbers[code] = count
                work.whole[0, count - 1], work.whole[1, count - 1] = 0, entries.target[code]
            work.whole[0, work.numbers[code] - 1] += entries.count[e]
    return count


@inner
def forget_codes(items, start, stop, entries, work):
    """Reset the numbers of the codes of a part to zero."""
    for i in range(start, stop):
        for e in range(entries.start[items[i]], entries.start[items[i] + 1]):
            work.numbers[entries.code[e]] = 0


@inner
def bits_of_side(count):
    """Return n · log2(n), with 0 for no rows."""
    return count * np.log2(np.float64(count)) if count > 0 else 0.0


@inner
def entropy_of_sides(count, targets, work):
    """Return the entropy of all targets on both sides, in bits times rows; `left` has the rows on the left."""
    for t in range(targets):
        work.sides[0, t], work.sides[1, t] = 0, 0
    bits = 0.0
    for c in range(count):
        left = work.left[0, c]
        right = work.whole[0, c] - left
        bits -= bits_of_side(left) + bits_of_side(right)
        t = work.whole[1, c]
        work.sides[0, t] += left
        work.sides[1, t] += right
    for t in range(targets):
        bits += bits_of_side(work.sides[0, t]) + bits_of_side(work.sides[1, t])
    return bits


@jit
def weigh_by_entropy(rows, items, starts, smallest, fields, trees, entries, orders, work, weights):
    """Write the mean entropy of the targets on the two sides of every candidate of every part, in bits a row."""
    positions, targets = len(orders.ends), work.sides.shape[1]
    for part in range(len(starts) - 1):
        start, stop, total = starts[part], starts[part + 1], np.int64(0)
        for i in range(start, stop):
            total += rows[i, -1]
        if total < 2 * smallest or stop - start < 2:
            continue
        count = number_codes(items, start, stop, entries, work)
        for axis in range(len(fields)):
            cuts = choose_cuts(rows, start, stop, total, smallest, fields[axis], trees, orders, work)
            if cuts == 0:
                continue
            work.table[: cuts + 1, :count] = 0
            for i in range(start, stop):
                s = work.segments[i - start]
                for e in range(entries.start[items[i]], entries.start[items[i] + 1]):
                    work.table[s, work.numbers[entries.code[e]] - 1] += entries.count[e]
            work.left[0, :count] = 0
            own = weights[part, axis * positions : (axis + 1) * positions]
            # Invariant: the left side has segments 0 … s.
            for s in range(cuts):
                for c in range(count):
                    work.left[0, c] += work.table[s, c]
                bits = entropy_of_sides(count, targets, work)
                write_candidates(orders, work, cuts, s, np.int64(np.rint(bits / total * WEIGHT_UNITS_PER_ROW)), own)
        forget_codes(items, start, stop, entries, work)


@jit
def weigh_by_variance(rows, items, starts, smallest, fields, trees, moments, orders, work, weights):
    """Write for every candidate the negative decrease of the targets' squared deviation per row of the part.

    Of a target with `n` and `m` known rows on the two sides, that is `scale · n · m / (n + m)` times the square of the
    distance of their means.
    """
    positions, targets = len(orders.ends), work.sides.shape[1]
    for part in range(len(starts) - 1):
        start, stop, total = starts[part], starts[part + 1], np.int64(0)
        for i in range(start, stop):
            total += rows[i, -1]
        if total < 2 * smallest or stop - start < 2:
            continue
        for t in range(targets):
            work.whole[0, t], work.whole[1, t] = 0, 0
            for i in range(start, stop):
                work.whole[0, t] += moments.known[items[i], t]
                work.whole[1, t] += moments.total[items[i], t]
        for axis in range(len(fields)):
            cuts = choose_cuts(rows, start, stop, total, smallest, fields[axis], trees, orders, work)
            if cuts == 0:
                continue
            work.table[: cuts + 1, : 2 * targets] = 0
            for i in range(start, stop):
                s = work.segments[i - start]
                for t in range(targets):
                    work.table[s, 2 * t] += moments.known[items[i], t]
                    work.table[s, 2 * t + 1] += moments.total[items[i], t]
            work.left[:, :targets] = 0
            own = weights[part, axis * positions : (axis + 1) * positions]
            # Invariant: the left side has segments 0 … s.
            for s in range(cuts):
                gain = 0.0
                for t in range(targets):
                    work.left[0, t] += work.table[s, 2 * t]
                    work.left[1, t] += work.table[s, 2 * t + 1]
                    n, m = work.left[0, t], work.whole[0, t] - work.left[0, t]
                    if n > 0 and m > 0:
                        apart = work.left[1, t] / n - (work.whole[1, t] - work.left[1, t]) / m
                        gain += moments.scale[t] * apart * apart * (n / (n + m)) * m
                weight = -np.int64(min(np.rint(gain / total * WEIGHT_UNITS_PER_ROW), np.float64(MAX_WEIGHT)))
                write_candidates(orders, work, cuts, s, weight, own)
