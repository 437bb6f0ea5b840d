"""Numba kernels of single-dimensional partitioning, for models that look at class sizes alone.

For one column, `running` (int64) are the rows up to each value, beginning with 0; `last` (int64) is the answer. For
several columns, a cut is a value of a column after which the column is cut; all cuts are numbered in one row, those of
column j from `bases[j]` on (int64). `order` is columns × cells (int64): the cells of each class by their rank in the
column. By cut (int64): `steps` are differences of `gains`, `after` leads to the next open cut; `best` has the best open
cut of every block. `weights` (int64) are the rows of cells, `classes` is classes × 3 and `edges` columns × 2 × classes
(int64).

The functions of `single_dimensional.py` for any model do the same in plain NumPy;
`tests/laws/test_single_dimensional.py` compares both.
"""

import numpy as np

from indistinct.machine.compiled import inner, jit

# Number of neighboring cuts per block; the best cut of each block is stored, so that the best of all is found quickly.
BLOCK = 1024
# An item of an order has a rank and, in these bits, a cell: values that are used together are adjacent in memory.
CELL = (1 << 32) - 1


@jit
def shortest_segments(running, k, last):
    """Write for every end where its last segment begins, so that the sum of squared sizes of segments is smallest.

    A start that beats an earlier one does so for all later ends. Starts wait in a queue for the end from which they
    beat the one before them (Galil and Park 1992). Of equals the earliest start wins.
    """
    size = len(running) - 1
    cost = np.full(size + 1, np.int64(-1))
    starts, since = np.empty(size + 1, dtype=np.int64), np.empty(size + 1, dtype=np.int64)
    cost[0] = 0
    head, tail, ready = 0, 0, 0
    # Invariant: `starts[head:tail]` are the starts that can still win, each from end `since` on, ascending; starts
    # before `ready` leave at least k rows up to `stop`.
    for stop in range(1, size + 1):
        while ready < stop and running[stop] - running[ready] >= k:
            if cost[ready] >= 0:
                begins = np.int64(stop)
                while tail > head:
                    begins = better_from(running, cost, starts[tail - 1], ready, stop)
                    if begins > max(since[tail - 1], stop):
                        break
                    tail -= 1
                    begins = np.int64(stop)
                if begins <= size:
                    starts[tail], since[tail] = ready, begins
                    tail += 1
            ready += 1
        while tail - head > 1 and since[head + 1] <= stop:
            head += 1
        if tail > head:
            start = starts[head]
            last[stop] = start
            cost[stop] = cost[start] + (running[stop] - running[start]) ** 2
    return cost[size] >= 0


@inner
def better_from(running, cost, earlier, later, stop):
    """Return the first end from `stop` on at which the later of two starts is better.

    Past the last end if there is none.
    """
    low, high = np.int64(stop), np.int64(len(running))
    # Invariant: the later start is not better before `low` and is better from `high` on.
    while low < high:
        end = (low + high) >> 1
        one = cost[earlier] + (running[end] - running[earlier]) ** 2
        if cost[later] + (running[end] - running[later]) ** 2 < one:
            high = end
        else:
            low = end + 1
    return low


@inner
def rank_at(order, column, place):
    """Return the rank of the cell at a position in the order of a column."""
    return order[column, place] >> 32


@inner
def add_gains(weights, order, column, start, stop, total, base, sign, steps):
    """Add the gains of cuts through a class, twice the product of its sides, as differences between cuts."""
    left, before = np.int64(0), np.int64(0)
    # Invariant: `left` are the rows of the class up to cell i; a cut is between two different ranks.
    for i in range(start, stop):
        left += weights[order[column, i] & CELL]
        rank = rank_at(order, column, i)
        if i + 1 == stop or rank_at(order, column, i + 1) != rank:
            product = 2 * left * (total - left)
            steps[base + rank] += sign * (product - before)
            before = product


@inner
def next_open(after, cut):
    """Return the first open cut at or after `cut`."""
    top = cut
    # Path compression, as in union-find: all cuts on the way then lead directly to the open one.
    while after[top] != top:
        top = after[top]
    while after[cut] != cut:
        after[cut], cut = top, after[cut]
    return top


@inner
def close(after, first, end):
    """Close all cuts from `first` to before `end`."""
    cut = next_open(after, first)
    while cut < end:
        after[cut] = cut + 1
        cut = next_open(after, cut)


@inner
def close_narrow(weights, order, column, start, stop, k, base, after):
    """Close the cuts that leave fewer than k rows of a class on one side."""
    rows, i = np.int64(0), start
    while i < stop and rows < k:
        rows += weights[order[column, i] & CELL]
        i += 1
    close(after, base + rank_at(order, column, start), base + rank_at(order, column, i - 1))
    rows, i = np.int64(0), stop
    while i > start and rows < k:
        i -= 1
        rows += weights[order[column, i] & CELL]
    close(after, base + rank_at(order, column, i), base + rank_at(order, column, stop - 1))


