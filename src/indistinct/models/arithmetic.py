"""The arithmetic of models that judge many classes at once: reductions per class, exact comparisons."""

from fractions import Fraction

import numpy as np

from indistinct.frequencies.value import Histogram
from indistinct.machine.arrays import Array, Codes, Counts, Floats

_INT64_LIMIT = 2**63
# Bounds are lowered by this much, relatively and in rows, so that rounding never makes one too high.
_ROUNDING_TOLERANCE = 1e-9
# Newton steps towards the rows that can remain of a class; each gives a bound, and more are hardly sharper.
_NEWTON_STEPS = 4


def per_class(reduction: np.ufunc, values: Array, *, indptr: Codes) -> Array:
    """Reduce the entries of each class of a compressed sparse histogram; an empty class gives 0."""
    reduced = np.zeros(len(indptr) - 1, dtype=values.dtype)
    # reduceat gives an empty segment the value of the next entry, so empty ones are left out.
    occupied = np.flatnonzero(np.diff(indptr))
    if len(occupied):
        reduced[occupied] = reduction.reduceat(values, indptr[occupied])
    return reduced


def exact_ratio(ratio: Fraction, *, total: int) -> tuple[int, int] | None:
    """Return numerator and denominator if products with numbers up to `total` fit 64 bits, otherwise None."""
    fits = max(total, 1) * max(ratio.numerator, ratio.denominator) < _INT64_LIMIT
    return (ratio.numerator, ratio.denominator) if fits else None


def cross_multiplied(left: Codes, right: Codes, *, ratio: Fraction) -> tuple[Array, Array]:
    """Return integers that compare as `left` and `ratio * right` do, without rounding."""
    top, bottom = ratio.numerator, ratio.denominator
    largest = max(int(left.max(initial=0)) * bottom, int(right.max(initial=0)) * top)
    wide = np.int64 if max(largest, top, bottom) < _INT64_LIMIT else np.object_
    return left.astype(wide) * bottom, right.astype(wide) * top


def rows_above(histogram: Histogram, sizes: Counts, *, shares: Floats, slack: float = 0.0) -> Counts:
    """Return how many rows of each class must go until its counts exceed `shares` of the rest by at most the slack.

    `shares` has one entry for each of the histogram; of m rows that remain, counts may exceed shares·m by slack·m in
    sum. Each row that goes lowers that excess by at most 1, so that of n rows with counts h

        f(m) = Σ max(0, h - share·m) - (n - m) - slack·m

    must not be positive. f is convex and f(0) ≤ 0, hence Newton's steps from m = n downwards never pass the largest m
    for which f(m) ≤ 0.
    """
    owners, remain = histogram.owners(), sizes.astype(np.float64)
    for _ in range(_NEWTON_STEPS):
        excess = histogram.counts - shares * remain[owners]
        above = excess > 0
        value = per_class(np.add, np.where(above, excess, 0.0), indptr=histogram.indptr) - sizes + (1 - slack) * remain
        slope = 1 - slack - per_class(np.add, np.where(above, shares, 0.0), indptr=histogram.indptr)
        remain -= np.divide(value, slope, where=(value > 0) & (slope > _ROUNDING_TOLERANCE), out=np.zeros(len(sizes)))
    return whole_rows(sizes - remain, most=sizes)


def whole_rows(amounts: Floats, *, most: Counts) -> Counts:
    """Round amounts of rows up to whole rows, rounding errors aside, and at most to `most`."""
    return np.ceil(amounts * (1 - _ROUNDING_TOLERANCE) - _ROUNDING_TOLERANCE).astype(np.int64).clip(0, most)
