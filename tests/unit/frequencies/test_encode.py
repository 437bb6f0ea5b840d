"""Encoding columns: kinds, missing values, dictionaries from elsewhere, and what is refused."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.engines.memory import publish
from indistinct.engines.memory.publish import gather_column
from indistinct.errors import InputError, UnseenValueError
from indistinct.frequencies.encode import encode_column
from indistinct.machine.arrays import narrowest
from indistinct.recoding.storage import recoding_from_json, recoding_to_json
from indistinct.tables.dictionaries import compact
from indistinct.tables.domain import Kind


def encoded(values, kind=None, **options):
    return encode_column("c", pa.chunked_array([pa.array(values, kind)]), **options)


def test_numbers_ascend_and_missing_comes_first():
    found = encoded([30, None, -5, 30])
    assert found.domain.values.to_pylist() == [-5, 30]
    assert found.codes.tolist() == [2, 0, 1, 2]
    assert len(found.domain) == 3


def test_text_goes_by_code_point():
    assert encoded(["b", "é", "Z", "a"]).domain.values.to_pylist() == ["Z", "a", "b", "é"]


def test_booleans_are_text():
    found = encoded([True, False])
    assert found.domain.kind is Kind.TEXT
    assert found.domain.values.to_pylist() == ["false", "true"]


def test_dictionaries_may_hold_unused_repeated_and_missing_entries():
    array = pa.DictionaryArray.from_arrays(pa.array([1, 3, None, 2, 4]), pa.array(["unused", "b", "a", "b", None]))
    found = encode_column("c", pa.chunked_array([array]))
    assert found.domain.values.to_pylist() == ["a", "b"]
    assert found.codes.tolist() == [2, 2, 0, 1, 0]


def test_chunks_with_different_dictionaries():
    chunks = [pa.array(["x", "y"]).dictionary_encode(), pa.array(["z", "x"]).dictionary_encode()]
    assert encode_column("c", pa.chunked_array(chunks)).codes.tolist() == [0, 1, 2, 0]


def test_zeros_of_both_signs_are_one_value():
    found = encoded([0.0, -0.0, 1.0])
    assert found.codes.tolist() == [0, 0, 1]
    assert found.domain.encode(pa.chunked_array([[-0.0, 1.0, 0.0]])).tolist() == [0, 1, 0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_without_a_place_are_refused(value):
    with pytest.raises(InputError, match="'c'") as caught:
        encoded([1.0, value])
    assert caught.value.hint
    with pytest.raises(InputError):
        encoded([value])


@pytest.mark.parametrize(
    "values", [pa.array([None, None], pa.int64()), pa.array([None, None], pa.string()), pa.nulls(2)]
)
def test_a_column_without_values_is_refused(values):
    with pytest.raises(InputError, match="every cell is missing"):
        encode_column("c", pa.chunked_array([values]))


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.binary(), pa.struct([("a", pa.int64())])])
def test_nested_and_binary_columns_are_refused(kind):
    with pytest.raises(InputError, match="cannot be grouped"):
        encode_column("c", pa.chunked_array([pa.nulls(2, kind)]))


def test_a_value_outside_the_declared_order_is_not_told():
    with pytest.raises(InputError) as caught:
        encoded(["low", "secret"], order=["low", "high"])
    assert "secret" not in str(caught.value)
    assert caught.value.values == ("secret",)


def test_unseen_values_are_counted_and_not_told():
    domain = encoded(["a", "b"]).domain
    with pytest.raises(UnseenValueError, match="2 distinct") as caught:
        domain.encode(pa.chunked_array([["a", "secret", "other", "secret"]]))
    assert "secret" not in str(caught.value)
    assert set(caught.value.values) == {"secret", "other"}


def test_missing_is_unseen_where_it_did_not_occur():
    with pytest.raises(UnseenValueError):
        encoded([1, 2]).domain.encode(pa.chunked_array([[1, None]]))


def test_another_kind_of_column_is_refused():
    with pytest.raises(InputError, match="number"):
        encoded([1, 2]).domain.encode(pa.chunked_array([["1", "2"]]))


@pytest.mark.parametrize(("size", "bits"), [(1, 8), (256, 8), (257, 16), (65_536, 16), (65_537, 32)])
def test_codes_are_as_narrow_as_they_can_be(size, bits):
    assert narrowest(size)(0).dtype.itemsize * 8 == bits


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ([1, 5, 11], [1, 5, 11]),
        ([None, 5, 11], [5, 5, 11]),
        ([datetime.date(1970, 1, 2), datetime.date(1970, 1, 4)], [1, 3]),
        (["x", "y", "z"], [0, 1, 2]),
    ],
)
def test_places_on_the_line(values, places):
    assert encoded(values).domain.positions().tolist() == places


def test_a_declared_order_is_its_own_line():
    """Numbers in a declared order lie at their ranks; at themselves they would go back and forth."""
    assert encoded([30, 10, 20], order=["20", "30", "10"]).domain.positions().tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, None, 3]),
        pa.array([2**64 - 1, 0], pa.uint64()),
        pa.array([0.1, 1e-7, 1e300]),
        pa.array([datetime.date(1600, 2, 29), None]),
        pa.array([datetime.datetime(2020, 1, 1, 12, 30, 0, 5)]),
        pa.array(["", "ü", '"']),
        pa.array([True, False]),
        pa.array(["1.50", "-2.25"]).cast(pa.decimal128(5, 2)),
    ],
)
def test_domains_survive_json(values):
    domain = encode_column("c", pa.chunked_array([values])).domain
    release = ind.anonymize(pa.table({"c": values}), ind.Schema(quasi=["c"]), model=ind.KAnonymity(1))
    again = recoding_from_json(recoding_to_json(release.recoding)).columns[0].domain
    assert again.values.equals(domain.values)
    assert (again.missing, again.declared, again.column) == (domain.missing, domain.declared, domain.column)


@pytest.mark.parametrize("size", [126, 127, 128])
def test_narrow_indices_leave_room_for_missing(size):
    """Codes of one byte hold 128 values, and then none is left that could stand for missing."""
    texts = [f"value {place:03d}" for place in range(size)]
    indices = pa.array([*range(size), None], pa.int8())
    column = pa.chunked_array([pa.DictionaryArray.from_arrays(indices, pa.array(texts))])
    found = encode_column("c", column)
    assert found.codes.tolist() == [*range(1, size + 1), 0]
    assert found.domain.encode(column).tolist() == found.codes.tolist()
    assert compact(column, ascending=True).to_pylist() == [*texts, None]
    order = np.arange(size, -1, -1)
    assert gather_column(column, order).to_pylist() == [None, *reversed(texts)]


@pytest.mark.parametrize("index", [pa.int8(), pa.int32(), pa.uint64()])
def test_numbers_in_dictionaries_are_looked_at_as_numbers(index):
    """Two zeros are one value, and NaN is none, whatever a dictionary makes of them."""

    def column(*values):
        indices = pa.array([0, 1, 0], index)
        return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, pa.array(values, pa.float64()))])

    assert encode_column("c", column(0.0, -0.0)).codes.tolist() == [0, 0, 0]
    with pytest.raises(InputError, match="NaN"):
        encode_column("c", column(float("nan"), 1.0))


def test_long_text_is_gathered_with_wide_offsets(monkeypatch):
    monkeypatch.setattr(publish, "LONGEST_TEXT", 10)
    column = pa.chunked_array([["abcdef", None], ["ghijkl"]])
    found = gather_column(column, np.array([2, 0, 1]))
    assert found.type == pa.large_string()
    assert found.to_pylist() == ["ghijkl", "abcdef", None]


@pytest.mark.parametrize("algorithm", ["anatomy:l=2", "slicing:l=2,columns=each", "multiset:l=2", "mondrian"])
def test_views_of_text_and_empty_chunks_are_tables_too(algorithm):
    pieces = [["x", "y"] * 3, [], ["x", "z"] * 3]
    views = pa.chunked_array([pa.array(piece, pa.string_view()) for piece in pieces])
    numbers = pa.chunked_array([pa.array(range(len(piece)), pa.int64()) for piece in pieces])
    schema = ind.Schema(quasi=["a"], sensitive=["s"])
    source = ind.Table(pa.table({"a": numbers, "s": views}))
    model = None if ":" in algorithm else ind.KAnonymity(2)
    release = ind.anonymize(source, schema, model=model, algorithm=algorithm)
    assert release.certificate.holds
    sliced = pa.table({"a": numbers, "s": views.cast(pa.string())}).slice(1)
    assert ind.anonymize(sliced, schema, model=model, algorithm=algorithm).certificate.rows == 11
