"""Children of parts in native code: which there are, how many rows they spare, and which rows these are."""

import numba as nb
import numpy as np

jit = nb.njit(cache=True, nogil=True)

NOBODY = -1


@jit
def tally(starts, values, counts, room, groups):
    """Number the distinct values of each part by first occurrence, through all parts; write the group of each piece.

    Return each part's first group, and for each group its value and its rows.
    """
    found, seen = 0, np.full(room, NOBODY, dtype=np.int64)
    bounds = np.zeros(len(starts), dtype=np.int64)
    value_of, sizes = np.empty(len(values), dtype=np.int64), np.zeros(len(values), dtype=np.int64)
    for part in range(len(starts) - 1):
        for piece in range(starts[part], starts[part + 1]):
            group = seen[values[piece]]
            if group < bounds[part]:
                group = found
                seen[values[piece]] = found
                value_of[found] = values[piece]
                found += 1
            groups[piece] = group
            sizes[group] += counts[piece]
        bounds[part + 1] = found
    return bounds, value_of[:found], sizes[:found]


@jit
def unspecialize(bounds, values, sizes, k, taken):
    """Take rows out of the children of each part until what is left over has `k` rows or none; write how many.

    A row is taken from the largest child that can spare one (ties: the one that comes first); if none can, the
    smallest child (ties: by value) is dissolved.
    """
    for part in range(len(bounds) - 1):
        start, stop = bounds[part], bounds[part + 1]
        rest = np.int64(0)
        for child in range(start, stop):
            taken[child] = sizes[child] if sizes[child] < k else 0
            rest += taken[child]
        while 0 < rest < k:
            largest, smallest = NOBODY, NOBODY
            for child in range(start, stop):
                left = sizes[child] - taken[child]
                if left > k and (largest < 0 or left > sizes[largest] - taken[largest]):
                    largest = child
                if left > 0 and (
                    smallest < 0
                    or left < sizes[smallest] - taken[smallest]
                    or (left == sizes[smallest] - taken[smallest] and values[child] < values[smallest])
                ):
                    smallest = child
            if largest >= 0:
                taken[largest] += 1
                rest += 1
            elif smallest >= 0:
                rest += sizes[smallest] - taken[smallest]
                taken[smallest] = sizes[smallest]
            else:
                break


@jit
def take_first(counts, groups, wanted, taken):
    """Write how many rows of each piece make up the first `wanted[group]` rows of its group."""
    missing = wanted.copy()
    for piece in range(len(counts)):
        taken[piece] = min(counts[piece], missing[groups[piece]])
        missing[groups[piece]] -= taken[piece]
