"""The loop that shuffles rows."""

import numpy as np

from indistinct.compiled import jit


@jit
def shuffle(rows, starts, words, spares, first):
    """Shuffle each run (Fisher and Yates), with one word a row, those of the run's rows counted from `first`.

    A word that would make some places likelier than others is replaced by a spare one (Lemire 2019).
    """
    used = 0
    for run in range(len(starts) - 1):
        start = starts[run]
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
