"""Estimators of the number of people who are unique in a population, from the class sizes of a sample.

A class of the sample with one row may belong to a population class of one person or of many. Each estimator assumes a
distribution of population classes; none of them sees the population.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from indistinct.errors import ParameterError
from indistinct.machine.arrays import Codes, Counts

# Dankar et al. 2012: up to this sampling fraction Pitman's model is the most accurate.
SMALL_FRACTION = 0.1
# Search intervals: logarithms of θ + α and of r, the logit of p. An optimum at an end of one is rejected.
_SCALES, _SHAPES, _LOGITS = (-15.0, 45.0), (-9.0, 9.0), (-30.0, 30.0)
_LARGEST_ALPHA = 1.0 - 1e-4
_NEAR, _GRID, _STIRLING = 1e-5, 24, 1e4
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True)
class UniquenessEstimates:
    """The estimated share of a population that is unique in it, by estimator; None where one has no solution.

    `dankar` is the estimate that the rule of Dankar et al. chooses, and `used` the name of its estimator.
    """

    zayatz: float
    pitman: float | None
    snb: float | None
    used: str
    population_size: int
    sampling_fraction: float

    @property
    def dankar(self) -> float:
        """Return the estimate that Dankar's rule chooses."""
        chosen = self.by_name[self.used]
        return self.zayatz if chosen is None else chosen

    @property
    def by_name(self) -> Mapping[str, float | None]:
        """Return the estimates of single models."""
        return {"zayatz": self.zayatz, "pitman": self.pitman, "snb": self.snb}

    @property
    def converged(self) -> Mapping[str, bool]:
        """Return which estimators have a solution."""
        return {name: value is not None for name, value in self.by_name.items()}


def estimate_uniques(sizes: Counts, population_size: int) -> UniquenessEstimates:
    """Return the estimated share of population uniques, from the class sizes of a sample of a population.

    Population uniques are sample uniques, so without sample uniques every estimate is 0.

    >>> found = estimate_uniques(np.array([1, 1, 1, 2, 2, 3, 4, 6]), 200)
    >>> found.used, round(found.dankar, 3)
    ('pitman', 0.022)
    """
    counts = SizeCounts.of(np.asarray(sizes), population_size)
    if not counts.uniques:
        return UniquenessEstimates(0.0, 0.0, 0.0, "zayatz", counts.population, counts.fraction)
    zayatz, pitman, snb = zayatz_share(counts), pitman_share(counts), snb_share(counts)
    if counts.fraction <= SMALL_FRACTION:
        used = "zayatz" if pitman is None else "pitman"
    else:
        used = "zayatz" if snb is None or zayatz <= snb else "snb"
    return UniquenessEstimates(zayatz, pitman, snb, used, counts.population, counts.fraction)


def estimate_by(sizes: Counts, population_size: int, *, estimator: str) -> float | None:
    """Return the estimate of one estimator ("dankar": the one that the rule chooses); None if it has no solution.

    The numbers are those of `estimate_uniques`, without computing the other estimates: a search needs many.
    """
    counts = SizeCounts.of(np.asarray(sizes), population_size)
    if not counts.uniques:
        return 0.0
    if estimator == "zayatz":
        return zayatz_share(counts)
    if estimator == "pitman" or (estimator == "dankar" and counts.fraction <= SMALL_FRACTION):
        share = pitman_share(counts)
    else:
        share = snb_share(counts)
    if estimator != "dankar":
        return share
    zayatz = zayatz_share(counts)
    if counts.fraction <= SMALL_FRACTION:
        return zayatz if share is None else share
    return zayatz if share is None else min(zayatz, share)


@dataclass(frozen=True, slots=True, eq=False)
class SizeCounts:
    """How many classes of a sample have each size, ascending, and the size of its population."""

    sizes: Codes
    classes: Codes
    population: int
    rows: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", int((self.sizes * self.classes).sum()))

    @classmethod
    def of(cls, sizes: Codes, population: int) -> "SizeCounts":
        """Count the sizes of classes; raise `ParameterError` for a population smaller than the sample."""
        number = np.bincount(sizes[sizes > 0].astype(np.int64))
        occurring = np.flatnonzero(number)
        counts = cls(occurring, number[occurring], int(population))
        if not counts.rows:
            raise ParameterError(
                "uniqueness cannot be estimated: there are no rows", hint="check that classes are left"
            )
        if counts.population < counts.rows:
            raise ParameterError(
                f"the population has {counts.population:,} people, and the sample {counts.rows:,} rows",
                hint="`population_size` must count all people from whom the sample was drawn",
            )
        return counts

    @property
    def fraction(self) -> float:
        """The sampling fraction."""
        return self.rows / self.population

    @property
    def number(self) -> int:
        """The number of classes."""
        return int(self.classes.sum())

    @property
    def uniques(self) -> int:
        """The number of classes of one row."""
        return int(self.classes[0]) if len(self.sizes) and self.sizes[0] == 1 else 0


