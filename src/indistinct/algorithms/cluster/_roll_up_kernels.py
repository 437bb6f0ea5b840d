"""Compiled loops of the roll-up: clusters that are too small are grouped at one lift after the other."""

import numpy as np

from indistinct.compiled import inner, jit

MIX = np.uint64(0x9E3779B97F4A7C15)


@jit
def roll_up_by_size(leaves, sizes, words, offsets, widths, lifts, smallest, class_ids):
    """Give every cell that finds enough company at one of the lifts the label of its group's first cell.

    `words[offsets[j] + lift * widths[j] + leaf]` is a column's part of the word that names a group. Cells of `smallest`
    rows stay alone; `class_ids` is -1 where no lift sufficed. Returns the number of lifts that were tried.
    """
    pending, codes = _pending(leaves, sizes, smallest, class_ids)
    left, rows = len(pending), 0
    for i in range(left):
        rows += sizes[pending[i]]
    bits = 4
    while (1 << bits) < 2 * left:
        bits += 1
    shift, mask = np.uint64(64 - bits), (1 << bits) - 1
    keys, stamps = np.empty(1 << bits, dtype=np.uint64), np.zeros(1 << bits, dtype=np.int64)
    totals, owners = np.empty(1 << bits, dtype=np.int64), np.empty(1 << bits, dtype=np.int64)
    slots, base = np.empty(left, dtype=np.int64), np.empty(len(widths), dtype=np.int64)
    for tried in range(len(lifts)):
        if rows < smallest:
            return tried
        for j in range(len(widths)):
            base[j] = offsets[j] + lifts[tried, j] * widths[j]
        enough = False
        for i in range(left):
            word = np.uint64(0)
            for j in range(len(widths)):
                word += words[base[j] + codes[i, j]]
            slot = np.int64((word * MIX) >> shift)
            while stamps[slot] == tried + 1 and keys[slot] != word:
                slot = (slot + 1) & mask
            if stamps[slot] != tried + 1:
                stamps[slot], keys[slot], totals[slot], owners[slot] = tried + 1, word, 0, pending[i]
            totals[slot] += sizes[pending[i]]
            enough |= totals[slot] >= smallest
            slots[i] = slot
        if enough:
            left, rows = _settle(pending, codes, slots, left, totals, owners, sizes, smallest, class_ids)
    return len(lifts)


@inner
def _pending(leaves, sizes, smallest, class_ids):
    """Return the cells that are too small, and their leaves side by side; the others are settled."""
    count = 0
    for cell in range(len(sizes)):
        class_ids[cell] = cell if sizes[cell] >= smallest else -1
        count += sizes[cell] < smallest
    pending, codes = np.empty(count, dtype=np.int64), np.empty((count, leaves.shape[1]), dtype=np.int32)
    count = 0
    for cell in range(len(sizes)):
        if class_ids[cell] < 0:
            pending[count] = cell
            for j in range(leaves.shape[1]):
                codes[count, j] = leaves[cell, j]
            count += 1
    return pending, codes


@inner
def _settle(pending, codes, slots, left, totals, owners, sizes, smallest, class_ids):
    """Label the cells of large groups and close the ranks of the others; return how many cells and rows remain."""
    kept, rows = 0, 0
    for i in range(left):
        if totals[slots[i]] >= smallest:
            class_ids[pending[i]] = owners[slots[i]]
        else:
            pending[kept] = pending[i]
            for j in range(codes.shape[1]):
                codes[kept, j] = codes[i, j]
            rows += sizes[pending[kept]]
            kept += 1
    return kept, rows
