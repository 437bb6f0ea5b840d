"""Weaknesses that attacks by inference find, planted one by one; a sound twin of each is not called broken."""

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind

TREE = ind.Hierarchy.tree({"*": {"A": ["a1", "a2"], "B": ["b1", "b2"], "C": ["c1", "c2"]}})
SCHEMA = ind.Schema(quasi=["age", "place"], sensitive=["illness"])


def people(rows, *, seed, dependent=False):
    """Return people whose illness follows from their age, or from nothing."""
    chance = np.random.default_rng(seed)
    ages, drawn = chance.integers(20, 80, rows), chance.integers(0, 6, rows)
    return pa.table(
        {
            "age": ages,
            "place": chance.choice(["a1", "a2", "b1", "b2", "c1", "c2"], rows),
            "illness": np.where(dependent, (ages - 20) // 10, drawn).astype(str),
        }
    )


def released(original, algorithm, model="k-anonymity:k=2"):
    hierarchies = {"place": TREE}
    if "mondrian" not in algorithm:
        hierarchies["age"] = ind.Hierarchy.suppression()
    made = ind.anonymize(original, SCHEMA, model=model, algorithm=algorithm, hierarchies=hierarchies)
    return made, original, hierarchies


def tight_ranges():
    original = people(300, seed=1)
    return "downcoding", released(original, "mondrian"), released(original, "mondrian:extent=region")


def minimal_hierarchy():
    """Two rows of one age in the two places of a node: their closest common ancestor has both places."""
    original = pa.table(
        {"age": np.repeat(np.arange(20, 60), 2), "place": ["a1", "a2"] * 20 + ["b1", "b2"] * 20, "illness": ["1"] * 80}
    )
    return "downcoding", released(original, "kaca"), released(original, "optimal")


def minimal_order():
    """Cells that were too small were lifted one level: each has at most k - 1 of the rows of a class."""
    places = np.repeat(["a1", "a2", "b1", "b2", "c1"], [20, 20, 20, 20, 40])
    original = pa.table({"age": [30] * 120, "place": places})
    original = original.append_column("illness", pa.array(["1"] * 120))
    model = "k-anonymity:k=21"
    sound = released(original, "mondrian:extent=region", "k-anonymity:k=81")
    return "combinatorial-refinement", released(original, "two-level", model), sound


def dependent_values_in_buckets():
    weak, sound = people(900, seed=2, dependent=True), people(900, seed=2)
    made = [ind.anonymize(table, SCHEMA, algorithm="anatomy:l=3", seed=5) for table in (weak, sound)]
    return "definetti", (made[0], weak, {}), (made[1], sound, {})


def generalized_for_its_values():
    original = pa.table({"age": [30] * 10, "place": ["a1"] * 2 + ["a2"] * 8, "illness": ["bad"] * 2 + ["good"] * 8})
    model = "alpha-k:sensitive=illness,alpha=0.5,k=2,protected=bad"
    return "minimality", released(original, "optimal", model), released(original, "optimal")


PLANTED = [tight_ranges, minimal_hierarchy, minimal_order, dependent_values_in_buckets, generalized_for_its_values]


@pytest.mark.parametrize("planted", PLANTED, ids=lambda plant: plant.__name__)
def test_the_attack_bites(planted) -> None:
    attack, weak, sound = planted()
    found = ind.attack(attack, weak[0], original=weak[1], hierarchies=weak[2])
    assert found.succeeds, found.sentence
    assert found.defence
    try:
        safe = ind.attack(attack, sound[0], original=sound[1], hierarchies=sound[2])
    except ind.ParameterError:
        return
    assert not safe.succeeds, safe.sentence


def test_independent_values_in_buckets_are_not_called_broken() -> None:
    alarms = 0
    for seed in range(60):
        original = people(120, seed=seed)
        release = ind.anonymize(original, SCHEMA, algorithm="anatomy:l=3")
        alarms += ind.attack("definetti", release, original=original).succeeds
    assert alarms <= 12  # one in twenty; more than twelve of sixty happen once in ten thousand times
