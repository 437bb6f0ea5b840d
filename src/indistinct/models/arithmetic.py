"""The arithmetic with which a model judges many classes at once: reductions per class, exact comparisons."""

from fractions import Fraction

import numpy as np

from indistinct.arrays import Codes

_INT64_LIMIT = 2**63


def per_class(reduction: np.ufunc, values: Codes, *, indptr: Codes) -> Codes:
    """Reduce the entries of each class of a compressed sparse histogram; an empty class gives 0."""
    reduced = np.zeros(len(indptr) - 1, dtype=values.dtype)
    # reduceat gives an empty segment the value of the next entry, so only the others may take part.
    occupied = np.flatnonzero(np.diff(indptr))
    if len(occupied):
        reduced[occupied] = reduction.reduceat(values, indptr[occupied])
    return reduced


def exact_ratio(ratio: Fraction, *, total: int) -> tuple[int, int] | None:
    """Return numerator and denominator if products with numbers up to `total` fit 64 bits, None else."""
    fits = max(total, 1) * max(ratio.numerator, ratio.denominator) < _INT64_LIMIT
    return (ratio.numerator, ratio.denominator) if fits else None


def cross_multiplied(left: Codes, right: Codes, *, ratio: Fraction) -> tuple[Codes, Codes]:
    """Return integers that compare as `left` and `ratio * right` do, without rounding."""
    top, bottom = ratio.numerator, ratio.denominator
    largest = max(int(left.max(initial=0)) * bottom, int(right.max(initial=0)) * top)
    wide = np.int64 if max(largest, top, bottom) < _INT64_LIMIT else np.object_
    return left.astype(wide) * bottom, right.astype(wide) * top
