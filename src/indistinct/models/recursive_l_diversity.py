"""Recursive (c,l)-diversity: in no class is one sensitive value too frequent and the others too rare."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from indistinct.errors import Feasible, InfeasibleError
from indistinct.frequencies.value import Classes, Histogram
from indistinct.machine.arguments import REQUIRED
from indistinct.machine.arrays import Counts, Mask
from indistinct.models.arithmetic import cross_multiplied, exact_ratio, per_class
from indistinct.models.base import LEARNED, RECURSIVE, HistogramTest, ModelWords, SensitiveModel
from indistinct.models.distinct_l_diversity import DistinctLDiversity, L
from indistinct.parameters import ExactNumber, Parameter, exact


@dataclass(frozen=True, slots=True)
class RecursiveLDiversity(SensitiveModel):
    """In every class the most frequent sensitive value is rarer than `c` times the `l`-th and all after it.

    With counts in descending order, r1 < c · (rl + … + rm); a class with fewer than `l` values fails. `c` is
    compared without rounding: 0.1 means one tenth. Machanavajjhala et al. 2006.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> RecursiveLDiversity("disease", c=2, l=3).spec()
    'recursive-l-diversity:sensitive=disease,c=2.0,l=3'
    """

    name: ClassVar[str] = "recursive-l-diversity"
    words: ClassVar[ModelWords] = ModelWords(
        "No dominating value (recursive l-diversity)",
        LEARNED,
        "The most frequent value of an equivalence class must not be much more frequent than the rarer ones together.",
        "Among people who look alike, the most frequent value of {sensitive} is rarer than {c} times all from "
        "number {l} on.",
    )
    larger_is_stronger: ClassVar[tuple[str, ...]] = ("l",)
    splits_people: ClassVar[bool] = True
    c: Annotated[
        float | Fraction,
        Parameter(
            "Largest ratio (c)",
            "The most frequent value is rarer than c times the rarer ones together, for example c=2; smaller is "
            "stricter.",
            ExactNumber("above 0", written=False),
            start="2",
        ),
    ] = REQUIRED
    l: Annotated[int, L] = REQUIRED

    @property
    def smallest(self) -> int:
        """A class needs `l` rows to hold `l` values."""
        return self.l

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes whose most frequent value is not below `c` times the tail."""
        most, tail = _head_and_tail(self.histogram(classes), self.l)
        counts, allowed = cross_multiplied(most, tail, ratio=exact(self.c))
        return np.asarray((classes.sizes > 0) & (counts >= allowed))

    def histogram_tests(self, classes: Classes) -> tuple[HistogramTest, ...] | None:
        """Return the test of the most frequent value against the rare ones."""
        ratio = exact_ratio(exact(self.c), total=int(self.histogram(classes).counts.sum()))
        return None if ratio is None else (HistogramTest(RECURSIVE, self.keys[0], least=self.l, ratio=ratio),)

    def inevitable(self, classes: Classes) -> Counts:
        """Return how many rows of each class must be suppressed before its most frequent value is rare enough.

        Suppressing rows never makes the tail longer, so in the end every count is below `c` times the present tail.
        """
        histogram = self.histogram(classes)
        _, tail = _head_and_tail(histogram, self.l)
        most = np.ceil(float(self.c) * tail * (1 + 1e-9)).astype(np.int64)
        above = np.maximum(histogram.counts - most[histogram.owners()], 0)
        gone = np.where(tail > 0, per_class(np.add, above, indptr=histogram.indptr), classes.sizes)
        return self._all_or_enough(classes, gone)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the largest ratio of head to tail as `c`, with its `l`; nothing without rows.

        The release satisfies every greater `c`; infinity means that some class has fewer than `l` values.
        """
        if not classes.rows:
            return {}
        most, tail = _head_and_tail(self.histogram(classes), self.l)
        occupied = classes.sizes > 0
        most, tail = most[occupied], tail[occupied]
        ratios = np.divide(most, tail, out=np.full(len(most), np.inf), where=tail > 0)
        return {"c": float(ratios.max()), "l": self.l}

    def check(self, whole: Classes) -> None:
        """Raise `InfeasibleError` if the table has too few distinct values or too many of one."""
        DistinctLDiversity(self.sensitive, self.l).check(whole)
        if not self.violations(whole).any():
            return
        achieved = self.achieved(whole)["c"]
        raise InfeasibleError(
            f"c = {self.c} but in the whole table the most frequent value of column {self.sensitive!r} "
            f"is not rarer than c times all from number {self.l} on",
            hint=f"c above {achieved:.6g}",
            feasible=Feasible({"c": math.nextafter(achieved, math.inf)}, column=self.sensitive),
        )


def _head_and_tail(histogram: Histogram, rank: int) -> tuple[Counts, Counts]:
    """Return each class's largest count, and the sum of its counts from the given rank on."""
    indptr = histogram.indptr
    owners = histogram.owners()
    descending = histogram.counts[np.lexsort((-histogram.counts, owners))]
    ranks = np.arange(1, len(owners) + 1) - indptr[owners]
    tail = np.where(ranks >= rank, descending, 0)
    return per_class(np.maximum, descending, indptr=indptr), per_class(np.add, tail, indptr=indptr)
