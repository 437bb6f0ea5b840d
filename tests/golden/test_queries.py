"""Queries on worked examples: what is answered exactly, what is estimated, and between which bounds the truth lies."""

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct_papers.documents import MONDRIAN_PATIENTS as PATIENTS
from indistinct_papers.documents import RETOLD_PATIENTS as RETOLD

SCHEMA = ind.Schema(quasi=["Sex", "Age", "Zipcode"], sensitive=["Disease"])
BOTH = pytest.mark.parametrize(("rows", "mean", "young"), [(PATIENTS, 26.5, 26), (RETOLD, 36.5, 36)])


def table_of(rows):
    columns = zip(*rows, strict=True)
    return pa.table(dict(zip(("Age", "Sex", "Zipcode", "Disease"), map(list, columns), strict=True)))


def released(rows, algorithm="mondrian"):
    sexes = {"Sex": ind.Hierarchy.order(["Female", "Male"])}
    return ind.anonymize(table_of(rows), SCHEMA, model=ind.KAnonymity(2), algorithm=algorithm, hierarchies=sexes)


@BOTH
def test_the_mean_age_of_men_is_exact_where_means_are_published(rows, mean, young):
    answer = ind.query(released(rows, "mondrian:numeric=interval+mean"), "SELECT AVG(Age) WHERE Sex = 'Male'")
    assert (answer.value, answer.low, answer.high, answer.exact) == (mean, mean, mean, True)


@BOTH
def test_the_mean_age_of_men_is_else_an_estimate_that_happens_to_be_right(rows, mean, young):
    answer = ind.query(released(rows), "SELECT AVG(Age) WHERE Sex = 'Male'")
    assert (answer.value, answer.low, answer.high, answer.exact) == (mean, mean - 0.5, mean + 0.5, False)
    assert answer.error > 0


@BOTH
@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian:numeric=interval+mean", "mondrian:numeric=bounds"])
def test_the_number_of_young_men_is_exact(rows, mean, young, algorithm):
    answer = ind.query(released(rows, algorithm), f"SELECT COUNT(*) WHERE Sex = 'Male' AND Age <= {young}")
    assert (answer.value, answer.low, answer.high, answer.exact) == (2, 2, 2, True)


def test_ranges_and_not_means_tell_the_least_and_the_largest():
    for form in ("interval", "interval+mean", "bounds"):
        release = released(PATIENTS, f"mondrian:numeric={form}")
        for sql, wanted in (
            ("SELECT MIN(Age)", 25),
            ("SELECT MAX(Age)", 28),
            ("SELECT MAX(Age) WHERE Sex = 'Male'", 28),
        ):
            answer = ind.query(release, sql)
            assert (answer.value, answer.low, answer.high, answer.exact) == (wanted, wanted, wanted, True), sql


def test_a_file_from_anywhere_answers_as_the_release():
    answer = ind.query(released(PATIENTS).table, "SELECT COUNT(*) WHERE Sex = 'Male' AND Age <= 26", SCHEMA)
    assert (answer.value, answer.exact) == (2, True)
    assert "suppressed" in answer.notes[0]


def test_two_tables_answer_by_the_share_of_their_buckets():
    """Per bucket: rows that fulfil the known part, times the share of sensitive values that fulfil theirs."""
    quasi = pa.table({"age": [20, 30, 40, 50], "bucket": [1, 1, 2, 2]})
    sensitive = pa.table({"bucket": [1, 1, 2, 2], "disease": ["flu", "cold", "flu", "HIV"], "count": [1, 1, 1, 1]})
    release = ind.BucketTable(quasi, (("age",), ("disease",)), "tables", sensitive)
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    answer = ind.query(release, "SELECT COUNT(*) WHERE age >= 30 AND disease = 'flu'", schema)
    # Bucket 1: one of two rows, one of two values; bucket 2: both rows, one value.
    assert (answer.value, answer.low, answer.high) == (0.5 + 1, 0 + 1, 1 + 1)
    mean = ind.query(release, "SELECT AVG(age) WHERE disease = 'flu'", schema)
    assert (mean.value, mean.low, mean.high) == (35, 30, 40)
