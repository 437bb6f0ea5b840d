"""One release of measurements in a process of its own; prints seconds, peak memory and a digest as JSON."""

import json
import sys
import tempfile
import time
from pathlib import Path

import duckdb

import indistinct as ind
from benchmarks.timing import peak_bytes


def main() -> None:
    source, engine, memory, k = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    quasi = [name for name in duckdb.read_parquet(str(source)).columns if name.startswith("x")]
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        path, began = Path(folder) / "release.parquet", time.perf_counter()
        release = ind.anonymize(
            source,
            ind.Schema(quasi=quasi, insensitive=["cost"]),
            model=ind.KAnonymity(k=k),
            algorithm="mondrian",
            engine=engine,
            memory=memory,
            output=path,
        )
        told = {"seconds": time.perf_counter() - began, "peak": peak_bytes(), "classes": release.certificate.classes}
        print(json.dumps({**told, "digest": _digest(path)}))


def _digest(path: Path) -> str:
    """Return a number that is the same for the same rows in any order."""
    columns = ", ".join(duckdb.read_parquet(str(path)).columns)
    asked = f"SELECT sum(hash({columns})::HUGEINT), count(*) FROM '{path}'"
    found = duckdb.connect().execute(asked).fetchall()[0]
    return f"{found[0]}/{found[1]}"


if __name__ == "__main__":
    main()
