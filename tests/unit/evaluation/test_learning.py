"""Learning from releases: what is told apart, what is drawn, and what must not be learned from."""

import sys

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.evaluation.measure.learning.classification import IN_IT, NOTHING_ELSE, RECODED
from indistinct.evaluation.measure.learning.classifiers import CLASSIFIERS, parse_classifier
from indistinct.evaluation.measure.learning.features import (
    MAX_FEATURES,
    TrainingRows,
    draw_values,
    features_of,
    training_rows,
)
from indistinct.evaluation.measure.learning.scores import ORIGINAL, RELEASE, WITHOUT, estimate, folds_of
from indistinct.frequencies.slices import Slice
from indistinct.tables.domain import Domain
from indistinct.text_form import spell
from indistinct.view.cover import Cover, cover_of_codes
from indistinct.view.value import ShownColumn, View

SCHEMA = ind.Schema(quasi=["age", "city"], sensitive=["ill"])


def people(rows: int = 200, seed: int = 5) -> pa.Table:
    """Return people who are ill if they are old, whatever their city."""
    draw = np.random.default_rng(seed)
    age = draw.integers(20, 80, rows)
    ill = np.where(age + draw.normal(0, 4, rows) > 50, "yes", "no")
    return pa.table({"age": age, "city": draw.choice(["x", "y", "z"], rows), "ill": ill})


def ages(*values: int, missing: bool = False) -> Domain:
    return Domain("age", pa.array(values), missing=missing)


def cover(*sets: list[int]) -> Cover:
    return cover_of_codes(
        np.cumsum([0, *map(len, sets)]), np.array([code for each in sets for code in each], dtype=np.int64)
    )


def features(labels: Cover, domain: Domain, values: list[int], representation, **options):
    rows = TrainingRows({domain.column: labels}, {domain.column: np.array(values)})
    codes = {domain.column: np.arange(len(domain))}
    return features_of(rows, codes, {domain.column: domain}, representation=representation, **options)


# Features.


def test_a_range_is_its_middle_and_numbers_are_standardized() -> None:
    found = features(cover([0, 1, 2], [3]), ages(20, 21, 40, 50), [0, 0, 1, 1], "midpoints")
    # The middles are 30 and 50: mean 40, standard deviation 10.
    assert found.training[:, 0] == pytest.approx([-1, -1, 1, 1])
    assert found.tested[:, 0] == pytest.approx([-2, -1.9, 0, 1])


def test_missing_has_a_feature_of_its_own() -> None:
    found = features(cover([0], [1, 2]), ages(20, 40, missing=True), [0, 1, 1], "midpoints")
    assert found.training.tolist() == [[0, 1], [0, 0], [0, 0]]
    assert found.tested[0].tolist() == [0, 1]


def test_a_set_of_categories_has_an_equal_part_of_each() -> None:
    cities = Domain("city", pa.array(["x", "y", "z"]))
    found = features(cover([0, 1], [2]), cities, [0, 0, 1], "midpoints")
    by_feature = {tuple(column) for column in np.concatenate([found.training, found.tested]).T.tolist()}
    assert by_feature == {(0.5, 0.5, 0, 1, 0, 0), (0.5, 0.5, 0, 0, 1, 0), (0, 0, 1, 0, 0, 1)}


def test_a_value_counts_for_every_label_that_covers_it() -> None:
    # Three rows show {20, 30}, one shows {30}: of 1.5 + 1 rows expected at 30 the first label has 0.6.
    found = features(cover([0, 1], [1]), ages(20, 30), [0, 0, 0, 1], "nodes")
    assert found.training.tolist() == [[1, 0], [1, 0], [1, 0], [0, 1]]
    assert found.tested == pytest.approx(np.array([[1, 0], [0.6, 0.4]]))


def test_nodes_of_a_column_that_is_published_as_it_is_are_its_numbers() -> None:
    found = features(cover([0], [1]), ages(20, 30), [0, 1], "nodes")
    assert found.training.shape == (2, 1)


def test_sampled_values_are_those_of_the_label_all_equally_likely() -> None:
    labels = cover([0, 1, 2], [3])
    rows = TrainingRows({"age": labels}, {"age": np.repeat([0, 1], [3000, 10])})
    values = draw_values(rows, "age", seed=1)
    assert set(values[3000:].tolist()) == {3}
    assert np.bincount(values[:3000], minlength=4) == pytest.approx([1000, 1000, 1000, 0], abs=100)
    assert np.array_equal(values, draw_values(rows, "age", seed=1))
    assert not np.array_equal(values, draw_values(rows, "age", seed=2))


def test_bins_hold_as_many_training_rows_each() -> None:
    line = ages(*range(100))
    found = features(cover(*([code] for code in range(100))), line, list(range(100)), "midpoints", binned=True)
    assert found.training.sum(axis=0).tolist() == [10] * 10
    assert np.array_equal(found.training, found.tested)


