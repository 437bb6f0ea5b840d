"""Transformations of a table in a database: they are made where it lies, and are those of memory."""

import pyarrow as pa
import pytest

import indistinct as ind

SCHEMA = ind.Schema(identifiers=["id"], quasi=["age"], sensitive=["s"], insensitive=["c"])


def stays():
    return pa.table(
        {
            "id": [str(row) for row in range(40)],
            "age": [20 + row % 4 for row in range(40)],
            "s": [("I10", "I25", "J18", "J45")[row // 4 % 4] for row in range(40)],
            "c": [row * 7.7 for row in range(40)],
        }
    )


def test_tables_of_a_database_are_transformed_where_they_lie(postgres):
    """What is counted and published there is what memory counts and publishes."""
    name = postgres.upload(stays())
    transformations = {"s": ind.Transformation(level=1), "c": ind.Transformation(round=50, top=200)}
    options = {
        "model": ind.KAnonymity(3) & ind.DistinctLDiversity("s", l=2),
        "algorithm": "mondrian",
        "hierarchies": {"s": ind.Hierarchy.masking()},
        "transformations": transformations,
        "pseudonyms": {"id": ind.Pseudonym(environment="TRANSFORMED_TEST_KEY")},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSFORMED_TEST_KEY", "7e8f90a1b2c3d4e5" * 2)
        with ind.open(postgres.url, table=name) as source:
            there = ind.anonymize(source, SCHEMA, **options)
        here = ind.anonymize(stays(), SCHEMA, **options)
    assert there.recoding == here.recoding
    assert sorted(map(str, there.table.to_pylist())) == sorted(map(str, here.table.to_pylist()))
    assert there.certificate.verdicts == here.certificate.verdicts
