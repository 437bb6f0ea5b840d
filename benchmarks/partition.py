"""Mondrian against a plain sort, from files and in memory."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import indistinct as ind
from benchmarks.data import QUASI, census
from benchmarks.timing import Line, best, in_child
from indistinct.algorithms.base import Problem
from indistinct.engines import count_source
from indistinct.frequencies.encode import encode_column
from indistinct.frequencies.request import Request
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


def parquet_lines(rows: int) -> Iterator[Line]:
    source = census(rows)
    child = in_child("benchmarks.release_child", str(source), ".parquet")
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        target = Path(folder) / "sorted.parquet"
        connection = duckdb.connect(config={"threads": 2})
        copy = f"COPY (SELECT * FROM '{source}' ORDER BY {ORDER}) TO '{target}' (FORMAT parquet)"
        theirs = best(lambda: connection.execute(copy), repeat=1)
    yield Line(f"Parquet to verified Parquet, {rows:,} rows", child["seconds"], "DuckDB COPY … ORDER BY", theirs, 2)
    size = pq.read_table(source).nbytes
    yield Line("  peak memory of that process, GB", child["peak"] / 1e9, "Arrow size of the input, GB", size / 1e9, 4)


def csv_lines(rows: int) -> Iterator[Line]:
    with tempfile.TemporaryDirectory(dir=census(rows).parent) as folder:
        source, target = Path(folder) / "census.csv", Path(folder) / "copy.csv"
        pl.read_parquet(census(rows)).write_csv(source)
        child = in_child("benchmarks.release_child", str(source), ".csv")
        theirs = best(lambda: pl.read_csv(source).write_csv(target), repeat=2)
    yield Line(f"CSV to verified CSV, {rows:,} rows", child["seconds"], "polars reads and writes it", theirs, 3)


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
