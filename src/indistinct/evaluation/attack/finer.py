"""Finer values than a release in classes publishes: what an attacker claims of its classes, and what of it is true.

The attacker reads the release, and knows the hierarchies and which values a column can have, as a data dictionary tells
them. A *claim* says that at least a number of rows of a class have a value below some part of what is published for it.
"""

from dataclasses import dataclass

import numpy as np

from indistinct.errors import InputError
from indistinct.evaluation.attack.base import Outcome, Progress, Tally, Target, share_of
from indistinct.evaluation.attack.crowd import not_contained
from indistinct.frequencies.count import Request
from indistinct.frequencies.value import FrequencySet
from indistinct.machine.arrays import Codes, Floats, Mask
from indistinct.machine.ordering import distinct, distinct_with_places
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.release.sources import count_source
from indistinct.tables.opening import open_table
from indistinct.view.cover import Cover, pairs_of_cells
from indistinct.view.meanings import Node, covered_by, node_of
from indistinct.view.read_back import ReadClasses, read_classes

# Most pairs of an original cell and a published class to compare.
MAX_PAIRS = 4_000_000_000


@dataclass(frozen=True, slots=True, eq=False)
class ShownClasses:
    """A release in classes as read, and the cells of the original that judge what is claimed of it.

    `covers[j]` says what each published value of column `j` may be.
    """

    columns: tuple[QuasiColumn, ...]
    classes: ReadClasses
    covers: tuple[Cover, ...]
    cells: FrequencySet

    def nodes(self, j: int) -> list[Node | None]:
        """Return the node that each published value of a column is, None where it is none."""
        return [node_of(meaning) for meaning in self.classes.meanings[j]]

    def coarse(self, j: int) -> Mask:
        """Return the classes that show several values of a column."""
        return (self.covers[j].lengths > 1)[self.classes.values[:, j]]


def shown_classes(target: Target) -> ShownClasses:
    """Read the classes of a release with its original, once for all attacks that look at them."""
    return target.once("shown classes", lambda: _read(target))


def _read(target: Target) -> ShownClasses:
    """Read the classes of a release, and count the cells of its original."""
    schema = target.schema
    counted = count_source(target.original, Request(schema.quasi, (), target.hierarchies))
    columns = columns_of(counted.domains, {name: h for name, h in target.hierarchies.items() if name in schema.quasi})
    table = open_table(target.published.main, published=True).data
    if table.num_rows > counted.frequencies.rows:
        raise not_contained(
            f"the release has {table.num_rows:,} rows, and the original has {counted.frequencies.rows:,}"
        )
    classes = read_classes(table, columns, schema=schema)
    covers = tuple(covered_by(column, meanings) for column, meanings in zip(columns, classes.meanings, strict=True))
    return ShownClasses(columns, classes, covers, counted.frequencies)


def stays_whole(target: Target) -> bool:
    """Return whether rows with equal values are certainly in one class of a release."""
    return target.algorithm is not None and not target.algorithm.traits.splits


def settle(shown_classes: ShownClasses, *, whole: bool, progress: Progress | None = None) -> tuple[Codes, Codes]:
    """Return the class of each original cell, -1 if uncertain, and mark the classes with only known rows.

    Labels of a local recoding overlap. A cell belongs to a class if it fits no other that has room left, and if a class
    is as large as all cells that can still go there, they all do. `whole` says that rows with equal values stay
    together.
    """
    cells, classes = _fitting(shown_classes, progress)
    rows, left = shown_classes.cells.counts, shown_classes.classes.sizes.astype(np.int64).copy()
    class_of_cell = np.full(len(rows), -1, dtype=np.int64)
    while len(cells):
        options = np.bincount(cells, minlength=len(rows))
        possible = np.bincount(classes, weights=rows[cells], minlength=len(left))
        certain = (options[cells] == 1) | (possible == left)[classes]
        if not certain.any():
            break
        class_of_cell[cells[certain]] = classes[certain]
        np.subtract.at(left, classes[certain], rows[cells[certain]])
        open_pairs = (class_of_cell[cells] < 0) & (left[classes] >= (rows[cells] if whole else 1))
        cells, classes = cells[open_pairs], classes[open_pairs]
    assigned = class_of_cell >= 0
    settled = (
        np.bincount(class_of_cell[assigned], weights=rows[assigned], minlength=len(left)) == shown_classes.classes.sizes
    )
    return class_of_cell, settled


