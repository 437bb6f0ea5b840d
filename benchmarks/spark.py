"""Spark on two cores: seconds beyond the start of its session, their growth, and processor time."""

from collections.abc import Iterator

from benchmarks.data import census
from benchmarks.timing import Line, in_child

GOAL = 20.0


def spark_lines(rows: int) -> Iterator[Line]:
    """A tenth of the rows and all of them, Parquet to a verified folder of Parquet; the goal is for ten million."""
    few = max(rows // 10, 1)
    small, large = (in_child("benchmarks.spark_child", str(census(size))) for size in (few, rows))
    yield Line(f"engine spark, {few:,} rows", small["seconds"], "start of its session", small["started"], None)
    yield Line(f"engine spark, {rows:,} rows", large["seconds"], "twenty seconds", GOAL, 1)
    yield Line(f"  growth from {few:,} rows", large["seconds"], "ten times the smaller", 10 * small["seconds"], 1)
    yield Line("  processor seconds of all processes", large["processor"], "seconds on two cores", 2 * GOAL, 1)
