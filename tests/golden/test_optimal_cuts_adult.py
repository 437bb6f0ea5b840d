"""The single-dimensional optimum of Adult: where the search starts, and what is proven (Bayardo and Agrawal 2005)."""

import os
from pathlib import Path

import pytest

import indistinct as ind
from indistinct_papers.adult import ADULT_QUASI, adult_hierarchies, load_adult

DATA = Path(os.environ.get("INDISTINCT_DATA") or Path(__file__).parents[3] / "shared" / "data")
pytestmark = pytest.mark.skipif(
    not (DATA / "adult.csv").is_file(), reason="the Adult table is not there; set INDISTINCT_DATA to its folder"
)


@pytest.mark.parametrize(
    ("k", "nodes", "cost", "proven"),
    [
        (1000, 20_000, 38_484_056, True),
        # The optimum, which a million nodes prove; greedy cuts alone cost 12,381,232.
        (100, 20_000, 6_239_322, False),
    ],
)
def test_the_search_has_the_optimum_of_adult_after_few_nodes(k, nodes, cost, proven):
    hierarchies = adult_hierarchies()
    release = ind.anonymize(
        load_adult(DATA, training_only=True).select(ADULT_QUASI),
        ind.Schema(quasi=ADULT_QUASI),
        model=ind.KAnonymity(k),
        algorithm=ind.SingleDimensional(search="optimal", nodes=nodes),
        hierarchies={name: hierarchies[name] for name in ADULT_QUASI if name != "age"},
    )
    proof = release.explanation.proof
    assert (proof.best, proof.proven) == (cost, proven)
    assert proof.bound <= cost
