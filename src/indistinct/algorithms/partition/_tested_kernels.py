"""Numba kernels of strict partitioning for models that provide a compiled test.

The recursion and the arrays are those of `_strict_kernels.py`; a cut is tried by adding up the histograms of its sides.
A cell carries its number in the column before its rows, which leads to its histogram. `chain` (int64, one entry per
cell) is scratch, `checks` (int64) a counter, `test` and `scratch` are those of `models/_test_kernels.py`.
`strict_any_model.py` does the same in plain NumPy; `tests/laws/test_compiled_tests.py` compares both.

The test is called from as few lines as possible, because each of them compiles one more copy of it.
"""

import numpy as np

from indistinct.algorithms.partition._strict_kernels import (
    LEVEL,
    MASK,
    NODE,
    SHIFT,
    START,
    STOP,
    STRIDE,
    TOTAL,
    TREE,
    WORD,
    children_fit,
    cut_that_goes_on,
    end_of_child,
    inner,
    jit,
    median_of,
    narrow,
    open_sides,
    split_rows,
    value_before,
    widest,
    widths_of,
)
from indistinct.models._test_kernels import NO, UNDECIDED, YES, add_cell, clear, satisfies

# A test that more cells cannot break is asked after every this many cells.
ASKED = 16


@inner
def side_satisfies(rows, start, stop, fields, axis, low, high, test, scratch):
    """Return whether the cells of a part with ranks from `low` to `high` together satisfy the model.

    The test must be one that more cells cannot break, because it stops early.
    """
    word, shift, mask, last = fields[axis, WORD], fields[axis, SHIFT], fields[axis, MASK], rows.shape[1] - 1
    indptr, entries, tally, touched = test.indptr, test.entries, scratch.tally, scratch.touched
    seen, size, answer, added = np.int64(0), np.int64(0), NO, 0
    # Invariant: the tally of side 0 has the cells before i with ranks from `low` to `high`: `size` rows, `seen` codes.
    for i in range(start, stop):
        value = (rows[i, word] >> shift) & mask
        if low <= value and value <= high:
            seen = add_cell(indptr, entries, tally, touched, np.uint64(0), rows[i, last - 1], seen)
            size += rows[i, last]
            added += 1
            due = added % ASKED == 0
        else:
            due = False
        if due or i + 1 == stop:
            answer = satisfies(test, scratch, np.int64(0), seen, size)
            if answer == YES:
                break
    clear(scratch, np.int64(0), seen)
    return answer


@inner
def sides_satisfy(rows, start, stop, fields, axis, cut, left, right, test, scratch):
    """Return whether the cells up to a cut, which have `left` rows, satisfy the model, and the others too."""
    word, shift, mask, last = fields[axis, WORD], fields[axis, SHIFT], fields[axis, MASK], rows.shape[1] - 1
    indptr, entries, tally, touched = test.indptr, test.entries, scratch.tally, scratch.touched
    seen_left, seen_right = np.int64(0), np.int64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        side = np.uint64(((rows[i, word] >> shift) & mask) > cut)
        seen = seen_right if side else seen_left
        seen = add_cell(indptr, entries, tally, touched, side, rows[i, last - 1], seen)
        seen_left, seen_right = seen_left if side else seen, seen if side else seen_right
    answer = YES
    for which in range(2):
        seen, size = (seen_right, right) if which else (seen_left, left)
        if answer == YES:
            answer = satisfies(test, scratch, np.int64(which), seen, size)
        clear(scratch, np.int64(which), seen)
    return answer


@inner
def tested_cut(rows, start, stop, fields, axis, low, high, total, tally, test, scratch):
    """Return the allowable cut at the two-sided median, -1 if there is none, or `UNDECIDED`.

    The cut with the more equal sides is tried first, of equals the one after the median.
    """
    median, below, up_to = median_of(rows, start, stop, fields, axis, low, high, total, tally)
    after_first = abs(2 * up_to - total) <= abs(2 * below - total)
    for attempt in range(2):
        after = after_first == (attempt == 0)
        size = up_to if after else below
        if size >= test.least and total - size >= test.least:
            cut = median if after else value_before(rows, start, stop, fields, axis, median)
            if test.growing:
                answer = YES
                for side in range(2):
                    first, last = (cut + 1, high) if side else (low, cut)
                    if answer == YES:
                        answer = side_satisfies(rows, start, stop, fields, axis, first, last, test, scratch)
            else:
                answer = sides_satisfy(rows, start, stop, fields, axis, cut, size, total - size, test, scratch)
            if answer != NO:
                return cut if answer == YES else np.int64(UNDECIDED)
    return np.int64(-1)


