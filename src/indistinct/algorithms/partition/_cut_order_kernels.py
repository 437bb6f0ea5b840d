"""Numba kernels of Mondrian's cuts: they order the values of a part and divide it at one of them.

A cell is one row of a matrix, as in `_strict_kernels.py`: the ranks of its columns as bit fields of a few words, and
its number of rows last. A part is a run of rows. A cut of a column is a prefix of the values that occur in the part, in
the order in which the column is cut.

`rows` is cells × (words + 1) (int64), `starts` (int64) where each part begins, `fields` columns × 10 and `trees` int64.
`divide` writes int64: by cell `order` and `members`, by part `middles`, `ends` and `sizes`.
`tests/references/mondrian.py` searches by definition; `tests/oracle/test_partition.py` compares both.
"""

from collections import namedtuple

import numpy as np

from indistinct.machine import compiled

# Nothing here allocates, so no references need counting, which takes most of the compile time.
jit = compiled.jit(error_model="numpy", _nrt=False)
inner = compiled.inner(error_model="numpy", _nrt=False)

# Fields of a column: its word, shift and mask, where its charges and its tree begin, the levels of its tree, the first
# rank that is a value, its number of values, how it is charged, and how it is ordered.
WORD, SHIFT, MASK, CHARGE, TREE, STRIDE, FLOOR, SIZE, KIND, ORDER = range(10)
LINE, SET, NODE = range(3)
BY_RANK, BY_FREQUENCY, BY_CHILD = range(3)
NEVER = np.int64(1) << 62

# Many values are sorted by digits of this many bits, fewer by smaller digits, and very few by insertion.
DIGIT, MANY, DIGIT_OF_FEW, FEW = 11, 2048, 8, 64
# A sort key has a value in its upper bits and the number of the cell in the part in its lower `CELL` bits.
CELL = 32

Orders = namedtuple("Orders", ["tally", "segment", "keys", "reach", "ends", "buckets"])
"""A thread's scratch arrays to order values."""


@inner
def sort_keys(keys, count):
    """Sort the first keys in place: by insertion if there are few, otherwise by heap sort."""
    if count <= FEW:
        for i in range(1, count):
            key, j = keys[i], i - 1
            while j >= 0 and keys[j] > key:
                keys[j + 1] = keys[j]
                j -= 1
            keys[j + 1] = key
        return
    first, last = count // 2, count - 1
    # Invariant: until `first` is 0 the heap is built; then `keys[last + 1:]` are the largest keys, ascending.
    while last > 0:
        if first > 0:
            first -= 1
            key = keys[first]
        else:
            key, keys[last] = keys[last], keys[0]
            last -= 1
        at, child = first, 2 * first + 1
        while child <= last:
            if child < last and keys[child] < keys[child + 1]:
                child += 1
            if keys[child] <= key:
                break
            keys[at] = keys[child]
            at, child = child, 2 * child + 1
        keys[at] = key


@inner
def meeting_level(trees, field, low, high):
    """Return the lowest level on which two ranks of a tree column have a common ancestor."""
    one, other, level = field[TREE] + low * field[STRIDE], field[TREE] + high * field[STRIDE], 0
    while trees[one + level] != trees[other + level]:
        level += 1
    return level


@inner
def occurring(rows, start, stop, field, tally, keys):
    """Count the rows of each value of a part into `tally`, which must be zero, and list the values.

    Return their number.
    """
    word, shift, mask, last = field[WORD], field[SHIFT], field[MASK], rows.shape[1] - 1
    count = np.int64(0)
    for i in range(start, stop):
        value = (rows[i, word] >> shift) & mask
        if tally[value] == 0:
            keys[count] = value
            count += 1
        tally[value] += rows[i, last]
    return count


