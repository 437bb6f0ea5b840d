"""People in no order that their values explain."""

import numpy as np
import pyarrow as pa


def ordered(rows=200):
    """Return a table whose row order no column explains."""
    chance = np.random.default_rng(5)
    return pa.table(
        {
            "age": chance.integers(20, 60, rows),
            "sex": chance.choice(["f", "m"], rows),
            "disease": chance.choice(list("abcdef"), rows),
        }
    )
