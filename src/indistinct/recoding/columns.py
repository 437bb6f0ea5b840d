"""A quasi-identifier as algorithms see it: its domain, its hierarchy, how it may be cut, and what a job declares of it.

A job declares least and most levels, forms of numbers, and attribute weights of single columns.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError, ParameterError, did_you_mean
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes
from indistinct.parameters import Refused
from indistinct.tables.domain import Domain, Kind
from indistinct.text_form import spell_value, split, unquote


@dataclass(frozen=True, eq=False)
class QuasiColumn:
    """A quasi-identifier column: what a recoding may say about it.

    `tree` says that the column is cut through its hierarchy and published as an ancestor; otherwise it is cut along
    its canonical or declared order and published as a range (numbers, dates, declared orders) or a set of values.
    """

    domain: Domain
    taxonomy: Taxonomy | None = None
    tree: bool = False

    @property
    def name(self) -> str:
        """Return the column's name."""
        return self.domain.column

    @property
    def ranged(self) -> bool:
        """Whether a published value is a range on a line."""
        return self.domain.ordered and not self.tree

    @cached_property
    def ranks(self) -> Codes:
        """Rank of each code in the order in which the column is cut."""
        if self.tree and self.taxonomy is not None:
            return self.taxonomy.ranks()
        return np.arange(len(self.domain), dtype=np.int32)

    @cached_property
    def by_rank(self) -> Codes:
        """The code at each rank."""
        codes = np.empty(len(self.ranks), dtype=np.int32)
        codes[self.ranks] = np.arange(len(self.ranks), dtype=np.int32)
        return codes

    @cached_property
    def positions(self) -> Codes:
        """Each code's place on the column's line."""
        return self.domain.positions()

    @property
    def span(self) -> float:
        """Return the length of the column's line."""
        return float(self.positions.max() - self.positions.min()) if len(self.domain) else 0.0

    @property
    def size(self) -> int:
        """Return the number of raw values: the hierarchy's leaves, or the values that occur."""
        return self.taxonomy.size if self.taxonomy is not None else len(self.domain)

    @property
    def height(self) -> int:
        """Return the height of the hierarchy; without one a value is raw or it is not."""
        return self.taxonomy.height if self.taxonomy is not None else 1

    @property
    def textual(self) -> bool:
        """Whether the raw values are text."""
        return self.domain.kind is Kind.TEXT


def columns_of(domains: Sequence[Domain], hierarchies: Mapping[str, Hierarchy]) -> tuple[QuasiColumn, ...]:
    """Return quasi-identifiers with their hierarchies laid over them."""
    columns = []
    for domain in domains:
        hierarchy = hierarchies.get(domain.column)
        taxonomy = None if hierarchy is None else hierarchy.bind(domain)
        tree = hierarchy is not None and (hierarchy.categorical or not domain.ordered)
        columns.append(QuasiColumn(domain, taxonomy, tree))
        _check_span(columns[-1])
    return tuple(columns)


def _check_span(column: QuasiColumn) -> None:
    """Raise if the ends of a column are so far apart that floats have no number for it."""
    kind = column.domain.values.type
    if not pa.types.is_floating(kind) or not len(column.domain.values):
        return
    with np.errstate(over="ignore"):
        if np.isfinite(column.span):
            return
    name = column.domain.column
    raise InputError(
        f"column {name!r} holds numbers beyond 10^307: the distance between the smallest and the largest is not a "
        "number",
        hint="give the column in a larger unit, or make such values missing",
        column=name,
    )


HINT_OF_LEVELS = 'levels are counted from 0, the original value: {"zipcode": (1, 3)}, or zipcode=1..3'
Bounds = tuple[int, int | None]


