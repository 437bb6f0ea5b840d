"""Distinct values and their counts, which scans read from dictionaries, are those of decoded columns."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from indistinct.exploration.scan.compared import count_values, distinct_values, plain

DAY = datetime.date(2024, 2, 29)
COLUMNS = {
    "text": ["b", None, "a", "b", "", None],
    "numbers": [3, 3, None, -1, 3, 2],
    "fractions": [1.5, float("nan"), None, -0.0, 0.0, 1.5],
    "days": [DAY, None, DAY, None, None, DAY],
    "nothing": [None] * 6,
    "no rows": [],
}


def chunked(cells, *, coded):
    parts = [pa.array(cells[:2]), pa.array(cells[2:5]), pa.array(cells[5:])] if cells else [pa.array([], pa.string())]
    kind = next((part.type for part in parts if not pa.types.is_null(part.type)), pa.string())
    parts = [part.cast(kind) for part in parts]
    # Each chunk has its own dictionary, in its own order, with a value that no row has.
    return pa.chunked_array([part.dictionary_encode() for part in parts] if coded else parts)


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("name", COLUMNS)
def test_values_and_counts_are_those_of_the_decoded_column(name, coded):
    column = chunked(COLUMNS[name], coded=coded)
    assert distinct_values(column).to_pylist() == pytest.approx(plain(column).unique().to_pylist(), nan_ok=True)
    values, counts = count_values(column)
    wanted = plain(column).value_counts()
    pairs = zip(map(repr, values.to_pylist()), counts.tolist(), strict=True)
    assert dict(pairs) == {repr(each["values"]): each["counts"] for each in wanted.to_pylist()}


def test_what_lies_under_missing_codes_and_in_unused_places_is_no_value():
    codes = pa.DictionaryArray.from_arrays(
        pa.array(np.array([0, 7, 0], dtype=np.int32), mask=np.array([False, True, False])), pa.array(["a", "unused"])
    )
    values, counts = count_values(pa.chunked_array([codes]))
    assert (values.to_pylist(), counts.tolist()) == (["a", None], [2, 1])
    assert distinct_values(pa.chunked_array([codes])).to_pylist() == ["a", None]
