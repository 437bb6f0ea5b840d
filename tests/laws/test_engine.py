"""Laws of the engine: whatever the table looks like inside Arrow, the published rows are the same."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from indistinct.engines.memory.apply import compact

from indistinct.engines.base import Request
from indistinct.engines.memory import Memory
from indistinct.testing.strategies import recodings, samples

quick = settings(deadline=None, max_examples=100)


def rows_of(table):
    return Counter(tuple(row.values()) for row in table.to_pylist())


@quick
@given(st.data())
def test_chunks_and_dictionaries_do_not_matter(data):
    sample = data.draw(samples())
    recoding = data.draw(recodings(sample))
    cut = data.draw(st.integers(0, sample.table.num_rows))
    pieces = pa.concat_tables([sample.table.slice(0, cut), sample.table.slice(cut)])
    coded = pa.table(
        {
            name: pieces[name].dictionary_encode() if pa.types.is_string(pieces[name].type) else pieces[name]
            for name in pieces.column_names
        }
    )
    published = [Memory().apply(recoding, t, schema=sample.schema).table for t in (sample.table, pieces, coded)]
    assert rows_of(published[0]) == rows_of(published[1]) == rows_of(published[2])


@quick
@given(st.data())
def test_the_order_leads_back_to_the_original_rows(data):
    sample = data.draw(samples())
    recoding = data.draw(recodings(sample))
    published = Memory().apply(recoding, sample.table, schema=sample.schema)
    keys = sample.table["key"].take(pa.array(published.order)).to_pylist()
    assert keys == published.table["key"].to_pylist()
    assert len(set(keys)) == len(keys)


@quick
@given(st.data())
def test_suppressed_rows_leave_no_trace(data):
    sample = data.draw(samples())
    recoding = data.draw(recodings(sample))
    coded = replace(
        sample,
        table=sample.table.set_column(
            sample.table.column_names.index("disease"), "disease", sample.table["disease"].dictionary_encode()
        ),
    ).table
    published = Memory().apply(recoding, coded, schema=sample.schema)
    assert not published.table.schema.metadata
    for column in published.table.columns:
        if isinstance(column.type, pa.DictionaryType):
            for chunk in column.chunks:
                used = sorted(set(chunk.to_pylist()) - {None})
                assert chunk.dictionary.to_pylist() == used


@quick
@given(st.data())
def test_large_tables_are_counted_as_small_ones(as_if_large, data):
    sample = data.draw(samples())
    cut = data.draw(st.integers(0, sample.table.num_rows))
    pieces = pa.concat_tables([sample.table.slice(0, cut), sample.table.slice(cut)])
    request = Request(sample.schema.quasi, hierarchies=sample.hierarchies)
    small = Memory().count(pieces, request)
    with pytest.MonkeyPatch.context() as patch:
        as_if_large(patch)
        large = Memory().count(pieces, request)
    assert_same_count(large, small)


def assert_same_count(large, small):
    assert [d.values.to_pylist() for d in large.domains] == [d.values.to_pylist() for d in small.domains]
    assert large.frequencies.vectors.tolist() == small.frequencies.vectors.tolist()
    assert large.grouping.starts.tolist() == small.grouping.starts.tolist()
    assert large.grouping.order.tolist() == small.grouping.order.tolist()


@quick
@given(st.data())
def test_pieces_are_the_histograms_of_cells_and_sorted_inside_them(as_if_large, data):
    """One sort gives what counting cells and each key on its own gives, and the rows of a cell by their vectors."""
    sample = data.draw(samples())
    keys = (("disease",), ("key",), ("disease", "key"))[: data.draw(st.integers(1, 3))]
    request = Request(sample.schema.quasi, keys, sample.hierarchies)
    plain = Memory().count(sample.table, request)
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):
            as_if_large(patch)
        found = Memory().count(sample.table, replace(request, joint=True))
    assert found.frequencies.vectors.tolist() == plain.frequencies.vectors.tolist()
    assert found.grouping.starts.tolist() == plain.grouping.starts.tolist()
    for key in keys:
        mine, theirs = (each.frequencies.classes.histograms[key] for each in (found, plain))
        for part in ("indptr", "codes", "counts", "reference"):
            assert getattr(mine, part).tolist() == getattr(theirs, part).tolist()
        assert (mine.taxonomy, mine.texts) == (theirs.taxonomy, theirs.texts)
    joint = found.frequencies.joint
    names = list(dict.fromkeys(name for key in keys for name in key))
    rows = sample.table.select(names).take(pa.array(found.grouping.order)).to_pylist()
    ends = np.cumsum(joint.histogram.counts).tolist()
    pieces = [rows[end - count : end] for end, count in zip(ends, joint.histogram.counts.tolist(), strict=True)]
    assert all(piece.count(piece[0]) == len(piece) for piece in pieces)
    for key, codes in joint.codes.items():
        texts = found.frequencies.classes.histograms[key].texts
        if len(key) == 1:
            expected = [None if piece[0][key[0]] is None else str(piece[0][key[0]]) for piece in pieces]
            assert [texts[code] for code in codes[joint.histogram.codes]] == expected


@quick
@given(st.data())
def test_large_tables_are_published_as_small_ones(as_if_large, data):
    sample = data.draw(samples())
    recoding = data.draw(recodings(sample))
    small = Memory().apply(recoding, sample.table, schema=sample.schema, seed=3)
    with pytest.MonkeyPatch.context() as patch:
        as_if_large(patch)
        large = Memory().apply(recoding, sample.table, schema=sample.schema, seed=3)
    assert large.order.tolist() == small.order.tolist()
    assert large.table.equals(small.table)


@quick
@given(st.lists(st.one_of(st.none(), st.sampled_from(["b", "a", "", "c"])), min_size=1, max_size=8), st.data())
def test_compact_keeps_values_and_forgets_the_rest(values, data):
    codes = data.draw(st.lists(st.integers(0, len(values)), max_size=10))
    known = [*values, None]
    found = compact(pa.array(values, pa.string()), np.array(codes, dtype=np.int32))
    assert found.to_pylist() == [known[code] for code in codes]
    assert found.dictionary.to_pylist() == sorted({known[code] for code in codes} - {None})
    assume(codes)
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=len(codes), max_size=len(codes)))
    repeated = compact(pa.array(values, pa.string()), np.array(codes, dtype=np.int32), np.array(sizes))
    assert repeated.to_pylist() == [known[c] for c, n in zip(codes, sizes, strict=True) for _ in range(n)]