def zayatz_share(counts: SizeCounts) -> float:
    """Return the share by Zayatz 1991: population classes have sizes distributed as in the sample.

    Bayes' rule then says which part of the sample uniques are unique in the population as well.
    """
    population, rows = counts.population, counts.rows
    # P(one row is drawn from a class of i) is i·π times the probability that none of the i - 1 others is drawn.
    steps = np.arange(max(int(counts.sizes[-1]) - 1, 0), dtype=np.float64)
    with np.errstate(divide="ignore"):
        missed = np.log(np.maximum(population - rows - steps, 0.0) / (population - 1 - steps).clip(1.0))
    none_else = np.exp(np.concatenate([[0.0], np.cumsum(missed)])[counts.sizes - 1])
    drawn = counts.classes * counts.sizes * none_else
    conditional = drawn[0] / drawn.sum()
    return float(conditional * counts.uniques / rows)


def pitman_share(counts: SizeCounts) -> float | None:
    """Return the share under Pitman's sampling formula (Hoshino 2001), with two parameters by maximum likelihood.

    α is in [0, 1). None where the likelihood has no maximum, as in a sample whose rows are all unique.
    """
    if counts.number in (1, counts.rows):
        return None
    sizes = counts.sizes.tolist()

    def inside(alpha: float) -> float:
        each = [math.lgamma(size - alpha) - math.lgamma(1 - alpha) for size in sizes]
        return float(np.dot(counts.classes, each))

    def best(alpha: float) -> tuple[float, float]:
        return _peak(lambda scale: _log_likelihood_of_theta(counts, alpha, scale), *_SCALES)

    alpha, _ = _peak(lambda each: inside(each) + best(each)[1], 0.0, _LARGEST_ALPHA)
    scale, _ = best(alpha)
    if alpha > _LARGEST_ALPHA - _NEAR or not _inner(scale, _SCALES):
        return None
    # The probability that one person stays alone while all others are added, one after another.
    first, others = math.exp(scale), counts.population - 1
    return math.exp(min(_gamma_ratio(first, others) - _gamma_ratio(first - alpha + 1, others), 0.0))


def _log_likelihood_of_theta(counts: SizeCounts, alpha: float, scale: float) -> float:
    """Return the part of the log-likelihood that depends on θ, where θ + α is the exponential of `scale`."""
    first, more = math.exp(scale), counts.number - 1
    opened = more * scale if alpha < _NEAR else more * math.log(alpha) + _gamma_ratio(first / alpha, more)
    return opened - _gamma_ratio(first - alpha + 1, counts.rows - 1)


def snb_share(counts: SizeCounts) -> float | None:
    """Return the share under the sliding negative binomial (Chen and Keller-McNulty 1998), by maximum likelihood.

    A population class has one person and a negative binomial number of others. Its rows in a sample are then at most
    one for the first and again a negative binomial number for the others; classes without rows are not observed. None
    where the likelihood has no maximum.
    """
    if counts.fraction >= 1:
        return counts.uniques / counts.rows

    def best(shape: float) -> tuple[float, float]:
        likelihood = _sliding(counts, math.exp(shape))
        return _peak(likelihood, *_LOGITS)

    shape, _ = _peak(lambda each: best(each)[1], *_SHAPES)
    logit, _ = best(shape)
    if shape < _SHAPES[0] + _NEAR or not _inner(logit, _LOGITS):
        return None
    # In a sample the odds of the others' distribution are those of the population divided by the sampling fraction.
    odds, r = math.exp(logit) * counts.fraction, math.exp(shape)
    alone = -r * math.log1p(1 / odds)
    return math.exp(alone) / (1 + r / odds)


def _sliding(counts: SizeCounts, r: float) -> Callable[[float], float]:
    """Return the log-likelihood of observed class sizes by the logit of the parameter p of their distribution."""
    sizes, fraction = counts.sizes.astype(np.float64), counts.fraction
    others = np.array(
        [math.lgamma(size - 1 + r) - math.lgamma(r) - math.lgamma(size) for size in counts.sizes.tolist()]
    )

    def likelihood(logit: float) -> float:
        log_p, log_q = -math.log1p(math.exp(-logit)), -math.log1p(math.exp(logit))
        one_less = others + r * log_p + (sizes - 1) * log_q
        value = one_less + np.log(fraction + (1 - fraction) * (sizes - 1 + r) / sizes * math.exp(log_q))
        seen = math.log(-math.expm1(math.log1p(-fraction) + r * log_p))
        return float(np.dot(counts.classes, value)) - counts.number * seen

    return likelihood


def _gamma_ratio(first: float, steps: int) -> float:
    """Return the logarithm of Γ(first + steps) / Γ(first), without loss of digits where `first` is large."""
    last = first + steps
    if first < _STIRLING:
        return math.lgamma(last) - math.lgamma(first)
    grown = (last - 0.5) * math.log1p(steps / first)
    return steps * math.log(first) + grown - steps + 1 / (12 * last) - 1 / (12 * first)


def _inner(value: float, ends: tuple[float, float]) -> bool:
    """Return whether a value is inside its bounds, so that the search converged."""
    return ends[0] + _NEAR < value < ends[1] - _NEAR


def _peak(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return where a function is largest, and its value: the best of a grid, refined by golden section."""
    grid = np.linspace(low, high, _GRID)
    best = int(np.argmax([function(float(point)) for point in grid]))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, _GRID - 1)])
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > _NEAR / 10:
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
    return (left, at_left) if at_left >= at_right else (right, at_right)
