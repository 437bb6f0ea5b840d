"""What it costs to find the columns that single people out, against the GROUP BY that counts the cells, in CPU time."""

import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import indistinct as ind
from benchmarks.data import QUASI, census
from benchmarks.timing import Line, best
from indistinct.engines import count_source
from indistinct.evaluation.assess.special_uniques import special_uniques
from indistinct.frequencies.count import Request
from indistinct.frequencies.value import FrequencySet
from indistinct.inspection.unique_sets import minimal_uniques

# Six further columns of a census, drawn independently; few values are frequent and many are rare.
MORE = {"district": 100, "month": 12, "day": 31, "employer": 400, "housing": 3, "household": 9}
MINUTE = 60.0


def unique_set_lines(rows: int) -> Iterator[Line]:
    """Special uniques of eight columns, and minimal unique column sets of fifteen, most of whose rows are cells."""
    table = pq.read_table(census(rows))
    eight, grouping = _count(table, QUASI)
    for size in (3, 4, 5):
        took = best(partial(special_uniques, eight, size=size), clock=time.process_time)
        what = f"special uniques, {len(QUASI)} columns, up to {size}, {len(eight):,} cells"
        yield Line(what, took, "counting the cells", grouping, None)
        yield Line(what, took, "a minute", MINUTE, 1.0)
    wide = _widened(table)
    fifteen, grouping = _count(wide, wide.column_names)
    for size in (2, 3, 4):
        took = best(partial(minimal_uniques, fifteen, size=size), repeat=1, clock=time.process_time)
        what = f"minimal uniques, {wide.num_columns} columns, up to {size}, {len(fifteen):,} cells"
        yield Line(what, took, "counting the cells", grouping, None)


def _count(table: pa.Table, quasi: list[str]) -> tuple[FrequencySet, float]:
    source, request = ind.open(table), Request(quasi)
    took = best(lambda: count_source(source, request), clock=time.process_time)
    return count_source(source, request).frequencies, took


def _widened(table: pa.Table) -> pa.Table:
    rng = np.random.default_rng(1)
    for name, size in MORE.items():
        table = table.append_column(name, pa.array(rng.zipf(1.5, table.num_rows) % size))
    return table