@inner
def sort_cells(keys, spare, count, size, buckets):
    """Sort the first keys by their values, which are below `size`; `spare` has room for as many keys.

    Radix sort: each pass sorts by one digit, from the lowest to the highest, and keeps the order of equal digits.
    """
    if count <= FEW:
        sort_keys(keys, count)
        return
    digits = DIGIT if count > MANY else DIGIT_OF_FEW
    shift, swapped, mask = CELL, False, (1 << digits) - 1
    while size >> (shift - CELL) > 0:
        buckets[: mask + 1] = 0
        for i in range(count):
            buckets[(keys[i] >> shift) & mask] += 1
        before, largest = np.int64(0), np.int64(0)
        for digit in range(mask + 1):
            largest = max(largest, buckets[digit])
            before, buckets[digit] = before + buckets[digit], before
        if largest < count:  # otherwise all keys have the same digit
            for i in range(count):
                digit = (keys[i] >> shift) & mask
                spare[buckets[digit]] = keys[i]
                buckets[digit] += 1
            keys, spare, swapped = spare, keys, not swapped
        shift += digits
    if swapped:
        for i in range(count):
            spare[i] = keys[i]


@inner
def order_ranks(rows, start, stop, field, orders):
    """List the values of a part by rank in `keys` and the rows up to each in `reach`; return the number of values.

    Where the part has as many cells as the column has values, rows are tallied by value; otherwise cells are sorted,
    so that nothing is touched that is larger than the part.
    """
    tally, keys, reach = orders.tally, orders.keys, orders.reach
    word, shift, mask, last = field[WORD], field[SHIFT], field[MASK], rows.shape[1] - 1
    count, up_to, size, cells = np.int64(0), np.int64(0), field[SIZE], stop - start
    if cells >= size:
        for i in range(start, stop):
            tally[(rows[i, word] >> shift) & mask] += rows[i, last]
        for value in range(size):
            if tally[value] > 0:
                up_to += tally[value]
                tally[value], keys[count], reach[count] = 0, value, up_to
                count += 1
        return count
    ascending, before = True, np.int64(-1)
    for i in range(cells):
        value = (rows[start + i, word] >> shift) & mask
        ascending &= before <= value
        keys[i], before = (value << CELL) | i, value
    if not ascending:
        sort_cells(keys, reach, cells, size, orders.buckets)
    # Invariant: keys[:count] are distinct values, keys[i:] are still cells; count <= i.
    for i in range(cells):
        value, cell = keys[i] >> CELL, keys[i] & ((np.int64(1) << CELL) - 1)
        if count == 0 or keys[count - 1] != value:
            keys[count] = value
            count += 1
        up_to += rows[start + cell, last]
        reach[count - 1] = up_to
    return count


@inner
def order_values(rows, start, stop, total, field, trees, orders):
    """List the values of a part in the order of the column in `keys`; `reach` has the rows up to each, or -1.

    No cut is allowed after a value with -1, because it stays with its siblings. `tally` is zero again afterwards.
    """
    size, order = field[SIZE], field[ORDER]
    if order == BY_RANK:
        return order_ranks(rows, start, stop, field, orders)
    tally, keys, reach = orders.tally, orders.keys, orders.reach
    count = occurring(rows, start, stop, field, tally, keys)
    if order == BY_CHILD:
        sort_keys(keys, count)
        level = meeting_level(trees, field, keys[0], keys[count - 1])
        at = 0
        # Values of one child are adjacent, because ranks follow the tree depth first.
        while at < count:  # every value below a child has the child's rows
            rest, rows_below = at, np.int64(0)
            child = trees[field[TREE] + keys[at] * field[STRIDE] + level - 1]
            while rest < count and trees[field[TREE] + keys[rest] * field[STRIDE] + level - 1] == child:
                rows_below += tally[keys[rest]]
                rest += 1
            for i in range(at, rest):
                reach[i] = rows_below
            at = rest
        for i in range(count):
            tally[keys[i]] = 0
            keys[i] += (total - reach[i]) * size
        sort_keys(keys, count)
        up_to = np.int64(0)
        for i in range(count):
            rows_below = total - keys[i] // size
            keys[i] %= size
            reach[i] = -1
            child = trees[field[TREE] + keys[i] * field[STRIDE] + level - 1]
            if i + 1 < count and trees[field[TREE] + (keys[i + 1] % size) * field[STRIDE] + level - 1] == child:
                continue
            up_to += rows_below
            reach[i] = up_to
        return count
    for i in range(count):
        keys[i] += (total - tally[keys[i]]) * size
    sort_keys(keys, count)
    for i in range(count):
        keys[i] %= size
    up_to = np.int64(0)
    for i in range(count):
        up_to += tally[keys[i]]
        tally[keys[i]] = 0
        reach[i] = up_to
    return count


