"""Sets of values of one column that a condition allows, with union, intersection and complement.

Numbers and dates are on a line, where a set is a list of cuts. Texts have an index among the known texts of a column,
in the order of its domain; all unknown texts share one more index. Missing is in a set or not.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError
from indistinct.machine.arrays import Codes, Floats, Mask
from indistinct.metrics.queries.value import Compare, Constant
from indistinct.tables.domain import Domain, Kind

# A cut is before a number, (5, 0), or after it, (5, 1). Cuts ascend; every second one ends an interval.
Cut = tuple[float, int]
FIRST: Cut = (-math.inf, 0)
LAST: Cut = (math.inf, 1)
NONE, SOME, EVERY = 0, 1, 2


@dataclass(frozen=True, slots=True)
class LineSet:
    """Numbers between cuts, and missing if `missing`."""

    cuts: tuple[Cut, ...]
    missing: bool = False

    def __or__(self, other: "LineSet") -> "LineSet":
        stretches = [*_stretches(self.cuts), *_stretches(other.cuts)]
        return LineSet(_join_stretches(stretches), self.missing or other.missing)

    def __invert__(self) -> "LineSet":
        cuts = self.cuts[1:] if self.cuts[:1] == (FIRST,) else (FIRST, *self.cuts)
        cuts = cuts[:-1] if cuts[-1:] == (LAST,) else (*cuts, LAST)
        return LineSet(cuts, not self.missing)

    def __and__(self, other: "LineSet") -> "LineSet":
        return ~(~self | ~other)

    @property
    def empty(self) -> bool:
        """Whether the set is empty."""
        return not self.cuts and not self.missing

    @property
    def everything(self) -> bool:
        """Whether every number is in the set."""
        return self.cuts == (FIRST, LAST)

    @property
    def stretches(self) -> list[tuple[Cut, Cut]]:
        """The pairs of cuts between which the set's numbers are, ascending."""
        return _stretches(self.cuts)

    def holds(self, positions: Codes | Floats) -> Mask:
        """Return for each number whether it is in the set."""
        before, after = (np.array([at for at, side in self.cuts if side == wanted]) for wanted in (0, 1))
        return (np.searchsorted(before, positions, "right") + np.searchsorted(after, positions, "left")) % 2 == 1

    def whole(self) -> list[tuple[float, float]]:
        """Return the first and last whole number of each interval, with adjacent intervals joined."""
        intervals: list[tuple[float, float]] = []
        for (start, past), (end, within) in self.stretches:
            low = start if math.isinf(start) else (math.floor(start) + 1 if past else math.ceil(start))
            high = end if math.isinf(end) else (math.floor(end) if within else math.ceil(end) - 1)
            if intervals and low <= intervals[-1][1] + 1:
                intervals[-1] = (intervals[-1][0], max(high, intervals[-1][1]))
            elif low <= high:
                intervals.append((low, high))
        return intervals


@dataclass(frozen=True, slots=True, eq=False)
class TextSet:
    """Texts by their index among the known ones: NONE or EVERY for each, then for unknown texts, then for missing.

    Unknown texts may also be SOME.
    """

    levels: Codes

    def __or__(self, other: "TextSet") -> "TextSet":
        return TextSet(np.maximum(self.levels, other.levels))

    def __and__(self, other: "TextSet") -> "TextSet":
        return TextSet(np.minimum(self.levels, other.levels))

    def __invert__(self) -> "TextSet":
        return TextSet(EVERY - self.levels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextSet) and np.array_equal(self.levels, other.levels)

    __hash__ = None  # type: ignore[assignment]

    @property
    def missing(self) -> bool:
        """Whether missing is in the set."""
        return bool(self.levels[-1])

    @property
    def empty(self) -> bool:
        """Whether the set is empty."""
        return not self.levels.any()

    @property
    def everything(self) -> bool:
        """Whether every text is in the set, including unknown ones."""
        return bool((self.levels[:-1] == EVERY).all())


ValueSet = LineSet | TextSet


