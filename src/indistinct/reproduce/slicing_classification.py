"""What can be learned from sliced, bucketized and generalized tables: the experiment of Li, Li, Zhang, Molloy (2012).

A sensitive attribute and a quasi-identifier are learned from releases of the same training rows, and predictions are
judged on rows of the original that were left out. The paper prints curves without numbers, so what can be compared are
its claims: the sensitive attribute is learned better from sliced than from bucketized tables, and a quasi-identifier
from sliced tables at least as well as from generalized ones, and not better than from the original.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Progress
from indistinct.errors import InfeasibleError, InputError
from indistinct.reproduce.base import Cell, Reproduction
from indistinct.reproduce.datasets import generate_census, load_adult
from indistinct.reproduce.slicing import ADULT_ATTRIBUTES, SENSITIVE
from indistinct.schema import Schema
from indistinct.study.measure.learning.classification import classify
from indistinct.study.measure.learning.scores import ORIGINAL, RELEASE, Estimate, Score, estimate

QUASI_TARGET = "education"
ROWS, FOLDS, SEED = 12_000, 5, 1
CLASSIFIERS = ("naive-bayes", "random-forest:trees=20")
GENERALIZED, BUCKETIZED, ANATOMIZED = "generalized", "bucketized", "anatomized"
SLICED, FINELY = "sliced", "sliced finely"
HEADINGS = ("l", "target", "algorithm", "classifier", "accuracy", "±", "majority")


@dataclass(frozen=True, slots=True)
class Learned:
    """How well a target was learned with one classifier from one kind of table, fold by fold."""

    l: int
    target: str
    kind: str
    classifier: str
    accuracy: Estimate
    majority: float
    by_fold: tuple[float, ...]

    def row(self) -> tuple[Cell, ...]:
        """Return the row of the figure."""
        width = (self.accuracy.high - self.accuracy.low) / 2
        shown = (round(self.accuracy.mean, 4), round(width, 4), round(self.majority, 4))
        return (self.l, self.target, self.kind, self.classifier, *shown)


def reproduce_slicing_classification(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Learn both targets from tables that were generalized, bucketized and sliced with every l."""
    table, data = _table()
    learned, told = list[Learned](), list[str]()
    jobs = [(l, target) for l in sizes for target in (SENSITIVE, QUASI_TARGET)]
    for place, (l, target) in enumerate(jobs):
        some, sentences = learned_from(table, l, target)
        learned += some
        told += sentences
        progress((place + 1) / len(jobs))
    held = claims(learned)
    return Reproduction(
        title="Slicing: what can still be learned",
        source="T. Li, N. Li, J. Zhang, I. Molloy (2012). Slicing: a new approach for privacy preserving data "
        "publishing. IEEE TKDE. (Plots only: there are no published numbers to set beside these.)",
        data=data,
        headings=HEADINGS,
        rows=tuple(each.row() for each in learned),
        findings=(*(claim.sentence() for claim in held), *told),
        facts={"claims": {claim.text: claim.to_json() for claim in held}},
    )


def learned_from(
    table: pa.Table, l: int, target: str, *, classifiers: Sequence[str] = CLASSIFIERS, folds: int = FOLDS
) -> tuple[list[Learned], list[str]]:
    """Learn a target from every kind of release with one l, and say which kinds there is none of."""
    schema = Schema(quasi=[name for name in table.column_names if name != SENSITIVE], sensitive=[SENSITIVE])
    found, told = list[Learned](), list[str]()
    for kind, how in releases(l).items():
        try:
            study = classify(table, schema, target=target, classifiers=classifiers, folds=folds, seed=SEED, **how)
        except InfeasibleError:
            told.append(f"{kind}, l = {l}: the training rows allow no such l")
            continue

        def learned(score: Score, of: str, majority: float) -> Learned:
            return Learned(l, target, of, score.classifier, score.accuracy, majority, score.by_fold)

        if not found:
            found += [learned(study.score(name, ORIGINAL), ORIGINAL, study.majority.mean) for name in classifiers]
        found += [learned(study.score(name, RELEASE), kind, study.majority.mean) for name in classifiers]
    return found, told


