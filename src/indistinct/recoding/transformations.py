"""Masking: how a sensitive or insensitive column is published, as declared and as applied.

It is the same on every engine, because Arrow columns are masked here, whichever engine read them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError, ParameterError, SchemaError, did_you_mean
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes
from indistinct.schema import Role, Schema
from indistinct.tables.domain import Domain, Kind, kind_of, plain_column

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
            raise ParameterError(f"`level` must be 1 or more; got {self.level}", hint="level 0 is unmodified")
        if len(self.ways) != 1:
            given = " and ".join(f"`{way}`" for way in self.ways) or "nothing"
            raise ParameterError(
                f"a column is transformed in one way; got {given}",
                hint="numbers: round, top and bottom, which may be combined; dates: truncate; level; clear",
            )

    @property
    def ways(self) -> tuple[str, ...]:
        """Return the kinds of masking of the column; bounds and rounding of numbers count as one."""
        numbers = [name for name in ("round", "top", "bottom") if getattr(self, name) is not None]
        others = [name for name in ("truncate", "level", "clear") if getattr(self, name) is not None]
        return (*(["/".join(numbers)] if numbers else []), *others)

    @property
    def rounds_to_whole(self) -> bool:
        """Whether numbers are rounded to multiples of a whole number."""
        return self.round is not None and float(self.round).is_integer()

    def options(self) -> dict[str, Any]:
        """Return the declared options in the form of a policy."""
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "hierarchy"}
        numbers = {name: _plain_number(value) for name, value in given.items() if value is not None}
        return {**numbers, **({"clear": True} if self.clear == "all" else {})}

    def spec(self) -> str:
        """Write the masking as a flag takes it."""
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
    """Parse the masking of a flag.

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
    checked = {}
    for name, given in transformations.items():
        if not isinstance(given, Transformation):
            raise ParameterError(
                f"the transformation of column {name!r} must be a Transformation; got {type(given).__name__}",
                hint=f'transformations={{"{name}": ind.Transformation(round=100)}}',
            )
        check_role(name, schema)
        if given.level is None:
            checked[name] = given
            continue
        if given.hierarchy is None and name not in hierarchies:
            raise SchemaError(
                f"column {name!r} is to be published on level {given.level} of its hierarchy, and it has none",
                hint=f"give it one: `hierarchy` in a policy, --hierarchy {name}=…, hierarchies={{{name!r}: …}}",
            )
        checked[name] = given if given.hierarchy is not None else replace(given, hierarchy=hierarchies[name])
    return checked


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
    """Raise unless an option of masking is a finite number."""
    if value is None:
        return
    if value is True:  # a flag without a number
        raise ParameterError.of("a", name, "transformation needs a number", hint=f"{name}:100, {name} = 100")
    if not isinstance(value, int | float):
        raise ParameterError(f"`{name}` must be a number; got {type(value).__name__}", hint=f"{name} = 100")
    if not math.isfinite(value):
        raise ParameterError(f"`{name}` must be a finite number; got {value}", hint=f"{name} = 100")


def _check_word(name: str, value: Any, known: tuple[str, ...]) -> None:
    """Raise unless an option of masking is one of the known words."""
    if value is not None and value not in known:
        given = value if isinstance(value, str) else type(value).__name__
        raise ParameterError(
            f"`{name}` must be one of {', '.join(known)}; got {given!r}",
            hint=did_you_mean(str(value), known) or EXAMPLE,
        )


