"""The parts of a local search: what classes are charged, its parameters, and what it does to easy tables."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.algorithms.base import Problem
from indistinct.algorithms.cluster import refine_charges as module
from indistinct.algorithms.cluster import refine_search as search
from indistinct.algorithms.cluster.refine import Refine
from indistinct.algorithms.cluster.refine_search import LocalSearch
from indistinct.algorithms.cluster.two_level import METRICS, cell_metric
from indistinct.engines import count_source
from indistinct.errors import ParameterError
from indistinct.frequencies.count import Request
from indistinct.models import KAnonymity
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import columns_of
from indistinct.samples import CENSUS_QUASI, census_hierarchies, generate_census


def problem_of(table, hierarchies, model=None):
    model = model or KAnonymity(5)
    counted = count_source(table, Request(table.column_names, model.keys, hierarchies))
    return Problem(counted.frequencies, columns_of(counted.domains, hierarchies), model, counters=Counter())


def mixed():
    """Return trees, ranges with missing values, a large domain, and sets."""
    census = generate_census(1_500, seed=5)
    generator = np.random.default_rng(1)
    table = pa.table(
        {
            "age": census["age"],
            "education": census["education"].combine_chunks().cast(pa.string()),
            "race": census["race"].combine_chunks().cast(pa.string()),
            "income": pa.array(generator.integers(0, 5_000, 1_500), mask=generator.random(1_500) < 0.1),
        }
    )
    return table, {"education": census_hierarchies()["education"]}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("pairs", [0, 512])
def test_the_charges_of_classes_are_those_of_the_metric(metric, pairs, monkeypatch):
    monkeypatch.setattr(module, "PAIRS_UP_TO", pairs)
    table, hierarchies = mixed()
    if metric == "iloss":  # it counts missing as one value more, which the search does not
        table = table.select(["age", "education", "race"])
    problem = problem_of(table, hierarchies)
    start = ind.Mondrian().search(problem)
    before = assign(problem.frequencies, start)
    chosen = cell_metric(metric)
    search = LocalSearch(problem, before, metric=chosen)
    totals = sum(
        float(chosen.charge(column)[before.values[:, place]] @ before.classes.sizes)
        for place, column in enumerate(before.columns)
    )
    assert search.cost() == pytest.approx(totals)
    search.run(seconds=60, rounds=3)
    after = assign(problem.frequencies, search.recoding())
    totals = sum(
        float(chosen.charge(column)[after.values[:, place]] @ after.classes.sizes)
        for place, column in enumerate(after.columns)
    )
    # Classes that publish the same are one class: nothing else may differ.
    assert search.cost() == pytest.approx(totals)
    assert after.classes.sizes.min() >= 5


def test_two_pairs_that_were_crossed_change_places():
    table = pa.table({"a": [1, 2, 90, 91], "b": [1, 1, 9, 9]})
    problem = problem_of(table, {}, KAnonymity(2))
    start = ind.Mondrian().search(problem)
    before = assign(problem.frequencies, start)
    search = LocalSearch(problem, before, metric=cell_metric("gcp"))
    from indistinct.algorithms.cluster._refine_kernels import fill

    fill(search.units, search.charges, search.state, np.array([0, 1, 0, 1]), 2)
    search.run(seconds=60, rounds=5)
    assert search.state.class_id[0] == search.state.class_id[1] != search.state.class_id[2] == search.state.class_id[3]
    assert problem.counters["swaps"] == 1


def test_one_class_is_split():
    table = pa.table({"a": [1, 2, 3, 90, 91, 92]})
    problem = problem_of(table, {}, KAnonymity(3))
    problem_all = problem_of(table, {}, KAnonymity(6))
    start = ind.Mondrian().search(problem_all)
    search = LocalSearch(problem, assign(problem.frequencies, start), metric=cell_metric("gcp"))
    search.run(seconds=60, rounds=2)
    assert sorted(np.bincount(search.state.class_id).tolist())[-2:] == [3, 3]
    assert problem.counters["splits"] == 1


@pytest.mark.parametrize("metric", ["gcp", "distortion"])
def test_it_is_below_every_start_and_its_certificate_holds(metric):
    table = generate_census(2_000, seed=2).select(list(CENSUS_QUASI))
    hierarchies = {name: census_hierarchies()[name] for name in CENSUS_QUASI}
    schema, found = ind.Schema(quasi=table.column_names), {}
    for form in ("kaca", "top-down", "top-down-kaca", "two-level", "mondrian", f"refine:metric={metric},rounds=12"):
        release = ind.anonymize(table, schema, model="k-anonymity:k=5", algorithm=form, hierarchies=hierarchies)
        assert release.certificate.holds
        found[form.partition(":")[0]] = ind.measure(release, [metric])[metric]
    assert found.pop("refine") < min(found.values())


def test_parameters():
    for wrong in (
        {"start": "optimal"},
        {"start": "two-level:rule=quick"},
        {"metric": "discernibility"},
        {"metric": "geometric-loss"},
        {"seconds": -1},
        {"seconds": float("nan")},
        {"rounds": 0},
    ):
        with pytest.raises(ParameterError):
            Refine(**wrong)
    assert Refine(start="mondrian:relaxed=true").traits.splits
    assert not Refine().traits.splits
    assert Refine(metric="loss")._starters()[0].metric == "loss"
    assert Refine(start="two-level:metric=ncp")._starters()[0].metric == "ncp"


def test_the_clock_stops_it(monkeypatch):
    table = generate_census(500, seed=2).select(list(CENSUS_QUASI))
    hierarchies = {name: census_hierarchies()[name] for name in CENSUS_QUASI}
    problem, shares = problem_of(table, hierarchies), []
    problem = Problem(problem.frequencies, problem.columns, problem.model, progress=shares.append)
    Refine(start="mondrian", seconds=1e-9).search(problem)
    assert problem.counters["rounds"] <= 1
    assert shares == sorted(shares)


@pytest.mark.parametrize(("worth", "expected"), [(0, list(range(1, 9))), (np.inf, [1, 2, 3, 4, 8])])
def test_sweeps_that_bring_little_rest_for_some_rounds(monkeypatch, worth, expected):
    table = generate_census(500, seed=2).select(list(CENSUS_QUASI))
    rounds = set()

    def run(units, charges, state, sweep, kind, start, stop):
        if kind == search.REDIVIDE and stop:
            rounds.add(sweep.turn // 3)
        return run_sweep(units, charges, state, sweep, kind, start, stop)

    run_sweep = search.run_sweep
    monkeypatch.setattr(search, "run_sweep", run)
    monkeypatch.setattr(search, "MIN_PAIR_GAIN_SHARE", worth)
    problem = problem_of(table, {})
    Refine(start="mondrian", seconds=0, rounds=8).search(problem)
    assert problem.counters["rounds"] == 8
    assert sorted(rounds - {0}) == expected