@dataclass(frozen=True, slots=True, eq=False)
class LevelBounds:
    """The least and the most level of columns, by name; a most level of None is the top of the hierarchy.

    Two are equal that bound the same columns alike, in whatever order they are named.

    >>> bounds = levels_of({"zipcode": (1, 3), "age": (2, None)})
    >>> bounds.of("zipcode", 5), bounds.of("age", 4), bounds.of("sex", 1), str(bounds)
    ((1, 3), (2, 4), (0, 1), 'zipcode=1..3, age=2..')
    """

    bounds: tuple[tuple[str, Bounds], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.bounds)

    def __eq__(self, other: object) -> bool:
        return dict(self.bounds) == dict(other.bounds) if isinstance(other, LevelBounds) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self.bounds))

    def __str__(self) -> str:
        return ", ".join(f"{name}={spell_bounds(each)}" for name, each in self.bounds)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that have bounds."""
        return tuple(name for name, _ in self.bounds)

    @property
    def has_most(self) -> bool:
        """Whether some column has a most level."""
        return any(most is not None for _, (_, most) in self.bounds)

    def of(self, column: str, height: int) -> tuple[int, int]:
        """Return minimum and maximum level of a column, by default 0 and the height of its hierarchy."""
        least, most = dict(self.bounds).get(column, (0, None))
        return least, height if most is None else most

    def least(self, column: str) -> int:
        """Return the least level of a column."""
        return dict(self.bounds).get(column, (0, None))[0]

    def with_bounds(self, column: str, bounds: Bounds) -> "LevelBounds":
        """Return these bounds with others for one column."""
        return LevelBounds(tuple({**dict(self.bounds), column: bounds}.items()))

    def require_columns(self, quasi: Sequence[str]) -> None:
        """Raise `ParameterError` for a column that is no quasi-identifier."""
        _check_columns("levels", self.columns, quasi)

    def check(self, heights: Mapping[str, int]) -> None:
        """Raise `ParameterError` for a level that a column's hierarchy does not have."""
        self.require_columns(tuple(heights))
        for name, (least, most) in self.bounds:
            if max(least, most or 0) > heights[name]:
                raise _error(
                    f"of {name!r} must lie within its hierarchy, 0..{heights[name]}; got {spell_bounds((least, most))}",
                    hint="level 0 is the unmodified column, and the last level its coarsest label",
                )


NO_LEVELS = LevelBounds()


def levels_of(given: LevelBounds | Mapping[str, Any] | None) -> LevelBounds:
    """Return level bounds as one value: pairs by column, with None for an open end."""
    match given:
        case LevelBounds():
            return given
        case None:
            return LevelBounds()
        case Mapping():
            return LevelBounds(tuple((str(name), _bounds_of(str(name), pair)) for name, pair in given.items()))
        case _:
            raise _error(f"must be a mapping of columns to pairs of levels; got {type(given).__name__}")


def parse_bounds(column: str, text: str) -> Bounds:
    """Parse the level bounds of a column: 1..3, 1.., ..3 or 2, which is 2..2.

    >>> parse_bounds("zipcode", "1.."), parse_bounds("zipcode", "2")
    ((1, None), (2, 2))
    """
    match = re.fullmatch(r"\s*(\d*)\s*(\.\.)?\s*(\d*)\s*", text)
    if match is None or not (match[1] or match[3]):
        raise _error(f"of {column!r} must be two levels, such as 1..3; got {text!r}")
    if not match[2]:
        return _bounds_of(column, (int(text), int(text)))
    return _bounds_of(column, (int(match[1] or 0), int(match[3]) if match[3] else None))


def spell_bounds(bounds: Bounds) -> str:
    """Write bounds as a flag takes them.

    >>> spell_bounds((1, 3)), spell_bounds((1, None))
    ('1..3', '1..')
    """
    least, most = bounds
    return f"{least}..{'' if most is None else most}"


