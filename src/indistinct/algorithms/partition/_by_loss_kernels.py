"""Numba kernels that weigh the cuts of parts: what the two sides of each would lose together.

A cell is one row of a matrix, as in `_strict_kernels.py`: the ranks of its columns as bit fields of a few words, and
its number of rows last. A part is a run of rows. A cut of a column is a prefix of the values that occur in the part, in
the order in which the column is cut. All cuts of a column are weighed in one pass over the part: the values between two
cuts are a segment, and what a side covers is what its segments cover. Charges are whole numbers, so that sums do not
depend on any order.
"""

from collections import namedtuple

import numba as nb
import numpy as np

from indistinct import compiled

jit = compiled.jit(error_model="numpy")
inner = nb.njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)

# What a row of `fields` says of a column: its word, shift and mask, where its charges and its tree begin, the levels of
# its tree, the first rank that is a value, its number of values, how it is charged, and how it is ordered.
WORD, SHIFT, MASK, CHARGE, TREE, STRIDE, FLOOR, SIZE, KIND, ORDER = range(10)
LINE, SET, NODE = range(3)
BY_RANK, BY_FREQUENCY, BY_CHILD = range(3)
NEVER = np.int64(1) << 62
# Values of sets up to so many are bits of one word by their ranks; more are numbered in each part.
BITS = 64


Buffers = namedtuple(
    "Buffers",
    [
        "tally",
        "segment",
        "keys",
        "reach",
        "ends",
        "sorted_ends",
        "lines",
        "sets",
        "low",
        "high",
        "masks",
        "mask_start",
        "numbers",
        "number_start",
        "cost",
    ],
)
"""What one thread works in.

By rank of a column: its rows and its segment, both of the column at hand, and its number in the part where a set has
many values (`numbers`, zero between parts). By place in an order: value and rows up to it. By candidate: after which
value it cuts. Then the columns that vary, and by segment and column what it covers; the last segment is a whole side.
"""


@inner
def sort_keys(keys, count):
    """Sort the first keys in place: by insertion where they are few, by a heap otherwise."""
    if count <= 24:
        for i in range(1, count):
            key, j = keys[i], i - 1
            while j >= 0 and keys[j] > key:
                keys[j + 1] = keys[j]
                j -= 1
            keys[j + 1] = key
        return
    first, last = count // 2, count - 1
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
    """Return the lowest level on which two ranks of a tree column have one ancestor."""
    one, other, level = field[TREE] + low * field[STRIDE], field[TREE] + high * field[STRIDE], 0
    while trees[one + level] != trees[other + level]:
        level += 1
    return level


@inner
def occurring(rows, start, stop, field, tally, keys):
    """Count the rows of each value of a part into `tally`, which must be zero, and list the values; return how many."""
    word, shift, mask, last = field[WORD], field[SHIFT], field[MASK], rows.shape[1] - 1
    count = 0
    for i in range(start, stop):
        value = (rows[i, word] >> shift) & mask
        if tally[value] == 0:
            keys[count] = value
            count += 1
        tally[value] += rows[i, last]
    return count


