"""Numba kernels of strict partitioning, for models that look at class sizes alone.

Cells lie in one row-major matrix of ranks and are moved in place: a part is a contiguous run of rows, so the passes
over it stream through memory. `rounds.py` computes the same partition for any model in plain NumPy and is the
twin that these kernels are checked against.
"""

import numba as nb
import numpy as np

jit = nb.njit(cache=True, nogil=True)

LEAF = -1
# Up to this many cells a part's median is found by insertion sort: counters would have to be cleared and scanned.
FEW = 12


@jit
def lca_level(table, offset, stride, low, high):
    """Return the lowest level on which two depth-first ranks of a tree column meet."""
    level = 0
    while level < stride - 1 and table[offset + low * stride + level] != table[offset + high * stride + level]:
        level += 1
    return level


@jit
def extent_of(ranks, start, stop, low, high):
    """Write the smallest and largest rank of every column over a part."""
    columns = ranks.shape[1]
    for j in range(columns):
        low[j] = ranks[start, j]
        high[j] = ranks[start, j]
    for i in range(start + 1, stop):
        for j in range(columns):
            value = ranks[i, j]
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)


@jit
def widths_of(low, high, trees, tree_offset, tree_stride, lines, line_offset, span, width):
    """Write the normalized width of every column; negative where the part is constant."""
    for j in range(len(low)):
        if low[j] == high[j]:
            width[j] = -1.0
        elif tree_stride[j]:
            # `lines` holds, for a tree column, (leaves - 1) of a rank's ancestor on each level.
            level = lca_level(trees, tree_offset[j], tree_stride[j], low[j], high[j])
            width[j] = lines[line_offset[j] + low[j] * tree_stride[j] + level] / span[j] if span[j] > 0 else 0.0
        else:
            reach = lines[line_offset[j] + high[j]] - lines[line_offset[j] + low[j]]
            width[j] = reach / span[j] if span[j] > 0 else 0.0


@jit
def widest(width):
    """Return the widest column that is still to be tried, the first of equals, or -1."""
    best = -1
    for j in range(len(width)):
        if width[j] >= 0 and (best < 0 or width[j] > width[best]):
            best = j
    return best


@jit
def count_values(ranks, weights, start, stop, axis, low, tally):
    """Add the weights of a part by value into `tally`, which must be zero."""
    for i in range(start, stop):
        tally[ranks[i, axis] - low] += weights[i]


@jit
def median_by_counting(tally, size, half):
    """Return (median, rows up to it, rows below it, the value before it or -1), as offsets."""
    below = np.int64(0)
    before = -1
    for value in range(size):
        if tally[value]:
            if below + tally[value] >= half:
                return value, below + tally[value], below, before
            below += tally[value]
            before = value
    return -1, below, below, before


@jit
def median_by_selection(ranks, weights, start, stop, axis, half, keys):
    """Return (median, rows up to it, rows below it, the value before it or -1), by weighted quickselect."""
    count = stop - start
    for i in range(count):
        keys[i] = (np.uint64(ranks[start + i, axis]) << np.uint64(32)) | np.uint64(i)
    low, high = 0, count
    settled = np.int64(0)  # rows known to lie below keys[low:high]
    while True:
        pivot = keys[(low + high) >> 1] >> np.uint64(32)
        less, same = low, low
        below, equal = np.int64(0), np.int64(0)
        for i in range(low, high):  # three-way: less | equal | greater
            key = keys[i]
            value = key >> np.uint64(32)
            if value < pivot:
                below += weights[start + np.int64(key & np.uint64(0xFFFFFFFF))]
                keys[i] = keys[same]
                keys[same] = keys[less]
                keys[less] = key
                less += 1
                same += 1
            elif value == pivot:
                equal += weights[start + np.int64(key & np.uint64(0xFFFFFFFF))]
                keys[i] = keys[same]
                keys[same] = key
                same += 1
        if settled + below >= half:
            high = less
        elif settled + below + equal >= half:
            before = np.int64(-1)
            for i in range(less):
                before = max(before, np.int64(keys[i] >> np.uint64(32)))
            return np.int64(pivot), settled + below + equal, settled + below, before
        else:
            settled += below + equal
            low = same


