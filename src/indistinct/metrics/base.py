"""A metric says how much a recoding costs: one set of metrics serves the search and the report."""

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Literal, Self

import numpy as np

from indistinct.errors import ParameterError
from indistinct.figures import number
from indistinct.frequencies.value import PERSON
from indistinct.machine.arrays import Codes
from indistinct.markup import Document, Grid, Result, grid
from indistinct.metrics.importance import Importance, importance_of
from indistinct.parameters import check_parameters
from indistinct.recoding.outputs import Assignment, PublishedColumn

Goal = Literal["min", "max"]
BETTER: Mapping[Goal, str] = MappingProxyType({"min": "lower", "max": "higher"})
"""Which values of a metric are better, in a word."""


class Metric(ABC):
    """A utility metric: a frozen value with its parameters.

    `goal` is the better direction, `meaning` what a value says, in a few words, `bounds` the possible values (None:
    open), and `monotone` says that merging classes, with the same rows suppressed, never gets a better value.
    `counts_rows` says that rows count even where people are told apart, and `compares_cells` that published values are
    held against the original cells, which a file does not tell. `bare` is the field whose value may be spelled alone.
    """

    __slots__ = ()
    name: ClassVar[str]
    goal: ClassVar[Goal] = "min"
    meaning: ClassVar[str] = ""
    bounds: ClassVar[tuple[float | None, float | None]] = (0.0, None)
    monotone: ClassVar[bool] = True
    counts_rows: ClassVar[bool] = False
    compares_cells: ClassVar[bool] = False
    bare: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        check_parameters(self)

    @abstractmethod
    def value(self, assignment: Assignment) -> float:
        """Return the metric of a recoded table."""

    def for_promise(self, k: int) -> Self:
        """Return the metric as it judges a release that promised classes of k; most do not look at k."""
        return self

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """The histograms that the metric needs, as tuples of column names."""
        return ()

    def column_totals(self, assignment: Assignment) -> Codes | None:
        """Return what each column costs over all rows, None for a metric that does not add up cells."""
        return None


class CellMetric(Metric):
    """A metric that charges every cell on its own and combines the columns' totals.

    Because the charge of a cell depends on its published value alone, a search can know the cost of a whole column at
    a level before it counts a single class.
    """

    __slots__ = ()

    @abstractmethod
    def charge(self, column: PublishedColumn) -> Codes:
        """Return the cost of each published value of a column."""

    def dropped(self, column: PublishedColumn) -> float:
        """Return the cost of a suppressed cell of a column."""
        return 1.0

    @abstractmethod
    def combine(self, totals: Codes, *, rows: int) -> Codes:
        """Return the metric from totals by column, on the last axis; a larger total never gives a better value."""

    def combine_weighted(self, totals: Codes, weights: Codes, *, rows: int) -> Codes:
        """Return the metric from totals of charges times `weights`, one a column; their mean is 1."""
        return self.combine(totals, rows=rows)

    def value(self, assignment: Assignment) -> float:
        """Return the metric of a recoded table: 0 rows cost nothing."""
        return float(self.combine(self.column_totals(assignment), rows=assignment.rows))

    def column_totals(self, assignment: Assignment) -> Codes:
        """Return the sum of the charges over all rows, one total a column."""
        sizes, totals = assignment.classes.sizes, np.empty(len(assignment.columns))
        for index, column in enumerate(assignment.columns):
            rows = np.bincount(assignment.values[:, index], weights=sizes, minlength=len(column))
            totals[index] = float(rows @ self.charge(column)) + assignment.suppressed * self.dropped(column)
        return totals


class SummedMetric(CellMetric):
    """A metric of cells that adds up rows and columns, each column as often as its `importance` says."""

    __slots__ = ()
    importance: Importance

    def __post_init__(self) -> None:
        object.__setattr__(self, "importance", importance_of(self.importance))

    def combine(self, totals: Codes, *, rows: int) -> Codes:
        """Return the sum over rows and columns; charges are weighed already."""
        return np.asarray(totals.sum(axis=-1))

    def value(self, assignment: Assignment) -> float:
        """Return the metric of a recoded table; every column that is important must be one of its own."""
        self.importance.check([column.column for column in assignment.columns])
        return CellMetric.value(self, assignment)


def mean_per_cell(totals: Codes, *, rows: int) -> Codes:
    """Return the mean over all cells of the original table, suppressed ones too; 0 for an empty table."""
    return np.asarray(totals.sum(axis=-1) / max(rows * totals.shape[-1], 1))


def counted_in_people(assignment: Assignment) -> Assignment:
    """Return an assignment in which people count, not rows; the same one where people were not counted.

    Somebody counts once in every cell of a class: several rows with the same values cost no more than one.
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
    """Return an assignment with one piece for every person, cell and class; whole cells are left as they are."""
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


LOG = logging.getLogger("indistinct.measure")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measurements(Result, Mapping[str, float]):
    """Metric values by registered name, in the order in which they were asked for; an immutable mapping.

    `not_measured` has the standard metrics that were left out, and why.

    >>> Measurements((("discernibility", 12.0), ("gcp", 0.2)))["gcp"]
    0.2
    """

    pairs: tuple[tuple[str, float], ...] = ()
    not_measured: tuple[tuple[str, str], ...] = ()

    def __getitem__(self, name: str) -> float:
        return dict(self.pairs)[name]

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def heading(self) -> str:
        """Return the metrics with their values."""
        return "Measurements: " + ", ".join(f"{name} {number(value)}" for name, value in self.pairs)

    def grids(self) -> Iterable[Grid]:
        """Return a line for each metric."""
        found = Document("measure", self.to_json())
        rows = [(name, found.figure(name, words=number)) for name in self]
        return [grid("Metrics", ("metric", "value"), rows, right=["value"])]

    def remarks(self) -> Iterable[str]:
        """Return which metrics were left out, and why."""
        return [f"{name} was not measured: {reason}" for name, reason in self.not_measured]

    def to_json(self) -> dict[str, float | None]:
        """Return plain JSON values; a value that is not finite, which JSON cannot spell, becomes None."""
        return {key: value if math.isfinite(value) else None for key, value in self.pairs}


def measure_all(assignment: Assignment, metrics: Sequence[Metric]) -> Measurements:
    """Return the value of each metric of a recoded table, in people where they were counted."""
    names = [metric.name for metric in metrics]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(
            f"each metric is measured once; asked for twice: {', '.join(twice)}",
            hint="measure the same metric with other parameters in a second call",
        )
    LOG.info("measuring %d metrics of %d rows", len(metrics), assignment.rows)
    people = counted_in_people(assignment)
    values = [metric.value(assignment if metric.counts_rows else people) for metric in metrics]
    return Measurements(tuple(zip(names, values, strict=True)))
