"""The compiled loop that writes the rows of a release as delimited text."""

import numpy as np

from indistinct.machine.arrays import Codes
from indistinct.machine.compiled import jit

# Copying this many bytes whatever the length compiles to one vector move, and most fields are shorter.
STEP = 16


@jit
def spell_rows(codes: Codes, first: Codes, starts: Codes, lengths: Codes, pool: Codes, out: Codes) -> int:
    """Write the fields of every row one after the other and return the number of bytes.

    `codes[j, i]` plus `first[j]` is the field of column `j` in row `i`; field `f` is `pool[starts[f] :
    starts[f] + lengths[f]]`, its delimiter or line end included. `pool` and `out` have `STEP` spare bytes at
    their ends.
    """
    position = np.uint64(0)
    width, rows = codes.shape
    for row in range(rows):
        for column in range(width):
            field = np.uint64(first[column] + codes[column, row])
            start = np.uint64(starts[field])
            length = np.uint64(lengths[field])
            for offset in range(STEP):
                out[position + np.uint64(offset)] = pool[start + np.uint64(offset)]
            if length > np.uint64(STEP):
                for offset in range(STEP, length):
                    out[position + np.uint64(offset)] = pool[start + np.uint64(offset)]
            position += length
    return int(position)
