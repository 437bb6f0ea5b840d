"""Numba kernels that shuffle rows and draw some of them.

`rows` are integers of any type, `starts` (int64) where each run of them begins and the last one ends, `words` and
`spares` random words of 32 bits (uint32). `tests/laws/test_shuffling.py` checks that rows stay in their run and that
every order is equally likely, `tests/laws/test_sampling.py` that every set of rows is.
"""

import numpy as np

from indistinct.machine.compiled import jit


@jit
def shuffle(rows, starts, words, spares, first):
    """Shuffle each run (Fisher and Yates), with one word per row; `first` is the number of the first row's word.

    A word that would make some positions more likely than others is replaced by a spare one (Lemire 2019).
    """
    used = 0
    for run in range(len(starts) - 1):
        start = starts[run]
        # Invariant: rows after i are in their final order; row i is swapped with one of `start` … i, itself included.
        for i in range(starts[run + 1] - 1, start, -1):
            size = np.uint64(i - start + 1)
            product = np.uint64(words[i - first]) * size
            rest = product & np.uint64(0xFFFFFFFF)
            if rest < size:
                while rest < np.uint64(1 << 32) % size and used < len(spares):
                    product = np.uint64(spares[used]) * size
                    rest = product & np.uint64(0xFFFFFFFF)
                    used += 1
            other = start + np.int64(product >> np.uint64(32))
            rows[i], rows[other] = rows[other], rows[i]


@jit
def draw(drawn, words, spares, left, wanted):
    """Mark `wanted` of the next `left` rows in `drawn` (bool), with one word (uint64) per row.

    `drawn` covers the first of these rows. A word that would make some numbers below `left` more likely is replaced by
    a spare one.
    """
    used, one, most = 0, np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
    for i in range(len(drawn)):
        size = np.uint64(left - i)
        # Of 2**64 words, the last 2**64 mod size would bias the result.
        excess = (most % size + one) % size
        word = words[i]
        while most - word < excess and used < len(spares):
            word = spares[used]
            used += 1
        drawn[i] = word % size < np.uint64(wanted)
        if drawn[i]:
            wanted -= 1
