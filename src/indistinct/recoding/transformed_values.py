"""Whether published values may come out of a transformation, by the column alone and without the code that made it."""

import math
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.hierarchy.labels_of_levels import are_labels
from indistinct.machine.arrays import Codes, Mask
from indistinct.recoding.transformations import PRESENT, Transformation
from indistinct.tables.domain import Kind, kind_of

# Whole numbers beyond are compared one by one: products of them do not fit 64 bits.
MAX_EXACT_NUMBER = 1 << 53
# Neighbours among floating-point numbers within which a multiple of a fraction, such as 0.1, may lie.
MAX_FLOATS_APART = 4
# Beyond these powers of ten there are no numbers in columns, and none is written out in digits.
LARGEST_EXPONENT = 400
MONTHS = {"month": 1, "quarter": 3, "year": 12}


def may_come_of(given: Transformation, values: pa.Array) -> Mask:
    """Return which of the distinct values of a published column a transformation may have made; none is missing.

    >>> may_come_of(Transformation(round=100, top=450), pa.array([300, 310, 450, 500])).tolist()
    [True, False, True, False]
    """
    if given.clear is not None:
        presence = given.clear == "presence"
        return _texts_equal(values, PRESENT) if presence else np.zeros(len(values), dtype=bool)
    if given.level is not None:
        return _labels(given, values.cast(pa.string()).to_pylist(), level=given.level)
    if given.truncate is not None:
        return _begin_a_period(values, given.truncate)
    return _rounded_and_bounded(given, values)


def _labels(given: Transformation, texts: Sequence[str], *, level: int) -> Mask:
    """Return which texts are labels of a level."""
    every = np.ones(len(texts), dtype=bool)
    if given.hierarchy is None:
        return every
    known = are_labels(given.hierarchy, texts, level=level)
    return every if known is None else known


def _texts_equal(values: pa.Array, text: str) -> Mask:
    same: Codes = pc.equal(values.cast(pa.string()), text).to_numpy(zero_copy_only=False)
    return same.astype(bool)


def _begin_a_period(values: pa.Array, period: str) -> Mask:
    """Return which values are days, and the first ones of their periods."""
    if kind_of(values.type) is Kind.NUMBER:
        return np.zeros(len(values), dtype=bool)
    if kind_of(values.type) is Kind.TEXT:
        moments = np.array([_moment(text) for text in values.cast(pa.string()).to_pylist()], dtype="datetime64[us]")
    else:
        moments = values.cast(pa.timestamp("us"), safe=False).to_numpy(zero_copy_only=False).astype("datetime64[us]")
    begins = moments == moments.astype("datetime64[D]")  # what is no moment equals nothing, itself included
    if period != "day":
        months = moments.astype("datetime64[M]")
        begins &= (moments == months) & (months.astype(np.int64) % MONTHS[period] == 0)
    return np.asarray(begins, dtype=bool)


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None


def _rounded_and_bounded(given: Transformation, values: pa.Array) -> Mask:
    """Return which values are numbers between the bounds, and multiples of the step or a bound."""
    if kind_of(values.type) is Kind.DATE:
        return np.zeros(len(values), dtype=bool)
    if pa.types.is_floating(values.type):
        return _floats(given, values.to_numpy(zero_copy_only=False))
    if pa.types.is_integer(values.type) and _is_small(values) and _is_whole(given):
        return _whole_numbers(given, values.to_numpy(zero_copy_only=False).astype(np.int64))
    return _one_by_one(given, values.cast(pa.string()).to_pylist())


def _is_small(values: pa.Array) -> bool:
    ends = pc.min_max(values).as_py().values()
    return all(end is None or abs(end) <= MAX_EXACT_NUMBER for end in ends)


def _is_whole(given: Transformation) -> bool:
    return all(float(each).is_integer() for each in (given.round, given.top, given.bottom) if each is not None)


def _whole_numbers(given: Transformation, numbers: Codes) -> Mask:
    """Return which whole numbers the masking can have produced."""
    bounds = [int(each) for each in (given.bottom, given.top) if each is not None]
    fits = _between(given, numbers)
    if given.round is not None:
        fits &= (numbers % int(given.round) == 0) | np.isin(numbers, bounds)
    return fits


def _floats(given: Transformation, numbers: Codes) -> Mask:
    """Return which floating-point numbers the masking can have produced, with a tolerance for rounding."""
    fits = np.isnan(numbers) | _between(given, numbers)
    if given.round is not None:
        step, wide = Fraction(str(given.round)), numbers.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            nearest = np.rint(wide * float(step.denominator) / float(step.numerator))
            away = np.abs(nearest * float(step.numerator) / float(step.denominator) - wide)
            near = away <= MAX_FLOATS_APART * np.spacing(np.abs(numbers)).astype(np.float64)
        bounds = [each for each in (given.bottom, given.top) if each is not None]
        fits &= near | ~np.isfinite(wide) | np.isin(numbers, np.array(bounds, dtype=numbers.dtype))
    return fits


def _between(given: Transformation, numbers: Codes) -> Mask:
    """Return which numbers are within the bounds of the masking."""
    fits = np.ones(len(numbers), dtype=bool)
    if given.top is not None:
        fits &= numbers <= np.asarray(given.top, dtype=numbers.dtype)
    if given.bottom is not None:
        fits &= numbers >= np.asarray(given.bottom, dtype=numbers.dtype)
    return fits


def _one_by_one(given: Transformation, texts: Sequence[str]) -> Mask:
    """Return which texts are numbers that the masking can produce; whole numbers and decimals are compared exactly."""
    numbers = [_number(text) for text in texts]
    low, high, step = (None if each is None else Fraction(str(each)) for each in (given.bottom, given.top, given.round))

    def fits(number: Fraction | None) -> bool:
        if number is None or (low is not None and number < low) or (high is not None and number > high):
            return False
        return step is None or number in (low, high) or number % step == 0

    exact = np.array([fits(number) for number in numbers], dtype=bool)
    floats = [_float(text) for text in texts]
    fractions = np.array([0.0 if each is None else each for each in floats])
    return exact | (_floats(given, fractions) & np.array([each is not None for each in floats], dtype=bool))


def _float(text: str) -> float | None:
    """Parse a floating-point number with a point, an exponent or a word; None for other texts."""
    digits = text.lstrip("+-")
    try:
        number = None if digits.isdecimal() else float(text)
    except ValueError:
        return None
    return None if number is not None and math.isinf(number) and digits[:1].isdecimal() else number


def _number(text: str) -> Fraction | None:
    """Parse a number; None for other texts, and for numbers too large for any column."""
    try:
        number = Decimal(text)
        return Fraction(number) if number.is_finite() and abs(number.adjusted()) <= LARGEST_EXPONENT else None
    except InvalidOperation:
        return None
