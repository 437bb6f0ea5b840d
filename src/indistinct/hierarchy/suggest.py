"""A hierarchy for a column that has none, by the form of its values; check the choice before use."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.hierarchy.intervals import Intervals
from indistinct.hierarchy.value import Hierarchy
from indistinct.tables.domain import Domain, Kind

# Approximate number of the finest intervals that cover a column.
_INTERVALS_PER_COLUMN = 20
# Widths of the series 1, 2, 5 that divide each other, by the first one.
_SERIES = {1: (1, 5, 10), 2: (2, 10, 20), 5: (5, 10, 20)}


def suggest(domain: Domain) -> Hierarchy:
    """Return intervals for numbers, dates for dates, masking for codes of one length, otherwise suppression.

    >>> suggest(Domain("age", pa.array([17, 90]))).to_json()
    {'intervals': [5, 10, 20]}
    """
    match domain.kind:
        case Kind.NUMBER:
            return suggest_intervals(domain) or Hierarchy.suppression()
        case Kind.DATE:
            return Hierarchy.dates()
        case Kind.TEXT:
            return Hierarchy.masking() if _is_code(domain) else Hierarchy.suppression()


def suggest_intervals(domain: Domain) -> Intervals | None:
    """Return about twenty intervals of equal width over numbers, and wider ones; None if all numbers are equal."""
    if domain.kind is not Kind.NUMBER:
        return None
    line = domain.values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    line = line[np.isfinite(line)]
    span = float(line.max() / 2 - line.min() / 2) * 2 if len(line) else 0.0
    if not 0 < span < math.inf:
        return None
    # An interval of one integer is the integer itself, so integers start at two.
    smallest = 2.0 if pa.types.is_integer(domain.values.type) else 0.0
    first, exponent = _at_least(max(span / _INTERVALS_PER_COLUMN, smallest))
    widths = [_power(digit, exponent) for digit in _SERIES[first]]
    return Intervals([width for width in widths if width <= span] or widths[:1])


def _at_least(width: float) -> tuple[int, int]:
    """Return the smallest number of the series 1, 2, 5 that is at least `width`, as digit and power of ten."""
    exponent = math.floor(math.log10(width)) - 1
    while True:
        for digit in _SERIES:
            if _power(digit, exponent) >= width:
                return digit, exponent
        exponent += 1


def _power(digit: int, exponent: int) -> float:
    """Return digit times ten to the exponent, without rounding errors."""
    return digit * 10**exponent if exponent >= 0 else float(f"{digit}e{exponent}")


def _is_code(domain: Domain) -> bool:
    """Whether every value is a text of digits, all of one length above one, as postal codes are."""
    if not len(domain.values) or not pa.types.is_string(domain.values.type):
        return False
    lengths = pc.min_max(pc.utf8_length(domain.values)).as_py()
    return lengths["min"] == lengths["max"] > 1 and bool(pc.all(pc.ascii_is_decimal(domain.values)).as_py())
