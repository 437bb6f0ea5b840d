"""Weaknesses of releases, planted one by one: an attack finds each, and no attack calls a sound release broken."""

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.evaluation.attack.registry import ATTACKS

KINDS = ind.Hierarchy.tree({"*": {"lungs": ["asthma", "cough", "flu"], "joints": ["arthritis", "gout", "sprain"]}})
DISEASES = ["asthma", "cough", "flu", "arthritis", "gout", "sprain"]
SCHEMA = ind.Schema(quasi=["age", "sex"], sensitive=["disease"], insensitive=["visit"])
SOUND = "k-anonymity:k=5 & distinct-l-diversity:sensitive=disease,l=3 & t-closeness:sensitive=disease,t=0.25"


def people(rows, *, seed):
    """Return people of few ages, so that every combination occurs, with visits that differ."""
    chance = np.random.default_rng(seed)
    return pa.table(
        {
            "age": chance.integers(20, 30, rows),
            "sex": chance.choice(["f", "m"], rows),
            "disease": chance.choice(DISEASES, rows),
            "visit": chance.permutation(rows),
        }
    )


ORIGINAL = people(300, seed=1)
# A verdict of 95 % is wrong now and then for orders by chance: these are always the same, by seeds that nobody tries.
RELEASE = ind.anonymize(ORIGINAL, SCHEMA, model=SOUND, algorithm="mondrian:extent=region", seed=7_654_321)
EARLIER = ind.apply(RELEASE.recoding, ORIGINAL, seed=1_234_567)
PLACES = {visit: place for place, visit in enumerate(ORIGINAL["visit"].to_pylist())}


def positions(table):
    return pa.array([PLACES[visit] for visit in table["visit"].to_pylist()])


def row_index_left():
    return "unsorted-matching", RELEASE.table.append_column("index", positions(RELEASE.table)), {}


def order_kept():
    rows = np.argsort(positions(RELEASE.table).to_numpy())
    return "unsorted-matching", RELEASE.table.take(pa.array(rows)), {}


def order_kept_inside_classes():
    rows = np.lexsort((positions(RELEASE.table).to_numpy(), np.array(RELEASE.table["sex"].to_pylist())))
    return "unsorted-matching", RELEASE.table.take(pa.array(rows)), {}


def fixed_seed():
    release = ind.anonymize(ORIGINAL, SCHEMA, model=SOUND, algorithm="mondrian:extent=region", seed=11)
    return "predictable-seed:seeds=30", release.table, {}


def popular_seed():
    shuffled = ORIGINAL.take(pa.array(np.random.default_rng(42).permutation(300)))
    return "predictable-seed:seeds=10", shuffled, {}


def homogeneous_class():
    table = RELEASE.table
    first = table.slice(0, 1).select(["age", "sex"]).to_pylist()[0]
    rows = [row["age"] == first["age"] and row["sex"] == first["sex"] for row in table.to_pylist()]
    diseases = ["flu" if mine else value for mine, value in zip(rows, table["disease"].to_pylist(), strict=True)]
    published = table.set_column(2, "disease", pa.array(diseases))
    visits = dict(zip(published["visit"].to_pylist(), diseases, strict=True))
    sick = pa.array([visits[visit] for visit in ORIGINAL["visit"].to_pylist()])
    return "homogeneity", published, {"original": ORIGINAL.set_column(2, "disease", sick)}


def k_per_partition():
    """A partition with fewer than k rows comes back as it was."""
    large, small = ORIGINAL.slice(0, 296), ORIGINAL.slice(296)
    small = small.set_column(0, "age", pa.array([81, 84, 87, 90]))
    release = ind.anonymize(large, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian")
    texts = pa.schema([("age", pa.string()), ("sex", pa.string()), ("disease", pa.string()), ("visit", pa.int64())])
    plain = pa.table(release.table.cast(texts))
    return (
        "record-linkage",
        pa.concat_tables([plain, small.cast(texts)]),
        {"original": pa.concat_tables([large, small])},
    )


def two_overlapping_releases():
    """Both have classes of decades, but the decades of one begin five years later."""
    older = ORIGINAL.set_column(0, "age", pa.array(np.random.default_rng(3).integers(20, 80, 300)))

    def by_decades(first):
        starts = [(age - first) // 10 * 10 + first for age in older["age"].to_pylist()]
        return older.set_column(0, "age", pa.array([f"[{start}-{start + 10})" for start in starts]))

    return "intersection", by_decades(20), {"original": older, "earlier": by_decades(25)}


PLANTED = [
    row_index_left,
    order_kept,
    order_kept_inside_classes,
    fixed_seed,
    popular_seed,
    homogeneous_class,
    k_per_partition,
    two_overlapping_releases,
]


@pytest.mark.parametrize("planted", PLANTED, ids=lambda plant: plant.__name__)
def test_the_attack_bites(planted) -> None:
    attack, published, known = planted()
    found = ind.attack(attack, published, SCHEMA, **{"original": ORIGINAL, "seed": 1, **known})
    assert found.succeeds, found.sentence
    assert found.defence
    sound = ind.attack(attack, RELEASE, original=ORIGINAL, earlier=EARLIER, seed=1)
    assert not sound.succeeds, sound.sentence


# So many alarms happen with a probability below one in a million, if each is as rare as the confidence says.
RELEASES, CONFIDENCE = 200, 0.95


def most_alarms(trials, *, rarely=1e-6):
    """Return the number of alarms that chance exceeds only rarely, from the binomial distribution."""
    share, tail, alarms = 1 - CONFIDENCE, 1.0, -1
    while tail > rarely:
        alarms += 1
        tail -= math.comb(trials, alarms) * share**alarms * (1 - share) ** (trials - alarms)
    return alarms


def test_sound_releases_are_not_called_broken() -> None:
    """Labels cover every combination of values, classes are diverse and close, and both releases have one recoding."""
    attacks = ["predictable-seed:seeds=5" if name == "predictable-seed" else name for name in ATTACKS]
    alarms, runs = Counter(), Counter()
    for seed in range(RELEASES):
        original, outside = people(80, seed=seed), people(30, seed=1000 + seed)
        release = ind.anonymize(original, SCHEMA, model=SOUND, algorithm="mondrian:extent=region")
        again = release.table.take(pa.array(np.random.default_rng(seed).permutation(80)))
        found = ind.attack_all(
            release,
            original=original,
            control=outside,
            earlier=again,
            hierarchies={"disease": KINDS},
            attacks=attacks,
            seed=seed,
        )
        runs.update(outcome.attack for outcome in found.outcomes)
        alarms.update(outcome.attack for outcome in found.outcomes if outcome.succeeds)
    assert {name: runs[name] for name in OURS} == dict.fromkeys(OURS, RELEASES)
    assert {name: number for name, number in alarms.items() if number > most_alarms(RELEASES)} == {}
    assert alarms.total() <= most_alarms(runs.total())


OURS = (
    "record-linkage",
    "homogeneity",
    "background-knowledge",
    "skewness",
    "similarity",
    "membership",
    "intersection",
    "unsorted-matching",
    "predictable-seed",
)
