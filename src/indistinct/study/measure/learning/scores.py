"""What learning from a release is worth: how often classifiers are right, trained on what, with intervals over folds.

Training folds overlap, so the scores of folds vary less than those of fresh tables would. The interval is the corrected
resampled t of Nadeau and Bengio (2003), which allows for that.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

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
        return asdict(self)


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


ORIGINAL, RELEASE, WITHOUT = "original", "release", "without quasi-identifiers"
TRAINED_ON = (ORIGINAL, RELEASE, WITHOUT)
"""What a classifier is trained on: the two beside the release say what could be had, and what needs no release."""


@dataclass(frozen=True, slots=True)
class Score:
    """How often a classifier is right about rows of the original that it did not see.

    `accuracy` is the share of right predictions, `balanced_accuracy` the mean of that share over the values of the
    target. `difference` is the accuracy less that of the same classifier trained on the original, fold by fold.
    `by_fold` has the accuracy on every test fold: with equal seeds, folds of two studies of a table are the same.
    """

    classifier: str
    trained_on: str
    accuracy: Estimate
    balanced_accuracy: Estimate
    difference: Estimate
    by_fold: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        parts = {name: getattr(self, name).to_json() for name in ("accuracy", "balanced_accuracy", "difference")}
        named = {"classifier": self.classifier, "trained_on": self.trained_on}
        return {**named, **parts, "by_fold": list(self.by_fold)}


@dataclass(frozen=True, slots=True)
class Classification:
    """What can be learned of a target from releases of a table.

    `majority` is the accuracy of guessing the most frequent value. `metric` is Iyengar's classification metric of the
    releases, None where it is not defined: for buckets, and for a target that is recoded. `finished` says that one
    finished release was judged, which holds the people that it is tested on. `suppressed` is the share of training
    rows that releases leave out.
    """

    target: str
    role: str
    rows: int
    values: int
    folds: int
    repeats: int
    representation: str
    seed: int
    finished: bool
    majority: Estimate
    scores: tuple[Score, ...]
    metric: Estimate | None
    suppressed: float
    notes: tuple[str, ...] = ()

    def score(self, classifier: str, trained_on: str = RELEASE) -> Score:
        """Return the score of a classifier, as it was spelled."""
        found = {(each.classifier, each.trained_on): each for each in self.scores}
        return found[classifier, trained_on]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        plain = ("target", "role", "rows", "values", "folds", "repeats", "representation", "seed", "finished")
        return {
            **{name: getattr(self, name) for name in plain},
            "majority": self.majority.to_json(),
            "scores": [each.to_json() for each in self.scores],
            "classification_metric": None if self.metric is None else self.metric.to_json(),
            "suppressed": self.suppressed,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Hits:
    """The shares of right predictions on one test fold: of all rows, and on average over the values of the target."""

    accuracy: float
    balanced: float


def hits(predicted: Codes, truth: Codes) -> Hits:
    """Return how many predictions are right.

    >>> hits(np.array([0, 0, 0, 0]), np.array([0, 0, 0, 1]))
    Hits(accuracy=0.75, balanced=0.5)
    """
    right = predicted == truth
    values, places = np.unique(truth, return_inverse=True)
    recalls = np.bincount(places, weights=right, minlength=len(values)) / np.bincount(places, minlength=len(values))
    return Hits(float(right.mean()), float(recalls.mean()))
