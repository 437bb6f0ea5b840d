"""A transformation as it is declared, in Python, in a policy or by a flag: what is published of one column."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from indistinct.errors import ParameterError, SchemaError
from indistinct.hierarchy.value import Hierarchy
from indistinct.schema import Role, Schema, did_you_mean

Period = Literal["day", "month", "quarter", "year"]
Cleared = Literal["all", "presence", True]
PERIODS: tuple[str, ...] = get_args(Period)
CLEARED = ("all", "presence")
EXAMPLE = "for example --transform cost=round:100,top:10000 or --transform note=clear"


@dataclass(frozen=True, slots=True)
class Transformation:
    """What is published of a sensitive or insensitive column: numbers, dates, levels of a hierarchy, or nothing.

    Numbers are rounded to multiples of `round`, halves to the even one; afterwards what is above `top` becomes `top`,
    and what is below `bottom` becomes `bottom`. Dates are cut down (`truncate`) to the first day of their month,
    quarter or year, times to their day. Values become those of a `level` of the column's hierarchy. With `clear` every
    text is missing, or, to keep its "presence", says no more than that there was one. Missing values stay missing.

        >>> Transformation(round=100, top=10_000).spec()
        'round:100,top:10000'
    """

    round: float | None = None
    top: float | None = None
    bottom: float | None = None
    truncate: Period | None = None
    level: int | None = None
    clear: Cleared | None = None
    hierarchy: Hierarchy | None = None

    def __post_init__(self) -> None:
        if self.clear is True:
            object.__setattr__(self, "clear", "all")
        for name in ("round", "top", "bottom"):
            _check_number(name, getattr(self, name))
        if self.round is not None and not self.round > 0:
            raise ParameterError(f"`round` must be a step above 0; got {self.round:g}", hint="round = 100")
        if self.top is not None and self.bottom is not None and self.top <= self.bottom:
            raise ParameterError("`top` must be above `bottom`", hint="values between the two are kept")
        _check_word("truncate", self.truncate, PERIODS)
        _check_word("clear", self.clear, CLEARED)
        if self.level is not None and (isinstance(self.level, bool) or not isinstance(self.level, int)):
            raise ParameterError("`level` must be a whole number", hint="0 is raw, 1 the first coarser level")
        if self.level is not None and self.level < 1:
            raise ParameterError(f"`level` must be 1 or more; got {self.level}", hint="level 0 is the column as it is")
        if len(self.ways) != 1:
            told = " and ".join(f"`{way}`" for way in self.ways) or "nothing"
            raise ParameterError(
                f"a column is transformed in one way; got {told}",
                hint="numbers: round, top and bottom, which may stand together; dates: truncate; level; clear",
            )

    @property
    def ways(self) -> tuple[str, ...]:
        """Return the ways in which the column is transformed; bounds and rounding of numbers are one."""
        numbers = [name for name in ("round", "top", "bottom") if getattr(self, name) is not None]
        others = [name for name in ("truncate", "level", "clear") if getattr(self, name) is not None]
        return (*(["/".join(numbers)] if numbers else []), *others)

    def options(self) -> dict[str, Any]:
        """Return what is declared, as a policy has it."""
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "hierarchy"}
        told = {name: _plain(value) for name, value in given.items() if value is not None}
        return {**told, **({"clear": True} if self.clear == "all" else {})}

    def spec(self) -> str:
        """Return the transformation as a flag spells it."""
        return ",".join(name if value is True else f"{name}:{value}" for name, value in self.options().items())


def transformation_from_options(options: Mapping[str, Any]) -> Transformation:
    """Return the transformation that keys of a policy declare.

    >>> transformation_from_options({"clear": True}).spec()
    'clear'
    """
    known = [each.name for each in fields(Transformation) if each.name != "hierarchy"]
    for key in options:
        if key not in known:
            raise ParameterError(
                f"there is no transformation {key!r}", hint=did_you_mean(key, known) or f"known: {', '.join(known)}"
            )
    return Transformation(**{key: value for key, value in options.items() if value is not False})


def parse_transformation(text: str) -> Transformation:
    """Return the transformation that a flag spells.

    >>> parse_transformation("bottom:0,top:90").options()
    {'top': 90, 'bottom': 0}
    """
    options: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition(":")
        if name in options:
            raise ParameterError(f"the transformation {name!r} is given twice", hint=EXAMPLE)
        read = _READ.get(name, str)
        try:
            options[name] = read(value) if value else True
        except ValueError:
            kind = "whole number" if read is int else "number"
            raise ParameterError.of("a", name, f"transformation must be a {kind}", hint=EXAMPLE) from None
    return transformation_from_options(options)


def check_transformations(
    transformations: Mapping[str, Transformation], schema: Schema, hierarchies: Mapping[str, Hierarchy]
) -> dict[str, Transformation]:
    """Return transformations with the hierarchies that their levels belong to.

    Raises unless each is one of a sensitive or insensitive column.
    """
    found = {}
    for name, given in transformations.items():
        if not isinstance(given, Transformation):
            raise ParameterError(
                f"the transformation of column {name!r} must be a Transformation; got {type(given).__name__}",
                hint=f'transformations={{"{name}": ind.Transformation(round=100)}}',
            )
        check_role(name, schema)
        if given.level is None:
            found[name] = given
            continue
        if given.hierarchy is None and name not in hierarchies:
            raise SchemaError(
                f"column {name!r} is to be published on level {given.level} of its hierarchy, and it has none",
                hint=f"give it one: `hierarchy` in a policy, --hierarchy {name}=…, hierarchies={{{name!r}: …}}",
            )
        found[name] = given if given.hierarchy is not None else replace(given, hierarchy=hierarchies[name])
    return found


def kept_hierarchies(
    hierarchies: Mapping[str, Hierarchy], transformations: Mapping[str, Transformation] | None
) -> dict[str, Hierarchy]:
    """Return the hierarchies that models and searches use: values of a transformed column are no longer in its own."""
    return {name: each for name, each in hierarchies.items() if name not in (transformations or {})}


def check_role(name: str, schema: Schema) -> None:
    """Raise unless a column is one that is published and not recoded."""
    if name not in schema.columns:
        raise SchemaError(
            f"a transformation is given for column {name!r}, which the schema does not name",
            hint=did_you_mean(name, schema.columns) or f"the schema names: {', '.join(schema.columns)}",
        )
    role = schema.role(name)
    if role is Role.QUASI:
        raise SchemaError(
            f"column {name!r} is a quasi-identifier, which the recoding changes; transformations are for the others",
            hint="give it a hierarchy, of which the search chooses a level; or change it in the table beforehand",
        )
    if role in (Role.IDENTIFIER, Role.PERSON):
        raise SchemaError(
            f"column {name!r} has the role {role} and is dropped, so that there is nothing to transform",
            hint="leave the transformation out; a pseudonym can take its place, or give it the role sensitive",
        )


def _check_number(name: str, value: Any) -> None:
    if value is None:
        return
    if value is True:  # a flag without a number
        raise ParameterError.of("a", name, "transformation needs a number", hint=f"{name}:100, {name} = 100")
    if not isinstance(value, int | float):
        raise ParameterError(f"`{name}` must be a number; got {type(value).__name__}", hint=f"{name} = 100")
    if not math.isfinite(value):
        raise ParameterError(f"`{name}` must be a finite number; got {value}", hint=f"{name} = 100")


def _check_word(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        told = value if isinstance(value, str) else type(value).__name__
        raise ParameterError(
            f"`{name}` must be one of {', '.join(known)}; got {told!r}",
            hint=did_you_mean(str(value), known) or EXAMPLE,
        )


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


_READ: dict[str, Callable[[str], Any]] = {"round": float, "top": float, "bottom": float, "level": int}
