"""Engines: the same release in memory and by DuckDB, and a table larger than the memory it may take."""

import tempfile
from collections.abc import Iterator

import duckdb

from benchmarks.data import FOLDER, QUASI, census, constant
from benchmarks.timing import Line, best, in_child

LIMIT, LARGE, ONE_CLASS = "1GB", 50_000_000, 30_000_000


def engine_lines(rows: int) -> Iterator[Line]:
    """Ten million rows by both engines, fifty million within a gigabyte against DuckDB's own ordered copy.

    Peaks are those that the system reports to this process.
    """
    child = "benchmarks.engine_child"
    both = {engine: in_child(child, str(census(rows)), engine, LIMIT) for engine in ("memory", "duckdb")}
    yield Line(
        f"engine duckdb, {rows:,} rows", both["duckdb"]["seconds"], "engine memory", both["memory"]["seconds"], 2
    )
    yield Line("  the same, seconds of computing", both["duckdb"]["cpu"], "engine memory", both["memory"]["cpu"], None)
    size = LARGE if rows == 10_000_000 else rows
    source = census(size)
    large = in_child(child, str(source), "duckdb", LIMIT)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        ordered = f"SELECT * FROM '{source}' ORDER BY {', '.join(QUASI)}"
        copy = f"COPY ({ordered}) TO '{folder}/copy.parquet' (FORMAT parquet)"
        connection = duckdb.connect()
        connection.execute(f"SET memory_limit = '{LIMIT}'")
        connection.execute(f"SET temp_directory = '{folder}/spilled'")
        theirs = best(lambda: connection.execute(copy), repeat=1)
    yield Line(f"engine duckdb within {LIMIT}, {size:,} rows", large["seconds"], "DuckDB COPY … ORDER BY", theirs, 1.5)
    yield Line("  peak memory of that process, GB", large["outside"] / 1e9, "one and a half", 1.5, 1)
    size = ONE_CLASS if rows == 10_000_000 else rows
    whole = in_child(child, str(constant(size)), "duckdb", LIMIT)
    yield Line(f"  the same of one class of {size:,} rows, GB", whole["outside"] / 1e9, "one and a half", 1.5, 1)
