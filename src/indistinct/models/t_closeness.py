"""t-closeness: the sensitive values of every class are distributed nearly as in the whole table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, assert_never

import numpy as np

from indistinct.errors import ParameterError
from indistinct.frequencies.value import Classes, Histogram, Key
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.machine.arguments import REQUIRED
from indistinct.machine.arrays import Counts, Floats, Mask, starts_of
from indistinct.models.arithmetic import per_class, rows_above, whole_rows
from indistinct.models.base import EQUAL, HIERARCHICAL, LEARNED, ORDERED, HistogramTest, ModelWords, SensitiveModel
from indistinct.parameters import Number, Parameter

Distance = Literal["equal", "ordered", "hierarchical"]

# Rounding must not refuse a class that lies exactly on t; no real difference is this small.
_ROUNDING_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class TCloseness(SensitiveModel):
    """The sensitive column's distribution in every class is within `t` of that in the original table (Li et al. 2007).

    The distance is the earth mover's; like `t` it is in [0, 1]. To move a row from one value to another
    costs: `equal`, always 1; `ordered`, the difference of their ranks in ascending order, missing first,
    divided by the largest such difference; `hierarchical`, the height of their lowest common ancestor divided by
    that of the hierarchy. A class is accepted up to t + 1e-9, which absorbs rounding and nothing else.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> TCloseness("salary", t=0.2, distance="ordered").spec()
    't-closeness:sensitive=salary,t=0.2,distance=ordered'
    """

    name: ClassVar[str] = "t-closeness"
    words: ClassVar[ModelWords] = ModelWords(
        "Each equivalence class is like the whole table (t-closeness)",
        LEARNED,
        "It may be telling already that an equivalence class differs from everybody.",
        "How {sensitive} is distributed among people who look alike differs from the whole table by {t} at most, "
        "where 0 is not at all and 1 is as much as can be.",
    )
    splits_people: ClassVar[bool] = True
    compares_with_original: ClassVar[bool] = True
    t: Annotated[
        float,
        Parameter(
            "Largest distance (t)",
            "Largest distance between a class and the whole table, from 0 to 1, for example t=0.2; smaller is "
            "stricter.",
            Number("from 0 to 1", low=0, high=1),
            start="0.2",
        ),
    ] = REQUIRED
    distance: Annotated[
        Distance,
        Parameter(
            "Distance between values",
            "equal: all alike; ordered: near numbers differ less; hierarchical: by the column's hierarchy.",
        ),
    ] = "equal"

    @property
    def needs_hierarchies(self) -> tuple[str, ...]:
        """The sensitive column, where distances come from its hierarchy."""
        return (self.sensitive,) if self.distance == "hierarchical" else ()

    @property
    def ordered(self) -> tuple[Key, ...]:
        """The sensitive column, where distances come from the order of its values."""
        return self.keys if self.distance == "ordered" else ()

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes that are farther than `t` from the whole table."""
        return np.asarray((classes.sizes > 0) & (self._distances(classes) > self.t + _ROUNDING_TOLERANCE))

    def histogram_tests(self, classes: Classes) -> tuple[HistogramTest, ...]:
        """Return the test of the distance; none where every distance is 0."""
        histogram, limit = self.histogram(classes), self.t + _ROUNDING_TOLERANCE
        shares = _shares(histogram.reference)
        match self.distance:
            case "equal":
                return (HistogramTest(EQUAL, self.keys[0], limit=limit, table=shares),)
            case "ordered":
                cumulative = np.cumsum(histogram.reference) / max(histogram.reference.sum(), 1)
                table = np.concatenate([cumulative, [0.0], np.cumsum(cumulative)])
                own = HistogramTest(ORDERED, self.keys[0], limit=limit, table=table)
                return (own,) if len(shares) > 1 else ()
            case "hierarchical":
                taxonomy = self._taxonomy(histogram)
                if not taxonomy.height:
                    return ()
                below = [taxonomy.ancestors[:, level] for level in range(taxonomy.height)]
                levels = [_shares(np.bincount(nodes, weights=histogram.reference)) for nodes in below]
                bases = starts_of([len(level) for level in levels])
                nodes = np.stack([nodes + base for nodes, base in zip(below, bases[:-1], strict=True)], axis=1)
                table = np.concatenate(levels)
                return (HistogramTest(HIERARCHICAL, self.keys[0], limit=limit, table=table, nodes=nodes),)
            case _:
                assert_never(self.distance)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the largest distance as `t`; nothing where there are no rows."""
        return {"t": float(self._distances(classes)[classes.sizes > 0].max())} if classes.rows else {}

    def inevitable(self, classes: Classes) -> Counts:
        """Return how many rows of each class must be suppressed before any split of the rest can be within `t`.

        The rest after a split is a union of parts within `t`, and the distance is convex, so the rest is within `t`
        itself. Distances are at most 1, so n rows at distance d lose at least (d - t) / (1 - t) of n. Where all values
        are equally far apart more is known: each row that goes takes at most 1 from the excess of the rest's counts
        over the table's shares, and of m rows that remain the excess is at most t·m.
        """
        t, sizes = self.t + 2 * _ROUNDING_TOLERANCE, classes.sizes
        if self.distance == "equal":
            histogram = self.histogram(classes)
            gone = rows_above(histogram, sizes, shares=_shares(histogram.reference)[histogram.codes], slack=t)
        else:
            excess = np.maximum(self._distances(classes) - t, 0.0) / max(1 - t, _ROUNDING_TOLERANCE)
            gone = whole_rows(sizes * excess, most=sizes)
        return self._all_or_enough(classes, gone)

    def _distances(self, classes: Classes) -> Floats:
        """Return the distance of each class by the chosen measure."""
        histogram = self.histogram(classes)
        match self.distance:
            case "equal":
                return _equal(histogram, classes.sizes)
            case "ordered":
                return _ordered_distance(histogram, classes.sizes)
            case "hierarchical":
                return _hierarchical(histogram, classes.sizes, taxonomy=self._taxonomy(histogram))
            case _:
                assert_never(self.distance)

    def _taxonomy(self, histogram: Histogram) -> Taxonomy:
        """Return the hierarchy for the distance; raise without one with a single root."""
        if histogram.taxonomy is None:
            raise ParameterError(
                f'`distance` of TCloseness is "hierarchical", but column {self.sensitive!r} has no hierarchy',
                hint=f'give a hierarchy for {self.sensitive!r}, or use distance="equal" or "ordered"',
            )
        if not histogram.taxonomy.rooted:
            raise ParameterError(
                f'`distance` of TCloseness is "hierarchical", but the hierarchy of column {self.sensitive!r} '
                f"ends in {len(histogram.taxonomy.labels[-1])} values",
                hint="add a last level with one value for all",
            )
        return histogram.taxonomy


def _equal(histogram: Histogram, sizes: Counts) -> Floats:
    """Half the L1 distance, as the mass by which a class exceeds the table; values that it lacks need no entry."""
    owners = histogram.owners()
    excess = histogram.counts / sizes[owners] - _shares(histogram.reference)[histogram.codes]
    return per_class(np.add, np.maximum(excess, 0.0), indptr=histogram.indptr)


def _ordered_distance(histogram: Histogram, sizes: Counts) -> Floats:
    """The area between two cumulative distributions, one run of equal class values at a time.

    A class's cumulative share is constant from one of its codes to the next while the table's only grows,
    so the table crosses it once in each run, and prefix sums give the area on both sides of the crossing.
    """
    positions = len(histogram.reference)
    if positions < 2 or not len(histogram.codes):
        return np.zeros(len(sizes))
    owners, starts = histogram.owners(), histogram.codes.astype(np.int64)
    last = histogram.indptr[1:][owners] - 1 == np.arange(len(owners))
    ends = np.where(last, positions, np.append(starts[1:], positions))
    running = np.cumsum(histogram.counts, dtype=np.int64)
    before = np.concatenate([[0], running])[histogram.indptr[:-1]]
    running -= before[owners]

    table = np.cumsum(histogram.reference, dtype=np.int64)
    area = np.concatenate([[0], np.cumsum(table)])
    rows = int(table[-1])
    # The first index where the table's share exceeds the class's; where both are equal, either side has the same area.
    crossing = np.searchsorted(table / rows, running / sizes[owners], side="right").clip(starts, ends)
    below = (crossing - starts) * running / sizes[owners] - (area[crossing] - area[starts]) / rows
    above = (area[ends] - area[crossing]) / rows - (ends - crossing) * running / sizes[owners]
    between = np.maximum(below + above, 0.0)
    head = np.zeros(len(sizes))
    occupied = np.flatnonzero(np.diff(histogram.indptr))
    head[occupied] = area[starts[histogram.indptr[occupied]]] / rows
    return (head + per_class(np.add, between, indptr=histogram.indptr)) / (positions - 1)


def _hierarchical(histogram: Histogram, sizes: Counts, *, taxonomy: Taxonomy) -> Floats:
    """The mean over all levels below the top of the equal distance between the generalized distributions.

    Li et al. charge each inner node height/H times the smaller of its children's surplus and deficit.
    That is half the amount by which the children's absolute extras exceed the node's own, so in the sum
    over levels all but one H-th of each level's half L1 distance cancels.
    """
    distance = np.zeros(len(sizes))
    if not taxonomy.height or not len(histogram.codes):
        return distance
    owners, ranks = histogram.owners(), taxonomy.ranks().astype(np.int64)
    order = np.argsort(owners * len(ranks) + ranks[histogram.codes], kind="stable")
    codes, counts = histogram.codes[order], histogram.counts[order]
    for level in range(taxonomy.height):
        ancestors = taxonomy.ancestors[:, level]
        nodes = ancestors[codes]
        fresh = np.diff(nodes, prepend=-1) != 0
        fresh[histogram.indptr[:-1][np.diff(histogram.indptr) > 0]] = True
        runs = np.flatnonzero(fresh)
        table = _shares(np.bincount(ancestors, weights=histogram.reference))
        excess = np.add.reduceat(counts, runs) / sizes[owners[runs]] - table[nodes[runs]]
        distance += np.bincount(owners[runs], weights=np.maximum(excess, 0.0), minlength=len(sizes))
    return distance / taxonomy.height


def _shares(counts: Counts) -> Floats:
    return np.asarray(counts / max(counts.sum(), 1))
