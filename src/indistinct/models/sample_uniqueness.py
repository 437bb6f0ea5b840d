"""Sample uniqueness: few rows are unique, that is, alone in their class."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from indistinct.frequencies.value import Classes
from indistinct.models.base import THRESHOLD, ModelWords
from indistinct.models.release_wide import ReleaseModel, everybody
from indistinct.parameters import ExactNumber, Parameter, exact


@dataclass(frozen=True, slots=True)
class SampleUniqueness(ReleaseModel):
    """At most the share `share` of the rows are alone in their class; compared without rounding.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> SampleUniqueness(share=0.01).spec()
    'sample-uniqueness:share=0.01'
    """

    name: ClassVar[str] = "sample-uniqueness"
    words: ClassVar[ModelWords] = ModelWords(
        "Few are alone in the table (sample uniqueness)",
        THRESHOLD,
        "A share of people may be alone with their values; everybody else is not.",
        "{share %} of all {unit} at most are alone with {quasi} in the release.",
    )
    share: Annotated[
        float | Fraction,
        Parameter(
            "Largest share",
            "Largest share of unique rows, from 0 to 1, for example share=0.01; 0 allows none.",
            ExactNumber("from 0 to 1", high=1, zero=True),
            start="0.01",
        ),
    ]

    def holds(self, classes: Classes) -> bool:
        """Return whether the share of uniques is within the limit."""
        return uniques(classes) <= exact(self.share) * everybody(classes)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the share of unique rows as `share`; nothing where there are no rows."""
        return {"share": uniques(classes) / everybody(classes)} if classes.rows else {}


def uniques(classes: Classes) -> int:
    """Count the people, or rows, in classes of size one."""
    return classes.members_of(classes.members == 1)
