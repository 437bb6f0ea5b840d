"""Folds of rows, and intervals of what is measured on them.

Training folds overlap, so the scores of folds vary less than those of fresh tables would. The interval is the corrected
resampled t of Nadeau and Bengio (2003), which allows for that.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.machine.arrays import Codes

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over folds, and an interval that holds the truth with a confidence of 95 %."""

    mean: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        """Return plain JSON values."""
        return {"mean": self.mean, "low": self.low, "high": self.high}


def estimate(scores: Sequence[float], *, folds: int) -> Estimate:
    """Return the mean of the scores of test folds with its interval.

    Half its width is t · s · sqrt(1/J + 1/(folds - 1)) for J scores of standard deviation s, where the plain t interval
    has sqrt(1/J): a test fold has 1/(folds - 1) as many rows as the training folds.

    >>> estimate([0.5, 0.5, 0.5], folds=3)
    Estimate(mean=0.5, low=0.5, high=0.5)
    """
    mean = math.fsum(scores) / len(scores)
    spread = float(np.std(scores, ddof=1)) if len(scores) > 1 and np.ptp(scores) else 0.0
    if not spread:
        return Estimate(mean, mean, mean)
    from scipy import stats

    width = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(scores) - 1))
    width *= spread * math.sqrt(1 / len(scores) + 1 / (folds - 1))
    return Estimate(mean, mean - width, mean + width)


def folds_of(targets: Codes, people: Codes | None, *, folds: int, seed: int) -> Codes:
    """Return the fold of every row, drawn at random: every value is dealt evenly, or people with all their rows."""
    draw = np.random.default_rng(seed)
    if people is not None:
        return _dealt(draw.permutation(int(people.max(initial=-1)) + 1), folds)[people]
    shuffled = draw.permutation(len(targets))
    return _dealt(shuffled[np.argsort(targets[shuffled], kind="stable")], folds)


def _dealt(order: Codes, folds: int) -> Codes:
    """Return the fold of each of some things that are dealt one by one in an order."""
    fold = np.empty(len(order), dtype=np.int64)
    fold[order] = np.arange(len(order)) % folds
    return fold
