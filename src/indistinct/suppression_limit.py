"""The suppression limit of a release: how many rows, or people, may be suppressed.

It is a share of all of them (0.05, "4/30") or a number ("4 rows", "4 people"). One parser reads it everywhere: in
Python, in policies, on the command line, in the web app and in stored recodings.
"""

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Literal

from indistinct.errors import ParameterError
from indistinct.figures import SINGULAR, percent

Unit = Literal["rows", "people"]
UNITS: dict[str, Unit] = {"row": "rows", "rows": "rows", "person": "people", "people": "people"}
EXAMPLES = '0.02 allows two in a hundred, "4 rows" four rows, and "4/30" four of thirty'
NUMBER_OF = re.compile(r"([0-9]+)\s+([a-z]+)")
PERCENTAGE = re.compile(r"\s*([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%?\s*")
FRACTION = re.compile(r"[0-9]+\s*/\s*[0-9]+")


@dataclass(frozen=True, slots=True)
class Budget:
    """How many rows, or people, may be dropped: a share of all of them, or with a `unit` a number of them.

    A share that is a fraction is meant exactly. A share that is a float allows the largest number whose own share, as a
    float, does not exceed it: `4 / 30` allows 4 of 30, although this float is a little below four thirtieths.

    >>> Budget(4 / 30).allows(30), Budget(Fraction(4, 30)).allows(30), Budget(4, "rows").allows(30)
    (4, 4, 4)
    >>> str(Budget(0.05)), str(Budget(Fraction(4, 30))), str(Budget(1, "people"))
    ('0.05', '2/15', '1 person')
    """

    amount: float | Fraction = 0.0
    unit: Unit | None = None

    def __bool__(self) -> bool:
        return self.amount > 0

    def __str__(self) -> str:
        if self.unit is not None:
            return f"{self.amount} {SINGULAR[self.unit] if self.amount == 1 else self.unit}"
        if isinstance(self.amount, Fraction):
            return f"{self.amount.numerator}/{self.amount.denominator}"
        short = f"{self.amount:g}"
        return short if float(short) == self.amount else repr(self.amount)

    @property
    def plain(self) -> float | str:
        """The budget as JSON and TOML have it, and as `parse_budget` reads it: a float, or a text."""
        return self.amount if isinstance(self.amount, float) else str(self)

    @property
    def words(self) -> str:
        """The budget as people read it: a share in per cent, or a number.

        >>> Budget(0.025).words, Budget(4, "rows").words
        ('2.5 %', '4 rows')
        """
        return percent(float(self.amount)) if self.unit is None else f"{self.amount:,} {str(self).partition(' ')[2]}"

    @property
    def share(self) -> float | None:
        """The share of all, None where it is a number."""
        return float(self.amount) if self.unit is None else None

    def allows(self, members: int, unit: str | None = None) -> int:
        """Return how many of `members` rows, or people, may be suppressed.

        `unit` is what is counted, "rows" or "people"; a limit in the other unit is an error.
        """
        if self.unit is not None:
            if unit is not None and unit != self.unit:
                raise _other_unit(self, unit)
            return min(int(self.amount), members)
        if isinstance(self.amount, Fraction):
            return math.floor(self.amount * members)
        most = min(int(self.amount * members) + 1, members)
        return most - 1 if most and most / members > self.amount else most


NO_BUDGET = Budget()
AnyBudget = Budget | Fraction | float | str
"""What `parse_budget` takes."""


def parse_budget(given: Any) -> Budget:
    """Return a suppression limit: a share from 0 to 1, a text such as "4 rows" or "4/30", or a `Budget`.

    The whole numbers 0 and 1 are shares; larger ones are refused, because they might be meant as rows.

    >>> parse_budget("4 rows"), parse_budget("0.02"), parse_budget(0)
    (Budget(amount=4, unit='rows'), Budget(amount=0.02, unit=None), Budget(amount=0.0, unit=None))
    """
    match given:
        case Budget():
            return given
        case str():
            return _parse_text(given)
        case bool():
            raise _no_budget(given)
        case Fraction() if 0 <= given <= 1:
            return Budget(given)
        case Integral() if not 0 <= int(given) <= 1:
            hint = f'"{given} rows" allows {given} rows; {EXAMPLES}' if int(given) > 1 else EXAMPLES
            raise _no_budget(given, hint=hint)
        case Real() if not isinstance(given, Fraction) and 0 <= float(given) <= 1:
            return Budget(float(given))
        case _:
            raise _no_budget(given)


def _parse_text(text: str) -> Budget:
    counted = NUMBER_OF.fullmatch(text.strip())
    if counted is not None and counted[2] in UNITS and len(counted[1]) < MAX_DIGITS:
        return Budget(int(counted[1]), UNITS[counted[2]])
    try:
        if FRACTION.fullmatch(text.strip()) and len(text) < 2 * MAX_DIGITS:
            return parse_budget(Fraction(*map(int, text.split("/"))))
        return parse_budget(float(text))
    except (ValueError, ZeroDivisionError, ParameterError):
        raise _no_budget(text) from None


# Digits of a number of rows: more are no table's.
MAX_DIGITS = 19


def _no_budget(given: Any, *, hint: str = EXAMPLES) -> ParameterError:
    came = repr(given) if isinstance(given, str | Real) and len(repr(given)) < 2 * MAX_DIGITS else type(given).__name__
    return ParameterError(
        f'`suppression` must be a share from 0 to 1, such as 0.05, or a number, such as "4 rows"; got {came}',
        parameter="suppression",
        hint=_share_of(given) or hint,
    )


def _share_of(given: Any) -> str | None:
    """Return the hint for a text that is a percentage, such as 5 or 5%.

    >>> _share_of("5%"), _share_of("2.5 %")
    ('5 % is 0.05; "5 rows" allows 5 rows', '2.5 % is 0.025')
    """
    written = PERCENTAGE.fullmatch(given) if isinstance(given, str) else None
    if written is None or not 0 < float(written[1]) <= 100:
        return None
    share = f"{written[1]} % is {float(written[1]) / 100:g}"
    return f'{share}; "{written[1]} rows" allows {written[1]} rows' if written[1].isdecimal() else share


def _other_unit(budget: Budget, unit: str) -> ParameterError:
    if unit == "people":
        return ParameterError(
            f"`suppression` is {budget}, but people are counted here, each with all rows",
            hint=f'write "{Budget(budget.amount, "people")}"; people are suppressed with all their rows',
        )
    return ParameterError(
        f"`suppression` is {budget}, but rows are counted here",
        hint=f'write "{Budget(budget.amount, "rows")}"; people are counted where the schema has a `person`',
    )
