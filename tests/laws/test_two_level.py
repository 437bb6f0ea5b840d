"""Laws of two-level clustering on random tables: the kernel agrees with its twin, classes hold."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.base import Problem
from indistinct.algorithms.cluster import two_level as module
from indistinct.algorithms.cluster.tree_space import ClusterSpace
from indistinct.algorithms.cluster.two_level import (
    TwoLevel,
    cell_metric,
    cheapest_lifts,
    cumulative_lifts,
    level_costs,
    lifts_of,
    roll_up,
)
from indistinct.errors import InfeasibleError, ParameterError
from indistinct.metrics import Distortion
from indistinct.models import KAnonymity
from indistinct.recoding.assign import assign
from indistinct.recoding.kinds import ByRow
from indistinct.testing.strategies import Sample, models, samples

quick = settings(deadline=None, max_examples=60)
FORMS = [
    TwoLevel(),
    TwoLevel("literal"),
    TwoLevel(stub=True),
    TwoLevel("literal", stub=True),
    TwoLevel(scheme="height", beta=2.0),
    TwoLevel(metric="gcp"),
]


def problem_of(sample: Sample, model, *, joint=False) -> Problem:
    counted = sample.count(model, joint=joint)
    return Problem(counted.frequencies, sample.columns(counted), model, counters=Counter())


def partition(labels):
    """Return labels by the first cell of each class; -1 stays."""
    first = {}
    return [label if label < 0 else first.setdefault(label, place) for place, label in enumerate(labels.tolist())]


@quick
@given(samples(most_rows=40), models(), st.sampled_from(FORMS))
def test_every_class_satisfies_the_model_and_no_row_is_lost(sample, model, algorithm):
    problem = problem_of(sample, model, joint=algorithm.stub)
    try:
        recoding = algorithm.search(problem)
    except InfeasibleError:
        assert model.violations(problem.whole()).any()
        return
    assignment = assign(problem.frequencies, recoding)
    assert not model.violations(assignment.classes).any()
    assert assignment.classes.rows == problem.frequencies.rows
    assert isinstance(recoding, ByRow) == algorithm.stub


@quick
@given(samples(most_rows=40), st.integers(1, 7), st.sampled_from(["literal", "cheapest"]))
def test_the_kernel_finds_the_groups_of_its_twin(sample, k, rule):
    space = ClusterSpace(problem_of(sample, KAnonymity(k)))
    lifts = lifts_of(space.cost, rule)
    slow = partition(roll_up(space, lifts, by_size=False))
    assert partition(roll_up(space, lifts)) == slow
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LIFTS_PER_REPORT", 3)
        assert partition(roll_up(space, lifts)) == slow


@quick
@given(samples(most_rows=40), st.integers(2, 6), st.sampled_from(["distortion", "gcp", "loss"]))
def test_lifts_ascend_in_cost_and_leave_fewer_than_k_rows(sample, k, metric):
    space = ClusterSpace(problem_of(sample, KAnonymity(k)))
    costs = level_costs(space, cell_metric(metric))
    lifts = cheapest_lifts(costs)
    paid = np.sum([cost[lifts[:, j]] for j, cost in enumerate(costs)], axis=0)
    assert (np.diff(paid) >= 0).all()
    assert lifts[-1].tolist() == [len(cost) - 1 for cost in costs]
    labels, counts = roll_up(space, lifts), space.problem.frequencies.counts
    assert counts[labels < 0].sum() < k


def test_the_literal_lifts_go_level_by_level_and_never_back():
    space_costs = (np.array([0, 4]), np.array([0, 1, 2, 4]), np.array([0, 2, 4]))
    assert cumulative_lifts(space_costs).tolist() == [[0, 1, 0], [0, 1, 1], [1, 1, 1], [1, 2, 1], [1, 2, 2], [1, 3, 2]]


def test_a_lattice_that_is_too_large_is_tried_from_below_and_left_by_the_literal_way():
    costs = tuple(np.array([0, 1, 3]) for _ in range(6))
    whole = cheapest_lifts(costs)
    some = cheapest_lifts(costs, limit=50)
    paid = np.sum([cost[some[:, j]] for j, cost in enumerate(costs)], axis=0)
    assert len(whole) == 3**6 - 1
    assert len(some) == 50 + len(cumulative_lifts(costs))
    assert sorted(paid[:50].tolist()) == np.sort(np.array([whole_paid(costs, whole)]).ravel())[:50].tolist()
    assert len({tuple(lift) for lift in some[:50].tolist()}) == 50
    assert some[-1].tolist() == [2] * 6


def test_after_much_work_only_the_way_to_the_top_is_tried_and_progress_is_told():
    sample = {f"q{j}": [row >> j & 1 for row in range(64)] for j in range(6)}
    told = []
    schema, trees = ind.Schema(quasi=list(sample)), dict.fromkeys(sample, ind.Hierarchy.suppression())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LIFTS_PER_REPORT", 8)
        counted = {}
        for work in (1 << 30, 0):
            patch.setattr(module, "MAX_CELL_LIFTS", work)
            release = ind.anonymize(
                pa.table(sample),
                schema,
                model="k-anonymity:k=40",
                algorithm="two-level",
                hierarchies=trees,
                progress=told.append,
            )
            counted[work] = release.counters["rollups"]
            assert release.certificate.smallest_class >= 40
    assert counted == {1 << 30: 63, 0: 14}  # every lift; eight of them and the six that end at the top
    assert any(0 < share < 0.8 for share in told)


def whole_paid(costs, lifts):
    return np.sum([cost[lifts[:, j]] for j, cost in enumerate(costs)], axis=0).tolist()


@quick
@given(samples(most_rows=30), st.integers(2, 5))
def test_numbers_beyond_64_bits_group_alike(sample, k):
    space = ClusterSpace(problem_of(sample, KAnonymity(k)))
    lifts = lifts_of(space.cost, "cheapest")
    plain = roll_up(space, lifts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BITS_PER_WORD", 3)
        assert partition(roll_up(space, lifts)) == partition(plain)


@quick
@given(samples(most_rows=40), st.integers(2, 5), st.sampled_from(["literal", "cheapest"]))
def test_a_stub_takes_no_more_than_it_needs(sample, k, rule):
    problem = problem_of(sample, KAnonymity(k))
    if problem.frequencies.rows < k:
        return
    sizes = assign(problem.frequencies, TwoLevel(rule, stub=True).search(problem)).classes.sizes
    assert sizes.min() >= k
    assert sizes.sum() == problem.frequencies.rows


def test_the_cheapest_lifts_lose_less_than_the_literal_ones():
    from indistinct.samples import CENSUS_QUASI, census_hierarchies, generate_census

    table = generate_census(3_000, seed=3).select(list(CENSUS_QUASI[:5]))
    hierarchies = {name: census_hierarchies()[name] for name in CENSUS_QUASI[:5]}
    losses = {}
    for form in ("two-level", "two-level:rule=literal"):
        release = ind.anonymize(
            table,
            ind.Schema(quasi=table.column_names),
            model="k-anonymity:k=5",
            algorithm=form,
            hierarchies=hierarchies,
        )
        losses[form] = Distortion().value(release.assignment)
        assert release.certificate.holds
    assert losses["two-level"] < losses["two-level:rule=literal"]


def test_rules_are_checked():
    with pytest.raises(ParameterError):
        TwoLevel("cheap")
    with pytest.raises(ParameterError):
        TwoLevel(metric="discernibility")
