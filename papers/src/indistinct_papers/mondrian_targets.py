"""What cuts for a target are good for: the experiments of LeFevre, DeWitt and Ramakrishnan (2008) on Adult.

A class and a number are learned from releases of the same training rows, cut at medians, by loss, and for the target;
top-down specialization, which also knows the class, is a fourth. Predictions are judged on rows of the original that
were left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.algorithms.base import Progress
from indistinct.drawing.charts import draw
from indistinct.drawing.lines import line_charts
from indistinct.errors import InputError
from indistinct.evaluation.measure.learning.classification import classify
from indistinct.evaluation.measure.learning.classifiers import require_extra
from indistinct.evaluation.measure.learning.features import draw_values, features_of, training_rows
from indistinct.evaluation.measure.learning.scores import ORIGINAL, RELEASE, folds_of
from indistinct.frequencies.encode import Encoded, encode_column
from indistinct.hierarchy import Hierarchy
from indistinct.job.publishing import anonymize
from indistinct.machine.arrays import Codes
from indistinct.recoding.kinds import ByRegion, Recoding
from indistinct.release.published import describe_release
from indistinct.release.release import Release
from indistinct.release.views import view_of
from indistinct.samples import CENSUS_QUASI, census_hierarchies, generate_census
from indistinct.schema import Schema
from indistinct.tables.domain import Kind
from indistinct.view.value import unmodified
from indistinct_papers.adult import ADULT_QUASI, adult_hierarchies, load_adult
from indistinct_papers.base import Cell, Claim, Reproduction

SOURCE = "LeFevre, DeWitt, Ramakrishnan (2008)"
ROWS, FOLDS, SEED = 12_000, 3, 1
CLASSIFIERS = ("naive-bayes", "random-forest:trees=20")
CLASS_MEANS, RIDGE, TREE = "class means", "ridge", "tree"
REGRESSORS = (CLASS_MEANS, RIDGE, TREE)
LEAST_IN_LEAF = 20
MEDIAN, LOSS, TARGET, SPECIALIZED = "medians", "loss", "target", "tds"
CLASS, CENSUS_CLASS, SECOND_CLASS = "salary-class", "salary", "occupation"
NUMBERS: tuple[str, ...] = ("hours-per-week", "age")
CENSUS_NUMBERS: tuple[str, ...] = ("age",)
HEADINGS = ("k", "target", "cut by", "learner", "error", "all rows", "without")
TITLE = "Cuts for a target: what can be predicted"


@dataclass(frozen=True, slots=True)
class Learned:
    """The error with which a target is learned from one kind of release, fold by fold.

    The error is a share of rows for a class, and for a number the squared error as a share of that of the mean. `whole`
    is what the original training rows give, and `constant` what the most frequent class or the mean alone gives.
    """

    k: int
    target: str
    kind: str
    learner: str
    by_fold: tuple[float, ...]
    whole: float
    constant: float

    @property
    def error(self) -> float:
        """The mean error."""
        return float(np.mean(self.by_fold))

    def row(self) -> tuple[Cell, ...]:
        """Return the row of the figure."""
        shown = (round(self.error, 4), round(self.whole, 4), round(self.constant, 4))
        return (self.k, self.target, self.kind, self.learner, *shown)


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """A table, the hierarchies of its quasi-identifiers, what is predicted, and a sentence about it."""

    table: pa.Table
    hierarchies: Mapping[str, Hierarchy]
    quasi: tuple[str, ...]
    class_target: str
    numbers: tuple[str, ...]
    about: str


def reproduce_mondrian_targets(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Learn a class, two classes of one release, and two numbers from releases with each k."""
    require_extra()
    inputs, learned = _inputs(), list[Learned]()
    for index, k in enumerate(sizes):
        learned += learn_classes(inputs, [inputs.class_target], k)
        learned += learn_classes(inputs, [inputs.class_target, SECOND_CLASS], k)
        for number in inputs.numbers:
            learned += learn_number(inputs, number, k)
        progress((index + 1) / len(sizes))
    rows = tuple(each.row() for each in learned)
    return Reproduction(
        title=TITLE,
        source="K. LeFevre, D. DeWitt, R. Ramakrishnan (2008). Workload-aware anonymization techniques for large-scale "
        "datasets. ACM TODS 33(3). (Plots only: there are no published numbers to compare with.)",
        data=inputs.about,
        headings=HEADINGS,
        rows=rows,
        findings=(_compare_loss(learned),),
        facts={"folds": {f"{each.k} {each.target} {each.kind} {each.learner}": each.by_fold for each in learned}},
        claims=claims_of(learned, inputs.class_target),
        differs=(
            "up to five cuts of each column are weighed, at even shares of the rows, and not all of them",
            "the paper learns with other programs and on other targets; ours are those that the table has",
            "a tree is cut in two, the most frequent children on one side, and not into all of its children",
        ),
        picture=partial(_picture, rows, inputs.about),
    )


