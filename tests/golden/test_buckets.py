"""The worked example of anatomy, multisets and slicing: eight patients, as the literature on slicing prints them."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.algorithms.bucket.anatomy import anatomize
from indistinct.testing import bucket_reference as reference
from indistinct_papers.documents import SLICING_NAMES, SLICING_PATIENTS
from references import buckets as plain

NAMES, ROWS = list(SLICING_NAMES), SLICING_PATIENTS
PATIENTS = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
TABLE = pa.Table.from_pylist(PATIENTS)
SCHEMA = ind.Schema(quasi=["age", "sex", "zip"], sensitive=["disease"])
HALF = Fraction(1, 2)
SLICES = (("age", "sex"), ("zip", "disease"))
WHOLE = (("age", "sex", "zip"), ("disease",))
EACH = (("age",), ("sex",), ("zip",), ("disease",))
# Which diseases meet is fixed; which of the people with a disease go to which group is drawn.
GROUPS = [("bronchitis", "dyspepsia"), ("dyspepsia", "flu"), ("dyspepsia", "flu"), ("flu", "gastritis")]
GIVEN = [[0, 1, 2, 3], [4, 5, 6, 7]]


def sliced(algorithm, slices):
    release = ind.anonymize(TABLE, SCHEMA, algorithm=algorithm)
    assert release.certificate.columns == slices
    return release, reference.read_sliced(release.table.to_pylist(), slices=slices, sensitive=["disease"])


def multisets(shown):
    """Return every bucket as multisets of entries, slice by slice, in a comparable form."""
    return sorted(
        [sorted(tuple(entry.values()) for entry in entries) for entries in bucket] for bucket in shown.buckets
    )


def groups_of(shown):
    """Return the diseases of every group, once each group is known to hold people of the table."""
    people = Counter(tuple(entry.values()) for known, _ in shown.buckets for entry in known)
    assert people == Counter(row[:3] for row in ROWS)
    assert all(len(known) == 2 for known, _ in shown.buckets)
    return sorted(tuple(sorted(entry["disease"] for entry in values)) for _, values in shown.buckets)


def expected(buckets, slices):
    return multisets(reference.in_buckets(PATIENTS, buckets, slices=slices, sensitive=["disease"]))


def test_anatomy_forms_the_printed_groups():
    diseases = [row["disease"] for row in PATIENTS]
    codes = np.array([sorted(set(diseases)).index(disease) for disease in diseases])
    labels = anatomize(codes, 2)
    groups = [{int(row) + 1 for row in np.flatnonzero(labels == group)} for group in range(4)]
    assert groups == [{1, 2}, {6, 3}, {4, 7}, {5, 8}]


def test_anatomy_publishes_two_tables():
    release = ind.anonymize(TABLE, SCHEMA, algorithm="anatomy:l=2")
    assert release.table.column_names == ["bucket", "age", "sex", "zip"]
    sensitive = release.others["sensitive"]
    assert sensitive.column_names == ["bucket", "disease", "count"]
    assert sensitive["count"].to_pylist() == [1] * 8
    shown = reference.read_sliced(
        release.table.to_pylist(), slices=WHOLE, sensitive=["disease"], apart=sensitive.to_pylist()
    )
    assert groups_of(shown) == GROUPS
    assert shown.strongest(PATIENTS) == HALF
    assert release.certificate.achieved["p"] == 0.5
    assert ind.measure(release)["reconstruction-error"] == pytest.approx(1 / 2)


def test_anatomy_permuted_is_one_table():
    release, shown = sliced("anatomy:l=2,form=permuted", WHOLE)
    assert release.table.column_names == ["bucket", *NAMES]
    assert not release.others
    assert groups_of(shown) == GROUPS


def test_multisets_as_printed():
    release = ind.anonymize(TABLE, SCHEMA, algorithm="multiset:l=2")
    assert release.table.column_names == NAMES, "no bucket column: the multisets tell the buckets"
    rows = release.table.to_pylist()
    young = [row for row in rows if row["age"] == "22:2,33:1,52:1"]
    old = [row for row in rows if row["age"] == "54:1,60:2,64:1"]
    assert len(young) == len(old) == 4
    assert {(row["sex"], row["zip"]) for row in young} == {("F:3,M:1", "47905:2,47906:2")}
    assert {(row["sex"], row["zip"]) for row in old} == {("F:1,M:3", "47302:2,47304:2")}
    assert Counter(row["disease"] for row in young) == {"flu": 2, "dyspepsia": 1, "bronchitis": 1}
    assert Counter(row["disease"] for row in old) == {"dyspepsia": 2, "flu": 1, "gastritis": 1}


def test_multisets_tell_as_much_as_one_attribute_a_column():
    _, each = sliced("slicing:l=2,columns=each", EACH)
    release = ind.anonymize(TABLE, SCHEMA, algorithm="multiset:l=2")
    multiset = reference.read_multisets(release.table.to_pylist(), sensitive=["disease"])
    assert multiset.strongest([{name: str(value) for name, value in row.items()} for row in PATIENTS]) == HALF
    for row in PATIENTS:
        written = {name: str(value) for name, value in row.items()}
        assert multiset.probabilities(written, "disease") == each.probabilities(row, "disease")


def test_slicing_gives_the_printed_table():
    release, shown = sliced("slicing:l=2,columns=age+sex|zip+disease", SLICES)
    assert release.table.column_names == ["bucket", *NAMES]
    assert release.table["bucket"].to_pylist() == [1] * 4 + [2] * 4
    assert multisets(shown) == [
        [
            [(22, "F"), (22, "M"), (33, "F"), (52, "F")],
            [(47905, "bronchitis"), (47905, "flu"), (47906, "dyspepsia"), (47906, "flu")],
        ],
        [
            [(54, "M"), (60, "M"), (60, "M"), (64, "F")],
            [(47302, "dyspepsia"), (47302, "flu"), (47304, "dyspepsia"), (47304, "gastritis")],
        ],
    ]
    assert release.counters["checks"] == 3, "one split that passes, two that isolate a row"


def test_slicing_links_every_row_to_two_values_at_one_half():
    _, shown = sliced("slicing:l=2,columns=age+sex|zip+disease", SLICES)
    assert shown.probabilities(PATIENTS[0], "disease") == {"dyspepsia": HALF, "flu": HALF}
    for row in PATIENTS:
        assert shown.matches(row) == 1
        linked = shown.probabilities(row, "disease")
        assert sorted(linked.values()) == [HALF, HALF]
        assert row["disease"] in linked
    assert sorted(shown.bucket_probabilities(PATIENTS[0])) == [0, 1]
    weights = sorted(shown.weight(PATIENTS[0], bucket) for bucket in shown.buckets)
    assert weights == [0, Fraction(1, 4) * Fraction(2, 4)]


def test_slicing_along_every_attribute_gives_four_buckets():
    _, shown = sliced("slicing:l=2,columns=age+sex|zip+disease,try_all_dims=true", SLICES)
    assert multisets(shown) == expected([[0, 1], [2, 3], [4, 5], [6, 7]], SLICES)
    assert shown.strongest(PATIENTS) == HALF


@pytest.mark.parametrize(("columns", "slices"), [("each", EACH), ("whole", WHOLE)])
def test_special_cases_have_the_same_buckets(columns, slices):
    release, shown = sliced(f"slicing:l=2,columns={columns}", slices)
    assert multisets(shown) == expected(GIVEN, slices)
    assert shown.strongest(PATIENTS) == HALF
    assert release.certificate.achieved["p"] == 0.5
    for row, most in ((PATIENTS[0], "flu"), (PATIENTS[7], "dyspepsia")):
        linked = shown.probabilities(row, "disease")
        assert [value for value, p in linked.items() if p == HALF] == [most]


@pytest.mark.parametrize(
    "algorithm", ["slicing:l=3,columns=age+sex|zip+disease", "anatomy:l=3", "multiset:l=3", "slicing:l=3"]
)
def test_three_is_too_much_for_the_patients(algorithm):
    with pytest.raises(ind.InfeasibleError, match="l = 3 cannot hold") as caught:
        ind.anonymize(TABLE, SCHEMA, algorithm=algorithm)
    assert "allow" in caught.value.hint
    assert " 2" in caught.value.hint


def test_the_reference_agrees_with_the_worked_example():
    found = plain.partition_tuples(PATIENTS, NAMES[:3], slices=SLICES, sensitive=["disease"], l=2)
    assert found == GIVEN
    found = plain.partition_tuples(PATIENTS, NAMES[:3], slices=SLICES, sensitive=["disease"], l=2, every=True)
    assert found == [[0, 1], [2, 3], [4, 5], [6, 7]]
    alone = [[0, 1, 2], [3], [4, 5, 6, 7]]
    shown = reference.in_buckets(PATIENTS, alone, slices=SLICES, sensitive=["disease"])
    assert shown.strongest(PATIENTS) == 1, "a bucket of one row hides nothing"
