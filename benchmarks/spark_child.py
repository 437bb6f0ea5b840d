"""One whole release by the engine spark in a process of its own; prints seconds beyond the start of Spark as JSON.

The session is the one that the product starts: local, on all cores, and encrypted.
"""

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

import psutil  # type: ignore[import-untyped]

import indistinct as ind
from benchmarks.data import QUASI
from indistinct.engines.spark.session import session_for


def cpu_seconds() -> float:
    """Return the processor time of this process and all that it started: Java, and Spark's workers."""
    me = psutil.Process()
    times = [each.cpu_times() for each in (me, *me.children(recursive=True))]
    return sum(each.user + each.system + each.children_user + each.children_system for each in times)


def main() -> None:
    warnings.simplefilter("ignore")
    source = Path(sys.argv[1])
    began = time.perf_counter()
    session = session_for(None)
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
