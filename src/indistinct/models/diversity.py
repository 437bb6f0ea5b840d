"""Models that ask for variety: enough well represented sensitive values in every class.

All three are of Machanavajjhala et al. 2006.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from indistinct.arrays import Codes
from indistinct.errors import InfeasibleError
from indistinct.frequencies.value import Classes, Histogram, Key
from indistinct.models import parameters
from indistinct.models.arithmetic import cross_multiplied, per_class
from indistinct.models.base import Model, ModelTraits

_L_HINT = "l is the number of sensitive values that a class keeps possible, for example l=3"
# Rounding in a sum of logarithms must not refuse a uniform class; no real difference is this small.
_NOISE = 1e-9


@dataclass(frozen=True, slots=True)
class DistinctLDiversity(Model):
    """Every class holds at least `l` distinct values of the sensitive column.

    >>> DistinctLDiversity("disease", l=3).spec()
    'distinct-l-diversity:sensitive=disease,l=3'
    """

    name: ClassVar[str] = "distinct-l-diversity"
    traits: ClassVar[ModelTraits] = ModelTraits(absorbing=True)
    sensitive: str
    l: int

    def __post_init__(self) -> None:
        parameters.column(self, "sensitive")
        parameters.whole_number(self, "l", hint=_L_HINT)

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histogram of the sensitive column."""
        return ((self.sensitive,),)

    @property
    def smallest(self) -> int:
        """A class needs `l` rows to hold `l` values."""
        return self.l

    def violations(self, classes: Classes) -> Codes:
        """Return a mask of the classes with fewer than `l` distinct values."""
        return np.asarray((classes.sizes > 0) & (_distinct(classes, self.sensitive) < self.l))

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the smallest number of distinct values as `l`; nothing where there are no rows."""
        distinct = _distinct(classes, self.sensitive)
        return {"l": int(distinct[classes.sizes > 0].min())} if classes.rows else {}

    def check(self, whole: Classes) -> None:
        """Raise `InfeasibleError` if the table has fewer than `l` distinct values."""
        _check_distinct(self.sensitive, self.l, whole=whole)


@dataclass(frozen=True, slots=True)
class EntropyLDiversity(Model):
    """The entropy of the sensitive column in every class is at least log `l`.

    `l` need not be whole. The exponential of the entropy is compared with `l` less a relative 1e-9, which
    absorbs rounding and nothing else: a class that is uniform over exactly `l` values satisfies `l`.

    >>> EntropyLDiversity("disease", l=2.5).smallest
    3
    """

    name: ClassVar[str] = "entropy-l-diversity"
    sensitive: str
    l: float

    def __post_init__(self) -> None:
        parameters.column(self, "sensitive")
        parameters.real_number(self, "l", wanted="at least 1", low=1, high=math.inf, hint=_L_HINT)

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histogram of the sensitive column."""
        return ((self.sensitive,),)

    @property
    def smallest(self) -> int:
        """A class needs as many rows as values, and entropy log `l` needs at least `l` values."""
        return math.ceil(self.l)

    def violations(self, classes: Classes) -> Codes:
        """Return a mask of the classes whose entropy is below log `l`."""
        achieved = _exponential_entropy(classes.histograms[(self.sensitive,)], classes.sizes)
        return np.asarray((classes.sizes > 0) & (achieved < self.l * (1 - _NOISE)))

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the smallest exponential of an entropy as `l`; nothing where there are no rows."""
        achieved = _exponential_entropy(classes.histograms[(self.sensitive,)], classes.sizes)
        return {"l": float(achieved[classes.sizes > 0].min())} if classes.rows else {}


@dataclass(frozen=True, slots=True)
class RecursiveLDiversity(Model):
    """In every class the most frequent sensitive value is rarer than `c` times the `l`-th and all after it.

    With counts in descending order, r1 < c · (rl + … + rm); a class with fewer than `l` values fails. `c` is
    compared without rounding: 0.1 means one tenth.

    >>> RecursiveLDiversity("disease", c=2, l=3).spec()
    'recursive-l-diversity:sensitive=disease,c=2.0,l=3'
    """

    name: ClassVar[str] = "recursive-l-diversity"
    sensitive: str
    c: float | Fraction
    l: int

    def __post_init__(self) -> None:
        parameters.column(self, "sensitive")
        parameters.ratio(
            self,
            "c",
            wanted="above 0",
            high=math.inf,
            hint="c bounds the most frequent value by c times the rarer ones, for example c=2",
        )
        parameters.whole_number(self, "l", hint=_L_HINT)

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histogram of the sensitive column."""
        return ((self.sensitive,),)

    @property
    def smallest(self) -> int:
        """A class needs `l` rows to hold `l` values."""
        return self.l

    def violations(self, classes: Classes) -> Codes:
        """Return a mask of the classes whose most frequent value is not below `c` times the tail."""
        most, tail = _head_and_tail(classes.histograms[(self.sensitive,)], self.l)
        counts, allowed = cross_multiplied(most, tail, ratio=parameters.exact(self.c))
        return np.asarray((classes.sizes > 0) & (counts >= allowed))

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the largest ratio of head to tail as `c`, beside the `l` it is for; nothing without rows.

        The release satisfies every greater `c`; infinity says that some class has fewer than `l` values.
        """
        if not classes.rows:
            return {}
        most, tail = _head_and_tail(classes.histograms[(self.sensitive,)], self.l)
        occupied = classes.sizes > 0
        most, tail = most[occupied], tail[occupied]
        ratios = np.divide(most, tail, out=np.full(len(most), np.inf), where=tail > 0)
        return {"c": float(ratios.max()), "l": self.l}

    def check(self, whole: Classes) -> None:
        """Raise `InfeasibleError` if the table has too few distinct values or too many of one."""
        _check_distinct(self.sensitive, self.l, whole=whole)
        if not self.violations(whole).any():
            return
        raise InfeasibleError(
            f"c = {self.c} but in the whole table the most frequent value of column {self.sensitive!r} "
            f"is not rarer than c times all from number {self.l} on",
            hint=f"c above {self.achieved(whole)['c']:.6g}",
        )


def _distinct(classes: Classes, sensitive: str) -> Codes:
    return np.diff(classes.histograms[(sensitive,)].indptr)


def _check_distinct(sensitive: str, wanted: int, *, whole: Classes) -> None:
    distinct = _distinct(whole, sensitive)[whole.sizes > 0]
    if len(distinct) and distinct.min() < wanted:
        most = int(distinct.min())
        raise InfeasibleError(
            f"l = {wanted} but column {sensitive!r} has only {most} distinct value(s)",
            hint=f"l at most {most}",
        )


def _exponential_entropy(histogram: Histogram, sizes: Codes) -> Codes:
    shares = histogram.counts / np.repeat(sizes, np.diff(histogram.indptr))
    return np.exp(-per_class(np.add, shares * np.log(shares), indptr=histogram.indptr))


def _head_and_tail(histogram: Histogram, rank: int) -> tuple[Codes, Codes]:
    """Return each class's largest count, and the sum of its counts from the given rank on."""
    indptr = histogram.indptr
    owners = histogram.owners()
    descending = histogram.counts[np.lexsort((-histogram.counts, owners))]
    ranks = np.arange(1, len(owners) + 1) - indptr[owners]
    tail = np.where(ranks >= rank, descending, 0)
    return per_class(np.maximum, descending, indptr=indptr), per_class(np.add, tail, indptr=indptr)
