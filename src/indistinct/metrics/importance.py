"""Attribute weights: how much each quasi-identifier matters in losses of metrics and in distances of searches."""

import math
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from typing import Any

from indistinct.errors import ParameterError
from indistinct.schema import did_you_mean
from indistinct.spelling import spell_value, split, unquote


@dataclass(frozen=True, slots=True, eq=False)
class Importance:
    """Attribute weights by column name: positive numbers, 1 for columns that are not named.

    A column of weight 3 loses three times as much by the same step, so that a search prefers to change others. The text
    form is "age=3|sex=2"; in Python a mapping means the same. Two values are equal if they give every column the same
    weight.

    >>> given = importance_of({"age": 3})
    >>> given.of("age"), given.of("sex"), str(given)
    (3.0, 1.0, 'age=3')
    """

    weights: tuple[tuple[str, float], ...] = ()

    def __bool__(self) -> bool:
        return bool(self._differing)

    def __eq__(self, other: object) -> bool:
        return self._differing == other._differing if isinstance(other, Importance) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._differing)

    @property
    def _differing(self) -> frozenset[tuple[str, float]]:
        """The columns whose weight is not 1, in no order."""
        return frozenset((name, weight) for name, weight in dict(self.weights).items() if weight != 1)

    def __str__(self) -> str:
        return "|".join(f"{spell_value(name)}={_spell_number(weight)}" for name, weight in self.weights)

    @classmethod
    def from_text(cls, text: str) -> "Importance":
        """Return the weights of a text such as `age=3|sex=2`."""
        found: dict[str, float] = {}
        for part in split(text, "|"):
            name, *rest = split(part.strip(), "=")
            try:
                (number,) = rest
                found[unquote(name.strip())] = float(number)
            except ValueError:
                raise _not_positive("is not of the form column=number") from None
        return importance_of(found)

    def of(self, column: str) -> float:
        """Return the weight of a column."""
        return dict(self.weights).get(column, 1.0)

    def check(self, columns: Collection[str]) -> None:
        """Raise `ParameterError` for a name that is not a quasi-identifier."""
        for name, _ in self.weights:
            if name not in columns:
                raise ParameterError(
                    f"`importance` names the column {name!r}, which is no quasi-identifier",
                    parameter="importance",
                    hint=did_you_mean(name, columns) or f"the quasi-identifiers are {', '.join(columns)}",
                )


NO_IMPORTANCE = Importance()
AnyImportance = Importance | Mapping[str, float] | str | None
"""What `importance_of` accepts."""


MIN_WEIGHT, MAX_WEIGHT = 1e-100, 1e100
"""The smallest and the largest weight: with more extreme ones, sums of weighted losses are infinite or zero."""


def importance_of(given: AnyImportance) -> Importance:
    """Return attribute weights from a mapping, a text, an `Importance`, or None for none."""
    match given:
        case Importance():
            return given
        case None:
            return NO_IMPORTANCE
        case str():
            return Importance.from_text(given)
        case Mapping():
            return Importance(tuple((str(name), _positive(str(name), weight)) for name, weight in given.items()))
        case _:
            raise _not_positive(f"must be a mapping of columns to numbers; got {type(given).__name__}")


def _positive(name: str, weight: Any) -> float:
    number = math.nan
    if not isinstance(weight, bool) and isinstance(weight, Real):
        with suppress(OverflowError):  # for an integer too large for a float
            number = float(weight)
    if not 0 < number < math.inf:
        raise _not_positive(f"must give each column a finite number above 0; that of {name!r} is none")
    if not MIN_WEIGHT <= number <= MAX_WEIGHT:
        raise _not_positive(f"must lie between {MIN_WEIGHT:g} and {MAX_WEIGHT:g}; that of {name!r} does not")
    return number


def _not_positive(problem: str) -> ParameterError:
    return ParameterError(
        f"`importance` {problem}",
        parameter="importance",
        problem=problem,
        hint='for example {"age": 3}, or age=3|sex=2',
    )


def _spell_number(weight: float) -> str:
    short = f"{weight:g}"
    return short if float(short) == weight else repr(weight)
