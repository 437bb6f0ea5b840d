"""Numba kernels of bucketization: Anatomy's groups of distinct sensitive values, and slicing's partition of tuples.

Anatomy: the rows are sorted by sensitive value; value v has rows `starts[v]:starts[v + 1]` (`starts` is int64),
`sequence` (rows, int32) is the group of each row, `heap` and `taken` hold int64 entries that pack (rows left, value).
Slicing: `lines` holds `ranks` (cells × attributes, uint32) and, concatenated over attributes, the positions `places`
(float64) that begin at `offsets` (int64), with total widths `spans` (float64). `links` holds for each cell its rows
`weights` (int64), its known `parts` (cells × sensitive attributes), and its `combinations` as compressed sparse rows.
`order` (int64) is a permutation of the cells; a bucket is a contiguous run of it. `tests/references/buckets.py` has the
same definitions in plain Python; `tests/laws/test_buckets.py` compares them.
"""

import numpy as np

from indistinct.machine.compiled import jit

# Bins of one pass of the median search; a domain with more values takes several passes.
BINS = 1024


@jit
def sift_down(heap, size, place):
    """Move the entry at `place` of a max-heap down until the heap is in order."""
    entry = heap[place]
    # Below `place` the heap is in order; the hole at `place` waits for `entry`.
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= entry:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = entry


@jit
def draw_groups(starts, l, heap, taken, sequence):
    """Form groups of `l` distinct values, always from the `l` values with most rows left.

    Return the number of groups.

    `sequence[starts[v]:starts[v + 1]]` gets the groups of the rows of value `v`, ascending. A heap entry is (rows left,
    reversed value): of equals the smaller value comes first. Entries of leftover rows are not changed.
    """
    size = 0
    last = np.int64(len(starts) - 2)
    for value in range(len(starts) - 1):
        if starts[value + 1] > starts[value]:
            heap[size] = (np.int64(starts[value + 1] - starts[value]) << 32) | (last - value)
            size += 1
    for index in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, index)
    groups = 0
    # Invariant: the heap holds every value with rows left; each round takes one row of its l largest.
    while size >= l:
        for i in range(l):
            taken[i] = heap[0]
            size -= 1
            heap[0] = heap[size]
            sift_down(heap, size, 0)
        for i in range(l):
            value = last - (taken[i] & 0xFFFFFFFF)
            left = taken[i] >> 32
            sequence[starts[value + 1] - left] = groups
            if left > 1:
                # A new last entry can only rise: swap it up.
                index = size
                entry = taken[i] - (np.int64(1) << 32)
                while index > 0 and heap[(index - 1) >> 1] < entry:
                    heap[index] = heap[(index - 1) >> 1]
                    index = (index - 1) >> 1
                heap[index] = entry
                size += 1
        groups += 1
    return groups


@jit
def place_leftovers(starts, sequence, groups):
    """Put each leftover row (group -1) into the first group that lacks its value; return whether all were placed."""
    for value in range(len(starts) - 1):
        free = 0  # the groups of a value's rows ascend, so the first gap is a group without it
        for i in range(starts[value], starts[value + 1]):
            if sequence[i] == free:
                free += 1
            elif sequence[i] < 0:
                if free >= groups:
                    return False
                sequence[i] = free
                free += 1
    return True


@jit
def deal_labels(values, places, sequence, class_ids):
    """Give every row the next group of its value; the groups of value `v` are listed from `places[v]` on."""
    for i in range(len(values)):
        value = values[i]
        class_ids[i] = sequence[places[value]]
        places[value] += 1


@jit
def measure_widths(lines, order, start, stop, low, high, width):
    """Write the lowest and highest rank and the normalized width of every attribute over a bucket.

    -1 if it is constant.
    """
    ranks, positions, offsets, spans = lines
    attributes = ranks.shape[1]
    for j in range(attributes):
        low[j] = ranks[order[start], j]
        high[j] = low[j]
    for i in range(start + 1, stop):
        cell = order[i]
        for j in range(attributes):
            value = ranks[cell, j]
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)
    for j in range(attributes):
        reach = positions[offsets[j] + high[j]] - positions[offsets[j] + low[j]]
        width[j] = (reach / spans[j] if spans[j] > 0 else 0.0) if low[j] < high[j] else -1.0


@jit
def widest(width):
    """Return the attribute with the largest width, the first of equals; -1 if none is left to try."""
    best = -1
    for j in range(len(width)):
        if width[j] >= 0 and (best < 0 or width[j] > width[best]):
            best = j
    return best


