"""Which cells to suppress: outlier rows are published with `*` in some columns, so that they share classes.

A *unit* is a set of equal rows: a cell, or a class of a node. Units that show the same after suppression are one class.
Three steps look for few suppressed cells: sets of columns in their order of cost, a local repair of the result, and
both again from other orders. Everything depends on counts alone, never on the clock.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, groupby, islice

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Problem
from indistinct.algorithms.cluster.refine_search import LocalSearch
from indistinct.frequencies.compatible_rows import group_shown
from indistinct.frequencies.value import Classes, FrequencySet
from indistinct.hierarchy.builders import Suppression
from indistinct.machine.arrays import Codes, Mask
from indistinct.metrics.loss import Distortion
from indistinct.models.base import Model
from indistinct.recoding.columns import Importance, QuasiColumn
from indistinct.recoding.outputs import Assignment
from indistinct.tables.domain import Domain

# Sets of columns that are tried for each number of stars; with up to twelve columns these are all of them.
MASKS_PER_SIZE = 1000
# Further orders that are tried, and how many units may be placed and repaired in all these together.
MAX_RESTARTS, MAX_UNITS_RESTARTED = 7, 40_000
# Rounds of a repair, and how many units may be visited in all rounds together; two rounds are always made.
MAX_REPAIR_ROUNDS, MAX_UNITS_REPAIRED = 40, 2_000_000


StarMask = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Outlier rows: `values[i, j]` is what unit `i` would publish of column `j`, `classes` what a model sees of them.

    Columns in `free` may be starred; a star in column `j` costs each row `weights[j]`.
    """

    values: Codes
    classes: Classes
    free: tuple[int, ...]
    weights: tuple[float, ...]
    model: Model

    def __len__(self) -> int:
        return len(self.values)

    def take(self, units: Codes) -> "Units":
        """Return some of the units, in the order given."""
        return replace(self, values=self.values[units], classes=self.classes.take(units))


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """The suppressed columns of every unit, and which units could be placed; the others are removed."""

    stars: Mask
    placed: Codes

    def cost(self, units: Units) -> tuple[int, float]:
        """Return (rows that are removed, total cost of the stars of all others)."""
        rows = units.classes.sizes
        stars = rows[self.placed] @ self.stars[self.placed]
        return int(rows[~self.placed].sum()), float(stars @ np.array(units.weights))