@jit
def split_rows(ranks, weights, start, stop, axis, cut, spare_ranks, spare_weights):
    """Move rows with rank up to `cut` to the front, keeping their order; return where the others begin."""
    columns = ranks.shape[1]
    left, right = start, 0
    for i in range(start, stop):
        goes_left = ranks[i, axis] <= cut
        for j in range(columns):
            value = ranks[i, j]
            spare_ranks[right, j] = value
            ranks[left, j] = value
        weight = weights[i]
        spare_weights[right] = weight
        weights[left] = weight
        left += goes_left
        right += not goes_left
    for i in range(right):
        for j in range(columns):
            ranks[left + i, j] = spare_ranks[i, j]
        weights[left + i] = spare_weights[i]
    return left


@jit
def median_of_few(ranks, weights, start, stop, axis, half, keys):
    """Return (median, rows up to it, rows below it, the value before it or -1), by insertion sort."""
    count = stop - start
    for i in range(count):
        key = (np.uint64(ranks[start + i, axis]) << np.uint64(32)) | np.uint64(i)
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key
    below, same = np.int64(0), np.int64(0)
    before, value = np.int64(-1), np.int64(keys[0] >> np.uint64(32))
    for i in range(count):
        current = np.int64(keys[i] >> np.uint64(32))
        if current != value:
            if below + same >= half:
                break
            below += same
            same = np.int64(0)
            before, value = value, current
        same += weights[start + np.int64(keys[i] & np.uint64(0xFFFFFFFF))]
    return value, below + same, below, before


@jit
def median_cut(ranks, weights, start, stop, axis, total, k, low, high, tally, keys):
    """Return the allowable cut at the two-sided median, or -1: rows with rank up to it go left."""
    half = (total + 1) >> 1
    size = np.int64(high) - np.int64(low) + 1
    if stop - start <= FEW:
        median, up_to, below, before = median_of_few(ranks, weights, start, stop, axis, half, keys)
    elif size <= 8 * (stop - start) and size <= len(tally):
        count_values(ranks, weights, start, stop, axis, low, tally)
        median, up_to, below, before = median_by_counting(tally, size, half)
        tally[:size] = 0
        median += np.int64(low)
        before = before + np.int64(low) if before >= 0 else np.int64(-1)
    else:
        median, up_to, below, before = median_by_selection(ranks, weights, start, stop, axis, half, keys)
    after_fits = up_to >= k and total - up_to >= k
    before_fits = below >= k and total - below >= k
    if after_fits and (not before_fits or abs(2 * up_to - total) <= abs(2 * below - total)):
        return np.int64(median)
    return np.int64(before) if before_fits else np.int64(-1)


@jit
def children_fit(ranks, weights, start, stop, axis, k, low, high, trees, offset, stride, tally):
    """Return whether every child of a tree column's part that has rows has at least k of them."""
    level = lca_level(trees, offset, stride, low, high) - 1
    count_values(ranks, weights, start, stop, axis, low, tally)
    fits = True
    total = np.int64(0)
    for value in range(np.int64(high) - np.int64(low) + 1):
        if (
            value
            and trees[offset + (low + value) * stride + level] != trees[offset + (low + value - 1) * stride + level]
        ):
            fits = fits and (total == 0 or total >= k)
            total = 0
        total += tally[value]
        tally[value] = 0
    return fits and (total == 0 or total >= k)


@jit
def first_child_end(trees, offset, stride, low, high):
    """Return the last rank of the child that holds `low`, below the node where `low` and `high` meet."""
    level = lca_level(trees, offset, stride, low, high) - 1
    child = trees[offset + low * stride + level]
    end = np.int64(low)
    while trees[offset + (end + 1) * stride + level] == child:
        end += 1
    return end


@jit
def grown(stack):
    """Return a copy of a stack with twice the room."""
    larger = np.empty((2 * len(stack), stack.shape[1]), dtype=stack.dtype)
    for i in range(len(stack)):  # assigning a slice would compile NumPy's whole error message for shapes
        for j in range(stack.shape[1]):
            larger[i, j] = stack[i, j]
    return larger


