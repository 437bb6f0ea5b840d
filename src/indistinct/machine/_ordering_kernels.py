"""Numba kernels for sorting: merging sorted words, and texts as words.

Words are uint64. A text is a run of bytes: `pool` (uint8) are the bytes of all texts, `begins` (int32, one more than
there are texts) where each begins, as Arrow lays them out. `tests/unit/machine/test_ordering.py` compares the results
with NumPy's and Arrow's sorts.
"""

import numpy as np

from indistinct.machine.compiled import jit


@jit
def merge_sorted(left, right, out):
    """Merge two ascending arrays into `out`."""
    i, j = 0, 0
    ends = len(left), len(right)
    # Invariant: `out[:place]` are the i smallest of the left and the j smallest of the right, merged.
    for index in range(len(out)):
        from_left = j == ends[1] or (i < ends[0] and left[i] <= right[j])
        out[index] = left[i] if from_left else right[j]
        i += from_left
        j += not from_left


@jit
def common_prefix(begins, pool):
    """Return the number of leading bytes that all texts share; text `i` is `pool[begins[i]:begins[i + 1]]`."""
    first = begins[0]
    common = begins[1] - first
    # Invariant: texts 0 … i - 1 agree in their first `common` bytes.
    for i in range(1, len(begins) - 1):
        begin = begins[i]
        common = min(common, begins[i + 1] - begin)
        for at in range(common):
            if pool[begin + at] != pool[first + at]:
                common = at
                break
    return common


@jit
def bytes_of_texts(begins, pool, rows, at, count, words):
    """Write `count` bytes of every row's text from byte `at` on as a word; shorter texts are padded with 0."""
    for i in range(len(rows)):
        begin = begins[rows[i]] + at
        end = begins[rows[i] + 1]
        word = np.uint64(0)
        # The first byte is the highest one, so that words compare as texts do.
        for index in range(begin, begin + count):
            word <<= np.uint64(8)
            if index < end:
                word |= np.uint64(pool[index])
        words[i] = word
