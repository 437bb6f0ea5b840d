"""What a model asks of one histogram of a class, in numbers that a kernel compares.

A kernel cannot call a model. A model that judges a class by its size and the histogram of one key may describe itself
by such tests; `compiled_test.py` lays them out for kernels. The model's own `violations` stays what decides.
"""

from dataclasses import dataclass, field

import numpy as np

from indistinct.frequencies.value import Key
from indistinct.machine.arrays import Codes

# What a test looks at: the size of a class, the number of different values, the largest share of a value, entropy, the
# most frequent value against the rare ones, or a distance from the whole table.
SIZE, DISTINCT, SHARE, ENTROPY, RECURSIVE, EQUAL, ORDERED, HIERARCHICAL = range(8)


@dataclass(frozen=True, slots=True, eq=False)
class HistogramTest:
    """One test of a class.

    `least` is the number of rows or values that it asks for, `ratio` a fraction that is compared without rounding,
    `limit` what a rounded number is compared with. `table` holds a number for every code: whether it is protected, or
    its share of the whole table; for ordered values the cumulative shares and their running sum; for a hierarchy the
    share of every node, and `nodes` has the nodes of every code, level by level. For an entropy it holds, for each
    count below `least`, its product with its logarithm.
    """

    kind: int
    key: Key | None = None
    least: int = 1
    ratio: tuple[int, int] = (0, 1)
    limit: float = 0.0
    table: Codes = field(default_factory=lambda: np.zeros(0))
    nodes: Codes = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
