"""Laws of the local search: the model holds, nothing gets worse, rows and their order do not matter."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.algorithms.base import Problem
from indistinct.algorithms.cluster.refine import Refine
from indistinct.algorithms.cluster.refine_search import LocalSearch
from indistinct.algorithms.cluster.two_level import cell_metric
from indistinct.errors import InfeasibleError
from indistinct.recoding.assign import assign
from indistinct.testing.strategies import models, samples

quick = settings(deadline=None, max_examples=60)
STARTS = [
    "mondrian:choose=loss",
    "two-level",
    "kaca",
    "top-down",
    "top-down-kaca",
    "mondrian",
    "mondrian:relaxed=true",
    "mdav",
    "mdav:split=false",
    "two-level:stub=true",
]


def problem_of(sample, model, *, joint=False):
    counted = sample.count(model, joint=joint)
    return Problem(counted.frequencies, sample.columns(counted), model, counters=Counter())


@quick
@given(
    samples(most_rows=40),
    models(),
    st.sampled_from(STARTS),
    st.sampled_from(["gcp", "distortion", "loss", "precision"]),
)
def test_the_model_holds_and_the_metric_is_never_worse(sample, model, start, metric):
    algorithm = Refine(start, metric, rounds=6)
    problem = problem_of(sample, model, joint=algorithm.traits.splits)
    try:
        before = assign(problem.frequencies, algorithm._starters()[0].search(problem))
    except InfeasibleError:
        return
    recoding = algorithm.search(problem)
    after = assign(problem.frequencies, recoding)
    chosen = cell_metric(metric)
    sign = 1 if chosen.goal == "min" else -1
    assert sign * chosen.value(after) <= sign * chosen.value(before)
    assert not model.violations(after.classes).any()
    assert after.classes.rows == problem.frequencies.rows
    assert algorithm.search(problem) == recoding


@quick
@given(samples(most_rows=40), models(), st.sampled_from(STARTS))
def test_what_is_known_of_classes_stays_true(sample, model, start):
    """After rounds of moves and undone moves, every list and sum is what the labels say."""
    algorithm = Refine(start)
    problem = problem_of(sample, model, joint=algorithm.traits.splits)
    try:
        recoding = algorithm._starters()[0].search(problem)
    except InfeasibleError:
        return
    search = LocalSearch(problem, assign(problem.frequencies, recoding), metric=cell_metric("gcp"))
    cost = search.cost()
    search.run(seconds=60, rounds=4)
    state = search.state
    assert search.cost() <= cost + 1e-9
    used = np.unique(state.class_id)
    free = state.free[1 : state.free[0] + 1]
    assert sorted([*used.tolist(), *free.tolist()]) == list(range(len(state.class_id)))
    for c in used.tolist():
        members, u = [], int(state.head[c])
        while u >= 0:
            members.append(u)
            u = int(state.after[u])
        assert sorted(members) == np.flatnonzero(state.class_id == c).tolist()
        assert state.size[c] == search.counts[members].sum()
    classes = search.classes.regroup(np.searchsorted(used, state.class_id).astype(np.int32), len(used))
    assert not model.violations(classes).any()
