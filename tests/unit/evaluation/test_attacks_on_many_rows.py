"""Attacks on very many rows: a sample is attacked, and judged beside everybody."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError
from indistinct.evaluation.attack import crowd, record_linkage
from indistinct.evaluation.attack.base import Tally
from references.unsorted import ordered

SCHEMA = ind.Schema(quasi=["age", "sex"], sensitive=["disease"])


def test_very_many_rows_are_sampled(monkeypatch) -> None:
    original = ordered(400)
    monkeypatch.setattr(crowd, "MAX_ROWS", 100)
    found = ind.attack("homogeneity", original, SCHEMA, original=original, seed=1)
    assert found.tally.attempts == 100


def test_of_very_many_pairs_some_people_are_drawn(monkeypatch) -> None:
    """In a release as one class everybody has one group: 300 pairs, of which 60 are looked at."""
    original = ordered(300)
    release = ind.anonymize(original, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian")
    whole = ind.attack("record-linkage", original, SCHEMA, original=original, seed=1)
    monkeypatch.setattr(record_linkage, "MAX_PAIRS", 60)
    assert ind.attack("record-linkage", release, original=original, seed=1).tally == Tally(60, 0)
    some = ind.attack("record-linkage", original, SCHEMA, original=original, seed=1)
    assert some.tally.attempts == 60
    assert some.tally.share == pytest.approx(whole.tally.share, abs=0.2)
    monkeypatch.setattr(record_linkage, "MAX_JUDGED", 60)
    people = replace(SCHEMA, person=("who",))
    with pytest.raises(InputError, match="too many to count people by"):
        ind.attack("record-linkage", original, people, original=original.append_column("who", pa.array(range(300))))


def test_very_many_buckets_are_matched_without_comparing_everybody_with_all() -> None:
    """40,000 people times 13,000 buckets would be half a billion comparisons."""
    rows = 40_000
    original = pa.table(
        {"age": np.arange(rows), "sex": ["f"] * rows, "disease": np.random.default_rng(1).choice(list("abcdefg"), rows)}
    )
    release = ind.anonymize(original, SCHEMA, algorithm="anatomy:l=3")
    found = ind.attack_all(release, original=original, attacks=["record-linkage"], seconds=5)
    assert found.left_out == ()
    assert found.outcomes[0].tally.attempts == rows


def test_candidates_in_both_releases_are_counted_among_everybody(monkeypatch) -> None:
    """The same classes twice leave nobody fewer than five candidates, whoever is drawn."""
    original = ordered(200)
    release = ind.anonymize(original, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian")
    monkeypatch.setattr(crowd, "MAX_ROWS", 50)
    known = {"original": original, "earlier": release, "earlier_original": original, "seed": 1}
    found = ind.attack("intersection:k=5", release, **known, control=original.slice(0, 40))
    assert found.tally.attempts == 50
    assert found.details["below_k"] == 0
    assert found.control.attempts == 40
