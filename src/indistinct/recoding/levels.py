"""Least and most levels: how coarse a quasi-identifier must and may be published, by levels of its hierarchy."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from indistinct.errors import ParameterError
from indistinct.schema import did_you_mean

HINT = 'levels are counted from 0, the original value: {"zipcode": (1, 3)}, or zipcode=1..3'
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
        """Return the bounds of a column whose hierarchy has some height; all of it where none were given."""
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
        for name in self.columns:
            if name not in quasi:
                raise _error(
                    f"names the column {name!r}, which is no quasi-identifier",
                    hint=did_you_mean(name, quasi) or f"the quasi-identifiers are {', '.join(quasi)}",
                )

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
AnyLevels = LevelBounds | Mapping[str, Any] | None
"""What `levels_of` takes."""


def levels_of(given: AnyLevels) -> LevelBounds:
    """Return what somebody says of levels as one value: pairs by column, with None for an open end."""
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
    """Return the bounds that a text spells for a column: 1..3, 1.., ..3 or 2, which is 2..2.

    >>> parse_bounds("zipcode", "1.."), parse_bounds("zipcode", "2")
    ((1, None), (2, 2))
    """
    found = re.fullmatch(r"\s*(\d*)\s*(\.\.)?\s*(\d*)\s*", text)
    if found is None or not (found[1] or found[3]):
        raise _error(f"of {column!r} must be two levels, such as 1..3; got {text!r}")
    if not found[2]:
        return _bounds_of(column, (int(text), int(text)))
    return _bounds_of(column, (int(found[1] or 0), int(found[3]) if found[3] else None))


def spell_bounds(bounds: Bounds) -> str:
    """Return bounds as a flag spells them.

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


def _error(problem: str, *, hint: str = HINT) -> ParameterError:
    return ParameterError(f"`levels` {problem}", parameter="levels", hint=hint)
