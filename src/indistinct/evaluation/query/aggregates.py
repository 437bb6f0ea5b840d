"""Sums, means and extremes of what a query may have chosen, and the bounds between which the truth lies.

Of every unit between `low` and `high` rows were chosen, out of its entries. The least sum takes the smallest entries,
as many as it must and further ones below zero; the least mean is the number from which the least sum of differences is
zero (Dinkelbach 1967).
"""

from dataclasses import dataclass, replace

import numpy as np

from indistinct.machine.arrays import Codes, Floats, Mask, starts_of

MAX_ROUNDS = 100


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """The numbers that were perhaps chosen: entries of units, each between `least` and `largest`.

    `low` and `high` bound the rows of each unit. `weights` of `counts` rows are chosen by estimate, `mean` and
    `variance` are those of an entry. `suppressed` rows may be anything between `limits`. Of entries that are `attained`
    some chosen row has the `least` number and some chosen row the `largest`.
    """

    low: Codes
    high: Codes
    units: Codes
    counts: Codes
    weights: Codes
    least: Floats
    largest: Floats
    mean: Floats
    variance: Floats
    suppressed: int = 0
    limits: tuple[float, float] = (-np.inf, np.inf)
    attained: Mask | None = None

    def negate(self) -> "Numbers":
        """Return the numbers with reversed signs; the smallest becomes the largest."""
        limits = (-self.limits[1], -self.limits[0])
        return replace(self, least=-self.largest, largest=-self.least, mean=-self.mean, limits=limits)

    @property
    def certain(self) -> bool:
        """Whether it is known which rows were chosen and what their numbers are."""
        if self.suppressed or (self.low != self.high).any():
            return False
        here = self.high[self.units] > 0
        units, least, largest = self.units[here], self.least[here], self.largest[here]
        every = np.bincount(self.units, self.counts, minlength=len(self.high)) == self.high
        # Of a bucket some entries may have been chosen, it is unknown which: then all must be the same.
        first = np.full(len(self.high), np.inf)
        np.minimum.at(first, units, least)
        return bool(((least == largest) & (every[units] | (largest == first[units]))).all())

    @property
    def possible(self) -> bool:
        """Whether any row may have been chosen."""
        return bool(self.high[self.units].any()) or self.suppressed > 0

    @property
    def sure(self) -> bool:
        """Whether some row has been chosen for sure."""
        return bool((self.low > 0).any())


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate: its estimate, its bounds and the standard deviation of the estimate; None if no row matches."""

    value: float | None
    low: float | None
    high: float | None
    exact: bool
    error: float | None = 0.0


NOTHING = Aggregate(None, None, None, exact=True)


def sum_of(numbers: Numbers) -> Aggregate:
    """Return the sum of the chosen numbers; as in SQL, nothing if none was chosen."""
    if not numbers.possible:
        return NOTHING
    if numbers.certain:
        value = _least_sum(numbers)
        return Aggregate(value, value, value, exact=True)
    value = float(numbers.weights @ numbers.mean)
    low, high = _least_sum(numbers), -_least_sum(numbers.negate())
    return Aggregate(_clip(value, low, high), low, high, exact=False, error=_deviation(numbers, 0.0))


def mean_of(numbers: Numbers) -> Aggregate:
    """Return the mean of the chosen numbers."""
    if not numbers.possible:
        return NOTHING
    if numbers.certain:
        settled = _least_sum(numbers) / int(numbers.high.sum())
        return Aggregate(settled, settled, settled, exact=True)
    total = float(numbers.weights.sum())
    value = float(numbers.weights @ numbers.mean) / total if total > 0 else None
    low, high = _least_mean(numbers), -_least_mean(numbers.negate())
    if value is None or not np.isfinite(value):
        return Aggregate(_between(low, high), low, high, exact=False, error=None)
    return Aggregate(_clip(value, low, high), low, high, exact=False, error=_deviation(numbers, value) / total)


def least_of(numbers: Numbers) -> Aggregate:
    """Return the least of the chosen numbers."""
    if not numbers.possible:
        return NOTHING
    here = numbers.high[numbers.units] > 0
    low = float(numbers.least[here].min(initial=np.inf))
    high = min(_least_certain(numbers), _least_attained(numbers))
    if not np.isfinite(high) and not numbers.sure:
        high = float(numbers.largest[here].max(initial=-np.inf))
    if numbers.suppressed:
        low = min(low, numbers.limits[0])
        high = high if numbers.sure else max(high, numbers.limits[1])
    if low == high:
        return Aggregate(low, low, high, exact=numbers.sure, error=0.0 if numbers.sure else None)
    value, error = _guessed_least(numbers)
    return Aggregate(_clip(value, low, high), low, high, exact=False, error=error)


def largest_of(numbers: Numbers) -> Aggregate:
    """Return the largest of the chosen numbers."""
    aggregate = least_of(numbers.negate())
    if aggregate.low is None or aggregate.high is None:
        return aggregate
    value = None if aggregate.value is None else -aggregate.value
    return Aggregate(value, -aggregate.high, -aggregate.low, aggregate.exact, aggregate.error)


def _least_sum(numbers: Numbers) -> float:
    total, _ = _taken(numbers, 0.0, _in_order(numbers))
    if numbers.suppressed:
        total += min(numbers.limits[0] * numbers.suppressed, 0.0)
    return total


def _least_mean(numbers: Numbers) -> float:
    """Return the smallest possible mean, by repeated comparison with the current one."""
    order = _in_order(numbers)
    floor, here = numbers.limits[0], numbers.high[numbers.units] > 0
    mean = float(numbers.least[here].max(initial=floor if numbers.suppressed else -np.inf))
    for _ in range(MAX_ROUNDS):
        total, rows = _taken(numbers, mean, order)
        if numbers.suppressed and floor < mean:
            total, rows = total + floor * numbers.suppressed, rows + numbers.suppressed
        if rows == 0 or not np.isfinite(total):
            return mean if rows == 0 else total
        if total / rows >= mean:
            return mean
        mean = total / rows
    return mean


def _in_order(numbers: Numbers) -> tuple[Codes, Codes]:
    """Return the entries of each unit with the least first, and how many rows are before each in its unit."""
    order = np.lexsort((numbers.least, numbers.units))
    counts = numbers.counts[order]
    running = starts_of(counts)[:-1]
    units = numbers.units[order]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = units[1:] != units[:-1]
    first = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0)) if len(order) else order
    return order, running - running[first]


def _taken(numbers: Numbers, above: float, ordered: tuple[Codes, Codes]) -> tuple[float, int]:
    """Return the smallest possible sum of numbers above a threshold, and how many rows it has."""
    order, before = ordered
    units, counts, least = numbers.units[order], numbers.counts[order], numbers.least[order]
    below = np.bincount(units, counts * (least < above), minlength=len(numbers.low)).astype(np.int64)
    wanted = np.clip(below, numbers.low, numbers.high)
    taken = np.clip(wanted[units] - before, 0, counts)
    return float(np.where(taken > 0, least, 0.0) @ taken), int(taken.sum())


def _least_certain(numbers: Numbers) -> float:
    """Return an upper bound of the minimum over the rows that match for certain."""
    turned = numbers.negate()
    order, before = _in_order(turned)
    units, counts = numbers.units[order], numbers.counts[order]
    wanted = numbers.low[units]
    last = (wanted > before) & (wanted <= before + counts)
    return float(numbers.largest[order][last].min(initial=np.inf))


def _least_attained(numbers: Numbers) -> float:
    """Return the least number that some chosen row has for sure, by the ends of ranges that occur."""
    return float("inf") if numbers.attained is None else float(numbers.least[numbers.attained].min(initial=np.inf))


def _guessed_least(numbers: Numbers) -> tuple[float | None, float | None]:
    """Return the least number by estimate, and how far it is usually off: the least of n from a range of equal odds."""
    likely = numbers.weights >= min(0.5, float(numbers.weights.max(initial=0.0)))
    some = likely & (numbers.weights > 0) & np.isfinite(numbers.least) & np.isfinite(numbers.largest)
    if not some.any():
        return None, None
    least, width = numbers.least[some], (numbers.largest - numbers.least)[some]
    rows = np.maximum(numbers.weights[some], 1.0)
    guesses = least + width / (rows + 1)
    first = int(np.argmin(guesses))
    spread = width * np.sqrt(rows / ((rows + 1) ** 2 * (rows + 2)))
    return float(guesses[first]), float(spread[first])


def _deviation(numbers: Numbers, about: float) -> float:
    """Return the standard deviation of the estimated sum of numbers above a threshold."""
    share = np.divide(numbers.weights, numbers.counts, where=numbers.counts > 0, out=np.zeros(len(numbers.counts)))
    mean = np.where(np.isfinite(numbers.mean), numbers.mean, about) - about
    each = share * (numbers.variance + mean**2) - (share * mean) ** 2
    return float(np.sqrt(max(float(numbers.counts @ each), 0.0)))


def _clip(value: float | None, low: float, high: float) -> float | None:
    """Clip an estimate to its bounds; without one return their middle."""
    return _between(low, high) if value is None or not np.isfinite(value) else min(max(value, low), high)


def _between(low: float, high: float) -> float | None:
    """Return the middle of two bounds, None if one is infinite."""
    return (low + high) / 2 if np.isfinite(low) and np.isfinite(high) else None
