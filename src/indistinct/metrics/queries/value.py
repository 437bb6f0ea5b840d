"""A query as a value: an aggregate over the rows that a condition selects, independent of the recoding."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, assert_never, get_args

from indistinct.errors import ParameterError, SchemaError, did_you_mean
from indistinct.schema import Schema

Aggregate = Literal["COUNT", "SUM", "AVG", "MIN", "MAX"]
Operator = Literal["=", "<>", "<", "<=", ">", ">=", "IN", "NOT IN", "BETWEEN", "NOT BETWEEN"]
Constant = int | float | str | bool | date | datetime
AGGREGATES: tuple[str, ...] = get_args(Aggregate)
OPERATORS: tuple[str, ...] = get_args(Operator)
OPPOSITE: dict[str, Operator] = {
    "=": "<>",
    "<>": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "IN": "NOT IN",
    "NOT IN": "IN",
    "BETWEEN": "NOT BETWEEN",
    "NOT BETWEEN": "BETWEEN",
}


class _Combined:
    """The operators that combine conditions: `a & b`, `a | b`, `~a`."""

    __slots__ = ()

    def __and__(self, other: "Condition") -> "AllConditions":
        return AllConditions((self, other))  # type: ignore[arg-type]

    def __or__(self, other: "Condition") -> "Either":
        return Either((self, other))  # type: ignore[arg-type]

    def __invert__(self) -> "Condition":
        return negate_condition(self)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Compare(_Combined):
    """A comparison of a column with constants, as in SQL: a missing value never satisfies it.

    >>> str(Compare("age", "BETWEEN", (20, 30)) & Compare("sex", "=", ("Male",)))
    "age BETWEEN 20 AND 30 AND sex = 'Male'"
    """

    column: str
    operator: Operator
    constants: tuple[Constant, ...]

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            raise ParameterError(
                f"{self.operator!r} compares nothing", hint=f"a comparison is one of {', '.join(OPERATORS)}"
            )
        given = self.constants
        object.__setattr__(self, "constants", tuple(given) if isinstance(given, tuple | list | set) else (given,))
        wanted = {"BETWEEN": 2, "NOT BETWEEN": 2}.get(self.operator, 1)
        some = self.operator.endswith("IN")
        if (some and not self.constants) or (not some and len(self.constants) != wanted):
            number = "at least 1 value" if some else "1 value" if wanted == 1 else "2 values"
            raise ParameterError(
                f"{self.operator} needs {number}; got {len(self.constants)}",
                hint="for example age BETWEEN 20 AND 30, or age IN (20, 30)",
            )
        if any(isinstance(each, float) and not math.isfinite(each) for each in self.constants):
            raise ParameterError(f"column {self.column!r} is compared with something that is not a finite number")

    def __str__(self) -> str:
        name, texts = _name(self.column), [_constant(each) for each in self.constants]
        if self.operator.endswith("BETWEEN"):
            return f"{name} {self.operator} {texts[0]} AND {texts[1]}"
        return f"{name} {self.operator} " + (f"({', '.join(texts)})" if self.operator.endswith("IN") else texts[0])


@dataclass(frozen=True, slots=True)
class IsMissing(_Combined):
    """Whether a column has no value in a row; with `missing=False`, whether it has one."""

    column: str
    missing: bool = True

    def __str__(self) -> str:
        return f"{_name(self.column)} IS {'' if self.missing else 'NOT '}NULL"


@dataclass(frozen=True, slots=True)
class AllConditions(_Combined):
    """Several conditions that must all hold."""

    parts: tuple["Condition", ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _flat(self.parts, AllConditions))

    def __str__(self) -> str:
        return " AND ".join(f"({part})" if isinstance(part, Either) else str(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Either(_Combined):
    """Several conditions; at least one must hold."""

    parts: tuple["Condition", ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _flat(self.parts, Either))

    def __str__(self) -> str:
        return " OR ".join(str(part) for part in self.parts)


Condition = Compare | IsMissing | AllConditions | Either


def negate_condition(condition: Condition) -> Condition:
    """Return the condition that is true where this one is false; where it is unknown, neither holds."""
    match condition:
        case Compare(column, operator, constants):
            return Compare(column, OPPOSITE[operator], constants)
        case IsMissing(column, missing):
            return IsMissing(column, not missing)
        case AllConditions(parts):
            return Either(tuple(map(negate_condition, parts)))
        case Either(parts):
            return AllConditions(tuple(map(negate_condition, parts)))
        case _:
            assert_never(condition)


def comparisons_in(condition: Condition | None) -> Iterator[Compare]:
    """Yield the comparisons of a condition."""
    match condition:
        case Compare():
            yield condition
        case AllConditions(parts) | Either(parts):
            for part in parts:
                yield from comparisons_in(part)
        case IsMissing() | None:
            return
        case _:
            assert_never(condition)


def columns_in(condition: Condition | None) -> Iterator[str]:
    """Yield the columns of a condition, once for each occurrence."""
    match condition:
        case None:
            return
        case Compare(column=column) | IsMissing(column=column):
            yield column
        case AllConditions(parts) | Either(parts):
            for part in parts:
                yield from columns_in(part)
        case _:
            assert_never(condition)


@dataclass(frozen=True, slots=True)
class Query:
    """An aggregate over the rows that satisfy a condition, optionally by groups: one SELECT without joins.

    `target` is the aggregated column; COUNT without it counts rows, and with it the values that are not missing.

    >>> print(Query("AVG", "age", where=Compare("sex", "=", ("Male",))))
    SELECT AVG(age) WHERE sex = 'Male'
    """

    aggregate: Aggregate = "COUNT"
    target: str | None = None
    where: Condition | None = None
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.aggregate not in AGGREGATES:
            raise ParameterError(
                f"there is no aggregate {self.aggregate!r}",
                hint=did_you_mean(str(self.aggregate).upper(), AGGREGATES) or f"choose among {', '.join(AGGREGATES)}",
            )
        if self.aggregate != "COUNT" and self.target is None:
            raise ParameterError(f"{self.aggregate} needs a column", hint=f"for example {self.aggregate}(age)")

    def __str__(self) -> str:
        parts = [*map(_name, self.groups), f"{self.aggregate}({'*' if self.target is None else _name(self.target)})"]
        where = "" if self.where is None else f" WHERE {self.where}"
        by = f" GROUP BY {', '.join(map(_name, self.groups))}" if self.groups else ""
        return f"SELECT {', '.join(parts)}{where}{by}"

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the query uses, once."""
        target = () if self.target is None else (self.target,)
        return tuple(dict.fromkeys([*target, *columns_in(self.where), *self.groups]))

    @property
    def rows(self) -> Condition | None:
        """The condition of the aggregated rows, including that the target has a value."""
        if self.target is None:
            return self.where
        there = IsMissing(self.target, missing=False)
        return there if self.where is None else there & self.where


