"""Mondrian by patterns of what is missing: classes that tell it, rare patterns, trees, and what goes with it."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.hierarchy import Hierarchy
from indistinct.recoding.storage import recoding_from_json, recoding_to_json

SCHEMA = ind.Schema(quasi=["age", "job"])


def release_of(table, *, algorithm="mondrian:missing=pattern", k=2, **options):
    return ind.anonymize(table, SCHEMA, model=ind.KAnonymity(k), algorithm=algorithm, **options)


def shown(release):
    return Counter(tuple(row.values()) for row in release.table.to_pylist())


def test_rows_part_by_what_they_miss_first():
    table = pa.table({"age": [20, 21, None, None, 40, 41], "job": ["a", "a", "a", "b", None, None]})
    release = release_of(table)
    assert shown(release) == {("[20-21]", "a"): 2, (None, "{a, b}"): 2, ("[40-41]", None): 2}


def test_a_pattern_of_too_few_rows_stays_with_its_neighbours():
    table = pa.table({"age": [20, 21, 22, None], "job": ["a", "a", "b", "b"]})
    release = release_of(table)
    assert release.certificate.holds
    assert None not in {age for age, _ in shown(release)}, "one row alone misses its age"


@pytest.mark.parametrize("algorithm", ["mondrian:missing=pattern", "mondrian:missing=pattern,choose=loss,trees=set"])
def test_a_class_never_mixes_patterns_that_enough_rows_have(algorithm):
    draw = np.random.default_rng(2)
    ages = [None if draw.random() < 0.4 else int(draw.integers(20, 60)) for _ in range(200)]
    jobs = [None if draw.random() < 0.4 else str(draw.choice(list("aghz"))) for _ in range(200)]
    table = pa.table({"age": ages, "job": jobs, "key": list(range(200))})
    schema = ind.Schema(quasi=["age", "job"], insensitive=["key"])
    jobs_tree = Hierarchy.tree({"*": {"early": ["a", "g"], "late": ["h", "z"]}})
    release = ind.anonymize(table, schema, model=ind.KAnonymity(3), algorithm=algorithm, hierarchies={"job": jobs_tree})
    patterns = {}
    for row in release.table.to_pylist():
        key = row["key"]
        patterns.setdefault((row["age"], row["job"]), set()).add((ages[key] is None, jobs[key] is None))
    assert all(len(own) == 1 for own in patterns.values())
    assert {pattern for own in patterns.values() for pattern in own} == {
        (a, b) for a in (True, False) for b in (True, False)
    }
    assert recoding_from_json(recoding_to_json(release.recoding)) == release.recoding
    assert shown(ind.apply(release.recoding, table)) == shown(release)


def test_without_missing_values_nothing_changes():
    table = pa.table({"age": [20, 21, 30, 31], "job": ["a", "a", "b", "b"]})
    assert release_of(table).recoding == release_of(table, algorithm="mondrian").recoding


@pytest.mark.parametrize("other", ["relaxed=true", "extent=region"])
def test_what_has_no_strict_cuts_of_its_own_is_refused(other):
    with pytest.raises(ind.ParameterError, match="missing"):
        release_of(pa.table({"age": [1, 2], "job": ["a", "a"]}), algorithm=f"mondrian:missing=pattern,{other}")


def test_an_unknown_treatment_is_refused():
    with pytest.raises(ind.ParameterError, match="value, pattern"):
        ind.Mondrian(missing="drop")