@inner
def order_values(rows, start, stop, total, field, trees, tally, keys, reach):
    """List the values of a part in the order of the column in `keys`; `reach` has the rows up to each, or -1.

    No cut is after a value with -1: it has sisters that stay with it. `tally` is zero again.
    """
    count = occurring(rows, start, stop, field, tally, keys)
    size, order = field[SIZE], field[ORDER]
    if order != BY_FREQUENCY:
        sort_keys(keys, count)
    if order == BY_CHILD:
        level = meeting_level(trees, field, keys[0], keys[count - 1])
        at = 0
        while at < count:  # the rows of a child stand at every value below it
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
    if order == BY_FREQUENCY:
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
def choose_positions(reach, count, total, smallest, ends):
    """Write after which value each candidate cuts: nearest its share of the rows, the first of equals; -1 if nowhere.

    Both sides have at least `smallest` rows. The shares are even ones, the middle first.
    """
    positions = len(ends)
    for p in range(positions):
        ends[p] = -1
    for p in range(positions):
        share = ((positions + 1) // 2 + (p + 1) // 2 * (1 if p % 2 else -1)) if positions % 2 else p + 1
        nearest = NEVER
        for i in range(count - 1):
            if reach[i] < smallest or total - reach[i] < smallest:
                continue
            distance = abs(reach[i] * (positions + 1) - share * total)
            if distance < nearest:
                nearest, ends[p] = distance, i
        for q in range(p):
            if ends[q] == ends[p]:
                ends[p] = -1
                break


@inner
def bits_of(word):
    """Return how many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
def varying(rows, start, stop, fields, buffers):
    """List the columns in which a part has several values, those of lines and trees apart from sets; return how many.

    Values of large sets get their number in the part.
    """
    lines, sets, words = 0, 0, np.int64(0)
    for c in range(len(fields)):
        word, shift, mask = fields[c, WORD], fields[c, SHIFT], fields[c, MASK]
        first, i = (rows[start, word] >> shift) & mask, start + 1
        while i < stop and (rows[i, word] >> shift) & mask == first:
            i += 1
        if i == stop:
            continue
        if fields[c, KIND] != SET:
            buffers.lines[lines] = c
            lines += 1
            continue
        buffers.sets[sets], buffers.mask_start[c] = c, words
        sets += 1
        if fields[c, SIZE] <= BITS:
            words += 1
            continue
        known, base = np.int64(0), buffers.number_start[c]
        for i in range(start, stop):
            value = (rows[i, word] >> shift) & mask
            if buffers.numbers[base + value] == 0:
                known += 1
                buffers.numbers[base + value] = known
        words += (known + BITS) // BITS
    return lines, sets, words


@inner
def forget_numbers(rows, start, stop, fields, sets, buffers):
    """Set the numbers of the values of a part to zero again."""
    for a in range(sets):
        c = buffers.sets[a]
        if fields[c, SIZE] > BITS:
            word, shift, mask, base = fields[c, WORD], fields[c, SHIFT], fields[c, MASK], buffers.number_start[c]
            for i in range(start, stop):
                buffers.numbers[base + ((rows[i, word] >> shift) & mask)] = 0


@inner
def clear_segment(s, lines, words, buffers):
    """Let a segment cover nothing."""
    for a in range(lines):
        buffers.low[s, a], buffers.high[s, a] = NEVER, -1
    for w in range(words):
        buffers.masks[s, w] = np.uint64(0)


@inner
def cover_segments(rows, start, stop, fields, axis, lines, sets, buffers):
    """Write what every segment of a part along a column covers of all columns that vary."""
    own_word, own_shift, own_mask = fields[axis, WORD], fields[axis, SHIFT], fields[axis, MASK]
    low, high, masks = buffers.low, buffers.high, buffers.masks
    for i in range(start, stop):
        s = buffers.segment[(rows[i, own_word] >> own_shift) & own_mask]
        for a in range(lines):
            c = buffers.lines[a]
            value = (rows[i, fields[c, WORD]] >> fields[c, SHIFT]) & fields[c, MASK]
            if value >= fields[c, FLOOR]:
                low[s, a] = min(low[s, a], value)
                high[s, a] = max(high[s, a], value)
        for a in range(sets):
            c = buffers.sets[a]
            bit = (rows[i, fields[c, WORD]] >> fields[c, SHIFT]) & fields[c, MASK]
            if fields[c, SIZE] > BITS:
                bit = buffers.numbers[buffers.number_start[c] + bit]
            masks[s, buffers.mask_start[c] + (bit >> 6)] |= np.uint64(1) << np.uint64(bit & 63)


@inner
def join_segment(side, s, lines, words, buffers):
    """Let a side cover what a segment covers too."""
    for a in range(lines):
        buffers.low[side, a] = min(buffers.low[side, a], buffers.low[s, a])
        buffers.high[side, a] = max(buffers.high[side, a], buffers.high[s, a])
    for w in range(words):
        buffers.masks[side, w] |= buffers.masks[s, w]


@inner
def charge_side(side, fields, charges, trees, lines, sets, words, buffers):
    """Return what a side loses a row."""
    total = np.int64(0)
    for a in range(lines):
        c, low, high = buffers.lines[a], buffers.low[side, a], buffers.high[side, a]
        if low >= high:
            continue
        at = fields[c, CHARGE]
        if fields[c, KIND] == LINE:
            total += charges[at + high] - charges[at + low]
        else:
            total += charges[at + low * fields[c, STRIDE] + meeting_level(trees, fields[c], low, high)]
    for a in range(sets):
        c, count = buffers.sets[a], np.int64(0)
        stop = words if a + 1 == sets else buffers.mask_start[buffers.sets[a + 1]]
        for w in range(buffers.mask_start[c], stop):
            count += bits_of(buffers.masks[side, w])
        total += charges[fields[c, CHARGE] + count - 1]
    return total


@inner
def weigh_column(rows, start, stop, total, smallest, fields, charges, trees, axis, varied, buffers, losses):
    """Write what the two sides of every candidate of a column lose together."""
    lines, sets, words = varied
    ends, positions, side = buffers.ends, len(buffers.ends), len(buffers.low) - 1
    keys, reach = buffers.keys, buffers.reach
    count = order_values(rows, start, stop, total, fields[axis], trees, buffers.tally, keys, reach)
    choose_positions(reach, count, total, smallest, ends)
    cuts = 0
    for p in range(positions):
        if ends[p] >= 0:
            buffers.sorted_ends[cuts] = ends[p]
            cuts += 1
    if cuts == 0:
        return
    sort_keys(buffers.sorted_ends, cuts)
    s = 0
    for i in range(count):
        buffers.segment[keys[i]] = s
        if s < cuts and i == buffers.sorted_ends[s]:
            s += 1
    for s in range(cuts + 1):
        clear_segment(s, lines, words, buffers)
    cover_segments(rows, start, stop, fields, axis, lines, sets, buffers)
    clear_segment(side, lines, words, buffers)
    for s in range(cuts):
        join_segment(side, s, lines, words, buffers)
        up_to = reach[buffers.sorted_ends[s]]
        buffers.cost[s] = up_to * charge_side(side, fields, charges, trees, lines, sets, words, buffers)
    clear_segment(side, lines, words, buffers)
    for s in range(cuts - 1, -1, -1):
        join_segment(side, s + 1, lines, words, buffers)
        beyond = total - reach[buffers.sorted_ends[s]]
        buffers.cost[s] += beyond * charge_side(side, fields, charges, trees, lines, sets, words, buffers)
    for p in range(positions):
        for s in range(cuts):
            if buffers.sorted_ends[s] == ends[p]:
                losses[p] = buffers.cost[s]


@jit
def weigh(rows, starts, first, last, smallest, fields, charges, trees, buffers, losses):
    """Write what the two sides of every candidate lose together, for the parts from `first` to `last`.

    `losses` has a row a part and an entry for each candidate of each column; where there is none it stays `NEVER`.
    """
    positions = len(buffers.ends)
    for part in range(first, last):
        start, stop, total = starts[part], starts[part + 1], np.int64(0)
        for i in range(start, stop):
            total += rows[i, -1]
        if total < 2 * smallest or stop - start < 2:
            continue
        varied = varying(rows, start, stop, fields, buffers)
        for a in range(varied[0] + varied[1]):
            axis = buffers.lines[a] if a < varied[0] else buffers.sets[a - varied[0]]
            own = losses[part, axis * positions : (axis + 1) * positions]
            weigh_column(rows, start, stop, total, smallest, fields, charges, trees, axis, varied, buffers, own)
        forget_numbers(rows, start, stop, fields, varied[1], buffers)


@jit
def divide(rows, starts, first, last, smallest, fields, trees, buffers, chosen, order, middles, ends, members, sizes):
    """Write the order in which the left side of each part's chosen candidate comes first, and what the candidate is.

    A cut along the order of ranks ends at a rank, in `ends`. Any other one is the set of values on its left side:
    `members` from the start of the part on, ascending, and their number in `sizes`.
    """
    positions, keys, reach = len(buffers.ends), buffers.keys, buffers.reach
    for part in range(first, last):
        start, stop, total = starts[part], starts[part + 1], np.int64(0)
        for i in range(start, stop):
            total += rows[i, -1]
        field = fields[chosen[part] // positions]
        count = order_values(rows, start, stop, total, field, trees, buffers.tally, keys, reach)
        choose_positions(reach, count, total, smallest, buffers.ends)
        end = buffers.ends[chosen[part] % positions]
        for i in range(count):
            buffers.segment[keys[i]] = i > end
        word, shift, mask, at = field[WORD], field[SHIFT], field[MASK], start
        for side in range(2):
            for i in range(start, stop):
                if buffers.segment[(rows[i, word] >> shift) & mask] == side:
                    order[at] = i
                    at += 1
            if side == 0:
                middles[part] = at
        sizes[part], ends[part] = 0, keys[end]
        if field[ORDER] != BY_RANK:
            sort_keys(keys, end + 1)
            sizes[part], ends[part] = end + 1, 0
            for i in range(end + 1):
                members[start + i] = keys[i]
