"""Laws of counting: codes, groups and histograms against plain Python."""

import datetime
from collections import Counter, defaultdict
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.frequencies import encode
from indistinct.frequencies.encode import Encoded, encode_column, group_rows, pack
from indistinct.frequencies.value import Classes, Histogram

quick = settings(deadline=None, max_examples=100)

KINDS = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1))),
    "near the end of int64": (pa.int64(), st.integers(2**63 - 9, 2**63 - 1)),
    "uint64": (pa.uint64(), st.one_of(st.integers(0, 9), st.integers(2**64 - 9, 2**64 - 1))),
    "float64": (pa.float64(), st.floats(allow_nan=False, allow_infinity=False)),
    "float32": (pa.float32(), st.floats(width=32, allow_nan=False, allow_infinity=False)),
    "text": (pa.string(), st.text(max_size=3)),
    "large text": (pa.large_string(), st.text(max_size=2)),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["b", "a", "", "日"])),
    "date": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us"), st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1))),
    "decimal": (pa.decimal128(9, 2), st.decimals(-99, 99, places=2)),
}


@st.composite
def arrow_columns(draw):
    kind, values = draw(st.sampled_from(sorted(KINDS)).map(KINDS.__getitem__))
    cells = draw(st.lists(st.one_of(values, st.none()), min_size=1, max_size=25))
    cells.append(draw(values))
    cut = draw(st.integers(0, len(cells)))
    chunks = [pa.array(part, kind) for part in (cells[:cut], cells[cut:])]
    return pa.chunked_array(chunks, kind)


@quick
@given(arrow_columns())
def test_encoding_is_ranking_distinct_values(column):
    cells = column.to_pylist()
    known = sorted({0.0 if value == 0 and isinstance(value, float) else value for value in cells} - {None})
    encoded = encode_column("c", column)
    missing = None in cells
    assert encoded.domain.values.to_pylist() == known
    assert encoded.domain.missing == missing
    assert encoded.codes.tolist() == [0 if v is None else known.index(v) + missing for v in cells]


@quick
@given(arrow_columns())
def test_a_domain_encodes_its_own_column_again(column):
    encoded = encode_column("c", column)
    if pa.types.is_floating(column.type):
        column = pa.chunked_array([pa.array([None if v is None else v + 0.0 for v in column.to_pylist()], column.type)])
    assert encoded.domain.encode(column).tolist() == encoded.codes.tolist()


@quick
@given(st.lists(st.one_of(st.none(), st.integers(-9, 9)), min_size=1, max_size=20), st.integers(1, 12))
def test_looking_up_and_sorting_give_the_same_codes(cells, limit):
    cells = [*cells, 3]
    column = pa.chunked_array([pa.array(cells, pa.int16())])
    expected = encode_column("c", column)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encode, "MAX_LOOKUP_ENTRIES", limit)
        found = encode_column("c", column)
    assert found.codes.tolist() == expected.codes.tolist()
    assert found.domain.values.equals(expected.domain.values)


@quick
@given(st.permutations(["low", "mid", "high", "top"]), st.lists(st.sampled_from(["low", "mid", "high"]), min_size=1))
def test_a_declared_order_gives_the_ranks(order, cells):
    encoded = encode_column("c", pa.chunked_array([cells]), order=order)
    present = [value for value in order if value in cells]
    assert encoded.domain.values.to_pylist() == present
    assert encoded.codes.tolist() == [present.index(value) for value in cells]


@st.composite
def code_matrices(draw):
    """Return columns of codes and their cardinalities; some need more than 64 bits together."""
    width, rows = draw(st.integers(1, 6)), draw(st.integers(0, 30))
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 300, 70_000, 2**30]), min_size=width, max_size=width))
    columns = []
    for size in sizes:
        cells = st.one_of(st.integers(0, min(size - 1, 2)), st.integers(0, size - 1))
        columns.append(np.array(draw(st.lists(cells, min_size=rows, max_size=rows)), dtype=np.uint32))
    return columns, sizes


