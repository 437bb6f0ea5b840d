"""From parts to a recoding's columns: each class is summarized by what its rows, or its region, cover."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from indistinct.domain import Codes, Kind
from indistinct.frequencies.grouping import WORD
from indistinct.recoding import _kernels
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.summary import (
    Bounds,
    ColumnSummary,
    Style,
    floor_of,
    region_bounds,
    summarize_ranges,
    summarize_sets,
    summarize_tree,
    tight_bounds,
)
from indistinct.recoding.union import RecodedColumn

# Below this many cells starting a thread costs more than it saves.
PARALLEL_FROM = 100_000


def summarize(
    columns: Sequence[QuasiColumn],
    ranks: Codes,
    *,
    labels: Codes,
    counts: Codes,
    classes: int,
    style: Style,
    regions: tuple[Codes, Codes] | None = None,
) -> tuple[tuple[RecodedColumn, ...], Codes]:
    """Return the columns of a recoding and each class's published codes.

    `ranks` has one row a piece, `labels` its class and `counts` its rows. `regions` are the lowest and highest ranks
    of each class's region, where the style asks for them.
    """
    values = np.empty((classes, len(columns)), dtype=np.int32)

    def one(place: int) -> RecodedColumn:
        column = columns[place]
        inside = np.ascontiguousarray(ranks[:, place]).astype(np.int32)
        if style.extent == "region" and regions is not None:
            bounds = region_bounds(column, regions[0][:, place], regions[1][:, place])
        else:
            bounds = tight_bounds(column, inside, labels=labels, classes=classes)
        summary, values[:, place] = _summarize_column(column, inside, labels, counts, bounds=bounds, style=style)
        return RecodedColumn(column.domain, column.ranks, floor_of(column), summary)

    with ThreadPoolExecutor(2 if len(ranks) >= PARALLEL_FROM else 1) as pool:
        return tuple(pool.map(one, range(len(columns)))), values


def _summarize_column(
    column: QuasiColumn, ranks: Codes, labels: Codes, counts: Codes, *, bounds: Bounds, style: Style
) -> tuple[ColumnSummary, Codes]:
    if column.tree:
        return summarize_tree(column, bounds)
    if not column.ranged:
        if style.extent == "region":
            return summarize_sets(column, *_everything_between(bounds))
        return summarize_sets(column, *_members(ranks, labels, len(column.domain), len(bounds.low)))
    means = None
    if style.numeric in ("mean", "interval+mean") and not column.textual:
        means = _means(column, ranks, labels, counts, classes=len(bounds.low))
    return summarize_ranges(column, bounds, form=style.numeric, means=means)


def _members(ranks: Codes, labels: Codes, size: int, classes: int) -> tuple[Codes, Codes]:
    """Return the distinct ranks of each class as compressed sparse rows."""
    if size <= WORD:
        masks = np.zeros(classes, dtype=np.uint64)
        _kernels.mark_members(ranks, labels, masks)
        return _kernels.spread_members(masks, size)
    words = labels.astype(np.int64) * size + ranks
    words.sort()
    words = words[np.concatenate([[True], words[1:] != words[:-1]])] if len(words) else words
    owners, members = np.divmod(words, size)
    indptr = np.zeros(classes + 1, dtype=np.int64)
    np.cumsum(np.bincount(owners, minlength=classes), out=indptr[1:])
    return indptr, members.astype(np.int32)


def _everything_between(bounds: Bounds) -> tuple[Codes, Codes]:
    sizes = (bounds.high - bounds.low + 1).astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    members = np.arange(indptr[-1]) - np.repeat(indptr[:-1] - bounds.low, sizes)
    return indptr, members.astype(np.int32)


def _means(column: QuasiColumn, ranks: Codes, labels: Codes, counts: Codes, *, classes: int) -> Codes:
    """Return the mean of each class's values, NaN where every one is missing."""
    known = ranks >= floor_of(column)
    weights = np.bincount(labels[known], weights=counts[known], minlength=classes)
    places = column.positions[ranks[known]]
    totals = np.bincount(labels[known], weights=places * counts[known], minlength=classes)
    means = np.divide(totals, weights, out=np.full(classes, np.nan), where=weights > 0)
    # Dates are published by the day: classes that differ in less look the same.
    return np.floor(means) if column.domain.kind is Kind.DATE else means
