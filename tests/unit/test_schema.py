"""Schemas: every column has one role, and a table must have exactly these columns."""

import pytest

from indistinct.errors import SchemaError, did_you_mean
from indistinct.schema import Role, Schema

SCHEMA = Schema(identifiers=["name"], quasi=["age", "sex"], sensitive=["disease"], insensitive=["cost"])


def test_roles():
    roles = [SCHEMA.role(column) for column in SCHEMA.columns]
    assert roles == [Role.IDENTIFIER, Role.QUASI, Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE]
    assert SCHEMA.published == ("age", "sex", "disease", "cost")


def test_lists_become_tuples_so_that_schemas_are_values():
    assert Schema(quasi=["a"]) == Schema(quasi=("a",))
    assert hash(Schema(quasi=["a"])) == hash(Schema(quasi=("a",)))


def test_one_text_is_not_a_list():
    with pytest.raises(SchemaError, match="list of column names") as caught:
        Schema(quasi="age")
    assert "['age']" in caught.value.hint


def test_a_column_has_one_role():
    with pytest.raises(SchemaError, match="named twice: age"):
        Schema(quasi=["age"], sensitive=["age"])
    with pytest.raises(SchemaError, match="named twice: age"):
        Schema(quasi=["age", "age"])


def test_the_table_must_have_exactly_these_columns():
    SCHEMA.check(["cost", "name", "sex", "age", "disease"])
    with pytest.raises(SchemaError, match="no column 'disease'"):
        SCHEMA.check(["name", "age", "sex", "cost"])
    with pytest.raises(SchemaError, match="no role is given to column 'index'"):
        SCHEMA.check([*SCHEMA.columns, "index"])


def test_the_nearest_column_is_hinted_at():
    with pytest.raises(SchemaError) as caught:
        SCHEMA.check(["name", "age", "sex", "deseases", "cost"])
    assert caught.value.hint == "did you mean 'deseases'?"
    assert did_you_mean("xyz", ["age"]) is None


def test_nothing_to_recode():
    with pytest.raises(SchemaError, match="quasi-identifier"):
        Schema(sensitive=["disease"]).check(["disease"])


def test_from_roles_keeps_the_order():
    roles = {"zip": "quasi", "name": "identifier", "age": "quasi", "disease": "sensitive"}
    assert Schema.from_roles(roles).quasi == ("zip", "age")
    with pytest.raises(SchemaError) as caught:
        Schema.from_roles({"age": "quassi"})
    assert caught.value.hint == "did you mean 'quasi'?"


def test_an_unknown_column_has_no_role():
    with pytest.raises(SchemaError, match="does not name column 'nope'"):
        SCHEMA.role("nope")
