"""Numba kernels of strict partitioning, for models that look at class sizes alone.

A cell is one row of a matrix: the ranks of its columns as bit fields of a few words, and its number of rows last. Cells
are moved in place: a part is a contiguous run of the matrix, so the passes over it stream through memory.
`strict_any_model.py` computes the same partition in plain NumPy; `tests/laws/test_partition.py` compares both.

With n cells, d columns and a stack of s parts: `rows` and `spare` are n × (words + 1), `fields` d × 6, `stack` s × 6,
`low` and `high` s × d, `tally` counters that are zero between calls, `trees` the ancestors of every rank (all int64);
`lines`, `span` and `width` are float64. The resulting tree has `axis` (int16), `cut` and `left` (int32), each 2n, and
`stops` (int64, n).

Everything else is a 64-bit integer, and inner kernels have no wrapper for Python: both shorten the compilation at the
first call.
"""

import numpy as np

from indistinct.machine import compiled

jit = compiled.jit(error_model="numpy")
inner = compiled.inner(error_model="numpy")

LEAF = -1
# Fields of a column: its word, shift and mask, and where its line and its tree begin.
WORD, SHIFT, MASK, LINE, TREE, STRIDE = range(6)
# Fields of a part on the stack: its node, its run of cells, their rows, and a tree cut that continues in it.
NODE, START, STOP, TOTAL, AXIS, LEVEL = range(6)


@inner
def extent(rows, start, stop, fields, axis, low, high):
    """Return the smallest and largest rank of a column over a part, which are between `low` and `high`."""
    word, shift, mask = fields[axis, WORD], fields[axis, SHIFT], fields[axis, MASK]
    least, most = high, low
    # Invariant: `least` and `most` are the extremes of the cells before `start`, within `low` … `high`.
    while start < stop and (least > low or most < high):
        value = (rows[start, word] >> shift) & mask
        least = value if value < least else least
        most = value if value > most else most
        start += 1
    return least, most


@inner
def widths_of(low, high, part, fields, lines, trees, span, width, meets):
    """Write the normalized width of every column, -1 where the part is constant, and the levels where trees meet."""
    for j in range(len(fields)):
        least, most, line, stride = low[part, j], high[part, j], fields[j, LINE], fields[j, STRIDE]
        width[j] = -1.0
        if least == most:
            continue
        if stride:
            # For a tree column, `lines` holds (leaves - 1) of a rank's ancestor on each level.
            node, other, level = fields[j, TREE] + least * stride, fields[j, TREE] + most * stride, 0
            while trees[node + level] != trees[other + level]:
                level += 1
            meets[j] = level
            reach = lines[line + least * stride + level]
        else:
            reach = lines[line + most] - lines[line + least]
        width[j] = reach / span[j] if span[j] > 0 else 0.0


@inner
def widest(width):
    """Return the widest column that is still to be tried, the first of equals, or -1."""
    best = -1
    for j in range(len(width)):
        if width[j] >= 0 and (best < 0 or width[j] > width[best]):
            best = j
    return best


@inner
def count_values(rows, start, stop, fields, axis, low, high, coarse, tally):
    """Add the rows of a part by value to `tally`, which must be zero; the last `coarse` bits of a value are ignored."""
    word, shift, mask = fields[axis, WORD], fields[axis, SHIFT], fields[axis, MASK]
    last = rows.shape[1] - 1
    for i in range(start, stop):
        value = (rows[i, word] >> shift) & mask
        if low <= value and value <= high:
            tally[(value - low) >> coarse] += rows[i, last]


@inner
def value_before(rows, start, stop, fields, axis, limit):
    """Return the largest value of a part below `limit`."""
    word, shift, mask = fields[axis, WORD], fields[axis, SHIFT], fields[axis, MASK]
    best = np.int64(-1)
    for i in range(start, stop):
        value = (rows[i, word] >> shift) & mask
        best = value if best < value and value < limit else best
    return best


