"""Releases by the engine spark in a process of their own; prints seconds beyond the start of Spark as JSON.

The session is the one that the product starts: local, on all cores, and encrypted. The second release meets warm code.
"""

import json
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from pathlib import Path

import psutil  # type: ignore[import-untyped]

import indistinct as ind
from benchmarks.data import QUASI
from indistinct.engines.spark.session import session_for
from indistinct.machine.stages import watch_stages


def cpu_seconds() -> float:
    """Return the processor time of this process and all that it started: Java, and Spark's workers."""
    me = psutil.Process()
    times = [each.cpu_times() for each in (me, *me.children(recursive=True))]
    return sum(each.user + each.system + each.children_user + each.children_system for each in times)


class Shares:
    """Processor seconds of each stage of a release."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.stage, self.began = "reading", cpu_seconds()

    def enter(self, stage: str, _rows: str = "") -> None:
        """End one stage and begin another; an empty text is the same stage, further on."""
        if stage:
            now = cpu_seconds()
            self.seconds[self.stage] += now - self.began
            self.stage, self.began = stage, now


def release(source: Path) -> dict[str, float]:
    """Publish a table; return what that took, stage by stage."""
    shares, used, began = Shares(), cpu_seconds(), time.perf_counter()
    with tempfile.TemporaryDirectory(dir=source.parent) as folder, watch_stages(shares.enter):
        ind.anonymize(
            source,
            ind.Schema(quasi=QUASI, insensitive=["salary"]),
            model=ind.KAnonymity(k=5),
            algorithm="mondrian",
            engine="spark",
            output=Path(folder) / "release.parquet",
        )
        seconds = time.perf_counter() - began
    shares.enter("the end")
    return {"seconds": seconds, "processor": cpu_seconds() - used, **shares.seconds}


def main() -> None:
    warnings.simplefilter("ignore")
    source = Path(sys.argv[1])
    began = time.perf_counter()
    session = session_for(None)
    session.range(10).count()
    started, used = time.perf_counter() - began, cpu_seconds()
    first, warm = release(source), release(source)
    cold = {"first": first["seconds"], "first processor": first["processor"]}
    print(json.dumps({"started": started, "starting": used, **warm, **cold}))
    session.stop()


if __name__ == "__main__":
    main()
