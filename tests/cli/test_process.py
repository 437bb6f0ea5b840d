"""The command line as a process of its own: streams, exit codes, and what it does not import."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from indistinct.cli.failures import run_guarded
from indistinct.errors import InputError

SCRIPT = [sys.executable, "-m", "indistinct.cli"]


def call(*argv: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SCRIPT, *map(str, argv)], capture_output=True, text=True, check=False)


def test_one_json_document_on_stdout_and_messages_on_stderr(patients: Path, roles: list[str]) -> None:
    target = patients.parent / "out.csv"
    command = [
        "anonymize",
        patients,
        *roles,
        "--model",
        "k-anonymity:k=3",
        "-o",
        target,
        "--seed",
        1,
        "--json",
    ]
    done = call(*command)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["k"] >= 3
    assert "fixed seed" in done.stderr
    refused = call(*command)
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["error"]["type"] == "OutputError"
    assert "exists already" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_exit_codes_reach_the_shell(patients: Path) -> None:
    assert call("verify", patients, "--quasi", "age", "--model", "k-anonymity:k=200").returncode == 4
    assert call("verify", patients, "--quasi", "age", "--model", "k-anonymity:k=x").returncode == 2
    assert call("nonsense").returncode == 2
    assert call("--version").returncode == 0


def test_a_reader_that_has_gone_is_no_error_to_talk_about() -> None:
    program = "import sys; from indistinct.cli import main; sys.stdin.read(); sys.exit(main(['list']))"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 1
    assert said == b""


def test_help_imports_neither_arrow_nor_numba() -> None:
    program = (
        "import sys; from indistinct.cli import main; main(['anonymize', '--help']); "
        "print(sorted({'numba', 'pyarrow', 'numpy', 'pandas', 'polars'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_importing_the_package_loads_nothing_heavy_until_a_name_is_asked_for() -> None:
    program = (
        "import sys, indistinct as ind; "
        "before = {'numba', 'pyarrow', 'numpy'} & set(sys.modules); "
        "public = sorted([*ind.__all__, '__version__']); assert dir(ind) == public; "
        "found = [getattr(ind, name) for name in ind.__all__]; assert dir(ind) == public; "
        "from indistinct import *; "
        "print(sorted(before), KAnonymity(k=2), hasattr(ind, 'nonsense'), len(found) == len(ind.__all__))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] KAnonymity(k=2) False True"


@pytest.mark.parametrize("module", ["indistinct", "indistinct.cli"])
def test_a_module_run_by_python_ends_with_the_exit_code_of_its_command(module):
    ran = subprocess.run([sys.executable, "-m", module, "verify", "nothing.csv"], capture_output=True, text=True)
    assert ran.returncode != 0
    assert "error" in ran.stderr


def test_other_packages_may_have_pandas_beside_the_command_line() -> None:
    """What registers an algorithm may need it, though reading and publishing do without."""
    code = (
        "import sys; from indistinct import cli; sys.argv = ['indistinct', 'list']; cli.main(); import pandas; "
        "print(pandas.__name__, file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert (ran.returncode, ran.stderr.strip()) == (0, "pandas")


def test_what_fails_because_a_run_was_stopped_is_an_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    for error in (ConnectionRefusedError(), BrokenPipeError(), InputError("the engine is gone")):

        def run(error: Exception = error) -> None:
            try:
                raise KeyboardInterrupt
            finally:
                raise error from None

        assert run_guarded(run, ["inspect", "a.csv"]) == 130
        assert capsys.readouterr().err == "interrupted\n"


# A command that is stopped while a library works, which logs it and fails in its own way.
STOPPED = """
import logging, os, signal, sys
from indistinct import cli
from indistinct.errors import InputError
from indistinct.inspection import inspect as looking

def work(*_, **__):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    except KeyboardInterrupt:
        logging.exception("while sending")
    raise InputError("the engine is gone")

looking.inspect = work
sys.exit(cli.main())
"""


def test_a_stopped_command_says_so_alone(patients: Path) -> None:
    ran = [sys.executable, "-c", STOPPED, "inspect", str(patients)]
    done = subprocess.run(ran, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
