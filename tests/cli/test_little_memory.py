"""Processes that may use few addresses end with one sentence, not with an abort or a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("megabytes", [250, 450, 700, 900])
def test_few_addresses(tmp_path: Path, megabytes: int) -> None:
    path = tmp_path / "data.csv"
    path.write_text("age,sex\n" + "30,M\n31,F\n" * 10)
    limited = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({megabytes << 20},) * 2)\n"
        "from indistinct.cli import main\nsys.exit(main())"
    )
    argv = ["anonymize", path, "--quasi", "age,sex", "--model", "k-anonymity:k=2", "-o", tmp_path / "out.csv"]
    ran = subprocess.run([sys.executable, "-c", limited, *map(str, argv)], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.startswith("error: this process may use")
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "out.csv").exists()
