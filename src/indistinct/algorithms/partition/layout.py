"""How the kernels see a problem: ranks of cells in a matrix, and the lines and trees along which they are cut."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.domain import Codes
from indistinct.errors import HierarchyError
from indistinct.recoding.columns import QuasiColumn

# Up to this many values the median is found by counting, which needs one entry a value.
COUNTING_LIMIT = 1 << 16


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
        return (self.trees, self.tree_offset, self.tree_stride, self.lines, self.line_offset, self.span)

    @property
    def tally_size(self) -> int:
        """Return how many counters the kernels need."""
        trees = [size for size, stride in zip(self.sizes, self.tree_stride, strict=True) if stride]
        return max([*trees, min(max(self.sizes, default=1), COUNTING_LIMIT), 1])


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
        tree_offset=_offsets(trees),
        tree_stride=np.array(strides, dtype=np.int64),
        lines=np.concatenate(lines),
        line_offset=_offsets(lines),
        span=np.array(spans, dtype=np.float64),
        sizes=tuple(len(column.domain) for column in columns),
    )


def ranks_of(columns: Sequence[QuasiColumn], vectors: Codes) -> Codes:
    """Return the cells as a row-major matrix of ranks.

    Raises `HierarchyError` for a tree without one root: a class whose values do not meet could not be published.
    """
    for column in columns:
        if column.tree and column.taxonomy is not None and not column.taxonomy.rooted:
            raise HierarchyError(
                f"the hierarchy of column {column.name!r} has several values on top; partitioning needs one",
                hint="add a last level with the same value everywhere, such as *",
                column=column.name,
            )
    ranks = np.empty(vectors.shape, dtype=np.uint32, order="C")
    for place, column in enumerate(columns):
        ranks[:, place] = column.ranks[vectors[:, place]]
    return ranks


def _offsets(parts: Sequence[Codes]) -> Codes:
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])[:-1]]).astype(np.int64)
