"""What learning from a release is worth: how often classifiers are right, trained on what, with intervals over folds.

Training folds overlap, so the scores of folds vary less than those of fresh tables would. The interval is the corrected
resampled t of Nadeau and Bengio (2003), which allows for that.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from indistinct.as_json import AsJson
from indistinct.document.blocks import Block, Cell, Document, JsonValues, Paragraph, document, grid, listing
from indistinct.document.result import Result
from indistinct.figures import percent
from indistinct.machine.arrays import Codes

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate(AsJson):
    """A mean over folds, and an interval that holds the truth with a confidence of 95 %."""

    mean: float
    low: float
    high: float


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
"""What a classifier is trained on: the other two say what could be had, and what needs no release."""


@dataclass(frozen=True, slots=True)
class Score(AsJson):
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


@dataclass(frozen=True, slots=True, repr=False)
class Classification(Result):
    """What can be learned of a target from releases of a table.

    `majority` is the accuracy of guessing the most frequent value. `metric` is Iyengar's classification metric of the
    releases, None where it is not defined: for buckets, and for a target that is recoded. `finished` says that one
    finished release was judged, which holds the people that it is tested on. `suppressed` is the share of training
    rows that releases leave out.
    """

    in_json: ClassVar[str] = (
        "target role rows values folds repeats representation seed finished majority scores "
        "classification_metric=metric suppressed notes"
    )
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

    def document(self) -> Document:
        """Return the accuracy of each classifier by training data."""
        again = f", {self.repeats} times" if self.repeats > 1 else ""
        title = (
            f"{self.target!r} ({self.role}, {self.values:,} values) learned from {self.rows:,} rows in {self.folds} "
            f"folds{again}, labels as {self.representation}, seed {self.seed}"
        )
        return document(title, *classifier_blocks(JsonValues("classify", self.to_json())))

    def score(self, classifier: str, trained_on: str = RELEASE) -> Score:
        """Return the score of a classifier by its specification."""
        scores = {(each.classifier, each.trained_on): each for each in self.scores}
        return scores[classifier, trained_on]


LEARNED = (
    "Share of right predictions, ± 95 % (corrected resampled t, Nadeau and Bengio 2003), of classifiers trained on the "
    "original, on the release, and without quasi-identifiers; balanced is the mean over the values of the target."
)


def classifier_blocks(values: JsonValues) -> list[Block]:
    """Return the table of accuracies by classifier and training data, and of guessing."""
    scores: dict[str, dict[str, int]] = {}
    for index, each in enumerate(values.at("scores")):
        scores.setdefault(each["classifier"], {})[each["trained_on"]] = index
    columns = (
        ("original", ORIGINAL, "accuracy"),
        ("release", RELEASE, "accuracy"),
        ("difference", RELEASE, "difference"),
        ("balanced", RELEASE, "balanced_accuracy"),
        ("without", WITHOUT, "accuracy"),
    )
    rows: list[tuple[Cell, ...]] = [
        (name, *(_estimate_figure(values, "scores", own.get(trained, -1), key) for _, trained, key in columns))
        for name, own in scores.items()
    ]
    others: list[tuple[Cell, ...]] = [("most frequent value", _estimate_figure(values, "majority"))]
    if values.at("classification_metric") is not None:
        others.append(("classification metric (Iyengar)", _estimate_figure(values, "classification_metric")))
    others.append(("training rows suppressed", values.figure("suppressed", words=percent)))
    headings = tuple(heading for heading, _, _ in columns)
    caption = f"What classifiers learn of {values.at('target')}"
    return [
        grid(caption, ("classifier", *headings), rows, right=headings),
        Paragraph(LEARNED),
        grid("To compare with", ("figure", "value"), others, right=["value"]),
        *listing(map(str, values.at("notes"))),
    ]


def _estimate_figure(values: JsonValues, *path: str | int) -> Cell:
    """Return a mean with half the width of its interval, such as 18.3 % ± 36.7."""

    def words(of: Any) -> str:
        return f"{100 * of['mean']:.1f} % ± {50 * (of['high'] - of['low']):.1f}"

    return values.figure(*path, words=words)


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
    values, inverse = np.unique(truth, return_inverse=True)
    recalls = np.bincount(inverse, weights=right, minlength=len(values)) / np.bincount(inverse, minlength=len(values))
    return Hits(float(right.mean()), float(recalls.mean()))