@quick
@given(code_matrices())
def test_grouping_is_sorting(drawn):
    columns, sizes = drawn
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    grouping = group_rows(columns, sizes)
    groups = defaultdict(set)
    for place, row in enumerate(rows):
        groups[row].add(place)
    found = [
        set(grouping.order[start:stop].tolist())
        for start, stop in zip(grouping.starts[:-1].tolist(), grouping.starts[1:].tolist(), strict=True)
    ]
    assert found == [groups[row] for row in sorted(groups)]
    assert grouping.counts.tolist() == [len(groups[row]) for row in sorted(groups)]
    assert len(grouping) == len(groups)


@quick
@given(code_matrices())
def test_words_ascend_as_vectors_do(drawn):
    columns, sizes = drawn
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    words = pack(columns, sizes)[0].tolist()
    for one, word in zip(rows, words, strict=True):
        for other, second in zip(rows, words, strict=True):
            assert (one < other) == (word < second)


@st.composite
def histograms(draw):
    """Return classes as counters, and new labels for them."""
    classes = draw(st.lists(st.dictionaries(st.integers(0, 6), st.integers(1, 9)), max_size=8))
    size = draw(st.integers(1, 4))
    labels = draw(st.lists(st.integers(-1, size - 1), min_size=len(classes), max_size=len(classes)))
    return classes, labels, size


def histogram_of(classes):
    entries = [sorted(counts.items()) for counts in classes]
    return Histogram(
        np.cumsum([0, *map(len, entries)], dtype=np.int64),
        np.array([code for some in entries for code, _ in some], dtype=np.int32),
        np.array([count for some in entries for _, count in some], dtype=np.int64),
        reference=np.ones(7, dtype=np.int64),
    )


def counters_of(histogram):
    return [
        dict(zip(histogram.codes[a:b].tolist(), histogram.counts[a:b].tolist(), strict=True))
        for a, b in zip(histogram.indptr[:-1].tolist(), histogram.indptr[1:].tolist(), strict=True)
    ]


@quick
@given(histograms())
def test_regrouping_is_adding_counters(drawn):
    classes, labels, size = drawn
    merged = [Counter() for _ in range(size)]
    for counts, label in zip(classes, labels, strict=True):
        if label >= 0:
            merged[label].update(counts)
    found = histogram_of(classes).regroup(np.array(labels, dtype=np.int32), size)
    assert counters_of(found) == [dict(counter) for counter in merged]
    for start, stop in zip(found.indptr[:-1], found.indptr[1:], strict=True):
        assert (np.diff(found.codes[start:stop]) > 0).all()
    sizes = np.array([sum(counts.values()) for counts in classes], dtype=np.int64)
    whole = Classes(sizes, {("s",): histogram_of(classes)}).regroup(np.array(labels, dtype=np.int32), size)
    assert whole.sizes.tolist() == [sum(counter.values()) for counter in merged]


@quick
@given(histograms(), st.data())
def test_taking_classes(drawn, data):
    classes, _, _ = drawn
    chosen = data.draw(st.lists(st.integers(0, len(classes) - 1), max_size=5)) if classes else []
    found = histogram_of(classes).take(np.array(chosen, dtype=np.int64))
    assert counters_of(found) == [classes[place] for place in chosen]


def test_plain_codes_are_their_own_codes():
    domain = encode_column("c", pa.chunked_array([["x", "y", "z"]])).domain
    assert Encoded.plain(domain, np.array([2, 0, 1, 1], dtype=np.int32)).codes.tolist() == [2, 0, 1, 1]


def test_decimals_of_any_width_and_half_floats_are_numbers():
    for values in (
        pa.array([Decimal("1.50"), Decimal("-2.25"), None], pa.decimal256(40, 2)),
        pa.array([1.5, -2.25, None], pa.float16()),
    ):
        assert encode_column("c", pa.chunked_array([values])).codes.tolist() == [2, 1, 0]
