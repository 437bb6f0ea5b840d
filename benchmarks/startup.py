"""What a user waits for at the command line beyond the interpreter and the imports."""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.data import QUASI, census
from benchmarks.timing import Line, best

COMMAND = [sys.executable, "-m", "indistinct"]
LIBRARIES = "import numpy, pyarrow, numba"
# As in the figures before: what a run imports where pandas is installed. A run no longer imports pandas itself.
IMPORTS = "import pandas, indistinct.job.publishing, indistinct.cli, numba, pyarrow, pyarrow.parquet, rich.table"
# Algorithms whose kernels are the most, with the seconds that their first run may take.
FIRST_RUNS = {"mondrian": 5.0, "kaca": 8.0, "refine:seconds=1": 12.0}


def run(command: list[str], **variables: str) -> None:
    # Where Python may not keep what it compiled of our modules, every run compiles them again: 0.3 s that users lack.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, check=True, capture_output=True, env={**kept, **variables})


def startup_lines() -> Iterator[Line]:
    libraries = best(lambda: run([sys.executable, "-c", LIBRARIES]))
    imports = best(lambda: run([sys.executable, "-c", IMPORTS]))
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "release.parquet"
        command = [
            *COMMAND,
            "anonymize",
            str(census(30_000)),
            "--quasi",
            ",".join(QUASI),
            "--insensitive",
            "salary",
            "--model",
            "k-anonymity:k=5",
            "--algorithm",
            "mondrian",
            "--overwrite",
            "-o",
            str(target),
            "--json",
        ]
        for algorithm, goal in FIRST_RUNS.items():
            chosen = [algorithm if part == "mondrian" else part for part in command]
            computed = _computed(lambda: run(chosen, NUMBA_CACHE_DIR=tempfile.mkdtemp(dir=folder)))  # noqa: B023
            yield Line(f"{algorithm}, no kernel kept: seconds of computing", computed, "one second", 1.0, goal)
        run(command)
        warm = best(lambda: run(command))
        report = subprocess.run(command, check=True, capture_output=True)
        assert json.loads(report.stdout)["suppressed_rows"] == 0
    yield Line("30,000 rows at the command line, warm: seconds", warm, "one second", 1.0, 1.3)
    yield Line("30,000 rows at the command line, warm: beyond imports", warm - imports, "one second", 1.0, 1)
    yield Line("30,000 rows at the command line, warm", warm, LIBRARIES, libraries, None)
    yield Line("indistinct --help", best(lambda: run([*COMMAND, "--help"])), "half a second", 0.5, 1)


def _computed(work: Callable[[], object]) -> float:
    """Return the seconds that the processes of some work computed, however busy the machine is."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