def _plain_number(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


_READ: dict[str, Callable[[str], Any]] = {"round": float, "top": float, "bottom": float, "level": int}


PRESENT = "present"
# Whole numbers beyond cannot be rounded up.
MAX_ROUNDED_NUMBER = 1 << 62
# What is no text, number or date, in words.
OTHERS: Mapping[Callable[[pa.DataType], bool], str] = {
    pa.types.is_duration: "durations",
    pa.types.is_boolean: "true and false",
    pa.types.is_time: "times of the day",
}
# The types of columns without any value, once they are transformed.
EMPTY = {Kind.NUMBER: pa.float64(), Kind.DATE: pa.date32()}
WAYS = {Kind.NUMBER: "rounded or bounded", Kind.DATE: "cut down to a period"}

Change = Callable[[pa.ChunkedArray], pa.ChunkedArray]
"""What makes the published cells of a column out of its original ones."""
Distinct = Callable[[str], pa.ChunkedArray]
"""What gives the distinct values of a column, some perhaps more than once."""


@dataclass(frozen=True, slots=True, eq=False)
class Transformed:
    """What is done to the columns of a table before anything of it is counted or published.

    `declared` says it so that it can be done to another table, whatever a hierarchy took from the data of this one.
    """

    changes: Mapping[str, Change]
    types: Mapping[str, pa.DataType]
    declared: Mapping[str, Transformation]

    def table(self, table: pa.Table) -> pa.Table:
        """Return a table, or a batch of one, with its columns transformed."""
        for index, name in enumerate(table.column_names):
            if name in self.changes:
                table = table.set_column(index, pa.field(name, self.types[name]), self.changes[name](table[name]))
        return table

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the types of the columns once they are transformed."""
        return pa.schema([pa.field(each.name, self.types.get(each.name, each.type)) for each in schema])


def transformed_columns(
    transformations: Mapping[str, Transformation], types: Mapping[str, pa.DataType], distinct: Distinct
) -> Transformed:
    """Prepare the masking of a table's columns; `distinct` returns a column's values where they must be known.

    Raises `InputError` where a column is not what its transformation is for.
    """
    changes, kinds, declared = {}, {}, dict(transformations)
    for name, given in transformations.items():
        kind = types[name].value_type if isinstance(types[name], pa.DictionaryType) else types[name]
        if given.level is None or given.hierarchy is None:
            wanted = _kind_wanted(given)
            if wanted is not None and kind_of(kind) is Kind.TEXT and _is_empty(distinct(name)):
                # A text file does not tell of what type a column without a value is.
                changes[name], kinds[name] = _nothing(EMPTY[wanted]), EMPTY[wanted]
            else:
                changes[name], kinds[name] = _change(name, given, kind)
            continue
        domain = _domain(name, distinct(name))
        changes[name], kinds[name] = _on_level(domain, given.level, given.hierarchy), pa.string()
        declared[name] = replace(given, hierarchy=given.hierarchy.complete_for(domain))
    return Transformed(changes, kinds, declared)


def _kind_wanted(given: Transformation) -> Kind | None:
    if given.clear is not None or given.level is not None:
        return None
    return Kind.NUMBER if given.truncate is None else Kind.DATE


def _is_empty(values: pa.ChunkedArray) -> bool:
    return bool(values.null_count == len(values))


def _nothing(kind: pa.DataType) -> Change:
    """Return a masking that clears a column without values."""
    return lambda column: pa.chunked_array([pa.nulls(len(column), kind)])


def _change(name: str, given: Transformation, kind: pa.DataType) -> tuple[Change, pa.DataType]:
    """Return the function that masks a column of this type, and the type of its result."""
    if given.clear is not None:
        return (_clear_cells if given.clear == "all" else _presence), pa.string()
    if given.truncate is not None:
        period = given.truncate
        _require(name, kind, Kind.DATE)
        return (lambda column: _truncate_moments(_plain(column), period)), pa.date32()
    _require(name, kind, Kind.NUMBER)
    _check_whole(name, given, kind)
    if pa.types.is_decimal(kind):
        # The widest, because 9.99 may be rounded to 10.00.
        wide = pa.decimal256(76, kind.scale) if pa.types.is_decimal256(kind) else pa.decimal128(38, kind.scale)
        return (lambda column: _decimals(name, _plain(column).cast(wide), given, wide)), wide
    number = pa.int64() if pa.types.is_integer(kind) else pa.float64()
    make = _whole_numbers if pa.types.is_integer(kind) else _floats
    return (lambda column: make(name, _plain(column), given)), number


def _require(name: str, kind: pa.DataType, wanted: Kind) -> None:
    """Raise unless a column holds values of the kind that its masking needs."""
    if kind_of(kind) is wanted:
        return
    what = next((words for test, words in OTHERS.items() if test(kind)), str(kind_of(kind)))
    raise InputError(
        f"column {name!r} holds {what}, which cannot be {WAYS[wanted]}",
        hint="make it a number in the table first, such as seconds or 0 and 1; or clear it (clear)"
        if what in OTHERS.values()
        else "if it is text of numbers or dates, declare how they are written (decimal, dates, types); free text "
        "is cleared (clear), categories have levels of a hierarchy (level)",
        column=name,
    )


def _check_whole(name: str, given: Transformation, kind: pa.DataType) -> None:
    """Raise if whole numbers would not stay whole."""
    for word in ("round", "top", "bottom") if pa.types.is_integer(kind) else ():
        value = getattr(given, word)
        if value is not None and not float(value).is_integer():
            raise InputError(
                f"column {name!r} holds whole numbers, so that `{word}` must be one; got {value:g}",
                hint="give a whole number, or read the column as numbers with decimals",
                column=name,
            )


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if isinstance(column.type, pa.DictionaryType) else column


def _clear_cells(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([pa.nulls(len(column), pa.string())])


def _presence(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Replace values by one mark, so that only their presence is published."""
    there = _plain(column).is_valid()
    return pa.chunked_array(pc.if_else(there, pa.scalar(PRESENT), pa.scalar(None, pa.string())).chunks, pa.string())


def _truncate_moments(column: pa.ChunkedArray, period: str) -> pa.ChunkedArray:
    """Return the first day of the period of each moment, in local time."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        column = pc.local_timestamp(column)
    days = pc.floor_temporal(column.cast(pa.timestamp("us"), safe=False), unit=period)
    return days.cast(pa.date32())


def _whole_numbers(name: str, column: pa.ChunkedArray, given: Transformation) -> pa.ChunkedArray:
    """Round and bound whole numbers exactly, in 64 bits."""
    absent = column.is_null().to_numpy()
    try:
        numbers = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
    except pa.ArrowInvalid:
        raise _too_large(name) from None
    if given.round is not None:
        if len(numbers) and (
            numbers.max() > MAX_ROUNDED_NUMBER
            or numbers.min() < -MAX_ROUNDED_NUMBER
            or given.round > MAX_ROUNDED_NUMBER
        ):
            raise _too_large(name)
        step = int(given.round)
        below, rest = np.divmod(numbers, step)
        up = (2 * rest > step) | ((2 * rest == step) & (below % 2 == 1))
        numbers = (below + up) * step
    bounds = [None if each is None else int(each) for each in (given.bottom, given.top)]
    return pa.chunked_array([pa.array(_bound_numbers(numbers, *bounds), pa.int64(), mask=absent)])


def _floats(_name: str, column: pa.ChunkedArray, given: Transformation) -> pa.ChunkedArray:
    """Round and bound floating-point numbers."""
    absent = column.is_null().to_numpy()
    numbers = pc.fill_null(column.cast(pa.float64(), safe=False), 0.0).to_numpy()
    if given.round is not None:
        # A step such as 0.1 is a fraction: what is divided at the end is the number nearest to the multiple.
        step = Fraction(str(given.round))
        above, below = float(step.numerator), float(step.denominator)
        numbers = np.rint(numbers * below / above) * above / below
    numbers = _bound_numbers(numbers, given.bottom, given.top) + 0.0  # -0.0 and 0.0 are one value
    return pa.chunked_array([pa.array(numbers, pa.float64(), mask=absent)])


def _bound_numbers(numbers: Codes, bottom: float | None, top: float | None) -> Codes:
    return numbers if bottom is None and top is None else np.clip(numbers, bottom, top)


def _decimals(name: str, column: pa.ChunkedArray, given: Transformation, kind: pa.DataType) -> pa.ChunkedArray:
    """Round a decimal column and limit it at top and bottom; raise where its type cannot hold the results."""
    try:
        if given.round is not None:
            column = pc.round_to_multiple(column, _decimal(given.round, kind), round_mode="half_to_even")
        if given.top is not None:
            column = pc.min_element_wise(column, _decimal(given.top, kind), skip_nulls=False)
        if given.bottom is not None:
            column = pc.max_element_wise(column, _decimal(given.bottom, kind), skip_nulls=False)
        return column.cast(kind)
    except pa.ArrowInvalid:
        raise InputError(
            f"column {name!r} has the type {kind}, which cannot hold the masked numbers",
            hint="give steps and bounds with no more decimals than the column has",
            column=name,
        ) from None


def _decimal(value: float, kind: pa.DataType) -> pa.Scalar:
    return pa.scalar(str(int(value) if float(value).is_integer() else value), pa.string()).cast(kind)


def _domain(name: str, values: pa.ChunkedArray) -> Domain:
    distinct = _plain(plain_column(name, values)).unique().drop_null()
    return Domain(name, distinct.take(pc.sort_indices(distinct)))


def _on_level(domain: Domain, level: int, hierarchy: Hierarchy) -> Change:
    """Return a function that replaces values by labels; it raises for a value that was not there before."""
    taxonomy, name = hierarchy.bind(domain), domain.column
    if level > taxonomy.height:
        raise InputError(
            f"the hierarchy of column {name!r} has levels 1 to {taxonomy.height}; there is no level {level}",
            hint=f"level {taxonomy.height} is its top",
            column=name,
        )
    labels = np.array(taxonomy.labels[level], dtype=object)[taxonomy.ancestors[:, level]]
    texts = pa.array(labels.tolist(), pa.string())

    def change(column: pa.ChunkedArray) -> pa.ChunkedArray:
        plain = _plain(column)
        there = plain.is_valid().to_numpy()
        positions = np.zeros(len(plain), dtype=np.int64)
        if there.any():
            positions[there] = domain.encode(plain.filter(pa.array(there)))
        return pa.chunked_array([texts.take(pa.array(positions, mask=~there))])

    return change


def _too_large(name: str) -> InputError:
    """Return the error of whole numbers too large for rounding."""
    return InputError(
        f"column {name!r} holds whole numbers beyond 4·10^18, which cannot be transformed",
        hint="such numbers are codes: read the column as text, and clear it or give it a hierarchy",
        column=name,
    )
