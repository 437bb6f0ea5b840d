"""Metrics of how far each cell was generalized: over its column's domain, or up its hierarchy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, get_args

import numpy as np

from indistinct.errors import HierarchyError, ParameterError, did_you_mean
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.machine.arrays import Floats
from indistinct.metrics.base import CellMetric, Goal, SummedMetric, mean_per_cell
from indistinct.parameters import Number, Parameter, check_parameters
from indistinct.recoding.columns import NO_IMPORTANCE, AnyImportance, Importance, importance_of
from indistinct.recoding.outputs import PublishedColumn


@dataclass(frozen=True, slots=True)
class Loss(CellMetric):
    """LM, Iyengar's loss metric, as the mean over all cells of the table: 0 is unmodified, 1 all lost.

    A value that covers v of the column's n values costs (v - 1) / (n - 1), a range its share of the column's width.
    """

    name: ClassVar[str] = "loss"
    meaning: ClassVar[str] = "mean share of detail lost in a cell"
    bounds: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)

    def charge(self, column: PublishedColumn) -> Floats:
        """Charge LM; a suppressed cell counts 1."""
        if column.ranged:
            return _widths(column)
        return (column.leaves - 1) / (column.size - 1) if column.size > 1 else np.zeros(len(column))

    def combine(self, totals: Floats, *, rows: int) -> Floats:
        """Return the mean LM of a cell."""
        return mean_per_cell(totals, rows=rows)


@dataclass(frozen=True, slots=True)
class GeometricLoss(Loss):
    """The geometric mean over columns of 1 + LM, minus 1, where a column's LM is its mean over all rows.

    It is at most `Loss`, and equal to it where every column loses the same.
    """

    name: ClassVar[str] = "geometric-loss"
    meaning: ClassVar[str] = "loss, as a geometric mean over columns"

    def combine(self, totals: Floats, *, rows: int) -> Floats:
        """Return the d-th root of the product of 1 + L, minus 1, over the d columns' mean losses L."""
        return np.asarray(np.expm1(np.log1p(totals / max(rows, 1)).mean(axis=-1)))

    def combine_weighted(self, totals: Floats, weights: Floats, *, rows: int) -> Floats:
        """Return the weighted geometric mean of 1 + L, minus 1."""
        return np.asarray(np.expm1((weights * np.log1p(totals / weights / max(rows, 1))).mean(axis=-1)))


@dataclass(frozen=True, slots=True)
class ILoss(SummedMetric):
    """ILoss of Xiao and Tao (2006), summed over all rows; `importance` weights columns."""

    name: ClassVar[str] = "iloss"
    meaning: ClassVar[str] = "detail lost, summed over all cells"
    counts_values: ClassVar[bool] = True
    importance: Annotated[
        Importance,
        Parameter("Attribute weights", "Weights of quasi-identifiers, such as age=3|sex=2; the default is 1."),
    ] = NO_IMPORTANCE

    def charge(self, column: PublishedColumn) -> Floats:
        """Charge ILoss."""
        lost = (column.leaves - 1) / column.size if column.size else np.zeros(len(column))
        return self.importance.of(column.column) * lost

    def dropped(self, column: PublishedColumn) -> float:
        """Charge a suppressed cell as much as the whole domain."""
        return self.importance.of(column.column) * (column.size - 1) / column.size if column.size else 0.0


@dataclass(frozen=True, slots=True)
class NCP(SummedMetric):
    """Normalized certainty penalty of Xu et al. (2006), summed over all rows; `importance` weights columns.

    A value that covers v > 1 of the column's n values costs v / n, a range its width as a share of the column's.
    """

    name: ClassVar[str] = "ncp"
    meaning: ClassVar[str] = "width of published values, all cells"
    importance: Annotated[
        Importance,
        Parameter("Attribute weights", "Weights of quasi-identifiers, such as age=3|sex=2; the default is 1."),
    ] = NO_IMPORTANCE

    def charge(self, column: PublishedColumn) -> Floats:
        """Charge NCP."""
        return self.importance.of(column.column) * ncp_fractions(column)

    def dropped(self, column: PublishedColumn) -> float:
        """Charge a suppressed cell as much as the whole domain."""
        return self.importance.of(column.column)


