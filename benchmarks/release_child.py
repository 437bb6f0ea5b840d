"""One whole release in a process of its own: file in, verified file out; prints seconds and peak memory as JSON."""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import indistinct as ind
from benchmarks.data import QUASI
from benchmarks.timing import peak_bytes
from indistinct.samples import census_hierarchies

JOBS: dict[str, dict[str, Any]] = {
    "mondrian": {"schema": ind.Schema(quasi=QUASI, insensitive=["salary"]), "algorithm": "mondrian"},
    "optimal": {
        "schema": ind.Schema(quasi=[*QUASI, "salary"]),
        "algorithm": "optimal",
        "hierarchies": census_hierarchies(),
        "suppression": 0.05,
    },
}


def main() -> None:
    source, suffix = Path(sys.argv[1]), sys.argv[2]
    job = JOBS[sys.argv[3] if len(sys.argv) > 3 else "mondrian"]
    seconds, peak = [], 0
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        for run in range(2):  # the second run has warm code caches, as a long-lived process has
            began = time.perf_counter()
            # As the command line does it: verified as it was written, and not in memory before.
            target = Path(folder) / f"release-{run}{suffix}"
            ind.anonymize(ind.open(source), model=ind.KAnonymity(k=5), output=target, **job)
            seconds.append(time.perf_counter() - began)
            peak = peak or peak_bytes()
    print(json.dumps({"first": seconds[0], "seconds": min(seconds), "peak": peak}))


if __name__ == "__main__":
    main()
