"""Numba loops of the roll-up: clusters that are too small are grouped at one lift after another.

A lift is a number of levels for each column by which values are generalized. `leaves` is cells × columns (int32),
`sizes` and `class_ids` have one entry per cell (int64), `lifts` is lifts × columns (int32), `words` (uint64) are random
words whose sum over the columns identifies a group. `_by_model` in `two_level.py` does the same in plain NumPy;
`tests/laws/test_two_level.py` compares both.
"""

import numpy as np

from indistinct.machine.compiled import inner, jit

HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@jit
def roll_up_by_size(leaves, sizes, words, offsets, widths, lifts, smallest, class_ids):
    """At each lift, label the cells whose group is large enough with the group's first cell; return the lifts tried.

    `words[offsets[j] + lift * widths[j] + leaf]` is a column's part of the word that identifies a group. `class_ids` is
    -1 for cells without a label, and remains -1 where no lift sufficed.
    """
    pending, codes = _pending(leaves, class_ids)
    left, rows = len(pending), 0
    for i in range(left):
        rows += sizes[pending[i]]
    bits = 4
    while (1 << bits) < 2 * left:
        bits += 1
    shift, mask = np.uint64(64 - bits), (1 << bits) - 1
    keys, stamps = np.empty(1 << bits, dtype=np.uint64), np.zeros(1 << bits, dtype=np.int64)
    totals, owners = np.empty(1 << bits, dtype=np.int64), np.empty(1 << bits, dtype=np.int64)
    slots, names, lift = np.empty(left, dtype=np.int64), np.zeros(left, dtype=np.uint64), np.full(len(widths), -1)
    # Invariant: `pending[:left]` are the cells without a label, with `rows` rows; `names` are their groups at the last
    # lift.
    for tried in range(len(lifts)):
        if rows < smallest:
            return tried
        _rename(names, codes, left, words, offsets, widths, lift, lifts[tried])
        enough = False
        for i in range(left):
            word = names[i]
            slot = np.int64((word * HASH_MULTIPLIER) >> shift)
            # A slot with an older stamp is free, so that nothing is cleared between lifts.
            while stamps[slot] == tried + 1 and keys[slot] != word:
                slot = (slot + 1) & mask
            if stamps[slot] != tried + 1:
                stamps[slot], keys[slot], totals[slot], owners[slot] = tried + 1, word, 0, pending[i]
            totals[slot] += sizes[pending[i]]
            enough |= totals[slot] >= smallest
            slots[i] = slot
        if enough:
            left, rows = _settle(pending, codes, names, slots, left, totals, owners, sizes, smallest, class_ids)
    return len(lifts)


@inner
def _pending(leaves, class_ids):
    """Return the cells without a label, and their leaves column by column."""
    count = 0
    for cell in range(len(class_ids)):
        count += class_ids[cell] < 0
    pending, codes = np.empty(count, dtype=np.int64), np.empty((leaves.shape[1], count), dtype=np.int32)
    count = 0
    for cell in range(len(class_ids)):
        if class_ids[cell] < 0:
            pending[count] = cell
            for j in range(leaves.shape[1]):
                codes[j, count] = leaves[cell, j]
            count += 1
    return pending, codes


@inner
def _rename(names, codes, left, words, offsets, widths, lift, wanted):
    """Update the group words for another lift; only the columns whose level changed are recomputed."""
    for j in range(len(widths)):
        if lift[j] != wanted[j]:
            new, old = offsets[j] + wanted[j] * widths[j], offsets[j] + lift[j] * widths[j]
            if lift[j] < 0:
                for i in range(left):
                    names[i] += words[new + codes[j, i]]
            else:
                for i in range(left):
                    names[i] += words[new + codes[j, i]] - words[old + codes[j, i]]
            lift[j] = wanted[j]


@inner
def _settle(pending, codes, names, slots, left, totals, owners, sizes, smallest, class_ids):
    """Label the cells of large groups and compact the rest; return the numbers of cells and rows left."""
    kept, rows = 0, 0
    # Invariant: `pending[:kept]` remain without a label, in their order.
    for i in range(left):
        if totals[slots[i]] >= smallest:
            class_ids[pending[i]] = owners[slots[i]]
        else:
            pending[kept], names[kept] = pending[i], names[i]
            for j in range(len(codes)):
                codes[j, kept] = codes[j, i]
            rows += sizes[pending[kept]]
            kept += 1
    return kept, rows
