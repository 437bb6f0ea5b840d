"""The transformer of scikit-learn: it recodes rows in their order, and passes scikit-learn's own checks but one."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import indistinct as ind
from indistinct.sklearn import Anonymizer

# What a recoding cannot do, and why.
EXPECTED = {"check_fit2d_1sample": "one row has nobody to look like: the search says that k is infeasible"}


@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_pass_but_for_those_that_are_named():
    results = check_estimator(Anonymizer("k-anonymity:k=2"), expected_failed_checks=EXPECTED, on_skip=None)
    assert {each["check_name"] for each in results if each["status"] == "xfail"} == set(EXPECTED)
    assert sum(each["status"] == "passed" for each in results) > 30


def people(rows=200):
    rng = np.random.default_rng(4)
    age = rng.integers(18, 80, rows)
    return pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], rows), "kept": rng.normal(size=rows)}), age > 50


def test_training_rows_are_among_k_that_look_alike_and_stay_in_their_order():
    frame, _ = people()
    made = Anonymizer("k-anonymity:k=5", quasi=["age", "sex"], output="labels").fit(frame)
    shown = pd.DataFrame(made.transform(frame), columns=made.get_feature_names_out())
    assert shown.groupby(["age", "sex"]).size().min() >= 5
    assert np.allclose(shown["kept"].astype(float), frame["kept"])
    middles = pd.DataFrame(Anonymizer("k-anonymity:k=5", quasi=["age", "sex"]).fit_transform(frame))
    assert np.corrcoef(middles[0].astype(float), frame["age"])[0, 1] > 0.9


def test_new_rows_are_recoded_one_by_one_and_unknown_texts_are_refused():
    frame, _ = people()
    made = Anonymizer(quasi=["age", "sex"]).fit(frame)
    new = pd.DataFrame({"age": [-5, 150], "sex": ["f", "m"], "kept": [0.5, 1.5]})
    whole = made.transform(new)
    assert whole[0].tolist() == made.transform(new.iloc[:1])[0].tolist()
    with pytest.raises(ind.UnseenValueError):
        made.transform(new.assign(sex=["x", "m"]))


def test_texts_stay_texts_and_moments_stay_moments():
    rng = np.random.default_rng(5)
    zips = np.array([f"{each:05d}" for each in rng.integers(2000, 2300, 100)])
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 100), unit="D")
    for data in (pd.DataFrame({"zip": zips}), zips.reshape(-1, 1), pd.DataFrame({"zip": zips}, dtype="string")):
        shown = Anonymizer("k-anonymity:k=5", hierarchies=None).fit_transform(data)[:, 0]
        assert all(isinstance(label, str) and "0" in label and "2138.0" not in label for label in shown)
    frame = pd.DataFrame({"day": days, "cost": rng.normal(size=100)})
    shown = Anonymizer("k-anonymity:k=5", quasi=["day"]).fit_transform(frame)[:, 0]
    assert all("202" in label for label in shown)
    objects = pd.DataFrame({"age": pd.array([*range(20, 60), None], dtype="Int64").astype(object)})
    assert np.isnan(Anonymizer("k-anonymity:k=1").fit_transform(objects).astype(float)).sum() == 1


def test_the_middle_of_an_open_range_follows_the_rule_from_its_labels():
    rows = np.repeat([[10.0], [20.0], [40.0], [60.0]], 2, axis=0)
    labels = Anonymizer("k-anonymity:k=2", output="labels").fit_transform(rows)[:, 0]
    assert sorted(set(labels)) == ["[ .. 20)", "[20-40)", "[40-60)", "[60-]"]
    assert Anonymizer("k-anonymity:k=2").fit_transform(rows)[::2, 0].tolist() == [10.0, 30.0, 50.0, 70.0]
    assert Anonymizer("k-anonymity:k=8").fit_transform(rows)[:, 0].tolist() == [0.0] * 8


def test_it_stands_in_a_pipeline_and_protects_the_target():
    frame, old = people()
    numbers = frame[["age", "kept"]]
    model = make_pipeline(Anonymizer("k-anonymity:k=5", quasi=["age"]), LogisticRegression())
    assert model.fit(numbers, old).score(numbers, old) > 0.8
    diverse = Anonymizer("distinct-l-diversity:sensitive=target,l=2", quasi=["age"]).fit(numbers, old)
    assert diverse.release_certificate_.holds
    assert diverse.transform(numbers).shape == (200, 2)
    with pytest.raises(ind.ParameterError, match="give y to fit"):
        Anonymizer("distinct-l-diversity:sensitive=target,l=2").fit(numbers)


def test_wrong_parameters_are_named():
    frame, _ = people()
    for given, words in (
        ({"output": "numbers"}, "middle or labels"),
        ({"quasi": ["ages"]}, "is no column"),
        ({"algorithm": "mondrian:relaxed=true"}, "rows of one table"),
    ):
        with pytest.raises(ind.ParameterError, match=words):
            Anonymizer(**given).fit(frame)


def test_frames_have_the_functions_once_the_accessors_are_imported():
    import indistinct.accessors  # noqa: F401

    frame, _ = people()
    schema = ind.Schema(quasi=["age", "sex"], insensitive=["kept"])
    for each in (frame, pl.DataFrame({name: frame[name].to_list() for name in frame})):
        release = each.indistinct.anonymize(schema, model="k-anonymity:k=5", algorithm="mondrian")
        assert release.certificate.holds
        assert not each.indistinct.verify(schema, "k-anonymity:k=5").holds
        assert each.indistinct.inspect().to_json()
        again = release.to_pandas() if each is frame else release.to_polars()
        assert again.indistinct.intervals().columns == ("age",)
        assert again.indistinct.scan().rows == 200
        assert each.indistinct.apply(release.recoding).certificate.holds
        assert each.indistinct.assess(schema).to_json()
