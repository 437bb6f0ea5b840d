"""Parameters of models, algorithms, metrics and attacks, declared at their fields: label, meaning and accepted values.

A field is annotated with a `Parameter`; `check_parameters` accepts or refuses what a caller gave, and forms, `list`,
the reference pages and error messages use the same words.
"""

import inspect
import math
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache
from numbers import Integral, Rational, Real
from typing import Annotated, Any, Literal, Protocol, get_args, get_origin, get_type_hints

from indistinct.errors import ParameterError, did_you_mean


class Refused(ValueError):  # noqa: N818 (it never leaves this module)
    """Raised for a value that a parameter does not accept.

    The text says what is accepted, the hint what may be meant.
    """

    def __init__(self, words: str, hint: str | None = None) -> None:
        super().__init__(words)
        self.hint = hint


class Constraint(Protocol):
    """What a parameter accepts."""

    def normalize(self, value: Any) -> Any:
        """Return a value in the form in which it is stored, so that equal parameters are equal; or raise `Refused`."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number of at least `least`, and at most `most`."""

    least: int = 1
    most: int | None = None

    def normalize(self, value: Any) -> int:
        """Return an integer."""
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise Refused("a whole number")
        number = int(value)
        if self.most is not None and not self.least <= number <= self.most:
            raise Refused(f"from {self.least} to {self.most}")
        if number < self.least:
            raise Refused(f"at least {self.least}")
        return number


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number from `low` to `high`, both included; `words` describe these limits."""

    words: str
    low: float = -math.inf
    high: float = math.inf

    def normalize(self, value: Any) -> float:
        """Return a float."""
        number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else _float_of(value)
        if not math.isfinite(number):
            raise Refused("a finite number")
        if not self.low <= number <= self.high:
            raise Refused(self.words)
        return number


@dataclass(frozen=True, slots=True)
class ExactNumber:
    """A number above 0 up to `high` that is compared without rounding; with `zero` it may be 0.

    With `written` texts such as "1/3" are taken as well.
    """

    words: str
    high: float = math.inf
    zero: bool = False
    written: bool = True

    def normalize(self, value: Any) -> float | Fraction:
        """Return a float where its shortest decimal is exactly the number, else a fraction."""
        number = _fraction_of(value, written=self.written)
        if number is None:
            raise Refused("a finite number or a fraction")
        if not 0 <= number <= self.high or (number == 0 and not self.zero):
            raise Refused(self.words)
        decimal = _float_of(number)
        return decimal if math.isfinite(decimal) and exact(decimal) == number else number


@dataclass(frozen=True, slots=True)
class ColumnName:
    """The name of a column; with `optional` an empty text leaves it open."""

    optional: bool = False

    def normalize(self, value: Any) -> str:
        """Return the name."""
        if not isinstance(value, str) or not (value or self.optional):
            raise Refused("the name of a column")
        return value


@dataclass(frozen=True, slots=True)
class SeveralTexts:
    """One text or several; stored as a tuple of at least `least`."""

    words: str
    least: int = 0

    def normalize(self, value: Any) -> tuple[str, ...]:
        """Return a tuple."""
        several = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else None
        if several is None or len(several) < self.least or not all(isinstance(text, str) for text in several):
            raise Refused(self.words)
        return several


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """A finite number; stored as an integer where it is whole, so that 5.0 and 5 are written alike."""

    def normalize(self, value: Any) -> float:
        """Return an integer or a float."""
        number: Any = None if isinstance(value, bool) or not isinstance(value, Real) else value
        if number is None or not (isinstance(value, Integral) or math.isfinite(number)):
            raise Refused("a finite number")
        return int(number) if isinstance(value, Integral) or float(number).is_integer() else float(number)


@dataclass(frozen=True, slots=True)
class SeveralNumbers:
    """A list of finite numbers, or with `nested` a list of such lists; stored as tuples."""

    nested: bool = False
    positive: bool = False

    def normalize(self, value: Any) -> tuple[Any, ...]:
        """Return a tuple of numbers, or of tuples of numbers."""
        listed = _tuple_of(value)
        if self.nested:
            if not listed or any(isinstance(each, Real) for each in listed):
                raise Refused("a list of lists of numbers")
            return tuple(SeveralNumbers(positive=self.positive).normalize(each) for each in listed)
        if not listed:
            raise Refused("a list of numbers")
        try:
            numbers = tuple(WrittenNumber().normalize(each) for each in listed)
        except Refused:
            raise Refused("finite numbers") from None
        if self.positive and min(numbers) <= 0:
            raise Refused("positive")
        return numbers


@dataclass(frozen=True, slots=True)
class SeveralOf:
    """One or more of several names, in their order; stored as a tuple."""

    names: tuple[str, ...]

    def normalize(self, value: Any) -> tuple[str, ...]:
        """Return a tuple."""
        listed = _tuple_of(value)
        if not listed:
            raise Refused("a list of names")
        for each in listed:
            if each not in self.names:
                raise Refused(f"one or more of {', '.join(self.names)}", did_you_mean(str(each), self.names))
        indices = [self.names.index(each) for each in listed]
        if indices != sorted(set(indices)):
            raise Refused("named in order, each once")
        return listed


@dataclass(frozen=True, slots=True)
class Character:
    """A text of one character."""

    def normalize(self, value: Any) -> str:
        """Return the character."""
        if not isinstance(value, str) or len(value) != 1:
            raise Refused("one character")
        return value


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several names; found from a `Literal` type where none is declared."""

    names: tuple[str, ...]

    def normalize(self, value: Any) -> str:
        """Return the name."""
        if value not in self.names:
            raise Refused(f"one of {', '.join(self.names)}", did_you_mean(str(value), self.names))
        return str(value)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A description of a field: its `label`, its `meaning`, the values it `takes`, and its `start` value in a form."""

    label: str
    meaning: str
    takes: Constraint | None = None
    start: str | None = None


@cache
def parameters_of(kind: Any) -> dict[str, Parameter]:
    """Return the declared parameters of a class, by the names of their fields."""
    hints = get_type_hints(kind, include_extras=True)
    parameters: dict[str, Parameter] = {}
    for field in fields(kind):
        hint = hints[field.name]
        for each in hint.__metadata__ if get_origin(hint) is Annotated else ():
            if isinstance(each, Parameter):
                parameters[field.name] = each
    return parameters


class WithDocumentedParameters:
    """Show the declared parameters of each subclass in its docstring, and only types and defaults in its signature."""

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__doc__ = document_parameters(cls.__doc__, _declared_in(cls))
        # A dataclass with slots is created twice; its constructor is there the second time.
        annotations = getattr(vars(cls).get("__init__"), "__annotations__", {})
        for name, hint in annotations.items():
            if get_origin(hint) is Annotated:
                annotations[name] = get_args(hint)[0]


def document_parameters(text: str | None, declared: Mapping[str, Parameter]) -> str | None:
    """Return a docstring with a section of parameters before its other sections, unless it has one.

    >>> document_parameters("Join rows.", {"k": Parameter("k", "Rows of a class.")}).splitlines()[-2:]
    ['k', '    Rows of a class.']
    """
    cleaned = inspect.cleandoc(text or "")
    if not cleaned or not declared or re.search(r"(?m)^Parameters\n-", cleaned):
        return text
    entries = "\n".join(f"{name}\n    {each.meaning}" for name, each in declared.items())
    section = f"Parameters\n----------\n{entries}"
    opening, heading, rest = re.split(r"(?m)(^\w+\n---+\n|\Z)", cleaned, maxsplit=1)
    return "\n\n".join(part for part in (opening.rstrip(), section, (heading + rest).rstrip()) if part)


def _declared_in(kind: type) -> dict[str, Parameter]:
    """Return the declared parameters of a class that is not a dataclass yet, with those of its bases."""
    hints = {
        name: hint for base in reversed(kind.__mro__) for name, hint in vars(base).get("__annotations__", {}).items()
    }
    return {
        name: each
        for name, hint in hints.items()
        for each in getattr(hint, "__metadata__", ())
        if isinstance(each, Parameter)
    }


@cache
def constraints_of(kind: Any) -> tuple[tuple[str, Constraint, Parameter, bool], ...]:
    """Return the constraint of each field of a class, and whether it may be None."""
    hints, constraints = get_type_hints(kind), []
    optional = {field.name for field in fields(kind) if field.default is None}
    for name, parameter in parameters_of(kind).items():
        takes = parameter.takes or (Choice(get_args(hints[name])) if get_origin(hints[name]) is Literal else None)
        if takes is not None:
            constraints.append((name, takes, parameter, name in optional))
    return tuple(constraints)


def check_parameters(value: Any) -> None:
    """Store every parameter of a frozen value in its normal form; raise `ParameterError` for one that is refused."""
    kind: Any = type(value)
    for name, takes, parameter, optional in constraints_of(kind):
        given = getattr(value, name)
        if given is None and optional:
            continue
        try:
            object.__setattr__(value, name, takes.normalize(given))
        except Refused as refused:
            hint = refused.hint or _without_quotes(name, given) or parameter.meaning
            raise parameter_error(value, name, wanted=str(refused), hint=hint) from None


def _without_quotes(name: str, given: Any) -> str | None:
    """Return the hint for a number that is given as text, None for other values.

    >>> _without_quotes("k", "5"), _without_quotes("k", "five")
    ('write k=5 without quotes', None)
    """
    is_number = isinstance(given, str) and re.fullmatch(r"\d+(\.\d+)?", given)
    return f"write {name}={given} without quotes" if is_number else None


def parameter_error(value: Any, field: str, *, wanted: str, hint: str | None) -> ParameterError:
    """Return the error for a field that is not what it must be."""
    return ParameterError.of(type(value).__name__, field, f"must be {wanted}; got {getattr(value, field)!r}", hint=hint)


def starts_of(kind: Any) -> dict[str, str]:
    """Return the start values of fields in forms, by name."""
    return {name: each.start for name, each in parameters_of(kind).items() if each.start is not None}


def labels_of(kind: Any) -> dict[str, tuple[str, str]]:
    """Return the label and the meaning of each parameter, for a form."""
    return {name: (each.label, each.meaning) for name, each in parameters_of(kind).items()}


def exact(value: float | Fraction) -> Fraction:
    """Return a number exactly as written: 0.1 is one tenth, not the nearest binary fraction."""
    return value if isinstance(value, Fraction) else Fraction(str(value))


def _tuple_of(value: Any) -> tuple[Any, ...]:
    """Return the elements of a list; nothing for other values."""
    listed = isinstance(value, Iterable) and not isinstance(value, str | Mapping | Set)
    return tuple(value) if listed else ()


def _float_of(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _fraction_of(value: object, *, written: bool) -> Fraction | None:
    if isinstance(value, bool) or (isinstance(value, str) and not written):
        return None
    if isinstance(value, Rational):
        return Fraction(value)
    if not isinstance(value, float | str):
        return None
    try:
        return Fraction(value if isinstance(value, str) else str(float(value)))
    except (ValueError, ZeroDivisionError):
        return None