@dataclass(frozen=True, slots=True, eq=False)
class ColumnValues:
    """How constants compared with a column are interpreted: its kind and, for text, the known values in order.

    `order` is its declared order, which may have further values; without it text is ordered by code points.
    """

    name: str
    kind: Kind
    texts: tuple[str, ...] = ()
    order: tuple[str, ...] = ()

    def missing(self, wanted: bool) -> ValueSet:
        """Return the set that contains only missing, or everything else."""
        if self.kind is not Kind.TEXT:
            values = LineSet((), missing=True)
            return values if wanted else ~values
        levels = np.full(len(self.texts) + 2, EVERY if not wanted else NONE, dtype=np.int8)
        levels[-1] = EVERY if wanted else NONE
        return TextSet(levels)

    def allowed(self, compare: Compare) -> ValueSet:
        """Return the values that a comparison allows; missing is never among them."""
        operator = compare.operator
        if operator.startswith("NOT ") or operator == "<>":
            positive = {"<>": "=", "NOT IN": "IN", "NOT BETWEEN": "BETWEEN"}[operator]
            same = Compare(compare.column, positive, compare.constants)  # type: ignore[arg-type]
            return ~self.allowed(same) & self.missing(False)  # type: ignore[operator]
        if self.kind is Kind.TEXT:
            return self._texts(operator, [_text(each) for each in compare.constants])
        positions = [position_of(each, self.kind, self.name) for each in compare.constants]
        return LineSet(_cuts(operator, positions))

    def _texts(self, operator: str, constants: list[str]) -> TextSet:
        """Return the texts that an operator with constants selects."""
        levels = np.zeros(len(self.texts) + 2, dtype=np.int8)
        if operator in ("=", "IN"):
            wanted = set(constants)
            levels[:-2] = [EVERY if text in wanted else NONE for text in self.texts]
            # A text that is not known may be among the unknown ones.
            levels[-2] = SOME if wanted - set(self.texts) else NONE
            return TextSet(levels)
        if self.order:
            known = {text: index for index, text in enumerate(self.order)}
            if any(text not in known for text in constants):
                raise InputError(
                    f"column {self.name!r} has a declared order that does not contain a constant of the query",
                    hint="compare it with values of that order",
                    values=[text for text in constants if text not in known],
                )
            positions = np.array([known[text] for text in self.texts], dtype=np.float64)
            inside = LineSet(_cuts(operator, [float(known[text]) for text in constants])).holds(positions)
            levels[:-2] = np.where(inside, EVERY, NONE)
        else:
            levels[:-2] = [EVERY if _between(text, operator, constants) else NONE for text in self.texts]
        levels[-2] = SOME
        return TextSet(levels)


def column_values(domain: Domain, order: Sequence[str] = ()) -> ColumnValues:
    """Return how constants compared with a column are interpreted; numbers with a declared order are text."""
    if domain.kind is not Kind.TEXT and not domain.declared:
        return ColumnValues(domain.column, domain.kind)
    texts = tuple(domain.values.cast(pa.string()).to_pylist())
    return ColumnValues(domain.column, Kind.TEXT, texts, tuple(order) or (texts if domain.declared else ()))


def position_of(constant: Constant, kind: Kind, name: str) -> float:
    """Return the position of a constant on the axis of a column of numbers or dates."""
    wrong = InputError(
        f"column {name!r} has {kind}s; the query compares it with something else",
        hint="write numbers without quotes, and dates as '2020-01-31'",
        values=[constant],
        column=name,
    )
    if kind is Kind.DATE:
        return _days(constant, wrong)
    if isinstance(constant, date):
        raise wrong
    try:
        value = float(constant)
    except ValueError:
        raise wrong from None
    if not math.isfinite(value):
        raise wrong
    return value


def _days(constant: Constant, wrong: InputError) -> float:
    """Convert a date to days since 1970; raise `wrong` for anything else."""
    moment = constant
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            raise wrong from None
    if isinstance(moment, datetime):
        return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)) / timedelta(days=1)
    if isinstance(moment, date):
        return float((moment - date(1970, 1, 1)).days)
    raise wrong


def _text(constant: Constant) -> str:
    if isinstance(constant, bool):
        return str(constant).lower()
    return constant.isoformat() if isinstance(constant, date) else str(constant)


def _cuts(operator: str, positions: list[float]) -> tuple[Cut, ...]:
    """Return the cuts of the line that an operator with constants makes."""
    first = positions[0]
    match operator:
        case "=" | "IN":
            return _join_stretches([((index, 0), (index, 1)) for index in positions])
        case "<":
            return (FIRST, (first, 0))
        case "<=":
            return (FIRST, (first, 1))
        case ">":
            return ((first, 1), LAST)
        case ">=":
            return ((first, 0), LAST)
        case _:
            return _join_stretches([((first, 0), (positions[1], 1))])


def _between(text: str, operator: str, constants: list[str]) -> bool:
    """Compare a text with constants by code points."""
    first = constants[0]
    match operator:
        case "<":
            return text < first
        case "<=":
            return text <= first
        case ">":
            return text > first
        case ">=":
            return text >= first
        case _:
            return first <= text <= constants[1]


def _stretches(cuts: tuple[Cut, ...]) -> list[tuple[Cut, Cut]]:
    """Return the pairs of cuts that begin and end each interval."""
    return list(zip(cuts[::2], cuts[1::2], strict=True))


def _join_stretches(stretches: Iterable[tuple[Cut, Cut]]) -> tuple[Cut, ...]:
    """Return the cuts around intervals that may overlap; an interval without length is dropped."""
    cuts: list[Cut] = []
    for start, end in sorted(pair for pair in stretches if pair[0] < pair[1]):
        if cuts and start <= cuts[-1]:
            cuts[-1] = max(cuts[-1], end)
        else:
            cuts += [start, end]
    return tuple(cuts)
