"""No partition loses less than the bound, and the optimum is that of all partitions."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.least_loss import least_loss, optimum

import indistinct as ind
from indistinct.algorithms.base import Problem
from indistinct.algorithms.registry import parse_algorithm
from indistinct.engines import open_source
from indistinct.frequencies.count import Request
from indistinct.job.job import problem_of
from indistinct.metrics import parse_metric
from indistinct.recoding.assign import assign
from indistinct.suppression_limit import NO_BUDGET


def drawn(seed: int, *, rows: int, k: int) -> Problem:
    rng = np.random.default_rng(seed)
    table = pa.table(
        {"a": rng.integers(0, 6, rows), "b": rng.choice(list("xyz"), rows), "c": rng.random(rows).round(1)}
    )
    engine, source = open_source(table)
    return problem_of(engine.count(source, Request(("a", "b", "c"))), ind.KAnonymity(k), {}, suppression=NO_BUDGET)


def partitions(cells: list[int], counts: list[int], k: int) -> Iterator[list[tuple[int, ...]]]:
    """Yield every partition into classes of k rows or more."""
    if not cells:
        yield []
        return
    first, rest = cells[0], cells[1:]
    for number in range(len(rest) + 1):
        for others in combinations(rest, number):
            if sum(counts[cell] for cell in (first, *others)) >= k:
                left = [cell for cell in rest if cell not in others]
                yield from ([(first, *others), *more] for more in partitions(left, counts, k))


def least_of_all(problem: Problem, k: int) -> float:
    """Return the least loss of all partitions, each recoded and measured."""
    counts, losses = problem.frequencies.counts.tolist(), []
    for parts in partitions(list(range(len(counts))), counts, k):
        class_ids = np.empty(len(counts), dtype=np.int32)
        for number, part in enumerate(parts):
            class_ids[list(part)] = number
        losses.append(loss_of(problem, ind.recode_classes(problem, class_ids)))
    return min(losses)


def loss_of(problem: Problem, recoding: object) -> float:
    return parse_metric("gcp").value(assign(problem.frequencies, recoding))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_is_the_least_of_all_partitions(seed: int) -> None:
    k = 2 + seed % 3
    problem = drawn(seed, rows=6 + seed % 3, k=k)
    best = least_of_all(problem, k)
    found = optimum(problem, above=1.0)
    assert found.proven
    assert found.loss == pytest.approx(best)
    assert least_loss(problem) <= best + 1e-12


@pytest.mark.parametrize("k", [2, 3, 5])
def test_no_algorithm_loses_less_than_the_bound(k: int) -> None:
    problem = drawn(k, rows=300, k=k)
    bound = least_loss(problem)
    assert bound > 0
    for spec in ("mondrian", "two-level", "refine:rounds=20", "kaca"):
        assert bound <= loss_of(problem, parse_algorithm(spec).find(problem)) + 1e-12


def test_a_search_that_is_given_up_tells_a_bound() -> None:
    problem = drawn(1, rows=30, k=3)
    found = optimum(problem, above=1.0, steps=10)
    proven = optimum(problem, above=1.0)
    assert not found.proven
    assert proven.proven
    assert found.bound <= proven.loss <= found.loss
