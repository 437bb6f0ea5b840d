"""What kernels receive: ranks of cells, positions and trees of columns.

And how the classes they return are summarized.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from indistinct.errors import HierarchyError
from indistinct.frequencies.encode import BITS_PER_WORD
from indistinct.machine.arrays import Array, Codes, starts_of
from indistinct.machine.threads import spread
from indistinct.recoding.columns import NO_IMPORTANCE, Importance, QuasiColumn
from indistinct.recoding.kinds import Cuts, RecodedColumn
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

# A domain of at most this many values is counted at once to find a median, with one counter per value.
MAX_VALUES_COUNTED = 1 << 16
# Bits of a word that fields may use; one bit is the sign.
FIELD_BITS = 63


@dataclass(frozen=True, slots=True, eq=False)
class KernelLayout:
    """Flat arrays that describe every column to the kernels.

    `trees[offset + rank * stride + level]` is a node of a tree column; `lines` holds a place for every rank of an
    ordered column, and `leaves - 1` for every rank and level of a tree column.
    """

    trees: Codes
    tree_offset: Codes
    tree_stride: Codes
    lines: Codes
    line_offset: Codes
    span: Codes
    weights: Codes
    sizes: tuple[int, ...]

    @property
    def arrays(self) -> tuple[Codes, ...]:
        """Return the arrays that the kernels take."""
        return (self.fields, self.lines, self.trees, self.span)

    @property
    def fields(self) -> Codes:
        """Return a row for every column: the word, shift and mask of its ranks in a packed cell, and its offsets."""
        positions, word, shift = [], 0, 0
        for size in self.sizes:
            width = max(size - 1, 0).bit_length()
            if shift + width > FIELD_BITS:
                word, shift = word + 1, 0
            positions.append((word, shift, (1 << width) - 1))
            shift += width
        offsets = np.stack([self.line_offset, self.tree_offset, self.tree_stride], axis=1)
        return np.concatenate([np.array(positions, dtype=np.int64), offsets], axis=1)

    def pack(self, ranks: Codes, counts: Codes) -> Codes:
        """Return cells as the kernels store them: the words of their ranks, then their number of rows."""
        fields = self.fields
        rows = np.empty((len(ranks), int(fields[-1, 0]) + 2), dtype=np.int64)
        for word in range(rows.shape[1] - 1):
            packed = np.zeros(len(ranks), dtype=np.int64)
            for index in np.flatnonzero(fields[:, 0] == word)[::-1].tolist():
                packed <<= int(fields[index, 2]).bit_length()
                packed |= ranks[:, index]
            rows[:, word] = packed
        rows[:, -1] = counts
        return rows

    def unpack(self, rows: Codes) -> Codes:
        """Return the ranks of packed cells in column-major order."""
        ranks = np.empty((len(rows), len(self.sizes)), dtype=np.int32, order="F")
        fields = self.fields[:, :3].tolist()

        def one(index: int) -> None:
            word, shift, mask = fields[index]
            ranks[:, index] = (rows[:, word] >> shift) & mask

        spread(one, range(len(fields)), rows=len(rows), weight=16)
        return ranks

    @property
    def tally_size(self) -> int:
        """Return the number of counters that the kernels need."""
        trees = [size for size, stride in zip(self.sizes, self.tree_stride, strict=True) if stride]
        return max([*trees, min(max(self.sizes, default=1), MAX_VALUES_COUNTED), 2])


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """A tree of cuts and its cells in any order: their ranks, classes and numbers of rows."""

    cuts: Cuts
    ranks: Codes
    class_ids: Codes
    counts: Codes


def layout_of(columns: Sequence[QuasiColumn], importance: Importance = NO_IMPORTANCE) -> KernelLayout:
    """Return the layout of the columns of a problem; widths are multiplied by attribute weights."""
    trees, lines, strides, spans = [], [], [], []
    for column in columns:
        if column.tree and column.taxonomy is not None:
            ancestors = column.taxonomy.ancestors[column.by_rank]
            leaves = [column.taxonomy.leaves[level][ancestors[:, level]] for level in range(ancestors.shape[1])]
            trees.append(ancestors.astype(np.int64).ravel())
            lines.append((np.stack(leaves, axis=1) - 1).astype(np.float64).ravel())
            strides.append(ancestors.shape[1])
            spans.append(float(column.size - 1))
        else:
            trees.append(np.zeros(0, dtype=np.int64))
            lines.append(column.positions.astype(np.float64))
            strides.append(0)
            spans.append(column.span)
    weights = np.array([importance.of(column.name) for column in columns])
    return KernelLayout(
        trees=np.concatenate(trees),
        tree_offset=starts_of([len(tree) for tree in trees])[:-1],
        tree_stride=np.array(strides, dtype=np.int64),
        lines=np.concatenate(lines),
        line_offset=starts_of([len(line) for line in lines])[:-1],
        span=np.array(spans, dtype=np.float64) / weights,
        sizes=tuple(len(column.domain) for column in columns),
        weights=weights,
    )


def ranks_of(columns: Sequence[QuasiColumn], vectors: Codes, *, order: Literal["C", "F"] = "C") -> Codes:
    """Return the cells as a matrix of ranks, row-major unless columns are asked for.

    Raises `HierarchyError` for a tree without one root: a class whose values do not meet could not be published.
    """
    for column in columns:
        if column.tree and column.taxonomy is not None and not column.taxonomy.rooted:
            raise HierarchyError(
                f"the hierarchy of column {column.name!r} has several top values; partitioning needs a single root",
                hint="add a last level with the same value everywhere, such as *",
                column=column.name,
            )
    ranks = np.empty(vectors.shape, dtype=np.uint32, order=order)
    for index, column in enumerate(columns):
        ranks[:, index] = column.ranks[vectors[:, index]] if column.tree else vectors[:, index]
    return ranks


# Regions of text are lists of at most this many values, otherwise ranges by code points.
MAX_VALUES_LISTED = 32


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

    def one(index: int) -> RecodedColumn:
        column = columns[index]
        inside = np.ascontiguousarray(ranks[:, index], dtype=np.int32)
        region = (regions[0][:, index], regions[1][:, index]) if style.extent == "region" and regions else None
        summary, values[:, index] = _summarize_column(column, inside, pieces, region=region, style=style)
        floor = int(column.domain.missing) if summary.regions else floor_of(column)
        return RecodedColumn(column.domain, column.ranks, floor, summary)

    return tuple(spread(one, range(len(columns)), rows=len(ranks), weight=16)), values


@dataclass(frozen=True, slots=True, eq=False)
class _Members:
    """The class and rows of every piece; `starts` is where each class begins, if its pieces are adjacent."""

    class_ids: Codes
    counts: Codes
    classes: int
    starts: Codes | None

    @classmethod
    def of(cls, class_ids: Codes, counts: Codes, classes: int) -> "_Members":
        """Find out whether cells are sorted by class."""
        steps = np.diff(class_ids, prepend=-1)
        together = len(class_ids) > 0 and bool((steps >= 0).all()) and int(np.count_nonzero(steps)) == classes
        return cls(class_ids, counts, classes, np.flatnonzero(steps) if together else None)


def _summarize_column(
    column: QuasiColumn, ranks: Codes, pieces: _Members, *, region: tuple[Codes, Codes] | None, style: Style
) -> tuple[ColumnSummary, Codes]:
    """Return the summary of a column and each class's published code."""
    in_sets = style.trees == "set" if column.tree else not column.ranged
    if in_sets and region is None:
        return _summarize_members(column, ranks, pieces)
    if region is not None and not column.tree and not column.ranged and len(column.domain) > MAX_VALUES_LISTED:
        return summarize_text_regions(column, *region)
    if region is not None:
        bounds = region_bounds(column, *region)
    else:
        bounds = tight_bounds(column, ranks, class_ids=pieces.class_ids, classes=pieces.classes, starts=pieces.starts)
    if column.tree:
        return summarize_tree(column, bounds, regions=region is not None)
    if not column.ranged:
        return summarize_sets(column, *_everything_between(bounds))
    form, means = style.numeric.of(column.name), None
    if form in ("mean", "interval+mean") and not column.textual:
        means = _means(column, ranks, pieces)
    return summarize_ranges(column, bounds, form=form, means=means, regions=region is not None)


