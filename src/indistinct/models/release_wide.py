"""Models of a whole release: they judge all classes together, and no class by itself."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Counts, Mask
from indistinct.models.base import Model, ModelTraits

TOGETHER = ModelTraits(stable=False, absorbing=True, class_wise=False)
"""Traits of a share of rows, or of classes, that falls when classes merge and when the smallest class is dropped."""


@dataclass(frozen=True, slots=True)
class ReleaseModel(Model):
    """A model that a release satisfies as a whole: the base of average risk and of shares of uniques.

    All classes break it, or none does. Where rows may be suppressed the smallest classes go first.
    """

    traits: ClassVar[ModelTraits] = TOGETHER
    row_counts: ClassVar[tuple[str, ...] | None] = None
    counts_rows: ClassVar[bool] = False

    @abstractmethod
    def holds(self, classes: Classes) -> bool:
        """Return whether the classes together satisfy the model."""

    @abstractmethod
    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the achieved values of the classes together."""

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of all classes if together they violate the model, of none if they satisfy it."""
        return np.full(len(classes), bool(classes.rows) and not self.holds(classes))

    @property
    def people_traits(self) -> ModelTraits:
        """A person with rows in several classes is suppressed with the first of them: suppression is not additive."""
        return replace(self.traits, absorbing=False)

    def inevitable(self, classes: Classes) -> Counts:
        """Return zeros: whether a row must go depends on all classes together."""
        return 0 * classes.sizes


def everybody(classes: Classes) -> int:
    """Return the number of people, or of rows, in all classes together."""
    return classes.members_of(np.ones(len(classes), dtype=bool))
