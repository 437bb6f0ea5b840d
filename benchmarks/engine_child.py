"""One whole release by an engine in a process of its own; prints seconds and peak memory as JSON."""

import json
import sys
import tempfile
import time
from pathlib import Path

import indistinct as ind
from benchmarks.data import QUASI
from benchmarks.release_child import peak_bytes


def main() -> None:
    source, engine, memory = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    schema = ind.Schema(quasi=QUASI, insensitive=["salary"])
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        began = time.perf_counter()
        ind.anonymize(
            source,
            schema,
            model=ind.KAnonymity(k=5),
            algorithm="mondrian",
            engine=engine,
            memory=memory,
            output=Path(folder) / "release.parquet",
        )
        print(json.dumps({"seconds": time.perf_counter() - began, "peak": peak_bytes()}))


if __name__ == "__main__":
    main()
