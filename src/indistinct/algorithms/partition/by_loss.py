"""Strict partitioning that takes, of all allowable cuts of a part, the one after which its two sides lose least.

What a side loses is what the global certainty penalty charges its rows. All parts of a depth are weighed by kernels and
judged by one call of the model; for models that look at class sizes alone the kernels offer allowable cuts only.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from indistinct.algorithms.base import fewest_rows
from indistinct.algorithms.partition import _by_loss_kernels, _cut_order_kernels
from indistinct.algorithms.partition._by_loss_kernels import BITS, Covers
from indistinct.algorithms.partition._cut_order_kernels import (
    BY_CHILD,
    BY_FREQUENCY,
    BY_RANK,
    KIND,
    LINE,
    NEVER,
    NODE,
    SET,
    SIZE,
    Orders,
)
from indistinct.algorithms.partition.layout import Layout
from indistinct.algorithms.partition.strict import Partition
from indistinct.arrays import Codes, starts_of
from indistinct.frequencies.value import Classes
from indistinct.models.base import Model
from indistinct.parallel import is_large, spread, workers
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.regions import Cuts
from indistinct.recoding.summary import TreeForm, floor_of

Result = TypeVar("Result")
# Charges are whole numbers of 1 / 2^24 of a cell, as long as their sum over a table fits a word.
FRACTION = 24
# A cell is looked at once for each pair of columns on every depth, and so takes as long as so many that are counted.
WORK = 256


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """What the kernels know of the columns: a row of `fields` each, charges, and trees."""

    fields: Codes
    charges: Codes
    trees: Codes

    @classmethod
    def of(
        cls, columns: Sequence[QuasiColumn], layout: Layout, *, rows: int, trees: TreeForm, in_order: bool
    ) -> "Costs":
        """Return the charges of the global certainty penalty; `in_order` cuts every column along its ranks."""
        scale = 1 << max(min(FRACTION, 62 - rows.bit_length() - len(columns).bit_length()), 0)
        kinds, orders, charges = [], [], np.zeros(len(layout.lines), dtype=np.int64)
        for place, column in enumerate(columns):
            kind = LINE if column.ranged else SET
            if column.tree and trees == "node":
                kind = NODE
            own = _charges(column, kind)
            at = layout.line_offset[place]
            charges[at : at + len(own)] = np.rint(own * scale)
            order = {LINE: BY_RANK, SET: BY_FREQUENCY}.get(kind, BY_CHILD)
            kinds.append(kind)
            orders.append(BY_RANK if in_order else order)
        floors = [floor_of(column) for column in columns]
        more = np.array([floors, layout.sizes, kinds, orders], dtype=np.int64).T
        return cls(np.concatenate([layout.fields, more], axis=1), charges, layout.trees)


def _charges(column: QuasiColumn, kind: int) -> Codes:
    """Return places on a line, or the charge of one, two, three … values, or that of each rank's ancestors."""
    if kind == LINE:
        # From the first place on: far from zero, charges would be too large for whole numbers.
        return (
            (column.positions - column.positions.min()) / column.span if column.span else np.zeros(len(column.domain))
        )
    if kind == SET or column.taxonomy is None:
        count = np.arange(1, len(column.domain) + 1)
        return np.where(count == 1, 0.0, count / max(column.size, 1))
    ancestors = column.taxonomy.ancestors[column.by_rank]
    leaves = np.stack([each[ancestors[:, level]] for level, each in enumerate(column.taxonomy.leaves)], axis=1)
    return np.where(leaves == 1, 0.0, leaves / max(column.size, 1)).ravel()


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """The parts of one depth: part `i` has the cells `items[starts[i]:starts[i + 1]]`, packed in `rows`.

    `offsets` are their places in the final order of all cells.
    """

    items: Codes
    rows: Codes
    starts: Codes
    offsets: Codes

    def __len__(self) -> int:
        return len(self.offsets)

    def select(self, mask: Codes) -> "_Parts":
        """Return some of the parts."""
        if mask.all():
            return self
        sizes = np.diff(self.starts)
        inside = np.repeat(mask, sizes)
        return _Parts(self.items[inside], self.rows[inside], starts_of(sizes[mask]), self.offsets[mask])


