"""How far the exact single-dimensional search gets on Adult: best, bound and gap by nodes and seconds of computing.

`python -m benchmarks.optimal_cuts --nodes 1000000 --suppression 0.01 10 50` for some values of k. The number of nodes
is the same on every machine, the seconds are not.
"""

import argparse
import time

import numpy as np

from indistinct.algorithms.base import Problem
from indistinct.algorithms.explanation import Proof
from indistinct.algorithms.partition.layout import ranks_of
from indistinct.algorithms.partition.single_dimensional_greedy import find_greedy_cuts
from indistinct.algorithms.partition.single_dimensional_optimal import CutSearch, CutSpace, find_optimal_cuts
from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.machine.arrays import starts_of
from indistinct.models import KAnonymity
from indistinct.recoding.columns import columns_of
from indistinct_papers.adult import ADULT_QUASI, adult_hierarchies, load_adult

EVERY_K = (5, 10, 25, 50, 100, 250, 500, 1000)


def main() -> None:
    """Search for each k, and print a line whenever the number of nodes has doubled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("k", nargs="*", type=int, default=EVERY_K)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--suppression", type=float, default=0.0)
    options = parser.parse_args()
    table = load_adult(training_only=True).select(ADULT_QUASI)
    hierarchies = {name: own for name, own in adult_hierarchies().items() if name in ADULT_QUASI and name != "age"}
    counted = count_source(table, Request(ADULT_QUASI, (), hierarchies))
    columns = columns_of(counted.domains, hierarchies)
    print("k,suppression,nodes,seconds,greedy,best,bound,gap,proven")
    for k in options.k:
        problem = Problem(counted.frequencies, columns, KAnonymity(k))
        search_adult(problem, nodes=options.nodes, suppression=options.suppression)


def search_adult(problem: Problem, *, nodes: int, suppression: float) -> None:
    """Print how good the best cuts so far are, on the way and at the end."""
    ranks = ranks_of(problem.columns, problem.frequencies.vectors).astype(np.int64)
    began = time.process_time()
    values, dense = zip(*(np.unique(own, return_inverse=True) for own in ranks.T), strict=True)
    budget = int(suppression * problem.frequencies.rows)
    space = CutSpace.of(np.stack(dense, axis=1), problem.frequencies.classes, problem.model, budget=budget)
    greedy = find_greedy_cuts(ranks, problem)
    made = np.concatenate([np.diff(starts_of(cut)[own]) > 0 for own, cut in zip(values, greedy, strict=True)])
    search = CutSearch(space)
    search.start_from([made])
    first = search.cost

    def tell(proof: Proof) -> None:
        seconds = time.process_time() - began
        figures = f"{proof.nodes},{seconds:.1f},{first},{proof.best},{proof.bound},{proof.gap:.4f},{proof.proven}"
        print(f"{problem.model.smallest},{suppression},{figures}", flush=True)

    tell(find_optimal_cuts(space, [made], nodes=nodes, seconds=None, report=tell)[1])


if __name__ == "__main__":
    main()