def _bounds_of(column: str, pair: Any) -> Bounds:
    """Return a pair of levels; raise for anything else."""
    if isinstance(pair, str):
        return parse_bounds(column, pair)
    if not isinstance(pair, Sequence) or len(pair) != 2:
        raise _error(f"of {column!r} must be a pair of levels; got {type(pair).__name__}")
    least, most = pair
    for level in (least, 0 if most is None else most):
        if isinstance(level, bool) or not isinstance(level, int) or level < 0:
            raise _error(f"of {column!r} must be whole numbers from 0; got {least!r} and {most!r}")
    if most is not None and least > most:
        raise _error(f"of {column!r} must not begin above their end; got {spell_bounds((least, most))}")
    return least, most


def _error(problem: str, *, hint: str = HINT_OF_LEVELS) -> ParameterError:
    return ParameterError(f"`levels` {problem}", parameter="levels", hint=hint)


NumericForm = Literal["interval", "interval+mean", "bounds", "mean"]
FORMS: tuple[NumericForm, ...] = get_args(NumericForm)
HINT_OF_FORMS = 'for example mean, or by column {"age": "mean"}, which a text spells as age=mean'


@dataclass(frozen=True, slots=True, eq=False)
class NumericForms:
    """The form of each column: that of `by_column` where the column is named there, and else the `default`.

    Written as "mean" for all columns, "age=mean|day=bounds" for two, and "bounds|age=mean" for both.

    >>> forms = numeric_forms({"age": "mean"})
    >>> forms.of("age"), forms.of("hours"), str(forms), str(numeric_forms("bounds|age=mean"))
    ('mean', 'interval', 'age=mean', 'bounds|age=mean')
    """

    choices: ClassVar[tuple[str, ...]] = FORMS
    default: NumericForm = "interval"
    by_column: tuple[tuple[str, NumericForm], ...] = ()

    def __bool__(self) -> bool:
        return self != INTERVALS

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, NumericForms) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        parts = [f"{spell_value(name)}={form}" for name, form in self.by_column]
        return "|".join([self.default, *parts] if self.default != "interval" or not parts else parts)

    def __repr__(self) -> str:
        return repr(self.plain)

    @property
    def _key(self) -> tuple[NumericForm, frozenset[tuple[str, NumericForm]]]:
        return self.default, frozenset(pair for pair in self.by_column if pair[1] != self.default)

    @property
    def plain(self) -> str | dict[str, str]:
        """The forms as Python writes them: a text, or a dictionary where only single columns have a form."""
        return dict(self.by_column) if self.by_column and self.default == "interval" else str(self)

    @property
    def used(self) -> frozenset[NumericForm]:
        """All forms that a column may have."""
        return frozenset({self.default, *(form for _, form in self.by_column)})

    @property
    def has_means(self) -> bool:
        """Whether some columns show means."""
        return any("mean" in form for form in self.used)

    @classmethod
    def from_text(cls, text: str) -> "NumericForms":
        """Parse numeric forms: `mean`, `age=mean|day=bounds` or `bounds|age=mean`."""
        return numeric_forms(text)

    def of(self, column: str) -> NumericForm:
        """Return the form of a column."""
        return dict(self.by_column).get(column, self.default)

    def with_columns(self, forms: "NumericForms") -> "NumericForms":
        """Return these forms with those of single columns in other ones."""
        return NumericForms(self.default, tuple({**dict(self.by_column), **dict(forms.by_column)}.items()))

    def check(self, columns: Collection[str]) -> None:
        """Raise `ParameterError` for a name that is not a quasi-identifier."""
        _check_columns("numeric", dict(self.by_column), columns)

    def require_numbers(self, columns: Iterable[QuasiColumn]) -> None:
        """Raise `ParameterError` if a form is given for a column that is not published as ranges of numbers or dates.

        Those are names, declared orders, and numbers that are cut along a hierarchy.
        """
        named = dict(self.by_column)
        for column in columns:
            if column.name in named and (not column.ranged or column.domain.kind is Kind.TEXT):
                raise ParameterError(
                    f"`numeric` names the column {column.name!r}, which is not published as ranges of numbers or dates",
                    parameter="numeric",
                    hint="leave it out: names, orders and trees are published as labels",
                )


