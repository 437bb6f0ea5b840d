"""Strict partitioning by loss: each part is cut where its two sides have the least loss together.

The loss of a side is what the global certainty penalty charges its rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.algorithms.partition import _by_loss_kernels, _cut_order_kernels
from indistinct.algorithms.partition._by_loss_kernels import BITS, SMALL, Covers
from indistinct.algorithms.partition._cut_order_kernels import (
    BY_CHILD,
    BY_FREQUENCY,
    BY_RANK,
    DIGIT,
    KIND,
    LINE,
    NEVER,
    NODE,
    SET,
    SIZE,
    Orders,
)
from indistinct.algorithms.partition.by_depth import DepthParts, Division, spread_parts
from indistinct.algorithms.partition.layout import KernelLayout
from indistinct.machine.arrays import Codes, Floats, starts_of
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.summary import TreeForm, floor_of

# Charges are whole numbers of 1 / 2^24 of a cell, or coarser where their sum over a table would not fit a word.
CHARGE_BITS = 24
# Relative cost of one cell: on every depth it is visited once for each pair of columns.
CELL_WEIGHT = 256


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """The arrays of columns that kernels take: a row of `fields` each, charges, and trees."""

    fields: Codes
    charges: Codes
    trees: Codes

    @classmethod
    def of(
        cls, columns: Sequence[QuasiColumn], layout: KernelLayout, *, rows: int, trees: TreeForm, in_order: bool
    ) -> "Costs":
        """Return the charges of the global certainty penalty; with `in_order` every column is cut along its ranks."""
        scale = 1 << max(min(CHARGE_BITS, 62 - rows.bit_length() - len(columns).bit_length()), 0)
        kinds, orders, charges = [], [], np.zeros(len(layout.lines), dtype=np.int64)
        for index, column in enumerate(columns):
            kind = LINE if column.ranged else SET
            if column.tree and trees == "node":
                kind = NODE
            own = _charges(column, kind, layout.span[index] * layout.weights[index])
            own *= layout.weights[index] / layout.weights.max()
            at = layout.line_offset[index]
            charges[at : at + len(own)] = np.rint(own * scale)
            order = {LINE: BY_RANK, SET: BY_FREQUENCY}.get(kind, BY_CHILD)
            kinds.append(kind)
            orders.append(BY_RANK if in_order else order)
        floors = [floor_of(column) for column in columns]
        more = np.array([floors, layout.sizes, kinds, orders], dtype=np.int64).T
        return cls(np.concatenate([layout.fields, more], axis=1), charges, layout.trees)


def _charges(column: QuasiColumn, kind: int, span: float) -> Floats:
    """Return charges of a column.

    Positions on a line of length `span`, costs of 1, 2, 3 … values, or ancestors by rank.
    """
    if kind == LINE:
        # Positions are relative to the first: far from zero, charges would be too large for whole numbers.
        return (column.positions - column.positions.min()) / span if span else np.zeros(len(column.domain))
    if kind == SET or column.taxonomy is None:
        count = np.arange(1, len(column.domain) + 1)
        return np.where(count == 1, 0.0, count / max(column.size, 1))
    ancestors = column.taxonomy.ancestors[column.by_rank]
    leaves = np.stack([each[ancestors[:, level]] for level, each in enumerate(column.taxonomy.leaves)], axis=1)
    return np.where(leaves == 1, 0.0, leaves / max(column.size, 1)).ravel()


@dataclass(frozen=True, slots=True, eq=False)
class LossSearch:
    """Weighs parts by loss and divides them."""

    costs: Costs
    layout: KernelLayout
    smallest: int
    positions: int
    never: float = int(NEVER)
    work: int = CELL_WEIGHT

    def axes(self, chosen: Codes) -> Codes:
        """Return the column of each candidate."""
        return chosen // self.positions

    def divide(self, parts: DepthParts, chosen: Codes) -> Division:
        """Return the parts divided at their candidates."""
        cells, count = len(parts.items), len(parts)
        division = Division(*(np.empty(size, dtype=np.int64) for size in (cells, count, count, cells, count)))
        arrays = (chosen, division.order, division.middles, division.ends, division.members, division.sizes)

        def one(first: int, last: int) -> None:
            orders = self.orders(parts.starts[first : last + 1])
            where = (parts.rows, parts.starts, first, last, self.smallest)
            _cut_order_kernels.divide(*where, self.costs.fields, self.costs.trees, orders, *arrays)

        spread_parts(one, parts, self.work)
        return division

    def weigh(self, parts: DepthParts, first: int, last: int) -> Codes:
        """Return the loss of both sides for every candidate of a run of parts."""
        losses = np.full((last - first, len(self.layout.sizes) * self.positions), NEVER)
        starts, costs = parts.starts[first : last + 1], self.costs
        buffers = (self.orders(starts), self._covers(starts))
        columns = (costs.fields, costs.charges, costs.trees)
        _by_loss_kernels.weigh(parts.rows, starts, self.smallest, *columns, *buffers, losses)
        return losses

    def orders(self, starts: Codes) -> Orders:
        """Return a thread's scratch arrays to order the values of parts that begin at `starts`."""
        values, few = max(self.layout.sizes), min(max(self.layout.sizes), int(np.diff(starts).max(initial=0)))
        tally, segment = np.zeros(values, dtype=np.int64), np.empty(values, dtype=np.int64)
        keys, reach, ends = (np.empty(size, dtype=np.int64) for size in (few, few, self.positions))
        return Orders(tally, segment, keys, reach, ends, np.empty(1 << DIGIT, dtype=np.int64))

    def _covers(self, starts: Codes) -> Covers:
        """Return a thread's scratch arrays to weigh the cuts of such parts."""
        fields, largest = self.costs.fields, int(np.diff(starts).max(initial=0))
        sizes, columns, segments = fields[:, SIZE], len(fields), self.positions + 2
        numbered = np.where((fields[:, KIND] == SET) & (sizes > BITS), sizes, 0)
        narrow = int((sizes <= BITS).sum())
        words = narrow + int((np.minimum(numbered, largest)[numbered > 0] // BITS + 1).sum())
        narrow_ones, lines, sets, first_bit = (np.empty(columns, dtype=np.int64) for _ in range(4))
        return Covers(
            narrow_ones,
            lines,
            sets,
            first_bit,
            bits=np.empty((largest, narrow), dtype=np.uint64),
            segments=np.empty(largest, dtype=np.int8),
            ends=np.empty((columns, min(largest, SMALL)), dtype=np.int64),
            low=np.empty((segments, columns), dtype=np.int64),
            high=np.empty((segments, columns), dtype=np.int64),
            masks=np.empty((segments, words), dtype=np.uint64),
            numbers=np.zeros(int(numbered.sum()), dtype=np.int64),
            number_start=starts_of(numbered)[:-1],
            cost=np.empty(self.positions, dtype=np.int64),
            sorted_ends=np.empty(self.positions, dtype=np.int64),
        )
