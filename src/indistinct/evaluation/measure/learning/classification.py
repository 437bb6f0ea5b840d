"""Learn a column from a release and be judged on the original: which algorithm and model leave something to learn.

The table is split first. The training folds alone are anonymized, so that no person of a test fold had a part in the
recoding, and classifiers that learned from the release predict the rows of the original that were left out.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Algorithm
from indistinct.errors import IndistinctError, InputError, ParameterError, SchemaError, did_you_mean
from indistinct.evaluation.measure.learning.classifiers import CLASSIFIERS, Classifier, parse_classifier, require_extra
from indistinct.evaluation.measure.learning.features import (
    REPRESENTATIONS,
    Representation,
    TrainingRows,
    draw_values,
    features_of,
    training_rows,
)
from indistinct.evaluation.measure.learning.scores import (
    ORIGINAL,
    RELEASE,
    TRAINED_ON,
    WITHOUT,
    Classification,
    Estimate,
    Hits,
    Score,
    estimate,
    folds_of,
    hits,
)
from indistinct.evaluation.measure.measure import measure
from indistinct.frequencies.encode import Encoded, encode_column, group_rows
from indistinct.hierarchy.value import Hierarchy
from indistinct.job.publishing import anonymize
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.arrays import Codes, starts_of
from indistinct.machine.memory import needs_memory
from indistinct.machine.stages import Progress
from indistinct.metrics.information import ClassificationMetric
from indistinct.models import Model
from indistinct.release.published import NO_SCHEMA, describe_release, is_release
from indistinct.release.views import encoded_original, view_of
from indistinct.schema import Schema, require_schema
from indistinct.suppression_limit import AnyBudget
from indistinct.tables.domain import Domain
from indistinct.tables.opening import open_table
from indistinct.text_form import spell
from indistinct.view.cover import Cover, cover_of_codes
from indistinct.view.value import ShownColumn, View, unmodified

LOG = logging.getLogger("indistinct.learning")
FOLDS = 5
MAX_VALUES = 100
"""Most values of a target; a column with more is no category."""
LEAST_ROWS = 5
"""Fewest rows, or people, of a fold."""
IN_IT = (
    "the people that it is tested on are in the finished release: it looks better than it is; without a release, "
    "training folds are anonymized and tested on others"
)
NOTHING_ELSE = "without the quasi-identifiers no column is left to learn from: there the majority is guessed"
RECODED = (
    "the target is a quasi-identifier: in the release its value is drawn from those that the label covers, and "
    "predictions are compared with the true value"
)


@with_checked_arguments
@needs_memory("learning")
def classify(
    table: Any,
    schema: Schema | None = None,
    *,
    target: str,
    model: Model | str | None = None,
    algorithm: Algorithm | str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    suppression: AnyBudget = 0.0,
    release: Any = None,
    classifiers: Sequence[Classifier | str] = tuple(CLASSIFIERS),
    folds: int = FOLDS,
    repeats: int = 1,
    representation: Representation = "midpoints",
    seed: int = 0,
    progress: Progress | None = None,
) -> Classification:
    """Measure how well classifiers predict a column when they are trained on releases, compared with the original.

    By cross-validation: training folds are anonymized, and predictions are tested on original rows of other people. Or
    one finished `release` of the table is judged.

    Parameters
    ----------
    table
        Original table: a path, a frame, or what `open` returned. A `Published` is a finished release with its original.
    schema
        Role of every column; not needed with a `Published`.
    target
        Column to predict.
    model, algorithm, hierarchies, suppression
        How training folds are anonymized, as in `anonymize`.
    release
        A finished release of the table, in place of `model` and `algorithm`: a `Release` or a published table. It holds
        the people on whom it is tested, which makes it look better.
    classifiers
        Classifiers, by name or as values; by default all of them.
    folds
        Number of folds.
    repeats
        How often cross-validation is repeated with other folds.
    representation
        How labels become features: ``"midpoints"`` of ranges and equal parts of categories, values ``"sampled"`` from
        those that a label covers, or one feature for each label (``"nodes"``).
    seed
        Fixes folds, samples and forests.
    progress
        Called with the share of the work that is done.

    Returns
    -------
    Classification
        Scores of every classifier when trained on the original, on releases, and without quasi-identifiers.

    Raises
    ------
    MissingExtraError
        If the extra ``ml`` is not installed.
    SchemaError
        If the schema does not name `target`, or roles and columns do not fit each other.
    ParameterError
        If the roles are not known, a parameter is not possible, or `release` is given together with `model`.
    InfeasibleError
        If no release of a training fold satisfies the model.

    Examples
    --------
    >>> import indistinct as ind
    >>> from indistinct.samples import generate_patients
    >>> patients = generate_patients(200, seed=1).select(["age", "sex", "disease"])
    >>> schema = ind.Schema(quasi=["age", "sex"], sensitive=["disease"])
    >>> result = ind.classify(
    ...     patients,
    ...     schema,
    ...     target="disease",
    ...     model="k-anonymity:k=5",
    ...     algorithm="mondrian",
    ...     classifiers=["naive-bayes"],
    ... )
    >>> sorted({score.trained_on for score in result.scores})
    ['original', 'release', 'without quasi-identifiers']
    """
    require_extra()
    if is_release(table) and release is None:
        table, release = None, describe_release(table, schema)
        schema = release.schema
    if schema is None:
        raise ParameterError(NO_SCHEMA, hint="pass schema=…")
    require_schema(schema)
    chosen = _chosen(classifiers)
    _check(folds=folds, repeats=repeats, representation=representation, seed=seed)
    if release is not None and (model is not None or algorithm is not None):
        raise ParameterError(
            "a finished release needs no model and no algorithm",
            hint="leave out release=… to anonymize the training folds, or leave out model=… and algorithm=…",
        )
    _check_target(target, schema)
    declared = dict(hierarchies or {})
    if release is not None:
        release = describe_release(release, schema, original=table, hierarchies=declared)
        table, declared = release.require_original("classify"), {**declared, **release.used_hierarchies}
    data = open_table(table).data
    schema.check(data.column_names)
    study = _LearningTask(
        data, schema, target, encoded_original(data, schema, hierarchies=declared), declared, representation
    )
    study.check(folds)
    how = {"model": model, "algorithm": algorithm, "suppression": suppression}
    done = _Results({(spell(each), trained): [] for each in chosen for trained in TRAINED_ON}, [], [], [])
    finished = None if release is None else study.read(release, seed=seed)
    if finished is not None:
        done.add_release(_metric(release, study), share=1 - len(finished) / data.num_rows)
    for repeat in range(repeats):
        split = folds_of(study.truth, study.people(), folds=folds, seed=seed + repeat)
        for fold in range(folds):
            number = repeat * folds + fold
            one = _Fold(np.flatnonzero(split != fold), np.flatnonzero(split == fold), seed + number)
            _run(study, one, chosen, finished or study.publish_fold(one, how, done), done)
            LOG.info("learned from fold %d of %d", number + 1, folds * repeats)
            if progress is not None:
                progress((number + 1) / (folds * repeats))
    return _summary(study, chosen, done, folds=folds, repeats=repeats, seed=seed, finished=finished is not None)


@dataclass(frozen=True, slots=True)
class _Fold:
    """The rows to learn from and those to be judged on, and what chance depends on."""

    training: Codes
    tested: Codes
    seed: int


@dataclass(frozen=True, slots=True)
class _Results:
    """What was found, fold by fold: hits, those of the majority, the classification metric, suppressed shares."""

    hits: dict[tuple[str, str], list[Hits]]
    majority: list[float]
    metric: list[float]
    suppressed: list[float]

    def add_release(self, metric: float | None, *, share: float) -> None:
        """Add what a release says of itself."""
        self.metric.extend([] if metric is None else [metric])
        self.suppressed.append(share)


@dataclass(frozen=True, slots=True, eq=False)
class _LearningTask:
    """A table in codes, what is to be learned of it, and how labels become features."""

    data: pa.Table
    schema: Schema
    target: str
    columns: Mapping[str, Encoded]
    hierarchies: Mapping[str, Hierarchy]
    representation: Representation

    @property
    def truth(self) -> Codes:
        """The target of every row, in codes."""
        return self.columns[self.target].codes.astype(np.int64)

    @property
    def domains(self) -> Mapping[str, Domain]:
        """The domains of all columns to learn from."""
        return {name: column.domain for name, column in self.columns.items() if name != self.target}

    def check(self, folds: int) -> None:
        """Raise unless there is something to learn, and every fold has rows."""
        classes = len(self.columns[self.target].domain)
        if classes < 2:
            raise InputError(
                f"the target {self.target!r} has one value: there is nothing to learn",
                hint="name a column with at least two values",
            )
        if classes > MAX_VALUES:
            raise InputError(
                f"the target {self.target!r} has {classes:,} values; at most {MAX_VALUES} are supported",
                hint="name a category, or put the values into groups first",
            )
        people = self.people()
        size, unit = (self.data.num_rows, "rows") if people is None else (int(people.max()) + 1, "people")
        if size < folds * LEAST_ROWS:
            raise InputError(
                f"{folds} folds of {size:,} {unit} have fewer than {LEAST_ROWS} {unit} each",
                hint="ask for fewer folds, or learn from more rows",
            )

    def people(self) -> Codes | None:
        """Number the person of each row; None if each row is another person."""
        if not self.schema.person:
            return None
        columns = [encode_column(name, self.data[name]) for name in self.schema.person]
        return group_rows([each.codes for each in columns], [len(each.domain) for each in columns]).group_ids()

    def publish_fold(self, fold: _Fold, how: Mapping[str, Any], done: _Results) -> TrainingRows:
        """Anonymize the training rows of a fold, and return what a reader of the release has."""
        metered = None if self.target in self.schema.quasi else self.target
        options = {**how, "hierarchies": self.hierarchies, "target": metered, "seed": fold.seed}
        try:
            release = anonymize(self.data.take(pa.array(fold.training)), self.schema, **options)
        except IndistinctError as error:
            error.add_note("while the training rows of a fold were anonymized")
            raise
        rows = self.read(release, seed=fold.seed)
        done.add_release(_metric(release, self), share=1 - len(rows) / len(fold.training))
        return rows

    def read(self, release: Any, *, seed: int) -> TrainingRows:
        """Return the rows of a release in the codes of the whole table."""
        published = describe_release(release, self.schema, hierarchies=self.hierarchies)
        domains = {name: column.domain for name, column in self.columns.items()}
        if published.release is not None:  # read as it was made: with the values of its own rows
            own = published.release.assignment.domains
            domains |= {domain.column: domain for domain in own if domain.column in domains}
        hierarchies = published.used_hierarchies
        view = view_of(published.tables, published.schema, domains=domains, hierarchies=hierarchies)
        return training_rows(self._translate_covers(view, domains), seed=seed)

    def _translate_covers(self, view: View, domains: Mapping[str, Domain]) -> View:
        """Translate published values to the codes of the original."""
        covers = {
            name: cover
            if domains[name] is self.columns[name].domain
            else _renumber_cover(cover, domains[name].translate(self.columns[name].domain))
            for name, cover in view.covers.items()
        }
        columns = {name: ShownColumn(self.columns[name].domain, cover) for name, cover in covers.items()}
        return replace(view, columns=columns)


def _renumber_cover(cover: Cover, codes: Codes) -> Cover:
    """Return a cover in the codes of another domain."""
    owners, own = cover.written_out()
    theirs = codes[own]
    order = np.lexsort([theirs, owners])
    return cover_of_codes(starts_of(cover.lengths), theirs[order])


def _run(
    study: _LearningTask, fold: _Fold, chosen: Sequence[Classifier], published: TrainingRows, done: _Results
) -> None:
    """Let every classifier learn from the release, the original and what is left without quasi-identifiers."""
    truth = study.truth
    raw = training_rows(unmodified(study.columns), seed=fold.seed)
    own = TrainingRows(raw.covers, {name: codes[fold.training] for name, codes in raw.values.items()})
    others = {name: domain for name, domain in study.domains.items() if name not in study.schema.quasi}
    sets = {
        ORIGINAL: (own, truth[fold.training], study.domains),
        RELEASE: (published, draw_values(published, study.target, seed=fold.seed), study.domains),
        WITHOUT: (own, truth[fold.training], others),
    }
    tested = {name: study.columns[name].codes[fold.tested] for name in study.domains}
    done.majority.append(float((truth[fold.tested] == np.bincount(truth[fold.training]).argmax()).mean()))
    for trained, (rows, targets, domains) in sets.items():
        for binned in sorted({each.binned for each in chosen}):
            features = features_of(
                rows, tested, domains, representation=study.representation, binned=binned, seed=fold.seed
            )
            for each in (each for each in chosen if each.binned == binned):
                predicted = each.predictions(features.training, targets, about=features.tested, seed=fold.seed)
                done.hits[spell(each), trained].append(hits(predicted, truth[fold.tested]))


def _summary(
    study: _LearningTask,
    chosen: Sequence[Classifier],
    done: _Results,
    *,
    folds: int,
    repeats: int,
    seed: int,
    finished: bool,
) -> Classification:
    """Average the results of the folds to scores."""

    def over(values: Sequence[float]) -> Estimate:
        return estimate(values, folds=folds)

    scores = []
    for name in map(spell, chosen):
        best = [each.accuracy for each in done.hits[name, ORIGINAL]]
        for trained in TRAINED_ON:
            hits = done.hits[name, trained]
            accuracy = [each.accuracy for each in hits]
            less = [one - other for one, other in zip(accuracy, best, strict=True)]
            balanced = over([each.balanced for each in hits])
            scores.append(Score(name, trained, over(accuracy), balanced, over(less), tuple(accuracy)))
    recoded = study.target in study.schema.quasi
    alone = all(name in study.schema.quasi for name in study.domains)
    results = [(IN_IT, finished), (RECODED, recoded), (NOTHING_ELSE, alone)]
    return Classification(
        study.target,
        study.schema.role(study.target).value,
        study.data.num_rows,
        len(study.columns[study.target].domain),
        folds,
        repeats,
        study.representation,
        seed,
        finished,
        over(done.majority),
        tuple(scores),
        over(done.metric) if done.metric else None,
        float(np.mean(done.suppressed)),
        tuple(text for text, holds in results if holds),
    )


def _metric(release: Any, study: _LearningTask) -> float | None:
    """Return Iyengar's metric of a release, None where it is not defined."""
    if study.target in study.schema.quasi:
        return None
    wanted = ClassificationMetric(study.target)
    published = describe_release(release, study.schema, hierarchies=study.hierarchies)
    made = published.release
    if published.structure.unmeasured:
        return None
    if made is not None and (study.target,) in made.assignment.classes.histograms:
        return measure(published, [wanted])[wanted.name]
    if published.raw is None or published.schema.person:
        return None
    try:  # as read back: the target was not counted when it was made
        return measure(replace(published, release=None, learned={}), [wanted])[wanted.name]
    except InputError:
        return None


