"""Taking times: the best of several runs, because other work on the machine only ever adds to one."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Line:
    """One row of the report: our time, the peer's, and how the ratio compares with its goal."""

    what: str
    ours: float
    peer: str
    theirs: float
    goal: float | None

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    def text(self) -> str:
        goal = "" if self.goal is None else f"goal ≤ {self.goal:g}  {'met' if self.ratio <= self.goal else 'NOT MET'}"
        return f"{self.what:<58} {self.ours:8.2f}  {self.peer:<34} {self.theirs:8.2f}  ratio {self.ratio:6.3f}  {goal}"


def best(work: Callable[[], object], *, repeat: int = 3, clock: Callable[[], float] = time.perf_counter) -> float:
    times = []
    for _ in range(repeat):
        began = clock()
        work()
        times.append(clock() - began)
    return min(times)


def in_child(module: str, *arguments: str) -> dict[str, float]:
    """Run a module in a process of its own and return the JSON that it prints last.

    `outside` is added: the most memory that it held, as seen from here.
    """
    command, peak = [sys.executable, "-m", module, *arguments], 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        while child.poll() is None:
            peak = max(peak, peak_bytes(child.pid))
            time.sleep(0.02)
        printed = child.stdout.read() if child.stdout else ""
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    found: dict[str, float] = json.loads(printed.strip().splitlines()[-1])
    return {**found, "outside": float(peak)}


def peak_bytes(process: int | str = "self") -> int:
    """Return the most memory that a process ever held; the usual call would count its parent's as well."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0
    return 1024 * int(found[1]) if found else 0
