"""Numba kernels of microaggregation: distances between mixed rows, centers, and classes of nearest rows.

A *point* has `numbers` (points × a, float64, NaN where missing) and category `codes` (points × b, int32); points are
cells or the centers of classes. `Space` defines the distance between points. `left` (int64) counts the rows of each
cell that are not in a class yet; `alive` (int64) lists the cells with such rows, ascending; `marks` holds the number of
these cells and other counters. `tests/oracle/test_mdav.py` compares with plain Python over rows.
"""

from collections import namedtuple

import numpy as np

from indistinct.machine.compiled import inner, jit

Space = namedtuple("Space", ["scale", "unknown", "ancestors", "offsets", "strides", "steps"])
"""Distances: a difference of numbers is multiplied by `scale`.

`unknown` is the squared distance to a missing number.
"""

# Entries of `marks`: cells alive, rows left, pieces written, classes made.
ALIVE, ROWS, PIECES, CLASSES = 0, 1, 2, 3


@inner
def name_distance(space, j, one, other):
    """Return the distance of two codes in category column j, given by the level on which their ancestors meet."""
    if one == other:
        return 0.0
    offset, stride = space.offsets[j], space.strides[j]
    level = 0
    # Invariant: below `level` the two codes have different ancestors.
    while space.ancestors[offset + one * stride + level] != space.ancestors[offset + other * stride + level]:
        level += 1
    return space.steps[j, level]


@inner
def distance(space, numbers, codes, i, others, other_codes, k):
    """Return the squared distance between point i of one list and point k of another."""
    total = 0.0
    for j in range(numbers.shape[1]):
        one, other = numbers[i, j], others[k, j]
        if np.isnan(one) or np.isnan(other):
            if np.isnan(one) != np.isnan(other):
                total += space.unknown[j]
        else:
            apart = (one - other) * space.scale[j]
            total += apart * apart
    for j in range(codes.shape[1]):
        apart = name_distance(space, j, codes[i, j], other_codes[k, j])
        total += apart * apart
    return total


@inner
def find_medoid(space, j, counts, nodes):
    """Return the code of a category column that is nearest to all rows, the first of equals.

    `counts` are rows by code.

    `nodes` (levels × codes, int64) is scratch. Sums are of whole levels, so that equal distances are exactly equal.
    """
    offset, stride = space.offsets[j], space.strides[j]
    for code in range(len(counts)):
        for level in range(stride):
            nodes[level, space.ancestors[offset + code * stride + level]] = 0
    for code in range(len(counts)):
        if counts[code]:
            for level in range(stride):
                nodes[level, space.ancestors[offset + code * stride + level]] += counts[code]
    best, least = np.int64(0), np.int64(-1)
    for code in range(len(counts)):
        if counts[code]:
            total, below = np.int64(0), counts[code]
            # `below` rows have an ancestor in common with the code below `level`.
            for level in range(1, stride):
                here = nodes[level, space.ancestors[offset + code * stride + level]]
                total += (here - below) * level
                below = here
            if least < 0 or total < least:
                best, least = np.int64(code), total
    return best


@inner
def find_center(space, sums, known, tally, sizes, rows, nodes, centre, centre_codes):
    """Write the center of `rows` rows: the mean of every number and the medoid of every category column."""
    for j in range(len(sums)):
        # Where most rows lack a number, the center lacks it too.
        centre[0, j] = sums[j] / known[j] if 2 * known[j] >= rows and known[j] else np.nan
    for j in range(len(sizes)):
        centre_codes[0, j] = find_medoid(space, j, tally[j, : sizes[j]], nodes)


@inner
def find_farthest(space, numbers, codes, alive, count, centre, centre_codes):
    """Return the cell that is farthest from the center, the first of equals."""
    best, most = alive[0], -1.0
    for index in range(count):
        apart = distance(space, numbers, codes, alive[index], centre, centre_codes, 0)
        if apart > most:
            best, most = alive[index], apart
    return best


@inner
def find_nearest_rows(space, numbers, codes, left, alive, count, r, k, far, near, apart):
    """Write the cells of the k rows nearest to cell r into `near`, nearest first; return their number.

    `far` gets the distance of every cell. Equally near cells come in their order.
    """
    size, rows = 0, 0
    for index in range(count):
        cell = alive[index]
        away = distance(space, numbers, codes, cell, numbers, codes, r)
        far[cell] = away
        if rows >= k and away >= apart[size - 1]:
            continue
        at = size
        while at > 0 and apart[at - 1] > away:
            near[at], apart[at] = near[at - 1], apart[at - 1]
            at -= 1
        near[at], apart[at] = cell, away
        size += 1
        rows += left[cell]
        # The farthest cell is dropped once the others have k rows.
        while size > 1 and rows - left[near[size - 1]] >= k:
            size -= 1
            rows -= left[near[size]]
    return size


