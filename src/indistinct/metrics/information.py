"""Metrics of classes: their sizes, and the information that is lost in them."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

import numpy as np

from indistinct.errors import ParameterError
from indistinct.frequencies.value import Histogram
from indistinct.machine.arrays import Codes, Counts, Floats
from indistinct.metrics.base import Metric
from indistinct.parameters import ColumnName, Parameter, Whole
from indistinct.recoding.outputs import Assignment


class SizeMetric(Metric):
    """A metric of the sizes of released classes and the number of all rows.

    With `charges_suppressed`, a suppressed row costs no less than one in a class.
    """

    __slots__ = ()
    charges_suppressed: ClassVar[bool] = True

    @abstractmethod
    def of_counts(self, classes: Floats, squares: Floats, *, released: Floats, rows: int) -> Floats:
        """Return the metric of several releases of a table, from the classes, Σ|E|² and released rows of each."""

    def of_sizes(self, sizes: Counts, *, rows: int) -> float:
        """Return the metric of one release from the sizes of its classes."""
        classes, squares, released = np.array([[len(sizes)], [sizes @ sizes], [sizes.sum()]])
        return float(self.of_counts(classes, squares, released=released, rows=rows)[0])

    def value(self, assignment: Assignment) -> float:
        """Return the metric of a release; where people are counted, each counts once in every class."""
        sizes = assignment.classes.members.astype(np.int64, copy=False)
        return self.of_sizes(sizes, rows=int(sizes.sum()) + assignment.suppressed_members)


@dataclass(frozen=True, slots=True)
class Discernibility(SizeMetric):
    """The number of rows that look like each row, summed (C_DM): its class, or the table if it is suppressed.

    Σ|E|² + N·S, Bayardo and Agrawal (2005). A release whose classes have at least k rows gets at least k·N.
    """

    name: ClassVar[str] = "discernibility"
    meaning: ClassVar[str] = "the size of each row's class, summed"

    def of_counts(self, classes: Floats, squares: Floats, *, released: Floats, rows: int) -> Floats:
        """Return Σ|E|² over released classes plus rows times suppressed rows."""
        return np.asarray(squares + rows * (rows - released))

    def totals(self, part: Assignment) -> Codes:
        """Return Σ|E|² over the released classes of a part, and its suppressed rows."""
        sizes = part.classes.members.astype(np.int64, copy=False)
        return np.array([sizes @ sizes, part.suppressed_members])

    def of_totals(self, totals: Codes, *, rows: int) -> float:
        """Return the metric of a table with `rows` rows from the summed totals of all parts."""
        squares, suppressed = totals
        return float(self.of_counts(np.zeros(1), squares, released=rows - suppressed, rows=rows))


@dataclass(frozen=True, slots=True)
class AverageClassSize(SizeMetric):
    """The mean size of a released class, in units of k (C_AVG); 1 is the best that k-anonymity allows.

    (released rows / classes) / k, LeFevre et al. (2006). Suppressed rows are not counted, so read it together with
    their number. A release that suppresses every row has no class and gets infinity; an empty table gets 0. Without `k`
    the unit is the k that the release guarantees, and 1 where it is unknown.
    """

    name: ClassVar[str] = "average-class-size"
    meaning: ClassVar[str] = "mean class in units of k, 1 at best"
    charges_suppressed: ClassVar[bool] = False
    k: Annotated[
        int | None, Parameter("k", "Unit of the class size; by default the k that the release satisfies.", Whole())
    ] = None

    def for_promise(self, k: int) -> Self:
        """Return the metric in units of the guaranteed k, unless the metric has its own."""
        return self if self.k is not None else replace(self, k=k)

    def of_counts(self, classes: Floats, squares: Floats, *, released: Floats, rows: int) -> Floats:
        """Return the mean size of released classes divided by k."""
        none = np.full(np.shape(classes), math.inf if rows else 0.0)
        return np.divide(released, classes, where=classes > 0, out=none) / (self.k or 1)

    def of_class_number(self, classes: int, *, released: int, rows: int) -> float:
        """Return the metric: it looks at nothing but the number of classes."""
        mean = self.of_counts(np.array([classes]), np.zeros(1), released=np.array([released]), rows=rows)
        return float(mean[0])


# A dense table of counts is faster than a sort while it is not much longer than its input; up to this length always.
_SMALL_TABLE = 1 << 20


@dataclass(frozen=True, slots=True)
class NonUniformEntropy(Metric):
    """The bits of information needed to guess the original cells from the published ones.

    In each column, the sum of n(v, g)·log2(n(g) / n(v, g)), where n(v, g) rows of original value v show the
    published value g, and suppressed rows all show the same. Where a recoding sends each value to one
    published value, n(v, g) = n(v), the form of Gionis and Tassa (2009).

    Suppressed rows lose everything. Where a recoding defines how they would have been generalized, they are charged for
    that and for the entropy of their generalized values, as in a search of the lattice; otherwise they are charged the
    entropy of their original values, which is never more.

    Not monotone: where two classes show the same value and one of them is merged with a third, both values
    that they show afterwards may be easier to guess. It is monotone among recodings that generalize whole
    columns and suppress nothing.
    """

    name: ClassVar[str] = "entropy"
    meaning: ClassVar[str] = "bits missing to guess the original cells"
    monotone: ClassVar[bool] = False
    compares_cells: ClassVar[bool] = True

    def value(self, assignment: Assignment) -> float:
        """Return the sum over columns of rows times conditional entropy, in bits."""
        if not len(assignment.cells):
            return 0.0
        return sum(_missing_bits(assignment, index) for index in range(len(assignment.columns)))


@dataclass(frozen=True, slots=True)
class ClassificationMetric(Metric):
    """CM of Iyengar (2002): the share of rows that are suppressed or not in the majority of their class."""

    name: ClassVar[str] = "classification"
    counts_rows: ClassVar[bool] = True
    meaning: ClassVar[str] = "rows not of the majority of their class"
    bounds: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    target: Annotated[str, Parameter("Target", "Column that the classes predict.", ColumnName())]

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """The histogram of the target."""
        return ((self.target,),)

    def value(self, assignment: Assignment) -> float:
        """Return the penalties of all rows divided by their number; ties of majorities do not matter."""
        if not assignment.rows:
            return 0.0
        histogram = assignment.classes.histograms.get((self.target,))
        if histogram is None:
            raise ParameterError(
                f"the classes were counted without column {self.target!r}, the target of ClassificationMetric",
                hint="count the table again with the metric's `keys`",
            )
        return (assignment.rows - int(majorities(histogram).sum())) / assignment.rows


def majorities(histogram: Histogram) -> Counts:
    """Return the count of the most frequent value of each class that has rows."""
    starts = histogram.indptr[:-1][np.diff(histogram.indptr) > 0]
    return np.maximum.reduceat(histogram.counts, starts) if len(starts) else histogram.counts[:0]


def information_gain(children: Sequence[Sequence[int]] | Codes) -> float:
    """Return by how many bits a specialization reduces the entropy of the target.

    `children[c][s]` counts the rows of child c with target value s; the specialized node has all of them. Entropies are
    to base 2.
    """
    counts = np.asarray(children, dtype=np.float64)
    rows = counts.sum()
    if not rows:
        return 0.0
    bits = _total_bits(counts.sum(axis=0)) - sum(_total_bits(child) for child in counts)
    return max(0.0, bits / float(rows))


def privacy_loss(before: Sequence[int], after: Sequence[int]) -> float:
    """Return PL, the anonymity that a specialization costs, as the mean over the quasi-identifiers that it changes.

    `before[i]` and `after[i]` are the smallest class sizes with respect to the i-th of them.
    """
    if not before or len(before) != len(after):
        raise ParameterError(
            f"privacy loss compares equally many sizes before and after; got {len(before)} and {len(after)}",
            hint="give one smallest class size for each, before and after",
        )
    return (sum(before) - sum(after)) / len(before)


def igpl(gain: float, loss: float) -> float:
    """Return the trade of information gain against privacy loss, gain / (loss + 1); higher is better.

    The form of Fung et al.'s survey (2010); `information_gain_per_loss` is that of top-down specialization.
    """
    return gain / (loss + 1)


def information_gain_per_loss(gain: float, loss: float) -> float:
    """Return top-down specialization's score (Fung et al. 2005): gain / loss, or gain if nothing is lost."""
    return gain / loss if loss else gain


