"""How the kernels see a problem: ranks of cells in a matrix, and the lines and trees along which they are cut."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from indistinct.errors import HierarchyError
from indistinct.machine.arrays import Codes, spread, starts_of
from indistinct.recoding.columns import QuasiColumn

# Up to this many values are counted at once to find a median, which needs one entry a value.
COUNTING_LIMIT = 1 << 16
# Bits of a word that fields may use: one is left for the sign.
WORD = 63


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
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
    sizes: tuple[int, ...]

    @property
    def arrays(self) -> tuple[Codes, ...]:
        """Return what the kernels take."""
        return (self.fields, self.lines, self.trees, self.span)

    @property
    def fields(self) -> Codes:
        """Return a row for every column: the word, shift and mask of its ranks in a packed cell, and its offsets."""
        places, word, shift = [], 0, 0
        for size in self.sizes:
            width = max(size - 1, 0).bit_length()
            if shift + width > WORD:
                word, shift = word + 1, 0
            places.append((word, shift, (1 << width) - 1))
            shift += width
        offsets = np.stack([self.line_offset, self.tree_offset, self.tree_stride], axis=1)
        return np.concatenate([np.array(places, dtype=np.int64), offsets], axis=1)

    def pack(self, ranks: Codes, counts: Codes) -> Codes:
        """Return cells as the kernels move them: the words of their ranks, then their number of rows."""
        fields = self.fields
        rows = np.empty((len(ranks), int(fields[-1, 0]) + 2), dtype=np.int64)
        for word in range(rows.shape[1] - 1):
            packed = np.zeros(len(ranks), dtype=np.int64)
            for place in np.flatnonzero(fields[:, 0] == word)[::-1].tolist():
                packed <<= int(fields[place, 2]).bit_length()
                packed |= ranks[:, place]
            rows[:, word] = packed
        rows[:, -1] = counts
        return rows

    def unpack(self, rows: Codes) -> Codes:
        """Return the ranks of packed cells, column by column in memory."""
        ranks = np.empty((len(rows), len(self.sizes)), dtype=np.int32, order="F")
        fields = self.fields[:, :3].tolist()

        def one(place: int) -> None:
            word, shift, mask = fields[place]
            ranks[:, place] = (rows[:, word] >> shift) & mask

        spread(one, range(len(fields)), rows=len(rows), weight=16)
        return ranks

    @property
    def tally_size(self) -> int:
        """Return how many counters the kernels need."""
        trees = [size for size, stride in zip(self.sizes, self.tree_stride, strict=True) if stride]
        return max([*trees, min(max(self.sizes, default=1), COUNTING_LIMIT), 2])


def layout_of(columns: Sequence[QuasiColumn]) -> Layout:
    """Lay the columns of a problem out for the kernels."""
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
    return Layout(
        trees=np.concatenate(trees),
        tree_offset=starts_of([len(tree) for tree in trees])[:-1],
        tree_stride=np.array(strides, dtype=np.int64),
        lines=np.concatenate(lines),
        line_offset=starts_of([len(line) for line in lines])[:-1],
        span=np.array(spans, dtype=np.float64),
        sizes=tuple(len(column.domain) for column in columns),
    )


def ranks_of(columns: Sequence[QuasiColumn], vectors: Codes, *, order: Literal["C", "F"] = "C") -> Codes:
    """Return the cells as a matrix of ranks, row-major unless columns are asked for.

    Raises `HierarchyError` for a tree without one root: a class whose values do not meet could not be published.
    """
    for column in columns:
        if column.tree and column.taxonomy is not None and not column.taxonomy.rooted:
            raise HierarchyError(
                f"the hierarchy of column {column.name!r} has several values on top; partitioning needs one",
                hint="add a last level with the same value everywhere, such as *",
                column=column.name,
            )
    ranks = np.empty(vectors.shape, dtype=np.uint32, order=order)
    for place, column in enumerate(columns):
        ranks[:, place] = column.ranks[vectors[:, place]] if column.tree else vectors[:, place]
    return ranks
