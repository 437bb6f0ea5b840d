"""What can be learned from sliced, bucketized and generalized tables: the experiment of Li, Li, Zhang, Molloy (2012).

A sensitive attribute and a quasi-identifier are learned from releases of the same training rows, and predictions are
judged on rows of the original that were left out. The paper prints curves without numbers, so what can be compared are
its claims: the sensitive attribute is learned better from sliced than from bucketized tables, and a quasi-identifier
from sliced tables at least as well as from generalized ones, and not better than from the original.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Progress
from indistinct.errors import InfeasibleError, InputError
from indistinct.evaluation.measure.learning.classification import classify
from indistinct.evaluation.measure.learning.classifiers import Classifier, NaiveBayes
from indistinct.evaluation.measure.learning.scores import ORIGINAL, RELEASE, Estimate, Score, estimate
from indistinct.parameters import Parameter, Whole
from indistinct.samples import generate_census
from indistinct.schema import Schema
from indistinct.text_form import spell
from indistinct_papers.adult import load_adult
from indistinct_papers.base import Cell, Claim, Reproduction, unite_parts
from indistinct_papers.slicing import (
    ADULT_ATTRIBUTES,
    BUCKETS_KEEP,
    EFFECTIVE,
    PLACES,
    SENSITIVE,
    SHORT_SOURCE,
    UTILITY,
)

QUASI_TARGET = "education"
ROWS, FOLDS, SEED = 12_000, 5, 1
GENERALIZED, BUCKETIZED, ANATOMIZED = "generalized", "bucketized", "anatomized"
SLICED, FINELY = "sliced", "sliced finely"
DIFFERS = (
    "scikit-learn's CART by entropy is used in place of C4.5; which attributes stay together is found on our table, as "
    "the paper does not print it"
)
HEADINGS = ("l", "target", "algorithm", "classifier", "accuracy", "±", "majority")


@dataclass(frozen=True, slots=True)
class EntropyTree(Classifier):
    """A tree that is cut by entropy, as C4.5 is; its leaves hold at least `leaf` rows, and it is not pruned."""

    name: ClassVar[str] = "tree-by-entropy"
    leaf: Annotated[int, Parameter("Rows of a leaf", "Least number of rows in a leaf.", Whole())] = 10

    def estimator(self, seed: int) -> Any:
        """Return the estimator; the seed decides between equally good cuts."""
        from sklearn import tree

        return tree.DecisionTreeClassifier(criterion="entropy", min_samples_leaf=self.leaf, random_state=seed)


CLASSIFIERS: tuple[Classifier, ...] = (NaiveBayes(), EntropyTree())


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
    table, data = sampled_adult()
    learned, told = list[Learned](), list[str]()
    jobs = [(l, target) for l in sizes for target in (SENSITIVE, QUASI_TARGET)]
    for place, (l, target) in enumerate(jobs):
        some, sentences = learned_from(table, l, target)
        learned += some
        told += sentences
        progress((place + 1) / len(jobs))
    compared = compare_kinds(learned)
    return Reproduction(
        title="Slicing: what can still be learned",
        source="T. Li, N. Li, J. Zhang, I. Molloy (2012). Slicing: a new approach for privacy preserving data "
        "publishing. IEEE TKDE. (Plots only: there are no published numbers to compare with.)",
        data=data,
        headings=HEADINGS,
        rows=tuple(each.row() for each in learned),
        findings=tuple(told),
        facts={"differences": {each.text: each.to_json() for each in compared}},
        claims=claims(compared),
        differs=(
            "the paper draws curves without numbers and learns with a C4.5 tree and naive Bayes; ours are naive Bayes "
            "and scikit-learn's CART by entropy, which is not pruned, judged on rows of the original that were left "
            "out",
            "which attributes a slice holds is found on our table; the paper does not print its own slices",
            "generalized tables keep the bound 1/l on frequencies that slicing keeps, so that promises are equal",
        ),
    )


def learned_from(
    table: pa.Table, l: int, target: str, *, classifiers: Sequence[Classifier | str] = CLASSIFIERS, folds: int = FOLDS
) -> tuple[list[Learned], list[str]]:
    """Learn a target from every kind of release with one l, and say which kinds there is none of."""
    schema = Schema(quasi=[name for name in table.column_names if name != SENSITIVE], sensitive=[SENSITIVE])
    found, told, names = (
        list[Learned](),
        list[str](),
        [each if isinstance(each, str) else spell(each) for each in classifiers],
    )
    for kind, how in releases(l).items():
        try:
            study = classify(table, schema, target=target, classifiers=classifiers, folds=folds, seed=SEED, **how)
        except InfeasibleError:
            told.append(f"{kind}, l = {l}: the training rows allow no such l")
            continue

        def learned(score: Score, of: str, majority: float) -> Learned:
            return Learned(l, target, of, score.classifier, score.accuracy, majority, score.by_fold)

        if not found:
            found += [learned(study.score(name, ORIGINAL), ORIGINAL, study.majority.mean) for name in names]
        found += [learned(study.score(name, RELEASE), kind, study.majority.mean) for name in names]
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
class Compared:
    """A claim that one accuracy is above another, and in each setting by how much it is, fold by fold.

    A claim about *some* experiments is confirmed by one of them. It may be one part of a `sentence`.
    """

    text: str
    settings: tuple[tuple[str, Estimate], ...]
    some: bool = False
    own: bool = False
    sentence: str = ""

    def claim(self) -> Claim:
        """Return the verdict: a setting decides where the whole interval of the difference is on one side."""
        about: dict[str, Any] = {
            "place": PLACES.get(self.sentence, "Sonawane and Rahinj, IV.A, 4"),
            "setting": "census data, C4.5 and naive Bayes, curves without numbers",
            "ours": f"{ROWS:,} rows, {', '.join(map(spell, CLASSIFIERS))}, {FOLDS} folds",
            "rule": "some" if self.some else "every",
            "own": self.own,
        }
        if not self.settings:
            return Claim(self.text, SHORT_SOURCE, 0, 0, "nothing is there to compare with", **about)
        above = [setting for setting in self.settings if setting[1].low > 0]
        below = [setting for setting in self.settings if setting[1].high < 0]
        undecided = len(self.settings) - len(above) - len(below)
        counts = (
            f"above in {len(above)} of {len(self.settings)} settings",
            f"below in {len(below)}" if below else "",
            f"not decided in {undecided}" if undecided else "",
        )
        figures = "; ".join(", ".join(map(_name_difference, some)) for some in (above, below) if some)
        summary = ", ".join(filter(None, counts))
        words = f"{summary}: {figures}" if figures else summary
        return Claim(self.text, SHORT_SOURCE, len(above), len(self.settings), words, DIFFERS, **about)

    def to_json(self) -> list[dict[str, Any]]:
        """Return plain JSON values: every setting with the difference."""
        return [{"setting": name, **each.to_json()} for name, each in self.settings]


def _name_difference(setting: tuple[str, Estimate]) -> str:
    name, difference = setting
    return f"{name} {100 * difference.mean:+.1f} points"


def claims(compared: Sequence[Compared]) -> tuple[Claim, ...]:
    """Return a claim for each sentence; one that is compared in several ways holds as often as these do together."""
    parts: dict[str, dict[str, Claim]] = {}
    for each in compared:
        parts.setdefault(each.sentence or each.text, {})[each.text] = each.claim()
    return tuple(
        unite_parts(sentence, some) if set(some) != {sentence} else some[sentence] for sentence, some in parts.items()
    )


def compare_kinds(learned: Sequence[Learned]) -> tuple[Compared, ...]:
    """Return the comparisons that the paper claims and our own, judged by these numbers."""
    sensitive, quasi = "the sensitive attribute is learned better from", "a quasi-identifier is learned better from"

    def than_original(kind: str) -> tuple[tuple[str, Estimate], ...]:
        return tuple(
            setting for target in (SENSITIVE, QUASI_TARGET) for setting in _differences(learned, target, kind, ORIGINAL)
        )

    more = "in some experiments more is learned from"

    def own(text: str, target: str, less: str) -> Compared:
        return replace(_compare(text, learned, target, FINELY, less), own=True)

    def effective(text: str, less: str) -> Compared:
        return replace(_compare(text, learned, SENSITIVE, SLICED, less), sentence=EFFECTIVE)

    def useful(text: str, target: str, kind: str, sentence: str) -> Compared:
        return replace(_compare(text, learned, target, kind, GENERALIZED), sentence=sentence)

    return (
        Compared(f"{more} sliced tables than from the original", than_original(SLICED), some=True),
        effective(f"{sensitive} sliced than from bucketized tables", BUCKETIZED),
        effective(f"{sensitive} sliced than from anatomized tables", ANATOMIZED),
        useful(f"{sensitive} sliced than from generalized tables", SENSITIVE, SLICED, UTILITY),
        useful(f"{quasi} sliced than from generalized tables", QUASI_TARGET, SLICED, UTILITY),
        useful(f"{sensitive} bucketized than from generalized tables", SENSITIVE, BUCKETIZED, BUCKETS_KEEP),
        useful(f"{quasi} bucketized than from generalized tables", QUASI_TARGET, BUCKETIZED, BUCKETS_KEEP),
        own(f"{sensitive} finely sliced than from anatomized tables", SENSITIVE, ANATOMIZED),
        own(f"{sensitive} finely sliced than from generalized tables", SENSITIVE, GENERALIZED),
        own(f"{quasi} finely sliced than from generalized tables", QUASI_TARGET, GENERALIZED),
        Compared(f"{more} finely sliced tables than from the original", than_original(FINELY), some=True, own=True),
    )


def _compare(text: str, learned: Sequence[Learned], target: str, more: str, less: str) -> Compared:
    return Compared(text, tuple(_differences(learned, target, more, less)))


def _differences(learned: Sequence[Learned], target: str, more: str, less: str) -> list[tuple[str, Estimate]]:
    """Return in each setting how much better a target is learned from one kind of table than from another."""
    by_setting = {(each.l, each.classifier, each.kind): each for each in learned if each.target == target}
    settings = list[tuple[str, Estimate]]()
    for (l, classifier, kind), one in by_setting.items():
        other = by_setting.get((l, classifier, less))
        if kind != more or other is None:
            continue
        differences = np.subtract(one.by_fold, other.by_fold).tolist()
        settings.append((f"{target} from {more}, l = {l}, {classifier}", estimate(differences, folds=len(differences))))
    return settings


def sampled_adult() -> tuple[pa.Table, str]:
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
