"""Processes that may use few addresses end with one sentence, not with an abort or a traceback."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.samples import generate_patients


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


@pytest.mark.parametrize("algorithm", ["mondrian", "optimal"])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_release_whose_file_is_refused_in_memory_is_measured_and_reported(
    run, roles, tmp_path, monkeypatch, suffix, algorithm
):
    pq.write_table(generate_patients(3_000, seed=2), tmp_path / "original.parquet")
    monkeypatch.setattr("indistinct.machine.memory.ALLOWED_TIMES_FILE_SIZE", 0)
    monkeypatch.setattr("indistinct.machine.memory.ALLOWED_BYTES_AT_LEAST", 10)
    output = tmp_path / f"release.{suffix}"
    asked = ["--model", "k-anonymity:k=5", "--algorithm", algorithm, "--engine", "duckdb", "-o", str(output), "--json"]
    hierarchies = ["--hierarchy", "zipcode=mask:right", "--hierarchy", "admitted=dates", "--suppression", "0.3"]
    ran = run("anonymize", str(tmp_path / "original.parquet"), *roles, *asked, *hierarchies)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["metrics"]["loss"] > 0
    assert "cannot be measured" not in ran.err


def test_want_of_memory_while_measuring_leaves_the_exit_of_a_verified_release(run, roles, tmp_path, monkeypatch):
    pq.write_table(generate_patients(300, seed=2), tmp_path / "original.parquet")

    def refuse(*_, **__):
        raise ind.OutOfMemoryError("no room", hint="give more")

    monkeypatch.setattr("indistinct.evaluation.measure.measure.measure", refuse)
    asked = ["--model", "k-anonymity:k=5", "--algorithm", "mondrian", "-o", str(tmp_path / "release.csv")]
    ran = run("anonymize", str(tmp_path / "original.parquet"), *roles, *asked)
    assert ran.code == 0
    assert "the release is written and verified, but it cannot be measured: no room" in ran.err
    assert (tmp_path / "release.csv").exists()
