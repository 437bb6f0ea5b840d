"""Recoding cells: unknown vectors are refused, suppression and look-alike classes are told the truth about."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError, UnseenValueError
from indistinct.recoding.kinds import ByCell, ByRow
from indistinct.recoding.storage import recoding_from_json, recoding_to_json

SCHEMA = ind.Schema(quasi=["a", "b"], insensitive=["key"])


def table_of(rows):
    return pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows], "key": list(range(len(rows)))})


def release_of(rows, **options):
    return ind.anonymize(table_of(rows), SCHEMA, model=ind.KAnonymity(2), **options)


ROWS = [(1, 1), (2, 1), (8, 1), (9, 1), (1, 9), (2, 9), (8, 9), (9, 9)]


def test_a_combination_between_the_ranges_is_refused():
    release = release_of([(1, 1), (1, 2), (5, 8), (5, 9)])
    with pytest.raises(UnseenValueError, match="outside the published ranges") as caught:
        ind.apply(release.recoding, table_of([(1, 1), (1, 2), (5, 1), (5, 2)]))
    assert "extent=region" in caught.value.hint


def test_regions_cover_every_combination_of_known_values():
    release = release_of([(1, 1), (1, 2), (5, 8), (5, 9)], algorithm="mondrian:extent=region")
    again = ind.apply(release.recoding, table_of([(1, 1), (1, 9), (5, 1), (5, 9)]))
    assert again.certificate.holds


def test_a_new_table_must_keep_the_promise():
    release = release_of(ROWS)
    with pytest.raises(ind.VerificationError) as caught:
        ind.apply(release.recoding, table_of(ROWS[:1] + ROWS[4:]))
    assert not caught.value.details["certificate"].holds


def test_listed_vectors_are_the_only_ones_known():
    release = release_of(ROWS)
    counted = release.assignment.frequencies
    labels = np.zeros(len(counted), dtype=np.int32)
    labels[0] = -1
    values = release.assignment.values[:1]
    recoding = ByCell(
        release.recoding.columns,
        np.ascontiguousarray(counted.vectors),
        labels,
        values,
        schema=SCHEMA,
        promise="k-anonymity:k=2",
        suppression=0.2,
    )
    published = ind.apply(recoding, table_of(ROWS))
    assert published.certificate.suppressed_rows == 1
    assert published.table.num_rows == 7
    assert ind.apply(recoding_from_json(recoding_to_json(recoding)), table_of(ROWS)).table.num_rows == 7
    shorter = replace(recoding, vectors=recoding.vectors[1:], class_ids=labels[1:])
    with pytest.raises(UnseenValueError, match="not in the recoding"):
        ind.apply(shorter, table_of(ROWS), suppression=0)
    dropped = ind.apply(shorter, table_of(ROWS))
    assert dropped.table.num_rows == 7
    assert "1 row suppressed, which the recoding does not cover" in dropped.certificate.warnings[0]


def test_rows_of_one_table_fit_no_other():
    release = release_of(ROWS, algorithm="mondrian:relaxed=true")
    assert isinstance(release.recoding, ByRow)
    with pytest.raises(InputError, match="another one"):
        ind.apply(release.recoding, table_of(ROWS * 2))


def test_a_relaxed_recoding_is_not_applied_again_without_its_sensitive_values():
    """Which sensitive values go to which class is part of the recoding: chance must not decide it a second time."""
    table = pa.table({"a": [1] * 4 + [2] * 4 + [3] * 4, "d": ["x", "x", "x", "y"] * 3, "key": list(range(12))})
    schema = ind.Schema(quasi=["a"], sensitive=["d"], insensitive=["key"])
    release = ind.anonymize(table, schema, model=ind.DistinctLDiversity("d", 2), algorithm="mondrian:relaxed=true")
    with pytest.raises(InputError, match="sensitive values"):
        ind.apply(release.recoding, table, model=ind.KAnonymity(2))
    again = ind.apply(release.recoding, table)
    assert sorted((row["a"], row["d"]) for row in again.table.to_pylist()) == sorted(
        (row["a"], row["d"]) for row in release.table.to_pylist()
    )


def test_classes_that_look_alike_are_one():
    """Nodes of two levels may carry one label; relaxed halves then publish it for both."""
    tree = ind.Hierarchy.from_rows([["a", "a", "*"], ["b", "a", "*"]])
    table = pa.table({"a": ["a"] * 5 + ["b"] * 3, "key": list(range(8))})
    release = ind.anonymize(
        table,
        ind.Schema(quasi=["a"], insensitive=["key"]),
        model=ind.KAnonymity(2),
        algorithm="mondrian:relaxed=true",
        hierarchies={"a": tree},
    )
    sizes = Counter(release.table["a"].to_pylist())
    assert sizes == {"a": 6, "b": 2}
    assert sorted(release.assignment.classes.sizes.tolist()) == [2, 6]
    assert release.certificate.classes == 2


def test_a_hierarchy_without_a_root_is_not_a_stranger():
    """Where values do not meet, what is published must still be true, or the error must say what is wrong."""
    tree = ind.Hierarchy.from_rows([["x", "X"], ["y", "Y"], ["z", "Y"]], rooted=False)
    table = pa.table({"a": ["x", "y", "z"] * 2, "key": list(range(6))})
    schema = ind.Schema(quasi=["a"], insensitive=["key"])
    with pytest.raises((ind.HierarchyError, ind.InfeasibleError)):
        ind.anonymize(table, schema, model=ind.KAnonymity(4), hierarchies={"a": tree})


def test_published_names_must_not_collide():
    table = pa.table({"a": [1, 2, 3, 4], "a_min": [1, 2, 3, 4]})
    schema = ind.Schema(quasi=["a"], insensitive=["a_min"])
    with pytest.raises(ind.SchemaError, match="a_min"):
        ind.anonymize(table, schema, model=ind.KAnonymity(2), algorithm="mondrian:numeric=bounds")


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"target": "nope"}, ind.SchemaError),
        ({"seed": -1}, ind.ParameterError),
        ({"suppression": 2}, ind.ParameterError),
        ({"suppression": float("nan")}, ind.ParameterError),
        ({"algorithm": "single-dimensional:nodes=5"}, ind.ParameterError),
    ],
)
def test_bad_options_are_our_errors(options, kind):
    with pytest.raises(kind):
        release_of(ROWS, **options)


@pytest.mark.parametrize("counts", [[0, 2, 1, 1], [2, 0, 1, 1], [3, -1, 1, 1], [1, 1, 1, 2], [1, 1, 1, 0]])
def test_rows_of_a_recoding_into_buckets_are_counted(counts):
    """The loops that move rows trust these counts."""
    table = pa.table({"age": [1, 1, 2, 3], "disease": ["x", "x", "y", "y"]})
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    recoding = ind.anonymize(table, schema, algorithm="anatomy:l=2", seed=1).recoding
    assert ind.apply(replace(recoding, counts=np.array([1, 1, 1, 1])), table).certificate.holds
    with pytest.raises(InputError, match=r"another one|inconsistent"):
        ind.apply(replace(recoding, counts=np.array(counts)), table)


def test_a_recoding_into_buckets_leaves_no_row_out():
    table = pa.table({"age": [1, 1, 2, 3], "disease": ["x", "x", "y", "y"]})
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    recoding = ind.anonymize(table, schema, algorithm="anatomy:l=2").recoding
    with pytest.raises(InputError, match="inconsistent"):
        ind.apply(replace(recoding, class_ids=np.array([0, -1, 0, 1])), table)