def test_rare_values_get_no_feature() -> None:
    names = Domain("name", pa.array([f"{number:04d}" for number in range(400)]))
    values = [*range(400), *range(5)]
    found = features(cover(*([code] for code in range(400))), names, values, "midpoints")
    assert found.training.shape == (405, MAX_FEATURES)
    assert found.training[:5].sum() == 5


def test_slices_are_put_together_inside_their_bucket() -> None:
    one = Slice(np.array([0, 1]), {"a": np.array([0, 1])}, np.array([3, 2]))
    other = Slice(np.array([1, 0, 0, 1]), {"b": np.array([3, 0, 1, 2])}, np.array([1, 2, 1, 1]))
    covers = {"a": cover([0], [1]), "b": cover([0], [1], [2], [3])}
    domains = {name: Domain(name, pa.array(range(len(each)))) for name, each in covers.items()}
    columns = {name: ShownColumn(domains[name], each) for name, each in covers.items()}
    shown = View(columns, (one, other), np.array([3, 2]))
    rows = training_rows(shown, seed=4)
    assert rows.values["a"].tolist() == [0, 0, 0, 1, 1]
    assert sorted(rows.values["b"][:3].tolist()) == [0, 0, 1]
    assert sorted(rows.values["b"][3:].tolist()) == [2, 3]


# Folds and intervals.


def test_folds_deal_every_value_evenly() -> None:
    targets = np.repeat([0, 1], [90, 10])
    split = folds_of(targets, None, folds=5, seed=3)
    assert np.bincount(split).tolist() == [20] * 5
    assert np.bincount(split[targets == 1]).tolist() == [2] * 5
    assert not np.array_equal(split, folds_of(targets, None, folds=5, seed=4))


def test_people_stay_in_one_fold() -> None:
    people = np.repeat(np.arange(20), 3)
    split = folds_of(np.zeros(60), people, folds=4, seed=1)
    assert all(len(set(split[people == person].tolist())) == 1 for person in range(20))
    assert np.bincount(split).tolist() == [15] * 4


def test_intervals_allow_for_training_folds_that_overlap() -> None:
    found = estimate([0.7, 0.8, 0.9], folds=3)
    # t(0.975, 2) = 4.302653, s = 0.1, sqrt(1/3 + 1/2).
    assert (found.mean, found.high - found.mean) == pytest.approx((0.8, 4.302653 * 0.1 * np.sqrt(5 / 6)), rel=1e-6)


# The whole study.


@pytest.fixture(scope="module")
def studied():
    forest = "random-forest:trees=10"
    return ind.classify(
        people(),
        SCHEMA,
        target="ill",
        model="k-anonymity:k=5",
        algorithm="mondrian",
        classifiers=["logistic-regression", forest, "gradient-boosting:rounds=10", "naive-bayes"],
        folds=3,
    )


def test_what_depends_on_a_coarse_column_is_still_learned(studied) -> None:
    for name in ("logistic-regression", "random-forest:trees=10", "gradient-boosting:rounds=10", "naive-bayes"):
        original, release = studied.score(name, ORIGINAL).accuracy.mean, studied.score(name, RELEASE).accuracy.mean
        assert original > 0.85
        assert original - 0.15 < release
        assert release > studied.majority.mean + 0.1
        assert studied.score(name, WITHOUT).accuracy.mean == pytest.approx(studied.majority.mean, abs=0.1)
        assert studied.score(name).difference.mean == pytest.approx(release - original)
    assert NOTHING_ELSE in studied.notes
    assert not studied.finished
    assert 0 < studied.metric.mean < 1 - studied.majority.mean
    told = studied.to_json()
    assert (told["rows"], told["folds"], told["seed"], len(told["scores"])) == (200, 3, 0, 12)


def test_only_training_rows_are_anonymized(monkeypatch) -> None:
    table, seen = people(), []
    from indistinct.evaluation.measure.learning import classification

    real = classification.anonymize
    monkeypatch.setattr(
        classification, "anonymize", lambda data, *rest, **o: seen.append(data) or real(data, *rest, **o)
    )
    numbered = table.append_column("row", pa.array(np.arange(200)))
    schema = ind.Schema(quasi=["age", "city"], sensitive=["ill"], identifiers=["row"])
    ind.classify(numbered, schema, target="ill", model="k-anonymity:k=3", classifiers=["naive-bayes"], folds=4)
    held_out = [set(range(200)) - set(data["row"].to_pylist()) for data in seen]
    assert [len(rows) for rows in held_out] == [50] * 4
    assert set.union(*held_out) == set(range(200))


@pytest.mark.parametrize("representation", ["midpoints", "sampled", "nodes"])
def test_a_recoded_target_is_judged_by_its_true_value(representation) -> None:
    """Everybody in one class: nothing of the target is left, and drawing from it cannot beat the majority."""
    table = people()
    options = {"target": "city", "classifiers": ["naive-bayes"], "folds": 3, "representation": representation}
    lost = ind.classify(table, SCHEMA, model="k-anonymity:k=100", algorithm="mondrian", **options)
    assert RECODED in lost.notes
    assert lost.metric is None
    assert lost.score("naive-bayes").accuracy.mean < 0.5
    kept = ind.classify(table, SCHEMA, model="k-anonymity:k=1", algorithm="mondrian", **options)
    assert kept.score("naive-bayes").accuracy == kept.score("naive-bayes", ORIGINAL).accuracy


