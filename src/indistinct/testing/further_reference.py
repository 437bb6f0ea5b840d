"""The slow, obvious reference of models that compare with the whole table, a population or all classes together.

Plain Python, by the words of the definitions; `reference.py` has the rest.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from indistinct.models import (
    AverageRisk,
    BasicBetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KMap,
    Model,
    PopulationUniqueness,
    SampleUniqueness,
)

Rows = Sequence[Mapping[str, Any]]
# A relative difference that rounding makes; no real one is this small.
NOISE = 1e-9
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
        case AverageRisk() | SampleUniqueness() | PopulationUniqueness():
            return False
        case EntropyLDiversity(sensitive=sensitive, l=least, estimator="grassberger"):
            counts = list(Counter(_column(members, sensitive)).values())
            entropy = math.log(len(members)) - math.fsum(n * _grassberger(n) for n in counts) / len(members)
            return min(math.exp(entropy), len(counts)) < least * (1 - NOISE)
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
    shown = {i: Fraction(i * math.comb(population - i, rows - 1), math.comb(population, rows)) for i in number}
    whole = sum(classes * shown[i] for i, classes in number.items())
    return float(number[1] * shown[1] / whole * Fraction(number[1], rows))


def breaks_population(model: Model, members: int, population: int) -> bool:
    """Return whether a class of so many, of whom the population has so many, breaks a model."""
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


def _written(number: float | Fraction) -> Fraction:
    return number if isinstance(number, Fraction) else Fraction(str(number))


def _column(rows: Rows, column: str) -> list[Any]:
    return [None if row[column] != row[column] else row[column] for row in rows]
