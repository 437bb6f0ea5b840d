"""One whole release by an engine in a process of its own; prints seconds and peak memory as JSON."""

import json
import sys
import tempfile
import time
from pathlib import Path

import indistinct as ind
from benchmarks.data import CONSTANT, QUASI
from benchmarks.timing import peak_bytes


def main() -> None:
    source, engine, memory = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    one = source.name.startswith(CONSTANT)
    schema = ind.Schema(quasi=[CONSTANT] if one else QUASI, insensitive=["number" if one else "salary"])
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        began, worked = time.perf_counter(), time.process_time()
        ind.anonymize(
            source,
            schema,
            model=ind.KAnonymity(k=5),
            algorithm="mondrian",
            engine=engine,
            memory=memory,
            output=Path(folder) / "release.parquet",
        )
        taken = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - worked}
        print(json.dumps({**taken, "peak": peak_bytes()}))


if __name__ == "__main__":
    main()