@jit
def median_of(ranks, weights, order, start, stop, axis, low, high, half, tally):
    """Return (median, rows up to it, rows below it), counted in bins that narrow until a bin is one value."""
    below = np.int64(0)
    first, last = np.int64(low), np.int64(high)
    # Invariant: the median is from `first` to `last`, and `below` rows are smaller than `first`.
    while True:
        bins = min(np.int64(len(tally)), max(np.int64(16), 2 * np.int64(stop - start)))
        shift = np.int64(0)
        while ((last - first) >> shift) >= bins:
            shift += 1
        for i in range(((last - first) >> shift) + 1):
            tally[i] = 0
        for i in range(start, stop):
            value = np.int64(ranks[order[i], axis])
            if first <= value <= last:
                tally[(value - first) >> shift] += weights[order[i]]
        position = 0
        while below + tally[position] < half:
            below += tally[position]
            position += 1
        first += np.int64(position) << shift
        last = min(last, first + (np.int64(1) << shift) - 1)
        if shift == 0:
            return first, below + tally[position], below


@jit
def choose_cut(ranks, weights, order, start, stop, axis, low, high, size, tally):
    """Return the rank at the two-sided median (ranks up to it go left).

    -1 if a side would have fewer than `size` rows.
    """
    total = np.int64(0)
    for i in range(start, stop):
        total += weights[order[i]]
    median, up_to, below = median_of(ranks, weights, order, start, stop, axis, low, high, (total + 1) >> 1, tally)
    after = up_to >= size and total - up_to >= size
    before = below >= size and total - below >= size
    if after and (not before or abs(2 * up_to - total) <= abs(2 * below - total)):
        return median
    return median - 1 if before else np.int64(-1)


@jit
def split_order(ranks, order, start, stop, axis, cut, spare):
    """Move cells with rank up to `cut` to the front, keeping their order; return where the others begin."""
    left, right = start, 0
    # Invariant: `order[start:left]` go left, `spare[:right]` right; both keep their order.
    for i in range(start, stop):
        cell = order[i]
        goes_left = ranks[cell, axis] <= cut
        spare[right] = cell
        order[left] = cell
        left += goes_left
        right += not goes_left
    for i in range(right):
        order[left + i] = spare[i]
    return left


@jit
def is_diverse(links, l, order, start, stop, rows, found):
    """Return whether no sensitive value exceeds 1 / `l` among the rows of a bucket that agree with a tuple.

    Of `links`, `parts[cell, i]` is the known part of the slice that holds sensitive attribute `i`, `combinations` the
    codes of (part, sensitive value) of a cell's rows, `owner` the part of a combination. The scratch arrays `rows` and
    `found` are zero before and after.
    """
    weights, parts, indptr, combinations, counts, owner = links
    for i in range(start, stop):
        cell = order[i]
        for j in range(parts.shape[1]):
            rows[parts[cell, j]] += weights[cell]
        for entry in range(indptr[cell], indptr[cell + 1]):
            found[combinations[entry]] += counts[entry]
    holds = True
    for i in range(start, stop):
        cell = order[i]
        for entry in range(indptr[cell], indptr[cell + 1]):
            combination = combinations[entry]
            if l * found[combination] > rows[owner[combination]]:
                holds = False
    for i in range(start, stop):
        cell = order[i]
        for j in range(parts.shape[1]):
            rows[parts[cell, j]] = 0
        for entry in range(indptr[cell], indptr[cell + 1]):
            found[combinations[entry]] = 0
    return holds


@jit
def partition_tuples(lines, links, l, size, every, order, class_ids):
    """Split buckets at the median of their widest attribute while both sides stay diverse.

    Return the number of buckets.

    With `every` the other attributes are tried in the order of their width. The cells of a bucket end up in one run of
    `order`; `class_ids` gets the bucket of every cell, numbered from left to right.
    """
    ranks, weights, parts = lines[0], links[0], links[1]
    attributes = ranks.shape[1]
    low, high = np.empty(attributes, dtype=np.uint32), np.empty(attributes, dtype=np.uint32)
    width = np.empty(attributes, dtype=np.float64)
    rows = np.zeros(parts.max() + 1 if parts.size else 1, dtype=np.int64)
    groups = np.zeros(len(links[-1]), dtype=np.int64)
    tally = np.empty(BINS, dtype=np.int64)
    spare = np.empty(len(order), dtype=order.dtype)
    stack = [(0, len(order))]
    buckets, checks = 0, 0
    # Invariant: every bucket on the stack is a diverse run of `order`; those to the left of all of them are final.
    while len(stack):
        start, stop = stack.pop()
        measure_widths(lines, order, start, stop, low, high, width)
        axis = widest(width)
        middle = start
        while axis >= 0:
            cut = choose_cut(ranks, weights, order, start, stop, axis, low[axis], high[axis], size, tally)
            if cut >= 0:
                middle = split_order(ranks, order, start, stop, axis, cut, spare)
                checks += 1
                left = is_diverse(links, l, order, start, middle, rows, groups)
                if left and is_diverse(links, l, order, middle, stop, rows, groups):
                    break
                middle = start
            width[axis] = -1.0
            axis = widest(width) if every else -1
        if middle > start:
            stack.append((middle, stop))
            stack.append((start, middle))
        else:
            for i in range(start, stop):
                class_ids[order[i]] = buckets
            buckets += 1
    return buckets, checks