def _summarize_members(column: QuasiColumn, ranks: Codes, pieces: _Members) -> tuple[ColumnSummary, Codes]:
    """Return the set of values of each class; small domains use masks, so that each distinct set is built once."""
    size = len(column.domain)
    if size > BITS_PER_WORD:
        return summarize_sets(column, *_members(ranks, size, pieces))
    distinct, inverse = distinct_words(_masks(ranks, size, pieces), 1 << size)
    bits = np.unpackbits(distinct.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, count=size, bitorder="little")
    indptr = starts_of(bits.sum(axis=1, dtype=np.int64))
    summary, codes = summarize_sets(column, indptr, np.nonzero(bits)[1].astype(np.int32))
    return summary, codes[inverse]


def _masks(ranks: Codes, size: int, pieces: _Members) -> Array:
    """Return a word for each class with a bit for every rank that occurs in it."""
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
    """Return the mean of each class's values, NaN where all are missing."""
    known = ranks >= floor_of(column)
    class_ids, counts, classes = pieces.class_ids[known], pieces.counts[known], pieces.classes
    weights = np.bincount(class_ids, weights=counts, minlength=classes)
    totals = np.bincount(class_ids, weights=column.positions[ranks[known]] * counts, minlength=classes)
    means = np.divide(totals, weights, out=np.full(classes, np.nan), where=weights > 0)
    # Dates are published by the day, so that classes which differ by less have the same label.
    return np.floor(means) if column.domain.kind is Kind.DATE else means
