"""A model, an algorithm and a metric of another package, as the guide to extending shows them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import indistinct as ind


@dataclass(frozen=True, slots=True)
class BoundedShare(ind.Model):
    """No value of the sensitive column takes more than a share of a class."""

    name: ClassVar[str] = "bounded-share"
    sensitive: str
    share: float

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        return ((self.sensitive,),)

    def violations(self, classes: ind.Classes) -> np.ndarray:
        return self._largest(classes) > self.share

    def achieved(self, classes: ind.Classes) -> Mapping[str, float]:
        return {"share": float(self._largest(classes).max(initial=0))}

    def _largest(self, classes: ind.Classes) -> np.ndarray:
        histogram, largest = classes.histograms[(self.sensitive,)], np.zeros(len(classes))
        owners = histogram.owners()
        np.maximum.at(largest, owners, histogram.counts / classes.sizes[owners])
        return largest


@dataclass(frozen=True, slots=True)
class Halves(ind.Algorithm):
    """Cut the sorted cells into halves for as long as both satisfy the model."""

    name: ClassVar[str] = "halves"

    @property
    def traits(self) -> ind.AlgorithmTraits:
        return ind.AlgorithmTraits(local=True, monotone=True)

    def search(self, problem: ind.Problem) -> ind.Recoding:
        self.require(problem)
        problem.model.check(problem.whole())
        class_ids = np.zeros(len(problem.frequencies), dtype=np.int32)
        waiting = [np.arange(len(class_ids))]
        while waiting:
            cells = waiting.pop()
            both = np.repeat([0, 1], [len(cells) // 2, len(cells) - len(cells) // 2]).astype(np.int32)
            parts = problem.frequencies.classes.take(cells).regroup(both, 2)
            if len(cells) > 1 and not problem.model.violations(parts).any():
                class_ids[cells[both == 1]] = class_ids.max() + 1
                waiting += [cells[both == 0], cells[both == 1]]
        return ind.recode_classes(problem, class_ids)


@dataclass(frozen=True, slots=True)
class LargestClass(ind.Metric):
    """The share of the original rows that stand in the largest class."""

    name: ClassVar[str] = "largest-class"
    meaning: ClassVar[str] = "share of rows in the largest class"
    bounds: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)

    def value(self, assignment: ind.Assignment) -> float:
        return float(assignment.classes.sizes.max(initial=0) / max(assignment.rows, 1))
