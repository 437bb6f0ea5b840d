"""The error with which a recoding answers the counts of a workload."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa

from indistinct.errors import ParameterError, SchemaError, did_you_mean
from indistinct.frequencies.value import FrequencySet
from indistinct.machine.arrays import Codes, starts_of
from indistinct.metrics.base import Metric
from indistinct.metrics.queries.boxes import boxes_of
from indistinct.metrics.queries.published_rows import PublishedRows
from indistinct.metrics.queries.workload import Workload
from indistinct.parameters import Parameter
from indistinct.recoding.outputs import Assignment, PublishedColumn
from indistinct.tables.domain import Domain
from indistinct.view.cover import Cover
from indistinct.view.ranges import ranges_of
from indistinct.view.value import ShownColumn, each_value, view_of_classes


@dataclass(frozen=True, slots=True)
class WorkloadError(Metric):
    """The mean relative error of a workload's counts, each over the truth or over 1 where that is smaller.

    The rows of a class are assumed to be spread evenly; suppressed ones are missing from the estimates. The queries are
    COUNT over quasi-identifiers. Not monotone: merging may increase the error of one query and decrease that of
    another.
    """

    name: ClassVar[str] = "workload-error"
    meaning: ClassVar[str] = "mean relative error of a workload's counts"
    monotone: ClassVar[bool] = False
    counts_rows: ClassVar[bool] = True
    compares_cells: ClassVar[bool] = True
    bare: ClassVar[str] = "workload"
    workload: Annotated[Workload, Parameter("Workload", "Queries whose relative error is measured, read from a file.")]

    def __post_init__(self) -> None:
        given: object = self.workload
        if not isinstance(given, Workload):
            object.__setattr__(self, "workload", Workload.from_text(str(given)))
        for number, query in enumerate(self.workload.queries, start=1):
            if query.aggregate != "COUNT":
                raise ParameterError(
                    f"workload-error is about counts; query {number} of the workload asks for {query.aggregate}",
                    hint="leave such queries out, or measure them with `workload_error`",
                )

    def value(self, assignment: Assignment) -> float:
        """Return the weighted mean of relative errors."""
        if not assignment.rows:
            return 0.0
        if not len(assignment.cells) or not assignment.domains:
            raise ParameterError(
                "workload-error compares with the original cells, which a published table does not show",
                hint="use `workload_error`, or `indistinct query --workload`",
            )
        domains = {domain.column: domain for domain in assignment.domains}
        _check(self.workload, tuple(domains))
        truths = _truths(self.workload, assignment.frequencies, assignment.domains)
        estimates = _estimates(self.workload, assignment, domains)
        errors = np.abs(estimates - truths) / np.maximum(truths, 1.0)
        return float(np.average(errors, weights=self.workload.weights))


def _check(workload: Workload, known: Sequence[str]) -> None:
    """Raise if a query of the workload asks about an unknown column."""
    for name in workload.columns:
        if name not in known:
            raise SchemaError(
                f"a query of the workload asks about column {name!r}, which is not a quasi-identifier",
                hint=did_you_mean(name, known) or f"workload-error is about {', '.join(known)}",
            )


@lru_cache(maxsize=1)  # a search evaluates the same cells again and again
def _truths(workload: Workload, frequencies: FrequencySet, domains: tuple[Domain, ...]) -> Codes:
    """Return the counts of the workload on the original."""
    names = workload.columns
    labels = {domain.column: each_value(domain) for domain in domains if domain.column in names}
    index_of = {name: index for index, name in enumerate(frequencies.names)}
    values: dict[str, Codes] = {name: frequencies.vectors[:, index_of[name]].astype(np.int64) for name in labels}
    return _counts(workload, labels, values, frequencies.counts)


def _estimates(workload: Workload, assignment: Assignment, domains: dict[str, Domain]) -> Codes:
    """Return the counts of the workload as estimated from classes."""
    kept = assignment.class_ids >= 0
    owners, cells = assignment.class_ids[kept], assignment.cells[kept]
    labels: dict[str, ShownColumn] = {}
    values: dict[str, Codes] = {}
    for index, column in enumerate(assignment.columns):
        if column.column in workload.columns:
            published = assignment.values[:, index].astype(np.int64)
            codes = assignment.frequencies.vectors[cells, index].astype(np.int64)
            labels[column.column] = _labels_of(column, domains[column.column], published[owners], codes)
            values[column.column] = published
    return _counts(workload, labels, values, assignment.classes.sizes)


def _counts(workload: Workload, labels: dict[str, ShownColumn], values: dict[str, Codes], counts: Codes) -> Codes:
    """Count the rows that match each query."""
    published = PublishedRows(view_of_classes(labels, values, counts))
    boxes = [boxes_of(query.rows, published.values) for query in workload.queries]
    box_counts = iter(published.count_each([box for some in boxes for box in some]))
    return np.array([sum(next(box_counts)[0] for _ in some) for some in boxes])


def _labels_of(column: PublishedColumn, domain: Domain, published: Codes, codes: Codes) -> ShownColumn:
    """Return the original values of each published value: all values of a range, or those of the rows that show it."""
    pairs = np.unique(published * len(domain) + codes)
    owners, first = np.divmod(pairs, len(domain))
    last, line, ranges = first, each_value(domain).positions, None
    outputs = [array.cast(pa.string()).to_pylist() for name, array in column.outputs if not name.endswith("_mean")]
    if line is not None and len(line) > domain.missing:
        known = line[int(domain.missing) :]
        ranges = ranges_of(list(zip(*outputs, strict=True)), domain.kind, known)
        wide = np.flatnonzero(np.isfinite(ranges.low) & (np.bincount(owners, minlength=len(column)) > 0))
        kept = ~np.isin(owners, wide) | (first < domain.missing)
        low = np.searchsorted(known, ranges.low[wide]) + domain.missing
        high = np.searchsorted(known, ranges.high[wide], "right") + domain.missing - 1
        owners, first = np.concatenate([owners[kept], wide]), np.concatenate([first[kept], low])
        last = np.concatenate([last[kept], high])
        order = np.lexsort((first, owners))
        owners, first, last = owners[order], first[order], last[order]
    indptr = starts_of(np.bincount(owners, minlength=len(column)))
    return ShownColumn(domain, Cover(indptr, first, last), ranges=ranges)
