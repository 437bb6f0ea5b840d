"""Average risk: the chance that a guess inside the right class names the right person, averaged over all people."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from indistinct.frequencies.value import Classes
from indistinct.models.base import THRESHOLD, ModelWords
from indistinct.models.release_wide import ReleaseModel, everybody
from indistinct.parameters import ExactNumber, Parameter, exact


@dataclass(frozen=True, slots=True)
class AverageRisk(ReleaseModel):
    """The number of classes is at most the share `threshold` of the rows.

    An attacker who knows that a person is in a class of f rows picks the right one with probability 1/f; the average of
    that over all rows is the number of classes divided by the number of rows. It is compared without rounding: 0.05 is
    one twentieth.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> AverageRisk(threshold=0.05).spec()
    'average-risk:threshold=0.05'
    """

    name: ClassVar[str] = "average-risk"
    words: ClassVar[ModelWords] = ModelWords(
        "A low risk on average (average risk)",
        THRESHOLD,
        "For recipients under contract: a person picked at random is hard to find; some people may be easier.",
        "A person is found with a probability of {threshold %} at most, on average over all.",
    )
    threshold: Annotated[
        float | Fraction,
        Parameter(
            "Largest average risk",
            "Largest average risk, above 0 and at most 1, for example threshold=0.05: twenty rows per class on "
            "average.",
            ExactNumber("above 0 and at most 1", high=1),
            start="0.05",
        ),
    ]

    def holds(self, classes: Classes) -> bool:
        """Return whether the classes are few enough."""
        return _classes(classes) <= exact(self.threshold) * everybody(classes)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the number of classes divided by the number of rows as `threshold`.

        Nothing where there are no rows.
        """
        return {"threshold": _classes(classes) / everybody(classes)} if classes.rows else {}


def _classes(classes: Classes) -> int:
    """Count the classes with members."""
    return int(np.count_nonzero(classes.sizes))
