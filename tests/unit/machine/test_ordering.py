"""Large arrays are sorted by words that carry the row number; the result is that of the plain way."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct.machine.threads
from indistinct.frequencies.count import group_encoded
from indistinct.frequencies.encode import encode_column, group_rows
from indistinct.machine.ordering import distinct, distinct_with_places, order_numbers, text_order
from indistinct.recoding.kinds import digest_parts


@pytest.fixture(autouse=True, scope="module")
def small_is_large():
    """Take the way of large arrays for all but the smallest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indistinct.machine.threads, "LARGE_ROWS", 4)
        yield


# Kernels may have to be compiled first.
compiled = settings(deadline=None)

NUMBERS = st.one_of(
    st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=4).map(lambda each: np.array(each, dtype=np.int64)),
    st.lists(st.integers(0, 9), min_size=4).map(lambda each: np.array(each, dtype=np.int8)),
    st.lists(st.integers(0, (1 << 64) - 1), min_size=4).map(lambda each: np.array(each, dtype=np.uint64)),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=4).map(np.array),
    st.lists(st.sampled_from([0.1, 0.1 + 2**-54, 0.3, -0.0, 0.0, 5e-324]), min_size=4).map(np.array),
)


@compiled
@given(NUMBERS)
def test_numbers_are_ordered_as_by_a_stable_sort(values):
    order, starts = order_numbers(values)
    assert order.tolist() == np.argsort(values, kind="stable").tolist()
    assert values[order[starts[:-1]]].tolist() == np.unique(values).tolist()
    assert starts[-1] == len(values)


@compiled
@given(NUMBERS)
def test_distinct_values_are_those_of_numpy(values):
    expected, places = np.unique(values, return_inverse=True)
    assert distinct(values).tolist() == expected.tolist()
    found, where = distinct_with_places(values)
    assert (found.tolist(), where.tolist()) == (expected.tolist(), places.tolist())


@compiled
@given(st.integers(3, 60), st.integers(0, 3))
def test_values_that_agree_in_their_first_bits_are_told_apart_by_the_last(bits, seed):
    rng = np.random.default_rng(seed)
    values = (np.uint64(1) << np.uint64(63)) | rng.integers(0, 1 << bits, 300).astype(np.uint64)
    assert order_numbers(values)[0].tolist() == np.argsort(values, kind="stable").tolist()


TEXTS = st.lists(st.text(alphabet=st.sampled_from("ab\0é𝄞"), max_size=20), min_size=4)


@compiled
@given(TEXTS, st.sampled_from(["", "a long common beginning of all texts: "]), st.integers(0, 2))
def test_texts_are_ordered_by_code_points(texts, prefix, skipped):
    texts = [prefix + text for text in texts]
    values = pa.array(["elsewhere"] * skipped + texts)[skipped:]
    assert [texts[place] for place in text_order(values)] == sorted(texts)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    "values",
    [
        pa.array([5, 1 << 60, -3, 5, 7]),
        pa.array([0.5, -0.0, 0.0, 1e300, 0.5]),
        pa.array([9, 3, 9, 1, 4], pa.date32()),
        pa.array([1 << 50, 3, 1 << 50, -1, 4], pa.timestamp("us")),
        pa.array(["b", "a", "b", "ab", ""]),
    ],
    ids=lambda values: str(values.type),
)
def test_columns_are_encoded_alike_whether_sorted_or_looked_up(values, missing):
    cells = pa.chunked_array([values[:2], values[2:], pa.nulls(int(missing), values.type)])
    encoded = encode_column("x", cells)
    plain = sorted(set(values.to_pylist()))
    assert encoded.domain.values.to_pylist() == plain
    assert encoded.domain.missing == missing
    expected = [0 if cell is None else plain.index(cell) + missing for cell in cells.to_pylist()]
    assert encoded.codes.tolist() == expected


@compiled
@given(st.lists(st.none() | st.text(max_size=3), max_size=6))
def test_a_digest_is_that_of_the_texts_as_json(texts):
    array = pa.array(texts, pa.string())
    plain = hashlib.sha256(b"n" + b"\n:" + json.dumps(["string", texts], ensure_ascii=False).encode("utf-8"))
    assert digest_parts(array, nonce="n") == plain.hexdigest()


@compiled
@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2), st.integers(0, 2)), min_size=3),
    st.integers(0, 10),
    st.booleans(),
)
def test_rows_in_runs_are_grouped_as_rows_in_any_order(runs, cut, ordered_before):
    runs = sorted(runs, key=lambda run: run[1:]) if ordered_before else runs
    rows = [(f"{one}", two * 7) for count, one, two in runs for _ in range(count)]
    table = pa.table({"one": [row[0] for row in rows], "two": [row[1] for row in rows]})
    table = pa.concat_tables([table[:cut], table[cut:]])
    columns = [encode_column(name, table[name]) for name in table.column_names]
    expected = group_rows([column.codes for column in columns], [len(column.domain) for column in columns])
    grouping, vectors = group_encoded(columns)
    assert grouping.counts.tolist() == expected.counts.tolist()
    for column, codes in zip(columns, vectors.T, strict=True):
        assert column.codes[grouping.order].tolist() == np.repeat(codes, grouping.counts).tolist()
        assert codes.tolist() == column.codes[expected.first].tolist()
