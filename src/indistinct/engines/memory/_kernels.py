"""The loops that put rows behind classes, compiled where NumPy has none as quick."""

import numba as nb
import numpy as np

from indistinct.domain import Codes

jit = nb.njit(cache=True, nogil=True)

# Below this many rows NumPy alone is done before a kernel is compiled.
COMPILE_FROM = 1 << 18


def scatter_rows(order: Codes, labels: Codes, counts: Codes, places: Codes, out: Codes) -> None:
    """Send runs of rows to their classes: piece `i` takes the next `counts[i]` rows of `order`."""
    if len(order) >= COMPILE_FROM:
        _scatter_runs(order, labels, counts, places, out)
        return
    owners = np.repeat(labels, counts)
    arranged = np.argsort(owners, kind="stable")
    out[:] = order[arranged[np.count_nonzero(owners < 0) :]]


@jit
def _scatter_runs(order, labels, counts, places, out):
    """Copy each run to where its class goes on; rows of label -1 go nowhere."""
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