@inner
def median_of(rows, start, stop, fields, axis, low, high, total, tally):
    """Return (lower median of a part, rows below it, rows up to it).

    Values are counted; where there are too many, first their leading bits, then the rest of the selected ones.
    """
    half = (total + 1) >> 1
    cells_to_tally = len(tally) if len(tally) < 8 * (stop - start) else 8 * (stop - start)
    below, same, coarse = np.int64(0), np.int64(0), np.int64(64)
    # Invariant: the median is between `low` and `high`, and `below` rows are smaller than `low`; each pass narrows
    # both.
    while coarse:
        coarse = np.int64(0)
        while ((high - low) >> coarse) >= cells_to_tally:
            coarse += 1
        count_values(rows, start, stop, fields, axis, low, high, coarse, tally)
        bucket = np.int64(0)
        while below + tally[bucket] < half:
            below += tally[bucket]
            bucket += 1
        same = tally[bucket]
        for i in range(((high - low) >> coarse) + 1):
            tally[i] = 0
        low += bucket << coarse
        last = low + (1 << coarse) - 1
        high = last if last < high else high
    return low, below, below + same


@inner
def median_cut(rows, start, stop, fields, axis, low, high, total, k, tally):
    """Return the allowable cut at the two-sided median (ranks up to it go left), or -1."""
    median, below, up_to = median_of(rows, start, stop, fields, axis, low, high, total, tally)
    after_fits = up_to >= k and total - up_to >= k
    before_fits = below >= k and total - below >= k
    if after_fits and (not before_fits or abs(2 * up_to - total) <= abs(2 * below - total)):
        return median
    return value_before(rows, start, stop, fields, axis, median) if before_fits else np.int64(-1)


@inner
def children_fit(rows, start, stop, fields, axis, low, high, k, trees, node, stride, tally):
    """Return whether every child with rows has at least k of them.

    `node` is the position in `trees` of the child of `low`.
    """
    count_values(rows, start, stop, fields, axis, low, high, np.int64(0), tally)
    fits, total = True, np.int64(0)
    # Invariant: `total` are the rows so far of the child that contains rank `low + i`.
    for i in range(high - low + 1):
        if i and trees[node] != trees[node - stride]:
            fits = fits and (total == 0 or total >= k)
            total = np.int64(0)
        total += tally[i]
        tally[i] = 0
        node += stride
    return fits and (total == 0 or total >= k)


@inner
def split_rows(rows, start, stop, fields, axis, cut, spare):
    """Move cells with rank up to `cut` to the front, keeping their order; return where the others begin.

    Indices are unsigned, so that no check for negative indices is compiled.
    """
    word, shift, mask = np.uint64(fields[axis, WORD]), fields[axis, SHIFT], fields[axis, MASK]
    width = np.uint64(rows.shape[1])
    left, right = np.uint64(start), np.uint64(0)
    # Invariant: `rows[start:left]` go left, `spare[:right]` right; every cell is written to both, and one of them
    # advances.
    for i in range(np.uint64(start), np.uint64(stop)):
        goes_left = np.uint64(((rows[i, word] >> shift) & mask) <= cut)
        for j in range(width):
            value = rows[i, j]
            spare[right, j] = value
            rows[left, j] = value
        left += goes_left
        right += np.uint64(1) - goes_left
    for i in range(right):
        for j in range(width):
            rows[left + i, j] = spare[i, j]
    return np.int64(left)


@inner
def narrow(rows, start, stop, fields, part, low, high):
    """Write the lowest and highest rank of a part in every column."""
    for j in range(len(fields)):
        if low[part, j] < high[part, j]:
            low[part, j], high[part, j] = extent(rows, start, stop, fields, j, low[part, j], high[part, j])


@inner
def cut_that_goes_on(rows, part, fields, trees, stack, low, high):
    """Return the axis of a tree cut that continues with the siblings of its first child, and their lowest rank.

    The axis is -1 if there is no such cut.
    """
    axis, start, stop = stack[part, AXIS], stack[part, START], stack[part, STOP]
    if axis < 0:
        return axis, np.int64(0)
    least, most = extent(rows, start, stop, fields, axis, low[part, axis], high[part, axis])
    position, stride = fields[axis, TREE] + stack[part, LEVEL], fields[axis, STRIDE]
    several = trees[position + least * stride] != trees[position + most * stride]
    return (axis if several else np.int64(-1)), least