@inner
def divide(order, start, stop, column, cut, spare, goes_left):
    """Move the cells up to a cut to the front of a class in the order of every column.

    Return where the others begin.
    """
    # Invariant: `order[j, start:left]` go left, `spare[:right]` right; both keep their order.
    for i in range(start, stop):
        goes_left[order[column, i] & CELL] = rank_at(order, column, i) <= cut
    middle = start
    for j in range(len(order)):
        left, right = start, 0
        for i in range(start, stop):
            item = order[j, i]
            side = np.int64(goes_left[item & CELL])
            order[j, left] = item
            spare[right] = item
            left += side
            right += 1 - side
        for i in range(right):
            order[j, left + i] = spare[i]
        middle = left
    return middle


@inner
def refresh(steps, gains, after, best, first, end, begin):
    """Recompute the gains of a column's cuts from `first` to `end`, and the best cut of every block."""
    running = gains[first - 1] if first > begin else np.int64(0)
    for cut in range(first, end):
        running += steps[cut]
        gains[cut] = running
    for block in range(first // BLOCK, (end - 1) // BLOCK + 1):
        best[block] = -1
        for cut in range(block * BLOCK, min((block + 1) * BLOCK, len(gains))):
            if after[cut] == cut and gains[cut] > 0 and (best[block] < 0 or gains[cut] > gains[best[block]]):
                best[block] = cut


@inner
def best_cut(gains, best):
    """Return the cut with the largest gain, the first of equals, or -1; `best` has that of each block, or -1."""
    chosen = np.int64(-1)
    for block in range(len(best)):
        if best[block] >= 0 and (chosen < 0 or gains[best[block]] > gains[chosen]):
            chosen = best[block]
    return chosen


@inner
def enter(weights, order, bases, k, classes, edges, which, sign, steps, after, touched):
    """Add (or, with sign -1, subtract) the gains of a class in every column, and record which cuts changed."""
    start, stop, total = classes[which, 0], classes[which, 1], classes[which, 2]
    for j in range(len(order)):
        base = bases[j]
        add_gains(weights, order, j, start, stop, total, base, sign, steps)
        first, last = rank_at(order, j, start), rank_at(order, j, stop - 1)
        edges[j, 0, which], edges[j, 1, which] = first, last
        touched[j, 0], touched[j, 1] = min(touched[j, 0], base + first), max(touched[j, 1], base + last + 1)
        if sign > 0:
            close_narrow(weights, order, j, start, stop, k, base, after)


@inner
def split_class(weights, order, classes, which, new, column, rank, spare, goes_left):
    """Divide a class at a cut; the right side becomes the class `new`."""
    start, stop, total = classes[which, 0], classes[which, 1], classes[which, 2]
    middle, left = divide(order, start, stop, column, rank, spare, goes_left), np.int64(0)
    for i in range(start, middle):
        left += weights[order[0, i] & CELL]
    classes[which, 1], classes[which, 2] = middle, left
    classes[new, 0], classes[new, 1], classes[new, 2] = middle, stop, total - left


@jit
def greedy_cuts(
    weights, order, bases, k, classes, edges, first_cuts, owners, steps, gains, after, best, spare, goes_left, chosen
):
    """Choose cuts one after another, each the allowable one with the largest gain; mark them in `chosen`.

    The cuts of `first_cuts`, which are allowable together, are made before any other. Returns the number of classes.
    `order` has the cells by rank in every column. A row of `classes` is the start, the stop and the rows of a class in
    it, the first one the whole table; `edges` are its lowest and highest ranks. `after` leads from every cut to the
    first one from it on that is not closed. Of a single column `owners` has the class of each rank.
    """
    touched = np.empty((len(order), 2), dtype=np.int64)
    touched[:, 0], touched[:, 1] = len(gains), 0
    enter(weights, order, bases, k, classes, edges, 0, 1, steps, after, touched)
    count, alone, made = 1, len(order) == 1, 0
    # Invariant: every class is a run of each row of `order`; `gains` are exact outside the range in `touched`.
    while True:
        for j in range(len(order)):
            if touched[j, 0] < touched[j, 1]:
                refresh(steps, gains, after, best, touched[j, 0], touched[j, 1], bases[j])
        touched[:, 0], touched[:, 1] = len(gains), 0
        cut = first_cuts[made] if made < len(first_cuts) else best_cut(gains, best)
        if cut < 0:
            return count
        made += 1
        chosen[cut] = True
        after[cut] = cut + 1
        column = np.searchsorted(bases, cut, side="right") - 1
        rank = cut - bases[column]
        first, end = (owners[rank], owners[rank] + 1) if alone else (0, count)
        for i in range(first, end):
            if edges[column, 0, i] <= rank and rank < edges[column, 1, i]:
                enter(weights, order, bases, k, classes, edges, i, -1, steps, after, touched)
                split_class(weights, order, classes, i, count, column, rank, spare, goes_left)
                enter(weights, order, bases, k, classes, edges, i, 1, steps, after, touched)
                enter(weights, order, bases, k, classes, edges, count, 1, steps, after, touched)
                if alone:
                    owners[rank + 1 : edges[0, 1, count] + 1] = count
                count += 1
