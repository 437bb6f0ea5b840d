"""Queries that do not fit their table: refused by name, whoever asks; and files that tell little."""

from datetime import datetime

import pyarrow as pa
import pytest

import indistinct as ind

SCHEMA = ind.Schema(identifiers=["name"], quasi=["age", "town"], sensitive=["disease"])
TABLE = pa.table(
    {
        "name": [f"n{row}" for row in range(12)],
        "age": [20 + row for row in range(12)],
        "town": ["a", "b", "c"] * 4,
        "disease": ["flu", "cold"] * 6,
    }
)
GOOD = "SELECT COUNT(*) WHERE age < 25"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT COUNT(*) WHERE age < 25 AND twon = 'a'", "'twon'"),
        ("SELECT COUNT(*) WHERE name = 'n3' OR age > 30", "'name' identifies people"),
        ("SELECT COUNT(nothing)", "'nothing'"),
    ],
)
def test_a_workload_of_columns_that_are_not_published_cuts_nothing(query, told):
    for queries in ([GOOD, query], [query]):
        workload = ind.Workload.of(queries)
        with pytest.raises(ind.SchemaError, match=told) as raised:
            ind.anonymize(TABLE, SCHEMA, model=ind.KAnonymity(2), algorithm=ind.Mondrian(workload=workload))
        assert "n3" not in str(raised.value)


def test_a_column_in_other_letters_is_hinted_at():
    with pytest.raises(ind.SchemaError, match="did you mean 'age'"):
        ind.query(TABLE.drop_columns(["name"]), "SELECT COUNT(*) WHERE AGE > 30", SCHEMA)


def test_a_workload_may_ask_for_sensitive_columns_too():
    workload = ind.Workload.of([GOOD, "SELECT COUNT(*) WHERE age < 25 AND disease = 'flu'"])
    release = ind.anonymize(TABLE, SCHEMA, model=ind.KAnonymity(2), algorithm=ind.Mondrian(workload=workload))
    assert ind.query(release, GOOD).exact


def test_stars_with_means_of_dates_are_read_without_the_original():
    shown = pa.table({"born": ["*"] * 4, "born_mean": ["2020-02-01"] * 4, "disease": ["flu", "cold"] * 2})
    schema = ind.Schema(quasi=["born"], sensitive=["disease"])
    answer = ind.query(shown, "SELECT COUNT(*) WHERE disease = 'flu' AND born IS NOT NULL", schema)
    assert (answer.low, answer.high) == (0, 2)


def test_an_empty_list_is_told_as_such():
    with pytest.raises(ind.InputError, match="IN needs a list"):
        ind.query(TABLE.drop_columns(["name"]), "SELECT COUNT(*) WHERE age IN ()", SCHEMA)


TOWNS = pa.table({"zip": ["01234", "01234", "02111", "02111"], "disease": ["flu", "cold"] * 2})
BY_ZIP = ind.Schema(quasi=["zip"], sensitive=["disease"])


def test_digits_behind_a_zero_are_text_also_without_the_original():
    # As numbers both towns would lie above 2, and the answer would be called exact.
    answer = ind.query(TOWNS, "SELECT COUNT(*) WHERE zip < '02'", BY_ZIP)
    assert (answer.value, answer.exact) == (2, True)


def test_digits_behind_a_zero_are_text_in_multisets_too():
    release = ind.anonymize(TOWNS, BY_ZIP, algorithm="multiset:l=2", seed=1)
    shown = ind.BucketTable(release.table, release.buckets.slices, release.buckets.form)
    answer = ind.query(shown, "SELECT COUNT(*) WHERE zip < '02'", BY_ZIP)
    assert (answer.value, answer.exact) == (2, True)


@pytest.mark.parametrize("texts", [["1e-05", "2.5"], ["-3", "[0-20]"], ["0.05", "10"], ["0", "7"]])
def test_other_numbers_in_text_are_numbers_without_the_original(texts):
    shown = pa.table({"zip": texts, "disease": ["flu", "cold"]})
    assert ind.query(shown, "SELECT MIN(zip)", BY_ZIP).bounded


def test_moments_in_multisets_are_moments_without_the_original():
    moments = [datetime(2020, 2, 1, 5, 30), datetime(2020, 2, 1, 23, 30)] * 2
    table = pa.table({"at": moments, "disease": ["flu", "cold", "cold", "flu"]})
    schema = ind.Schema(quasi=["at"], sensitive=["disease"])
    release = ind.anonymize(table, schema, algorithm="multiset:l=2", seed=1)
    shown = ind.BucketTable(release.table, release.buckets.slices, release.buckets.form)
    answer = ind.query(shown, "SELECT COUNT(*) WHERE at > '2020-02-01T12:00:00'", schema)
    assert (answer.value, answer.exact) == (2, True)