def place_units(units: Units, *, counters: Counter[str], progress: Callable[[float], None]) -> Placement:
    """Return the placement with the fewest removed rows, and among these with the least costly stars."""
    restarts = min(MAX_RESTARTS, MAX_UNITS_RESTARTED // max(len(units), 1))
    best, least = None, (0, 0.0)
    for order in range(restarts + 1):
        placement = repair(units, place_greedily(units, order=order, counters=counters), counters=counters)
        cost = placement.cost(units)
        if best is None or cost < least:
            best, least = placement, cost
        progress((order + 1) / (restarts + 1))
    assert best is not None  # noqa: S101 - the first order is always tried
    return best


def place_greedily(units: Units, *, order: int, counters: Counter[str]) -> Placement:
    """Star sets of columns, the cheapest first, until every unit is placed or no set helps.

    Of equally costly sets, the one that places most rows comes first; with `order` above 0 that number permutes them.
    """
    stars = np.zeros(units.values.shape, dtype=bool)
    remaining: Codes = np.arange(len(units))
    telling = sorted(units.free, key=lambda j: (-len(np.unique(units.values[:, j])), j))
    for masks in _masks_by_cost(telling, units.weights):
        if units.classes.sizes[remaining].sum() < units.model.smallest:
            break
        turns = np.random.default_rng(order).permutation(len(masks)) if order else range(len(masks))
        tried = [masks[turn] for turn in turns]
        remaining = _place_with(units, tried, stars, remaining, largest_first=not order, counters=counters)
    placed = np.ones(len(units), dtype=bool)
    placed[remaining] = False
    return Placement(stars, placed)


def _masks_by_cost(telling: list[int], weights: tuple[float, ...]) -> Iterator[list[StarMask]]:
    """Yield lists of equally costly sets of columns in ascending cost; `telling` gives the order of columns."""
    if len({weights[j] for j in telling}) <= 1:
        for size in range(1, len(telling) + 1):
            yield list(islice(combinations(telling, size), MASKS_PER_SIZE))
        return
    every = [
        mask for size in range(1, len(telling) + 1) for mask in islice(combinations(telling, size), MASKS_PER_SIZE)
    ]

    def cost(mask: StarMask) -> float:
        return round(sum(weights[j] for j in mask), 9)

    for _, masks in groupby(sorted(every, key=cost), key=cost):
        yield list(masks)


def _place_with(
    units: Units, masks: list[StarMask], stars: Mask, remaining: Codes, *, largest_first: bool, counters: Counter[str]
) -> Codes:
    """Set the stars of units that these sets of columns place; return the units that are left.

    Under an absorbing model a set places fewer rows once others have placed some, so a count that is still the largest
    when repeated is the largest of all; under other models this is assumed.
    """
    rest = units.take(remaining)
    queue = [(-rest.classes.rows if largest_first else 0, index) for index in range(len(masks))]
    while queue and len(remaining):
        known, index = heapq.heappop(queue)
        settled, rows = _try_mask(rest, masks[index])
        counters["checks"] += 1
        if largest_first and -rows > known and queue and (-rows, index) > queue[0]:
            if rows:
                heapq.heappush(queue, (-rows, index))
            continue
        if rows:
            stars[np.ix_(remaining[settled], np.array(masks[index]))] = True
            remaining, rest = remaining[~settled], rest.take(np.flatnonzero(~settled))
    return remaining


def _try_mask(rest: Units, mask: StarMask) -> tuple[Mask, int]:
    """Return which units are in groups that satisfy the model with these stars, and their rows."""
    class_ids, groups = group_shown(rest.values, [j for j in range(rest.values.shape[1]) if j not in mask])
    settled = ~rest.model.violations(rest.classes.regroup(class_ids, groups))[class_ids]
    return settled, int(rest.classes.sizes[settled].sum())


def repair(units: Units, placement: Placement, *, counters: Counter[str]) -> Placement:
    """Return a placement of the same units that costs no more, by local search.

    Units move between classes and are swapped, and classes are dissolved, split and redivided, as long as that removes
    stars and the model holds.
    """
    placed = np.flatnonzero(placement.placed)
    if len(placed) < 2:
        return placement
    inside = units.take(placed)
    search = _local_search(inside, placement.stars[placed], counters)
    search.run(seconds=0, rounds=max(2, min(MAX_REPAIR_ROUNDS, MAX_UNITS_REPAIRED // len(placed))))
    stars = placement.stars.copy()
    stars[placed] = _differing(inside, search.state.class_id)
    repaired = Placement(stars, placement.placed)
    together = inside.classes.regroup(*group_published(inside.values, stars[placed]))
    holds = not inside.model.violations(together).any()
    return repaired if holds and repaired.cost(units) < placement.cost(units) else placement


def group_published(values: Codes, stars: Mask) -> tuple[Codes, int]:
    """Return (class of every unit, number of classes): units that publish the same are one class."""
    return group_shown(np.where(stars, 0, values + 1), range(values.shape[1]))


def _differing(units: Units, class_ids: Codes) -> Mask:
    """Return, for each unit and column, whether the units of its class have different values there."""
    distinct, ids = np.unique(class_ids, return_inverse=True)
    differing = np.zeros(units.values.shape, dtype=bool)
    for j in units.free:
        low, high = np.full(len(distinct), np.iinfo(np.int64).max), np.full(len(distinct), -1, dtype=np.int64)
        np.minimum.at(low, ids, units.values[:, j])
        np.maximum.at(high, ids, units.values[:, j])
        differing[:, j] = (low < high)[ids]
    return differing


def _local_search(units: Units, stars: Mask, counters: Counter[str]) -> LocalSearch:
    """Return a local search over units, in which each column is a tree of its values below `*`."""
    columns, vectors = [], np.empty(units.values.shape, dtype=np.int32)
    for j in range(units.values.shape[1]):
        values, vectors[:, j] = np.unique(units.values[:, j], return_inverse=True)
        domain = Domain(str(j), pa.array(values, pa.int64()))
        columns.append(QuasiColumn(domain, Suppression().bind(domain), tree=True))
    names = tuple(column.name for column in columns)
    frequencies = FrequencySet(names, vectors, units.classes)
    class_ids, size = group_published(units.values, stars)
    classes, cells = units.classes.regroup(class_ids, size), np.arange(len(units))
    values = np.zeros((size, len(names)), dtype=np.int32)
    start = Assignment(frequencies, (), values, cells, class_ids, units.classes.sizes, classes)
    importance = Importance(tuple(zip(names, units.weights, strict=True)))
    problem = Problem(frequencies, tuple(columns), units.model, counters=counters)
    return LocalSearch(problem, start, metric=Distortion(importance=importance))