INTERVALS = NumericForms()


def numeric_forms(given: NumericForms | Mapping[str, str] | str | None) -> NumericForms:
    """Return forms of numbers as one value, given a form, a mapping of columns to forms, a text, or None."""
    try:
        return FORMS_OF_NUMBERS.normalize(given)
    except Refused as refused:
        raise ParameterError(
            f"`numeric` must be {refused}; got {given!r}", parameter="numeric", hint=HINT_OF_FORMS
        ) from None


@dataclass(frozen=True, slots=True)
class _FormsOfNumbers:
    """What a parameter `numeric` accepts."""

    def normalize(self, value: Any) -> NumericForms:
        """Return the forms; raise `Refused` for anything else."""
        match value:
            case NumericForms():
                return value
            case None:
                return INTERVALS
            case str():
                return _parse(value)
            case Mapping():
                return NumericForms("interval", tuple((str(name), _form(form)) for name, form in value.items()))
            case _:
                raise _refuse()


FORMS_OF_NUMBERS = _FormsOfNumbers()


def _parse(text: str) -> NumericForms:
    """Parse numeric forms: a default, and forms of single columns."""
    default: NumericForm = "interval"
    by_column: dict[str, NumericForm] = {}
    for index, part in enumerate(split(text, "|")):
        name, *rest = (piece.strip() for piece in split(part, "="))
        if not rest and index == 0:
            default = _form(name)
        elif len(rest) == 1 and name and unquote(name) not in by_column:
            by_column[unquote(name)] = _form(rest[0])
        else:
            raise _refuse()
    return NumericForms(default, tuple(by_column.items()))


def _form(word: object) -> NumericForm:
    for form in FORMS:
        if word == form:
            return form
    raise _refuse()


def _refuse() -> Refused:
    return Refused(f"one of {', '.join(FORMS)}, or such a form for each of some columns")


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
        """The columns whose weight is not 1, as a set."""
        return frozenset((name, weight) for name, weight in dict(self.weights).items() if weight != 1)

    def __str__(self) -> str:
        return "|".join(f"{spell_value(name)}={_spell_number(weight)}" for name, weight in self.weights)

    @classmethod
    def from_text(cls, text: str) -> "Importance":
        """Return the weights of a text such as `age=3|sex=2`."""
        weights: dict[str, float] = {}
        for part in split(text, "|"):
            name, *rest = split(part.strip(), "=")
            try:
                (number,) = rest
                weights[unquote(name.strip())] = float(number)
            except ValueError:
                raise _not_positive("is not of the form column=number") from None
        return importance_of(weights)

    def of(self, column: str) -> float:
        """Return the weight of a column."""
        return dict(self.weights).get(column, 1.0)

    def check(self, columns: Collection[str]) -> None:
        """Raise `ParameterError` for a name that is not a quasi-identifier."""
        _check_columns("importance", dict(self.weights), columns)


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
    """Check a weight: a finite number above 0, within the allowed range."""
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
    """Return the error of an invalid weight."""
    return ParameterError(
        f"`importance` {problem}",
        parameter="importance",
        problem=problem,
        hint='for example {"age": 3}, or age=3|sex=2',
    )


def _spell_number(weight: float) -> str:
    short = f"{weight:g}"
    return short if float(short) == weight else repr(weight)


def _check_columns(setting: str, names: Iterable[str], quasi: Collection[str]) -> None:
    """Raise `ParameterError` where a setting names a column that is no quasi-identifier."""
    for name in names:
        if name not in quasi:
            raise ParameterError(
                f"`{setting}` names the column {name!r}, which is not a quasi-identifier",
                parameter=setting,
                hint=did_you_mean(name, quasi) or f"the quasi-identifiers are {', '.join(quasi)}",
            )
