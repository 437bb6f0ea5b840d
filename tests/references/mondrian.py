"""The slow, obvious Mondrian: the algorithm's definition over rows in plain Python, to judge the recodings it finds.

It follows LeFevre, DeWitt and Ramakrishnan 2006 with the median on either side of a cut, knows no codes, cells or
kernels, and compares widths as fractions.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import log2
from typing import Any

Vector = tuple[Any, ...]
Part = list[int]


@dataclass(frozen=True, slots=True)
class Line:
    """An ordered quasi-identifier: its distinct values in order, and where each lies.

    >>> Line.of([25, 30, 25]).places
    {25: 25, 30: 30}
    """

    places: Mapping[Any, Fraction | int]

    @classmethod
    def of(cls, values: Iterable[Any]) -> "Line":
        """Lay whole numbers at themselves and texts at their rank; missing comes first and lies on the first."""
        distinct = set(values)
        known = sorted(value for value in distinct if value is not None)
        numeric = all(isinstance(value, int) for value in known)
        places = {value: value if numeric else rank for rank, value in enumerate(known)}
        first = {None: min(places.values(), default=0)} if None in distinct else {}
        return cls({**first, **places})

    def rank(self, value: Any) -> int:
        """Return the place of a value in the order."""
        return list(self.places).index(value)

    def width(self, values: Iterable[Any]) -> Fraction:
        """Return the normalized width of some values."""
        here = [self.places[value] for value in values]
        span = max(self.places.values()) - min(self.places.values())
        return Fraction(max(here) - min(here)) / span if span else Fraction(0)


@dataclass(frozen=True, slots=True)
class Tree:
    """A quasi-identifier under a hierarchy: each raw value with its ancestors, from level 1 to the top."""

    paths: Mapping[Any, Sequence[Any]]

    def node(self, value: Any, level: int) -> Vector:
        """Return a value's node on a level; labels may repeat, so a node is everything from there to the top."""
        return (value, *self.paths[value])[level:]

    def meeting_level(self, values: Iterable[Any]) -> int:
        """Return the lowest level on which some values have one node."""
        distinct = set(values)
        height = len(next(iter(self.paths.values())))
        return next(level for level in range(height + 1) if len({self.node(v, level) for v in distinct}) == 1)

    def width(self, values: Iterable[Any]) -> Fraction:
        """Return the share of the hierarchy's values below the node where some values meet."""
        distinct = set(values)
        level = self.meeting_level(distinct)
        top = self.node(next(iter(distinct)), level)
        leaves = sum(1 for value in self.paths if self.node(value, level) == top)
        return Fraction(leaves - 1, len(self.paths) - 1) if len(self.paths) > 1 else Fraction(0)


Axis = Line | Tree


def strict_partition(rows: Sequence[Vector], axes: Sequence[Axis], *, k: int) -> list[Part]:
    """Return the classes of strict partitioning, each as the numbers of its rows.

    >>> rows = [(0,), (1,), (2,), (3,), (3,), (3,), (3,)]
    >>> strict_partition(rows, [Line.of(range(4))], k=2)
    [[0, 1, 2], [3, 4, 5, 6]]
    """
    done, waiting = [], [list(range(len(rows)))]
    while waiting:
        part = waiting.pop(0)
        children = first_cut(rows, part, axes, k=k)
        if children is None:
            done.append(part)
        else:
            waiting.extend(children)
    return done


def first_cut(rows: Sequence[Vector], part: Part, axes: Sequence[Axis], *, k: int) -> list[Part] | None:
    """Return the children of a part along the widest quasi-identifier that has an allowable cut."""
    for place in by_width(rows, part, axes):
        values = {row: rows[row][place] for row in part}
        axis = axes[place]
        children = median_cut(values, axis, k=k) if isinstance(axis, Line) else tree_cut(values, axis, k=k)
        if children is not None:
            return children
    return None


