"""Runs of the command line under limits: each is a fork of one process that has imported everything.

What a run printed, how it ended, how long it computed and how much memory it took beyond what it began with are told,
so that a hang, a crash or a file that takes everything fails one test and not the machine.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

# Seconds of computing, and seconds that a run may wait for something that never comes.
COMPUTING, WAITING = 10, 600
# Memory that stops a run before it stops others; tests judge by what a run took.
CEILING = 4 << 30


@dataclass(frozen=True)
class Outcome:
    """How a run ended: an exit code or the signal that ended it, its words, its seconds and its bytes."""

    code: int
    out: str
    err: str
    seconds: float
    memory: int

    @property
    def words(self) -> str:
        return self.out + self.err


class Guard:
    """The process that forks: start it once, ask it often."""

    def __init__(self, folder: Path, **environment: str) -> None:
        source = Path(__file__).parents[2] / "src"
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", **environment},
        )

    def run(self, *argv: object, ceiling: int = CEILING) -> Outcome:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([[str(part) for part in argv], ceiling]) + "\n")
        self._process.stdin.flush()
        return Outcome(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.communicate()

    def __enter__(self) -> "Guard":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serve() -> None:
    import numba  # noqa: F401  what every command needs is read once
    import pandas  # noqa: F401  which Arrow looks for
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401

    from indistinct.cli import main

    with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        main(["verify", "no such file"])
    answers, before = os.fdopen(os.dup(1), "w"), _memory_of_nothing()
    for line in sys.stdin:
        argv, ceiling = json.loads(line)
        answers.write(json.dumps(_forked(argv, ceiling, before)) + "\n")
        answers.flush()


def _memory_of_nothing() -> int:
    """Return how many bytes a fork has that does nothing."""
    child = os.fork()
    if not child:
        os._exit(0)
    return int(os.wait4(child, 0)[2].ru_maxrss) * 1024


def _forked(argv: Sequence[str], ceiling: int, before: int) -> dict[str, object]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        child = os.fork()
        if not child:
            os._exit(_limited(argv, ceiling, out.fileno(), err.fileno()))
        _, status, usage = os.wait4(child, 0)
        code = os.waitstatus_to_exitcode(status)
        for file in (out, err):
            file.seek(0)
        computed = usage.ru_utime + usage.ru_stime
        return {
            "code": code,
            "out": out.read().decode(errors="replace"),
            "err": err.read().decode(errors="replace"),
            "seconds": max(computed, time.monotonic() - began if code == -signal.SIGALRM else 0),
            "memory": usage.ru_maxrss * 1024 - before,
        }


def _limited(argv: Sequence[str], ceiling: int, out: int, err: int) -> int:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ceiling, size + ceiling))
    resource.setrlimit(resource.RLIMIT_CPU, (COMPUTING, COMPUTING))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(WAITING)
    sys.stdout, sys.stderr = (open(fd, "w", encoding="utf-8", closefd=False) for fd in (1, 2))  # noqa: SIM115
    from indistinct.cli import main

    try:
        return main(list(argv))
    except BaseException:  # noqa: BLE001  whatever reaches us is a defect, and its traceback says which
        import traceback

        traceback.print_exc()
        return 99
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    _serve()