@dataclass(frozen=True, slots=True, eq=False)
class _Division:
    """Parts cut in two: the order of cells with left sides first, where right sides begin, and the cuts."""

    order: Codes
    middles: Codes
    ends: Codes
    members: Codes
    sizes: Codes


def partition_by_loss(
    ranks: Codes,
    classes: Classes,
    *,
    layout: Layout,
    costs: Costs,
    model: Model,
    positions: int,
    counters: Counter[str],
) -> Partition:
    """Return the partition in which every part is cut where its sides lose least; cells of a class stand together.

    `positions` candidates are tried in each column.
    """
    search = _Search(costs, layout, fewest_rows(model), positions)
    tree = _Tree()
    everything = np.arange(len(ranks))
    final, ends = np.empty_like(everything), []
    parts = _Parts(everything, layout.pack(ranks, classes.sizes), np.array([0, len(ranks)]), np.zeros(1, np.int64))
    while len(parts):
        chosen = search.choose(parts, model=model, classes=classes, counters=counters)
        cut = chosen >= 0
        done, parts = parts.select(~cut), parts.select(cut)
        ends.append(done.offsets)
        final[np.arange(len(done.items)) + np.repeat(done.offsets - done.starts[:-1], np.diff(done.starts))] = (
            done.items
        )
        division = search.divide(parts, chosen[cut])
        tree.grow(cut, chosen[cut] // positions, division, done.offsets, parts.starts[:-1])
        parts = _sides(parts, division)
    starts = np.sort(np.concatenate(ends))
    class_ids = np.repeat(np.arange(len(starts), dtype=np.int32), np.diff(starts, append=len(ranks)))
    return Partition(tree.cuts(), ranks[final], class_ids, classes.sizes[final])


def _sides(parts: _Parts, division: _Division) -> _Parts:
    """Return the sides of cut parts as parts."""
    starts = np.empty(2 * len(parts) + 1, dtype=np.int64)
    starts[::2], starts[1::2] = parts.starts, division.middles
    offsets = np.repeat(parts.offsets - parts.starts[:-1], 2) + starts[:-1]
    return _Parts(parts.items[division.order], parts.rows[division.order], starts, offsets)


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """How parts are weighed, cut and judged."""

    costs: Costs
    layout: Layout
    smallest: int
    positions: int

    def choose(self, parts: _Parts, *, model: Model, classes: Classes, counters: Counter[str]) -> Codes:
        """Return each part's candidate of least loss that the model allows, -1 where there is none."""
        least = NEVER
        if model.traits.sizes_only:
            chosen = np.full(len(parts), -1)

            def best(first: int, last: int) -> None:
                losses = self._weigh(parts, first, last)
                chosen[first:last] = np.where(losses.min(axis=1) < least, losses.argmin(axis=1), -1)

            self._spread(best, parts)
            return chosen
        losses = np.concatenate(self._spread(lambda first, last: self._weigh(parts, first, last), parts))
        ranked = np.argsort(losses, axis=1, kind="stable")
        chosen, everyone = np.full(len(parts), -1), np.arange(len(parts))
        waiting = np.ones(len(parts), dtype=bool)
        for attempt in range(losses.shape[1]):
            tried = ranked[:, attempt]
            waiting &= losses[everyone, tried] < least
            if not waiting.any():
                break
            group = parts.select(waiting)
            counters["checks"] += len(group)
            fits = self._allowed(group, tried[waiting], model=model, classes=classes)
            won = np.flatnonzero(waiting)[fits]
            chosen[won], waiting[won] = tried[won], False
        return chosen

    def _allowed(self, parts: _Parts, tried: Codes, *, model: Model, classes: Classes) -> Codes:
        """Return which parts fall into sides that both satisfy the model."""
        sides = _sides(parts, self.divide(parts, tried))
        class_ids = np.repeat(np.arange(len(sides), dtype=np.int32), np.diff(sides.starts))
        broken = model.violations(classes.take(sides.items).regroup(class_ids, len(sides)))
        return ~(broken[::2] | broken[1::2])

    def divide(self, parts: _Parts, chosen: Codes) -> _Division:
        """Return the parts cut at their candidates."""
        cells, count = len(parts.items), len(parts)
        found = _Division(*(np.empty(size, dtype=np.int64) for size in (cells, count, count, cells, count)))
        arrays = (chosen, found.order, found.middles, found.ends, found.members, found.sizes)

        def one(first: int, last: int) -> None:
            orders = self._orders(parts.starts[first : last + 1])
            where = (parts.rows, parts.starts, first, last, self.smallest)
            _cut_order_kernels.divide(*where, self.costs.fields, self.costs.trees, orders, *arrays)

        self._spread(one, parts)
        return found

    def _weigh(self, parts: _Parts, first: int, last: int) -> Codes:
        """Return what the sides of every candidate lose, for a run of parts."""
        losses = np.full((last - first, len(self.layout.sizes) * self.positions), NEVER)
        starts, costs = parts.starts[first : last + 1], self.costs
        buffers = (self._orders(starts), self._covers(starts))
        columns = (costs.fields, costs.charges, costs.trees)
        _by_loss_kernels.weigh(parts.rows, starts, self.smallest, *columns, *buffers, losses)
        return losses

    def _spread(self, work: Callable[[int, int], Result], parts: _Parts) -> list[Result]:
        """Return what a function returns for runs of parts, which have about as many cells each."""
        cells, runs = len(parts.items), 1
        if is_large(WORK * cells):
            runs = min(4 * workers(), len(parts))
        cells_before = np.arange(1, runs) * (cells / runs)
        bounds = np.unique([0, *np.searchsorted(parts.starts, cells_before).tolist(), len(parts)]).tolist()
        return spread(work, bounds[:-1], bounds[1:])

    def _orders(self, starts: Codes) -> Orders:
        """Return what a thread works in to order the values of parts that begin at some places."""
        values, few = max(self.layout.sizes), min(max(self.layout.sizes), int(np.diff(starts).max(initial=0)))
        tally, segment = np.zeros(values, dtype=np.int64), np.empty(values, dtype=np.int64)
        keys, reach, ends = (np.empty(size, dtype=np.int64) for size in (few, few, self.positions))
        return Orders(tally, segment, keys, reach, ends)

    def _covers(self, starts: Codes) -> Covers:
        """Return what a thread works in to weigh the cuts of such parts."""
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
            low=np.empty((segments, columns), dtype=np.int64),
            high=np.empty((segments, columns), dtype=np.int64),
            masks=np.empty((segments, words), dtype=np.uint64),
            numbers=np.zeros(int(numbered.sum()), dtype=np.int64),
            number_start=starts_of(numbered)[:-1],
            cost=np.empty(self.positions, dtype=np.int64),
            sorted_ends=np.empty(self.positions, dtype=np.int64),
        )


