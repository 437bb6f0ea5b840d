"""(α,k)-anonymity: every class has enough rows, and no protected value takes too large a share of it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from indistinct.errors import Feasible, InfeasibleError, ParameterError
from indistinct.frequencies.value import Classes, Histogram
from indistinct.machine.arguments import REQUIRED
from indistinct.machine.arrays import Counts, Mask
from indistinct.models.arithmetic import cross_multiplied, exact_ratio, per_class, whole_rows
from indistinct.models.base import LEARNED, SHARE, SIZE, HistogramTest, ModelWords, SensitiveModel
from indistinct.models.k_anonymity import K_OF_SEVERAL, KAnonymity
from indistinct.parameters import ExactNumber, Parameter, SeveralTexts, exact


@dataclass(frozen=True, slots=True)
class AlphaK(SensitiveModel):
    """Every class has `k` rows, and no protected value takes more than the share `alpha` (Wong et al. 2006).

    `alpha` is in (0, 1]: a number, a `Fraction` or text such as "1/3". It is compared without rounding:
    0.1 is one tenth. `protected` lists values as their text in the table; left empty, every value is
    protected, missing included. A protected value that the table does not hold is an error: it is most
    likely a typing error.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> AlphaK("disease", alpha=0.5, k=2, protected="HIV").spec()
    'alpha-k:sensitive=disease,alpha=0.5,k=2,protected=HIV'
    """

    name: ClassVar[str] = "alpha-k"
    words: ClassVar[ModelWords] = ModelWords(
        "No person is singled out, and no value is too likely (alpha-k)",
        LEARNED,
        "Classes of at least k in which no sensitive value takes more than a share.",
        "An attacker who knows {quasi} of a person is left with at least {k} {unit}, and {protected} of {sensitive} "
        "takes {alpha %} of them at most.",
    )
    larger_is_stronger: ClassVar[tuple[str, ...]] = ("k",)
    row_counts: ClassVar[tuple[str, ...]] = ("k",)
    alpha: Annotated[
        float | Fraction,
        Parameter(
            "Largest share of a value (alpha)",
            "Largest share of a class that one protected value may take, above 0 and at most 1, for example alpha=0.5.",
            ExactNumber("above 0 and at most 1", high=1),
            start="0.5",
        ),
    ] = REQUIRED
    k: Annotated[int, K_OF_SEVERAL] = REQUIRED
    protected: Annotated[
        tuple[str, ...],
        Parameter(
            "Protected values",
            "Values of the sensitive column, as text; none protects every value.",
            SeveralTexts("values of the sensitive column as text"),
        ),
    ] = ()

    @property
    def smallest(self) -> int:
        """A class needs `k` rows."""
        return self.k

    def respelled(self, texts: Mapping[str, str]) -> "AlphaK":
        """Return the model with its protected values replaced by their new texts."""
        return replace(self, protected=tuple(dict.fromkeys(texts.get(text, text) for text in self.protected)))

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes that are too small or in which a protected value is too frequent."""
        broken = KAnonymity(self.k).violations(classes)
        if not classes.rows:
            return broken
        counts, allowed = cross_multiplied(self._most_frequent(classes), classes.sizes, ratio=exact(self.alpha))
        return np.asarray(broken | (counts > allowed))

    def histogram_tests(self, classes: Classes) -> tuple[HistogramTest, ...] | None:
        """Return the tests of the size and of the shares of protected values."""
        histogram = self.histogram(classes)
        ratio = exact_ratio(exact(self.alpha), total=classes.rows + int(histogram.counts.sum()))
        if ratio is None:
            return None
        protected = self._protected_codes(histogram) if self.protected else np.ones(len(histogram.reference))
        share = HistogramTest(SHARE, self.keys[0], ratio=ratio, table=protected)
        return (HistogramTest(SIZE, least=self.k), share)

    def inevitable(self, classes: Classes) -> Counts:
        """Return how many rows of each class must be suppressed before no protected value is too frequent in the rest.

        What remains after a split is a union of parts that satisfy the model, and satisfies it itself. If r of n rows
        go, at least h - r with a value that h rows had are among the rest, so that h - r ≤ alpha·(n - r).
        """
        alpha, sizes = float(self.alpha), classes.sizes
        excess = np.maximum(self._most_frequent(classes) - alpha * sizes, 0.0)
        gone = whole_rows(excess / (1 - alpha), most=sizes) if alpha < 1 else 0 * sizes
        return self._all_or_enough(classes, gone)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the largest share of a protected value as `alpha`, and the size of the smallest class as `k`."""
        if not classes.rows:
            return {}
        occupied = classes.sizes > 0
        shares = self._most_frequent(classes)[occupied] / classes.sizes[occupied]
        return {"alpha": float(shares.max()), **KAnonymity(self.k).achieved(classes)}

    def check(self, whole: Classes) -> None:
        """Raise `InfeasibleError` if the table has too few rows or too many of one protected value."""
        KAnonymity(self.k).check(whole)
        broken = self.violations(whole)
        if not broken.any():
            return
        rows = int(whole.sizes[broken][0])
        most = int(self._most_frequent(whole)[broken][0])
        raise InfeasibleError(
            f"alpha = {self.alpha} but one protected value of column {self.sensitive!r} "
            f"takes {most} of the table's {rows} rows",
            hint=f"alpha at least {most}/{rows} (about {most / rows:.4f})",
            feasible=Feasible({"alpha": most / rows}, column=self.sensitive),
        )

    def _most_frequent(self, classes: Classes) -> Counts:
        """Return how often the most frequent protected value of each class occurs."""
        histogram = self.histogram(classes)
        counts = histogram.counts
        if self.protected:
            counts = np.where(self._protected_codes(histogram)[histogram.codes], counts, 0)
        return per_class(np.maximum, counts, indptr=histogram.indptr)

    def protects(self, histogram: Histogram) -> Mask:
        """Return which values of a histogram are protected: the named ones, all where none is named."""
        if not self.protected:
            return np.ones(len(histogram.reference), dtype=bool)
        return np.array([text in self.protected for text in histogram.texts])

    def _protected_codes(self, histogram: Histogram) -> Mask:
        """Mark the codes of protected values; raise for a value that the column does not have."""
        absent = [text for text in self.protected if text not in histogram.texts]
        if absent:
            raise ParameterError.of(
                "AlphaK",
                "protected",
                f"must be values of column {self.sensitive!r}; got {', '.join(map(repr, absent))}",
                hint="write each value as in the table, upper and lower case included",
            )
        return np.array([text in self.protected for text in histogram.texts])
