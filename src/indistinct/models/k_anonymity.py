"""k-anonymity: every class has enough rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from indistinct.errors import Feasible, InfeasibleError
from indistinct.figures import plural
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Mask
from indistinct.models.base import FOUND, SIZE, HistogramTest, Model, ModelTraits, ModelWords
from indistinct.parameters import Parameter, Whole

K = Parameter(
    "Smallest class (k)",
    "Number of rows that share each published combination of quasi-identifier values, for example k=5; 11 or 12 is "
    "usual for public releases.",
    Whole(),
    start="11",
)
# With a second condition, forms start with a smaller k.
K_OF_SEVERAL = replace(K, start="5")


@dataclass(frozen=True, slots=True)
class KAnonymity(Model):
    """Every class has at least `k` rows (Samarati 2001, Sweeney 2002).

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> KAnonymity(k=5).spec()
    'k-anonymity:k=5'
    """

    name: ClassVar[str] = "k-anonymity"
    words: ClassVar[ModelWords] = ModelWords(
        "No person is singled out (k-anonymity)",
        FOUND,
        "Every person shares all published quasi-identifiers with at least k - 1 others.",
        "An attacker who knows {quasi} of a person is left with at least {k} {unit}.",
    )
    larger_is_stronger: ClassVar[tuple[str, ...]] = ("k",)
    traits: ClassVar[ModelTraits] = ModelTraits(absorbing=True, sizes_only=True)
    row_counts: ClassVar[tuple[str, ...]] = ("k",)
    k: Annotated[int, K]

    @property
    def smallest(self) -> int:
        """A class needs `k` rows, and nothing else."""
        return self.k

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes with fewer than `k` rows; an empty class breaks nothing."""
        return np.asarray((classes.sizes > 0) & (classes.sizes < self.k))

    def histogram_tests(self, classes: Classes) -> tuple[HistogramTest, ...]:
        """Return the test of the size."""
        return (HistogramTest(SIZE, least=self.k),)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the size of the smallest class as `k`; nothing where there are no rows."""
        return {"k": int(classes.sizes[classes.sizes > 0].min())} if classes.rows else {}

    def check(self, whole: Classes) -> None:
        """Raise `InfeasibleError` if the table has fewer than `k` rows."""
        if 0 < whole.rows < self.k:
            raise InfeasibleError(
                f"k = {self.k} but the table has only {plural(whole.rows, 'row')}",
                hint=f"choose a k of at most {whole.rows}; with {whole.rows} all rows form one class",
                feasible=Feasible({"k": whole.rows}),
            )


def sizes_asked(models: Sequence[Model]) -> list[int]:
    """Return every k that models require as k-anonymity.

    >>> sizes_asked([KAnonymity(5)])
    [5]
    """
    return [model.k for model in models if isinstance(model, KAnonymity)]


def with_size(models: Sequence[Model], k: int) -> tuple[Model, ...]:
    """Return the models with k-anonymity at another k, added if none requires it.

    >>> with_size([KAnonymity(5)], 10), with_size([], 10)
    ((KAnonymity(k=10),), (KAnonymity(k=10),))
    """
    if not sizes_asked(models):
        return (KAnonymity(k), *models)
    return tuple(replace(model, k=k) if isinstance(model, KAnonymity) else model for model in models)
