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


@pytest.mark.parametrize(("ends", "code"), [("os.kill(os.getpid(), signal.SIGABRT)", 1), ("return 3", 3)])
def test_what_compiled_code_says_when_it_ends_a_run_is_not_repeated(ends: str, code: int) -> None:
    script = (
        "import os, signal, sys\nfrom indistinct.cli.failures import run_in_process\n"
        f"def run():\n    print('our words', file=sys.stderr)\n    os.write(2, b'terminate called')\n    {ends}\n"
        "sys.exit(run_in_process(run, []))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == code
    assert ran.stderr.startswith("our words\n")
    assert ("error: " in ran.stderr) == (code == 1)
    assert ("terminate called" in ran.stderr) == (code == 3)
