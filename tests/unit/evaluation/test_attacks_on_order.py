"""Attacks on the order of published rows: where they must succeed, and where they must fail."""

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import ParameterError
from indistinct.evaluation.attack import predictable_seed
from references.unsorted import ordered

SCHEMA = ind.Schema(quasi=["age", "sex"], sensitive=["disease"])
AGES = {"age": ind.Hierarchy.intervals([10])}

# A seed that nobody tries.
SEED = 7_654_321


def test_the_order_of_the_original_is_noticed_and_a_shuffle_is_not() -> None:
    original = ordered()
    labels = pa.array([f"[{age // 10 * 10}-{age // 10 * 10 + 10})" for age in original["age"].to_pylist()])
    kept = original.set_column(0, "age", labels)
    known = {"original": original, "hierarchies": AGES}
    found = ind.attack("unsorted-matching", kept, SCHEMA, **known)
    assert found.succeeds
    assert found.details["p_value"] < 1e-6
    turned = ind.attack("unsorted-matching", kept.take(pa.array(np.arange(200)[::-1])), SCHEMA, **known)
    assert turned.succeeds
    assert turned.details["rank_correlation"] < 0
    grouped = kept.sort_by([("age", "ascending"), ("sex", "ascending")])
    assert ind.attack("unsorted-matching", grouped, SCHEMA, **known).succeeds  # sorting is stable
    for seed in range(3):
        shuffled = kept.take(pa.array(np.random.default_rng(100 + seed).permutation(200)))
        assert not ind.attack("unsorted-matching", shuffled, SCHEMA, **known).succeeds


def test_what_columns_explain_is_no_order() -> None:
    """The original is sorted by age and so is the release: the labels tell that, and the order nothing more."""
    original = ordered().sort_by([("age", "ascending")])
    # A verdict of 95 % would be wrong now and then for an order by chance: this one is always the same.
    release = ind.anonymize(original, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian", seed=SEED)
    assert not ind.attack("unsorted-matching", release, original=original).succeeds
    by_all = original.sort_by([("age", "ascending"), ("sex", "ascending"), ("disease", "ascending")])
    found = ind.attack("unsorted-matching", by_all, SCHEMA, original=original)
    assert found.tally.attempts == 0
    assert not found.succeeds


def test_a_column_without_a_role_is_an_order() -> None:
    original = ordered()
    rows = np.random.default_rng(9).permutation(200)
    shuffled = original.take(pa.array(rows)).append_column("index", pa.array(rows))
    found = ind.attack("unsorted-matching", shuffled, SCHEMA, original=original)
    assert found.succeeds
    assert found.details["order"] == "column 'index'"


@pytest.mark.parametrize("name", ["anatomy:l=3", "slicing:l=2,size=6", "anatomy:l=3,form=permuted"])
def test_the_order_of_buckets_tells_nothing(name) -> None:
    original = ordered()
    release = ind.anonymize(original, SCHEMA, algorithm=name, seed=SEED)
    found = ind.attack_all(release, original=original, attacks=["unsorted-matching", "predictable-seed:seeds=20"])
    assert {*found.refused, *(each.attack for each in found.outcomes)} == {"unsorted-matching", "predictable-seed"}
    assert not found.succeeds


def test_seeds_are_found_and_chance_is_not() -> None:
    original = ordered()
    release = ind.anonymize(original, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian", seed=17)
    found = ind.attack("predictable-seed:seeds=40", release, original=original)
    assert found.succeeds
    assert (found.details["seed"], found.details["generator"]) == (17, "indistinct")
    assert found.tally.share == 1
    unusual = ind.anonymize(original, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian", seed=SEED)
    missed = ind.attack("predictable-seed:seeds=40", unusual, original=original)
    assert not missed.succeeds
    assert missed.details["seed"] is None


def test_the_last_of_the_seeds_is_tried_and_of_many_rows_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    original = ordered()
    for seed, most in ((24, predictable_seed.MAX_SHUFFLED), (0, 1)):
        monkeypatch.setattr(predictable_seed, "MAX_SHUFFLED", most)
        release = ind.anonymize(original, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian", seed=seed)
        assert ind.attack("predictable-seed:seeds=25", release, original=original).details["seed"] == seed


def test_seeds_of_other_generators_are_found() -> None:
    original = ordered()
    frame = original.to_pandas()
    known = {"original": original}
    sampled = pa.Table.from_pandas(frame.sample(frac=1, random_state=42), preserve_index=False)
    found = ind.attack("predictable-seed:seeds=10", sampled, SCHEMA, **known)
    assert (found.details["seed"], found.details["generator"]) == (42, "numpy RandomState, pandas sample")
    drawn = original.take(pa.array(np.random.default_rng(3).permutation(200)))
    assert ind.attack("predictable-seed:seeds=20", drawn, SCHEMA, **known).details["generator"] == "numpy default_rng"


def test_a_seeded_slice_is_found() -> None:
    original = pa.table(
        {"age": np.random.default_rng(1).permutation(200), "sex": ["f"] * 200, "disease": list("abcde") * 40}
    )
    release = ind.anonymize(original, SCHEMA, algorithm="anatomy:l=5", seed=3)
    assert ind.attack("predictable-seed:seeds=20", release, original=original).details["seed"] == 3


def test_an_order_that_two_releases_share_is_noticed() -> None:
    original = ordered()
    known = {"model": "k-anonymity:k=5", "algorithm": "mondrian"}
    first, second = (ind.anonymize(original, SCHEMA, **known, seed=seed) for seed in (1, 2))
    same = ind.attack(
        "unsorted-matching", first, original=original, earlier=ind.apply(first.recoding, original, seed=1)
    )
    assert same.succeeds
    assert same.details["order"] == "rows, compared with the earlier release"
    assert not ind.attack("unsorted-matching", first, earlier=second).succeeds
    with pytest.raises(ParameterError, match=r"needs the original table .* or an earlier release"):
        ind.attack("unsorted-matching", first)


@pytest.mark.parametrize("algorithm", ["mondrian:relaxed=true", "slicing:l=2,size=6"])
def test_an_order_that_cannot_be_compared_is_refused(algorithm: str) -> None:
    """Rows with equal values are in several classes or buckets, so that no place is theirs."""
    original = ordered()
    release = ind.anonymize(
        original, SCHEMA, model="k-anonymity:k=5" if "mondrian" in algorithm else None, algorithm=algorithm
    )
    with pytest.raises(ParameterError, match="does not apply to this release: no order can be compared"):
        ind.attack("predictable-seed:seeds=3", release, original=original)
    found = ind.attack_all(release, original=original, attacks=["predictable-seed:seeds=3"])
    assert (found.outcomes, list(found.refused)) == ((), ["predictable-seed"])
