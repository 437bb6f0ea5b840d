"""Numba kernels that count the rows of many boxes at once."""

from indistinct.compiled import jit


@jit
def count_boxes(values, offsets, counts, shares, found):
    """Write for each box how many rows it holds: by estimate, at least, at most, and the variance of the estimate.

    `values[c, i]` is the published value of entry `i` in column `c`, and `shares[b, offsets[c] + value]` how much of it
    box `b` allows: 2 for all of it, below 0 for nothing.
    """
    columns, entries = values.shape
    for box in range(len(shares)):
        estimate, low, high, variance = 0.0, 0.0, 0.0, 0.0
        for i in range(entries):
            share, certain = 1.0, True
            for column in range(columns):
                part = shares[box, offsets[column] + values[column, i]]
                if part < 0:
                    share = -1.0
                    break
                if part < 2:
                    share *= part
                    certain = False
            if share < 0:
                continue
            rows = counts[i]
            high += rows
            estimate += rows * share
            if certain:
                low += rows
            else:
                variance += rows * share * (1 - share)
        found[box, 0], found[box, 1], found[box, 2], found[box, 3] = estimate, low, high, variance