def kinds_for(targets: Sequence[str], *, numeric: bool) -> Mapping[str, str]:
    """Return how each kind of release is made; `tds` knows one class."""
    choose = "variance" if numeric else "information-gain"
    named = {
        MEDIAN: "mondrian",
        LOSS: "mondrian:choose=loss",
        TARGET: f"mondrian:choose={choose},target={'|'.join(targets)}",
    }
    return named if numeric or len(targets) > 1 else {**named, SPECIALIZED: f"tds:target={targets[0]}"}


def learn_classes(inputs: Inputs, targets: Sequence[str], k: int) -> list[Learned]:
    """Learn one class, or several of them, from every kind of release with one k; one release is cut for all."""
    quasi = [name for name in inputs.quasi if name not in targets]
    schema = Schema(quasi=quasi, sensitive=targets[:1], insensitive=targets[1:])
    table, found = inputs.table.select(schema.published), []
    for kind, algorithm in kinds_for(targets, numeric=False).items():
        hierarchies = {name: each for name, each in _hierarchies(inputs, kind).items() if name in quasi}
        for target in targets:
            study = classify(
                table,
                schema,
                target=target,
                model=f"k-anonymity:k={k}",
                algorithm=algorithm,
                hierarchies=hierarchies,
                classifiers=CLASSIFIERS,
                folds=FOLDS,
                seed=SEED,
            )
            shown = target if len(targets) == 1 else f"{target}, one of {len(targets)}"
            for name in CLASSIFIERS:
                of_release, of_original = study.score(name, RELEASE), study.score(name, ORIGINAL)
                errors = tuple(1 - accuracy for accuracy in of_release.by_fold)
                whole, constant = 1 - of_original.accuracy.mean, 1 - study.majority.mean
                found.append(Learned(k, shown, kind, name, errors, whole, constant))
    return found


def learn_number(inputs: Inputs, target: str, k: int) -> list[Learned]:
    """Learn a number from every kind of release with one k, with each learner."""
    quasi = [name for name in (*inputs.quasi, *inputs.numbers[:1]) if name != target]
    schema = Schema(quasi=quasi, insensitive=[target])
    table = inputs.table.select(schema.published)
    split = folds_of(np.zeros(table.num_rows, dtype=np.int64), None, folds=FOLDS, seed=SEED)
    found = []
    for kind, algorithm in kinds_for([target], numeric=True).items():
        errors: dict[str, list[tuple[float, float]]] = {name: [] for name in REGRESSORS}
        for fold in range(FOLDS):
            training = table.take(pa.array(np.flatnonzero(split != fold)))
            release = anonymize(
                training,
                schema,
                model=f"k-anonymity:k={k}",
                algorithm=algorithm,
                hierarchies={name: each for name, each in _hierarchies(inputs, kind).items() if name in quasi},
                seed=SEED,
            )
            tested = table.take(pa.array(np.flatnonzero(split == fold)))
            for name, pair in _errors_of(release, training, tested, schema, target).items():
                errors[name].append(pair)
        for name, pairs in errors.items():
            of_release, of_original = zip(*pairs, strict=True)
            found.append(Learned(k, target, kind, name, tuple(of_release), float(np.mean(of_original)), 1.0))
    return found


