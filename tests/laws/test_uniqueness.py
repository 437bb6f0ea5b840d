"""Rows with a value of their own are counted as a plain count does."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.frequencies.singled_out import NEARLY_UNIQUE, rows_alone, vectors_alone

cells = st.lists(st.none() | st.integers(0, 30), max_size=60)


@settings(deadline=None)
@given(cells, st.sampled_from([pa.int64(), pa.float64(), pa.string(), pa.date32(), pa.timestamp("us")]), st.booleans())
def test_rows_of_a_column(values: list[int | None], kind: pa.DataType, encoded: bool) -> None:
    half = len(values) // 2
    parts = [pa.array(part, pa.int32()).cast(pa.int64()) for part in (values[:half], values[half:])]
    parts = [part.cast(pa.int32()).cast(kind) if kind == pa.date32() else part.cast(kind) for part in parts]
    column = pa.chunked_array([part.dictionary_encode() for part in parts] if encoded else parts)
    counted = Counter(value for value in values if value is not None)
    assert rows_alone(column) == sum(1 for count in counted.values() if count == 1)


@pytest.mark.parametrize(
    "kind",
    [pa.string_view(), pa.binary_view(), pa.large_string(), pa.decimal256(40, 2), pa.time64("us"), pa.duration("s")],
)
def test_every_type_of_a_large_column_is_counted(kind: pa.DataType) -> None:
    plain = pa.array(range(30_000))
    textual = pa.types.is_string_view(kind) or pa.types.is_binary_view(kind) or pa.types.is_large_string(kind)
    cells = plain.cast(pa.string()).to_pylist() if textual else plain.to_pylist()
    if pa.types.is_binary_view(kind):
        cells = [cell.encode() for cell in cells]
    assert rows_alone(pa.chunked_array([pa.array(cells, kind)])) == 30_000


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 2)), min_size=1, max_size=40))
def test_rows_of_vectors(entries: list[tuple[int, int, int]]) -> None:
    first, second, counts = (np.array(part) for part in zip(*entries, strict=True))
    for columns, missing in (([first], False), ([first], True), ([first, second], False)):
        counted: Counter[tuple[int, ...]] = Counter()
        for *codes, count in zip(*columns, counts, strict=True):
            counted[tuple(map(int, codes))] += int(count)
        if missing:
            counted.pop((0,), None)
        alone, rows = sum(1 for count in counted.values() if count == 1), int(counts.sum())
        found = vectors_alone(columns, counts, missing=missing)
        assert found == alone or (found == 0 and alone < NEARLY_UNIQUE * rows)
