"""Sample uniqueness: few rows are alone in their class."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from indistinct.frequencies.value import Classes
from indistinct.models import parameters
from indistinct.models.release_wide import ReleaseModel, everybody


@dataclass(frozen=True, slots=True)
class SampleUniqueness(ReleaseModel):
    """At most the share `share` of the rows are alone in their class; compared without rounding.

    >>> SampleUniqueness(share=0.01).spec()
    'sample-uniqueness:share=0.01'
    """

    name: ClassVar[str] = "sample-uniqueness"
    share: float | Fraction

    def __post_init__(self) -> None:
        share_of_rows(self)

    def holds(self, classes: Classes) -> bool:
        """Return whether few enough are alone."""
        return uniques(classes) <= parameters.exact(self.share) * everybody(classes)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the share of the rows that are alone as `share`; nothing where there are no rows."""
        return {"share": uniques(classes) / everybody(classes)} if classes.rows else {}


def uniques(classes: Classes) -> int:
    """Return how many people are alone in a class, or how many rows."""
    return classes.members_of(classes.members == 1)


def share_of_rows(model: ReleaseModel) -> None:
    """Accept a share from 0 to 1."""
    hint = "share is the largest share of uniques, for example share=0.01; 0 allows none"
    parameters.ratio(model, "share", wanted="from 0 to 1", high=1, hint=hint, spelled=True, zero=True)
