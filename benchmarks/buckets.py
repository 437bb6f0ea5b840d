"""Releases in buckets: slicing in seconds, its growth, many columns, and Anatomy against reading and writing a file."""

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

import indistinct as ind
from benchmarks.data import census
from benchmarks.timing import Line, best
from indistinct.algorithms.base import Progress
from indistinct.errors import InputError
from indistinct_papers.adult import load_adult

SENSITIVE = "occupation"


def bucket_lines(rows: int) -> Iterator[Line]:
    yield from sliced_lines()
    yield from sliced_growth_lines(min(rows, 1_000_000))
    yield from many_columns_lines(min(rows, 100_000))
    yield from sliced_large_lines(rows)
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
        ours = best(partial(anonymize, table, f"slicing:l={l}"))
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
        ours = best(partial(anonymize, table, "slicing:l=2"))
        scale = scale or ours / (rows * np.log2(rows))
        expected = float(rows * np.log2(rows) * scale)
        yield Line(f"growth of slicing, l = 2, {rows:,} rows", ours, "n log n from 10,000 rows", expected, None)


def sliced_large_lines(rows: int) -> Iterator[Line]:
    """Search, apply and verify of the large table: wall time, and CPU time beside it for busy machines."""
    table = ind.open(census(rows)).data
    anonymize(table.slice(0, 300_000), "slicing:l=2")
    for clock, name in ((time.perf_counter, ""), (time.process_time, ", CPU")):
        ours = best(partial(anonymize, table, "slicing:l=2"), repeat=2, clock=clock)
        yield Line(f"slicing, l = 2, {rows:,} rows{name}", ours, "ten seconds per ten million", rows / 1e6, 1)


def many_columns_lines(rows: int) -> Iterator[Line]:
    """Fifty columns that depend on each other, of 2 to 50 values, against one minute."""
    table = dependent(rows, 50, seed=1)
    last = table.column_names[-1]
    for spelled in ("slicing:l=2", "slicing:l=2,columns=10", "slicing:l=2,try_all_dims=true"):
        ours = best(partial(anonymize, table, spelled, sensitive=last), repeat=1)
        yield Line(f"{spelled}, {rows:,} rows × {table.num_columns} columns", ours, "one minute", 60.0, 1)


def anatomy_lines(rows: int) -> Iterator[Line]:
    """Search, apply and verify, against what the same job takes to read and to write its files."""
    source = census(rows)
    anonymize(ind.open(source).data.slice(0, 300_000), "anatomy:l=5")
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        text = Path(folder) / "census.csv"
        csv.write_csv(pq.read_table(source), text)
        for kind, path in (("Parquet", source), ("CSV", text)):
            runs = [timed_job(path, Path(folder) / f"release{path.suffix}") for _ in range(3)]
            taken = min(runs, key=lambda parts: sum(parts.values()))
            files = taken["read"] + taken["write"]
            what = f"anatomy, l = 5, {rows:,} rows, {kind}, beyond files"
            yield Line(what, sum(taken.values()) - files, "its own reading and writing", files, 1)
            for part, seconds in taken.items():
                yield Line(f"  its part: {part}", seconds, "its own reading and writing", files, None)
        copy = Path(folder) / "copy.parquet"
        theirs = best(lambda: pq.write_table(pq.read_table(source), copy), repeat=2)
        ours = min(sum(timed_job(source, Path(folder) / "release.parquet").values()) for _ in range(2))
    yield Line("  the whole job, Parquet", ours, "pyarrow reads and writes the file", theirs, None)


def timed_job(source: Path, target: Path) -> dict[str, float]:
    """Return how long a release took to read, search (with the one GROUP BY), apply, verify and write."""
    marks = [("", time.perf_counter())]

    def mark(name: str) -> None:
        marks.append((name, time.perf_counter()))

    table = ind.open(source)
    mark("read")
    named = {0.6: "search", 0.8: "apply"}  # a release reports 0.6 once it is found and 0.8 once applied
    seen = list[tuple[float, float]]()
    release = anonymize(table, "anatomy:l=5", progress=lambda share: seen.append((share, time.perf_counter())))
    marks += [(named[share], moment) for share, moment in dict(seen).items() if share in named]
    mark("verify")
    release.write(target, overwrite=True)
    mark("write")
    return {name: moment - before for (_, before), (name, moment) in pairwise(marks)}


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
