"""Numba kernels of strict partitioning, for models that look at class sizes alone.

A cell is one row of a matrix: the ranks of its columns as bit fields of a few words, and its number of rows last. Cells
are moved in place: a part is a contiguous run of the matrix, so the passes over it stream through memory.
`strict_any_model.py` computes the same partition in plain NumPy and is the twin that these kernels are checked against,
in `tests/laws/test_partition.py`.

With n cells, d columns and a stack of s parts: `rows` and `spare` are n × (words + 1), `fields` d × 6, `stack` s × 6,
`low` and `high` s × d, `tally` counters that are zero between calls, `trees` the ancestors of every rank (all int64);
`lines`, `span` and `width` are float64. Of the tree that is written, `axis` is int16, `cut` and `left` are int32 (2n),
`stops` int64 (n).

Everything else is a 64-bit integer and inner kernels have no wrapper for Python: both keep the first call short, which
has to compile them.
"""

import numpy as np

from indistinct.machine import compiled

jit = compiled.jit(error_model="numpy")
inner = compiled.inner(error_model="numpy")

LEAF = -1
# What a row of `fields` says of a column: its word, shift and mask, and where its line and its tree begin.
WORD, SHIFT, MASK, LINE, TREE, STRIDE = range(6)
# What a row of the stack says of a part: its node, its run of cells, their rows, and the tree cut that goes on in it.
NODE, START, STOP, TOTAL, AXIS, LEVEL = range(6)


@inner
def extent(rows, start, stop, fields, axis, low, high):
    """Return the smallest and largest rank of a column over a part, which lie between `low` and `high`."""
    word, shift, mask = fields[axis, WORD], fields[axis, SHIFT], fields[axis, MASK]
    least, most = high, low
    # `least` and `most` are the extremes of the cells before `start`; they cannot leave `low` … `high`.
    while start < stop and (least > low or most < high):
        value = (rows[start, word] >> shift) & mask
        least = value if value < least else least
        most = value if value > most else most
        start += 1
    return least, most


@inner
def widths_of(low, high, part, fields, lines, trees, span, width, meets):
    """Write the normalized width of every column, negative where the part is constant, and where trees meet."""
    for j in range(len(fields)):
        least, most, line, stride = low[part, j], high[part, j], fields[j, LINE], fields[j, STRIDE]
        width[j] = -1.0
        if least == most:
            continue
        if stride:
            # `lines` holds, for a tree column, (leaves - 1) of a rank's ancestor on each level.
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
    """Add the rows of a part by value into `tally`, which must be zero; `coarse` bits of a value do not matter."""
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
    """Return the lower median of a part, and the rows below it and up to it.

    Values are counted; where there are too many of them the leading bits are, and then what is left of the others.
    """
    half = (total + 1) >> 1
    room = len(tally) if len(tally) < 8 * (stop - start) else 8 * (stop - start)
    below, same, coarse = np.int64(0), np.int64(0), np.int64(64)
    # The median lies between `low` and `high`, and `below` rows lie before `low`; each pass narrows both.
    while coarse:
        coarse = np.int64(0)
        while ((high - low) >> coarse) >= room:
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
    """Return the allowable cut at the two-sided median, or -1: rows with rank up to it go left."""
    median, below, up_to = median_of(rows, start, stop, fields, axis, low, high, total, tally)
    after_fits = up_to >= k and total - up_to >= k
    before_fits = below >= k and total - below >= k
    if after_fits and (not before_fits or abs(2 * up_to - total) <= abs(2 * below - total)):
        return median
    return value_before(rows, start, stop, fields, axis, median) if before_fits else np.int64(-1)


@inner
def children_fit(rows, start, stop, fields, axis, low, high, k, trees, node, stride, tally):
    """Return whether every child that has rows has at least k of them; `node` is where the child of `low` stands."""
    count_values(rows, start, stop, fields, axis, low, high, np.int64(0), tally)
    fits, total = True, np.int64(0)
    # `total` are the rows of the child that rank `low + i` belongs to, so far.
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

    Unsigned indices need no check for being counted from the end.
    """
    word, shift, mask = np.uint64(fields[axis, WORD]), fields[axis, SHIFT], fields[axis, MASK]
    width = np.uint64(rows.shape[1])
    left, right = np.uint64(start), np.uint64(0)
    # `rows[start:left]` go left, `spare[:right]` right; every cell is written to both, and one of them advances.
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
    """Write between which ranks a part lies in every column."""
    for j in range(len(fields)):
        if low[part, j] < high[part, j]:
            low[part, j], high[part, j] = extent(rows, start, stop, fields, j, low[part, j], high[part, j])


@inner
def cut_that_goes_on(rows, part, fields, trees, stack, low, high):
    """Return the axis of a tree cut that goes on with the sisters of its first child, and their lowest rank, or -1."""
    axis, start, stop = stack[part, AXIS], stack[part, START], stack[part, STOP]
    if axis < 0:
        return axis, np.int64(0)
    least, most = extent(rows, start, stop, fields, axis, low[part, axis], high[part, axis])
    place, stride = fields[axis, TREE] + stack[part, LEVEL], fields[axis, STRIDE]
    several = trees[place + least * stride] != trees[place + most * stride]
    return (axis if several else np.int64(-1)), least


@inner
def end_of_child(fields, trees, axis, level, rank):
    """Return the last rank of the node that a rank has on a level."""
    place, stride = fields[axis, TREE] + level, fields[axis, STRIDE]
    last = rank
    while trees[place + (last + 1) * stride] == trees[place + rank * stride]:
        last += 1
    return last


@inner
def open_sides(rows, part, nodes, middle, axis, cut, level, stack, low, high):
    """Put the two sides of a cut part on the stack, the left one on top; return its new depth."""
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
    # Parts on the stack are runs of `rows`, the leftmost on top; those to its left are leaves already.
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
                    place = fields[tried, TREE] + least * stride + level
                    if children_fit(rows, start, stop, fields, tried, least, most, k, trees, place, stride, tally):
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
        if level >= 0:  # the first child, up to its last rank, parts from its sisters
            threshold = end_of_child(fields, trees, chosen, level, least)
        cut[node], left[node] = threshold, nodes
        middle = split_rows(rows, start, stop, fields, chosen, threshold, spare)
        depth = open_sides(rows, depth, nodes, middle, chosen, threshold, level, stack, low, high)
        nodes += 2
    return nodes