class _Tree:
    """A tree of cuts that grows by one depth at a time."""

    def __init__(self) -> None:
        self.axis: list[Codes] = []
        self.cut: list[Codes] = []
        self.left: list[Codes] = []
        self.members: list[Codes] = []
        self.sizes: list[Codes] = []
        self.nodes, self.sets = 1, 0

    def grow(self, cut: Codes, axis: Codes, division: _Division, leaves: Codes, starts: Codes) -> None:
        """Add the parts of a depth: which are cut, along what and where, and the offsets of those that are leaves."""
        own, ends, left = np.full(len(cut), -1, np.int16), np.zeros(len(cut), np.int64), np.empty(len(cut), np.int64)
        own[cut], left[~cut] = axis, leaves
        left[cut] = self.nodes + 2 * np.arange(len(axis))
        by_set = division.sizes > 0
        sets = self.sets + np.cumsum(by_set) - 1
        ends[cut] = np.where(by_set, -1 - sets, division.ends)
        sizes = division.sizes[by_set]
        inside = np.repeat(starts[by_set] - starts_of(sizes)[:-1], sizes) + np.arange(sizes.sum())
        self.nodes, self.sets = self.nodes + 2 * len(axis), self.sets + int(by_set.sum())
        self.members.append(division.members[inside])
        for whole, part in ((self.axis, own), (self.cut, ends), (self.left, left), (self.sizes, sizes)):
            whole.append(part)

    def cuts(self) -> Cuts:
        """Return the whole tree, with leaves numbered from left to right."""
        axis, cut, left, sizes = (np.concatenate(part) for part in (self.axis, self.cut, self.left, self.sizes))
        members = (starts_of(sizes), np.concatenate(self.members).astype(np.int32)) if len(sizes) else None
        return Cuts(axis, cut, left, left + 1, members).numbered()