@pytest.mark.parametrize("algorithm", ["anatomy:l=2", "slicing:l=2", "multiset:l=2"])
def test_buckets_are_learned_from(algorithm) -> None:
    options = {"target": "ill", "classifiers": ["naive-bayes"], "folds": 3, "algorithm": algorithm}
    table = people()
    decade = pa.array(np.array(["p", "q", "r", "s"])[(table["age"].to_numpy() - 20) // 15])
    table = table.set_column(2, "ill", decade)
    found = ind.classify(table, SCHEMA, **options)
    assert found.metric is None
    assert found.score("naive-bayes").accuracy.mean <= found.score("naive-bayes", ORIGINAL).accuracy.mean + 0.05
    assert found == ind.classify(table, SCHEMA, **options)


def test_a_finished_release_holds_the_people_that_it_is_tested_on() -> None:
    table = people()
    release = ind.anonymize(table, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian", target="ill")
    by_value, by_table = (
        ind.classify(table, SCHEMA, target="ill", release=each, classifiers=["naive-bayes"], folds=3)
        for each in (release, release.table)
    )
    assert IN_IT in by_value.notes
    assert by_value.finished
    assert by_value.metric == by_table.metric
    assert by_value.score("naive-bayes") == by_table.score("naive-bayes")
    with pytest.raises(ind.ParameterError, match="needs no model"):
        ind.classify(table, SCHEMA, target="ill", release=release, model="k-anonymity:k=5")


def test_people_with_several_rows_are_tested_on_others() -> None:
    table = people(120).append_column("who", pa.array(np.arange(120) // 2))
    schema = ind.Schema(quasi=["age", "city"], sensitive=["ill"], person=["who"])
    found = ind.classify(table, schema, target="ill", model="k-anonymity:k=3", classifiers=["naive-bayes"], folds=3)
    assert found.score("naive-bayes").accuracy.mean > found.majority.mean


# Bad input.


def test_targets_that_cannot_be_learned() -> None:
    table = people(40)
    named = table.append_column("name", pa.array([f"n{number}" for number in range(40)]))
    wide = ind.Schema(identifiers=["name"], quasi=["age", "city"], sensitive=["ill"])
    model = {"model": "k-anonymity:k=2"}
    with pytest.raises(ind.SchemaError, match="identifies a person"):
        ind.classify(named, wide, target="name", **model)
    with pytest.raises(ind.SchemaError, match="does not name it") as caught:
        ind.classify(table, SCHEMA, target="il", **model)
    assert "'ill'" in caught.value.hint
    same = table.set_column(2, "ill", pa.array(["no"] * 40))
    with pytest.raises(ind.InputError, match="has one value"):
        ind.classify(same, SCHEMA, target="ill", **model)
    with pytest.raises(ind.InputError, match="at most 100"):
        ind.classify(people(400).set_column(2, "ill", pa.array(np.arange(400))), SCHEMA, target="ill", **model)
    with pytest.raises(ind.InputError, match="10 folds of 40 rows"):
        ind.classify(table, SCHEMA, target="ill", folds=10, **model)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"folds": 1}, "`folds`"),
        ({"repeats": 0}, "`repeats`"),
        ({"seed": -1}, "`seed`"),
        ({"representation": "midpoint"}, "`representation`"),
        ({"classifiers": ["oracle"]}, "no classifier"),
        ({"classifiers": []}, "`classifiers`"),
        ({"classifiers": ["naive-bayes", "naive-bayes"]}, "`classifiers`"),
        ({"classifiers": ["random-forest:trees=0"]}, "`trees`"),
        ({"classifiers": ["logistic-regression:strength=0"]}, "`strength`"),
        ({"classifiers": ["naive-bayes:smoothing=0"]}, "`smoothing`"),
    ],
)
def test_parameters_that_are_not_possible(options, words) -> None:
    with pytest.raises(ind.ParameterError, match=words):
        ind.classify(people(40), SCHEMA, target="ill", model="k-anonymity:k=2", **options)


def test_a_model_that_a_training_fold_cannot_satisfy() -> None:
    with pytest.raises(ind.InfeasibleError):
        ind.classify(people(40), SCHEMA, target="ill", model="k-anonymity:k=39", folds=2)


def test_without_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ind.MissingExtraError) as caught:
        ind.classify(people(40), SCHEMA, target="ill", model="k-anonymity:k=2")
    assert caught.value.hint == 'pip install "indistinct[ml]"'


def test_classifiers_are_spelled_by_their_parameters() -> None:
    assert [spell(parse_classifier(name)) for name in CLASSIFIERS] == list(CLASSIFIERS)
    assert parse_classifier("random-forest:trees=7") == ind.RandomForest(trees=7)
