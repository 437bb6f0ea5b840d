"""δ-disclosure: in every class each value that occurs is about as frequent as in the whole table."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from indistinct.frequencies.value import Classes
from indistinct.machine.arguments import REQUIRED
from indistinct.machine.arrays import Floats, Mask
from indistinct.models.arithmetic import per_class
from indistinct.models.base import LEARNED, ModelTraits, ModelWords, SensitiveModel
from indistinct.parameters import Number, Parameter

# A ratio this near its bound may be equal to it, which is not allowed.
_ROUNDING_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class DeltaDisclosure(SensitiveModel):
    """The shares q in a class and p in the table of every value that occurs there have |log2(q/p)| < `delta`, strictly.

    (Brickell and Shmatikov 2008.) The logarithm is to base 2, so that delta = 1 means less than double and more than
    half. A value that does not occur in a class is not judged there: its ratio would be 0 in almost every class.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> DeltaDisclosure("disease", delta=1).spec()
    'delta-disclosure:sensitive=disease,delta=1.0'
    """

    name: ClassVar[str] = "delta-disclosure"
    words: ClassVar[ModelWords] = ModelWords(
        "No value becomes much likelier or rarer (delta-disclosure)",
        LEARNED,
        "Every value in an equivalence class is about as frequent there as in the whole table. This is very strict.",
        "A value of {sensitive} that a person may have is less than {ratio} times as likely, and more than "
        "1/{ratio} times, as in the whole table.",
    )
    # A class without a value is not judged for it; merged with a class that has the value, it may make it too rare.
    traits: ClassVar[ModelTraits] = ModelTraits(monotone=False)
    splits_people: ClassVar[bool] = True
    compares_with_original: ClassVar[bool] = True
    delta: Annotated[
        float,
        Parameter(
            "Largest change (delta)",
            "How much more or less frequent a value may be than in the table, for example delta=1: half to double.",
            Number("above 0", low=math.ulp(0.0)),
            start="1",
        ),
    ] = REQUIRED

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes in which a value is too frequent or too rare."""
        return np.asarray((classes.sizes > 0) & (self._largest(classes) >= self.delta - _ROUNDING_TOLERANCE))

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the largest |log2(q/p)| as `delta`; nothing where there are no rows.

        Only a larger `delta` is satisfied, because the bound is strict.
        """
        return {"delta": float(self._largest(classes).max())} if classes.rows else {}

    def _largest(self, classes: Classes) -> Floats:
        """Return the largest absolute log ratio of shares in each class."""
        histogram = self.histogram(classes)
        whole, sizes = int(histogram.reference.sum()), np.repeat(classes.sizes, np.diff(histogram.indptr))
        ratios = (histogram.counts * float(whole)) / (sizes * histogram.reference[histogram.codes].astype(np.float64))
        return per_class(np.maximum, np.abs(np.log2(ratios)), indptr=histogram.indptr)
