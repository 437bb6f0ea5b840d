"""δ-presence: an attacker who knows the population cannot be confident about who is in the table."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from indistinct.errors import InfeasibleError, ParameterError
from indistinct.frequencies.value import POPULATION, Classes, Key
from indistinct.machine.arrays import Counts, Mask
from indistinct.models.arithmetic import cross_multiplied
from indistinct.models.base import MEMBER, Model, ModelTraits, ModelWords
from indistinct.models.of_population import sample_and_population
from indistinct.parameters import ExactNumber, Parameter, check_parameters, exact


@dataclass(frozen=True, slots=True)
class DeltaPresence(Model):
    """Of the people of the population who match a class, a share from `low` to `high` is in the table.

    (Nergiz, Atzori and Clifton 2007.) It needs a population table that contains the people of the release. With
    `absent` every class of the population is judged, also those without a person in the table: their share is 0, so
    that `low` above 0 asks for a person in each of them, and no person may be suppressed. Without it only classes of
    the release are judged, which is weaker. Shares are compared without rounding.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> DeltaPresence(low=0.05, high=0.15).spec()
    'delta-presence:low=0.05,high=0.15'
    """

    name: ClassVar[str] = "delta-presence"
    words: ClassVar[ModelWords] = ModelWords(
        "Membership in the table is uncertain (delta-presence)",
        MEMBER,
        "For tables where membership itself is sensitive, such as a register of a disease.",
        "Of all people of the population who match {quasi} of a person, {low %} to {high %} are in this table.",
    )
    larger_is_stronger: ClassVar[tuple[str, ...]] = ("low",)
    low: Annotated[
        float | Fraction,
        Parameter(
            "Smallest share (low)",
            "Smallest share of a class's population that is in the table, from 0 to 1, for example low=0.05.",
            ExactNumber("from 0 to 1", high=1, zero=True),
            start="0",
        ),
    ]
    high: Annotated[
        float | Fraction,
        Parameter(
            "Largest share (high)",
            "Largest share of a class's population that is in the table, from 0 to 1, for example high=0.15.",
            ExactNumber("from 0 to 1", high=1),
            start="0.5",
        ),
    ]
    absent: Annotated[
        bool,
        Parameter(
            "Judge classes without rows of the table",
            "Whether classes of the population that have no row in the table are judged too, which is stronger.",
        ),
    ] = True

    def __post_init__(self) -> None:
        check_parameters(self)
        if exact(self.low) > exact(self.high):
            hint = "low and high bound the share of a class that is in the table, for example low=0.05, high=0.15"
            raise ParameterError.of("DeltaPresence", "low", f"is {self.low}, above `high`, {self.high}", hint=hint)

    @property
    def traits(self) -> ModelTraits:  # type: ignore[override]
        """The share of a union is between those of its parts; but people who were not judged may join a class."""
        if not self.low:
            return ModelTraits()
        if self.absent:
            return ModelTraits(stable=False, suppressible=False, partial_population=False)
        return ModelTraits(monotone=False, partial_population=False)

    @property
    def keys(self) -> tuple[Key, ...]:
        """The population."""
        return ((POPULATION,),)

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes with too small or too large a share of their population in the table."""
        members, population = sample_and_population(self, classes)
        least, most = (exact(bound) for bound in (self.low, self.high))
        few, needed = cross_multiplied(members, population, ratio=least)
        many, allowed = cross_multiplied(members, population, ratio=most)
        return np.asarray(self._judged(members, population) & ((few < needed) | (many > allowed)), dtype=bool)

    def check(self, whole: Classes) -> None:
        """Raise `InfeasibleError` if the share of the population in the table is out of range."""
        if not len(whole) or not self.violations(whole).any():
            return
        members, population = (int(part[0]) for part in sample_and_population(self, whole))
        raise InfeasibleError(
            f"{self.spec()} cannot hold: {members:,} of the {population:,} people of the population who were counted "
            "are in the table",
            hint=f"that is a share of {members / population:.6g}; a search that cuts, or clusters rows, counts only "
            "those who share all values with a row, others, such as optimal, count all people",
        )

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the smallest and the largest share as `low` and `high`; nothing where there are no rows."""
        members, population = sample_and_population(self, classes)
        judged = self._judged(members, population)
        if not judged.any():
            return {}
        shares = members[judged] / population[judged]
        return {"low": float(shares.min()), "high": float(shares.max())}

    def _judged(self, members: Counts, population: Counts) -> Mask:
        """Mark the classes whose presence is judged."""
        return np.asarray(population > 0 if self.absent else members > 0)
