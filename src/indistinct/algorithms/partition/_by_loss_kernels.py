"""Numba kernels that weigh the cuts of parts by the loss of their two sides.

All cuts of a column are weighed in one pass over the part. The values between two cuts are a segment, and a side covers
what its segments cover. For a *narrow* column, with few values, the covered values are bits; all narrow columns share a
few words. For other lines and trees the lowest and highest rank are kept; values of sets are numbered in each part.
Charges are whole numbers, so that sums do not depend on their order.

`rows`, `starts`, `fields` and `trees` are those of `_cut_order_kernels.py`; `charges` (int64) begin for each column at
its field `CHARGE`; `losses` is parts × (columns · candidates) (int64). `tests/references/mondrian.py` searches by
definition; `tests/oracle/test_partition.py` compares both.
"""

from collections import namedtuple

import numpy as np

from indistinct.algorithms.partition._cut_order_kernels import (
    BY_RANK,
    CHARGE,
    FLOOR,
    KIND,
    LINE,
    MASK,
    NEVER,
    ORDER,
    SET,
    SHIFT,
    SIZE,
    STRIDE,
    WORD,
    choose_positions,
    inner,
    jit,
    meeting_level,
    order_values,
    sort_keys,
)

# Columns with at most this number of values are narrow.
BITS = 64
# In parts with at most this number of cells, ends are looked up once for all cut columns.
SMALL = 1024

Covers = namedtuple(
    "Covers",
    [
        "narrow",
        "lines",
        "sets",
        "first_bit",
        "bits",
        "segments",
        "ends",
        "low",
        "high",
        "masks",
        "numbers",
        "number_start",
        "cost",
        "sorted_ends",
    ],
)
"""A thread's scratch arrays to weigh cuts."""


