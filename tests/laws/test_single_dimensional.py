"""Laws of single-dimensional partitioning: the kernels find the cuts of their plain twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.algorithms.base import Problem
from indistinct.algorithms.partition import _single_dimensional_kernels as kernels
from indistinct.algorithms.partition.layout import ranks_of
from indistinct.algorithms.partition.single_dimensional import segments_by_rounds
from indistinct.algorithms.partition.single_dimensional_greedy import greedy_by_rounds, greedy_by_size
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import starts_of
from indistinct.models import KAnonymity
from indistinct.testing.strategies import samples

quick = settings(deadline=None, max_examples=200)


@quick
@given(samples(most_rows=60, most_columns=3), st.integers(1, 8))
def test_the_kernel_chooses_the_cuts_of_the_rounds(sample, k):
    counted = sample.count()
    if counted.frequencies.rows < k:
        return
    columns = sample.columns(counted)
    ranks = ranks_of(columns, counted.frequencies.vectors).astype(np.int64)
    fast, slow = (Problem(counted.frequencies, columns, KAnonymity(k)) for _ in range(2))
    found = [mask.tolist() for mask in greedy_by_size(ranks, fast)]
    assert found == [mask.tolist() for mask in greedy_by_rounds(ranks, slow)]
    assert fast.counters["checks"] == slow.counters["checks"]


@pytest.mark.parametrize(("columns", "values"), [(1, 3000), (2, 300), (2, 40), (3, 300), (3, 7), (5, 400)])
def test_the_kernel_chooses_the_cuts_of_the_rounds_on_larger_tables(columns, values):
    import pyarrow as pa

    from indistinct.engines import count_source
    from indistinct.frequencies.count import Request
    from indistinct.recoding.columns import columns_of

    random = np.random.default_rng(columns * values)
    table = pa.table({f"q{j}": random.integers(0, values, 400) for j in range(columns)})
    counted = count_source(table, Request(table.column_names))
    quasi = columns_of(counted.domains, {})
    ranks = ranks_of(quasi, counted.frequencies.vectors).astype(np.int64)
    problems = [Problem(counted.frequencies, quasi, KAnonymity(3)) for _ in range(2)]
    fast, slow = greedy_by_size(ranks, problems[0]), greedy_by_rounds(ranks, problems[1])
    assert [mask.tolist() for mask in fast] == [mask.tolist() for mask in slow]
    assert problems[0].counters == problems[1].counters


@quick
@given(st.lists(st.integers(1, 9), min_size=1, max_size=80), st.integers(1, 30))
def test_the_kernel_finds_the_segments_of_the_rounds(counts, k):
    counts = np.array(counts, dtype=np.int64)
    running, last = starts_of(counts), np.zeros(len(counts) + 1, dtype=np.int64)
    feasible = bool(kernels.shortest_segments(running, k, last))
    expected, possible = segments_by_rounds(Classes(counts), running, KAnonymity(k))
    assert feasible == possible
    if feasible:
        assert last.tolist() == expected.tolist()


@quick
@given(samples(most_rows=60, most_columns=3), st.integers(1, 8))
def test_the_kernel_goes_on_from_the_cuts_that_it_is_given(sample, k):
    counted = sample.count()
    if counted.frequencies.rows < k:
        return
    columns = sample.columns(counted)
    ranks = ranks_of(columns, counted.frequencies.vectors).astype(np.int64)
    fast, slow = (Problem(counted.frequencies, columns, KAnonymity(k)) for _ in range(2))
    alone = Problem(*first_column(counted, columns), KAnonymity(k))
    own = ranks_of(alone.columns, alone.frequencies.vectors).astype(np.int64)
    start = [*greedy_by_size(own, alone), *(np.zeros(len(column.domain), dtype=bool) for column in columns[1:])]
    found = [mask.tolist() for mask in greedy_by_size(ranks, fast, start=start)]
    assert found == [mask.tolist() for mask in greedy_by_rounds(ranks, slow, start=start)]
    assert all(made >= given for made, given in zip(found[0], start[0].tolist(), strict=True))


def first_column(counted, columns):
    """Return the cells of the first column alone, and the column."""
    from indistinct.recoding.assign import project

    return project(counted.frequencies, (columns[0].name,))[0], columns[:1]
