"""Formulas of regressions, as R and statsmodels write them, and what they may contain.

A formula may come from a policy from elsewhere, and the package that reads formulas evaluates Python in them.
So only names of columns, numbers, operators and a few functions are let through.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from indistinct.errors import ParameterError, did_you_mean
from indistinct.schema import Schema

Family = Literal["linear", "logistic", "poisson", "cox"]
FAMILIES: tuple[str, ...] = get_args(Family)
FUNCTIONS = frozenset({"C", "I", "log", "log2", "log10", "exp", "sqrt"})
"""Functions that give the same value for a cell whatever the other rows hold."""

TOKEN = re.compile(
    r"\s*(?:(?P<quoted>`[^`]+`)|(?P<name>[^\W\d]\w*)|(?P<number>\d+(?:\.\d+)?)|(?P<sign>\*\*|[-+*:/^(),~]))"
)
SURVIVAL = re.compile(r"\s*Surv\s*\(([^,()~]+),([^,()~]+)\)\s*~(.*)", re.DOTALL)
EXAMPLE = "write it like cost ~ age + C(sex), or Surv(days, died) ~ age for survival times"


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula with the columns that it names. `time` and `event` are the outcome of a Cox regression.

    >>> formula = parse_formula("Surv(days, died) ~ age + C(sex)", ["age", "sex", "days", "died"])
    >>> formula.family, formula.time, formula.event, formula.terms, formula.covariates
    ('cox', 'days', 'died', 'age + C(sex)', ('age', 'sex'))
    """

    text: str
    family: Family
    outcome: str
    terms: str
    covariates: tuple[str, ...]
    outcome_columns: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the outcome and of the covariates."""
        return tuple(dict.fromkeys((*self.outcome_columns, *self.covariates)))

    @property
    def time(self) -> str:
        """The column with the time of follow-up."""
        return self.outcome_columns[0]

    @property
    def event(self) -> str:
        """The column that says whether the event happened."""
        return self.outcome_columns[1]

    @property
    def plain_outcome(self) -> str | None:
        """The outcome's column where the formula transforms it in no way."""
        bare = self.outcome.strip().strip("`")
        return bare if self.outcome_columns == (bare,) else None


def parse_formula(text: str, columns: Collection[str], *, family: str | None = None) -> Formula:
    """Return a formula over some columns; raise `ParameterError` for anything that is no formula.

    >>> parse_formula("log(cost) ~ age * C(sex)", ["age", "sex", "cost"]).outcome_columns
    ('cost',)
    """
    if not isinstance(text, str) or text.count("~") != 1:
        raise ParameterError("a formula has one ~ between the outcome and its covariates", hint=EXAMPLE)
    if family is not None and family not in FAMILIES:
        raise ParameterError(
            f"`family` of analyze must be one of {', '.join(FAMILIES)}; got {family!r}",
            hint=did_you_mean(family, FAMILIES) or "linear is the default",
        )
    survival = SURVIVAL.fullmatch(text)
    if survival is not None:
        time, event, terms = (part.strip() for part in survival.groups())
        if family not in (None, "cox"):
            raise ParameterError(f"Surv(…) is the outcome of family cox; got {family!r}", hint="leave the family out")
        outcome = tuple(_columns_in(part, columns)[0] for part in (time, event))
        return Formula(text, "cox", "", terms, _covariates(terms, columns, outcome), outcome)
    if family == "cox":
        raise ParameterError("a Cox regression needs a time and an event", hint="write Surv(days, died) ~ age")
    left, right = text.split("~")
    outcome = _columns_in(left, columns)
    if not outcome:
        raise ParameterError("the formula names no outcome", hint=EXAMPLE)
    chosen: Family = "linear" if family is None else family  # type: ignore[assignment]  # checked above
    return Formula(text, chosen, left.strip(), right.strip(), _covariates(right, columns, outcome), outcome)


def _covariates(terms: str, columns: Collection[str], outcome: Sequence[str]) -> tuple[str, ...]:
    """Return the covariates of a formula; raise if the outcome is one of them."""
    named = _columns_in(terms, columns)
    for name in named:
        if name in outcome:
            raise ParameterError(f"{name!r} is the outcome and a covariate", hint="name it on one side of ~ alone")
    return named


def _columns_in(part: str, columns: Collection[str]) -> tuple[str, ...]:
    """Return the columns that one side of a formula names."""
    named: dict[str, None] = {}
    position, end = 0, len(part.rstrip())
    while position < end:
        token = TOKEN.match(part, position)
        if token is None:
            raise ParameterError(
                f"a formula cannot contain {part[position:].strip()[:1]!r}",
                hint=f"it has columns, numbers, + - * : ** ( ) and {', '.join(sorted(FUNCTIONS))}; {EXAMPLE}",
            )
        position = token.end()
        name = token["name"] or (token["quoted"] or "").strip("`")
        if not name:
            continue
        if token["name"] and part[position:].lstrip().startswith("("):
            if name not in FUNCTIONS:
                raise ParameterError(
                    f"a formula has no function {name!r}", hint=f"these are known: {', '.join(sorted(FUNCTIONS))}"
                )
        elif name not in columns:
            raise ParameterError(
                f"the formula names the column {name!r}, which the table does not have",
                hint=did_you_mean(name, list(columns))
                or "put names with blanks or signs between backquotes: `my column`",
            )
        else:
            named[name] = None
    return tuple(named)


def check_published(names: Collection[str], schema: Schema) -> None:
    """Raise `ParameterError` for columns that a release does not show or that are pseudonyms in it."""
    for name in names:
        if name in schema.identifiers:
            raise ParameterError(
                f"{name!r} is an identifier, which the release does not have",
                hint="analyze columns that are published",
            )
        if name in schema.person:
            raise ParameterError(f"{name!r} is the person ID, which says nothing", hint="analyze other columns")
