"""The slow, obvious reference: every model judged on the rows of a published table in plain Python.

It knows nothing of codes, histograms or kernels, counts in whole numbers and fractions, and follows the
definitions word for word, so that it can judge what an algorithm and an engine made together.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, TypeVar

from indistinct.models import (
    AlphaK,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    LDiverseLinks,
    Model,
    RecursiveLDiversity,
    TCloseness,
    XYAnonymity,
)
from indistinct.testing.further_reference import breaks_alone, breaks_population, breaks_together

Row = Mapping[str, Any]
Rows = Sequence[Row]
Path = Sequence[str]
Node = tuple[Any, ...]
R = TypeVar("R", bound=Row)

NOISE = Fraction(1, 10**9)


def violating_classes(
    rows: Rows,
    quasi: Sequence[str],
    *,
    model: Model,
    original: Rows | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    paths: Mapping[str, Mapping[Any, Path]] | None = None,
    population: Rows | None = None,
) -> list[tuple[Any, ...]]:
    """Return the quasi-identifier values of every class that breaks the model, in order of appearance.

    `original` is the table before anonymization, which t-closeness compares with; the rows themselves if left
    out. `orders` gives the order of a column's values where it is not the canonical one, `paths` a value's
    ancestors from level 1 to the top, column by column, for the hierarchical distance. `population` has everybody as
    the release would publish them, nothing of those whom it would suppress; combinations of which nobody is in the
    release follow those of the release, and who is suppressed comes last, as an empty one.

    >>> rows = [{"age": "20-29", "s": "flu"}, {"age": "20-29", "s": "HIV"}, {"age": "30-39", "s": "flu"}]
    >>> violating_classes(rows, ["age"], model=KAnonymity(k=2))
    [('30-39',)]
    """
    table, groups = rows if original is None else original, groups_of(rows, quasi)
    others = Counter(_vector(row, quasi) if row else () for row in population or ())
    wide = any(breaks_together(part, [len(members) for members in groups.values()]) for part in model.parts())
    absent: dict[tuple[Any, ...], list[Row]] = {key: [] for key in others if key not in groups}
    return [
        key
        for key, members in {**groups, **absent}.items()
        if (wide and members)
        or any(
            breaks_population(part, len(members), others[key])
            if part.needs_population
            else bool(members) and _breaks(part, members, original=table, orders=orders or {}, paths=paths or {})
            for part in model.parts()
        )
    ]


def groups_of(rows: Sequence[R], columns: Sequence[str]) -> dict[tuple[Any, ...], list[R]]:
    """Return the rows that share the values of some columns, by these values."""
    groups: dict[tuple[Any, ...], list[R]] = {}
    for row in rows:
        groups.setdefault(_vector(row, columns), []).append(row)
    return groups


def earth_movers_distance(
    members: Sequence[Any],
    table: Sequence[Any],
    *,
    distance: str,
    order: Sequence[Any],
    paths: Mapping[Any, Path],
) -> Fraction:
    """Return the exact earth mover's distance between two lists of values."""
    here, there = Counter(members), Counter(table)
    extra = {value: Fraction(here[value], len(members)) - Fraction(there[value], len(table)) for value in order}
    match distance:
        case "equal":
            return sum((abs(amount) for amount in extra.values()), Fraction(0)) / 2
        case "ordered":
            carried = (abs(total) for total in accumulate(extra[value] for value in order))
            return sum(carried, Fraction(0)) / max(len(order) - 1, 1)
        case "hierarchical":
            return _cost_of_tree(extra, paths)
        case _:
            raise ValueError(f"no such distance: {distance}")


def _breaks(
    model: Model,
    members: Rows,
    *,
    original: Rows,
    orders: Mapping[str, Sequence[Any]],
    paths: Mapping[str, Mapping[Any, Path]],
) -> bool:
    match model:
        case KAnonymity(k=k):
            return len(members) < k
        case AlphaK(sensitive=sensitive, alpha=alpha, k=k, protected=protected):
            counts = Counter(_column(members, sensitive))
            guarded = [n for value, n in counts.items() if not protected or str(value) in protected]
            return len(members) < k or any(Fraction(n, len(members)) > _written(alpha) for n in guarded)
        case XYAnonymity(y=y, k=k):
            return len({_vector(row, y) for row in members}) < k
        case LDiverseLinks(l=wanted, sensitive=names):
            most = [n for name in names for n in Counter(_column(members, name)).values()]
            return any(n * wanted > len(members) for n in most)
        case DistinctLDiversity(sensitive=sensitive, l=wanted):
            return len(set(_column(members, sensitive))) < wanted
        case EntropyLDiversity(sensitive=sensitive, l=least, estimator="shannon"):
            shares = [n / len(members) for n in Counter(_column(members, sensitive)).values()]
            return math.exp(-math.fsum(p * math.log(p) for p in shares)) < least * float(1 - NOISE)
        case RecursiveLDiversity(sensitive=sensitive, c=c, l=wanted):
            ranked = sorted(Counter(_column(members, sensitive)).values(), reverse=True)
            return len(ranked) < wanted or not ranked[0] < _written(c) * sum(ranked[wanted - 1 :])
        case TCloseness(sensitive=sensitive, t=t, distance=distance):
            table = _column(original, sensitive)
            far = earth_movers_distance(
                _column(members, sensitive),
                table,
                distance=distance,
                order=orders.get(sensitive) or _canonical([*table, *_column(members, sensitive)]),
                paths=paths.get(sensitive, {}),
            )
            return far > _written(t) + NOISE
        case _:
            return breaks_alone(model, members, original)


def _cost_of_tree(extra: Mapping[Any, Fraction], paths: Mapping[Any, Path]) -> Fraction:
    """Return the cost of evening out a tree: each inner node moves what its children can give each other."""
    height = len(next(iter(paths.values())))
    below: dict[Node, Fraction] = {}
    children: dict[Node, set[Node]] = {}
    for value, amount in extra.items():
        chain = [(value, *paths[value])[level:] for level in range(height + 1)]
        for node in chain:
            below[node] = below.get(node, Fraction(0)) + amount
        for child, parent in pairwise(chain):
            children.setdefault(parent, set()).add(child)
    cost = Fraction(0)
    for node, offspring in children.items():
        surplus = sum((below[child] for child in offspring if below[child] > 0), Fraction(0))
        deficit = sum((-below[child] for child in offspring if below[child] < 0), Fraction(0))
        cost += Fraction(height + 1 - len(node), height) * min(surplus, deficit)
    return cost


def _written(number: float | Fraction) -> Fraction:
    return number if isinstance(number, Fraction) else Fraction(str(number))


def _column(rows: Rows, column: str) -> list[Any]:
    return [_none_for_nan(row[column]) for row in rows]


def _vector(row: Row, columns: Sequence[str]) -> tuple[Any, ...]:
    return tuple(_none_for_nan(row[column]) for column in columns)


def _none_for_nan(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _canonical(values: Sequence[Any]) -> list[Any]:
    present = sorted(value for value in set(values) if value is not None)
    return [None, *present] if None in values else present