@dataclass(frozen=True, slots=True)
class GCP(CellMetric):
    """Global certainty penalty: NCP as the mean over all cells of the original table.

    A value that covers v > 1 of the column's n values costs v / n; `loss` charges (v - 1) / (n - 1).
    """

    name: ClassVar[str] = "gcp"
    meaning: ClassVar[str] = "mean width of a published value, 0 to 1"
    bounds: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)

    def charge(self, column: PublishedColumn) -> Floats:
        """Charge NCP; a suppressed cell counts 1."""
        return ncp_fractions(column)

    def combine(self, totals: Floats, *, rows: int) -> Floats:
        """Return NCP / (rows * columns)."""
        return mean_per_cell(totals, rows=rows)


def ncp_fractions(column: PublishedColumn) -> Floats:
    """Return NCP of each published value of a column; a single leaf costs nothing."""
    if column.ranged:
        return _widths(column)
    return np.where(column.leaves == 1, 0.0, column.leaves / max(column.size, 1))


def _widths(column: PublishedColumn) -> Floats:
    return (column.high - column.low) / column.span if column.span else np.zeros(len(column))


Scheme = Literal["uniform", "height"]


@dataclass(frozen=True, slots=True)
class Precision(CellMetric):
    """Sweeney's precision (2002): 1 is unmodified, 0 is everything at the top of its hierarchy.

    1 minus the mean over all cells of level / height; a suppressed cell counts as the top.
    """

    name: ClassVar[str] = "precision"
    meaning: ClassVar[str] = "1 is untouched, 0 all at the top"
    goal: ClassVar[Goal] = "max"
    bounds: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)

    def charge(self, column: PublishedColumn) -> Floats:
        """Charge level / height; a suppressed cell counts 1."""
        return column.levels / column.height if column.height else np.zeros(len(column))

    def combine(self, totals: Floats, *, rows: int) -> Floats:
        """Return 1 minus the mean of level / height."""
        return 1.0 - mean_per_cell(totals, rows=rows)


@dataclass(frozen=True, slots=True)
class Distortion(SummedMetric):
    """Distortion of Li et al. (2006): how far every cell was generalized up its hierarchy, summed over all rows.

    `scheme` weights the edges of a hierarchy: "uniform", or "height" with exponent `beta`, where an edge costs more the
    nearer it is to the root. `importance` weights columns.
    """

    name: ClassVar[str] = "distortion"
    meaning: ClassVar[str] = "steps up the hierarchies, all cells"
    scheme: Annotated[
        Scheme,
        Parameter(
            "Weights of levels",
            "uniform: every step up a hierarchy costs the same; height: steps near the root cost more.",
        ),
    ] = "uniform"
    beta: Annotated[
        float,
        Parameter(
            "Exponent of the weights",
            "Makes steps near the root dearer with scheme=height, at least 1; 1 is usual.",
            Number("at least 1", low=1),
        ),
    ] = 1.0
    importance: Annotated[
        Importance,
        Parameter("Attribute weights", "Weights of quasi-identifiers, such as age=3|sex=2; the default is 1."),
    ] = NO_IMPORTANCE

    def __post_init__(self) -> None:
        check_parameters(self)
        SummedMetric.__post_init__(self)

    def charge(self, column: PublishedColumn) -> Floats:
        """Charge the distance from the raw value to the published one."""
        steps = step_costs(column.height, scheme=self.scheme, beta=self.beta)
        return self.importance.of(column.column) * steps[column.levels]

    def dropped(self, column: PublishedColumn) -> float:
        """Charge a suppressed cell as much as the top of its hierarchy."""
        return self.importance.of(column.column)


@dataclass(frozen=True, slots=True)
class GeneralizedTuple:
    """A row, or a class of rows, as nodes of hierarchies.

    In each column, the node on level `levels[j]` above the raw value `codes[j]`; any raw value below it
    will do. A row of the original table has level 0 everywhere.
    """

    codes: tuple[int, ...]
    levels: tuple[int, ...]

    @classmethod
    def raw(cls, codes: Sequence[int]) -> "GeneralizedTuple":
        """Return an original row as a tuple."""
        return cls(tuple(codes), (0,) * len(codes))


def edge_weights(height: int, *, scheme: Scheme = "uniform", beta: float = 1.0) -> Floats:
    """Return the weights of the edges from a leaf to the root."""
    if scheme not in get_args(Scheme):
        known = ", ".join(get_args(Scheme))
        raise ParameterError(
            f"`scheme` must be one of {known}; got {scheme!r}", hint=did_you_mean(scheme, get_args(Scheme))
        )
    if not beta >= 1:
        raise ParameterError(
            f"`beta` must be at least 1; got {beta}", hint="1 is the usual choice; more makes high edges dearer"
        )
    # Scheme height: the edge between levels j and j-1, counted from the root, has weight 1/(j-1)^beta.
    return np.ones(height) if scheme == "uniform" else np.arange(height, 0, -1, dtype=np.float64) ** -beta


