"""Metrics that judge a recoding by the sizes of its classes alone."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.errors import ParameterError
from indistinct.metrics.base import Metric
from indistinct.recoding.outputs import Assignment


@dataclass(frozen=True, slots=True)
class Discernibility(Metric):
    """C_DM: each row pays the size of its class, a suppressed row the size of the table.

    Σ|E|² + N·S, Bayardo and Agrawal (2005). A release whose classes have at least k rows gets at least k·N.
    """

    name: ClassVar[str] = "discernibility"

    def value(self, assignment: Assignment) -> float:
        """Return Σ|E|² over released classes plus rows times suppressed rows."""
        sizes = assignment.classes.sizes.astype(np.int64, copy=False)
        return float(int(sizes @ sizes) + assignment.rows * assignment.suppressed)


@dataclass(frozen=True, slots=True)
class AverageClassSize(Metric):
    """C_AVG: the mean size of a released class, in units of k; 1 is the best that k-anonymity allows.

    (released rows / classes) / k, LeFevre et al. (2006). Suppressed rows are not counted, so read it beside
    their number. A release that suppresses every row has no class and gets infinity; an empty table gets 0.
    """

    name: ClassVar[str] = "average-class-size"
    k: int = 1

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ParameterError(
                f"`k` of AverageClassSize must be at least 1; got {self.k}",
                hint="give the k of k-anonymity, or 1",
            )

    def value(self, assignment: Assignment) -> float:
        """Return the mean size of released classes divided by k."""
        count = len(assignment.classes)
        if count == 0:
            return math.inf if assignment.rows else 0.0
        return assignment.classes.rows / count / self.k
