"""What a user waits for at the command line beyond the interpreter and the imports."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.data import QUASI, census
from benchmarks.timing import Line, best

COMMAND = [sys.executable, "-m", "indistinct"]
# Arrow imports pandas, where it is installed, with the first array that it converts.
IMPORTS = (
    "import pandas, indistinct.api, indistinct.datasets, indistinct.cli, numba, pyarrow, pyarrow.parquet, rich.table"
)


def run(command: list[str], **variables: str) -> None:
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **variables})


def startup_lines() -> Iterator[Line]:
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
        cold = best(lambda: run(command, NUMBA_CACHE_DIR=tempfile.mkdtemp(dir=folder)), repeat=1)
        run(command)
        warm = best(lambda: run(command))
        report = subprocess.run(command, check=True, capture_output=True)
        assert json.loads(report.stdout)["suppressed_rows"] == 0
    yield Line("30,000 rows at the command line, warm: seconds of work", warm - imports, "one second", 1.0, 1)
    yield Line("30,000 rows at the command line, warm", warm, "interpreter and imports", imports, None)
    yield Line("30,000 rows at the command line, very first time", cold, "interpreter and imports", imports, None)
    yield Line("indistinct --help", best(lambda: run([*COMMAND, "--help"])), "half a second", 0.5, 1)
