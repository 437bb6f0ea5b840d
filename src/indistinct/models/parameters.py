"""What a model accepts as its parameters; every refusal is the same sentence with a hint.

Each function checks one field of a frozen model and stores its normal form, so that equal models compare
equal however they were written.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from numbers import Integral, Rational, Real

from indistinct.errors import ParameterError
from indistinct.models.base import Model


def whole_number(model: Model, field: str, *, hint: str) -> None:
    """Accept a whole number of at least 1."""
    value = getattr(model, field)
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise parameter_error(model, field, wanted="a whole number", hint=hint)
    if value < 1:
        raise parameter_error(model, field, wanted="at least 1", hint=hint)
    object.__setattr__(model, field, int(value))


def real_number(model: Model, field: str, *, wanted: str, low: float, high: float, hint: str) -> None:
    """Accept a finite number from `low` to `high`, both included."""
    value = getattr(model, field)
    number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else _float_of(value)
    if not math.isfinite(number):
        raise parameter_error(model, field, wanted="a finite number", hint=hint)
    if not low <= number <= high:
        raise parameter_error(model, field, wanted=wanted, hint=hint)
    object.__setattr__(model, field, number)


def ratio(
    model: Model, field: str, *, wanted: str, high: float, hint: str, spelled: bool = False, zero: bool = False
) -> None:
    """Accept a number above 0 up to `high` that is compared exactly; with `spelled` also text such as "1/3".

    With `zero` it may be 0 as well. Stored as a float where its shortest decimal is exactly the number, else as a
    fraction.
    """
    value = getattr(model, field)
    number = _fraction_of(value, spelled=spelled)
    if number is None:
        raise parameter_error(model, field, wanted="a finite number or a fraction", hint=hint)
    if not 0 <= number <= high or (number == 0 and not zero):
        raise parameter_error(model, field, wanted=wanted, hint=hint)
    decimal = _float_of(number)
    written = math.isfinite(decimal) and exact(decimal) == number
    object.__setattr__(model, field, decimal if written else number)


def exact(value: float | Fraction) -> Fraction:
    """Return a number as its user wrote it: 0.1 is one tenth, not the nearest binary fraction."""
    return value if isinstance(value, Fraction) else Fraction(str(value))


def column(model: Model, field: str) -> None:
    """Accept the name of a column."""
    value = getattr(model, field)
    if not isinstance(value, str) or not value:
        raise parameter_error(model, field, wanted="the name of a column", hint=f'for example {field}="disease"')


def choice(model: Model, field: str, *, known: Iterable[str], hint: str) -> None:
    """Accept one of several names."""
    names = tuple(known)
    if getattr(model, field) not in names:
        raise parameter_error(model, field, wanted=f"one of {', '.join(names)}", hint=hint)


def texts(model: Model, field: str, *, wanted: str, hint: str, least: int = 0) -> None:
    """Accept one text or several, and store a tuple."""
    value = getattr(model, field)
    several = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else None
    if several is None or len(several) < least or not all(isinstance(text, str) for text in several):
        raise parameter_error(model, field, wanted=wanted, hint=hint)
    object.__setattr__(model, field, several)


def parameter_error(model: Model, field: str, *, wanted: str, hint: str | None) -> ParameterError:
    """Return the error for a field of a model that is not what it must be."""
    return ParameterError.of(type(model).__name__, field, f"must be {wanted}; got {getattr(model, field)!r}", hint=hint)


def _float_of(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _fraction_of(value: object, *, spelled: bool) -> Fraction | None:
    if isinstance(value, bool) or (isinstance(value, str) and not spelled):
        return None
    if isinstance(value, Rational):
        return Fraction(value)
    if not isinstance(value, float | str):
        return None
    try:
        return Fraction(value if isinstance(value, str) else str(float(value)))
    except (ValueError, ZeroDivisionError):
        return None