def _errors_of(
    release: Release, training: pa.Table, tested: pa.Table, schema: Schema, target: str
) -> dict[str, tuple[float, float]]:
    """Return each learner's squared error over that of the mean: from a release, and from its original."""
    both, first = pa.concat_tables([training, tested]), len(training)
    encoded = {name: encode_column(name, both[name]) for name in both.column_names}
    domains = {name: encoded[name].domain for name in schema.quasi}
    published = describe_release(release, schema)
    shown = view_of(
        published.tables,
        published.schema,
        domains={name: each.domain for name, each in encoded.items()},
        hierarchies=published.used_hierarchies,
    )
    released = training_rows(shown, seed=SEED)
    own = {name: Encoded.plain(each.domain, each.codes[:first]) for name, each in encoded.items()}
    plain = training_rows(unmodified(own), seed=SEED)
    line = encoded[target].domain.positions()
    known, truth = (line[codes] for codes in np.split(encoded[target].codes, [first]))
    codes = {name: encoded[name].codes[first:] for name in schema.quasi}
    scale = float(np.mean((truth - known.mean()) ** 2))
    errors: dict[str, list[float]] = {name: [] for name in (RIDGE, TREE)}
    for rows in (released, plain):
        values = line[draw_values(rows, target, seed=SEED)]
        features = features_of(rows, codes, domains, representation="midpoints", seed=SEED)
        for name, several in errors.items():
            predicted = _regressor(name).fit(features.training, values).predict(features.tested)
            several.append(float(np.mean((truth - predicted) ** 2)) / scale)
    means = predict_by_class(release.recoding, training, tested, known)
    errors[CLASS_MEANS] = [float(np.mean((truth - means) ** 2)) / scale, errors[TREE][1]]
    return {name: (of_release, of_original) for name, (of_release, of_original) in errors.items()}


def predict_by_class(recoding: Recoding, training: pa.Table, tested: pa.Table, known: Codes) -> Codes:
    """Return the mean of a number over the training rows of the class that each tested row falls into.

    A number between those of training rows goes with the one below; a name that they do not have gets the mean of all.
    """
    assert isinstance(recoding, ByRegion)  # noqa: S101 (what strict partitioning finds)
    found, strange = [], np.zeros(len(training) + len(tested), dtype=bool)
    for column in recoding.columns:
        both = pa.concat_tables([training, tested])[column.domain.column].combine_chunks()
        codes = pc.index_in(both, value_set=column.domain.values.cast(both.type))
        if column.domain.kind is Kind.NUMBER:
            below = np.searchsorted(column.domain.values.to_numpy(), both.to_numpy(), side="right") - 1
            codes = pa.array(np.maximum(below, 0))
        strange |= codes.is_null().to_numpy(zero_copy_only=False)
        own = pc.fill_null(codes, 0).to_numpy() + int(column.domain.missing)
        found.append(column.ranks[own].astype(np.uint32))
    class_ids = recoding.cuts.locate(np.stack(found, axis=1))
    of_training, of_tested = np.split(class_ids, [len(training)])
    sums, sizes = (np.bincount(of_training, weights=each, minlength=recoding.cuts.classes) for each in (known, None))
    means = np.where(sizes > 0, sums / np.maximum(sizes, 1), known.mean())
    return np.where(strange[len(training) :], known.mean(), means[of_tested])


def _regressor(name: str) -> Any:
    from sklearn.linear_model import Ridge
    from sklearn.tree import DecisionTreeRegressor

    if name == RIDGE:
        return Ridge()
    return DecisionTreeRegressor(min_samples_leaf=LEAST_IN_LEAF, random_state=SEED)


def claims_of(learned: Sequence[Learned], class_target: str) -> tuple[Claim, ...]:
    """Return what the paper says of its experiments, judged by these numbers."""
    classes = [each for each in learned if each.target == class_target]
    numbers = [each for each in learned if each.learner in REGRESSORS]
    several = [each for each in learned if each.target != class_target and each.learner not in REGRESSORS]
    gain = "a class is learned better where cuts gain information about it than"
    less = "a number is learned with a smaller error where cuts decrease its squared deviation than"
    of_classes = f"the paper learns several classes of other tables as well; ours are {' and '.join(CLASSIFIERS)}"
    of_numbers = "the paper learns numbers of other tables; ours are the means of classes, ridge regression and a tree"
    return (
        _compare(f"{gain} where they are medians", classes, MEDIAN, of_classes),
        _compare(f"{gain} from top-down specialization", classes, SPECIALIZED, of_classes),
        _compare(
            "several classes are learned better where cuts gain information about all of them than where they are "
            "medians",
            several,
            MEDIAN,
            f"which classes the paper joins is not certain; ours are {class_target} and {SECOND_CLASS}, which "
            "is no quasi-identifier here",
        ),
        _compare(f"{less} where they are medians", numbers, MEDIAN, of_numbers),
    )


