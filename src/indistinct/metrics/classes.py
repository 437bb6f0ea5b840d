"""Metrics that judge a recoding by the sizes of its classes alone."""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from indistinct.errors import ParameterError
from indistinct.machine.arrays import Codes
from indistinct.metrics.base import Metric
from indistinct.recoding.outputs import Assignment


class SizeMetric(Metric):
    """A metric of the sizes of released classes, and of the number of all rows."""

    __slots__ = ()

    @abstractmethod
    def of_sizes(self, sizes: Codes, *, rows: int) -> float:
        """Return the metric of released classes of a table of so many rows."""

    def value(self, assignment: Assignment) -> float:
        """Return the metric of a release; where people are counted, each counts once in every class."""
        sizes = assignment.classes.members.astype(np.int64, copy=False)
        return self.of_sizes(sizes, rows=int(sizes.sum()) + assignment.suppressed_members)


@dataclass(frozen=True, slots=True)
class Discernibility(SizeMetric):
    """C_DM: each row pays the size of its class, a suppressed row the size of the table.

    Σ|E|² + N·S, Bayardo and Agrawal (2005). A release whose classes have at least k rows gets at least k·N.
    """

    name: ClassVar[str] = "discernibility"
    meaning: ClassVar[str] = "the size of each row's class, summed"

    def of_sizes(self, sizes: Codes, *, rows: int) -> float:
        """Return Σ|E|² over released classes plus rows times suppressed rows."""
        return float(int(sizes @ sizes) + rows * (rows - int(sizes.sum())))


@dataclass(frozen=True, slots=True)
class AverageClassSize(SizeMetric):
    """C_AVG: the mean size of a released class, in units of k; 1 is the best that k-anonymity allows.

    (released rows / classes) / k, LeFevre et al. (2006). Suppressed rows are not counted, so read it beside
    their number. A release that suppresses every row has no class and gets infinity; an empty table gets 0. Where no
    `k` is given, it is what the release promised, and 1 where nothing is known of a promise.
    """

    name: ClassVar[str] = "average-class-size"
    meaning: ClassVar[str] = "mean class in units of k, 1 at best"
    k: int | None = None

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 1:
            raise ParameterError.of(
                "AverageClassSize",
                "k",
                f"must be at least 1; got {self.k}",
                hint="give the k of k-anonymity, or leave it out, which takes what the release promised",
            )

    def for_promise(self, k: int) -> Self:
        """Return the metric in units of a promised k, unless its own is given."""
        return self if self.k is not None else replace(self, k=k)

    def of_sizes(self, sizes: Codes, *, rows: int) -> float:
        """Return the mean size of released classes divided by k."""
        if not len(sizes):
            return math.inf if rows else 0.0
        return int(sizes.sum()) / len(sizes) / (self.k or 1)