@inner
def children_satisfy(rows, start, stop, fields, axis, low, high, trees, node, chain, tally, test, scratch):
    """Return whether every child with rows satisfies the model.

    `node` is the position in `trees` of the child of `low`.
    """
    word, shift, mask, last = fields[axis, WORD], fields[axis, SHIFT], fields[axis, MASK], rows.shape[1] - 1
    stride = fields[axis, STRIDE]
    if not children_fit(rows, start, stop, fields, axis, low, high, test.least, trees, node, stride, tally):
        return NO
    # The cells of a rank are chained, beginning at the rank; both are counted from 1, so that 0 is the end.
    for i in range(start, stop):
        value = ((rows[i, word] >> shift) & mask) - low
        chain[i] = tally[value]
        tally[value] = i + 1
    indptr, entries, touched = test.indptr, test.entries, scratch.touched
    answer, seen, size = YES, np.int64(0), np.int64(0)
    # Invariant: the tally of side 0 has the cells so far of one child; it is judged and cleared where the next begins.
    for rank in range(high - low + 2):
        if seen and (rank > high - low or trees[node] != trees[node - stride]):
            answer = satisfies(test, scratch, np.int64(0), seen, size) if answer == YES else answer
            clear(scratch, np.int64(0), seen)
            seen, size = np.int64(0), np.int64(0)
        if rank > high - low:
            break
        cell = tally[rank]
        tally[rank] = 0
        while cell and answer == YES:
            seen = add_cell(indptr, entries, scratch.tally, touched, np.uint64(0), rows[cell - 1, last - 1], seen)
            size += rows[cell - 1, last]
            cell = chain[cell - 1]
        node += stride
    return answer


@inner
def cut_along(rows, start, stop, total, fields, axis, low, high, trees, level, chain, tally, test, scratch):
    """Return the allowable cut along a column, -1 if there is none, or `UNDECIDED`; 0 for a cut into all children."""
    if level < 0:
        return tested_cut(rows, start, stop, fields, axis, low, high, total, tally, test, scratch)
    node = fields[axis, TREE] + low * fields[axis, STRIDE] + level
    answer = children_satisfy(rows, start, stop, fields, axis, low, high, trees, node, chain, tally, test, scratch)
    return np.int64(0 if answer == YES else (-1 if answer == NO else UNDECIDED))


# fmt: off
@jit
def partition_tested(
    rows, smallest, grain, fields, lines, trees, span, stack, low, high, width, meets, spare, tally, axis, cut, left,
    stops, chain, test, scratch, checks
):
    """Partition all cells as `partition_strict` does, by a compiled test; `UNDECIDED` requests the model itself.

    Parts of fewer than twice `smallest` rows are not divided. `checks` counts the columns that were tried.
    """
    depth, nodes, leaves = 1, 1, 0
    # Invariant, as in `partition_strict`: the leftmost part is on top of the stack, everything left of it is leaves.
    while depth:
        depth -= 1
        start, stop, total = stack[depth, START], stack[depth, STOP], stack[depth, TOTAL]
        chosen, least = cut_that_goes_on(rows, depth, fields, trees, stack, low, high)
        level, threshold, before = stack[depth, LEVEL], np.int64(-1), checks[0]
        if chosen < 0 and total >= 2 * smallest and stop - start > 1 and stop - start >= grain:
            narrow(rows, start, stop, fields, depth, low, high)
            widths_of(low, high, depth, fields, lines, trees, span, width, meets)
            tried = widest(width)
            while tried >= 0 and chosen < 0:
                least, level = low[depth, tried], meets[tried] - 1 if fields[tried, STRIDE] else np.int64(-1)
                threshold = cut_along(rows, start, stop, total, fields, tried, least, high[depth, tried], trees, level,
                                      chain, tally, test, scratch)
                if threshold == UNDECIDED:
                    return UNDECIDED
                checks[0] += 1
                chosen = tried if threshold >= 0 else chosen
                width[tried] = -1.0
                tried = widest(width)
        node = stack[depth, NODE]
        axis[node], cut[node] = chosen, 0
        if chosen < 0:
            left[node], stops[leaves] = leaves, stop
            leaves += 1
            checks[0] = before if grain > 0 else checks[0]  # another call will try and count again
            continue
        if depth + 2 > len(stack):
            return -1
        if level >= 0:
            threshold = end_of_child(fields, trees, chosen, level, least)
        cut[node], left[node] = threshold, nodes
        middle = split_rows(rows, start, stop, fields, chosen, threshold, spare)
        depth = open_sides(rows, depth, nodes, middle, chosen, threshold, level, stack, low, high)
        nodes += 2
    return nodes
# fmt: on
