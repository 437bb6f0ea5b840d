"""k-map: every class of the release has enough people in the population."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from indistinct.errors import Feasible, InfeasibleError, ParameterError
from indistinct.frequencies.value import POPULATION, Classes, Key
from indistinct.machine.arrays import Mask
from indistinct.models.base import FOUND, SIZE, HistogramTest, Model, ModelTraits, ModelWords
from indistinct.models.of_population import sample_and_population
from indistinct.parameters import Number, Parameter, Whole, check_parameters

Estimator = Literal["zero-truncated-poisson", "poisson"]


@dataclass(frozen=True, slots=True)
class KMap(Model):
    """Every class of the release has at least `k` people in the population (Sweeney 2002).

    With a population table they are counted there. Without one, `significance` and `population_size` estimate it (El
    Emam and Dankar 2008): the number of the release's rows in a population class of `k` people is Poisson distributed
    with mean k·f, where f is the sampling fraction, or so distributed given that it is not 0. A class must have more
    rows than such a number exceeds with probability `significance`, or `k` of them. `sample_size` is the number of
    rows, or people, that were drawn; that of the table if it is left out.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> KMap(k=20, significance=0.05, population_size=10_000, sample_size=1_000).threshold(1_000)
    6
    """

    name: ClassVar[str] = "k-map"
    words: ClassVar[ModelWords] = ModelWords(
        "No person of the population is singled out (k-map)",
        FOUND,
        "For a sample: others cannot know who is in it, so people of the population hide each other.",
        "Whatever a row shows of {quasi}, at least {k} people of the population match it.",
    )
    larger_is_stronger: ClassVar[tuple[str, ...]] = ("k",)
    k: Annotated[
        int,
        Parameter(
            "Smallest population match (k)",
            "Number of people of the population who match each class, for example k=5.",
            Whole(),
            start="11",
        ),
    ]
    significance: Annotated[
        float | None,
        Parameter(
            "Probability of error",
            "Probability of accepting a class that is too small, for example significance=0.01; only without a "
            "population table, together with population_size.",
            Number("above 0 and below 1", low=1e-300, high=1 - 1e-16),
        ),
    ] = None
    population_size: Annotated[
        int | None,
        Parameter(
            "Size of the population",
            "Number of people from whom the table was drawn; only without a population table.",
            Whole(),
        ),
    ] = None
    estimator: Annotated[
        Estimator,
        Parameter(
            "Estimator", "zero-truncated-poisson assumes that every class has at least one row; poisson does not."
        ),
    ] = "zero-truncated-poisson"
    sample_size: Annotated[
        int | None,
        Parameter(
            "Size of the sample", "Number of rows, or people, that were drawn; by default those of the table.", Whole()
        ),
    ] = None

    def __post_init__(self) -> None:
        check_parameters(self)
        if (self.significance is None) != (self.population_size is None):
            raise ParameterError(
                "`significance` and `population_size` of KMap go together",
                parameter="significance",
                hint="both estimate from a sample; with a population table (population=…) leave both out",
            )

    @property
    def estimated(self) -> bool:
        """Whether the population is estimated instead of counted."""
        return self.significance is not None

    @property
    def traits(self) -> ModelTraits:  # type: ignore[override]
        """Counted people of the population add up as rows do.

        Estimated for a known sample, class sizes alone decide.
        """
        known = self.estimated and self.sample_size is not None
        return ModelTraits(stable=known or not self.estimated, absorbing=True, sizes_only=known)

    @property
    def row_counts(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """`k` where people of the population are counted; an estimated threshold grows more slowly than `k`."""
        return None if self.estimated else ("k",)

    @property
    def counts_rows(self) -> bool:  # type: ignore[override]
        """Whether the rows of a class matter, and not only the people of the population."""
        return self.estimated

    @property
    def compares_with_original(self) -> bool:  # type: ignore[override]
        """Whether the size of the sample, which is that of the original, influences the achieved value."""
        return self.estimated

    @property
    def keys(self) -> tuple[Key, ...]:
        """The population, unless it is estimated."""
        return () if self.estimated else ((POPULATION,),)

    @property
    def smallest(self) -> int:
        """A class needs as many rows as the estimate requires."""
        return 1 if self.sample_size is None or not self.estimated else self.threshold(self.sample_size)

    def sampled(self, members: int) -> Model:
        """Return the model with the size of the table as sample size, where none is given."""
        return replace(self, sample_size=members) if self.estimated and self.sample_size is None else self

    def threshold(self, sample_size: int) -> int:
        """Return the rows that a class of the sample needs to be estimated to have `k` people in the population."""
        if self.significance is None or self.population_size is None or not sample_size:
            return 1
        if sample_size > self.population_size:
            raise ParameterError.of(
                "KMap",
                "population_size",
                f"is {self.population_size:,}, and the sample has {sample_size:,}",
                hint="the population is smaller than the sample: count all people from whom the table was drawn",
            )
        mean = self.k * (sample_size / self.population_size)
        truncated = self.estimator == "zero-truncated-poisson"
        return min(self.k, quantile(mean, 1 - self.significance, truncated=truncated) + 1)

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes with too few people in the population, or with too few rows to estimate it."""
        if not self.estimated:
            members, population = sample_and_population(self, classes)
            return np.asarray((members > 0) & (population < self.k))
        return np.asarray((classes.sizes > 0) & (classes.sizes < self.threshold(self.sample_size or classes.rows)))

    def histogram_tests(self, classes: Classes) -> tuple[HistogramTest, ...] | None:
        """Return the test of the size, where size alone decides."""
        return (HistogramTest(SIZE, least=self.smallest),) if self.traits.sizes_only else None

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the fewest people of the population as `k`; estimated, the largest that the smallest class allows."""
        if not classes.rows:
            return {}
        if not self.estimated:
            members, population = sample_and_population(self, classes)
            return {"k": int(population[members > 0].min())}
        return {"k": self._largest(int(classes.sizes[classes.sizes > 0].min()), self.sample_size or classes.rows)}

    def check(self, whole: Classes) -> None:
        """Raise `InfeasibleError` if the population, or the table, has too few people."""
        if not len(whole) or not self.violations(whole).any():
            return
        if self.estimated:
            needed, rows = self.threshold(self.sample_size or whole.rows), whole.rows
            largest = self._largest(rows, self.sample_size or rows)
            raise InfeasibleError(
                f"k = {self.k} needs {needed} rows in every class and the table has {rows}",
                hint=f"choose a k of at most {largest}; with {largest} all rows form one class",
                feasible=Feasible({"k": largest}),
            )
        most = int(sample_and_population(self, whole)[1].max())
        raise InfeasibleError(
            f"k = {self.k} but the population has {most:,} people",
            hint=f"choose a k of at most {most}; with {most} all rows form one class",
            feasible=Feasible({"k": most}),
        )

    def _largest(self, rows: int, sample_size: int) -> int:
        """Return the largest `k` for which `rows` are enough: the threshold grows with `k`."""
        low, high = 0, 1
        while high <= (self.population_size or 1) and replace(self, k=high).threshold(sample_size) <= rows:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if replace(self, k=middle).threshold(sample_size) <= rows else (low, middle)
        return low


def quantile(mean: float, probability: float, *, truncated: bool) -> int:
    """Return the quantile of a Poisson distribution for a probability.

    `truncated` says that it is not 0.

    >>> quantile(2.0, 0.95, truncated=False), quantile(2.0, 0.95, truncated=True)
    (5, 5)
    """
    missing = math.exp(-mean) if truncated else 0.0
    # Logarithms from well below the mean on: the probability of 0 underflows where the mean is large.
    number = max(int(mean - 12 * math.sqrt(mean) - 12), 0)
    logarithm = number * math.log(mean) - mean - math.lgamma(number + 1)
    total = 0.0 if truncated and not number else math.exp(logarithm)
    while total < probability * (1 - missing) and number < mean + 60 * math.sqrt(mean + 1) + 60:
        number += 1
        logarithm += math.log(mean) - math.log(number)
        total += math.exp(logarithm)
    return number
