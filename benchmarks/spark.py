"""Spark on two cores: seconds beyond the start of its session, their growth and division, and processor time.

On a busy machine the clock says little. Memory does the same job in the same minute, and processor seconds are those of
the driver, Java and all workers.
"""

from collections.abc import Iterator

from benchmarks.data import census
from benchmarks.timing import Line, in_child

# Seconds of ten million rows with the session warm, of one million, and of each million more.
GOAL, SMALL_GOAL, SLOPE = 25.0, 10.0, 2.0
STAGES = ("reading", "counting", "searching", "publishing", "verifying")


def spark_lines(rows: int) -> Iterator[Line]:
    """A tenth of the rows and all of them, Parquet to a verified folder of Parquet; goals are for ten million."""
    few = max(rows // 10, 1)
    small, large = (in_child("benchmarks.spark_child", str(census(size))) for size in (few, rows))
    memory = in_child("benchmarks.engine_child", str(census(rows)), "memory", "8GB")
    yield Line("engine spark: start of its session, processor", large["starting"], "seconds", large["started"], None)
    yield Line(f"engine spark, {few:,} rows, first release", small["first"], "goal, seconds", SMALL_GOAL, 1)
    yield Line(f"engine spark, {few:,} rows, warm", small["seconds"], "goal, seconds", SMALL_GOAL, 1)
    yield Line(f"engine spark, {rows:,} rows, first release", large["first"], "goal, seconds", GOAL, 1)
    yield Line(f"engine spark, {rows:,} rows, warm", large["seconds"], "goal, seconds", GOAL, 1)
    yield Line("  beside memory in the same minute", large["seconds"], "memory, seconds", memory["seconds"], None)
    growth = (large["seconds"] - small["seconds"]) / ((rows - few) / 1e6)
    yield Line("  each million more", growth, "goal, seconds", SLOPE, 1)
    yield Line("  processor seconds, first release", large["first processor"], "on two cores", 2 * GOAL, 1)
    yield Line("  processor seconds, warm", large["processor"], "memory, processor", memory["cpu"], None)
    for stage in STAGES:
        yield Line(f"    of these {stage}", large.get(stage, 0.0), "of", large["processor"], None)
