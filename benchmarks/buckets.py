"""Releases in buckets: slicing in seconds, its growth, many columns, and Anatomy against reading and writing a file."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import indistinct as ind
from benchmarks.data import census
from benchmarks.timing import Line, best
from indistinct.algorithms.base import Progress
from indistinct.datasets import load_adult
from indistinct.errors import InputError

SENSITIVE = "occupation"


def bucket_lines(rows: int) -> Iterator[Line]:
    yield from sliced_lines()
    yield from sliced_growth_lines(min(rows, 1_000_000))
    yield from many_columns_lines(min(rows, 100_000))
    yield from anatomy_lines(rows)


def sliced_lines() -> Iterator[Line]:
    """Every column of Adult, occupation sensitive: no l above 7 is possible there, and none above 6 on the census.

    Age allows l = 8.
    """
    try:
        table, name, most = load_adult(), "Adult", 7
    except InputError:
        table, name, most = ind.open(census(45_000)).data, "census", 6
    anonymize(table, "slicing:l=2")
    for l in (2, 5, most):
        ours = best(lambda l=l: anonymize(table, f"slicing:l={l}"))
        what = f"slicing, l = {l}, {name}, {table.num_rows:,} rows × {table.num_columns} columns"
        yield Line(what, ours, "ten seconds", 10.0, 1)
    ours = best(lambda: anonymize(table, "slicing:l=8", sensitive="age"))
    yield Line(f"slicing, l = 8 for age, {name}", ours, "ten seconds", 10.0, 1)


def sliced_growth_lines(largest: int) -> Iterator[Line]:
    """From ten thousand rows up, l = 2, against n log n scaled to the smallest table."""
    scale = 0.0
    for rows in (10_000, 30_000, 100_000, 300_000, 1_000_000):
        if rows > largest:
            return
        table = ind.open(census(rows)).data
        anonymize(table, "slicing:l=2")
        ours = best(lambda table=table: anonymize(table, "slicing:l=2"))
        scale = scale or ours / (rows * np.log2(rows))
        expected = float(rows * np.log2(rows) * scale)
        yield Line(f"growth of slicing, l = 2, {rows:,} rows", ours, "n log n from 10,000 rows", expected, None)


def many_columns_lines(rows: int) -> Iterator[Line]:
    """Fifty columns that depend on each other, of 2 to 50 values, against one minute."""
    table = dependent(rows, 50, seed=1)
    last = table.column_names[-1]
    for spelled in ("slicing:l=2", "slicing:l=2,columns=10", "slicing:l=2,try_all_dims=true"):
        ours = best(lambda spelled=spelled: anonymize(table, spelled, sensitive=last), repeat=1)
        yield Line(f"{spelled}, {rows:,} rows × {table.num_columns} columns", ours, "one minute", 60.0, 1)


def anatomy_lines(rows: int) -> Iterator[Line]:
    """Search, apply and verify in memory, against reading and writing the same file, in the same process."""
    source = census(rows)
    table = ind.open(source)
    anonymize(table.data.slice(0, 1000), "anatomy:l=5")
    taken = min((timed_parts(table) for _ in range(2)), key=lambda parts: sum(parts.values()))
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        copy = Path(folder) / "copy.parquet"
        theirs = best(lambda: pq.write_table(pq.read_table(source), copy), repeat=2)
    peer = "pyarrow reads and writes the file"
    yield Line(f"anatomy, l = 5, {rows:,} rows, in memory", sum(taken.values()), peer, theirs, 1)
    for part, seconds in taken.items():
        yield Line(f"  its part: {part}", seconds, peer, theirs, None)


def timed_parts(table: ind.Table) -> dict[str, float]:
    """Return how long a release took to search (with the one GROUP BY), to apply and to verify."""
    marks = list[tuple[float, float]]()
    began = time.perf_counter()
    anonymize(table, "anatomy:l=5", progress=lambda share: marks.append((share, time.perf_counter())))
    ended, last = time.perf_counter(), dict(marks)  # a release reports 0.6 once it is found and 0.8 once applied
    return {"search": last[0.6] - began, "apply": last[0.8] - last[0.6], "verify": ended - last[0.8]}


def anonymize(
    table: object, algorithm: str, *, sensitive: str = SENSITIVE, progress: Progress | None = None
) -> ind.Release:
    source = ind.open(table)
    schema = ind.Schema(quasi=[name for name in source.columns if name != sensitive], sensitive=[sensitive])
    return ind.anonymize(source, schema, algorithm=algorithm, progress=progress)


def dependent(rows: int, columns: int, *, seed: int) -> pa.Table:
    """Return columns of which each depends on the one before; the last has 50 values of about equal frequency."""
    rng = np.random.default_rng(seed)
    arrays, before = {}, rng.integers(0, 50, rows)
    for place in range(columns):
        size = 50 if place == columns - 1 else int(rng.integers(2, 51))
        own = rng.integers(0, size, rows)
        before = np.where(rng.random(rows) < 0.5, before % size, own)
        arrays[f"c{place + 1:02d}"] = pa.array(before)
    return pa.table(arrays)
