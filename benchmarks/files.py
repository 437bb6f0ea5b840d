"""Whole releases from file to verified file against a plain copy, and a column of nothing but distinct values."""

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
from benchmarks.data import FOLDER, QUASI, census
from benchmarks.timing import Line, best, in_child
from indistinct.engines import count_source
from indistinct.frequencies.count import Request

ORDER = ", ".join(QUASI)
COPY = "polars reads, writes and reads it"


def parquet_lines(rows: int) -> Iterator[Line]:
    for size in sorted({min(rows, 1_000_000), rows}):
        source = census(size)
        child = in_child("benchmarks.release_child", str(source), ".parquet")
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            target = Path(folder) / "copy.parquet"

            def copy(source: Path = source, target: Path = target) -> None:
                pl.read_parquet(source).write_parquet(target)
                pl.read_parquet(target)

            yield Line(f"Parquet to verified Parquet, {size:,} rows", child["seconds"], COPY, best(copy), 1.3)
            connection = duckdb.connect(config={"threads": 2})
            ordered = f"COPY (SELECT * FROM '{source}' ORDER BY {ORDER}) TO '{target}' (FORMAT parquet)"
            theirs = best(partial(connection.execute, ordered), repeat=1)
            yield Line("  the same", child["seconds"], "DuckDB COPY … ORDER BY", theirs, 2)
        arrow = pq.read_table(source).nbytes / 1e9
        yield Line("  peak memory of that process, GB", child["peak"] / 1e9, "Arrow size of the input, GB", arrow, 4)


def csv_lines(rows: int) -> Iterator[Line]:
    with tempfile.TemporaryDirectory(dir=census(rows).parent) as folder:
        source, target = Path(folder) / "census.csv", Path(folder) / "copy.csv"
        pl.read_parquet(census(rows)).write_csv(source)
        child = in_child("benchmarks.release_child", str(source), ".csv")

        def copy() -> None:
            pl.read_csv(source).write_csv(target)
            pl.read_csv(target)

        yield Line(f"CSV to verified CSV, {rows:,} rows", child["seconds"], COPY, best(copy, repeat=2), 1.3)


def optimal_csv_lines(rows: int) -> Iterator[Line]:
    """The proven optimum of nine columns with 5 % suppression, from file to file; the goal is for five million rows."""
    with tempfile.TemporaryDirectory(dir=census(rows).parent) as folder:
        source = Path(folder) / "census.csv"
        pl.read_parquet(census(rows)).write_csv(source)
        child = in_child("benchmarks.release_child", str(source), ".csv", "optimal")
    goal = 1 if rows == 5_000_000 else None
    yield Line(f"optimal, 5%, CSV to verified CSV, {rows:,} rows × 9", child["seconds"], "six seconds", 6.0, goal)


def distinct_lines(rows: int) -> Iterator[Line]:
    """Count one column in which every row has a value of its own, and publish it; the goal is for ten million rows."""
    rng = np.random.default_rng(1)
    for what, values in (
        ("integers", pa.array(rng.permutation(rows) * 7)),
        ("floats", pa.array(rng.random(rows))),
        ("texts", pa.array(rng.permutation(rows)).cast(pa.string())),
    ):
        table = pa.table({"x": values})
        keys = np.asarray(values) if what != "texts" else rng.permutation(rows)
        count_source(table, Request(["x"]))
        ours = best(partial(count_source, table, Request(["x"])))
        theirs = best(partial(np.sort, keys))
        goal = 5 if what == "integers" else None
        yield Line(f"count {rows:,} distinct {what}", ours, "np.sort of as many numbers", theirs, goal)
        if what == "integers":
            with tempfile.TemporaryDirectory() as folder:

                def publish(table: pa.Table = table, folder: str = folder) -> None:
                    ind.anonymize(
                        table,
                        ind.Schema(quasi=["x"]),
                        model=ind.KAnonymity(k=5),
                        algorithm="mondrian",
                        output=Path(folder) / "release.parquet",
                        overwrite=True,
                    )

                whole = best(publish, repeat=2)
            goal = 1 if rows == 10_000_000 else None
            yield Line(f"publish {rows:,} distinct {what}", whole, "ten seconds", 10.0, goal)
