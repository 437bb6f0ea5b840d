"""One whole release by the engine spark in a process of its own; prints seconds beyond the start of Spark as JSON."""

import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import psutil  # type: ignore[import-untyped]

import indistinct as ind
from benchmarks.data import QUASI


def cpu_seconds() -> float:
    """Return the processor time of this process and all that it started: Java, and Spark's workers."""
    me = psutil.Process()
    times = [each.cpu_times() for each in (me, *me.children(recursive=True))]
    return sum(each.user + each.system + each.children_user + each.children_system for each in times)


def main() -> None:
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    source, parallel = Path(sys.argv[1]), sys.argv[2]
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
    }
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{parallel}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    began = time.perf_counter()
    session = builder.getOrCreate()
    session.range(10).count()
    started, used = time.perf_counter() - began, cpu_seconds()
    schema = ind.Schema(quasi=QUASI, insensitive=["salary"])
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        began = time.perf_counter()
        ind.anonymize(
            source,
            schema,
            model=ind.KAnonymity(k=5),
            algorithm="mondrian",
            engine="spark",
            output=Path(folder) / "release.parquet",
        )
        seconds = time.perf_counter() - began
        print(json.dumps({"started": started, "seconds": seconds, "processor": cpu_seconds() - used}))
    session.stop()


if __name__ == "__main__":
    main()