@inner
def nearest_cut(reach, first, stop, total, smallest, share, shares):
    """Return the value after which the rows up to a cut are nearest `share / shares` of all, the first of equals.

    Or -1.

    Both sides have at least `smallest` rows. Distances are compared as whole numbers, multiplied by the denominators.
    """
    nearest, best = NEVER, np.int64(-1)
    for i in range(first, stop):
        if reach[i] < smallest or total - reach[i] < smallest:
            continue
        distance = abs(reach[i] * shares - share * total)
        if distance < nearest:
            nearest, best = distance, np.int64(i)
    return best


@inner
def first_at_least(reach, first, stop, least, times):
    """Return the index of the first of ascending numbers that times `times` is at least `least`.

    `stop` if there is none.
    """
    while first < stop:
        middle = (first + stop) // 2
        if reach[middle] * times < least:
            first = middle + 1
        else:
            stop = middle
    return first


@inner
def choose_positions(reach, count, total, smallest, order, ends):
    """Write to `ends` the value after which each candidate cuts, nearest its share of the rows; -1 if it cannot.

    `reach[i]` is the number of rows up to the value with index i, or of a single child (`BY_CHILD`), where the rows do
    not ascend. Both sides have at least `smallest` rows. The shares are equally spaced, the middle first.
    """
    positions, first, stop = len(ends), np.int64(0), count - 1
    if order != BY_CHILD:  # `reach` ascends, so the nearest value is one of the two next to the share
        first = first_at_least(reach, first, stop, smallest, 1)
        stop = first_at_least(reach, first, stop, total - smallest + 1, 1)
    for p in range(positions):
        share = ((positions + 1) // 2 + (p + 1) // 2 * (1 if p % 2 else -1)) if positions % 2 else p + 1
        low, high = first, stop
        if order != BY_CHILD:
            above = first_at_least(reach, first, stop, share * total, positions + 1)
            low, high = max(above - 1, first), min(above + 1, stop)
        ends[p] = nearest_cut(reach, low, high, total, smallest, share, positions + 1)
        for q in range(p):
            if ends[q] == ends[p]:
                ends[p] = -1
                break


@jit
def divide(rows, starts, first, last, smallest, fields, trees, orders, chosen, order, middles, ends, members, sizes):
    """Write the order of cells with the left side of each part's chosen candidate first, and describe the candidate.

    A cut along the order of ranks is described by a rank in `ends`. Any other is the set of values on its left side:
    `members`, ascending from the start of the part on, and their number in `sizes`.
    """
    positions, keys, reach = len(orders.ends), orders.keys, orders.reach
    for part in range(first, last):
        start, stop, total = starts[part], starts[part + 1], np.int64(0)
        for i in range(start, stop):
            total += rows[i, -1]
        field = fields[chosen[part] // positions]
        count = order_values(rows, start, stop, total, field, trees, orders)
        choose_positions(reach, count, total, smallest, field[ORDER], orders.ends)
        end = orders.ends[chosen[part] % positions]
        by_rank, last_left = field[ORDER] == BY_RANK, keys[end]
        if not by_rank:
            for i in range(count):
                orders.segment[keys[i]] = i > end
        word, shift, mask, at = field[WORD], field[SHIFT], field[MASK], start
        for side in range(2):
            for i in range(start, stop):
                value = (rows[i, word] >> shift) & mask
                if (value > last_left if by_rank else orders.segment[value] == 1) == (side == 1):
                    order[at] = i
                    at += 1
            if side == 0:
                middles[part] = at
        sizes[part], ends[part] = 0, last_left
        if not by_rank:
            sort_keys(keys, end + 1)
            sizes[part], ends[part] = end + 1, 0
            for i in range(end + 1):
                members[start + i] = keys[i]