def _compare(text: str, learned: Sequence[Learned], other: str, differs: str) -> Claim:
    """Return the verdict on a claim that the error is smaller with cuts for the target than with another kind."""
    errors = {(each.k, each.target, each.learner, each.kind): each.error for each in learned}
    pairs = [(key, error, errors[*key[:3], other]) for key, error in errors.items() if key[3] == TARGET]
    held = sum(error < theirs for _, error, theirs in pairs)
    ratios = [error / theirs for _, error, theirs in pairs]
    failed = "; ".join(
        f"{name} with {learner}, k = {k}" for (k, name, learner, _), error, theirs in pairs if error >= theirs
    )
    figures = f"smaller in {held} of {len(pairs)} settings, {min(ratios):.2f} to {max(ratios):.2f} of the error"
    return Claim(
        text,
        SOURCE,
        held,
        len(pairs),
        figures + (f"; not for {failed}" if failed else ""),
        differs,
        place="experiments",
        setting="Adult and other tables, several k, curves without numbers",
        ours=f"{ROWS:,} rows, {FOLDS} folds, k = {', '.join(map(str, dict.fromkeys(each.k for each in learned)))}",
    )


def _compare_loss(learned: Sequence[Learned]) -> str:
    """Return how cuts for the target compare with cuts by loss, which the paper does not have."""
    errors = {(each.k, each.target, each.learner, each.kind): each.error for each in learned}
    pairs = [(error, errors[*key[:3], LOSS]) for key, error in errors.items() if key[3] == TARGET]
    held, ratios = sum(error < theirs for error, theirs in pairs), [error / theirs for error, theirs in pairs]
    return (
        f"next to cuts by loss, not in the paper, the error is smaller in {held} of {len(pairs)} settings, "
        f"{min(ratios):.2f} to {max(ratios):.2f} of it"
    )


def _hierarchies(inputs: Inputs, kind: str) -> dict[str, Hierarchy]:
    """Return the hierarchies of a kind of release: Mondrian cuts ages along their order."""
    return {name: each for name, each in inputs.hierarchies.items() if kind == SPECIALIZED or name != "age"}


def _picture(rows: Sequence[tuple[Cell, ...]], about: str) -> str:
    named = [dict(zip(HEADINGS, row, strict=True)) for row in rows]
    kept = [row for row in named if row["learner"] in (CLASSIFIERS[0], REGRESSORS[0])]
    charts = line_charts(kept, x=("k", "k"), across="target", lines="cut by", measures={"error": "linear"})
    return draw(charts, title=TITLE, notes=[about])


def _inputs() -> Inputs:
    """Return rows of Adult, or where it is not at hand of a generated census."""
    try:
        whole, hierarchies, quasi, name = load_adult(), adult_hierarchies(), ADULT_QUASI, "Adult"
        target, numbers, advice = CLASS, NUMBERS, ""
    except InputError:
        whole, hierarchies, quasi, name = (
            generate_census(ROWS, seed=SEED),
            census_hierarchies(),
            CENSUS_QUASI,
            "a generated census",
        )
        target, numbers, advice = CENSUS_CLASS, CENSUS_NUMBERS, "; set INDISTINCT_DATA to the folder of Adult"
    rows = np.sort(np.random.default_rng(SEED).permutation(whole.num_rows)[:ROWS])
    about = (
        f"{len(rows):,} rows drawn from {name}, {len(quasi)} quasi-identifiers, {FOLDS} folds; error: the share of "
        f"wrong classes, or the squared error of numbers over that of their mean{advice}"
    )
    return Inputs(
        whole.take(pa.array(rows)), {each: hierarchies[each] for each in quasi}, tuple(quasi), target, numbers, about
    )