@inner
def end_of_child(fields, trees, axis, level, rank):
    """Return the last rank of the node above a rank on a level."""
    position, stride = fields[axis, TREE] + level, fields[axis, STRIDE]
    last = rank
    while trees[position + (last + 1) * stride] == trees[position + rank * stride]:
        last += 1
    return last


@inner
def open_sides(rows, part, nodes, middle, axis, cut, level, stack, low, high):
    """Push the two sides of a divided part on the stack, the left one on top; return the new depth."""
    for j in range(low.shape[1]):
        low[part + 1, j], high[part + 1, j] = low[part, j], high[part, j]
    low[part, axis], high[part + 1, axis] = cut + 1, cut
    smaller, start = np.int64(0), stack[part, START]
    for i in range(start, middle):
        smaller += rows[i, -1]
    left = part + 1
    stack[left, NODE], stack[left, START], stack[left, STOP] = nodes, start, middle
    stack[left, TOTAL], stack[left, AXIS], stack[left, LEVEL] = smaller, -1, -1
    stack[part, NODE], stack[part, START], stack[part, TOTAL] = nodes + 1, middle, stack[part, TOTAL] - smaller
    stack[part, AXIS], stack[part, LEVEL] = axis if level >= 0 else -1, level
    return part + 2


@jit
def partition_strict(
    rows, k, grain, fields, lines, trees, span, stack, low, high, width, meets, spare, tally, axis, cut, left, stops
):
    """Partition all cells; write the tree of cuts and return its number of nodes, or -1 if the stack is full.

    Node 0 is the root, and the children of an inner node are `left` and the one after it. A leaf has axis -1, its
    number from the left in `left`, and its run of cells ends at `stops` of that number. Parts of fewer than `grain`
    cells are left as leaves for another call. The first rows of `stack`, `low` and `high` describe the whole.
    """
    depth, nodes, leaves = 1, 1, 0
    # Invariant: parts on the stack are runs of `rows`, the leftmost on top; everything left of them is leaves already.
    while depth:
        depth -= 1
        start, stop, total = stack[depth, START], stack[depth, STOP], stack[depth, TOTAL]
        chosen, least = cut_that_goes_on(rows, depth, fields, trees, stack, low, high)
        level, threshold = stack[depth, LEVEL], np.int64(-1)
        if chosen < 0 and total >= 2 * k and stop - start > 1 and stop - start >= grain:
            narrow(rows, start, stop, fields, depth, low, high)
            widths_of(low, high, depth, fields, lines, trees, span, width, meets)
            tried = widest(width)
            while tried >= 0 and chosen < 0:
                least, most, level, stride = low[depth, tried], high[depth, tried], np.int64(-1), fields[tried, STRIDE]
                if stride:
                    level = meets[tried] - 1
                    position = fields[tried, TREE] + least * stride + level
                    if children_fit(rows, start, stop, fields, tried, least, most, k, trees, position, stride, tally):
                        chosen = tried
                else:
                    threshold = median_cut(rows, start, stop, fields, tried, least, most, total, k, tally)
                    chosen = tried if threshold >= 0 else chosen
                width[tried] = -1.0
                tried = widest(width)
        node = stack[depth, NODE]
        axis[node], cut[node] = chosen, 0
        if chosen < 0:
            left[node], stops[leaves] = leaves, stop
            leaves += 1
            continue
        if depth + 2 > len(stack):
            return -1
        if level >= 0:  # the first child, up to its last rank, is separated from its siblings
            threshold = end_of_child(fields, trees, chosen, level, least)
        cut[node], left[node] = threshold, nodes
        middle = split_rows(rows, start, stop, fields, chosen, threshold, spare)
        depth = open_sides(rows, depth, nodes, middle, chosen, threshold, level, stack, low, high)
        nodes += 2
    return nodes
