"""Analyses on the page: suggestions by the roles, and what becomes of them on the release."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import indistinct as ind
from indistinct.algorithms.registry import parse_algorithm
from indistinct.evaluation.analyze.formula import parse_formula
from indistinct.job.policy import Input, Policy
from indistinct.job.policy.value import AnalysisPlan
from indistinct.samples import generate_patients

pytest.importorskip("nicegui")
pytest.importorskip("statsmodels")

from indistinct.web.sessions import job_of
from indistinct.web.steps.analyses import suggest_analyses, with_analysis, without_analysis
from indistinct.web.tasks.searching import search
from indistinct.web.tasks.usefulness import analyze_release
from indistinct.web.worker import Desk

SCHEMA = ind.Schema(quasi=["age", "sex", "zipcode"], sensitive=["disease"], insensitive=["cost", "body weight", "died"])


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("analyses")
    table = generate_patients(400, seed=3).select(["age", "sex", "zipcode", "disease", "cost"])
    ages = [age or 0 for age in table["age"].to_pylist()]
    table = table.append_column("body weight", pa.array([50 + age % 37 for age in ages]))
    table = table.append_column("died", pa.array(["yes" if (age * 7) % 90 > 50 else "no" for age in ages]))
    pyarrow.csv.write_csv(table, folder / "patients.csv")
    return Policy(Input(Path("patients.csv")), SCHEMA, (ind.KAnonymity(4),), suppression=0.1, base=folder)


@pytest.fixture(scope="module")
def looked(policy):
    return ind.inspect(ind.open(policy.source)).to_json()


def texts(policy, looked, *, linked=True):
    return [each.text for each in suggest_analyses(policy, looked, linked=linked)]


def test_outcomes_are_not_generalized_and_covariates_are_quasi_identifiers(policy, looked):
    assert texts(policy, looked) == ["cost ~ age + C(sex)", "`body weight` ~ age + C(sex)", "died ~ age + C(sex)"]
    names = [each["name"] for each in looked["columns"]]
    for each in suggest_analyses(policy, looked, linked=True):
        if each.kind == "formulas":
            assert parse_formula(each.text, names, family=each.family).covariates == ("age", "sex")


def test_a_question_names_few_columns_and_its_formula_all(policy, looked):
    [column] = [each for each in looked["columns"] if each["name"] == "age"]
    more = [f"age{place}" for place in range(7)]
    wide = replace(policy, schema=ind.Schema(quasi=more, insensitive=["cost"]))
    [found] = suggest_analyses(
        wide, looked | {"columns": [*looked["columns"], *({**column, "name": name} for name in more)]}, linked=True
    )
    assert found.words == "Does cost depend on age0, age1, age2, age3 and 3 others?"
    assert found.text == f"cost ~ {' + '.join(more)}"


def test_without_links_only_tables_are_suggested(policy, looked):
    assert texts(policy, looked, linked=False) == ["sex, disease", "sex, died"]


def test_what_is_asked_is_not_suggested_again_and_goes_when_it_is_removed(policy, looked):
    cost, first = (suggest_analyses(policy, looked, linked=linked)[0] for linked in (True, False))
    plan = with_analysis(with_analysis(AnalysisPlan(), first), cost)
    assert plan == AnalysisPlan(formulas=(cost.text,), family="linear", tables=(first.text,))
    left = texts(replace(policy, analysis=plan), looked)
    assert left == ["`body weight` ~ age + C(sex)", "sex, died"], "a logistic regression needs a plan of its own"
    assert without_analysis(plan, "formulas", cost.text) == AnalysisPlan(tables=(first.text,))


def test_analyses_change_nothing_of_what_a_search_rests_on(policy):
    changed = replace(policy, analysis=AnalysisPlan(formulas=("cost ~ age",)))
    assert job_of(changed) == job_of(policy)


@pytest.mark.parametrize("linked", [True, False])
def test_every_suggestion_is_answered_before_and_after(policy, looked, tmp_path, linked):
    algorithm = parse_algorithm("auto" if linked else "anatomy:l=2")
    job = replace(policy, algorithm=algorithm, models=policy.models if linked else ())
    files = search(Desk(), job, tmp_path / "release")["files"]
    suggested = suggest_analyses(job, looked, linked=linked)
    assert suggested
    for each in suggested:
        asked = replace(job, analysis=with_analysis(AnalysisPlan(), each))
        shown = analyze_release(Desk(), asked, files)
        found = ind.analyze(
            ind.published(files["table"], policy=asked, original=ind.open(job.source), recoding=files["recoding"]),
            **{each.kind: each.text},
            family=each.family,
        )
        assert shown.sentence == f"{found.document().title}."
        assert shown.blocks == found.document().blocks
        assert shown.picture == found.chart().svg


def test_two_values_are_a_logistic_regression(policy, looked):
    schema = ind.Schema(quasi=["age", "sex"], insensitive=["died"], identifiers=["zipcode", "disease", "cost"])
    (only,) = suggest_analyses(replace(policy, schema=schema, models=(ind.KAnonymity(4),)), looked, linked=True)
    assert (only.text, only.family) == ("died ~ age + C(sex)", "logistic")


def test_a_formula_that_the_table_cannot_answer_says_so(policy, tmp_path):
    files = search(Desk(), policy, tmp_path / "release")["files"]
    asked = replace(policy, analysis=AnalysisPlan(formulas=("cost ~ height",)))
    with pytest.raises(ind.ParameterError, match="height"):
        analyze_release(Desk(), asked, files)
