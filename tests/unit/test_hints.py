"""Hints name what helps in the command that was run."""

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import ParameterError, SchemaError

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
    with pytest.raises(SchemaError, match="gives no role to column") as caught:
        ind.apply(release.recoding, more)
    assert "remove the column from the table" in caught.value.hint
    with pytest.raises(SchemaError) as caught:
        ind.anonymize(more, ind.Schema.from_roles(ROLES), model="k-anonymity:k=2")
    assert "name each" in caught.value.hint
