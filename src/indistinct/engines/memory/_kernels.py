"""Numba kernels that put rows behind classes."""

import numba as nb
import numpy as np

jit = nb.njit(cache=True, nogil=True)


@jit
def scatter_rows(order, labels, counts, places, out):
    """Send runs of rows to their classes: piece `i` takes the next `counts[i]` rows of `order`."""
    at = 0
    for piece in range(len(labels)):
        label = labels[piece]
        count = counts[piece]
        if label >= 0:
            place = places[label]
            for i in range(count):
                out[place + i] = order[at + i]
            places[label] = place + count
        at += count


@jit
def shuffle_runs(rows, starts, random):
    """Shuffle the rows inside each run (Fisher and Yates), with one random word of 32 bits a row."""
    for run in range(len(starts) - 1):
        start = starts[run]
        for i in range(starts[run + 1] - 1, start, -1):
            other = start + np.int64((np.uint64(random[i]) * np.uint64(i - start + 1)) >> np.uint64(32))
            rows[i], rows[other] = rows[other], rows[i]


@jit
def repeat_runs(values, sizes):
    """Return each value as often as its run is long."""
    total = np.int64(0)
    for run in range(len(sizes)):
        total += sizes[run]
    out = np.empty(total, dtype=values.dtype)
    place = 0
    for run in range(len(sizes)):
        value = values[run]
        for i in range(place, place + sizes[run]):
            out[i] = value
        place += sizes[run]
    return out
