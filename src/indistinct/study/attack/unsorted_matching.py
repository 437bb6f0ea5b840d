"""Unsorted matching: published rows still stand in the order of the original (Sweeney 2002)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.machine.arrays import Codes
from indistinct.study.attack.base import NEEDED, Attack, Outcome, Tally, Target
from indistinct.study.attack.intervals import wilson
from indistinct.study.attack.row_order import RowOrder, row_orders
from indistinct.study.attack.sentences import share_of

# The order of rows is taken for the reverse of the original's only if chance hardly makes it look so.
REVERSED = 1e-3


@dataclass(frozen=True, slots=True)
class UnsortedMatching(Attack):
    """An attacker who knows the row order of the original, or of an earlier release, and compares that of this one.

    Rows are compared that look different, and that no published column explains the order of: two at a time, each row
    once, so that a shuffled release is right about half of the pairs. A row is expected where the rows of the original
    that look like it stand on average. A column without a role, such as a row number, is tried as an order as well.
    `rank_correlation` is that of both orders inside blocks, and `p_value` how often chance alone gives one as large.
    """

    name: ClassVar[str] = "unsorted-matching"

    def refusal(self, target: Target) -> str | None:
        """It needs rows in an order of their own."""
        known = target.original is not None or target.earlier is not None
        return None if known else f"it needs {NEEDED['original']} or {NEEDED['earlier']}"

    def run(self, target: Target) -> Outcome:
        """Compare the order of the rows, and of every column that may be a row number; report the worst."""
        found: dict[str, _Compared] = {}
        for what, order in row_orders(target):
            compared = _compared(order)
            found[what] = compared if what not in found else found[what].joined(compared)
        worst, compared = max(found.items(), key=lambda each: wilson(*each[1].right)[0], default=("rows", _NOTHING))
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
                "Published columns explain the order of all rows that can be told apart, so that it tells nothing "
                "more; there is nothing that a control could be compared with."
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
        """Return how often a random order is correlated as much, either way, by the normal approximation."""
        return math.erfc(abs(self.product) / math.sqrt(2 * self.variance)) if self.variance > 0 else 1.0

    def joined(self, other: "_Compared") -> "_Compared":
        """Return what two slices tell together."""
        right = (self.right[0] + other.right[0], self.right[1] + other.right[1])
        return _Compared(
            right, self.product + other.product, self.squares + other.squares, self.variance + other.variance
        )


_NOTHING = _Compared((0, 0), 0.0, 0.0, 0.0)


def _compared(order: RowOrder) -> _Compared:
    positions = order.positions()
    rows = np.flatnonzero(~np.isnan(positions))
    if not len(rows):
        return _NOTHING
    blocks, expected = order.blocks[rows], positions[rows]
    starts = np.flatnonzero(np.append(True, np.diff(blocks) != 0))
    sizes = np.diff(np.append(starts, len(rows)))
    ranks = _ranks(blocks, expected, starts, sizes)
    places = np.arange(len(rows)) - np.repeat(starts, sizes)
    own = places - np.repeat((sizes - 1) / 2, sizes)
    other = ranks - np.repeat((sizes - 1) / 2, sizes)
    products, first, second = (np.add.reduceat(part, starts) for part in (own * other, own**2, other**2))
    variance = float((first * second / np.maximum(sizes - 1, 1))[sizes > 1].sum())
    compared = _Compared((0, 0), float(products.sum()), math.sqrt(float(first.sum() * second.sum())), variance)
    sign = -1 if compared.correlation < 0 and compared.p_value < REVERSED else 1
    halves = np.repeat(sizes // 2, sizes)
    ahead = np.flatnonzero(places < halves)
    difference = sign * (expected[ahead + halves[ahead]] - expected[ahead])
    right = (int((difference > 0).sum()), int((difference != 0).sum()))
    return _Compared(right, compared.product, compared.squares, compared.variance)


def _ranks(blocks: Codes, expected: Codes, starts: Codes, sizes: Codes) -> Codes:
    """Return the rank of every row's expected position inside its block; equal positions share the mean."""
    order = np.lexsort((expected, blocks))
    same = np.append(True, (np.diff(expected[order]) != 0) | (np.diff(blocks[order]) != 0))
    runs = np.cumsum(same) - 1
    places = np.arange(len(order)) - np.repeat(starts, sizes)
    means = np.bincount(runs, weights=places) / np.bincount(runs)
    ranks = np.empty(len(order))
    ranks[order] = means[runs]
    return ranks