def _fitting(classes: ShownClasses, progress: Progress | None) -> tuple[Codes, Codes]:
    """Return all pairs of an original cell and a class that covers it."""
    values, vectors = classes.classes.values, classes.cells.vectors
    if len(vectors) * len(values) > MAX_PAIRS:
        raise InputError(
            f"{len(vectors):,} combinations of original values and {len(values):,} published ones are too many pairs",
            hint="attack a sample of the release, with the same rows of the original",
        )
    covers = [cover.take(values[:, j]) for j, cover in enumerate(classes.covers)]
    return pairs_of_cells(classes.cells, covers, progress=progress)


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """What is claimed of one column: at least `rows[i]` rows of class `classes[i]` lie below node `parts[i]`.

    The node is one on level `levels[i]` of the column's hierarchy; on level 0 it is a code. `chance[i]` is the chance
    that a row lies there if it may be any part of the published value.
    """

    column: int
    classes: Codes
    levels: Codes
    parts: Codes
    rows: Codes
    chance: Floats

    @classmethod
    def none(cls, column: int) -> "Claims":
        """Return no claims."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(column, nothing, nothing, nothing, nothing, nothing.astype(np.float64))

    def those(self, chosen: Codes) -> "Claims":
        """Return some of the claims."""
        positions = (self.classes[chosen], self.levels[chosen], self.parts[chosen])
        return Claims(self.column, *positions, self.rows[chosen], self.chance[chosen])


def true_rows(classes: ShownClasses, claims: Claims, found: Codes) -> Codes:
    """Return how many of the claimed rows of each claim are right, given the class of every original cell."""
    column, right = classes.columns[claims.column], np.zeros(len(claims.rows), dtype=np.int64)
    certain = found >= 0
    codes, rows, owners = classes.cells.vectors[certain, claims.column], classes.cells.counts[certain], found[certain]
    for level in distinct(claims.levels).tolist():
        mine = claims.levels == level
        nodes = (
            np.arange(len(column.domain))
            if level == 0 or column.taxonomy is None
            else column.taxonomy.ancestors[:, level]
        )
        width = int(nodes.max(initial=0)) + 1
        words, inverse = distinct_with_places(owners * np.int64(width) + nodes[codes])
        counts = np.bincount(inverse, weights=rows).astype(np.int64)
        wanted = claims.classes[mine] * np.int64(width) + claims.parts[mine]
        index = np.searchsorted(words, wanted).clip(max=max(len(words) - 1, 0))
        there = (
            np.where(words[index] == wanted, counts[index], 0) if len(words) else np.zeros(len(wanted), dtype=np.int64)
        )
        right[mine] = np.minimum(there, claims.rows[mine])
    return right


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Claims of all columns, judged: for each column its coarse cells, the claimed ones, and the right ones."""

    names: tuple[str, ...]
    cells: tuple[int, ...]
    claimed: tuple[int, ...]
    right: tuple[int, ...]
    chance: float
    unjudged: int

    @property
    def tally(self) -> Tally:
        """Count the generalized cells, and those whose finer value was claimed correctly."""
        return Tally(sum(self.cells), sum(self.right))

    @property
    def baseline(self) -> float:
        """Return the share of coarse cells that the same claims would name rightly if rows lay anywhere inside."""
        return self.chance / sum(self.cells) if sum(self.cells) else 0.0

    @property
    def details(self) -> dict[str, object]:
        """Return the number of recovered values by column."""
        parts = zip(self.names, self.cells, self.claimed, self.right, strict=True)
        return {
            "columns": {
                name: {"coarse": cells, "claimed": claims, "right": right} for name, cells, claims, right in parts
            },
            "claimed": sum(self.claimed),
            "wrong": sum(self.claimed) - sum(self.right),
            "unjudged_cells": self.unjudged,
        }

    def outcome(self, attack: str, *, why: str, defence: str) -> Outcome:
        """Return the outcome of an attack; `why` says from what the claims follow."""
        tally, wrong = self.tally, sum(self.claimed) - sum(self.right)
        achieved = f"{share_of(tally, 'generalized cells')} come back finer than they are published"
        because = f": {why}" if sum(self.right) else ""
        mistakes = f"; {wrong:,} further claims were wrong" if wrong else ""
        unsure = f"; {self.unjudged:,} more cells could not be judged" if self.unjudged else ""
        return Outcome(
            attack,
            tally,
            self.baseline,
            f"{achieved}{because}{mistakes}{unsure}. It speaks of classes, so that a control does not apply.",
            defence=defence,
            details=self.details,
        )


def rows_by_chance(sizes: Codes, chances: Floats, rows: Codes) -> Codes:
    """Return the expected number of correct rows per claim if each row of a class is there with a probability.

    >>> rows_by_chance(np.array([2]), np.array([0.5]), np.array([1])).tolist()
    [0.75]
    """
    expected, number = np.zeros(len(rows)), np.zeros(len(rows))
    exactly = (1 - chances) ** sizes  # the chance that this number of rows lies there
    below = exactly.copy()
    for claimed in range(1, int(rows.max(initial=0)) + 1):
        expected += np.where(claimed <= rows, 1 - below, 0.0)
        exactly = exactly * (sizes - number) / (number + 1) * chances / np.maximum(1 - chances, 1e-12)
        below, number = below + exactly, number + 1
    return np.maximum(expected, 0.0)


def judge(classes: ShownClasses, claims: list[Claims], *, whole: bool, progress: Progress | None = None) -> Judged:
    """Judge claims against the original; classes whose rows are not known are skipped."""
    class_of_cell, settled = settle(classes, whole=whole, progress=progress)
    sizes, cells, claimed, right, chance, unjudged = classes.classes.sizes, [], [], [], 0.0, 0
    for each in claims:
        coarse = classes.coarse(each.column)
        cells.append(int(sizes[coarse & settled].sum()))
        unjudged += int(sizes[coarse & ~settled].sum())
        own = each.those(settled[each.classes])
        claimed.append(int(own.rows.sum()))
        right.append(int(true_rows(classes, own, class_of_cell).sum()))
        chance += float(rows_by_chance(sizes[own.classes], own.chance, own.rows).sum())
    names = tuple(classes.columns[each.column].name for each in claims)
    return Judged(names, tuple(cells), tuple(claimed), tuple(right), chance, unjudged)