@inner
def bits_of(word):
    """Return the number of bits of a word that are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
def lowest_bit(word):
    """Return the index of the lowest bit that is set."""
    return bits_of((word & (~word + np.uint64(1))) - np.uint64(1))


@inner
def highest_bit(word):
    """Return the index of the highest bit that is set."""
    for step in (1, 2, 4, 8, 16, 32):
        word |= word >> np.uint64(step)
    return bits_of(word) - 1


@inner
def varying(rows, start, stop, fields, covers):
    """List the columns in which a part has several values; return the numbers of narrow ones, lines, sets and words.

    Values of large sets are numbered within the part.
    """
    narrow, lines, sets, bit = 0, 0, 0, np.int64(0)
    for c in range(len(fields)):
        word, shift, mask, size = fields[c, WORD], fields[c, SHIFT], fields[c, MASK], fields[c, SIZE]
        first, i = (rows[start, word] >> shift) & mask, start + 1
        while i < stop and (rows[i, word] >> shift) & mask == first:
            i += 1
        if i == stop:
            continue
        if size <= BITS:
            bit = (bit + BITS - 1) // BITS * BITS if bit % BITS + size > BITS else bit
            covers.narrow[narrow], covers.first_bit[c] = c, bit
            narrow, bit = narrow + 1, bit + size
        elif fields[c, KIND] != SET:
            covers.lines[lines] = c
            lines += 1
        else:
            covers.sets[sets] = c
            sets += 1
    for a in range(sets):
        c = covers.sets[a]
        bit = (bit + BITS - 1) // BITS * BITS
        covers.first_bit[c] = bit
        word, shift, mask, base = fields[c, WORD], fields[c, SHIFT], fields[c, MASK], covers.number_start[c]
        for i in range(start, stop):
            value = (rows[i, word] >> shift) & mask
            if covers.numbers[base + value] == 0:
                bit += 1
                covers.numbers[base + value] = bit
    return narrow, lines, sets, (bit + BITS - 1) // BITS


@inner
def write_bits(rows, start, stop, fields, varied, covers):
    """Write the bits of every cell in narrow columns and return the number of words.

    A missing value of a line has no bit.
    """
    last = covers.narrow[varied[0] - 1]
    words = (covers.first_bit[last] + fields[last, SIZE] + BITS - 1) // BITS if varied[0] else 0
    for i in range(stop - start):
        for w in range(words):
            covers.bits[i, w] = np.uint64(0)
    for a in range(varied[0]):
        c = covers.narrow[a]
        word, shift, mask, floor = fields[c, WORD], fields[c, SHIFT], fields[c, MASK], fields[c, FLOOR]
        w, bit = covers.first_bit[c] // BITS, covers.first_bit[c] % BITS
        for i in range(stop - start):
            value = (rows[start + i, word] >> shift) & mask
            covers.bits[i, w] |= np.uint64(value >= floor) << np.uint64(value + bit)
    return words


@inner
def end_of(charges, field, value):
    """Return the position of a value on a line in charges, or its rank in a tree."""
    return charges[field[CHARGE] + value] if field[KIND] == LINE else value


@inner
def write_ends(rows, start, stop, fields, charges, varied, covers):
    """Write the ends of every cell of a small part; a missing value has none."""
    for a in range(varied[1]):
        c = covers.lines[a]
        word, shift, mask, floor = fields[c, WORD], fields[c, SHIFT], fields[c, MASK], fields[c, FLOOR]
        for i in range(start, stop):
            value = (rows[i, word] >> shift) & mask
            covers.ends[a, i - start] = end_of(charges, fields[c], value) if value >= floor else NEVER


@inner
def forget_numbers(rows, start, stop, fields, sets, covers):
    """Reset the numbers of the values of a part to zero."""
    for a in range(sets):
        c = covers.sets[a]
        word, shift, mask, base = fields[c, WORD], fields[c, SHIFT], fields[c, MASK], covers.number_start[c]
        for i in range(start, stop):
            covers.numbers[base + ((rows[i, word] >> shift) & mask)] = 0


@inner
def clear_segment(s, varied, covers):
    """Clear a segment, so that it covers nothing."""
    for a in range(varied[1]):
        covers.low[s, a], covers.high[s, a] = np.int64(1) << 62, -1
    for w in range(varied[3]):
        covers.masks[s, w] = np.uint64(0)


@inner
def enter_segments(rows, start, stop, field, cuts, orders, covers):
    """Write the segment of every cell of a part: the number of cuts before its value."""
    word, shift, mask, keys = field[WORD], field[SHIFT], field[MASK], orders.keys
    segments, cut_ends = covers.segments, covers.sorted_ends
    if field[ORDER] == BY_RANK:
        for i in range(start, stop):
            value, s = (rows[i, word] >> shift) & mask, 0
            for cut in range(cuts):
                s += value > keys[cut_ends[cut]]
            segments[i - start] = s
        return
    for i in range(start, stop):
        segments[i - start] = orders.segment[(rows[i, word] >> shift) & mask]


@inner
def choose_cuts(rows, start, stop, total, smallest, field, trees, orders, covers):
    """Choose the cuts of a column, write them in ascending order and the segment of every cell; return their number."""
    ends, cut_ends, keys = orders.ends, covers.sorted_ends, orders.keys
    count = order_values(rows, start, stop, total, field, trees, orders)
    choose_positions(orders.reach, count, total, smallest, field[ORDER], ends)
    cuts = np.int64(0)
    for p in range(len(ends)):
        if ends[p] >= 0:
            cut_ends[cuts] = ends[p]
            cuts += 1
    if cuts == 0:
        return cuts
    sort_keys(cut_ends, cuts)
    if field[ORDER] != BY_RANK:
        s = 0
        for i in range(count):
            orders.segment[keys[i]] = s
            if s < cuts and i == cut_ends[s]:
                s += 1
    enter_segments(rows, start, stop, field, cuts, orders, covers)
    return cuts


@inner
def cover_line(rows, start, stop, field, charges, a, cuts, covers):
    """Write the low and high end of every segment of a part in a column, which is number `a` among the lines."""
    low, high, segments = covers.low, covers.high, covers.segments
    if stop - start <= SMALL:
        for i in range(stop - start):
            end, s = covers.ends[a, i], segments[i]
            if end != NEVER:
                low[s, a], high[s, a] = min(low[s, a], end), max(high[s, a], end)
        return
    word, shift, mask, floor = field[WORD], field[SHIFT], field[MASK], field[FLOOR]
    for i in range(start, stop):
        value, s = (rows[i, word] >> shift) & mask, segments[i - start]
        if value >= floor:  # hardly any value changes an end
            if value < low[s, a]:
                low[s, a] = value
            if value > high[s, a]:
                high[s, a] = value
    for s in range(cuts + 1):
        if high[s, a] >= 0:
            low[s, a], high[s, a] = end_of(charges, field, low[s, a]), end_of(charges, field, high[s, a])


@inner
def cover_segments(rows, start, stop, fields, charges, cuts, varied, words, covers):
    """Write which values of every varying column each segment of a part covers."""
    masks, bits, segments = covers.masks, covers.bits, covers.segments
    for w in range(words):
        for i in range(stop - start):
            masks[segments[i], w] |= bits[i, w]
    for a in range(varied[1]):
        cover_line(rows, start, stop, fields[covers.lines[a]], charges, a, cuts, covers)
    for a in range(varied[2]):
        c = covers.sets[a]
        word, shift, mask, base = fields[c, WORD], fields[c, SHIFT], fields[c, MASK], covers.number_start[c]
        for i in range(start, stop):
            bit = covers.numbers[base + ((rows[i, word] >> shift) & mask)] - 1
            masks[segments[i - start], bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)


@inner
def charge_between(charges, trees, field, low, high):
    """Return the charge per row of a line or a tree between two ranks."""
    if low >= high:
        return np.int64(0)
    if field[KIND] == LINE:
        return charges[field[CHARGE] + high] - charges[field[CHARGE] + low]
    return charges[field[CHARGE] + low * field[STRIDE] + meeting_level(trees, field, low, high)]


@inner
def charge_with(side, s, fields, charges, trees, varied, covers):
    """Add a segment to what a side covers, and return the side's loss per row."""
    low, high, masks, total = covers.low, covers.high, covers.masks, np.int64(0)
    for w in range(varied[3]):
        masks[side, w] |= masks[s, w]
    for a in range(varied[0]):
        c = covers.narrow[a]
        word = masks[side, covers.first_bit[c] // BITS] >> np.uint64(covers.first_bit[c] % BITS)
        word &= (~np.uint64(0)) >> np.uint64(BITS - fields[c, SIZE])
        if word & (word - np.uint64(1)) == 0:
            continue
        if fields[c, KIND] == SET:
            total += charges[fields[c, CHARGE] + bits_of(word) - 1]
        else:
            total += charge_between(charges, trees, fields[c], lowest_bit(word), highest_bit(word))
    for a in range(varied[1]):
        c, least, most = covers.lines[a], min(low[side, a], low[s, a]), max(high[side, a], high[s, a])
        low[side, a], high[side, a] = least, most
        if fields[c, KIND] != LINE:
            total += charge_between(charges, trees, fields[c], least, most)
        elif least < most:
            total += most - least
    for a in range(varied[2]):
        c, count = covers.sets[a], np.int64(0)
        stop = varied[3] if a + 1 == varied[2] else covers.first_bit[covers.sets[a + 1]] // BITS
        for w in range(covers.first_bit[c] // BITS, stop):
            count += bits_of(masks[side, w])
        total += charges[fields[c, CHARGE] + count - 1]
    return total


@inner
def weigh_column(
    rows, start, stop, total, smallest, fields, charges, trees, axis, varied, words, orders, covers, losses
):
    """Write the loss of both sides together for every candidate cut of a column."""
    ends, cut_ends, side, reach = orders.ends, covers.sorted_ends, len(covers.low) - 1, orders.reach
    cuts = choose_cuts(rows, start, stop, total, smallest, fields[axis], trees, orders, covers)
    if cuts == 0:
        return
    for s in range(cuts + 1):
        clear_segment(s, varied, covers)
    cover_segments(rows, start, stop, fields, charges, cuts, varied, words, covers)
    clear_segment(side, varied, covers)
    # Invariant: the side covers segments 0 … s, all that is left of cut s.
    for s in range(cuts):
        covers.cost[s] = reach[cut_ends[s]] * charge_with(side, s, fields, charges, trees, varied, covers)
    clear_segment(side, varied, covers)
    # Invariant: the side covers segments s + 1 … cuts, all that is right of cut s.
    for s in range(cuts - 1, -1, -1):
        right = charge_with(side, s + 1, fields, charges, trees, varied, covers)
        covers.cost[s] += (total - reach[cut_ends[s]]) * right
    for p in range(len(ends)):
        for s in range(cuts):
            if cut_ends[s] == ends[p]:
                losses[p] = covers.cost[s]


@jit
def weigh(rows, starts, smallest, fields, charges, trees, orders, covers, losses):
    """Write the loss of both sides together for every candidate cut of every part.

    `losses` has a row for each part and an entry for each candidate of each column; entries without a candidate are not
    changed.
    """
    positions = len(orders.ends)
    for part in range(len(starts) - 1):
        start, stop, total = starts[part], starts[part + 1], np.int64(0)
        for i in range(start, stop):
            total += rows[i, -1]
        if total < 2 * smallest or stop - start < 2:
            continue
        varied = varying(rows, start, stop, fields, covers)
        words = write_bits(rows, start, stop, fields, varied, covers)
        if stop - start <= SMALL:
            write_ends(rows, start, stop, fields, charges, varied, covers)
        for a in range(varied[0] + varied[1] + varied[2]):
            if a < varied[0]:
                axis = covers.narrow[a]
            elif a < varied[0] + varied[1]:
                axis = covers.lines[a - varied[0]]
            else:
                axis = covers.sets[a - varied[0] - varied[1]]
            own = losses[part, axis * positions : (axis + 1) * positions]
            weigh_column(
                rows, start, stop, total, smallest, fields, charges, trees, axis, varied, words, orders, covers, own
            )
        forget_numbers(rows, start, stop, fields, varied[2], covers)