def _missing_bits(assignment: Assignment, index: int) -> float:
    """Return rows times H(original | published) of one column."""
    original = assignment.frequencies.vectors[assignment.cells, index]
    # Label -1 reads the last entry: 0, which is the number of no published value.
    codes = np.append(assignment.values[:, index].astype(np.int64) + 1, 0)
    published = codes[np.maximum(assignment.class_ids, -1)]
    again = 0.0
    if assignment.hidden is not None and len(assignment.hidden):
        # Suppressed rows lose first their generalization, then the generalized value itself.
        published[assignment.class_ids < 0] = assignment.hidden[:, index].astype(np.int64) + 1
        dropped = assignment.counts[assignment.class_ids < 0]
        again = _total_bits(np.bincount(assignment.hidden[:, index], weights=dropped))
    width = int(original.max()) + 1
    keys, joint = _sums_by_key(published * width + original, assignment.counts)
    whole = np.bincount(published, weights=assignment.counts)[keys // width]
    return float(joint @ np.log2(whole / joint)) + again


def _sums_by_key(keys: Codes, counts: Counts) -> tuple[Codes, Counts | Floats]:
    """Return (distinct keys, ascending; sum of the counts of each)."""
    if int(keys.max()) < max(4 * len(keys), _SMALL_TABLE):
        sums = np.bincount(keys, weights=counts)
        distinct = np.flatnonzero(sums)
        return distinct, sums[distinct]
    order = np.argsort(keys)
    ascending = keys[order]
    starts = np.flatnonzero(np.diff(ascending, prepend=-1))
    return ascending[starts], np.add.reduceat(counts[order].astype(np.float64), starts)


def _total_bits(counts: Counts | Floats) -> float:
    """Return rows times entropy of a histogram."""
    positive = counts[counts > 0]
    return float(positive @ np.log2(positive.sum() / positive))
