"""Importance of a whole job: searches keep columns finer that matter more, and cuts go where they matter."""

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.algorithms.registry import ALGORITHMS, parse_algorithm
from indistinct.errors import ParameterError
from indistinct.metrics import parse_metric
from indistinct.metrics.weighted import WeightedMetric, weigh_metric
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import importance_of

ROWS = 300
HIERARCHIES = {name: ind.Hierarchy.intervals([2, 4, 8, 16, 32]) for name in ("a", "b")}
SCHEMA = ind.Schema(quasi=["a", "b"], sensitive=["s"])
FORMS = ["datafly", "samarati", "incognito", "bottom-up", "optimal", "tds", "value-suppression", "cell-suppression"]
FORMS += [
    "mondrian",
    "mondrian:choose=loss",
    "mondrian:relaxed=true",
    "kaca",
    "top-down",
    "two-level",
    "refine",
    "auto",
    "mdav",
    "mdav:split=false",
    "top-down-kaca",
    "cell-suppression:search=optimal,nodes=1",
]
UNWEIGHED = [
    "single-dimensional",
    "single-dimensional:search=optimal",
    "node",
    "optimal:metric=discernibility",
    "optimal:metric=entropy",
    "anatomy:l=1",
    "multiset:l=1",
    "slicing:l=1",
]


@pytest.fixture(scope="module")
def twins():
    """A table whose two columns have the same values, so that only importance tells them apart."""
    dice = np.random.default_rng(4)
    pairs = dice.integers(0, 64, (ROWS // 2, 2))
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return pa.table({"a": both[:, 0], "b": both[:, 1], "s": dice.choice(["x", "y"], ROWS)})


def lost(release, table):
    shares = ind.measure(ind.published(release, original=table), ["gcp"])
    return shares["gcp"]


def widths(release, table):
    """Return what each column loses, as the mean share of its domain that is published."""
    assigned = release.assignment
    charged = parse_metric("gcp").column_totals(assigned)
    return dict(zip(("a", "b"), charged.tolist(), strict=True))


@pytest.mark.parametrize("form", FORMS)
def test_a_column_that_matters_more_loses_less(twins, form):
    for finer, coarser in (("a", "b"), ("b", "a")):
        release = ind.anonymize(
            twins, SCHEMA, model="k-anonymity:k=4", algorithm=form, hierarchies=HIERARCHIES, suppression=0.02,
            importance={finer: 20},
        )  # fmt: skip
        found = widths(release, twins)
        assert found[finer] < found[coarser]


@pytest.mark.parametrize("form", UNWEIGHED)
def test_a_search_that_weighs_no_columns_says_so(twins, form):
    model = None if parse_algorithm(form).traits.own_promise else "k-anonymity:k=2"
    release = ind.anonymize(
        twins, SCHEMA, model=model, algorithm=form, hierarchies=HIERARCHIES, suppression=0.5, importance={"a": 20}
    )
    told = [warning for warning in release.certificate.warnings if warning.startswith("importance is not used: ")]
    assert len(told) == 1
    assert form in told[0]


def test_every_algorithm_weighs_columns_or_says_that_it_does_not():
    known = {parse_algorithm(form).name for form in [*FORMS, *UNWEIGHED]}
    assert known == set(ALGORITHMS)
    assert all(parse_algorithm(form).weighs_columns for form in FORMS)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_importance_of_all_columns_changes_nothing(twins, form):
    options = {"model": "k-anonymity:k=4", "algorithm": form, "hierarchies": HIERARCHIES, "suppression": 0.02}
    plain = ind.anonymize(twins, SCHEMA, **options)
    equal = ind.anonymize(twins, SCHEMA, importance={"a": 7, "b": 7}, **options)
    assert plain.recoding == equal.recoding or parse_algorithm(form).traits.splits


def test_a_mean_over_columns_becomes_the_weighted_mean(twins):
    release = ind.anonymize(twins, SCHEMA, model="k-anonymity:k=4", algorithm="mondrian")
    for name in ("gcp", "loss", "precision"):
        metric = parse_metric(name)
        weighed = weigh_metric(metric, importance_of({"a": 3}), ["a", "b"])
        assert isinstance(weighed, WeightedMetric)
        a, b = (total / ROWS for total in metric.column_totals(release.assignment))
        expected = (3 * a + b) / 4
        assert weighed.value(release.assignment) == pytest.approx(1 - expected if name == "precision" else expected)
    summed = weigh_metric(parse_metric("ncp"), importance_of({"a": 3}), ["a", "b"])
    assert summed.importance.of("a") == 3
    assert weigh_metric(parse_metric("discernibility"), importance_of({"a": 3}), ["a", "b"]).name == "discernibility"
    assert weigh_metric(parse_metric("ncp:importance=b=2"), importance_of({"a": 3}), ["a", "b"]).importance.of("a") == 1


def test_the_best_node_is_the_best_by_the_weighted_mean(twins):
    importance = importance_of({"b": 3})
    options = {"model": "k-anonymity:k=4", "hierarchies": HIERARCHIES}
    found = ind.anonymize(twins, SCHEMA, algorithm="optimal", importance={"b": 3}, **options)
    metric = weigh_metric(parse_metric("loss"), importance, ["a", "b"])
    problem = ind.problem(twins, SCHEMA, **options)
    every = ind.Incognito().satisfying(problem)
    from indistinct.algorithms.full_domain.nodes import FullDomain

    space = FullDomain(problem)
    least = min(metric.value(assign(problem.frequencies, space.recoding(node))) for node in every)
    assert metric.value(found.assignment) == pytest.approx(least)


@pytest.mark.parametrize(
    ("importance", "words"),
    [
        ({"a": 0}, "must give each column a finite number above 0"),
        ({"a": -1}, "must give each column a finite number above 0"),
        ({"c": 2}, "names the column 'c', which is not a quasi-identifier"),
        ({"s": 2}, "names the column 's', which is not a quasi-identifier"),
    ],
)
def test_importance_that_makes_no_sense_is_refused(twins, importance, words):
    with pytest.raises(ParameterError, match=words) as refused:
        ind.anonymize(twins, SCHEMA, model="k-anonymity:k=4", importance=importance)
    assert refused.value.hint
