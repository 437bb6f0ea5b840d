"""Attacks on a sample of a large original, and comparisons with a part of its classes."""

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.evaluation.assess import assessed_tables
from indistinct.evaluation.attack.attack import attack_all
from indistinct.reporting import facts
from indistinct.samples import generate_patients

SCHEMA = ind.Schema(identifiers=["name", "cost", "admitted"], quasi=["age", "sex", "zipcode"], sensitive=["disease"])
CERTAIN = ("record-linkage", "homogeneity", "background-knowledge", "skewness")


@pytest.fixture(scope="module")
def patients():
    return generate_patients(2000, seed=7)


@pytest.fixture(scope="module")
def release(patients):
    return ind.anonymize(patients, SCHEMA, model="k-anonymity:k=2", algorithm="mondrian")


def outcomes(release, patients, **known):
    found = attack_all(release, SCHEMA, original=patients, attacks=CERTAIN, seed=1, **known)
    return {each.attack: each for each in found.outcomes}, found


def test_a_sample_tells_what_all_rows_tell_within_its_interval(release, patients):
    every, whole = outcomes(release, patients)
    some, sampled = outcomes(release, patients, sample=600)
    assert whole.sample is None
    assert sampled.sample == sampled.to_json()["sample"] == 600
    for name in CERTAIN:
        assert some[name].tally.attempts == 600
        assert every[name].tally.attempts == 2000
        low, high = some[name].interval
        assert low <= every[name].risk <= high, name
    assert {some[name].succeeds for name in ("background-knowledge", "skewness")} == {True}


def test_a_sample_of_all_rows_is_no_sample(release, patients):
    every, _ = outcomes(release, patients)
    some, found = outcomes(release, patients, sample=2000)
    assert some == every
    assert found.sample is None


def test_rows_that_are_alone_are_found_by_a_sample_as_well(patients):
    shown = patients.drop_columns(["name", "cost", "admitted"])
    found = ind.attack("record-linkage", shown, SCHEMA, original=patients, sample=300, seed=1)
    whole = ind.attack("record-linkage", shown, SCHEMA, original=patients)
    assert found.interval[0] <= whole.risk <= found.interval[1]
    assert found.succeeds


def test_an_order_that_was_kept_shows_in_a_sample(patients):
    shown = patients.drop_columns(["name", "cost", "admitted"])
    found = ind.attack("unsorted-matching", shown, SCHEMA, original=patients, sample=800, seed=1)
    assert found.succeeds
    assert found.details["rank_correlation"] > 0.9


def test_seeds_need_every_row_and_people_are_not_sampled(release, patients):
    with pytest.raises(ind.ParameterError, match="it needs every row of the original, of which a sample is attacked"):
        ind.attack("predictable-seed", release, original=patients, sample=100)
    people = ind.Schema(identifiers=["cost", "admitted"], quasi=["age", "sex"], sensitive=["disease"], person=["name"])
    table = patients.drop_columns(["zipcode"])
    made = ind.anonymize(table, people, model="k-anonymity:k=5", algorithm="mondrian")
    found = attack_all(made, original=table, attacks=["homogeneity"], sample=100)
    assert found.sample is None
    assert found.outcomes[0].tally.attempts > 100


def test_a_sample_has_rows(release, patients):
    with pytest.raises(ind.ParameterError, match="`sample` of attacks must be at least 1; got 0"):
        ind.attack("homogeneity", release, original=patients, sample=0)


def test_a_report_on_many_rows_attacks_a_sample_and_says_so(release, patients, monkeypatch):
    monkeypatch.setattr(facts, "MAX_ROWS_ATTACKED", 1000)
    monkeypatch.setattr(facts, "SAMPLE_ROWS", 300)
    report = ind.report(release, original=patients, seconds=20, seed=1)
    found = report.content.documents["attack"]
    assert found["sample"] == 300
    assert {"record-linkage", "homogeneity"} <= {each["attack"] for each in found["outcomes"]}
    assert all(each["attempts"] <= 300 for each in found["outcomes"] if each["attack"] in CERTAIN)
    assert "Attacked were 300 rows of the original, drawn at random" in report.html


def test_of_very_many_classes_some_are_compared_with_the_original(release, patients, monkeypatch):
    whole = ind.assess(release.table, SCHEMA, original=patients)
    monkeypatch.setattr(assessed_tables, "MAX_COMPARED", 20 * 2000)
    some = ind.assess(release.table, SCHEMA, original=patients)
    assert whole.risk.to_json() == some.risk.to_json()
    classes = release.certificate.classes
    (note,) = set(some.notes) - set(whole.notes)
    assert note.startswith(f"of {classes:,} classes ")
    assert note.endswith(" were compared with the original")
    other = patients.set_column(1, "age", pa.array([40] * patients.num_rows))
    with pytest.raises(ind.InputError, match=r"does not contain|neither values"):
        ind.assess(release.table, SCHEMA, original=other)
