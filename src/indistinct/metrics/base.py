"""What a metric is: it measures how much a recoding costs, in a search and in the report."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import ClassVar, Literal, Protocol, Self

import numpy as np

from indistinct.frequencies.value import PERSON
from indistinct.machine.arrays import Array, Floats
from indistinct.parameters import WithDocumentedParameters, check_parameters
from indistinct.recoding.columns import Importance, importance_of
from indistinct.recoding.outputs import Assignment, PublishedColumn

Goal = Literal["min", "max"]
BETTER: Mapping[Goal, str] = MappingProxyType({"min": "lower", "max": "higher"})
"""Which values of a metric are better."""
SHARES = ("loss", "gcp", "precision", "geometric-loss")
"""Metrics that are shares from 0 to 1; others are sums or ratios."""
BUCKET_METRICS: Mapping[str, tuple[Goal, str]] = MappingProxyType(
    {
        "buckets": ("max", "how many buckets the rows are in"),
        "reconstruction-error": ("min", "error of rebuilding sensitive values"),
        "unique-values": ("min", "largest share of rows alone in a slice"),
    }
)
"""Measurements of releases in buckets: the better direction, and their meaning."""


class Metric(WithDocumentedParameters, ABC):
    """A utility metric: a frozen value with its parameters.

    `goal` is the better direction, `meaning` a short description of a value, `bounds` the possible values (None: open),
    and `monotone` means that merging classes, with the same rows suppressed, never improves the value. `counts_rows`:
    rows count even if the schema has a person ID. `compares_cells`: published values are compared with the original
    cells, which a file does not show. `charges_cells`: cells of columns are charged, not whole classes or rows.
    `counts_values`: the values that a label covers are counted row by row. `bare` is the field whose key may be left
    out.
    """

    __slots__ = ()
    name: ClassVar[str]
    goal: ClassVar[Goal] = "min"
    meaning: ClassVar[str] = ""
    bounds: ClassVar[tuple[float | None, float | None]] = (0.0, None)
    monotone: ClassVar[bool] = True
    counts_rows: ClassVar[bool] = False
    compares_cells: ClassVar[bool] = False
    charges_cells: ClassVar[bool] = False
    counts_values: ClassVar[bool] = False
    bare: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        check_parameters(self)

    @abstractmethod
    def value(self, assignment: Assignment) -> float:
        """Return the metric of a recoded table."""

    def for_promise(self, k: int) -> Self:
        """Return the metric in units of the guaranteed k; most metrics do not depend on k."""
        return self

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """The histograms that the metric needs, as tuples of column names."""
        return ()

    def column_totals(self, assignment: Assignment) -> Floats | None:
        """Return the cost of each column over all rows, None for a metric that is not a sum over cells."""
        return None

    def of_class_number(self, classes: int, *, released: int, rows: int) -> float | None:
        """Return the metric of `classes` classes with `released` of `rows` rows; None if it depends on more."""
        return None


class AdditiveMetric(Protocol):
    """A metric that is computed from totals: those of all parts of a table are summed."""

    @property
    def name(self) -> str:
        """Return the registered name."""

    def totals(self, part: Assignment) -> Array:
        """Return the totals of a part of a table; the totals of all parts are summed."""

    def of_totals(self, totals: Array, *, rows: int) -> float:
        """Return the metric of a table with `rows` rows from the summed totals of all parts."""


class CellMetric(Metric):
    """A metric that charges every cell independently and combines the totals of columns.

    Because the charge of a cell depends on its published value alone, the cost of a whole column at a level is known
    before any class is counted.
    """

    __slots__ = ()
    charges_cells: ClassVar[bool] = True

    @abstractmethod
    def charge(self, column: PublishedColumn) -> Floats:
        """Return the cost of each published value of a column."""

    def dropped(self, column: PublishedColumn) -> float:
        """Return the cost of a suppressed cell of a column."""
        return 1.0

    @abstractmethod
    def combine(self, totals: Floats, *, rows: int) -> Floats:
        """Return the metric from totals by column (last axis); a larger total never improves the value."""

    def combine_weighted(self, totals: Floats, weights: Floats, *, rows: int) -> Floats:
        """Return the metric from totals of charges times `weights`, one per column, whose mean is 1."""
        return self.combine(totals, rows=rows)

    def value(self, assignment: Assignment) -> float:
        """Return the metric of a recoded table; a table without rows costs nothing."""
        return self.of_totals(self.totals(assignment), rows=assignment.rows)

    def totals(self, part: Assignment) -> Floats:
        """Return the totals of a part of a table, one per column."""
        return self.column_totals(part)

    def of_totals(self, totals: Floats, *, rows: int) -> float:
        """Return the metric of a table with `rows` rows from the summed totals of all parts."""
        return float(self.combine(totals, rows=rows))

    def column_totals(self, assignment: Assignment) -> Floats:
        """Return the sum of the charges over all rows for each column."""
        sizes, totals = assignment.classes.sizes, np.empty(len(assignment.columns))
        for index, column in enumerate(assignment.columns):
            rows = np.bincount(assignment.values[:, index], weights=sizes, minlength=len(column))
            totals[index] = float(rows @ self.charge(column)) + assignment.suppressed * self.dropped(column)
        return totals


class SummedMetric(CellMetric):
    """A metric of cells that sums rows and columns, each column multiplied by its attribute weight."""

    __slots__ = ()
    importance: Importance

    def __post_init__(self) -> None:
        object.__setattr__(self, "importance", importance_of(self.importance))

    def combine(self, totals: Floats, *, rows: int) -> Floats:
        """Return the sum over rows and columns; charges are already weighted."""
        return np.asarray(totals.sum(axis=-1))

    def value(self, assignment: Assignment) -> float:
        """Return the metric of a recoded table; raise if a column with a weight is not one of its columns."""
        self.importance.check([column.column for column in assignment.columns])
        return CellMetric.value(self, assignment)


def mean_per_cell(totals: Floats, *, rows: int) -> Floats:
    """Return the mean over all cells of the original table, including suppressed ones; 0 for an empty table."""
    return np.asarray(totals.sum(axis=-1) / max(rows * totals.shape[-1], 1))


def counted_in_people(assignment: Assignment) -> Assignment:
    """Return the assignment with people counted instead of rows; unchanged where people are not counted.

    A person counts once in every cell of a class: several rows with the same values cost no more than one.
    """
    cells = assignment.frequencies.classes
    if (PERSON,) not in cells.histograms:
        return assignment
    pieces = _one_of_each(assignment)
    counts = cells.members[pieces.cells] if pieces.joint is None else np.ones(len(pieces.cells), dtype=np.int64)
    kept = pieces.class_ids >= 0
    sizes = np.bincount(pieces.class_ids[kept], counts[kept], len(assignment.classes)).astype(np.int64)
    whole = np.bincount(pieces.cells, counts, len(cells)).astype(np.int64)
    frequencies = replace(assignment.frequencies, classes=replace(cells, sizes=whole))
    classes = replace(assignment.classes, sizes=sizes)
    return replace(pieces, frequencies=frequencies, counts=counts, classes=classes)


def _one_of_each(assignment: Assignment) -> Assignment:
    """Return an assignment with one piece for every person, cell and class; whole cells are not changed."""
    joint = assignment.frequencies.joint
    if assignment.joint is None or joint is None:
        return assignment
    keys = (joint.codes[(PERSON,)][assignment.joint], assignment.cells, assignment.class_ids)
    order = np.lexsort(keys)
    again = np.logical_and.reduce([np.diff(key[order]) == 0 for key in keys])
    first = np.sort(np.delete(order, 1 + np.flatnonzero(again)))
    return replace(
        assignment,
        cells=assignment.cells[first],
        class_ids=assignment.class_ids[first],
        joint=assignment.joint[first],
    )
