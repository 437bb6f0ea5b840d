"""Searches within levels and with importance against brute force over the nodes that lie within."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.algorithms.full_domain.bottom_up import BottomUp
from indistinct.algorithms.full_domain.incognito import Incognito
from indistinct.algorithms.full_domain.optimal import Optimal
from indistinct.algorithms.full_domain.samarati import Samarati
from indistinct.algorithms.within_levels import bounded_problem, find_within
from indistinct.errors import InfeasibleError
from indistinct.metrics import METRICS, parse_metric
from indistinct.models.registry import parse_model
from indistinct.recoding.columns import importance_of, levels_of
from references.lattice import random_table

MODELS = ["k-anonymity:k=2", "k-anonymity:k=3", "distinct-l-diversity:sensitive=disease,l=2"]
# The error of a workload needs one, and has tests of its own.
METRIC_NAMES = [name for name in METRICS if name != "workload-error"]
UNWEIGHED = ("discernibility", "average-class-size", "entropy", "classification")
TABLES = [data for data in (random_table(seed, most_columns=3) for seed in range(300)) if max(data.heights) == 3]
TABLES = [data for data in TABLES if len(data.heights) > 1 and len(data.rows) > 8 and len(set(data.heights)) > 1]


@st.composite
def bounded_tables(draw):
    """A table with random hierarchies, bounds of some columns, and how much columns matter."""
    data, bounds = draw(st.sampled_from(TABLES)), {}
    for name, height in zip(data.ladders, data.heights, strict=True):
        least = draw(st.integers(0, height - 1))
        bounds[name] = (least, draw(st.none() | st.integers(least, height)))
    for name in draw(st.sets(st.sampled_from(sorted(bounds)))):
        del bounds[name]
    weights = draw(st.just(()) | st.tuples(*(st.sampled_from([1, 2, 5]) for _ in data.ladders)))
    return data, bounds, weights


def problem_of(data, spec, *, bounds, weights, budget, keys=()):
    problem = data.problem(parse_model(spec), suppression=budget, keys=keys)
    importance = importance_of(dict(zip(data.ladders, weights, strict=False)))
    return bounded_problem(replace(problem, importance=importance, counters=Counter()), levels_of(bounds))


def nodes_within(data, bounds):
    lows = [bounds.get(name, (0, None))[0] for name in data.ladders]
    given = [bounds.get(name, (0, None))[1] for name in data.ladders]
    highs = [height if most is None else most for most, height in zip(given, data.heights, strict=True)]
    return [n for n in data.nodes() if all(a <= b <= c for a, b, c in zip(lows, n, highs, strict=True))]


def satisfying(data, spec, *, bounds, budget):
    model, allowed = parse_model(spec), min(budget, len(data.rows) - 1)
    return [node for node in nodes_within(data, bounds) if data.suppressed(node, model) <= allowed]


def levels_found(recoding):
    return tuple(recoding.levels.values())


@pytest.mark.parametrize("name", METRIC_NAMES)
@settings(deadline=None, max_examples=30)
@given(drawn=bounded_tables(), spec=st.sampled_from(MODELS), share=st.sampled_from([0, 0, 0.2]))
def test_the_optimum_within_levels_is_that_of_brute_force(name, drawn, spec, share):
    data, bounds, weights = drawn
    metric, budget = parse_metric(name + (":target=disease" if name == "classification" else "")), 0
    budget = int(share * len(data.rows))
    problem = problem_of(data, spec, bounds=bounds, weights=weights, budget=budget, keys=metric.keys)
    fits = satisfying(data, spec, bounds=bounds, budget=budget)
    if not fits:
        with pytest.raises(InfeasibleError):
            find_within(Optimal(metric), problem)
        return
    sign, matter = (-1 if metric.goal == "max" else 1), () if name in UNWEIGHED else weights
    scores = {node: sign * data.scores(node, parse_model(spec), weights=matter)[name] for node in fits}
    best = min(scores.values())
    equal = [node for node, score in scores.items() if score <= best + 1e-9 * max(abs(best), 1)]
    found = levels_found(find_within(Optimal(metric), problem))
    assert found in equal
    assert sum(found) == min(map(sum, equal)), "ties go to the lower sum of levels"


@settings(deadline=None, max_examples=30)
@given(drawn=bounded_tables(), spec=st.sampled_from(MODELS), share=st.sampled_from([0, 0.2]))
def test_minimal_heights_and_their_ties_within_levels_are_those_of_brute_force(drawn, spec, share):
    """Ties go to the weighted precision, of levels as the whole hierarchy has them."""
    data, bounds, weights = drawn
    budget = int(share * len(data.rows))
    fits = satisfying(data, spec, bounds=bounds, budget=budget)
    problem = problem_of(data, spec, bounds=bounds, weights=weights, budget=budget)
    if not fits:
        for algorithm in (Samarati(), BottomUp(), Incognito()):
            with pytest.raises(InfeasibleError):
                find_within(algorithm, problem)
        return
    gone = {node: data.suppressed(node, parse_model(spec)) for node in fits}
    lowest = min(map(sum, fits))
    for algorithm, first in ((Samarati(), gone), (BottomUp(), {}), (Incognito(), {})):
        best = min(fits, key=lambda n: (sum(n), first.get(n, 0), -data.precision(n, weights), n))
        assert sum(best) == lowest
        assert levels_found(find_within(algorithm, problem)) == best
