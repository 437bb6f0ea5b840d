"""How strongly two attributes depend on each other; slicing puts dependent attributes into one column.

The measure is the mean square contingency coefficient φ² (Cramér 1946), which Li, Li, Zhang and Molloy (2012) use.
"""

from collections.abc import Sequence

import numpy as np

from indistinct.algorithms.base import Progress
from indistinct.frequencies.encode import distinct_codes
from indistinct.machine.arrays import Codes, Floats

# Rounding keeps equal correlations equal however values are numbered and sums are ordered; ties are decided by name.
_DECIMALS_OF_PHI = 12
# The matrix of all pairs of values is counted while it is not much larger than the rows; beyond that, pairs are sorted.
_FEW_CELLS = 1 << 16
_MANY_CELLS = 1 << 22
_CELLS_PER_ROW = 4


def put_into_bins(line: Codes, bins: int = 10) -> Codes:
    """Return the bin of each place on a line cut into bins of equal width; bins that stay empty are left out.

    A bin holds its lower end, the last one both. Infinite places share the bin of the outermost finite one.

    >>> put_into_bins(np.array([0.0, 1.0, 9.5, 100.0])).tolist()
    [0, 0, 0, 1]
    """
    positions = _finite(np.asarray(line, dtype=np.float64))
    span = np.ptp(positions) if len(positions) else 0.0
    if span == 0:
        return np.zeros(len(positions), dtype=np.int64)
    # Multiplying first keeps whole numbers whole, so that a place on the border of two bins is not rounded below it.
    bins_of_values = np.floor((positions - positions.min()) * bins / span).astype(np.int64)
    return np.unique(np.minimum(bins_of_values, bins - 1), return_inverse=True)[1].astype(np.int64)


def phi_squared(first: Codes, second: Codes, *, weights: Codes) -> float:
    """Return φ² of two attributes, from 0 for independent ones to 1 where one determines the other.

    φ² = (1 / (min(d1, d2) - 1)) Σ (f_ij - f_i f_j)² / (f_i f_j), with d1 and d2 the numbers of values that occur. A
    constant attribute depends on nothing: 0. Row `i` counts `weights[i]` times.

    >>> phi_squared(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), weights=np.ones(4, dtype=np.int64))
    0.333333333333
    """
    return float(correlations([first, second], weights=weights)[0, 1])


def correlations(columns: Sequence[Codes], *, weights: Codes, progress: Progress | None = None) -> Floats:
    """Return the symmetric matrix of φ² of every pair of attributes, with ones on the diagonal."""
    present = weights > 0
    # Where each row counts once, no weights are needed.
    multiplicities = None if (weights[present] == 1).all() else weights[present].astype(np.float64)
    attributes = [_count_codes(column[present], multiplicities) for column in columns]
    matrix = np.eye(len(attributes))
    pairs, done = len(attributes) * (len(attributes) - 1) // 2, 0
    for index, one in enumerate(attributes):
        for other in range(index):
            matrix[index, other] = matrix[other, index] = _phi_squared(one, attributes[other], multiplicities)
            done += 1
            if progress is not None:
                progress(done / pairs)
    return matrix


def _count_codes(column: Codes, multiplicities: Floats | None) -> tuple[Codes, Floats]:
    """Return the rows of a column as codes without gaps, and how often each code occurs."""
    values, codes = distinct_codes(column)
    return codes, _count(codes, multiplicities, len(values))


def _phi_squared(first: tuple[Codes, Floats], second: tuple[Codes, Floats], multiplicities: Floats | None) -> float:
    """Return the squared mean contingency coefficient of two attributes."""
    (codes, counts), (other_codes, other_counts) = first, second
    rows, columns = len(counts), len(other_counts)
    if min(rows, columns) < 2:
        return 0.0
    pairs = codes * columns + other_codes
    cells = rows * columns
    if cells <= min(max(_FEW_CELLS, _CELLS_PER_ROW * len(pairs)), _MANY_CELLS):
        joint = _count(pairs, multiplicities, cells).reshape(rows, columns)
        total = np.sum(np.sum(joint * joint / other_counts, axis=1) / counts)
    else:
        kept, inverse = distinct_codes(pairs)
        joint = _count(inverse, multiplicities, len(kept))
        total = np.sum(joint * joint / (counts[kept // columns] * other_counts[kept % columns]))
    # Σ (f_ij - e)² / e with e = f_i f_j is Σ f_ij² / e - 1, so pairs that do not occur need not be counted.
    value = round((float(total) - 1) / (min(rows, columns) - 1), _DECIMALS_OF_PHI)
    return min(max(value, 0.0), 1.0)


def _count(codes: Codes, multiplicities: Floats | None, size: int) -> Floats:
    return np.bincount(codes, weights=multiplicities, minlength=size).astype(np.float64, copy=False)


def _finite(positions: Floats) -> Floats:
    """Replace infinities by the nearest finite values, and scale huge numbers down."""
    finite = positions[np.isfinite(positions)]
    positions = np.clip(positions, finite.min(), finite.max()) if len(finite) else np.sign(positions)
    huge = len(positions) > 0 and np.abs(positions).max() > 1e300
    return positions * 2.0**-64 if huge else positions  # so that the span of huge numbers is a number
