"""Basic β-likeness: in no class is a sensitive value much more frequent than in the whole table."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from indistinct.frequencies.value import Classes, Histogram
from indistinct.machine.arguments import REQUIRED
from indistinct.machine.arrays import Counts, Floats, Mask
from indistinct.models.arithmetic import per_class, rows_above
from indistinct.models.base import LEARNED, ModelWords, SensitiveModel
from indistinct.parameters import ExactNumber, Parameter

# Rounding in a logarithm must not refuse a class at its bound; no real difference is this small.
NOISE = 1e-9


@dataclass(frozen=True, slots=True)
class BasicBetaLikeness(SensitiveModel):
    """No sensitive value gains more than `beta`, relative to its share of the table (Cao and Karras 2012).

    For every value s whose share q of a class exceeds its share p of the whole original table, (q - p)/p is at most
    `beta`. Only gains count: a value that is rarer than in the table discloses less. A gain is accepted up to a
    relative 1e-9, which absorbs rounding and nothing else.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> BasicBetaLikeness("disease", beta=2).spec()
    'basic-beta-likeness:sensitive=disease,beta=2.0'
    """

    name: ClassVar[str] = "basic-beta-likeness"
    words: ClassVar[ModelWords] = ModelWords(
        "No value becomes much likelier (basic beta-likeness)",
        LEARNED,
        "A rare value must not be far more likely in an equivalence class than in the whole table.",
        "No value of {sensitive} is more than {gain} times as likely for a person as in the whole table.",
    )
    splits_people: ClassVar[bool] = True
    compares_with_original: ClassVar[bool] = True
    beta: Annotated[
        float | Fraction,
        Parameter(
            "Largest gain (beta)",
            "Largest relative gain of a value over its share of the table, for example beta=2: three times its share.",
            ExactNumber("above 0"),
            start="2",
        ),
    ] = REQUIRED

    def gains(self, shares: Floats) -> Floats:
        """Return the largest gain that each value may have, by its share of the whole table."""
        return np.full(len(shares), float(self.beta))

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes in which a value gains too much."""
        histogram = self.histogram(classes)
        shares = shares_of(histogram)
        most = (shares * (1 + self.gains(shares)))[histogram.codes]
        above = within(histogram, classes.sizes) > most * (1 + NOISE)
        return np.asarray(per_class(np.add, above.astype(np.int64), indptr=histogram.indptr) > 0)

    def inevitable(self, classes: Classes) -> Counts:
        """Return how many rows of each class must be suppressed before no value of the rest gains too much."""
        histogram = self.histogram(classes)
        shares = shares_of(histogram)
        most = (shares * (1 + self.gains(shares)) * (1 + NOISE))[histogram.codes]
        return self._all_or_enough(classes, rows_above(histogram, classes.sizes, shares=most))

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the largest gain of a value as `beta`, 0 where none gains; nothing where there are no rows."""
        if not classes.rows:
            return {}
        histogram = self.histogram(classes)
        ratios = within(histogram, classes.sizes) / shares_of(histogram)[histogram.codes]
        return {"beta": max(float(ratios.max()) - 1, 0.0)}


def shares_of(histogram: Histogram) -> Floats:
    """Return each value's share of the whole original table."""
    return np.asarray(histogram.reference / max(int(histogram.reference.sum()), 1))


def within(histogram: Histogram, sizes: Counts) -> Floats:
    """Return each entry's share of its class."""
    return np.asarray(histogram.counts / np.repeat(sizes, np.diff(histogram.indptr)))
