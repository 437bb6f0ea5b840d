"""Laws of chance: rows stay in their run, and every order is equally likely."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.machine import _randomness_kernels
from indistinct.machine.randomness import random_order, shuffle_runs

quick = settings(deadline=None, max_examples=100)
SPARE = 0x87654321


@quick
@given(st.lists(st.integers(0, 5), max_size=12), st.one_of(st.none(), st.integers(0, 9)), st.integers(1, 4))
def test_shuffling_moves_rows_only_inside_their_run(sizes, seed, threads):
    starts = np.cumsum([0, *sizes]).astype(np.int64)
    rows = np.arange(int(starts[-1]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("indistinct.machine.threads.LARGE_ROWS", 1 if threads > 1 else 1 << 18)
        patch.setenv("INDISTINCT_THREADS", str(threads))
        shuffle_runs(rows, starts, seed, stream=1)
    for start, stop in pairwise(starts.tolist()):
        assert sorted(rows[start:stop].tolist()) == list(range(start, stop))


@pytest.mark.parametrize("threads", [1, 3])
def test_every_order_has_its_turn(threads, monkeypatch):
    monkeypatch.setattr("indistinct.machine.threads.LARGE_ROWS", 1)
    monkeypatch.setenv("INDISTINCT_THREADS", str(threads))
    rows = np.tile(np.arange(3), 6000)
    shuffle_runs(rows, np.arange(0, 18_001, 3), None, stream=0)
    seen = Counter(map(tuple, rows.reshape(-1, 3).tolist()))
    assert len(seen) == 6
    assert max(seen.values()) - min(seen.values()) < 300  # of 1000 each; ten times the spread of chance


def test_random_orders_are_permutations_and_differ():
    orders = [random_order(500, None, stream=2).tolist() for _ in range(3)]
    assert all(sorted(order) == list(range(500)) for order in orders)
    assert len(set(map(tuple, orders))) == 3


def test_a_seed_gives_the_same_order_on_any_number_of_threads(monkeypatch):
    first = random_order(1000, 5, stream=2).tolist()
    monkeypatch.setattr("indistinct.machine.threads.LARGE_ROWS", 1)
    monkeypatch.setenv("INDISTINCT_THREADS", "3")
    assert random_order(1000, 5, stream=2).tolist() == first
    assert random_order(1000, 5, stream=3).tolist() != first
    assert random_order(1000, 6, stream=2).tolist() != first


@pytest.mark.parametrize("size", [3, 5, 6, 7])
def test_a_word_that_would_favour_a_place_is_replaced(size):
    """Of 2**32 words, 2**32 mod size are too many; 0 is among them unless the size is a power of two."""
    words = np.zeros(size, dtype=np.uint32)
    spare = np.full(64, SPARE, dtype=np.uint32)
    rows, plain = np.arange(size), np.arange(size)
    _randomness_kernels.shuffle(rows, np.array([0, size]), words, spare, 0)
    expected = list(range(size))
    for i in range(size - 1, 0, -1):
        word = SPARE if (1 << 32) % (i + 1) else 0
        other = (word * (i + 1)) >> 32
        expected[i], expected[other] = expected[other], expected[i]
    assert rows.tolist() == expected
    _randomness_kernels.shuffle(plain, np.array([0, size]), words, spare[:0], 0)
    assert plain.tolist() != expected, "without spare words the biased ones are used"
