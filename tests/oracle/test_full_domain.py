"""Full-domain searches against brute force over every node of small lattices, row by row in plain Python."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

import indistinct as ind
from indistinct.algorithms.full_domain import optimal
from indistinct.algorithms.full_domain.bottom_up import BottomUp
from indistinct.algorithms.full_domain.incognito import Incognito, join_survivors, prune_candidates
from indistinct.algorithms.full_domain.optimal import Optimal
from indistinct.algorithms.full_domain.samarati import Samarati
from indistinct.errors import InfeasibleError, ParameterError
from indistinct.metrics import METRICS, parse_metric
from indistinct.models.registry import parse_model
from references.lattice import LatticeTable, random_table

SEEDS = range(16)
ABSORBING = [
    *(f"k-anonymity:k={k}" for k in range(1, 7)),
    *(f"distinct-l-diversity:sensitive=disease,l={n}" for n in (2, 3)),
]
OTHERS = [
    "entropy-l-diversity:sensitive=disease,l=1.8",
    "recursive-l-diversity:sensitive=disease,c=1.5,l=2",
    "alpha-k:sensitive=disease,alpha=0.6,k=2",
    "t-closeness:sensitive=disease,t=0.3",
    "t-closeness:sensitive=disease,t=0.2,distance=ordered",
]
BREADTH_FIRST = [
    *(BottomUp(rollup, marking) for rollup in (True, False) for marking in ("direct", "transitive")),
    *(Incognito(v, marking) for v in ("basic", "super-roots", "cube") for marking in ("direct", "transitive")),
]


@cache
def table(seed: int) -> LatticeTable:
    """Every third table has hierarchies that do not all reach one root."""
    return random_table(seed, rooted=seed % 3 > 0)


@cache
def suppressed(seed: int, spec: str) -> dict:
    return {node: table(seed).suppressed(node, parse_model(spec)) for node in table(seed).nodes()}


@cache
def measured(seed: int, spec: str) -> dict:
    return {node: table(seed).scores(node, parse_model(spec)) for node in table(seed).nodes()}


@cache
def counted(seed: int, spec: str, keys: tuple):
    return table(seed).problem(parse_model(spec), keys=keys)


def problem_of(seed: int, spec: str, budget: int = 0, keys: tuple = ()):
    """Return a problem with counters of its own."""
    return replace(counted(seed, spec, keys), suppression=budget, counters=Counter())


def budgets(seed: int) -> list[int]:
    rows = len(table(seed).rows)
    return [0, max(rows // 5, 1), rows // 2, rows]


def satisfying(seed: int, spec: str, budget: int) -> set:
    allowed = min(budget, len(table(seed).rows) - 1)
    return {node for node, rows in suppressed(seed, spec).items() if rows <= allowed}


def preferred(seed: int, nodes) -> tuple:
    return min(nodes, key=lambda node: (sum(node), -table(seed).precision(node), node))


def levels(recoding) -> tuple:
    return tuple(recoding.levels.values())


def possible(seed: int, spec: str) -> bool:
    """Return whether the whole table as one class satisfies the model; the others are refused before any search."""
    return table(seed).suppressed((-1,) * len(table(seed).heights), parse_model(spec)) == 0


CASES = [(seed, spec) for seed in SEEDS for spec in (ABSORBING[seed % 8], OTHERS[seed % 5])]


@pytest.mark.parametrize(("seed", "spec"), CASES)
def test_breadth_first_searches_find_every_satisfying_node(seed, spec):
    for budget in budgets(seed) if spec in ABSORBING else [0]:
        if not possible(seed, spec):
            with pytest.raises(InfeasibleError):
                BottomUp().satisfying(problem_of(seed, spec, budget))
            continue
        expected = satisfying(seed, spec, budget)
        checks, scans = {}, {}
        for algorithm in BREADTH_FIRST:
            problem = problem_of(seed, spec, budget)
            assert algorithm.satisfying(problem) == expected, algorithm
            checks[algorithm], scans[algorithm] = problem.counters["checks"], problem.counters["scans"]
        if expected:
            for algorithm in (BottomUp(), Incognito()):
                chosen = algorithm.search(problem_of(seed, spec, budget))
                assert levels(chosen) == preferred(seed, expected)
        for marking in ("direct", "transitive"):
            assert checks[BottomUp(True, marking)] == checks[BottomUp(False, marking)]
            assert len({checks[Incognito(v, marking)] for v in ("basic", "super-roots", "cube")}) == 1
            basic, supers, cube = (scans[Incognito(v, marking)] for v in ("basic", "super-roots", "cube"))
            assert cube == 1 <= supers <= basic
            assert scans[BottomUp(False, marking)] == checks[BottomUp(False, marking)]
            assert scans[BottomUp(True, marking)] == 1
        assert checks[BottomUp(True, "transitive")] <= checks[BottomUp(True, "direct")]
        assert checks[Incognito("cube", "transitive")] <= checks[Incognito("cube", "direct")]


@pytest.mark.parametrize(("seed", "spec"), CASES)
def test_minimal_nodes_have_no_satisfying_specialization(seed, spec):
    if not possible(seed, spec):
        return
    expected = satisfying(seed, spec, 0)
    lowest = {
        n for n in expected if not any(o != n and all(a <= b for a, b in zip(o, n, strict=True)) for o in expected)
    }
    assert Incognito().minimal(problem_of(seed, spec)) == lowest


@pytest.mark.parametrize(("seed", "spec"), [case for case in CASES if case[1] in ABSORBING])
def test_every_round_of_incognito_finds_all_and_is_upward_closed(seed, spec):
    if not possible(seed, spec):
        return
    model, data = parse_model(spec), table(seed)
    for budget in budgets(seed)[:2]:
        rounds = Incognito().rounds(data.problem(model, suppression=budget))
        for size, survivors in enumerate(rounds, start=1):
            every = set(data.partial_nodes(size))
            assert survivors == {n for n in every if data.suppressed(n, model) <= min(budget, len(data.rows) - 1)}
            assert upward_closed(survivors, data)
            if size < len(rounds):
                candidates = prune_candidates(join_survivors(survivors, size), survivors)
                assert candidates == {
                    n for n in data.partial_nodes(size + 1) if all(part in survivors for part in parts(n))
                }
                assert upward_closed(candidates, data)
        for node in rounds[-1]:
            for size, survivors in enumerate(rounds, start=1):
                projections = {part for part in subsets(node) if sum(level >= 0 for level in part) == size}
                assert projections <= survivors


def parts(node):
    return [(*node[:j], -1, *node[j + 1 :]) for j, level in enumerate(node) if level >= 0]


def subsets(node):
    found = {node}
    for _ in node:
        found |= {part for one in found for part in parts(one)}
    return {part for part in found if any(level >= 0 for level in part)}


def upward_closed(nodes, data) -> bool:
    return all(
        (*node[:j], level + 1, *node[j + 1 :]) in nodes
        for node in nodes
        for j, level in enumerate(node)
        if 0 <= level < data.heights[j]
    )


@pytest.mark.parametrize(("seed", "spec"), [case for case in CASES if case[0] % 3])
def test_samarati_finds_the_smallest_height_and_the_preferred_node_of_it(seed, spec):
    for budget in budgets(seed) if spec in ABSORBING else [0]:
        if not possible(seed, spec):
            continue
        expected = satisfying(seed, spec, budget)
        lowest = [node for node in expected if sum(node) == min(map(sum, expected))]
        best = min(lowest, key=lambda n: (suppressed(seed, spec)[n], -table(seed).precision(n), n))
        assert levels(Samarati().search(problem_of(seed, spec, budget))) == best
        assert levels(Samarati(first=True).search(problem_of(seed, spec, budget))) == min(lowest)


def test_samarati_reaches_a_top_that_its_bisection_never_looked_at():
    ladders = {f"q{j}": {v: (v, f"{v} or so", "*") for v in "abc"} for j in range(3)}
    data = LatticeTable(tuple({**dict.fromkeys(ladders, v), "disease": "flu"} for v in "abc"), ladders)
    assert data.satisfying(ind.KAnonymity(3)) == {(2, 2, 2)}
    assert levels(Samarati().search(data.problem(ind.KAnonymity(3)))) == (2, 2, 2)


# Suppression and models that merging with suppressed rows can break.


@pytest.mark.parametrize("spec", OTHERS)
@pytest.mark.parametrize("algorithm", [*BREADTH_FIRST, Samarati()], ids=str)
def test_pruning_is_refused_where_the_model_does_not_allow_it(algorithm, spec):
    with pytest.raises(ParameterError, match="once rows may be suppressed"):
        algorithm.search(random_table(1).problem(parse_model(spec), suppression=1))


@pytest.mark.parametrize("spec", OTHERS)
def test_there_pruning_would_lose_answers(spec):
    """Search for a satisfying node below one that does not satisfy; the optimal search finds it all the same."""
    model = parse_model(spec)
    trials = ((random_table(seed, most_columns=2), part) for seed in range(400) for part in (2, 4))
    for data, part in trials:
        budget = len(data.rows) // part
        found = data.satisfying(model, budget)
        if found and not upward_closed(found, data):
            break
    else:
        pytest.fail("no table shows it")
    problem = data.problem(model, suppression=budget)
    best = min(data.scores(node, model)["loss"] for node in found)
    chosen = levels(Optimal("loss").search(problem))
    assert chosen in found
    assert data.scores(chosen, model)["loss"] == pytest.approx(best)


def test_a_model_that_the_whole_table_breaks_may_hold_once_rows_are_suppressed():
    ladder = {"a": ("a", "*"), "b": ("b", "*")}
    rows = [{"q0": "a", "disease": "HIV"}] * 6 + [{"q0": "b", "disease": d} for d in ("flu", "cold")]
    data, model = LatticeTable(tuple(rows), {"q0": ladder}), ind.AlphaK("disease", 0.5, 2)
    assert data.satisfying(model, 6) == {(0,)}
    assert levels(Optimal().search(data.problem(model, suppression=6))) == (0,)
    with pytest.raises(InfeasibleError):
        Optimal().search(data.problem(model))
    with pytest.raises(InfeasibleError) as caught:
        Optimal().search(data.problem(model, suppression=5))
    assert caught.value.details["least_suppressed_rows"] == 6


# The optimum.

MODELS = [
    "k-anonymity:k=3",
    "distinct-l-diversity:sensitive=disease,l=2",
    "entropy-l-diversity:sensitive=disease,l=1.8",
    "t-closeness:sensitive=disease,t=0.3",
    "alpha-k:sensitive=disease,alpha=0.6,k=2",
]
# The error of a workload needs one, and has tests of its own.
SPELLED = [
    name + (":target=disease" if name == "classification" else "") for name in METRICS if name != "workload-error"
]
SMALL = [seed for seed in range(30) if len(list(random_table(seed, rooted=seed % 3 > 0).nodes())) in range(8, 65)][:7]
SIGN = {name: -1 if kind.goal == "max" else 1 for name, kind in METRICS.items()}


def best_nodes(seed, spec, metric, budget):
    """Return the smallest score and the nodes that have it; a score is smaller for a better node."""
    name = metric.partition(":")[0]
    fits = {n: SIGN[name] * measured(seed, spec)[n][name] for n in satisfying(seed, spec, budget)}
    best = min(fits.values(), default=None)
    return best, {n for n, score in fits.items() if score <= best + 1e-9 * max(abs(best), 1)}


def assert_optimal(seed, spec, metric, budget):
    problem = problem_of(seed, spec, budget, parse_metric(metric).keys)
    best, nodes = best_nodes(seed, spec, metric, budget)
    if best is None:
        with pytest.raises(InfeasibleError):
            Optimal(metric).search(problem)
        return
    chosen = levels(Optimal(metric).search(problem))
    assert chosen in nodes, (metric, spec, budget)
    assert sum(chosen) == min(map(sum, nodes)), "ties go to the lower sum of levels"
    assert problem.counters["proven"] == 1
    assert problem.counters["nodes"] == len(suppressed(seed, spec))


@pytest.mark.parametrize("metric", SPELLED)
@pytest.mark.parametrize("spec", MODELS)
def test_the_optimum_is_that_of_brute_force(spec, metric):
    for seed in SMALL:
        for budget in budgets(seed):
            assert_optimal(seed, spec, metric, budget)


@pytest.mark.parametrize("metric", SPELLED)
@pytest.mark.parametrize("k", range(1, 7))
def test_the_optimum_of_a_walk_over_the_lattice_is_that_of_brute_force(metric, k, monkeypatch):
    monkeypatch.setattr(optimal, "SWEEP_FROM", -1e9)
    for seed in range(k, 24, 6):
        for budget in budgets(seed):
            assert_optimal(seed, f"k-anonymity:k={k}", metric, budget)


@pytest.mark.parametrize("metric", SPELLED)
@pytest.mark.parametrize("spec", MODELS)
@pytest.mark.parametrize("checks", [1, 3])
def test_a_limit_leaves_a_feasible_answer_and_a_true_bound(spec, metric, checks):
    name, stopped = metric.partition(":")[0], 0
    for seed in SMALL[:3]:
        for budget in budgets(seed):
            problem = problem_of(seed, spec, budget, parse_metric(metric).keys)
            best, nodes = best_nodes(seed, spec, metric, budget)
            try:
                chosen = levels(Optimal(metric, checks=checks).search(problem))
            except InfeasibleError:
                continue
            assert chosen in satisfying(seed, spec, budget)
            assert problem.counters["checks"] <= checks
            if problem.counters["proven"]:
                assert chosen in nodes
                continue
            stopped += 1
            assert SIGN[name] * problem.counters["bound"] <= best + 1e-9
    assert stopped


@pytest.mark.parametrize("metric", ["loss", "precision", "discernibility"])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_a_node_is_drawn_from_all_that_are_nearly_the_best(metric, share):
    for seed in SMALL:
        best, _ = best_nodes(seed, MODELS[0], metric, 0)
        if best is None:
            continue
        limit = best + share * abs(best) + 1e-9 * max(abs(best), 1)
        scores = {n: SIGN[metric] * measured(seed, MODELS[0])[n][metric] for n in satisfying(seed, MODELS[0], 0)}
        near, drawn = {n for n, score in scores.items() if score <= limit}, set()
        for chance in range(8):
            problem = replace(problem_of(seed, MODELS[0]), seed=chance)
            drawn.add(levels(Optimal(metric, choice=share).search(problem)))
            assert problem.counters["near"] == len(near)
        assert drawn <= near
        assert len(drawn) > 1 or len(near) == 1


def test_a_choice_needs_the_whole_search():
    for wrong in ({"choice": -0.1}, {"choice": float("nan")}, {"choice": 0.1, "checks": 3}):
        with pytest.raises(ParameterError):
            Optimal(**wrong)
    assert not Optimal(choice=0.1).traits.optimal


# No satisfying node.


@pytest.mark.parametrize("spec", ["k-anonymity:k=4", "distinct-l-diversity:sensitive=disease,l=2", *OTHERS])
@pytest.mark.parametrize("algorithm", [BottomUp(), Incognito(), Optimal()], ids=lambda a: a.name)
def test_the_smallest_suppression_that_would_do_is_told(algorithm, spec):
    told = 0
    for seed in range(0, 90, 3):
        data, model = table(seed), parse_model(spec)
        rows = len(data.rows)
        if data.satisfying(model) or not possible(seed, spec):
            continue
        with pytest.raises(InfeasibleError) as caught:
            algorithm.search(data.problem(model))
        least = min(suppressed(seed, spec).values())
        assert caught.value.details["least_suppressed_rows"] == least
        if least == rows:
            assert "suppression=" not in caught.value.hint
            continue
        told += 1
        share = float(caught.value.hint.rpartition("suppression=")[2])
        schema = ind.Schema(quasi=list(data.ladders), sensitive=["disease"])
        other = algorithm if spec in ABSORBING else Optimal()
        assert other.name in caught.value.hint or other is algorithm
        release = ind.anonymize(
            data.arrow(), schema, model=model, algorithm=other, hierarchies=data.hierarchies, suppression=share
        )
        assert release.certificate.holds
        if least > 1:
            with pytest.raises(InfeasibleError):
                other.search(data.problem(model, suppression=least - 1))
    assert told