@inner
def take_rows(numbers, codes, left, near, size, k, whole, sums, known, tally, marks, pieces):
    """Make a class of k rows of the given cells, or of all their rows if `whole`; subtract them from all sums."""
    wanted = k
    for at in range(size):
        cell = near[at]
        rows = left[cell] if whole else min(left[cell], wanted)
        wanted -= rows
        left[cell] -= rows
        for j in range(numbers.shape[1]):
            if not np.isnan(numbers[cell, j]):
                sums[j] -= rows * numbers[cell, j]
                known[j] -= rows
        for j in range(codes.shape[1]):
            tally[j, codes[cell, j]] -= rows
        entry = marks[PIECES]
        pieces[0, entry], pieces[1, entry], pieces[2, entry] = cell, rows, marks[CLASSES]
        marks[PIECES] += 1
        marks[ROWS] -= rows
    marks[CLASSES] += 1


@inner
def drop_empty(left, alive, marks):
    """Remove cells without rows from the list `alive`."""
    kept = 0
    for index in range(marks[ALIVE]):
        if left[alive[index]]:
            alive[kept] = alive[index]
            kept += 1
    marks[ALIVE] = kept


@jit
def make_classes(space, numbers, codes, sizes, left, k, whole, state, marks, pieces, turns):
    """Make up to `turns` pairs of classes.

    Around the row farthest from the center, and around the row farthest from that.

    `state` holds the sums and counts of known numbers, rows by category, scratch as long as the cells, and a center.
    """
    sums, known, tally, nodes, alive, far, near, apart, centre, centre_codes = state
    while turns > 0 and marks[ROWS] >= 2 * k:
        turns -= 1
        find_center(space, sums, known, tally, sizes, marks[ROWS], nodes, centre, centre_codes)
        r = find_farthest(space, numbers, codes, alive, marks[ALIVE], centre, centre_codes)
        both = marks[ROWS] >= 3 * k
        size = find_nearest_rows(space, numbers, codes, left, alive, marks[ALIVE], r, k, far, near, apart)
        take_rows(numbers, codes, left, near, size, k, whole, sums, known, tally, marks, pieces)
        drop_empty(left, alive, marks)
        if not both or marks[ROWS] < 2 * k:
            continue
        s, most = alive[0], -1.0
        for index in range(marks[ALIVE]):
            if far[alive[index]] > most:
                s, most = alive[index], far[alive[index]]
        size = find_nearest_rows(space, numbers, codes, left, alive, marks[ALIVE], s, k, far, near, apart)
        take_rows(numbers, codes, left, near, size, k, whole, sums, known, tally, marks, pieces)
        drop_empty(left, alive, marks)
    if marks[ROWS] and marks[ROWS] < 2 * k:
        if marks[ROWS] < k and marks[CLASSES]:  # whole cells took more than k rows: the remaining rows join them
            marks[CLASSES] -= 1
        take_rows(numbers, codes, left, alive, marks[ALIVE], marks[ROWS], True, sums, known, tally, marks, pieces)
        marks[ALIVE] = 0


@jit
def centres_of(space, numbers, codes, sizes, cells, counts, starts, tally, nodes, centres, centre_codes):
    """Write the center of every class; class c has the pieces `cells[starts[c]:starts[c + 1]]` with rows `counts`."""
    sums, known = np.zeros(numbers.shape[1]), np.zeros(numbers.shape[1], dtype=np.int64)
    for c in range(len(starts) - 1):
        sums[:], known[:], tally[:], rows = 0.0, 0, 0, np.int64(0)
        for entry in range(starts[c], starts[c + 1]):
            cell, some = cells[entry], counts[entry]
            rows += some
            for j in range(numbers.shape[1]):
                if not np.isnan(numbers[cell, j]):
                    sums[j] += some * numbers[cell, j]
                    known[j] += some
            for j in range(codes.shape[1]):
                tally[j, codes[cell, j]] += some
        find_center(space, sums, known, tally, sizes, rows, nodes, centres[c : c + 1], centre_codes[c : c + 1])


@jit
def find_nearest_classes(space, centres, centre_codes, some, nearest):
    """Write for each class in `some` the class with the nearest center, the first of equals."""
    for at in range(len(some)):
        best, least = np.int64(-1), np.inf
        for other in range(len(centres)):
            if other != some[at]:
                apart = distance(space, centres, centre_codes, other, centres, centre_codes, some[at])
                if apart < least:
                    best, least = other, apart
        nearest[at] = best
