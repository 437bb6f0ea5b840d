"""Enhanced β-likeness: frequent values may gain less than rare ones, so that none becomes certain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Floats
from indistinct.models.base import LEARNED, ModelWords
from indistinct.models.basic_beta_likeness import NOISE, BasicBetaLikeness, shares_of, within


@dataclass(frozen=True, slots=True)
class EnhancedBetaLikeness(BasicBetaLikeness):
    """Basic β-likeness in which frequent values may gain less: at most -ln p of a share p (Cao and Karras 2012).

    A value that half of the table has could double under β = 1, and be certain; here it gains 69 % at most.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> EnhancedBetaLikeness("disease", beta=2).gains(np.array([0.5, 0.01])).round(2).tolist()
    [0.69, 2.0]
    """

    name: ClassVar[str] = "enhanced-beta-likeness"
    words: ClassVar[ModelWords] = ModelWords(
        "No value becomes much likelier, frequent ones least (enhanced beta-likeness)",
        LEARNED,
        "As basic beta-likeness, but a frequent value may gain less, so that it never becomes certain.",
        "No value of {sensitive} is more than {gain} times as likely for a person as in the whole table, and "
        "frequent ones gain less.",
    )

    def gains(self, shares: Floats) -> Floats:
        """Return the allowed gains: `beta` for rare values, -ln p where that is less."""
        logarithms = -np.log(shares, where=shares > 0, out=np.full(len(shares), -np.inf))
        return np.asarray(np.minimum(float(self.beta), logarithms))

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the smallest `beta` that holds.

        It is infinite where a value gains more than -ln p, which no `beta` allows.
        """
        if not classes.rows:
            return {}
        histogram = self.histogram(classes)
        shares = shares_of(histogram)[histogram.codes]
        gains = within(histogram, classes.sizes) / shares - 1
        if (gains + 1 > (1 - np.log(shares)) * (1 + NOISE)).any():
            return {"beta": float("inf")}
        return {"beta": max(float(gains.max()), 0.0)}
