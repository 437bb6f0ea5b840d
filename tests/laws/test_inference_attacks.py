"""Laws of attacks by inference: what is claimed as certain is true, and chances add up to what is published."""

import numpy as np
import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.registry import ALGORITHMS, parse_algorithm
from indistinct.evaluation.attack.attack import attack, target_of
from indistinct.evaluation.attack.minimality import known_table, posterior
from indistinct.tables.domain import Domain
from indistinct.testing.checks.examples import forms_of
from references.local_by_states import recode_by_states

quick = settings(deadline=None, max_examples=40)
LEAVES = ["a1", "a2", "b1", "b2", "b3", "c1"]
TREE = ind.Hierarchy.tree({"*": {"A": LEAVES[:2], "B": LEAVES[2:5], "C": LEAVES[5:]}})
BANDS = ind.Hierarchy.intervals([5, 10])
SCHEMA = ind.Schema(quasi=["n", "t"], sensitive=["s"])
TIGHT = ["mondrian", "mondrian:relaxed=true", "mondrian:choose=loss", "mondrian:choose=loss,trees=set", "kaca"]
TIGHT += ["mdav", "kaca:stub=false", "two-level", "top-down", "top-down-kaca", "refine:rounds=3"]
MINIMAL = ["optimal", "samarati", "incognito", "bottom-up"]


def tables(most=24):
    rows = st.tuples(st.integers(18, 32), st.sampled_from(LEAVES), st.sampled_from("xyz"))
    return st.lists(rows, min_size=4, max_size=most).map(
        lambda drawn: pa.table(dict(zip("nts", map(list, zip(*drawn, strict=True)), strict=True)))
    )


@quick
@given(tables(), st.sampled_from([*TIGHT, *MINIMAL, "mondrian:extent=region"]), st.integers(2, 4))
def test_downcoding_names_only_values_that_are_there(table, algorithm, k):
    hierarchies = {"n": BANDS, "t": TREE}
    release = ind.anonymize(
        table, SCHEMA, model=ind.KAnonymity(k), algorithm=algorithm, hierarchies=hierarchies, suppression=0
    )
    found = attack("downcoding", release, original=table, hierarchies=hierarchies)
    assert found.details["wrong"] == 0
    assert found.tally.successes <= found.tally.attempts
    if algorithm == "mondrian:extent=region":
        assert found.details["claimed"] == 0


def test_every_algorithm_that_publishes_tight_values_is_attacked():
    every = [parse_algorithm(spec) for name in ALGORITHMS for spec in forms_of(name)]
    kinds = {algorithm.name for algorithm in every if algorithm.traits.tight}
    assert kinds == {parse_algorithm(spec).name for spec in TIGHT}


@quick
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=4, max_size=30), st.integers(2, 4))
def test_refinement_names_only_values_that_are_there(rows, k):
    names = ("p", "q")
    values = [[LEAVES[row[j]] for row in rows] for j in range(2)]
    domains = [Domain(name, pa.array(sorted(set(column)))) for name, column in zip(names, values, strict=True)]
    codes = [[domain.texts().index(text) for text in column] for domain, column in zip(domains, values, strict=True)]
    labels = recode_by_states(list(zip(*codes, strict=True)), [TREE.bind(domain) for domain in domains], k=k)
    kept = [place for place, label in enumerate(labels) if label is not None]
    assume(kept)
    # What is left at the top is fewer than k: ARX would suppress it, and the attacker's original has it not.
    table = pa.table({name: [column[place] for place in kept] for name, column in zip(names, values, strict=True)})
    published = pa.table({name: [labels[place][j] for place in kept] for j, name in enumerate(names)})
    schema = ind.Schema(quasi=names)
    hierarchies = dict.fromkeys(names, TREE)
    spec = f"combinatorial-refinement:k={k}"
    found = attack(spec, published, schema, original=table, hierarchies=hierarchies)
    assert (found.details["wrong"], found.details["contradictions"]) == (0, 0)


@settings(deadline=None, max_examples=15)
@given(tables(most=8), st.sampled_from(["optimal", "mondrian", "incognito"]))
def test_chances_add_up_to_what_classes_show(table, algorithm):
    model, hierarchies = ind.DistinctLDiversity("s", l=2), {"n": BANDS, "t": TREE}
    assume(len(set(table["s"].to_pylist())) > 1)
    release = ind.anonymize(table, SCHEMA, model=model, algorithm=algorithm, hierarchies=hierarchies)
    target = target_of(release, original=table, hierarchies=hierarchies)
    known = known_table(target, ("s",))
    assume(known.number(60) <= 60)
    chances, kept = posterior(known, target, worlds=60)
    assert kept >= 1
    assert np.allclose(chances.sum(axis=1), 1)
    rows = known.cells.counts[:, None]
    for class_id in range(known.class_ids.max() + 1):
        own = known.class_ids == class_id
        assert np.allclose((chances * rows)[own].sum(axis=0), (known.shares() * rows)[own].sum(axis=0))
