"""Entropy l-diversity: the sensitive values of every class are as uncertain as `l` equally frequent ones."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from indistinct.frequencies.value import Classes, Histogram
from indistinct.machine.arguments import REQUIRED
from indistinct.machine.arrays import Counts, Floats, Mask
from indistinct.models.arithmetic import per_class
from indistinct.models.base import ENTROPY, LEARNED, HistogramTest, ModelTraits, ModelWords, SensitiveModel
from indistinct.parameters import Number, Parameter

# Rounding in a sum of logarithms must not refuse a uniform class; no real difference is this small.
_ROUNDING_TOLERANCE = 1e-9
# Logarithms of counts below this are looked up.
_SMALL_COUNTS = 4096

Estimator = Literal["shannon", "grassberger"]


@dataclass(frozen=True, slots=True)
class EntropyLDiversity(SensitiveModel):
    """The entropy of the sensitive column in every class is at least log `l` (Machanavajjhala et al. 2006).

    `l` need not be whole. The exponential of the entropy is compared with `l` less a relative 1e-9, which
    absorbs rounding and nothing else: a class that is uniform over exactly `l` values satisfies `l`.

    A small class shows too little entropy of what its people were drawn from. With `estimator` grassberger that bias is
    corrected (Grassberger 2003); a class must then also show `l` distinct values, for even a single row has a corrected
    entropy above 0. That is weaker than `shannon`, and not monotone.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> EntropyLDiversity("disease", l=2.5).smallest
    3
    """

    name: ClassVar[str] = "entropy-l-diversity"
    words: ClassVar[ModelWords] = ModelWords(
        "Well mixed values in each equivalence class (entropy l-diversity)",
        LEARNED,
        "Values must not only differ: no few of them may dominate an equivalence class.",
        "Values of {sensitive} among people who look alike are as mixed as {l} equally frequent ones.",
    )
    larger_is_stronger: ClassVar[tuple[str, ...]] = ("l",)
    splits_people: ClassVar[bool] = True
    l: Annotated[
        float,
        Parameter(
            "Effective number of values (l)",
            "Number of equally frequent values that is as diverse, at least 1, for example l=2.5.",
            Number("at least 1", low=1),
            start="2",
        ),
    ] = REQUIRED
    estimator: Annotated[
        Estimator,
        Parameter(
            "Entropy estimator",
            "shannon is the entropy of the class itself, and stricter; grassberger corrects the bias of small classes.",
        ),
    ] = "shannon"

    @property
    def traits(self) -> ModelTraits:  # type: ignore[override]
        """Entropy is concave; its corrected estimate is not."""
        return ModelTraits(monotone=self.estimator == "shannon")

    @property
    def smallest(self) -> int:
        """A class needs as many rows as values, and entropy log `l` needs at least `l` values."""
        return math.ceil(self.l)

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes whose entropy is below log `l`."""
        return np.asarray((classes.sizes > 0) & (self._diversity(classes) < self.l * (1 - _ROUNDING_TOLERANCE)))

    def histogram_tests(self, classes: Classes) -> tuple[HistogramTest, ...] | None:
        """Return the test of the entropy, with the product of each small count and its logarithm."""
        if self.estimator == "grassberger":
            return None
        counts = np.arange(_SMALL_COUNTS)
        products = counts * np.log(np.maximum(counts, 1))
        limit = self.l * (1 - _ROUNDING_TOLERANCE)
        return (HistogramTest(ENTROPY, self.keys[0], least=_SMALL_COUNTS, limit=limit, table=products),)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the smallest exponential of an entropy as `l`; nothing where there are no rows."""
        return {"l": float(self._diversity(classes)[classes.sizes > 0].min())} if classes.rows else {}

    def _diversity(self, classes: Classes) -> Floats:
        """Return, for each class, how many equally frequent values would be as uncertain as its values."""
        histogram = self.histogram(classes)
        if self.estimator == "shannon":
            return _exponential_entropy(histogram, classes.sizes)
        counts = histogram.counts
        logarithms = grassberger(int(counts.max(initial=0)))
        known = per_class(np.add, counts * logarithms[counts], indptr=histogram.indptr)
        sizes = np.maximum(classes.sizes, 1)
        return np.minimum(np.exp(np.log(sizes) - known / sizes), np.diff(histogram.indptr))


def grassberger(most: int) -> Floats:
    """Return Grassberger's substitute for the logarithm of each count up to `most`; that of 0 is not used.

    G(1) = -γ - ln 2, G(2) = 2 - γ - ln 2; an odd count has the value before it, and G(2n + 2) = G(2n) + 2/(2n + 1).

    >>> grassberger(4).round(4).tolist()
    [0.0, -1.2704, 0.7296, 0.7296, 1.3963]
    """
    steps = np.zeros(max(most, 2) + 1)
    steps[1] = -np.euler_gamma - math.log(2)
    steps[2::2] = 2 / np.arange(1, max(most, 2), 2)
    return np.asarray(np.concatenate([[0.0], np.cumsum(steps[1:])])[: most + 1])


def _exponential_entropy(histogram: Histogram, sizes: Counts) -> Floats:
    shares = histogram.counts / np.repeat(sizes, np.diff(histogram.indptr))
    return np.exp(-per_class(np.add, shares * np.log(shares), indptr=histogram.indptr))
