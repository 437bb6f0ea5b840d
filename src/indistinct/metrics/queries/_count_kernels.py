"""Numba kernels that count the rows of many boxes at once.

With c columns, n entries of a slice and b boxes: `values` is c × n (int32), `offsets` c + 1 (int64), `counts` n
(int64), `shares` b × the number of published values of all columns (float64), `found` b × 4 (float64).
`PublishedRows.count` in `published_rows.py` does the same in plain NumPy; `test_many_counts_are_those_of_single_ones`
in `tests/unit/metrics/test_queries.py` compares both.
"""

from indistinct.machine.compiled import jit


@jit
def count_boxes(values, offsets, counts, shares, found):
    """Write for each box its number of rows: estimate, minimum, maximum, and the variance of the estimate.

    `values[c, i]` is the published value of entry `i` in column `c`, and `shares[b, offsets[c] + value]` how much of it
    box `b` allows: 2 for all of it, below 0 for nothing.
    """
    columns, entries = values.shape
    for box in range(len(shares)):
        estimate, low, high, variance = 0.0, 0.0, 0.0, 0.0
        # Invariant: after entry i, `low` ≤ rows that are in the box among entries 0 … i ≤ `high`.
        for i in range(entries):
            # `share` is the part of the entry in the box, if columns are independent and values equally likely.
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
