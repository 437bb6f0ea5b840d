"""Strict partitioning by queries: each part is cut where given queries have the least error.

Candidates are the borders of the queries and the middle of every column. The weight of a side has two parts for each
query: how far the query's answer on the side, with all values equally likely, is from the truth; and how many of its
rows are on either side of the query's border. Both are shares of what the query counts in the whole table. So given
queries, and others like them, are answered well.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from indistinct.algorithms.base import fewest_rows
from indistinct.algorithms.partition import _by_workload_kernels as _kernels
from indistinct.algorithms.partition._by_workload_kernels import LINE, NODE, SET
from indistinct.algorithms.partition.by_depth import DepthParts, Division, partition_by_depth, spread_parts
from indistinct.algorithms.partition.layout import KernelLayout, Partition
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Codes, Floats, Mask, starts_of
from indistinct.metrics.queries.workload import Boxes
from indistinct.models.base import Model
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.summary import TreeForm

# Cuts of each column that are weighed; where queries have more borders, those that most queries share.
MAX_CANDIDATES_PER_COLUMN = 64
# Where queries do not decide, wide parts are cut: the loss of all rows counts as this share of a query's error.
LOSS_SHARE_OF_ERROR = 1e-3
# Relative cost of one cell.
CELL_WEIGHT = 1024


def partition_by_workload(
    ranks: Codes,
    classes: Classes,
    *,
    columns: Sequence[QuasiColumn],
    layout: KernelLayout,
    boxes: Boxes,
    trees: TreeForm,
    in_order: bool,
    model: Model,
    counters: Counter[str],
    whole: "WholeTable | None" = None,
) -> Partition:
    """Return the partition with the least query error; with `in_order` every column is cut along its ranks.

    The cells are those of the whole table, or, with `whole`, of a part of that table.
    """
    ranks = np.ascontiguousarray(ranks, dtype=np.uint32)
    boxes = _by_rank(boxes, columns)
    whole = whole or WholeTable(int(classes.sizes.sum()), _truths(boxes, ranks, classes.sizes))
    search = _Search.of(
        ranks, classes.sizes, columns, layout, boxes, whole, trees=trees, in_order=in_order, model=model
    )
    rules: Any = {"layout": layout, "model": model, "counters": counters}
    return partition_by_depth(search, ranks, classes, **rules, fits=whole.fits)


@dataclass(frozen=True, slots=True, eq=False)
class WholeTable:
    """The rows of a table, and how many of them each query counts; parts of at most `fits` rows are not divided."""

    rows: int
    truths: Codes
    fits: int = 0


def count_queries(ranks: Codes, counts: Codes, boxes: Boxes, columns: Sequence[QuasiColumn]) -> Codes:
    """Return how many rows each query counts."""
    return _truths(_by_rank(boxes, columns), np.ascontiguousarray(ranks, dtype=np.uint32), counts)


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """Weighs parts by queries and divides them.

    `columns`, `queries` and `candidates` are named tuples for the kernels.
    """

    ranks: Codes
    counts: Codes
    asked: Codes
    columns: Any
    queries: Any
    candidates: Any
    ends: Codes
    smallest: int
    tie: float
    never: float = np.inf
    work: int = CELL_WEIGHT

    @classmethod
    def of(
        cls,
        ranks: Codes,
        counts: Codes,
        columns: Sequence[QuasiColumn],
        layout: KernelLayout,
        boxes: Boxes,
        whole: WholeTable,
        *,
        trees: TreeForm,
        in_order: bool,
        model: Model,
    ) -> "_Search":
        """Prepare queries, candidates and weights for the kernels."""
        asked = _queries_of_cells(boxes, ranks)
        weights = _weights(boxes, whole.truths)
        kinds = [_kind(column, trees) for column in columns]
        described = _columns(columns, kinds)
        candidates, ends = _candidates(columns, kinds, boxes, in_order=in_order)
        tie = LOSS_SHARE_OF_ERROR / max(whole.rows, 1)
        queries = _queries(boxes, kinds, weights)
        return cls(ranks, counts, asked, described, queries, candidates, ends, fewest_rows(model), tie)

    @property
    def width(self) -> int:
        """Return the number of candidates of a column."""
        return self.ends.shape[1]

    def axes(self, chosen: Codes) -> Codes:
        """Return the column of each candidate."""
        return chosen // self.width

    def weigh(self, parts: DepthParts, first: int, last: int) -> Codes:
        """Return the error of queries on the sides of every candidate, for a run of parts."""
        weights = np.full((last - first, len(self.ends) * self.width), np.inf)
        where = (parts.items, parts.starts[first : last + 1], self.ranks, self.counts, self.asked)
        rules = (self.smallest, self.tie, self.columns, self.queries, self.candidates)
        _kernels.weigh(*where, *rules, self._work(), weights)
        return weights

    def divide(self, parts: DepthParts, chosen: Codes) -> Division:
        """Return the parts divided at their candidates."""
        cells, count = len(parts.items), len(parts)
        division = Division(*(np.empty(size, dtype=np.int64) for size in (cells, count, count, cells, count)))
        arrays = (chosen, division.order, division.middles, division.ends, division.members, division.sizes)

        def one(first: int, last: int) -> None:
            where = (parts.items, parts.starts, first, last, self.ranks, self.counts, self.smallest)
            _kernels.divide(*where, self.width, self.candidates, self._work(), self.ends, *arrays)

        spread_parts(one, parts, self.work)
        return division

    def _work(self) -> Any:
        """Return a thread's scratch arrays."""
        columns, queries = len(self.ends), len(self.queries.weight)
        sizes, words = int(self.columns.size.max()), int(self.columns.words.sum())
        segments = 2 * int(self.candidates.atoms.max())

        def zeros(*shape: int) -> Codes:
            return np.zeros(shape, dtype=np.int64)

        return _kernels.Work(
            tally=zeros(sizes),
            keys=zeros(sizes),
            number=zeros(segments),
            segments=zeros(segments),
            rows=zeros(segments),
            asked=zeros(segments, queries),
            low=zeros(segments, columns),
            high=zeros(segments, columns),
            bits=np.zeros((segments, words), dtype=np.uint64),
            side_low=zeros(2, columns),
            side_high=zeros(2, columns),
            side_bits=np.zeros((2, words), dtype=np.uint64),
            side_size=zeros(2, columns),
            active=zeros(queries),
            place=zeros((queries + 63) // 64 * 64) - 1,
            totals=zeros(queries),
            left_asked=zeros(queries),
            taken=np.zeros(segments, dtype=np.bool_),
            seen=np.zeros(self.width, dtype=np.uint64),
        )


def _by_rank(boxes: Boxes, columns: Sequence[QuasiColumn]) -> Boxes:
    """Return boxes of ranks instead of codes."""
    pairs = zip(boxes.accepted, columns, strict=True)
    return replace(boxes, accepted=tuple(None if each is None else each[:, own.by_rank] for each, own in pairs))


def _queries_of_cells(boxes: Boxes, ranks: Codes) -> Codes:
    """Return which queries count each cell, as bits of words."""
    masks = np.full((len(ranks), (len(boxes) + 63) // 64), np.uint64(2**64 - 1))
    for index, accepted in enumerate(boxes.accepted):
        if accepted is not None:
            masks &= _words(accepted.T)[ranks[:, index]]
    return masks


def _truths(boxes: Boxes, ranks: Codes, counts: Codes) -> Codes:
    """Return how many rows each query counts, given boxes of ranks."""
    asked = _queries_of_cells(boxes, ranks)
    truth = np.zeros(64 * asked.shape[1], dtype=np.int64)
    for word in range(asked.shape[1]):
        for bit in range(64):
            truth[64 * word + bit] = counts[(asked[:, word] >> np.uint64(bit)) & np.uint64(1) == 1].sum()
    return np.bincount(boxes.owners, weights=truth[: len(boxes)])


def _weights(boxes: Boxes, truths: Codes) -> Codes:
    """Return the weight of a row of error in each box: one divided by what the query counts in the whole table."""
    first = np.unique(boxes.owners, return_index=True)[1]
    return np.asarray(boxes.weights / boxes.weights[first].sum() / np.maximum(truths[boxes.owners], 1))


def _kind(column: QuasiColumn, trees: TreeForm) -> int:
    """Return how a column is cut: along a line, at nodes, or at sets."""
    if column.ranged:
        return LINE
    return NODE if column.tree and trees == "node" else SET


def _columns(columns: Sequence[QuasiColumn], kinds: Sequence[int]) -> Any:
    """Return the columns as the kernels take them."""
    sizes = [len(column.domain) for column in columns]
    words = [(size + 63) // 64 if kind == SET else 0 for size, kind in zip(sizes, kinds, strict=True)]
    firsts, lasts, strides = [], [], []
    for column, kind in zip(columns, kinds, strict=True):
        first, last = _nodes(column) if kind == NODE else (np.zeros((0, 0), np.int64), np.zeros((0, 0), np.int64))
        firsts.append(first.ravel())
        lasts.append(last.ravel())
        strides.append(first.shape[1])
    return _kernels.Columns(
        kind=np.array(kinds, dtype=np.int64),
        size=np.array(sizes, dtype=np.int64),
        first_word=starts_of(words)[:-1],
        words=np.array(words, dtype=np.int64),
        stride=np.array(strides, dtype=np.int64),
        tree=starts_of([len(first) for first in firsts])[:-1],
        node_first=np.concatenate(firsts),
        node_last=np.concatenate(lasts),
    )


def _nodes(column: QuasiColumn) -> tuple[Codes, Codes]:
    """Return the first and last rank of the node above each rank on each level."""
    if column.taxonomy is None:
        raise AssertionError("a column that is published as nodes has a tree of them")
    ancestors = column.taxonomy.ancestors[column.by_rank]
    first, last = np.empty(ancestors.shape, dtype=np.int64), np.empty(ancestors.shape, dtype=np.int64)
    positions = np.arange(len(ancestors))
    for level in range(ancestors.shape[1]):
        nodes = ancestors[:, level]
        low, high = np.full(nodes.max() + 1, len(positions)), np.full(nodes.max() + 1, -1)
        np.minimum.at(low, nodes, positions)
        np.maximum.at(high, nodes, positions)
        first[:, level], last[:, level] = low[nodes], high[nodes]
    return first, last


def _words(bits: Codes | Mask) -> Codes:
    """Return rows of bits packed into words."""
    padded = np.zeros((len(bits), (bits.shape[1] + 63) // 64 * 64), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _queries(boxes: Boxes, kinds: Sequence[int], weights: Codes) -> Any:
    """Return the queries as the kernels take them, without conditions that accept all ranks."""
    positions, at, accepted, bits = [], [], [], []
    sizes, below, words = np.zeros(len(weights), dtype=np.int64), 0, 0
    for query in range(len(weights)):
        for index, matrix in enumerate(boxes.accepted):
            if matrix is None or matrix[query].all():
                continue
            sizes[query] += 1
            positions.append(index)
            if kinds[index] == SET:
                at.append(words)
                bits.append(_words(matrix[query : query + 1])[0])
                words += len(bits[-1])
            else:
                at.append(below)
                accepted.append(np.concatenate([[0], np.cumsum(matrix[query])]))
                below += len(accepted[-1])
    return _kernels.Queries(
        weight=weights,
        start=starts_of(sizes),
        column=np.array(positions, dtype=np.int64),
        at=np.array(at, dtype=np.int64),
        accepted=np.concatenate([np.zeros(0, np.int32), *accepted]).astype(np.int32),
        bits=np.concatenate([np.zeros(0, np.uint64), *bits]).astype(np.uint64),
    )


def _candidates(
    columns: Sequence[QuasiColumn], kinds: Sequence[int], boxes: Boxes, *, in_order: bool
) -> tuple[Any, Codes]:
    """Return the candidates of every column, and the last rank of each that is cut along ranks, otherwise -1.

    There is one more candidate for the middle of a part.
    """
    lefts, ends = [], []
    for column, kind, accepted in zip(columns, kinds, boxes.accepted, strict=True):
        sets = np.zeros((0, len(column.domain)), dtype=bool) if accepted is None else accepted
        if kind == LINE or in_order:
            left = _borders(sets, boxes.weights)
            ends.append(left.sum(axis=1) - 1)
        else:
            left = _sets(column, kind, sets, boxes.weights)
            ends.append(np.full(len(left), -1))
        lefts.append(left)
    width = max(len(left) for left in lefts) + 1
    table = np.full((len(columns), width), -1, dtype=np.int64)
    for index, own in enumerate(ends):
        table[index, : len(own)] = own
    atoms, by_atom = zip(*map(_atoms, lefts), strict=True)
    return _kernels.Candidates(
        count=np.array([len(left) for left in lefts], dtype=np.int64),
        atoms=np.array([each.shape[1] for each in by_atom], dtype=np.int64),
        atom_at=starts_of([len(own) for own in atoms])[:-1],
        atom=np.concatenate(atoms).astype(np.int32),
        left_at=starts_of([each.size for each in by_atom])[:-1],
        left=np.concatenate([each.ravel() for each in by_atom]).astype(np.bool_),
    ), table


def _atoms(left: Mask) -> tuple[Codes, Mask]:
    """Return the atom of every rank, and for every candidate which atoms are on its left."""
    if not len(left):
        return np.zeros(left.shape[1], dtype=np.int64), np.zeros((0, 1), dtype=bool)
    distinct, inverse = np.unique(left, axis=1, return_inverse=True)
    return np.asarray(inverse).ravel(), distinct


def _borders(accepted: Mask, weights: Floats) -> Mask:
    """Return the prefixes of ranks that end where a query begins or stops accepting ranks."""
    changes = accepted[:, 1:] != accepted[:, :-1]
    ends = np.flatnonzero(changes.any(axis=0))
    if len(ends) > MAX_CANDIDATES_PER_COLUMN:
        up_to = np.cumsum((weights @ changes)[ends])
        shares = np.arange(1, MAX_CANDIDATES_PER_COLUMN + 1) / MAX_CANDIDATES_PER_COLUMN * up_to[-1]
        ends = ends[np.unique(np.searchsorted(up_to, shares).clip(0, len(ends) - 1))]
    return np.arange(accepted.shape[1]) <= ends[:, None]


def _sets(column: QuasiColumn, kind: int, accepted: Mask, weights: Floats) -> Mask:
    """Return candidate cuts: the sets of queries, the nodes of a tree, and single values."""
    size = len(column.domain)
    asks = ~accepted.all(axis=1) & accepted.any(axis=1)
    own = np.zeros((0, size), dtype=bool)
    if asks.any():
        own, inverse = np.unique(accepted[asks], axis=0, return_inverse=True)
        shares = np.bincount(np.asarray(inverse).ravel(), weights=weights[asks])
        own = own[np.sort(np.argsort(-shares, kind="stable")[:MAX_CANDIDATES_PER_COLUMN])]
    further = [own]
    if kind == NODE:
        first, last = _nodes(column)
        nodes = np.unique(np.stack([first.ravel(), last.ravel()], axis=1), axis=0)
        further.append((np.arange(size) >= nodes[:, :1]) & (np.arange(size) <= nodes[:, 1:]))
    elif size <= MAX_CANDIDATES_PER_COLUMN:
        further.append(np.eye(size, dtype=bool))
    whole = np.concatenate(further)
    return whole[~whole.all(axis=1)][: 2 * MAX_CANDIDATES_PER_COLUMN]
