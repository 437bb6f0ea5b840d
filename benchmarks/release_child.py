"""One whole release in a process of its own: file in, verified file out; prints seconds and peak memory as JSON."""

import json
import re
import sys
import tempfile
import time
from pathlib import Path

import indistinct as ind
from benchmarks.data import QUASI


def peak_bytes() -> int:
    """Return the most memory this process ever held; the usual call would count the parent's as well."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return 1024 * int(found[1]) if found else 0


def main() -> None:
    source, suffix = Path(sys.argv[1]), sys.argv[2]
    schema = ind.Schema(quasi=QUASI, insensitive=["salary"])
    seconds, peak = [], 0
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        for run in range(2):  # the second run has warm code caches, as a long-lived process has
            began = time.perf_counter()
            release = ind.anonymize(ind.open(source), schema, model=ind.KAnonymity(k=5))
            release.write(Path(folder) / f"release-{run}{suffix}")
            seconds.append(time.perf_counter() - began)
            del release
            peak = peak or peak_bytes()
    print(json.dumps({"first": seconds[0], "seconds": min(seconds), "peak": peak}))


if __name__ == "__main__":
    main()
