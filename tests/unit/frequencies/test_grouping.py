"""Grouping rows into cells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.frequencies.encode import BITS_PER_WORD, distinct_codes, group_rows, pack
from indistinct.machine.arrays import run_starts
from indistinct.machine.ordering import sort_words


def test_groups_ascend_and_keep_their_rows():
    grouping = group_rows([np.array([1, 0, 1, 0]), np.array([0, 2, 0, 1])], [2, 3])
    assert grouping.counts.tolist() == [1, 1, 2]
    assert grouping.order[:2].tolist() == [3, 1]
    assert sorted(grouping.order[2:].tolist()) == [0, 2]
    assert grouping.first[:2].tolist() == [3, 1]


def test_no_rows_are_no_groups():
    grouping = group_rows([np.zeros(0, dtype=np.uint8)], [4])
    assert len(grouping) == 0
    assert grouping.counts.tolist() == []


def test_one_value_needs_no_bits():
    words, bits = pack([np.zeros(3, dtype=np.uint8)], [1])
    assert bits == 0
    assert words.tolist() == [0, 0, 0]


def test_fields_beyond_one_word_are_made_room_for():
    columns = [np.array([5, 5, 0, 5]), np.array([7, 0, 7, 7]), np.array([1, 1, 1, 0])]
    sizes = [2**30, 2**30, 2**30]
    words, bits = pack(columns, sizes)
    assert bits <= BITS_PER_WORD
    assert np.argsort(words).tolist() == [2, 1, 3, 0]
    assert group_rows(columns, sizes).counts.tolist() == [1, 1, 1, 1]


def test_row_numbers_that_do_not_fit_behind_the_fields():
    columns = [np.array([1, 0, 1]), np.array([3, 3, 3])]
    grouping = group_rows(columns, [2**32, 2**32])
    assert grouping.counts.tolist() == [1, 2]
    assert grouping.order[0] == 1


def test_runs():
    assert run_starts(np.array([4, 4, 5, 9, 9, 9])).tolist() == [0, 2, 3, 6]
    assert run_starts(np.zeros(0)).tolist() == [0]


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("rows", [0, 1, 2, 6, 1001])
def test_sorting_by_several_threads(monkeypatch, threads, rows):
    words = np.random.default_rng(3).integers(0, 50, rows).astype(np.uint64)
    monkeypatch.setattr("indistinct.machine.threads.LARGE_ROWS", 1)
    monkeypatch.setenv("INDISTINCT_THREADS", str(threads))
    assert sort_words(words.copy()).tolist() == sorted(words.tolist())
    grouping = group_rows([words], [50])
    assert words[grouping.first].tolist() == sorted(set(words.tolist()))
    assert np.array_equal(words[grouping.first][grouping.group_ids()], words)


@settings(deadline=None)
@given(st.lists(st.integers(0, 9) | st.integers(0, 2**40), max_size=30))
def test_distinct_codes_are_those_of_numpy(codes):
    values, places = np.unique(np.array(codes, dtype=np.int64), return_inverse=True)
    found = distinct_codes(np.array(codes, dtype=np.int64))
    assert [part.tolist() for part in found] == [values.tolist(), places.tolist()]
