"""Unsorted matching: published rows are still in the order of the original (Sweeney 2002).

Rows that are sorted by what they show tell nothing by their order. So a release is parted into *blocks*, as far as its
columns explain the order, and only the order inside blocks is compared.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from indistinct.evaluation.attack.base import NEEDED, Attack, Outcome, Tally, Target, share_of, wilson
from indistinct.evaluation.attack.crowd import encode_values, original_crowd, table_of, translate_column
from indistinct.evaluation.attack.matching import groups_of, matches_of
from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes, Floats
from indistinct.machine.ordering import distinct

# A column explains the order where equal values are adjacent, unless nearly all are unique.
MAX_SHARE_DISTINCT = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class RowOrder:
    """Published rows in their order, and the rows of the original that look alike.

    `blocks` ascend; `kinds` number what rows look like: their class and what is published unmodified. `originals` has
    the kind of each row of the original, -1 where that is not clear. `slice` counts the slices of a release in buckets.
    """

    blocks: Codes
    kinds: Codes
    originals: Codes
    slice: int = 0

    def positions(self) -> Floats:
        """Return the expected original position of each published row: the mean over equal rows, or NaN."""
        (known,) = np.nonzero(self.originals >= 0)
        size = int(max(self.kinds.max(initial=-1), self.originals.max(initial=-1))) + 1
        number = np.bincount(self.originals[known], minlength=size)
        total = np.bincount(self.originals[known], weights=known, minlength=size)
        with np.errstate(invalid="ignore", divide="ignore"):
            return (total / number)[self.kinds]


def row_orders(target: Target) -> Iterator[tuple[str, RowOrder]]:
    """Yield the order of the published rows, and that by every column that has no role, such as a row number."""
    published = table_of(target.published.main, "the release")
    if target.earlier is not None:
        earlier = table_of(target.earlier.published.main, "the earlier release")
        shared = {*published.column_names} & {*earlier.column_names}
        names = [name for name in target.schema.published if name in shared]
        if names:
            together = (*_together(published, earlier, names), 0)
            yield "rows, compared with the earlier release", _part_into_blocks(published, together)
    if target.original is None:
        return
    every = list(_kinds(target, published))
    for order in every:
        yield "rows", _part_into_blocks(published, order)
    roles = {*target.schema.columns, "bucket", "count"}
    for name in published.column_names:
        if name in roles or any(name.startswith(f"{quasi}_") for quasi in target.schema.quasi):
            continue
        codes = encode_values(published, name).codes
        if len(distinct(codes)) == len(codes) > 1:
            rows = np.argsort(codes, kind="stable")
            sorted_by = published.drop_columns([name]).take(pa.array(rows))
            for kinds, originals, index in every:
                yield f"column {name!r}", _part_into_blocks(sorted_by, (kinds[rows], originals, index))


_Kinds = tuple[Codes, Codes, int]


def _part_into_blocks(published: pa.Table, kinds: _Kinds) -> RowOrder:
    own, originals, index = kinds
    return RowOrder(blocks_of(published), own, originals, index)


def blocks_of(published: pa.Table) -> Codes:
    """Divide published rows into blocks that are separated by sorted columns."""
    columns = {name: encode_values(published, name).codes.astype(np.int64) for name in published.column_names}
    blocks = np.zeros(published.num_rows, dtype=np.int64)
    while True:
        name = next((name for name, codes in columns.items() if _explains(codes, blocks)), None)
        if name is None:
            return blocks
        codes = columns.pop(name)
        changes = (np.diff(codes) != 0) | (np.diff(blocks) != 0)
        blocks = np.append(0, np.cumsum(changes)) if len(blocks) else blocks


def _explains(codes: Codes, blocks: Codes) -> bool:
    """Return whether rows of each block are sorted or grouped by a column."""
    if not len(codes):
        return False
    within = np.diff(blocks) == 0
    if not within.any():
        return False
    steps = np.diff(codes)[within]
    if (steps >= 0).all() or (steps <= 0).all():
        return True
    runs = int((steps != 0).sum()) + int((~within).sum()) + 1
    if runs > MAX_SHARE_DISTINCT * len(codes):
        return False
    return runs == len(group_rows([blocks, codes], [int(blocks.max()) + 1, int(codes.max()) + 1]))


def _kinds(target: Target, published: pa.Table) -> Iterator[_Kinds]:
    """Yield the kind of each published row and of each original one (-1: unclear), and a slice; equal kinds look alike.

    A release in classes has one: class and unmodified columns together. One in buckets has one for each slice of exact
    values.
    """
    schema, original = target.schema, table_of(target.original, "the original")
    groups = groups_of(target)
    if groups.class_of_row is not None:
        crowd = original_crowd(target)
        plain = [*schema.sensitive, *schema.insensitive]
        known = np.full(original.num_rows, -1)
        known[crowd.rows] = matches_of(target, groups, crowd).only()
        classes = (groups.class_of_row, known)
        yield (*_together(published, original, plain, classes), 0)
        return
    structure = target.published.structure
    for index, names in enumerate(structure.slices):
        exact = not structure.multisets and not set(names) & set(structure.generalized)
        if exact and all(name in published.column_names and name in original.column_names for name in names):
            yield (*_together(published, original, list(names)), index)


def _together(
    published: pa.Table, other: pa.Table, names: list[str], classes: tuple[Codes, Codes] | None = None
) -> tuple[Codes, Codes]:
    """Number what rows show in some columns and in their class, alike for published rows and those of another table.

    What the other table does not have is -1.
    """
    columns = [] if classes is None else [np.concatenate(classes) + 1]
    for name in names:
        if name in published.column_names and name in other.column_names:
            domain = encode_values(other, name).domain
            parts = [translate_column(table, name, domain) for table in (published, other)]
            columns.append(np.concatenate(parts) + 1)
    ids = group_rows(columns, [int(codes.max(initial=0)) + 1 for codes in columns]).group_ids().astype(np.int64)
    unclear = np.logical_or.reduce([codes == 0 for codes in columns])
    ids = np.where(unclear, -1, ids)
    return ids[: published.num_rows], ids[published.num_rows :]


# The order of rows is taken for the reverse of the original's only if chance hardly makes it look so.
MAX_P_VALUE_FOR_REVERSED = 1e-3


@dataclass(frozen=True, slots=True)
class UnsortedMatching(Attack):
    """An attacker who knows the row order of the original, or of an earlier release, and compares that of this one.

    Rows are compared that look different, and that no published column explains the order of: two at a time, each row
    once, so that a shuffled release is right about half of the pairs. A row is expected where the rows of the original
    that look like it are on average. A column without a role, such as a row number, is tried as an order as well.
    `rank_correlation` is that of both orders inside blocks, and `p_value` how often chance alone gives one as large.
    """

    name: ClassVar[str] = "unsorted-matching"

    def refusal(self, target: Target) -> str | None:
        """It needs rows in an order of their own."""
        known = target.original is not None or target.earlier is not None
        return None if known else f"it needs {NEEDED['original']} or {NEEDED['earlier']}"

    def run(self, target: Target) -> Outcome:
        """Compare the order of the rows, and of every column that may be a row number; report the worst."""
        results: dict[str, _Compared] = {}
        for what, order in row_orders(target):
            compared = _compare_order(order)
            results[what] = compared if what not in results else results[what].join(compared)
        worst, compared = max(results.items(), key=lambda each: wilson(*each[1].right)[0], default=("rows", _NOTHING))
        tally = Tally(compared.right[1], compared.right[0])
        before = "earlier release" if "earlier" in worst else "original"
        what = (
            f"the order of {worst}, which has no role," if worst.startswith("column") else "the order of published rows"
        )
        sentence = (
            f"In {share_of(tally, 'pairs of rows')} {what} tells which came first in the {before}; shuffled rows would "
            "in half of them, which is the control."
        )
        if not tally.attempts:
            sentence = (
                "Published columns explain the order of all rows that differ, so it reveals nothing more; there is "
                "nothing to compare with a control."
            )
        details = {
            "order": worst,
            "rank_correlation": compared.correlation,
            "p_value": compared.p_value,
            "pairs": tally.attempts,
        }
        defence = "publish rows shuffled inside classes and without a row number, as indistinct does without a seed"
        shuffled = Tally(tally.attempts, tally.attempts / 2)
        return Outcome(self.name, tally, 0.5, sentence, shuffled if tally.attempts else None, defence, details)


@dataclass(frozen=True, slots=True)
class _Compared:
    """Pairs in the right order and all pairs, and the sums behind a rank correlation."""

    right: tuple[int, int]
    product: float
    squares: float
    variance: float

    @property
    def correlation(self) -> float:
        """Return the rank correlation inside blocks; 0 where nothing can be compared."""
        return self.product / self.squares if self.squares > 0 else 0.0

    @property
    def p_value(self) -> float:
        """Return the two-sided p-value of the rank correlation, by the normal approximation."""
        return math.erfc(abs(self.product) / math.sqrt(2 * self.variance)) if self.variance > 0 else 1.0

    def join(self, other: "_Compared") -> "_Compared":
        """Combine the results of two slices."""
        right = (self.right[0] + other.right[0], self.right[1] + other.right[1])
        return _Compared(
            right, self.product + other.product, self.squares + other.squares, self.variance + other.variance
        )


_NOTHING = _Compared((0, 0), 0.0, 0.0, 0.0)


def _compare_order(order: RowOrder) -> _Compared:
    """Correlate published with expected positions inside each block, and count pairs of rows in the expected order."""
    positions = order.positions()
    rows = np.flatnonzero(~np.isnan(positions))
    if not len(rows):
        return _NOTHING
    blocks, expected = order.blocks[rows], positions[rows]
    starts = np.flatnonzero(np.append(True, np.diff(blocks) != 0))
    sizes = np.diff(np.append(starts, len(rows)))
    ranks = _ranks(blocks, expected, starts, sizes)
    place_in_run = np.arange(len(rows)) - np.repeat(starts, sizes)
    own = place_in_run - np.repeat((sizes - 1) / 2, sizes)
    other = ranks - np.repeat((sizes - 1) / 2, sizes)
    products, first, second = (np.add.reduceat(part, starts) for part in (own * other, own**2, other**2))
    variance = float((first * second / np.maximum(sizes - 1, 1))[sizes > 1].sum())
    compared = _Compared((0, 0), float(products.sum()), math.sqrt(float(first.sum() * second.sum())), variance)
    sign = -1 if compared.correlation < 0 and compared.p_value < MAX_P_VALUE_FOR_REVERSED else 1
    halves = np.repeat(sizes // 2, sizes)
    ahead = np.flatnonzero(place_in_run < halves)
    difference = sign * (expected[ahead + halves[ahead]] - expected[ahead])
    right = (int((difference > 0).sum()), int((difference != 0).sum()))
    return _Compared(right, compared.product, compared.squares, compared.variance)


def _ranks(blocks: Codes, expected: Floats, starts: Codes, sizes: Codes) -> Floats:
    """Return the rank of each row's expected position inside its block, from 0; equal positions share the mean.

    `blocks` ascend; block `i` has `sizes[i]` rows from `starts[i]` on.
    """
    order = np.lexsort((expected, blocks))
    same = np.append(True, (np.diff(expected[order]) != 0) | (np.diff(blocks[order]) != 0))
    runs = np.cumsum(same) - 1
    positions = np.arange(len(order)) - np.repeat(starts, sizes)
    means = np.bincount(runs, weights=positions) / np.bincount(runs)
    ranks = np.empty(len(order))
    ranks[order] = means[runs]
    return ranks
