"""Numba kernels that enumerate the tuples of published buckets and count the buckets that match a tuple."""

import numpy as np

from indistinct.machine.compiled import jit


@jit
def extend_products(words, starts, values, value_starts, radix, out):
    """Write every word of a bucket followed by every value of the bucket; all numbers but the starts are uint64."""
    position = 0
    for bucket in range(len(starts) - 1):
        for i in range(starts[bucket], starts[bucket + 1]):
            for k in range(value_starts[bucket], value_starts[bucket + 1]):
                out[position] = words[i] * radix + values[k]
                position += 1


@jit
def count_matching(tuples, starts, lists, runs, low, high, found):
    """Write how many buckets cover every value of each tuple; tuples are in lexicographic order.

    Level j has the buckets that cover the first j + 1 values: those of level 0 are listed for each value, and those of
    another level are the ones of the level before that cover one value more. Tuples begin at the first value in which
    they differ from the one before.
    """
    columns = tuples.shape[1]
    longest = 0
    for value in range(len(starts) - 1):
        longest = max(longest, starts[value + 1] - starts[value])
    kept = np.empty((columns, max(longest, 1)), dtype=np.int64)
    sizes = np.zeros(columns, dtype=np.int64)
    for i in range(len(tuples)):
        level = 0
        if i > 0:
            while level < columns and tuples[i, level] == tuples[i - 1, level]:
                level += 1
        for j in range(level, columns):
            if j == 0:
                begin, end = starts[tuples[i, 0]], starts[tuples[i, 0] + 1]
                sizes[0] = end - begin
                kept[0, : end - begin] = lists[begin:end]
                continue
            size = 0
            for k in range(sizes[j - 1]):
                bucket = kept[j - 1, k]
                if _covers(runs[j, bucket], runs[j, bucket + 1], low, high, tuples[i, j]):
                    kept[j, size] = bucket
                    size += 1
            sizes[j] = size
        found[i] = sizes[columns - 1]


@jit
def _covers(first, last, low, high, code):
    """Return whether one of some ascending runs covers a code."""
    end = last
    while first < last:  # the first run that does not end before the code
        middle = (first + last) >> 1
        if high[middle] < code:
            first = middle + 1
        else:
            last = middle
    return first < end and low[first] <= code
