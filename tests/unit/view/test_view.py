"""Views of tables: columns with what their labels cover, slices with counts, and units."""

import numpy as np
import pyarrow as pa
import pytest

from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.frequencies.encode import encode_column
from indistinct.frequencies.slices import KNOWN, Slice
from indistinct.recoding.columns import QuasiColumn
from indistinct.schema import Schema
from indistinct.tables.domain import Domain, Kind
from indistinct.view.cover import Cover, cover_of_codes
from indistinct.view.read_back import cover_of_rows, covers_of_counted
from indistinct.view.value import ShownColumn, View, each_value, unmodified, view_of_classes

AGES = Domain("age", pa.array([20, 25, 30]), missing=True)


def covering(*codes):
    return cover_of_codes(np.cumsum([0, *map(len, codes)]), np.array([code for own in codes for code in own]))


def test_ends_are_those_of_values_and_not_of_what_is_missing():
    shown = ShownColumn(AGES, covering([0, 1, 2], [1, 3], [0], []))
    assert shown.absent.tolist() == [True, False, True, False]
    assert shown.sizes.tolist() == [3, 2, 1, 0]
    low, high = shown.ends
    assert np.array_equal(low, [20, 20, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(high, [25, 30, np.nan, np.nan], equal_nan=True)


def test_values_of_a_declared_order_are_names():
    pain = Domain("pain", pa.array(["low", "high"]), declared=True)
    assert each_value(pain).kind is Kind.TEXT
    assert each_value(pain).positions is None
    assert each_value(AGES).kind is Kind.NUMBER
    assert each_value(AGES).positions.tolist()[1:] == [20, 25, 30]


def test_equal_rows_of_classes_are_joined_whatever_their_unit():
    columns = {name: encode_column(name, pa.chunked_array([[1, 1, 1, 2, None, None]])) for name in "ab"}
    rows = unmodified(columns)
    assert (rows.rows, len(rows.sizes)) == (6, 6)
    joined = rows.joined()
    assert (joined.rows, len(joined.sizes)) == (6, 3)
    assert sorted(joined.sizes.tolist()) == [1, 2, 3]
    assert joined.home("a") is joined.home("b")
    assert joined.slices[0].units.tolist() == [0, 1, 2]


def test_entries_of_buckets_are_joined_inside_their_bucket_alone():
    column = each_value(Domain("a", pa.array(["x", "y"])))
    codes, units = {"a": np.array([0, 0, 0, 0, 1, 1])}, np.array([0, 0, 1, 1, 1, 1])
    other = Slice(np.array([0, 1]), {"b": np.array([0, 1])}, np.array([2, 4]))
    shown = View({"a": column, "b": column}, (Slice(units, codes, np.ones(6, int)), other), np.array([2, 4]))
    joined = shown.joined()
    entries = zip(*(each.tolist() for each in (joined.slices[0].units, *joined.slices[0].codes.values())), strict=True)
    assert dict(zip(entries, joined.slices[0].counts.tolist(), strict=True)) == {(0, 0): 2, (1, 0): 2, (1, 1): 2}
    assert joined.slices[1] is other
    assert joined.rows == 6


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_of_few_rows_are_views(rows):
    shown = unmodified({"age": encode_column("age", pa.chunked_array([[20] * rows], pa.int64()), required=False)})
    assert (shown.rows, shown.joined().rows) == (rows, rows)
    assert unmodified({}).rows == 0


def test_some_columns_of_classes_are_projected():
    columns = {name: each_value(AGES) for name in ("age", "old")}
    codes = {"age": np.array([1, 1, 2]), "old": np.array([1, 2, 3])}
    once = view_of_classes(columns, codes, np.array([4, 3, 2])).project(("age",))
    assert once.slices[0].codes["age"].tolist() == [1, 2]
    assert once.sizes.tolist() == [7, 2]
    assert list(once.columns) == ["age"]


def test_a_slice_joins_what_is_known():
    whole = Slice(np.array([0, 0]), {"a": np.array([1, 0]), "s": np.array([2, 3])}, np.array([5, 6]))
    known = whole.known_by(np.array([7, 8]), ["s"])
    assert known.names == (KNOWN, "s")
    assert known.codes[KNOWN].tolist() == [7, 8]
    assert known.counts is whole.counts


LABELS = {
    "one column": {"age": ["[20-25]", "*", None, "[20-25]", "30"]},
    "two columns": {"age_from": ["20", None, "20", "20", "30"], "age_to": ["25", None, "25", "25", "30"]},
}


@pytest.mark.parametrize("form", LABELS)
def test_labels_of_counted_classes_cover_what_those_of_rows_do(form):
    columns = (QuasiColumn(AGES), QuasiColumn(Domain("sex", pa.array(["f", "m"]))))
    table = pa.table({**{n: pa.array(each, pa.string()) for n, each in LABELS[form].items()}, "sex": [*"fmfmf"]})
    schema = Schema(quasi=["age", "sex"])
    if form == "two columns":
        table = table.append_column("age_missing", pa.array(["no", "all", "some", "no", "no"]))
    names = tuple(name for name in table.column_names)
    counted = count_source(table, Request(names, published=True))
    cells = counted.frequencies
    rows = pa.table({n: counted.known[n].decode(cells.vectors[:, j]) for j, n in enumerate(cells.names)})
    expected = cover_of_rows(rows, columns, schema=schema)
    found = covers_of_counted(counted, columns, schema=schema)
    for mine, theirs in zip(found, expected, strict=True):
        assert isinstance(mine, Cover)
        assert [each.tolist() for each in mine.written_out()] == [each.tolist() for each in theirs.written_out()]
