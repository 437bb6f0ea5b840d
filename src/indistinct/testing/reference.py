"""A slow, simple reference: every model judged on the rows of a published table in plain Python.

It uses no codes, histograms or kernels, counts in whole numbers and fractions, and follows the definitions literally,
so that it can judge the combined result of an algorithm and an engine.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, combinations, pairwise
from typing import Any, TypeVar

from indistinct.models import (
    AlphaK,
    AverageRisk,
    BasicBetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    LDiverseLinks,
    Model,
    PopulationUniqueness,
    RecursiveLDiversity,
    SampleUniqueness,
    SubsetAnonymity,
    TCloseness,
    XYAnonymity,
)
from indistinct.models.registry import subset_models

Row = Mapping[str, Any]
Rows = Sequence[Row]
Path = Sequence[str]
Node = tuple[Any, ...]
R = TypeVar("R", bound=Row)

# A relative difference that rounding makes; no real one is this small.
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
    ancestors from level 1 to the top, column by column, for the hierarchical distance. `population` has all people as
    the release would publish them, and nothing for suppressed ones. Combinations of people who are not in the release
    come after those of the release, and suppressed people last, as an empty one.

    >>> rows = [{"age": "20-29", "s": "flu"}, {"age": "20-29", "s": "HIV"}, {"age": "30-39", "s": "flu"}]
    >>> violating_classes(rows, ["age"], model=KAnonymity(k=2))
    [('30-39',)]
    """
    table, groups = rows if original is None else original, groups_of(rows, quasi)
    others = Counter(_vector(row, quasi) if row else () for row in population or ())
    wide = any(breaks_together(part, [len(members) for members in groups.values()]) for part in model.parts())
    sets = subset_models(model.parts())
    small = [one for part in sets for one in small_groups(part, rows, quasi)]
    absent: dict[tuple[Any, ...], list[Row]] = {key: [] for key in others if key not in groups}
    return [
        key
        for key, members in {**groups, **absent}.items()
        if (wide and members)
        or any(members and _vector(members[0], columns) in values for columns, values in small)
        or any(
            breaks_population(part, len(members), others[key])
            if part.needs_population
            else bool(members) and _breaks(part, members, original=table, orders=orders or {}, paths=paths or {})
            for part in model.parts()
        )
    ]


