"""Mondrian against a plain sort, in memory."""

from collections.abc import Iterator
from functools import partial

import duckdb
import numpy as np
import pyarrow as pa

import indistinct as ind
from benchmarks.data import QUASI, census
from benchmarks.timing import Line, best
from indistinct.algorithms.base import Problem
from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.frequencies.encode import encode_column
from indistinct.recoding.columns import columns_of

ORDER = ", ".join(QUASI)


def search(table: pa.Table) -> None:
    """Find the strict partition of a table in memory: frequency set included, nothing applied or written."""
    counted = count_source(table, Request(QUASI))
    ind.Mondrian().search(Problem(counted.frequencies, columns_of(counted.domains, {}), ind.KAnonymity(k=5)))


def search_lines(rows: int) -> Iterator[Line]:
    table = ind.open(census(rows)).data
    search(table.slice(0, 1000))
    ours = best(lambda: search(table))
    connection = duckdb.connect(config={"threads": 2})
    codes = pa.table({name: encode_column(name, table[name]).codes.astype(np.int16) for name in QUASI})
    connection.execute("CREATE TABLE codes AS SELECT * FROM codes")
    theirs = best(lambda: connection.execute(f"CREATE OR REPLACE TABLE s AS FROM codes ORDER BY {ORDER}"))
    yield Line(f"search, strict, {rows:,} rows", ours, "DuckDB sorts 8 columns of codes", theirs, 0.5)
    texts = table.select(QUASI)
    connection.execute("CREATE TABLE texts AS SELECT * FROM texts")
    theirs = best(lambda: connection.execute(f"CREATE OR REPLACE TABLE s AS FROM texts ORDER BY {ORDER}"), repeat=1)
    yield Line(f"search, strict, {rows:,} rows", ours, "DuckDB sorts the same 8 columns", theirs, 0.5)
    assert len(texts) == rows


def growth_lines(largest: int) -> Iterator[Line]:
    """Search from 100 thousand rows up, against n log n scaled to the smallest table."""
    smallest, scale = 100_000, 0.0
    for rows in (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000):
        if rows > largest:
            return
        table = ind.open(census(rows)).data
        search(table)
        ours = best(partial(search, table))
        expected = rows * np.log2(rows) * scale
        if rows == smallest:
            scale = ours / (rows * np.log2(rows))
            expected = ours
        yield Line(f"growth of search, {rows:,} rows", ours, "n log n from 100,000 rows", float(expected), None)
