"""(X,Y)-anonymity: every class has enough distinct people, or other entities with several rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from indistinct.errors import Feasible, InfeasibleError
from indistinct.figures import plural
from indistinct.frequencies.value import Classes, Key
from indistinct.machine.arrays import Counts, Mask
from indistinct.models.base import DISTINCT, FOUND, HistogramTest, Model, ModelTraits, ModelWords
from indistinct.parameters import Parameter, SeveralTexts, Whole


@dataclass(frozen=True, slots=True)
class XYAnonymity(Model):
    """Every class has at least `k` distinct vectors of the columns `y` (Wang and Fung 2006).

    X is the quasi-identifier. With a person's identifier as `y` it counts people instead of rows, for
    tables in which one person has many rows. With a row key as `y` it is k-anonymity, with the sensitive
    column it is distinct l-diversity.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> XYAnonymity("patient", k=5).y
    ('patient',)
    """

    name: ClassVar[str] = "xy-anonymity"
    words: ClassVar[ModelWords] = ModelWords(
        "Several of something in each equivalence class (X,Y-anonymity)",
        FOUND,
        "Each equivalence class has at least k different values of chosen columns, such as people or households.",
        "An attacker who knows {quasi} of a person is left with at least {k} different values of {y}.",
    )
    larger_is_stronger: ClassVar[tuple[str, ...]] = ("k",)
    counts_rows: ClassVar[bool] = False
    traits: ClassVar[ModelTraits] = ModelTraits(absorbing=True)
    y: Annotated[
        tuple[str, ...],
        Parameter(
            "Counted columns (y)",
            "Columns whose distinct combinations are counted in each class, for example y=patient.",
            SeveralTexts("the name of a column, or of several", least=1),
        ),
    ]
    k: Annotated[
        int,
        Parameter(
            "Different values (k)", "Number of distinct values of y in each class, for example k=5.", Whole(), start="5"
        ),
    ]

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histogram of the vectors of `y`."""
        return (self.y,)

    @property
    def smallest(self) -> int:
        """A class needs `k` rows to hold `k` distinct vectors."""
        return self.k

    def people(self, classes: Classes) -> Counts:
        """Return the number of distinct vectors of `y` in each class."""
        return np.diff(classes.histograms[self.y].indptr)

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes with fewer than `k` distinct vectors of `y`."""
        return np.asarray((classes.sizes > 0) & (self.people(classes) < self.k))

    def histogram_tests(self, classes: Classes) -> tuple[HistogramTest, ...]:
        """Return the test of the number of distinct vectors."""
        return (HistogramTest(DISTINCT, self.y, least=self.k),)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the smallest number of distinct vectors as `k`; nothing where there are no rows."""
        return {"k": int(self.people(classes)[classes.sizes > 0].min())} if classes.rows else {}

    def check(self, whole: Classes) -> None:
        """Raise `InfeasibleError` if the table has fewer than `k` distinct vectors of `y`."""
        if not self.violations(whole).any():
            return
        most = int(self.achieved(whole)["k"])
        raise InfeasibleError(
            f"k = {self.k} but {' with '.join(map(repr, self.y))} has only {plural(most, 'distinct value')}",
            hint=f"choose a k of at most {most}; with {most} every class has all values",
            feasible=Feasible({"k": most}),
        )
