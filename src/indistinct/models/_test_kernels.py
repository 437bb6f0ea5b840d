"""Numba kernels that test a class as its model does, called by the kernels of searches.

A search adds the cells of a class one after another (`add_cell`), tests the class (`satisfies`), and clears the tally.
Whole numbers are compared exactly. Where a rounded number is so near its limit that the order of additions could
decide, the answer is `UNDECIDED`, and the search must call the model itself.

`test` is a `CompiledTest` and `scratch` a `Scratch` of `compiled_test.py`: `test.tests` is tests × 9 (int64), one row a
test; `limits` and `tables` are float64, `nodes` int64; cell i owns `entries[indptr[i]:indptr[i + 1]]`, pairs of code
and count (int64). `scratch.tally` (2 × codes, int64) has how often each code occurs in the class of each side, and
`scratch.touched[side, :seen]` which codes do; between classes `tally` and `sums` are zero. Each model's `violations`
gives the same answers; `tests/laws/test_compiled_tests.py` compares them.
"""

import math

import numpy as np

from indistinct.machine import compiled
from indistinct.models.base import DISTINCT, ENTROPY, EQUAL, HIERARCHICAL, ORDERED, RECURSIVE, SHARE

inner = compiled.inner(error_model="numpy")

NO, YES, UNDECIDED = 0, 1, -2
# The columns of `CompiledTest.tests`.
KIND, FIRST, LAST, LEAST, TOP, BOTTOM, TABLE, NODES, HEIGHT = range(9)
# Models allow for rounding of 1e-9; a number that is nearer to the limit than this is undecided.
UNDECIDED_DISTANCE = 1e-10


@inner
def add_cell(indptr, entries, tally, touched, side, cell, seen):
    """Add the histogram of a cell to a class that has `seen` different codes; return its new number of codes.

    Two classes can be built at the same time, `side` 0 and 1. The arrays are those of the test and the scratch, passed
    singly because every access through them would count references. Indices are unsigned, so that no check for negative
    ones is compiled.
    """
    for i in range(np.uint64(indptr[np.uint64(cell)]), np.uint64(indptr[np.uint64(cell + 1)])):
        code = np.uint64(entries[i, 0])
        touched[side, np.uint64(seen)] = np.int64(code)
        # `touched` is always written but only counted if the code is new, which avoids a branch that is often
        # mispredicted.
        before = tally[side, code]
        seen += np.int64(before == 0)
        tally[side, code] = before + entries[i, 1]
    return seen


@inner
def clear(scratch, side, seen):
    """Clear the tally of the class."""
    for i in range(seen):
        scratch.tally[side, scratch.touched[side, i]] = 0


@inner
def satisfies(test, scratch, side, seen, size):
    """Return whether the class, which has `size` rows, passes every test: `YES`, `NO` or `UNDECIDED`."""
    answer = YES if size >= test.least else NO
    for i in range(len(test.tests)):
        if answer == YES:
            answer = passes(test, scratch, side, seen, size, i)
    return answer


@inner
def passes(test, scratch, side, seen, size, which):
    """Return whether the class passes one test."""
    kind = test.tests[which, KIND]
    if kind == DISTINCT:
        count = np.int64(0)
        for i in range(seen):
            count += (
                test.tests[which, FIRST] <= scratch.touched[side, i]
                and scratch.touched[side, i] < test.tests[which, LAST]
            )
        return YES if count >= test.tests[which, LEAST] else NO
    if kind == SHARE:
        return YES if not too_frequent(test, scratch, side, seen, size, which) else NO
    if kind == RECURSIVE:
        return YES if tail_suffices(test, scratch, side, seen, which) else NO
    limit = test.limits[which]
    if kind == ENTROPY:
        value, limit = -exponential_entropy(test, scratch, side, seen, size, which), -limit
    elif kind == EQUAL:
        value = equal_distance(test, scratch, side, seen, size, which)
    elif kind == ORDERED:
        value = ordered_distance(test, scratch, side, seen, size, which)
    elif kind == HIERARCHICAL:
        value = hierarchical_distance(test, scratch, side, seen, size, which)
    else:
        return UNDECIDED
    if abs(value - limit) <= UNDECIDED_DISTANCE * max(abs(limit), 1.0):
        return UNDECIDED
    return YES if value <= limit else NO


@inner
def too_frequent(test, scratch, side, seen, size, which):
    """Return whether a protected value exceeds its share."""
    first, last, table = test.tests[which, FIRST], test.tests[which, LAST], test.tests[which, TABLE]
    most = np.int64(0)
    for i in range(seen):
        code = scratch.touched[side, i]
        if first <= code and code < last and test.tables[table + code - first] > 0:
            most = max(most, scratch.tally[side, code])
    return most * test.tests[which, BOTTOM] > size * test.tests[which, TOP]