def releases(l: int) -> Mapping[str, Mapping[str, Any]]:
    """Return how each kind of release is made, with the same promise: no sensitive value is likelier than 1/l.

    Slicing tries one attribute a bucket, as in the paper, or every one of them (finely).
    """
    diverse = f"alpha-k:sensitive={SENSITIVE},alpha=1/{l},k={l}"
    return {
        GENERALIZED: {"algorithm": "mondrian", "model": diverse},
        BUCKETIZED: {"algorithm": f"slicing:l={l},columns=whole"},
        ANATOMIZED: {"algorithm": f"anatomy:l={l}"},
        SLICED: {"algorithm": f"slicing:l={l}"},
        FINELY: {"algorithm": f"slicing:l={l},try_all_dims=true"},
    }


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that one accuracy is above another, and in each setting by how much it is, fold by fold."""

    text: str
    settings: tuple[tuple[str, Estimate], ...]

    def sentence(self) -> str:
        """Return whether the claim is confirmed: where the whole interval of the difference is on its side."""
        if not self.settings:
            return f"{self.text}: not tested, because nothing is there to compare with"
        yes = [name for name, each in self.settings if each.low > 0]
        against = [name for name, each in self.settings if each.high < 0]
        words = f"{self.text}: confirmed in {len(yes)} of {len(self.settings)} settings"
        if against:
            words += f", the opposite in {len(against)} ({'; '.join(against)})"
        undecided = len(self.settings) - len(yes) - len(against)
        return f"{words}, not decided in {undecided}" if undecided else words

    def to_json(self) -> list[dict[str, Any]]:
        """Return plain JSON values: every setting with the difference."""
        return [{"setting": name, **each.to_json()} for name, each in self.settings]


def claims(learned: Sequence[Learned]) -> tuple[Claim, ...]:
    """Return the paper's claims, as they stand on these numbers."""
    sensitive, quasi = "the sensitive attribute is learned better from", "a quasi-identifier is learned better from"
    return (
        _above(f"{sensitive} sliced than from bucketized tables", learned, SENSITIVE, SLICED, BUCKETIZED),
        _above(f"{sensitive} sliced than from anatomized tables", learned, SENSITIVE, SLICED, ANATOMIZED),
        _above(f"{sensitive} finely sliced than from anatomized tables", learned, SENSITIVE, FINELY, ANATOMIZED),
        _above(f"{sensitive} finely sliced than from generalized tables", learned, SENSITIVE, FINELY, GENERALIZED),
        _above(f"{quasi} sliced than from generalized tables", learned, QUASI_TARGET, SLICED, GENERALIZED),
        _above(f"{quasi} finely sliced than from generalized tables", learned, QUASI_TARGET, FINELY, GENERALIZED),
        _above(f"{quasi} the original than from finely sliced tables", learned, QUASI_TARGET, ORIGINAL, FINELY),
    )


def _above(text: str, learned: Sequence[Learned], target: str, more: str, less: str) -> Claim:
    by_setting = {(each.l, each.classifier, each.kind): each for each in learned if each.target == target}
    settings = list[tuple[str, Estimate]]()
    for (l, classifier, kind), one in by_setting.items():
        other = by_setting.get((l, classifier, less))
        if kind != more or other is None:
            continue
        differences = np.subtract(one.by_fold, other.by_fold).tolist()
        settings.append((f"l = {l}, {classifier}", estimate(differences, folds=len(differences))))
    return Claim(text, tuple(settings))


def _table() -> tuple[pa.Table, str]:
    """Return rows of Adult, or where it is not at hand of a generated census."""
    try:
        whole, name, advice = load_adult().select(ADULT_ATTRIBUTES), "Adult", ""
    except InputError:
        whole, name = generate_census(ROWS, seed=SEED), "a generated census"
        advice = "; set INDISTINCT_DATA to the folder of Adult"
    rows = np.sort(np.random.default_rng(SEED).permutation(whole.num_rows)[:ROWS])
    table = whole.take(pa.array(rows))
    about = f"{table.num_rows:,} rows drawn from {name}, {table.num_columns} attributes, {SENSITIVE} is sensitive"
    return table, f"{about}, {FOLDS} folds, intervals of 95 % (corrected resampled t){advice}"
