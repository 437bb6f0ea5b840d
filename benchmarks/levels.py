"""Measurements, of which nearly every row is a cell of its own: round by round within a gigabyte, and in memory.

`python -m benchmarks --rows 50000000 levels-large` measures the engine duckdb alone, on a table far beyond its memory.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import FOLDER
from benchmarks.timing import Line, in_child

LIMIT, PEAK = "1GB", 1.5
COLUMNS, BLOCK = 10, 1_000_000
CHILD = "benchmarks.levels_child"


def measurements(rows: int) -> Path:
    """Return the path of a table of ten columns of floats, some of which depend on each other, and one more column."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"measurements-{rows}.parquet"
    if path.exists():
        return path
    rng, schema = (
        np.random.default_rng(1),
        pa.schema([*((f"x{i}", pa.float64()) for i in range(COLUMNS)), ("cost", pa.int64())]),
    )
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, BLOCK):
            size = min(BLOCK, rows - start)
            shared = rng.normal(size=size)
            columns = [
                shared * (i % 3) + rng.normal(size=size) * (1 + i) if i % 2 else np.exp(rng.normal(size=size))
                for i in range(COLUMNS)
            ]
            writer.write_table(pa.table([*columns, rng.integers(0, 1000, size)], schema))
    return path


def level_lines(rows: int) -> Iterator[Line]:
    """The same release in memory and round by round: their times, the peak, and that the published rows are equal."""
    source = str(measurements(rows))
    levels, memory = (in_child(CHILD, source, engine, LIMIT, "20") for engine in ("duckdb", "memory"))
    if levels["digest"] != memory["digest"]:
        raise AssertionError("the engines publish different rows")
    what = f"levels within {LIMIT}, {rows:,} rows of {COLUMNS} floats"
    yield Line(what, levels["seconds"], "engine memory, the same rows", memory["seconds"], None)
    yield Line("  peak memory of that process, GB", levels["peak"] / 1e9, "one and a half", PEAK, 1)


def large_level_lines(rows: int) -> Iterator[Line]:
    """A table whose cells and values are far beyond memory: its peak, and its time against that of a tenth of it."""
    large, tenth = (in_child(CHILD, str(measurements(size)), "duckdb", LIMIT, "200") for size in (rows, rows // 10))
    what = f"levels within {LIMIT}, {rows:,} rows of {COLUMNS} floats"
    yield Line(what, large["seconds"], f"{rows // 10:,} rows", tenth["seconds"], None)
    yield Line("  peak memory of that process, GB", large["peak"] / 1e9, "one and a half", PEAK, 1)