def step_costs(height: int, *, scheme: Scheme = "uniform", beta: float = 1.0) -> Floats:
    """Return the distance from a leaf to its ancestor on each level, from raw (0) to the top (1)."""
    climbed = np.concatenate([np.zeros(1), np.cumsum(edge_weights(height, scheme=scheme, beta=beta))])
    return climbed / climbed[-1] if height else climbed


def weighted_hierarchical_distance(
    p: int, q: int, *, height: int, scheme: Scheme = "uniform", beta: float = 1.0
) -> float:
    """Return WHD(p, q): the share of a hierarchy's edge weights between two of its levels.

    Levels are counted from the root: 1 is the root, `height + 1` a leaf, and `p` is the more specific one.

    >>> weighted_hierarchical_distance(6, 4, height=5)
    0.4
    """
    leaf = height + 1
    if not 1 <= q <= p <= leaf:
        raise ParameterError(
            f"levels counted from the root must satisfy 1 <= q <= p <= {leaf}; got p = {p}, q = {q}",
            hint="a level counted upward from raw is `height + 1 - level` here",
        )
    if p == q:
        return 0.0
    weights = edge_weights(height, scheme=scheme, beta=beta)
    return float(weights[leaf - p : leaf - q].sum() / weights.sum())


def closest_common(
    first: GeneralizedTuple, second: GeneralizedTuple, *, taxonomies: Sequence[Taxonomy]
) -> GeneralizedTuple:
    """Return the closest common generalization of two tuples, column by column."""
    levels = []
    for index, taxonomy in enumerate(taxonomies):
        floor = max(first.levels[index], second.levels[index])
        mine, yours = taxonomy.ancestors[[first.codes[index], second.codes[index]], floor:]
        shared = np.flatnonzero(mine == yours)
        if not len(shared):
            raise HierarchyError(
                f"the hierarchy of column {taxonomy.column!r} has no common root",
                hint="add a level on which every value is the same",
            )
        levels.append(floor + int(shared[0]))
    return GeneralizedTuple(first.codes, tuple(levels))


def tuple_distortion(
    specific: GeneralizedTuple,
    general: GeneralizedTuple,
    *,
    taxonomies: Sequence[Taxonomy],
    scheme: Scheme = "uniform",
    beta: float = 1.0,
    importance: AnyImportance = None,
) -> float:
    """Return the distance from a tuple to a generalization of it: the weighted sum of its columns' distances."""
    weights = importance_of(importance)
    weights.check([taxonomy.column for taxonomy in taxonomies])
    heights = [taxonomy.height for taxonomy in taxonomies]
    climbs = [
        weighted_hierarchical_distance(top + 1 - below, top + 1 - above, height=top, scheme=scheme, beta=beta)
        for top, below, above in zip(heights, specific.levels, general.levels, strict=True)
    ]
    return math.fsum(weights.of(taxonomy.column) * climb for taxonomy, climb in zip(taxonomies, climbs, strict=True))


def tuple_distance(
    first: GeneralizedTuple,
    second: GeneralizedTuple,
    *,
    taxonomies: Sequence[Taxonomy],
    scheme: Scheme = "uniform",
    beta: float = 1.0,
    importance: AnyImportance = None,
) -> float:
    """Return Dist(t1, t2): the distortion of generalizing both tuples to their closest common generalization.

    On original rows it is a metric: symmetric, 0 only for equal rows, and it obeys the triangle inequality. A `Problem`
    has `taxonomies`, and its `tuple_of` makes tuples from values and labels.
    """
    return class_distance(
        first, second, sizes=(1, 1), taxonomies=taxonomies, scheme=scheme, beta=beta, importance=importance
    )


def class_distance(
    first: GeneralizedTuple,
    second: GeneralizedTuple,
    *,
    sizes: tuple[int, int],
    taxonomies: Sequence[Taxonomy],
    scheme: Scheme = "uniform",
    beta: float = 1.0,
    importance: AnyImportance = None,
) -> float:
    """Return Dist(C1, C2): `tuple_distance` with each side's distortion counted for each of its rows.

    The distortion of a release is not the sum of such distances over the merges that led to it; measure it
    with `Distortion`, from the original rows.
    """
    common = closest_common(first, second, taxonomies=taxonomies)
    return sum(
        size * tuple_distortion(side, common, taxonomies=taxonomies, scheme=scheme, beta=beta, importance=importance)
        for size, side in zip(sizes, (first, second), strict=True)
    )
