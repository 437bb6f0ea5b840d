"""The loop that shuffles rows.

`rows` are integers of any type, `starts` (int64) where each run of them begins and the last one ends, `words` and
`spares` random words of 32 bits (uint32). `tests/laws/test_shuffling.py` checks that rows stay in their run and that
every order is equally likely.
"""

import numpy as np

from indistinct.machine.compiled import jit


@jit
def shuffle(rows, starts, words, spares, first):
    """Shuffle each run (Fisher and Yates), with one word a row, those of the run's rows counted from `first`.

    A word that would make some positions likelier than others is replaced by a spare one (Lemire 2019).
    """
    used = 0
    for run in range(len(starts) - 1):
        start = starts[run]
        # Rows behind i are in their final order; row i changes with one of `start` … i, itself included.
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