def check_columns(query: Query, names: Sequence[str], *, schema: Schema) -> None:
    """Raise for an argument that is not a query, and for columns that are not published."""
    if not isinstance(query, Query):
        raise ParameterError(f"a query must be SQL or a Query; got {type(query).__name__}")
    for name in query.columns:
        if name in schema.hidden:
            raise SchemaError(
                f"column {name!r} identifies people and is not published",
                hint=f"ask about {', '.join(schema.published)}",
            )
        if name not in names:
            raise SchemaError(
                f"the query asks about column {name!r}, which the release does not have",
                hint=did_you_mean(name, names) or f"it has {', '.join(names)}",
            )


def _flat(parts: Iterable[Condition], kind: type[AllConditions] | type[Either]) -> tuple[Condition, ...]:
    """Return conditions with nested ones of the same kind flattened: (a AND b) AND c is one chain."""
    return tuple(inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,)))


def _name(column: str) -> str:
    plain = column.isidentifier() and column.isascii()
    return column if plain and column.upper() not in RESERVED else '"' + column.replace('"', '""') + '"'


# fmt: off
RESERVED = frozenset((
    "ALL", "AND", "ANY", "AS", "ASC", "AVG", "BETWEEN", "BY", "CASE", "CAST", "COUNT", "CROSS", "CURRENT", "DATE",
    "DEFAULT", "DESC", "DISTINCT", "ELSE", "END", "EXCEPT", "EXISTS", "FALSE", "FILTER", "FOR", "FROM", "FULL", "GROUP",
    "HAVING", "IF", "IN", "INNER", "INTERSECT", "INTERVAL", "INTO", "IS", "JOIN", "LEFT", "LIKE", "LIMIT", "MAX", "MIN",
    "NATURAL", "NOT", "NULL", "OFFSET", "ON", "OR", "ORDER", "OUTER", "OVER", "PARTITION", "RANGE", "RIGHT", "ROW",
    "ROWS", "SELECT", "SET", "SOME", "SUM", "TABLE", "THEN", "TIME", "TIMESTAMP", "TO", "TRUE", "UNION", "UNIQUE",
    "USING", "VALUES", "WHEN", "WHERE", "WINDOW", "WITH",
))
# fmt: on
"""Words that must be quoted when they are names of columns."""


def _constant(value: Constant) -> str:
    """Write a constant in SQL."""
    match value:
        case bool():
            return str(value).upper()
        case int() | float():
            return repr(value)
        case date():
            return f"'{value.isoformat()}'"
        case _:
            return "'" + str(value).replace("'", "''") + "'"