@inner
def tail_suffices(test, scratch, side, seen, which):
    """Return whether the most frequent value is rarer than the ratio times the values from rank `least` on."""
    first, last, head = test.tests[which, FIRST], test.tests[which, LAST], test.tests[which, LEAST] - 1
    largest, kept = scratch.order, np.int64(0)
    most, tail = np.int64(0), np.int64(0)
    for i in range(seen):
        code = scratch.touched[side, i]
        if first <= code and code < last:
            count = scratch.tally[side, code]
            most = max(most, count)
            tail += count
            # Invariant: `largest[:kept]` are the largest counts so far, descending, at most `head` of them.
            if kept < head or (head > 0 and count > largest[kept - 1]):
                at = kept if kept < head else head - 1
                kept = min(kept + 1, head)
                while at > 0 and largest[at - 1] < count:
                    largest[at] = largest[at - 1]
                    at -= 1
                largest[at] = count
    for i in range(kept):
        tail -= largest[i]
    return most * test.tests[which, BOTTOM] < tail * test.tests[which, TOP]


@inner
def exponential_entropy(test, scratch, side, seen, size, which):
    """Return the exponential of the entropy of the values.

    `tables` has the product of each small count and its logarithm.
    """
    first, last, table = test.tests[which, FIRST], test.tests[which, LAST], test.tests[which, TABLE]
    known = test.tests[which, LEAST]
    total, counted = 0.0, np.int64(0)
    for i in range(seen):
        code = scratch.touched[side, i]
        if first <= code and code < last:
            count = scratch.tally[side, code]
            counted += count
            total += test.tables[table + count] if count < known else count * math.log(count)
    return math.exp((counted * math.log(size) - total) / size)


@inner
def equal_distance(test, scratch, side, seen, size, which):
    """Return the equal distance: the mass by which the class exceeds the whole table."""
    first, last, table = test.tests[which, FIRST], test.tests[which, LAST], test.tests[which, TABLE]
    excess, row = 0.0, 1 / size
    for i in range(seen):
        code = scratch.touched[side, i]
        if first <= code and code < last:
            excess += max(scratch.tally[side, code] * row - test.tables[table + code - first], 0.0)
    return excess


@inner
def hierarchical_distance(test, scratch, side, seen, size, which):
    """Return the hierarchical distance: the mean over all levels of the excess mass."""
    first, last, height = test.tests[which, FIRST], test.tests[which, LAST], test.tests[which, HEIGHT]
    table, nodes = test.tests[which, TABLE], test.tests[which, NODES]
    sums, order, excess, used = scratch.sums, scratch.order, 0.0, 0
    for i in range(seen):
        code = scratch.touched[side, i]
        if first <= code and code < last:
            for level in range(height):
                node = test.nodes[nodes + (code - first) * height + level]
                # `order[:used]` are the nodes with rows of the class, `sums` their rows.
                order[used] = node
                used += sums[node] == 0
                sums[node] += scratch.tally[side, code]
    for i in range(used):
        excess += max(sums[order[i]] / size - test.tables[table + order[i]], 0.0)
        sums[order[i]] = 0
    return excess / height


@inner
def ordered_distance(test, scratch, side, seen, size, which):
    """Return the ordered distance: the area between the cumulative distributions."""
    first, last, table = test.tests[which, FIRST], test.tests[which, LAST], test.tests[which, TABLE]
    values = last - first
    if values <= 16 * seen + 64:
        area, running, row = 0.0, np.int64(0), 1 / size
        enough = (test.limits[which] + 2 * UNDECIDED_DISTANCE) * (values - 1)  # beyond this the answer cannot change
        # Invariant: `running` are the rows of the class up to this value; the table has their expected share.
        for code in range(first, last):
            running += scratch.tally[side, code]
            area += abs(running * row - test.tables[table + code - first])
            if area > enough:
                break
        return area / (values - 1)
    order, used = scratch.order, 0
    for i in range(seen):
        if first <= scratch.touched[side, i] and scratch.touched[side, i] < last:
            order[used] = scratch.touched[side, i] - first
            used += 1
    sort(order, used)
    order[used] = values
    # Between two values of the class its share is constant and the table's grows: they cross once.
    areas, running = table + values, np.int64(0)
    area = test.tables[areas + order[0]]
    for i in range(used):
        start, stop = order[i], order[i + 1]
        running += scratch.tally[side, first + start]
        share = running / size
        low, high = start, stop
        # From `start` to `low` the class is above the table, from `low` to `stop` below it.
        while low < high:
            middle = (low + high) >> 1
            if test.tables[table + middle] <= share:
                low = middle + 1
            else:
                high = middle
        area += (low - start) * share - (test.tables[areas + low] - test.tables[areas + start])
        area += (test.tables[areas + stop] - test.tables[areas + low]) - (stop - low) * share
    return area / (values - 1)


@inner
def sort(numbers, count):
    """Sort the first numbers of an array by insertion with shrinking gaps (Shell 1959)."""
    gap = count
    while gap > 1:
        gap = 1 if gap < 5 else gap * 5 // 11
        # Invariant: every number before i is in order with those a multiple of `gap` away.
        for i in range(gap, count):
            number, at = numbers[i], i
            while at >= gap and numbers[at - gap] > number:
                numbers[at] = numbers[at - gap]
                at -= gap
            numbers[at] = number