@jit
def partition_strict(
    ranks, weights, first, last, k, grain, shape, axis, cut, left, right, spare_ranks, spare_weights, tally, keys
):
    """Partition rows `first:last`; write the tree of cuts and return its number of nodes.

    Node 0 is the root. A leaf has axis -1 and its run of rows in `left` and `right`. Parts of fewer than `grain`
    rows of the matrix are left as leaves for another call.
    """
    trees, tree_offset, tree_stride, lines, line_offset, span = shape
    columns = ranks.shape[1]
    low = np.empty(columns, dtype=np.uint32)
    high = np.empty(columns, dtype=np.uint32)
    width = np.empty(columns, dtype=np.float64)
    stack = np.empty((256, 5), dtype=np.int64)  # node, start, stop, pending tree axis or -1, its last rank
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4] = 0, first, last, -1, 0
    depth, nodes = 1, 1
    while depth:
        depth -= 1
        node, start, stop = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        tree_axis, tree_end = stack[depth, 3], stack[depth, 4]
        chosen, threshold = -1, np.int64(-1)
        pending = np.int64(-1)
        if tree_axis >= 0:
            chosen, threshold, pending = tree_axis, tree_end, tree_axis
        elif stop - start > 1 and stop - start >= grain:
            total = np.int64(0)
            for i in range(start, stop):
                total += weights[i]
            if total >= 2 * k:
                extent_of(ranks, start, stop, low, high)
                widths_of(low, high, trees, tree_offset, tree_stride, lines, line_offset, span, width)
                tried = widest(width)
                while tried >= 0:
                    if tree_stride[tried]:
                        if children_fit(
                            ranks,
                            weights,
                            start,
                            stop,
                            tried,
                            k,
                            low[tried],
                            high[tried],
                            trees,
                            tree_offset[tried],
                            tree_stride[tried],
                            tally,
                        ):
                            chosen, pending = tried, tried
                            threshold = first_child_end(
                                trees,
                                tree_offset[tried],
                                tree_stride[tried],
                                low[tried],
                                high[tried],
                            )
                            break
                    else:
                        threshold = median_cut(
                            ranks,
                            weights,
                            start,
                            stop,
                            tried,
                            total,
                            k,
                            low[tried],
                            high[tried],
                            tally,
                            keys,
                        )
                        if threshold >= 0:
                            chosen = tried
                            break
                    width[tried] = -1.0
                    tried = widest(width)
        if chosen < 0:
            axis[node], left[node], right[node] = LEAF, start, stop
            continue
        middle = split_rows(ranks, weights, start, stop, chosen, threshold, spare_ranks, spare_weights)
        axis[node], cut[node], left[node], right[node] = chosen, threshold, nodes, nodes + 1
        next_axis, next_end = np.int64(-1), np.int64(0)
        if pending >= 0:  # a tree cut goes on with the sisters of the first child
            next_axis, next_end = next_sister(ranks, middle, stop, pending, threshold, shape)
        if depth + 2 > len(stack):
            stack = grown(stack)
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = nodes + 1, middle, stop
        stack[depth, 3], stack[depth, 4] = next_axis, next_end
        stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2], stack[depth + 1, 3] = nodes, start, middle, -1
        depth += 2
        nodes += 2
    return nodes


@jit
def next_sister(ranks, start, stop, axis, before, shape):
    """Return (axis, last rank of the next child) while the rows right of a tree cut hold several children."""
    trees, tree_offset, tree_stride = shape[0], shape[1], shape[2]
    low, high = ranks[start, axis], ranks[start, axis]
    for i in range(start + 1, stop):
        low, high = min(low, ranks[i, axis]), max(high, ranks[i, axis])
    stride, offset = tree_stride[axis], tree_offset[axis]
    # The children of one cut lie on the level just below where the first child and its last sister meet.
    level = lca_level(trees, offset, stride, np.uint32(before), high) - 1
    if trees[offset + low * stride + level] == trees[offset + high * stride + level]:
        return np.int64(-1), np.int64(0)
    end = np.int64(low)
    child = trees[offset + low * stride + level]
    while trees[offset + (end + 1) * stride + level] == child:
        end += 1
    return np.int64(axis), end


@jit
def boxes_of(ranks, weights, starts, stops, low, high, sizes):
    """Write the smallest and largest rank of every column and the number of rows of each leaf."""
    for leaf in range(len(starts)):
        extent_of(ranks, starts[leaf], stops[leaf], low[leaf], high[leaf])
        total = np.int64(0)
        for i in range(starts[leaf], stops[leaf]):
            total += weights[i]
        sizes[leaf] = total
