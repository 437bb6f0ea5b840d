"""Distinct l-diversity: every class has enough different sensitive values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from indistinct.errors import Feasible, InfeasibleError
from indistinct.figures import plural
from indistinct.frequencies.value import Classes
from indistinct.machine.arguments import REQUIRED
from indistinct.machine.arrays import Counts, Mask
from indistinct.models.base import DISTINCT, LEARNED, HistogramTest, ModelTraits, ModelWords, SensitiveModel
from indistinct.parameters import Parameter, Whole

L = Parameter(
    "Different values (l)",
    "Number of sensitive values that each class keeps possible, for example l=3; no more than the column has.",
    Whole(),
    start="3",
)


@dataclass(frozen=True, slots=True)
class DistinctLDiversity(SensitiveModel):
    """Every class holds at least `l` distinct values of the sensitive column (Machanavajjhala et al. 2006).

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> DistinctLDiversity("disease", l=3).spec()
    'distinct-l-diversity:sensitive=disease,l=3'
    """

    name: ClassVar[str] = "distinct-l-diversity"
    words: ClassVar[ModelWords] = ModelWords(
        "Several values in each equivalence class (distinct l-diversity)",
        LEARNED,
        "An equivalence class with a single sensitive value reveals it. This asks for at least l different ones.",
        "People who look alike have at least {l} different values of {sensitive} among them.",
    )
    larger_is_stronger: ClassVar[tuple[str, ...]] = ("l",)
    counts_rows: ClassVar[bool] = False
    traits: ClassVar[ModelTraits] = ModelTraits(absorbing=True)
    l: Annotated[int, L] = REQUIRED

    @property
    def smallest(self) -> int:
        """A class needs `l` rows to hold `l` values."""
        return self.l

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes with fewer than `l` distinct values."""
        return np.asarray((classes.sizes > 0) & (self._distinct(classes) < self.l))

    def histogram_tests(self, classes: Classes) -> tuple[HistogramTest, ...]:
        """Return the test of the number of values."""
        return (HistogramTest(DISTINCT, self.keys[0], least=self.l),)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the smallest number of distinct values as `l`; nothing where there are no rows."""
        return {"l": int(self._distinct(classes)[classes.sizes > 0].min())} if classes.rows else {}

    def check(self, whole: Classes) -> None:
        """Raise `InfeasibleError` if the table has fewer than `l` distinct values."""
        if not self.violations(whole).any():
            return
        most = int(self.achieved(whole)["l"])
        raise InfeasibleError(
            f"l = {self.l} but column {self.sensitive!r} has only {plural(most, 'distinct value')}",
            hint=f"choose an l of at most {most}; with {most} every class has all values",
            feasible=Feasible({"l": most}, column=self.sensitive),
        )

    def _distinct(self, classes: Classes) -> Counts:
        return np.diff(self.histogram(classes).indptr)
