"""Hints name what helps in the command that was run."""

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import ParameterError, SchemaError
from indistinct.schema import Role

TABLE = pa.table({"a": [1, 2] * 4, "b": ["x", "y"] * 4})
ROLES = {"a": "quasi", "b": "sensitive"}


@pytest.mark.parametrize("call", ["anonymize", "verify", "measure", "explore"])
def test_a_dictionary_is_no_schema(call):
    calls = {
        "anonymize": lambda: ind.anonymize(TABLE, ROLES, model="k-anonymity:k=2"),
        "verify": lambda: ind.verify(TABLE, ROLES, "k-anonymity:k=2"),
        "measure": lambda: ind.measure_table(TABLE, ROLES, original=TABLE),
        "explore": lambda: ind.explore(TABLE, ROLES, model="k-anonymity:k=2"),
    }
    with pytest.raises(SchemaError, match="must be a Schema; got dict") as caught:
        calls[call]()
    assert "ind.Schema.from_roles(" in caught.value.hint


@pytest.mark.parametrize("text", ["k-anonymity=5", "k-anonymity 5", "k-anonymity(5)", "k-anonymity:5"])
def test_a_model_with_another_mark_is_hinted_at(text):
    with pytest.raises(ParameterError) as caught:
        ind.anonymize(TABLE, ind.Schema.from_roles(ROLES), model=text)
    assert "k-anonymity:k=5" in caught.value.hint


def test_a_column_that_a_recoding_does_not_know_is_removed():
    release = ind.anonymize(TABLE, ind.Schema.from_roles(ROLES), model="k-anonymity:k=2")
    more = TABLE.append_column("c", pa.array([1] * 8))
    with pytest.raises(SchemaError, match="no role is given to column") as caught:
        ind.apply(release.recoding, more)
    assert "remove the column from the table" in caught.value.hint
    with pytest.raises(SchemaError) as caught:
        ind.anonymize(more, ind.Schema.from_roles(ROLES), model="k-anonymity:k=2")
    assert "give each a role" in caught.value.hint


def test_scores_counters_and_logarithms_are_neither_ages_nor_places():
    rng = np.random.default_rng(1)
    measured = {
        "score": rng.integers(0, 100, 400),
        "points": rng.integers(20, 80, 400),
        "log_x": rng.normal(0, 1, 400),
        "log_y": rng.normal(4, 2, 400),
    }
    seen = ind.inspect(pa.table({**measured, "alter": rng.integers(18, 90, 400)}))
    patterns = {column.name: [each.name for each in column.patterns] for column in seen.columns}
    assert patterns == {**{name: [] for name in measured}, "alter": ["age"]}
    assert all(column.safe_harbor is None for column in seen.columns if column.name in measured)
    named = ind.inspect(pa.table({"age_at_test": rng.integers(18, 90, 400)})).columns[0]
    assert [each.name for each in named.patterns] == ["age"]


def test_a_range_of_dates_is_nobody():
    rng = np.random.default_rng(2)
    people = np.repeat(np.arange(60), 3)
    who = people // 2
    columns = {
        "Name": [f"Person {code}" for code in people],
        "Zeitraum": [f"2020-{1 + code % 12:02d}-{1 + code % 28:02d} - 2021-01-{1 + code % 28:02d}" for code in who],
        "kind": [f"k{code % 7}" for code in who],
        "part": [f"p{code % 5}" for code in who],
        "group": [f"g{code % 4}" for code in who],
        "size": rng.integers(0, 9, len(who)),
    }
    roles = {column.name: column.role for column in ind.inspect(pa.table(columns)).columns}
    assert roles["Zeitraum"] is not Role.PERSON


def test_a_database_in_a_file_is_named_as_one(tmp_path):
    for name in ("clinic.db", "clinic.csv"):
        (tmp_path / name).write_bytes(b"SQLite format 3\0" + bytes(100))
        with pytest.raises(ind.InputError, match="not a table but a SQLite database") as caught:
            ind.open(tmp_path / name)
        assert "SELECT * FROM" in (caught.value.hint or "")
