"""Tests for dbt agree with `verify`: the classes that SQL selects are those that break a model, on random tables."""

import math

import duckdb
import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.job.dbt_tests import DIALECTS, MODEL, dbt_tests, query_of
from indistinct.job.policy import Input, Policy
from indistinct.job.policy.value import Output, Path

SCHEMA = ind.Schema(quasi=["age", 'a "b"'], sensitive=["ill"], insensitive=["x"])
MODELS = st.one_of(
    st.builds(ind.KAnonymity, st.integers(1, 6)),
    st.builds(ind.DistinctLDiversity, st.just("ill"), st.integers(1, 4)),
    st.builds(ind.EntropyLDiversity, st.just("ill"), st.sampled_from([1, 1.5, 2, 3, math.e])),
    st.builds(ind.RecursiveLDiversity, st.just("ill"), st.sampled_from([0.5, 1, 2, 1.5]), st.integers(1, 3)),
    st.builds(ind.AlphaK, st.just("ill"), st.sampled_from([0.1, 0.5, 0.75, 1]), st.integers(1, 4)),
    st.builds(ind.TCloseness, st.just("ill"), st.sampled_from([0, 0.1, 0.25, 0.5, 1])),
)


def published(seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 40))
    pick = lambda values: [values[i] for i in rng.integers(0, len(values), rows)]  # noqa: E731
    return pa.table(
        {
            "age": pa.array(pick(["[20-29]", "[30-39]", "*", None]), pa.string()),
            'a "b"': pa.array(pick(["x", "X", None]), pa.string()),
            "ill": pa.array(pick(["flu", "cold", "Flu", None][: int(rng.integers(1, 5))]), pa.string()),
            "x": pa.array(range(rows)),
        }
    )


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32), MODELS)
def test_sql_selects_the_classes_that_break_a_model(seed, model):
    table = published(seed)
    query = query_of(model, SCHEMA.quasi)
    with duckdb.connect() as session:
        session.register(MODEL, table)
        broken = session.execute(query).fetchall()
    (verdict,) = ind.verify(table, SCHEMA, model).verdicts
    assert len(broken) == verdict.violating_classes
    assert (not broken) == verdict.holds


@pytest.mark.parametrize("name", ["n", "V", "v", "place", "above", "counted", "rows", "value"])
@pytest.mark.parametrize(
    "model",
    [
        ind.KAnonymity(4),
        *(kind("ill", 2) for kind in (ind.DistinctLDiversity, ind.EntropyLDiversity)),
        ind.RecursiveLDiversity("ill", 1, 2),
        ind.AlphaK("ill", 0.5, 2),
        ind.TCloseness("ill", 0.1),
    ],
    ids=lambda model: model.name,
)
def test_no_column_is_taken_for_one_that_the_sql_names(name, model):
    table = pa.table({name: [100] * 3 + [200] * 3, "ill": ["a", "a", "a", "b", "c", "d"]})
    with duckdb.connect() as session:
        session.register(MODEL, table)
        broken = session.execute(query_of(model, (name,))).fetchall()
    (verdict,) = ind.verify(table, ind.Schema(quasi=[name], sensitive=["ill"]), model).verdicts
    assert len(broken) == verdict.violating_classes


def policy(model, **given):
    return Policy(Input(Path("a.csv")), SCHEMA, (model,), name="my policy.toml", **given)


def test_every_dialect_is_written_and_names_are_quoted():
    made = dbt_tests(policy(ind.KAnonymity(5) & ind.TCloseness("ill", 0.2)))
    names = ["indistinct_my_policy_k_anonymity", "indistinct_my_policy_t_closeness_ill"]
    assert [test.name for test in made.tests] == names
    for test in made.tests:
        assert list(test.queries) == list(DIALECTS)
        assert all("{{ model }}" in query and MODEL not in query for query in test.queries.values())
        assert test.text.startswith("{#")
    assert "`age`" in made.tests[0].queries["bigquery"]
    assert '"a ""b"""' in made.tests[0].queries["postgres"]
    assert "DOUBLE PRECISION" in made.tests[1].queries["postgres"]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), MODELS)
def test_what_is_written_in_a_dialect_reads_as_the_query_that_is_run(seed, model):
    """Every dialect is read again, by its own rules, and run on DuckDB: it selects what `verify` counts."""
    table = published(seed)
    (test,) = dbt_tests(policy(model)).tests
    (verdict,) = ind.verify(table, SCHEMA, model).verdicts
    with duckdb.connect() as session:
        session.register(MODEL, table)
        for dialect, query in test.queries.items():
            (again,) = sqlglot.transpile(query.replace("{{ model }}", MODEL), read=dialect, write="duckdb")
            assert len(session.execute(again).fetchall()) == verdict.violating_classes, dialect


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"models": (ind.TCloseness("ill", 0.2, distance="ordered"),)}, "its distance is ordered"),
        ({"models": (ind.EntropyLDiversity("ill", 2, estimator="grassberger"),)}, "corrected"),
        ({"models": (ind.AlphaK("ill", 0.5, 2, protected=("flu",)),)}, "protects some values"),
        ({"models": (ind.SampleUniqueness(0.1),)}, "not among k, l and t"),
        ({"models": ()}, "names no model"),
        ({"schema": ind.Schema(quasi=["age"], person=["id"])}, "counts people"),
        ({"algorithm": ind.Anatomy(2)}, "in buckets"),
        ({"output": Output(ranges="columns")}, "ranges as columns"),
        ({"schema": ind.Schema(quasi=["{{ age }}"])}, "a name that dbt would run"),
        ({"schema": ind.Schema(quasi=["Indistinct_rows"])}, "begins with indistinct_"),
    ],
)
def test_what_sql_cannot_judge_is_refused_by_name(given, words):
    whole = {"input": Input(Path("a.csv")), "schema": SCHEMA, "models": (ind.KAnonymity(2),), **given}
    with pytest.raises(ind.ParameterError, match=words):
        dbt_tests(Policy(**whole))


def test_ranges_as_columns_are_tested_by_the_columns_of_a_release():
    columns = ["age_from", "age_to", 'a "b"', "ill", "x"]
    made = dbt_tests(policy(ind.KAnonymity(5), output=Output(ranges="columns")), columns=columns)
    assert '"age_from"' in made.tests[0].queries["duckdb"]


def test_a_model_that_is_left_out_is_told():
    made = dbt_tests(policy(ind.KAnonymity(5) & ind.TCloseness("ill", 0.2, distance="ordered")))
    assert len(made.tests) == 1
    assert list(made.not_written) == ["t-closeness:sensitive=ill,t=0.2,distance=ordered"]