def small_groups(
    model: SubsetAnonymity, rows: Rows, quasi: Sequence[str]
) -> list[tuple[Sequence[str], set[tuple[Any, ...]]]]:
    """Return, for each set of columns that a model groups rows by, the values that fewer than k rows share.

    >>> rows = [{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 2}]
    >>> small_groups(SubsetAnonymity(k=2, size=1), rows, ["a", "b"])
    [(('a',), {(2,)}), (('b',), {(1,)})]
    """
    sets = model.sets or tuple(combinations(quasi, model.size or 0))
    counted = [(columns, groups_of(rows, columns)) for columns in sets]
    return [
        (columns, {values for values, members in groups.items() if len(members) < model.k})
        for columns, groups in counted
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
    """Return whether a class breaks a model, counted row by row."""
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
    """Return the cost of balancing a tree: each inner node moves rows between its children."""
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


EULER = 0.5772156649015329


def breaks_alone(model: Model, members: Rows, original: Rows) -> bool:
    """Return whether rows that form a class break a model, given the rows of the original table."""
    match model:
        case KMap(k=k, significance=significance, population_size=size, estimator=estimator, sample_size=sample):
            if significance is None or size is None:
                return False
            drawn = len(original) if sample is None else sample
            return len(members) < smallest_class(k, significance, drawn / size, truncated=estimator != "poisson")
        case EnhancedBetaLikeness(sensitive=sensitive, beta=beta):
            return any(
                float(q / p - 1) > min(float(_written(beta)), -math.log(p)) + 1e-6
                for q, p in _shares(members, original, sensitive)
            )
        case BasicBetaLikeness(sensitive=sensitive, beta=beta):
            return any(
                q / p - 1 > _written(beta) + Fraction(1, 10**6) for q, p in _shares(members, original, sensitive)
            )
        case DeltaDisclosure(sensitive=sensitive, delta=delta):
            return any(abs(math.log2(q / p)) >= delta - 1e-12 for q, p in _shares(members, original, sensitive))
        case AverageRisk() | SampleUniqueness() | PopulationUniqueness() | SubsetAnonymity():
            return False
        case EntropyLDiversity(sensitive=sensitive, l=least, estimator="grassberger"):
            counts = list(Counter(_column(members, sensitive)).values())
            entropy = math.log(len(members)) - math.fsum(n * _grassberger(n) for n in counts) / len(members)
            return min(math.exp(entropy), len(counts)) < least * float(1 - NOISE)
        case _:
            raise TypeError(f"the reference does not know {type(model).__name__}: judge it with `judge`")


def breaks_together(model: Model, sizes: Sequence[int]) -> bool:
    """Return whether classes of some sizes break a model of a whole release."""
    rows, alone = sum(sizes), sum(size == 1 for size in sizes)
    match model:
        case AverageRisk(threshold=threshold):
            return Fraction(len(sizes), rows) > _written(threshold)
        case SampleUniqueness(share=share):
            return Fraction(alone, rows) > _written(share)
        case PopulationUniqueness(share=share, population_size=size, estimator="zayatz"):
            return alone > 0 and zayatz(sizes, size) > float(_written(share))
        case PopulationUniqueness():
            raise TypeError("the reference knows no estimator but that of Zayatz")
    return False


def zayatz(sizes: Sequence[int], population: int) -> float:
    """Return the estimated share of population uniques, where population classes are distributed as those of a sample.

    A class of i people shows exactly one of them in a sample of n from N with the hypergeometric probability
    C(i, 1)·C(N - i, n - 1)/C(N, n).

    >>> round(zayatz([1, 1, 2], 8), 4)
    0.3182
    """
    rows, number = sum(sizes), Counter(sizes)
    chances = {i: Fraction(i * math.comb(population - i, rows - 1), math.comb(population, rows)) for i in number}
    whole = sum(classes * chances[i] for i, classes in number.items())
    return float(number[1] * chances[1] / whole * Fraction(number[1], rows))


def breaks_population(model: Model, members: int, population: int) -> bool:
    """Return whether a class with `members` members, and `population` people of the population, violates a model."""
    match model:
        case KMap(k=k):
            return members > 0 and population < k
        case DeltaPresence(low=low, high=high, absent=absent):
            judged = population > 0 if absent else members > 0
            return judged and not _written(low) <= Fraction(members, population) <= _written(high)
    raise TypeError(f"the reference does not know {type(model).__name__}: judge it with `judge`")


def smallest_class(k: int, significance: float, fraction: float, *, truncated: bool) -> int:
    """Return the rows that a class of a sample needs so that it has k people in the population, most likely.

    One more than the smallest count that a Poisson distributed number with mean k·fraction does not exceed with
    probability 1 - significance, given that it is not 0 where `truncated`; but no more than k.

    >>> smallest_class(5, 0.05, 0.1, truncated=False), smallest_class(5, 0.05, 0.1, truncated=True)
    (3, 3)
    """
    mean, count = k * fraction, 0
    chances = [math.exp(-mean)]
    while True:
        below = math.fsum(chances) - (chances[0] if truncated else 0.0)
        if below >= (1 - significance) * (1 - (chances[0] if truncated else 0.0)):
            return min(k, count + 1)
        count += 1
        chances.append(chances[-1] * mean / count)


def _grassberger(count: int) -> float:
    """Return Grassberger's substitute for the logarithm of a count, by its recursion."""
    if count == 1:
        return -EULER - math.log(2)
    even = count - count % 2
    return 2 - EULER - math.log(2) + math.fsum(2 / (2 * n + 1) for n in range(1, even // 2))


def _shares(members: Rows, original: Rows, sensitive: str) -> list[tuple[Fraction, Fraction]]:
    """Return the share of the class and of the table of every value that occurs in the class."""
    here, there = Counter(_column(members, sensitive)), Counter(_column(original, sensitive))
    return [(Fraction(n, len(members)), Fraction(there[value], len(original))) for value, n in here.items()]
