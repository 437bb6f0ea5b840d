"""Numba kernels that visit every node of a lattice, for models that look at class sizes alone.

A spanning tree of the lattice is traversed depth first: each node is rolled up from the neighbor one step finer, and
one set of classes is kept for each depth.

A class is one word (uint64) with the node of every column as a bit field, given by `shifts` and `masks` (uint64), and
its number of rows (int64). With d columns: `levels`, `heights` and `strides` are d (int64); column j goes from a level
to the next by the table in `tables` (uint64) that begins at `table_at[j, level]`; `charges` (float64) begin at
`starts[j, level]` and are empty for metrics that need none. `found` is nodes × (3 + d) (float64).
`tests/references/lattice.py` does the same row by row in plain Python; `tests/oracle/test_full_domain.py` compares
them.
"""

import numpy as np

from indistinct.frequencies._kernels import hashed
from indistinct.machine.compiled import jit


@jit
def roll_step(words, counts, length, shift, mask, table, out_words, out_counts, stamps, slots, stamp):
    """Generalize one field by a level and group equal words; return the number of classes.

    `stamps` mark the slots in use.
    """
    keep = ~(mask << shift)
    last = np.uint64(len(slots) - 1)
    groups = 0
    for i in range(length):
        word = (words[i] & keep) | table[(words[i] >> shift) & mask]
        slot = hashed(word) & last
        # A slot is in use if it has this step's stamp, so that nothing is cleared between steps.
        while stamps[slot] == stamp and out_words[slots[slot]] != word:
            slot = (slot + np.uint64(1)) & last
        if stamps[slot] == stamp:
            out_counts[slots[slot]] += counts[i]
        else:
            stamps[slot], slots[slot] = stamp, groups
            out_words[groups], out_counts[groups] = word, counts[i]
            groups += 1
    return groups


@jit
def survey(words, counts, length, k, shifts, masks, charges, starts, levels, scratch, found):
    """Write (rows of classes below k, other classes, their squared sizes, charges or bits by column) of a node."""
    outside, inside = np.int64(0), np.int64(0)
    squares = 0.0
    columns = len(shifts)
    totals = found[3:]
    totals[:] = 0.0
    for i in range(length):
        count = counts[i]
        if count < k:
            outside += count
            continue
        inside += 1
        squares += float(count) * float(count)
        if len(charges):
            for j in range(columns):
                node = (words[i] >> shifts[j]) & masks[j]
                totals[j] += count * charges[starts[j, levels[j]] + node]
    if not len(charges) and outside:  # entropy needs the bits of the generalized values of rows outside
        for j in range(columns):
            width = np.int64(masks[j]) + 1
            scratch[:width] = 0
            for i in range(length):
                if counts[i] < k:
                    scratch[(words[i] >> shifts[j]) & masks[j]] += counts[i]
            bits = float(outside) * np.log2(float(outside))
            for node in range(width):
                if scratch[node]:
                    bits -= float(scratch[node]) * np.log2(float(scratch[node]))
            totals[j] = bits
    found[0], found[1], found[2] = outside, inside, squares


@jit
def sweep(words, counts, first, levels, heights, strides, k, shifts, masks, tables, table_at, charges, starts, found):
    """Survey every node with the levels `levels` in the columns before `first` and any level in the others."""
    columns, length = len(heights), len(words)
    depth_limit = 1
    for j in range(first, columns):
        depth_limit += heights[j]
    capacity = 16
    while capacity < 2 * length:
        capacity *= 2
    stamps, slots = np.zeros(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
    held_words = np.empty((depth_limit, length), dtype=np.uint64)
    held_counts = np.empty((depth_limit, length), dtype=np.int64)
    lengths = np.empty(depth_limit, dtype=np.int64)
    raised = np.empty(depth_limit, dtype=np.int64)  # the column that was generalized to reach each depth
    position = (levels * strides).sum()
    scratch = np.empty(np.int64(masks.max()) + 1, dtype=np.int64)
    for i in range(length):
        held_words[0, i], held_counts[0, i] = words[i], counts[i]
    lengths[0], raised[0] = length, first
    survey(words, counts, length, k, shifts, masks, charges, starts, levels, scratch, found[position])
    depth, column, stamp = 0, first, np.int64(0)
    # Invariant: depths 0 … `depth` hold the classes of the path to the node at `levels`; every earlier node was
    # surveyed.
    while True:
        if column < columns and levels[column] < heights[column]:
            stamp += 1
            table = tables[table_at[column, levels[column]] : table_at[column, levels[column] + 1]]
            finer = held_words[depth], held_counts[depth], lengths[depth]
            depth += 1
            coarser = held_words[depth], held_counts[depth]
            lengths[depth] = roll_step(*finer, shifts[column], masks[column], table, *coarser, stamps, slots, stamp)
            levels[column] += 1
            position += strides[column]
            raised[depth] = column
            survey(*coarser, lengths[depth], k, shifts, masks, charges, starts, levels, scratch, found[position])
        elif column < columns:
            column += 1
        elif depth == 0:
            return
        else:  # back to the finer node, to continue with its next column
            column = raised[depth]
            levels[column] -= 1
            position -= strides[column]
            depth -= 1
            column += 1
