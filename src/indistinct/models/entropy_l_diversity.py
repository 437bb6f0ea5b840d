"""Entropy l-diversity: the sensitive values of every class are as uncertain as `l` equally frequent ones."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.arrays import Codes
from indistinct.frequencies.value import Classes, Histogram
from indistinct.models import parameters
from indistinct.models.arithmetic import per_class
from indistinct.models.base import SensitiveModel
from indistinct.models.distinct_l_diversity import L_HINT
from indistinct.models.histogram_test import ENTROPY, HistogramTest

# Rounding in a sum of logarithms must not refuse a uniform class; no real difference is this small.
_NOISE = 1e-9
# Logarithms of counts below this are looked up.
_SMALL_COUNTS = 4096


@dataclass(frozen=True, slots=True)
class EntropyLDiversity(SensitiveModel):
    """The entropy of the sensitive column in every class is at least log `l` (Machanavajjhala et al. 2006).

    `l` need not be whole. The exponential of the entropy is compared with `l` less a relative 1e-9, which
    absorbs rounding and nothing else: a class that is uniform over exactly `l` values satisfies `l`.

    >>> EntropyLDiversity("disease", l=2.5).smallest
    3
    """

    name: ClassVar[str] = "entropy-l-diversity"
    larger_is_stronger: ClassVar[tuple[str, ...]] = ("l",)
    splits_people: ClassVar[bool] = True
    l: float

    def __post_init__(self) -> None:
        parameters.column(self, "sensitive")
        parameters.real_number(self, "l", wanted="at least 1", low=1, high=math.inf, hint=L_HINT)

    @property
    def smallest(self) -> int:
        """A class needs as many rows as values, and entropy log `l` needs at least `l` values."""
        return math.ceil(self.l)

    def violations(self, classes: Classes) -> Codes:
        """Return a mask of the classes whose entropy is below log `l`."""
        achieved = _exponential_entropy(self.histogram(classes), classes.sizes)
        return np.asarray((classes.sizes > 0) & (achieved < self.l * (1 - _NOISE)))

    def histogram_tests(self, classes: Classes) -> tuple[HistogramTest, ...]:
        """Return the test of the entropy, with the product of each small count and its logarithm."""
        counts = np.arange(_SMALL_COUNTS)
        products = counts * np.log(np.maximum(counts, 1))
        limit = self.l * (1 - _NOISE)
        return (HistogramTest(ENTROPY, self.keys[0], least=_SMALL_COUNTS, limit=limit, table=products),)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the smallest exponential of an entropy as `l`; nothing where there are no rows."""
        achieved = _exponential_entropy(self.histogram(classes), classes.sizes)
        return {"l": float(achieved[classes.sizes > 0].min())} if classes.rows else {}


def _exponential_entropy(histogram: Histogram, sizes: Codes) -> Codes:
    shares = histogram.counts / np.repeat(sizes, np.diff(histogram.indptr))
    return np.exp(-per_class(np.add, shares * np.log(shares), indptr=histogram.indptr))