def median_cut(values: Mapping[int, Any], line: Line, *, k: int) -> list[Part] | None:
    """Cut after the lower median or before it, whichever is allowable and more even; ties go after it."""
    present = sorted(set(values.values()), key=line.rank)
    ranked = sorted(values.values(), key=line.rank)
    median = present.index(ranked[(len(ranked) + 1) // 2 - 1])
    found = []
    for last in (median, median - 1):
        left = [row for row, value in values.items() if value in present[: last + 1]]
        right = [row for row, value in values.items() if value in present[last + 1 :]]
        if last >= 0 and len(left) >= k and len(right) >= k and left and right:
            found.append([left, right])
    return min(found, key=lambda sides: abs(len(sides[0]) - len(sides[1])), default=None)


def tree_cut(values: Mapping[int, Any], tree: Tree, *, k: int) -> list[Part] | None:
    """Cut into the children, that occur, of the node where the values meet."""
    level = tree.meeting_level(values.values())
    if level == 0:
        return None
    children: dict[Vector, Part] = {}
    for row, value in values.items():
        children.setdefault(tree.node(value, level - 1), []).append(row)
    return list(children.values()) if all(len(child) >= k for child in children.values()) else None


@dataclass(frozen=True, slots=True)
class Names:
    """An unordered quasi-identifier: its distinct values in canonical order, missing first."""

    values: Sequence[Any]

    @classmethod
    def of(cls, values: Iterable[Any]) -> "Names":
        """Return the values that occur, in order."""
        return cls(sorted(set(values), key=lambda value: (value is not None, value)))


# What a cell is charged, as a whole number of so many parts.
PARTS = 1 << 24
# What a mixture is, as a whole number of so many parts of a row.
MIXTURE = 1 << 20


def entropy(values: Sequence[Any]) -> float:
    """Return the rows of a part times the entropy of their values, in bits.

    >>> entropy(["a", "a", "b", "b"])
    4.0
    """
    return -sum(count * log2(count / len(values)) for count in Counter(values).values())


def squared_deviation(values: Sequence[int | None]) -> Fraction:
    """Return the sum of the squared distances of known values from their mean.

    >>> squared_deviation([1, 3, None])
    Fraction(2, 1)
    """
    known = [Fraction(value) for value in values if value is not None]
    mean = sum(known) / len(known) if known else Fraction(0)
    return sum(((value - mean) ** 2 for value in known), Fraction(0))


def loss_partition(
    rows: Sequence[Vector],
    axes: Sequence[Line | Tree | Names],
    *,
    smallest: int,
    positions: int,
    fits: Callable[[Part], bool],
    mixed: Callable[[Part], float] = lambda part: 0,
    last: Sequence[int] = (),
) -> list[Part]:
    """Return the classes of strict partitioning that takes the allowable cut after which its sides lose least.

    Where sides can be `mixed`, the cut after which they are least so goes first, to the millionth of a row of the part.
    Cuts of the `last` columns come after all others.

    >>> rows = [("a",), ("b",), ("b",), ("c",)]
    >>> loss_partition(rows, [Names.of("abc")], smallest=2, positions=1, fits=lambda part: True)
    [[1, 2], [0, 3]]
    """
    done, waiting = [], [list(range(len(rows)))]
    while waiting:
        part = waiting.pop(0)
        cuts = [
            (
                place in last,
                round(sum(map(mixed, sides)) / len(part) * MIXTURE),
                sum(len(side) * side_charge(rows, side, axes) for side in sides),
                place,
                turn,
                sides,
            )
            for place, axis in enumerate(axes)
            for turn, sides in enumerate(candidates(rows, part, axis, place, smallest=smallest, positions=positions))
        ]
        allowed = (sides for *_, sides in sorted(cuts, key=lambda cut: cut[:5]) if all(map(fits, sides)))
        sides = next(allowed, None)
        if sides is None:
            done.append(part)
        else:
            waiting.extend(sides)
    return done


def candidates(
    rows: Sequence[Vector], part: Part, axis: Line | Tree | Names, place: int, *, smallest: int, positions: int
) -> list[tuple[Part, Part]]:
    """Return the cuts of a part along a column nearest to even shares of its rows, the middle first, none twice."""
    groups = ordered_groups([rows[row][place] for row in part], axis)
    found: list[int] = []
    middle = (positions + 1) // 2
    shares = [middle + (turn + 1) // 2 * (1 if turn % 2 else -1) for turn in range(positions)]
    reach = [sum(rows[row][place] in set(chain(*groups[: end + 1])) for row in part) for end in range(len(groups) - 1)]
    possible = [end for end, up_to in enumerate(reach) if smallest <= up_to <= len(part) - smallest]
    for share in shares if positions % 2 else range(1, positions + 1):
        nearest = min(possible, key=lambda end: abs(reach[end] * (positions + 1) - share * len(part)), default=None)
        if nearest is not None and nearest not in found:
            found.append(nearest)
    lefts = [set(chain(*groups[: end + 1])) for end in found]
    return [
        ([row for row in part if rows[row][place] in left], [row for row in part if rows[row][place] not in left])
        for left in lefts
    ]


def ordered_groups(values: Sequence[Any], axis: Line | Tree | Names) -> list[list[Any]]:
    """Return the values that occur in the order in which they are cut; values of one group stay together."""
    counts = Counter(values)
    match axis:
        case Line():
            return [[value] for value in sorted(counts, key=axis.rank)]
        case Names():
            return [[value] for value in sorted(counts, key=lambda v: (-counts[v], axis.values.index(v)))]
    level = axis.meeting_level(counts)
    if level == 0:
        return [list(counts)]
    children: dict[Vector, list[Any]] = {}
    for value in sorted(counts, key=list(axis.paths).index):
        children.setdefault(axis.node(value, level - 1), []).append(value)
    return sorted(children.values(), key=lambda group: -sum(counts[value] for value in group))


def side_charge(rows: Sequence[Vector], side: Part, axes: Sequence[Line | Tree | Names]) -> int:
    """Return what the global certainty penalty charges a row of a side, over all columns."""
    return sum(_charge({rows[row][place] for row in side}, axis) for place, axis in enumerate(axes))


def _charge(values: set[Any], axis: Line | Tree | Names) -> int:
    match axis:
        case Line():
            known = [axis.places[value] for value in values if value is not None]
            lowest, highest = min(axis.places.values()), max(axis.places.values())
            if not known or lowest == highest:
                return 0
            ends = [round(Fraction(end - lowest) / (highest - lowest) * PARTS) for end in (max(known), min(known))]
            return ends[0] - ends[1]
        case Names():
            return 0 if len(values) == 1 else round(Fraction(len(values), len(axis.values)) * PARTS)
    level = axis.meeting_level(values)
    top = axis.node(next(iter(values)), level)
    leaves = sum(1 for value in axis.paths if axis.node(value, level) == top)
    return 0 if leaves == 1 else round(Fraction(leaves, len(axis.paths)) * PARTS)


def relaxed_partition(rows: Sequence[Vector], axes: Sequence[Axis], *, k: int) -> list[Part]:
    """Return the classes of relaxed partitioning along ordered quasi-identifiers: halves by rows, ties canonical."""
    canonical = sorted(range(len(rows)), key=lambda row: _ranks(rows[row], axes))
    done, waiting = [], [canonical]
    while waiting:
        part = waiting.pop(0)
        if len(part) < 2 * k:
            done.append(part)
            continue
        place = by_width(rows, part, axes)[0]
        arranged = sorted(part, key=lambda row: (_ranks(rows[row], axes)[place], _ranks(rows[row], axes)))
        half = (len(part) + 1) // 2
        waiting.extend([arranged[:half], arranged[half:]])
    return done


def by_width(rows: Sequence[Vector], part: Part, axes: Sequence[Axis]) -> list[int]:
    """Return the quasi-identifiers from the widest in a part to the narrowest, ties in their order."""
    return sorted(range(len(axes)), key=lambda place: -axes[place].width(rows[row][place] for row in part))


def allowable_cuts(rows: Sequence[Vector], part: Part, *, k: int) -> list[tuple[int, Any]]:
    """Return every cut of a part, at any value of any ordered quasi-identifier, with `k` rows on both sides."""
    found = []
    for place in range(len(rows[0])):
        values = [rows[row][place] for row in part]
        for last in sorted(set(values), key=lambda value: (value is not None, value))[:-1]:
            left = sum(1 for value in values if value is None or (last is not None and value <= last))
            if left >= k and len(part) - left >= k:
                found.append((place, last))
    return found


def size_bound(rows: Sequence[Vector], *, k: int) -> int:
    """Return the largest size a strict class can have: 2d(k - 1) + m, with m the largest multiplicity."""
    return 2 * len(rows[0]) * (k - 1) + max(Counter(rows).values())


def _ranks(vector: Vector, axes: Sequence[Axis]) -> list[int]:
    return [axis.rank(value) for axis, value in zip(axes, vector, strict=True) if isinstance(axis, Line)]