def _chosen(classifiers: Sequence[Classifier | str]) -> tuple[Classifier, ...]:
    """Parse the classifiers; raise if there is none, or one twice."""
    given = [classifiers] if isinstance(classifiers, str) else classifiers
    chosen = tuple(parse_classifier(each) if isinstance(each, str) else each for each in given)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ParameterError(
            f"`classifiers` must be at least one, each once; got {len(chosen)}", hint=f"known: {', '.join(CLASSIFIERS)}"
        )
    return chosen


def _check(*, folds: Any, repeats: Any, representation: Any, seed: Any) -> None:
    """Raise for invalid arguments of `classify`."""
    for name, value, least in (("folds", folds, 2), ("repeats", repeats, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ParameterError.of("classify", name, f"must be a whole number of at least {least}; got {value!r}")
    if representation not in REPRESENTATIONS:
        raise ParameterError(
            f"`representation` must be one of {', '.join(REPRESENTATIONS)}; got {representation!r}",
            hint=did_you_mean(str(representation), REPRESENTATIONS),
        )


def _check_target(target: str, schema: Schema) -> None:
    """Raise unless the target is a published column."""
    if target in schema.hidden:
        raise SchemaError(
            f"the target {target!r} identifies a person: no release shows it",
            hint="choose a sensitive or insensitive column, or a quasi-identifier",
        )
    if target not in schema.published:
        raise SchemaError(
            f"column {target!r} is to be learned, but the schema does not name it",
            hint=did_you_mean(target, schema.published) or f"the schema names: {', '.join(schema.published)}",
        )
