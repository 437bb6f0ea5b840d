"""Hierarchies of numbers: intervals by widths or by cut points.

Every interval contains its lower end and not its upper one. The label of an integer column has the smallest and the
largest integer inside (`20-24`; `[-5, -1]` where a minus sign would be misread), that of a fractional column is `[20,
25)`. The leaves are the values of the data.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import HierarchyError
from indistinct.hierarchy.taxonomy import Taxonomy, level, level_of_keys, taxonomy_from_levels
from indistinct.hierarchy.value import Hierarchy, require
from indistinct.machine.arrays import Codes, Floats
from indistinct.parameters import Parameter, SeveralNumbers, WrittenNumber
from indistinct.tables.domain import Domain, Kind

# Beyond these limits, integers exceed 64 bits and quotients of floats no longer distinguish adjacent intervals.
_INTEGER_LIMIT = 2**62
_QUOTIENT_LIMIT = 2.0**40


@dataclass(frozen=True, slots=True)
class Intervals(Hierarchy):
    """Intervals `[origin + i·w, origin + (i + 1)·w)` for each width `w`, finest first, then the top.

    Each width divides the next, so that the levels nest; this is checked with the decimal digits as written.
    """

    key: ClassVar[str] = "intervals"
    categorical: ClassVar[bool] = False
    self_explaining: ClassVar[bool] = True
    widths: Annotated[
        Sequence[float],
        Parameter(
            "Widths, finest first",
            "One level each; every width is a multiple of the one before, for instance 5, 10, 20.",
            SeveralNumbers(positive=True),
        ),
    ]
    origin: Annotated[
        float,
        Parameter(
            "Where an interval begins",
            "With 0, intervals of 5 are 20-24, 25-29; with 1 they are 21-25, 26-30.",
            WrittenNumber(),
        ),
    ] = 0

    def __post_init__(self) -> None:
        Hierarchy.__post_init__(self)
        widths, (_, steps, _) = self.widths, self._grid()
        for index in range(1, len(steps)):
            if steps[index] <= steps[index - 1] or steps[index] % steps[index - 1]:
                raise HierarchyError(
                    f"levels do not nest: width {widths[index]} is not a multiple of the width before, "
                    f"{widths[index - 1]}",
                    hint="each width must divide the next and larger one, for instance [5, 10, 20]",
                )

    def bind(self, domain: Domain) -> Taxonomy:
        """Bind the intervals to a column of numbers."""
        line, whole = _line(domain)
        scale, steps, origin = self._grid()
        positions = _whole_places if whole else _float_places
        finest = positions(line, scale=scale, step=steps[0], origin=origin)
        if finest is None:
            raise HierarchyError(
                f"column {domain.column!r} holds numbers too large for intervals of width {self.widths[0]}",
                hint="use wider intervals",
                column=domain.column,
            )
        digits = _Digits(scale, whole=whole)
        levels = []
        for step in steps:
            keys = _divide_down(finest, step // steps[0])
            levels.append(level_of_keys(keys, partial(digits.places, origin=origin, step=step)))
        return taxonomy_from_levels(domain, levels)

    def _grid(self) -> tuple[int, list[int], int]:
        """Return widths and origin as integers, multiplied by a common power of ten."""
        scale = _scale((*self.widths, self.origin))
        return scale, [_scale_number(width, scale) for width in self.widths], _scale_number(self.origin, scale)


@dataclass(frozen=True, slots=True)
class CutPoints(Hierarchy):
    """Intervals between cut points: one ascending list per level, finest first, each a subset of the one before.

    The first and the last interval are open: `<18`, `18-39`, `>=40`.
    """

    key: ClassVar[str] = "cuts"
    categorical: ClassVar[bool] = False
    self_explaining: ClassVar[bool] = True
    cuts: Annotated[
        Sequence[Sequence[float]],
        Parameter(
            "Cut points, finest first",
            "One list for each level, in a form one line for each. An interval begins with its cut point; a coarser "
            "level "
            "repeats some cuts of the finer one.",
            SeveralNumbers(nested=True),
        ),
    ]

    def __post_init__(self) -> None:
        Hierarchy.__post_init__(self)
        lists = self.cuts
        for index, cuts in enumerate(lists, start=1):
            if any(low >= high for low, high in pairwise(cuts)):
                raise HierarchyError(f"the cuts of level {index} must ascend", hint=_CUTS_HINT)
        for index, (finer, coarser) in enumerate(pairwise(lists), start=2):
            strange = [cut for cut in coarser if cut not in finer]
            if strange:
                raise HierarchyError(
                    f"levels do not nest: cuts of level {index} are not on the level before ({len(strange)})",
                    hint=f"leave out of the finer list what the coarser one does not need; {_CUTS_HINT}",
                    values=strange,
                )

    def bind(self, domain: Domain) -> Taxonomy:
        """Bind the intervals to a column of numbers."""
        line, whole = _line(domain)
        finest = self.cuts[0]
        edges = _edges(finest, line, whole=whole)
        bins = np.searchsorted(edges, line, side="right")
        levels = []
        for cuts in self.cuts:
            coarse = np.cumsum([0, *(cut in cuts for cut in finest)])
            digits = _Digits(_scale(cuts), whole=whole)
            levels.append(level(coarse[bins], partial(digits.spell_between, cuts=cuts)))
        return taxonomy_from_levels(domain, levels)


_CUTS_HINT = "for instance cuts=[[18, 40, 65], [40]]"


@dataclass(frozen=True, slots=True)
class _Digits:
    """How ends of intervals are written; they are given as integers, multiplied by the scale."""

    scale: int
    whole: bool

    def places(self, positions: Codes, *, origin: int, step: int) -> Sequence[str]:
        """Return the labels of intervals, given their indices on a grid."""
        ends = [(origin + index * step, origin + (index + 1) * step) for index in (_reach(positions))]
        small = positions.dtype != object and all(abs(end) < _INTEGER_LIMIT for pair in ends for end in pair)
        if not small or not (self.whole or self.scale == 1):
            return [self.between(origin + index * step, origin + (index + 1) * step) for index in positions.tolist()]
        low = origin + positions * step
        if not self.whole:
            return _join_texts("[", low, ", ", low + step, ")")
        first, last = -(-low // self.scale), -(-(low + step) // self.scale) - 1
        labels = np.array(_join_texts("", first, "-", last, ""), dtype=object)
        below, single = first < 0, first == last
        labels[below] = _join_texts("[", first[below], ", ", last[below], "]")
        labels[single] = _join_texts("", first[single], "")
        spelled: list[str] = labels.tolist()
        return spelled

    def between(self, low: int, high: int) -> str:
        """Write the interval of two ends; whole numbers include the upper one."""
        if not self.whole:
            return f"[{self.spell(low)}, {self.spell(high)})"
        first, last = -(-low // self.scale), -(-high // self.scale) - 1
        if first == last:
            return str(first)
        return f"[{first}, {last}]" if first < 0 else f"{first}-{last}"

    def spell_between(self, index: int, *, cuts: Sequence[float]) -> str:
        """Write the interval between two cuts, or beyond the first or last one."""
        ends = [_scale_number(cut, self.scale) for cut in cuts]
        if index == 0:
            return f"<{self.spell(ends[0])}"
        if index == len(ends):
            return f">={self.spell(ends[-1])}"
        return self.between(ends[index - 1], ends[index])

    def spell(self, end: int) -> str:
        whole, part = divmod(abs(end), self.scale)
        sign = "-" if end < 0 else ""
        positions = len(str(self.scale)) - 1
        return f"{sign}{whole}.{part:0{positions}d}".rstrip("0") if part else f"{sign}{whole}"


def _reach(positions: Codes) -> list[int]:
    """Return the lowest and the highest index, if there are any."""
    return [int(positions.min()), int(positions.max())] if len(positions) else []


def _join_texts(*parts: str | Codes) -> list[str]:
    """Return texts with numbers between them, one text for each of the numbers."""
    texts = [part if isinstance(part, str) else pa.array(part).cast(pa.string()) for part in parts]
    joined: list[str] = pc.binary_join_element_wise(*texts, "").to_pylist()
    return joined


def _line(domain: Domain) -> tuple[Codes, bool]:
    """Return the numbers of a domain, and whether they are integers; integers beyond 64 bits stay exact."""
    require(domain, Kind.NUMBER, builder="intervals")
    values = domain.values
    if not len(values):
        return np.zeros(0, dtype=np.int64), True
    if pa.types.is_integer(values.type):
        line = values.to_numpy(zero_copy_only=False)
        small = abs(int(line.min())) < _INTEGER_LIMIT and abs(int(line.max())) < _INTEGER_LIMIT
        return line.astype(np.int64 if small else object), True
    if not pa.types.is_floating(values.type):
        # Through text, because direct conversion of decimals to floats may be off by a bit at an end.
        values = values.cast(pa.string()).cast(pa.float64())
    line = values.to_numpy(zero_copy_only=False)
    strange = ~np.isfinite(line)
    if strange.any():
        raise HierarchyError(
            f"column {domain.column!r} holds values that are not finite numbers ({strange.sum()})",
            hint="replace NaN and infinities by missing values or by numbers",
            column=domain.column,
        )
    return line, False


def _whole_places(line: Codes, *, scale: int, step: int, origin: int) -> Codes | None:
    """Return the interval of every integer, exactly."""
    reach = int(np.abs(line).max()) * scale + abs(origin) if len(line) else 0
    exact = line if reach < _INTEGER_LIMIT else line.astype(object)
    return _divide_down(exact * scale - origin, step)


def _float_places(line: Codes, *, scale: int, step: int, origin: int) -> Codes | None:
    """Return the interval of every float, or None where floats cannot distinguish the intervals.

    A quotient of floats may be on the wrong side of an end (0.3 / 0.1 < 3), so it is corrected by comparing with the
    ends themselves, rounded as the column rounds.
    """
    width = _quotient(step, scale)
    start = _quotient(origin, scale)
    wide = line.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        guess = np.floor((wide - start) / width)
    if abs(start / width) > _QUOTIENT_LIMIT or (len(guess) and not np.abs(guess).max() <= _QUOTIENT_LIMIT):
        return None
    numbers, inverse = np.unique(guess.astype(np.int64), return_inverse=True)
    ends = [[_quotient(origin + (i + side) * step, scale) for i in numbers.tolist()] for side in (0, 1)]
    low, high = (_round_ends(end, line.dtype)[inverse] for end in ends)
    return numbers[inverse] - (wide < low) + (wide >= high)


def _divide_down(positions: Codes, divisor: int) -> Codes:
    """Return quotients rounded down; 64-bit indices are below the limit, so no divisor need exceed it."""
    return positions // (divisor if positions.dtype == object else min(divisor, _INTEGER_LIMIT))


def _edges(cuts: Sequence[float], line: Codes, *, whole: bool) -> Floats:
    """Return cut points as numbers of the column: an integer is at least 17.5 if it is at least 18."""
    if not whole:
        return _round_ends(cuts, line.dtype)
    ends = [math.ceil(cut) for cut in cuts]
    small = line.dtype != object and all(abs(end) < _INTEGER_LIMIT for end in ends)
    return np.array(ends, dtype=np.int64 if small else object)


def _round_ends(ends: Sequence[float], kind: np.dtype[Any]) -> Floats:
    with np.errstate(over="ignore"):
        return np.array(ends, dtype=np.float64).astype(kind).astype(np.float64)


def _quotient(numerator: int, scale: int) -> float:
    try:
        return numerator / scale
    except OverflowError:
        return math.copysign(math.inf, numerator)


def _scale(numbers: Sequence[float]) -> int:
    """Return the power of ten that makes every number an integer, by its digits as written."""
    exponents = [int(Decimal(repr(number)).as_tuple().exponent) for number in numbers if isinstance(number, float)]
    return int(10 ** max([0, *(-exponent for exponent in exponents)]))


def _scale_number(number: float, scale: int) -> int:
    return number * scale if isinstance(number, int) else int(Decimal(repr(number)) * scale)
