"""From parts to a recoding's columns: each class is summarized by what its rows, or its region, cover."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.frequencies.encode import WORD
from indistinct.machine.arrays import Codes, spread, starts_of
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.kinds import RecodedColumn
from indistinct.recoding.summary import (
    Bounds,
    ColumnSummary,
    Style,
    distinct_words,
    floor_of,
    region_bounds,
    summarize_ranges,
    summarize_sets,
    summarize_text_regions,
    summarize_tree,
    tight_bounds,
)
from indistinct.tables.domain import Kind

# Regions of text are lists of values where the column has no more than these, and ranges by code points else.
LISTED = 32


def summarize(
    columns: Sequence[QuasiColumn],
    ranks: Codes,
    *,
    class_ids: Codes,
    counts: Codes,
    classes: int,
    style: Style,
    regions: tuple[Codes, Codes] | None = None,
) -> tuple[tuple[RecodedColumn, ...], Codes]:
    """Return the columns of a recoding and each class's published codes.

    `ranks` has one row a piece, `class_ids` its class and `counts` its rows. `regions` are the lowest and highest ranks
    of each class's region, where the style asks for them.
    """
    values = np.empty((classes, len(columns)), dtype=np.int32)
    pieces = _Members.of(class_ids, counts, classes)

    def one(place: int) -> RecodedColumn:
        column = columns[place]
        inside = np.ascontiguousarray(ranks[:, place], dtype=np.int32)
        region = (regions[0][:, place], regions[1][:, place]) if style.extent == "region" and regions else None
        summary, values[:, place] = _summarize_column(column, inside, pieces, region=region, style=style)
        floor = int(column.domain.missing) if summary.regions else floor_of(column)
        return RecodedColumn(column.domain, column.ranks, floor, summary)

    return tuple(spread(one, range(len(columns)), rows=len(ranks), weight=16)), values


@dataclass(frozen=True, slots=True, eq=False)
class _Members:
    """The class of every piece and its rows; `starts` is where each class begins, if they follow one another."""

    class_ids: Codes
    counts: Codes
    classes: int
    starts: Codes | None

    @classmethod
    def of(cls, class_ids: Codes, counts: Codes, classes: int) -> "_Members":
        steps = np.diff(class_ids, prepend=-1)
        together = len(class_ids) > 0 and bool((steps >= 0).all()) and int(np.count_nonzero(steps)) == classes
        return cls(class_ids, counts, classes, np.flatnonzero(steps) if together else None)


def _summarize_column(
    column: QuasiColumn, ranks: Codes, pieces: _Members, *, region: tuple[Codes, Codes] | None, style: Style
) -> tuple[ColumnSummary, Codes]:
    in_sets = style.trees == "set" if column.tree else not column.ranged
    if in_sets and region is None:
        return _summarize_members(column, ranks, pieces)
    if region is not None and not column.tree and not column.ranged and len(column.domain) > LISTED:
        return summarize_text_regions(column, *region)
    if region is not None:
        bounds = region_bounds(column, *region)
    else:
        bounds = tight_bounds(column, ranks, class_ids=pieces.class_ids, classes=pieces.classes, starts=pieces.starts)
    if column.tree:
        return summarize_tree(column, bounds, regions=region is not None)
    if not column.ranged:
        return summarize_sets(column, *_everything_between(bounds))
    means = None
    if style.numeric in ("mean", "interval+mean") and not column.textual:
        means = _means(column, ranks, pieces)
    return summarize_ranges(column, bounds, form=style.numeric, means=means, regions=region is not None)


def _summarize_members(column: QuasiColumn, ranks: Codes, pieces: _Members) -> tuple[ColumnSummary, Codes]:
    """Publish the set of values of each class; small domains as masks, so that each set is looked at once."""
    size = len(column.domain)
    if size > WORD:
        return summarize_sets(column, *_members(ranks, size, pieces))
    distinct, places = distinct_words(_masks(ranks, size, pieces), 1 << size)
    bits = np.unpackbits(distinct.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, count=size, bitorder="little")
    indptr = starts_of(bits.sum(axis=1, dtype=np.int64))
    summary, codes = summarize_sets(column, indptr, np.nonzero(bits)[1].astype(np.int32))
    return summary, codes[places]


def _masks(ranks: Codes, size: int, pieces: _Members) -> Codes:
    """Return a word for each class, with a bit for every rank that it holds."""
    kind = np.uint32 if size <= 32 else np.uint64
    bits = np.left_shift(1, np.arange(size), dtype=kind, casting="unsafe")[ranks]
    if pieces.starts is not None:
        return np.bitwise_or.reduceat(bits, pieces.starts)
    masks = np.zeros(pieces.classes, dtype=kind)
    np.bitwise_or.at(masks, pieces.class_ids, bits)
    return masks


def _members(ranks: Codes, size: int, pieces: _Members) -> tuple[Codes, Codes]:
    """Return the distinct ranks of each class as compressed sparse rows."""
    words = pieces.class_ids.astype(np.int64) * size + ranks
    words.sort()
    words = words[np.concatenate([[True], words[1:] != words[:-1]])] if len(words) else words
    owners, members = np.divmod(words, size)
    return starts_of(np.bincount(owners, minlength=pieces.classes)), members.astype(np.int32)


def _everything_between(bounds: Bounds) -> tuple[Codes, Codes]:
    sizes = (bounds.high - bounds.low + 1).astype(np.int64)
    indptr = starts_of(sizes)
    members = np.arange(indptr[-1]) - np.repeat(indptr[:-1] - bounds.low, sizes)
    return indptr, members.astype(np.int32)


def _means(column: QuasiColumn, ranks: Codes, pieces: _Members) -> Codes:
    """Return the mean of each class's values, NaN where every one is missing."""
    known = ranks >= floor_of(column)
    class_ids, counts, classes = pieces.class_ids[known], pieces.counts[known], pieces.classes
    weights = np.bincount(class_ids, weights=counts, minlength=classes)
    totals = np.bincount(class_ids, weights=column.positions[ranks[known]] * counts, minlength=classes)
    means = np.divide(totals, weights, out=np.full(classes, np.nan), where=weights > 0)
    # Dates are published by the day: classes that differ in less look the same.
    return np.floor(means) if column.domain.kind is Kind.DATE else means
